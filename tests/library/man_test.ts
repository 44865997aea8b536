/** Manual pages as groff reads them, and answers to perf's command names. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { entries } from "../../tools/perfdata.ts";
import { flagRows, helpText } from "../../tools/shared/flag_table.ts";
import { manPage } from "../../tools/shared/man.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { tool } from "../support/tool.ts";

/** A page as groff shows it. */
async function shown(page: string): Promise<string> {
  const child = new Deno.Command("groff", {
    args: ["-man", "-Tutf8", "-ww", "-rLL=200n", "-P-cbou"],
    env: { LC_ALL: "C.UTF-8" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(page));
  await writer.close();
  const { code, stdout, stderr } = await output;
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
  return new TextDecoder().decode(stdout).replace(/[\u2010\u2212]/g, "-");
}

Deno.test({
  name: "man: groff formats each page, and the page has every word of the help",
  ...ignored(notInstalled("groff")),
  async fn() {
    const sections = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS"];
    let words = 0;
    for (const { name, load } of entries) {
      const described = (await load()).tool;
      const page = manPage({ ...described, version: "1", seeAlso: ["perf"] });
      const text = await shown(page);
      for (const section of sections) assertMatch(text, new RegExp(`^${section}$`, "m"), name);
      for (const { flag } of flagRows(described.flags)) {
        assertStringIncludes(text, `--${flag}`, name);
      }
      const there = new Set(text.split(/\s+/));
      const help = helpText(described);
      for (const word of help.replace(/^(usage:|examples:|Exit codes:)/gm, "").split(/\s+/)) {
        if (word === "" || word === `${name}:`) continue;
        assert(there.has(word), `${name}: ${word}`);
        words++;
      }
    }
    assert(words > 3000, `${words} words`);
    const { out, code } = await tool("perfdata", ["man"]);
    assertEquals(code, 0);
    const all = await shown(out);
    for (const { name } of entries) assertStringIncludes(all, ` ${name} `);
    const one = await tool("perfdata", ["man", "funcs"]);
    assertStringIncludes(await shown(one.out), "perfdata-funcs - prints the functions");
    assertEquals((await tool("perfdata", ["man", "nothing"])).code, 2);
  },
});

Deno.test("perfdata: a command name of perf gives the command to run instead", async () => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [
      ["record", "-F", "99", "-g", "--", "sleep", "1"],
      "perf record -F 99 -g -- sleep 1; then: perfdata report",
    ],
    [["record"], "perf record -g -- ./program; then: perfdata report"],
    [["stat", "-e", "cycles:u", "sh", "-c", "a b"], "perf stat -e cycles:u sh -c 'a b'"],
    [["stat", "record", "-a", "true"], "perf stat record -a true"],
  ];
  for (const [args, line] of cases) {
    const { code, out, err } = await tool("perfdata", args);
    assertEquals([code, out, err], [
      2,
      "",
      `perfdata: ${args[0]} is a command of perf: ${line}\n`,
    ]);
  }
});
