import { assertEquals } from "@std/assert";
import { badNames } from "./checks/files.ts";

Deno.test("file names that cannot be checked out everywhere are refused", () => {
  assertEquals(badNames(["a/aux_area.ts", "a/auxiliary.ts", "b/A.ts"]), []);
  assertEquals(badNames(["a/aux.ts"]), ["a/aux.ts: Windows reserves the name aux.ts"]);
  assertEquals(badNames(["com1/b"]), ["com1/b: Windows reserves the name com1"]);
  assertEquals(badNames(["a/b?.ts"]), ["a/b?.ts: Windows does not allow the name b?.ts"]);
  assertEquals(badNames(["a/b.ts", "a/B.ts"]), ["a/B.ts: differs from a/b.ts by case only"]);
  assertEquals(badNames(["a/b.ts", "A/c.ts"]), ["A/c.ts: differs from a by case only"]);
});
