/** Links in the documentation are valid, and each page and command is listed. */
import { assert, assertEquals } from "@std/assert";
import { entries } from "../../tools/perfdata.ts";

const root = new URL("../../", import.meta.url).pathname;
const pages = [...Deno.readDirSync(`${root}docs`)].map(({ name }) => name)
  .filter((name) => name.endsWith(".md"));

/** The files that a page links to. */
function links(path: string): string[] {
  const text = Deno.readTextFileSync(`${root}${path}`).replaceAll(/^```.*?^```/gms, "");
  return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

Deno.test("documentation: every link leads to a file", () => {
  let checked = 0;
  for (const path of ["README.md", "CONTRIBUTING.md", ...pages.map((name) => `docs/${name}`)]) {
    for (const target of links(path)) {
      const url = new URL(target, `file://${root}${path}`);
      assert(Deno.statSync(url), `${path} links to ${target}`);
      checked++;
    }
  }
  assert(checked > 30, `${checked} links`);
});

Deno.test("docs/README.md lists every page", () => {
  assertEquals(
    pages.filter((name) => name !== "README.md" && !links("docs/README.md").includes(name)),
    [],
  );
});

Deno.test("README: its table has every command", () => {
  const readme = Deno.readTextFileSync(`${root}README.md`);
  const missing = entries.map(({ name }) => name)
    .filter((name) => !new RegExp(`^\\| \`(deno run|perfdata) ${name}\\b`, "m").test(readme));
  assertEquals(missing, []);
});
