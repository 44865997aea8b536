/** The table of flags: a small one with its parser, help and rules; and rules of the commands. */
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { REDACTIONS } from "@perfdata/edit";
import { SCRIPT_FIELDS } from "@perfdata/export/script";
import { FORMATS } from "@perfdata/export/tree";
import { areOfBranches, areOfMemory, SORT_KEYS, type SortKey } from "@perfdata/report";
import { COALESCED } from "@perfdata/report/contention";
import { BRANCH_FORMATS } from "../../tools/shared/branch_formats.ts";
import { UsageError } from "../../tools/shared/cli.ts";
import { type Command, command, parseFlags } from "../../tools/shared/command.ts";
import { brokenRule, filled, flagRows, helpText } from "../../tools/shared/flag_table.ts";
import { entries } from "../../tools/perfdata.ts";
import { tool } from "../support/tool.ts";

const fixture = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;

const FLAGS = {
  "-o, --output FILE": "where it goes; - is standard output",
  "--symbols [FILE]": "with names, or those of FILE",
  "--a-flag-with-a-long-name VALUE": `a text of the table that is broken where
    the source is, and nowhere else: in the help, it fills its column of seventy-five`,
  "--pid LIST": "of these processes",
  "--words WORDS": "several, parted by blanks",
  "--csv": "as CSV",
  "--json": "as JSON",
} as const;

const made = command({
  name: "made",
  help: {
    about: "prints what was made",
    usage: ["[flags] [FILE]", "[flags] BASE FILE"],
    text: `
FILE is a file.
`,
    notes: `
Notes come after the flags.
`,
    examples: ["perfdata made x", "perfdata made x | less"],
    exit: "0 done; 1 not done",
  },
  flags: FLAGS,
  rules: [
    { flag: "csv", excludes: ["json"] },
    { flag: "words", needs: ["pid", "symbols"], why: "they are theirs" },
  ],
  repeated: { words: " " },
  job: () => Promise.resolve({ run: () => 3 }),
});

Deno.test("flags: a table gives rows of letter, flag, value and text", () => {
  assertEquals(flagRows({ "-o, --output FILE": "a\n   b", "--csv": "c" }), [
    { short: "o", flag: "output", value: "FILE", about: "a b" },
    { short: undefined, flag: "csv", value: undefined, about: "c" },
  ]);
  assertThrows(() => flagRows({ "output FILE": "" }), TypeError, "output FILE is no flag");
});

Deno.test("flags: a table gives the help text, with the flags of all commands", () => {
  assertEquals(
    helpText(made),
    `made: prints what was made

usage: perfdata made [flags] [FILE]
       perfdata made [flags] BASE FILE

FILE is a file.

  -o, --output FILE      where it goes; - is standard output
      --symbols [FILE]   with names, or those of FILE
      --a-flag-with-a-long-name VALUE
                         a text of the table that is broken where the source is, and nowhere else:
                         in the help, it fills its column of seventy-five
      --pid LIST         of these processes
      --words WORDS      several, parted by blanks
      --csv              as CSV
      --json             as JSON
  -i, --input FILE       the same as FILE, as in perf
      --debug            print the stack trace of an error
  -h, --help             print this help

Notes come after the flags.

examples:
  perfdata made x
  perfdata made x | less

Exit codes: 0 done; 1 not done; 2 wrong usage.
`,
  );
});

Deno.test("flags: lines are filled with words, and a long list breaks after commas", () => {
  assertEquals(filled("one two three", 7), ["one two", "three"]);
  assertEquals(filled("of aa,bb,cc,dd or", 8), ["of aa,", "bb,cc,dd", "or"]);
  assertEquals(filled("/a/path/without/commas x", 8), ["/a/path/without/commas", "x"]);
});

Deno.test("flags: a table gives values, lists, flags with optional values, and operands", () => {
  const { on, value, operands } = parseFlags(
    ["-ox", "--symbols", "--pid", "1", "--pid=2-3", "--words", "a", "--words", "b", "--csv", "17"],
    made,
  );
  assertEquals(on, { csv: true, json: false, debug: false, help: false });
  assertEquals(value, {
    output: "x",
    symbols: "",
    "a-flag-with-a-long-name": undefined,
    pid: "1,2-3",
    words: "a b",
    input: undefined,
  });
  assertEquals(operands, ["17"]);
  assertThrows(() => parseFlags(["--output"], made), UsageError, "--output needs a value");
});

