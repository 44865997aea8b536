import { assertEquals } from "@std/assert";
import { directImports, exportsOf } from "./direct_imports.ts";

Deno.test("directImports: names of a door are imported from their modules; types and other imports stay", () => {
  const door = `/** About. */
export { type A, b } from "../of/b.ts";
export {
  c,
  d as e,
} from "../../other/c.ts";
export type { F } from "../of/f.ts";
export * from "../of/mod.ts";
`;
  const texts: Readonly<Record<string, string>> = {
    "packages/one/doors/door.ts": door,
    "packages/one/of/mod.ts": 'export { i } from "./i.ts";\nexport * from "./j.ts";\n',
    "packages/one/of/j.ts": `export interface J {}
/** About. */
export const J: number = 1;
export async function* j() {}
`,
  };
  const files = exportsOf("packages/one/doors/door.ts", (path) => texts[path] ?? "");
  assertEquals([...files], [
    ["b", "packages/one/of/b.ts"],
    ["c", "packages/other/c.ts"],
    ["i", "packages/one/of/i.ts"],
    ["J", "packages/one/of/j.ts"],
    ["j", "packages/one/of/j.ts"],
  ]);
  const module = `import { type A, b, c as mine, e } from "@perfdata/one/door";
import type { F } from "@perfdata/one/door";
import { g } from "@perfdata/two";
import { h } from "./h.ts";
`;
  assertEquals(
    directImports(module, "view/app/module.ts", new Map([["@perfdata/one/door", files]])),
    `import { b } from "../../packages/one/of/b.ts"; ` +
      `import { c as mine } from "../../packages/other/c.ts"; ` +
      `import { e } from "@perfdata/one/door";
import type { F } from "@perfdata/one/door";
import { g } from "@perfdata/two";
import { h } from "./h.ts";
`,
  );
});
