import { assertEquals } from "@std/assert";
import { badNames, sameNames } from "../checks/files.ts";

Deno.test("file names: a name that some system cannot check out is refused", () => {
  assertEquals(badNames(["a/aux_area.ts", "a/auxiliary.ts", "b/A.ts"]), []);
  assertEquals(badNames(["a/aux.ts"]), ["a/aux.ts: Windows reserves the name aux.ts"]);
  assertEquals(badNames(["com1/b"]), ["com1/b: Windows reserves the name com1"]);
  assertEquals(badNames(["a/b?.ts"]), ["a/b?.ts: Windows does not allow the name b?.ts"]);
  assertEquals(badNames(["a/b.ts", "a/B.ts"]), ["a/B.ts: differs from a/b.ts by case only"]);
  assertEquals(badNames(["a/b.ts", "A/c.ts"]), ["A/c.ts: differs from a by case only"]);
});

Deno.test("file names: two files of one name in packages are refused", () => {
  assertEquals(
    sameNames(["packages/a/mod.ts", "packages/b/mod.ts", "tools/c.ts", "view/c.ts"]),
    [],
  );
  assertEquals(sameNames(["packages/a/c.ts", "view/b/c.ts"]), [
    "view/b/c.ts: has the same name as packages/a/c.ts",
  ]);
});
