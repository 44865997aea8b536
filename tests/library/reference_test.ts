import { assertEquals } from "@std/assert";
import { reference } from "../../docs/make_reference.ts";

Deno.test("docs/reference.md is what the declarations say", async () => {
  const found = await Deno.readTextFile(new URL("../../docs/reference.md", import.meta.url));
  assertEquals(found, reference(), "run docs/make_reference.ts");
});
