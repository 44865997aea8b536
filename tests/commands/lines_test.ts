/** Standard error of every command on every fixture: short lines, and no message twice. */
import { assert, assertEquals } from "@std/assert";
import { inFolder, tool, unwrapped } from "../support/tool.ts";
import { MOST_COLUMNS, wrapped } from "../../tools/shared/wrapped.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;

/** Command lines with `F` in place of the recording. */
const CALLS = [
  "info F",
  "header F",
  "funcs F",
  "funcs --children F",
  "funcs --sort type,data_src F",
  "tree F",
  "script F",
  "rate F",
  "stat F",
  "sched F",
  "lock F",
  "c2c F",
  "pt F",
  "annotate F main",
  "diff F F",
  "symbols trust F",
  "symbols list F",
  "export folded F",
  "export branches F",
  "convert --for-perf 4.4 -f -o out F",
  "dump --limit 1 F",
  "slice --cpu 77 -f -o out F",
  "funcs --comm qq F",
  "repair -f -o out F",
] as const;

/** Small recordings, so that all commands take seconds. */
const MOST_BYTES = 1 << 18;

const recordings = ["cases", "hostile", "recorded", "synthesized"].flatMap((folder) =>
  [...Deno.readDirSync(`${FIXTURES}${folder}`)].map(({ name }) => `${FIXTURES}${folder}/${name}`)
).filter((path) => path.endsWith(".data") && Deno.statSync(path).isFile).sort();

/** Too long lines with more than one word. */
const tooLong = (shown: string): string[] =>
  shown.split("\n").filter((line) => line.length > MOST_COLUMNS && line.trim().includes(" "));

/** Repeated messages. */
function twice(err: string): string[] {
  const lines = err.split("\n").filter((line) => line !== "");
  return lines.filter((line, i) => lines.indexOf(line) !== i);
}

Deno.test("standard error: lines have at most 120 characters, and no message is repeated, in all commands", async () => {
  let lines = 0;
  let broken = 0;
  await inFolder(async (cwd) => {
    for (const path of recordings) {
      if (Deno.statSync(path).size > MOST_BYTES) continue;
      Deno.copyFileSync(path, `${cwd}/perf.data`);
      for (const call of CALLS) {
        const words = call.split(" ").map((word) => word === "F" ? "perf.data" : word);
        const { shown, err } = await tool("perfdata", words, { cwd });
        const where = `${path.slice(FIXTURES.length)}: ${call}`;
        assertEquals(tooLong(shown), [], where);
        assertEquals(twice(err), [], where);
        lines += err.split("\n").length - 1;
        if (err !== shown) broken++;
      }
    }
  });
  console.log(`standard error: ${lines} messages, ${broken} outputs with wrapped ones`);
  assert(broken > 0 && lines > 1000);
});

Deno.test("standard error: wrong command lines give lines of at most 120 characters", async () => {
  for (
    const call of [
      "funcs --sort qq",
      "funcs --weight qq",
      "script -F qq",
      "export qq",
      "records --type qq",
      "symbols qq",
      "convert --for-perf qq",
      "qq",
      "",
      "report",
    ]
  ) {
    const { shown, err } = await tool("perfdata", call.split(" ").filter((word) => word !== ""));
    assertEquals(tooLong(shown), [], call);
    if (call !== "") assertEquals(twice(err), [], call);
  }
});

Deno.test("wrapped: a message breaks after a clause, and words are kept", () => {
  const clause = "x".repeat(70);
  assertEquals(wrapped(`tool: ${clause}; ${clause}`), [`tool: ${clause};`, `    ${clause}`]);
  const path = `/${"p".repeat(200)}`;
  assertEquals(wrapped(`tool: ${path}: is no ELF file`), [
    "tool:",
    `    ${path}:`,
    "    is no ELF file",
  ]);
  assertEquals(wrapped("x".repeat(500)), ["x".repeat(500)]);
  const words = Array.from({ length: 400 }, (_, i) => "w".repeat(1 + i % 17)).join(" ");
  const lines = wrapped(words);
  assert(lines.every(({ length }) => length <= MOST_COLUMNS));
  assertEquals(unwrapped(lines.join("\n")), words);
});
