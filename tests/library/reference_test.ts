import { assertEquals } from "@std/assert";
import { reference } from "../../docs/make_reference.ts";

Deno.test("docs/reference.md: equals the text generated from the declarations", async () => {
  const found = await Deno.readTextFile(new URL("../../docs/reference.md", import.meta.url));
  assertEquals(found, reference(), "run docs/make_reference.ts");
});
