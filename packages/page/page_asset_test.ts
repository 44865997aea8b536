import { assert, assertEquals } from "@std/assert";
import { viewAsset } from "../../view/build.ts";
import { skipped } from "../../tests/support/ignored.ts";
import { VIEW_PARTS } from "./page_asset.ts";

Deno.test("page_asset.ts: the parts are built from view/", async (t) => {
  const made = await viewAsset();
  if (made === undefined) {
    await skipped(t, "deno bundle does not work here");
    return;
  }
  const [, text] = /= (\{[^]*\});\n$/.exec(made) ?? [];
  assertEquals(Object.keys(JSON.parse(text ?? "{}")), Object.keys(VIEW_PARTS));
  assert(text === JSON.stringify(VIEW_PARTS, undefined, 2), "run: deno run -A view/build.ts");
});