Deno.test("flags: rules report exclusive flags uniformly, before a command begins", async () => {
  const rules = [
    { flag: "csv", excludes: ["xml", "json"] },
    { flag: "words", needs: ["pid", "symbols"], why: "they are theirs" },
  ];
  const broken = (...given: string[]) => brokenRule(rules, new Set(given));
  assertEquals(broken(), undefined);
  assertEquals(broken("json", "xml"), undefined);
  assertEquals(broken("csv", "json"), "--csv and --json exclude each other");
  assertEquals(broken("words"), "--words needs --pid or --symbols: they are theirs");
  assertEquals(broken("words", "symbols"), undefined);

  assertEquals(await made.run(["--csv"]), 3);
  await assertRejects(async () => await made.run(["--csv", "--json"]), UsageError, "exclude each");
  // An empty value counts as given.
  assertEquals(await made.run(["--words", "a", "--symbols"]), 3);
});

Deno.test("flags: commands refuse what their rules exclude, with both flags and the reason", async () => {
  for (
    const [words, message] of [
      ["funcs --json --csv", "--json and --csv exclude each other"],
      [
        "funcs --csv -g caller",
        "--csv and --call-graph exclude each other: it has no column for stacks",
      ],
      ["tree --inline --no-inline", "--inline and --no-inline exclude each other"],
      ["slice --in-stack -o -", "--in-stack needs --dso or --symbol"],
      ["pt --source", "--source needs --insns"],
      ["pt --last 1ms --time 1,2", "--time and --last exclude each other"],
      [
        "pt --packets --insns",
        "--packets and --insns exclude each other: packets alone have no code",
      ],
      [
        "convert --spe --jit -o -",
        "--jit and --spe exclude each other: one after the other, in two conversions",
      ],
      ["sql --csv --parquet x", "--csv and --parquet exclude each other"],
      [
        "view -o x.html --port 1",
        "--output and --port exclude each other: a page that is written is not served",
      ],
    ] as const
  ) {
    const [name = "", ...args] = words.split(" ");
    const { code, out, err } = await tool(name, args);
    assertEquals([code, out, err], [2, "", `${name}: ${message}; see ${name} --help\n`], words);
  }
});

Deno.test("flags: no command has two rows for a flag", async () => {
  for (const { load } of entries) {
    const rows = flagRows((await load()).tool.flags);
    assertEquals(new Set(rows.map(({ flag }) => flag)).size, rows.length);
  }
});

Deno.test("flame: --color is the coloring of the picture, not of the terminal", async () => {
  const picture = async (color: string) => {
    const { code, out, err } = await tool("flame", ["--svg", "--color", color, "-o", "-", fixture]);
    assertEquals(code, 0, err);
    return out;
  };
  const [kind, object] = [await picture("kind"), await picture("object")];
  assertEquals([kind, object].map((out) => out.startsWith("<")), [true, true]);
  assertEquals(kind === object, false);
});

Deno.test("flags: the words that help texts spell are those of the packages", async () => {
  const [funcs, script, redact, c2c, exported] = await Promise.all(
    ["funcs", "script", "redact", "c2c", "export"].map(async (name) =>
      (await entries.find((entry) => entry.name === name)?.load())?.tool
    ),
  );
  const memory = (key: SortKey) => areOfMemory([key]);
  const branches = (key: SortKey) => areOfBranches([key]);
  const samples = (key: SortKey) => !memory(key) && !branches(key);
  assertEquals(
    ofFlag(funcs, "sort").split(/; or of (?:branches|memory): |any of /).slice(1),
    [samples, branches, memory].map((isOf) => SORT_KEYS.filter(isOf).join()),
  );
  assertStringIncludes(ofFlag(script, "fields"), ` ${SCRIPT_FIELDS.join()};`);
  assertStringIncludes(ofFlag(redact, "only"), ` ${REDACTIONS.join()}`);
  assertStringIncludes(ofFlag(c2c, "coalesce"), ` ${COALESCED.join()}`);
  const formats = Object.entries(FORMATS).map(([name, { about }]) => [name, about]);
  const known = [...formats, ...Object.entries(BRANCH_FORMATS)];
  const written = [...exported?.help.text.matchAll(/^ {6}(\w+) +(.*)$/gm) ?? []]
    .map(([, name = "", about = ""]) => [name, about]);
  assertEquals(written.slice(0, known.length), known);
  assertEquals(exported?.verbs, written.map(([name = ""]) => name));
});

/** The description of a flag. */
function ofFlag(tool: Command | undefined, name: string): string {
  return flagRows(tool?.flags ?? {}).find(({ flag }) => flag === name)?.about ?? "";
}
