import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { SymbolResolver } from "@perfdata/symbols";
import { assert, assertEquals } from "@std/assert";
import { parseFields } from "./script_fields.ts";
import { ScriptText, type ScriptTextOptions } from "./script_text.ts";

const FIXTURES = new URL("../../../fixtures/", import.meta.url);

/** A recording in fixtures/recorded. */
function recorded(name: string): Uint8Array {
  return Deno.readFileSync(new URL(`recorded/${name}.perf.data`, FIXTURES));
}

/** The text of a recording's samples without symbols. */
async function scriptOf(
  bytes: Uint8Array,
  wish: ScriptTextOptions["wish"],
  more: Partial<ScriptTextOptions> = {},
): Promise<{ text: string; script: ScriptText }> {
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const pieces: string[] = [];
  const decoder = new TextDecoder();
  const noFiles = { open: () => undefined, read: () => undefined };
  const script = new ScriptText(reader.events.all, {
    wish,
    chains: true,
    nanoseconds: false,
    unmapped: false,
    wants: { inline: false, lines: false },
    clock: undefined,
    options: {},
    resolver: ({ recorded }) =>
      Promise.resolve(new SymbolResolver(noFiles, { machine: recorded, parameters: false })),
    ...more,
  }, (text) => void pieces.push(decoder.decode(text, { stream: true })));
  await runEngine(reader, [script], more.options ?? {});
  return { text: pieces.join(""), script };
}

let compared = 0;
for (const { name: file, isFile } of Deno.readDirSync(new URL("printed/", FIXTURES))) {
  if (!isFile) continue;
  const [, name = "", fields = ""] = /^([^.]+)\.(.*)\.txt$/.exec(file) ?? [];
  Deno.test(`ScriptText: ${name} with ${fields} gives the lines of perf 6.1`, async () => {
    const expected = Deno.readTextFileSync(new URL(`printed/${file}`, FIXTURES));
    const { text } = await scriptOf(recorded(name), parseFields(fields));
    assertEquals(text.split("\n"), expected.split("\n"));
    compared++;
  });
}

Deno.test("fixtures/printed: at least eighteen texts of perf were compared", () => {
  assert(compared >= 18, `${compared} texts`);
});

Deno.test("ScriptText: a filter by thread prints only its samples", async () => {
  const wish = parseFields("tid,time");
  const all = (await scriptOf(recorded("two-events"), wish)).text.split("\n").slice(0, -1);
  const tid = Number(/^\s*(\d+)/.exec(all[0] ?? "")?.[1]);
  const { text, script } = await scriptOf(recorded("two-events"), wish, {
    options: { filter: { tids: new Set([tid]) } },
  });
  assertEquals(
    text.split("\n").slice(0, -1),
    all.filter((line) => Number(line.trim().split(/\s/)[0]) === tid),
  );
  assertEquals(script.printed, text.split("\n").length - 1);
  const none = await scriptOf(recorded("two-events"), wish, {
    options: { filter: { tids: new Set([1]) } },
  });
  assertEquals([none.text, none.script.printed], ["", 0]);
});

Deno.test("ScriptText: a filter by name drops a sample with all of its lines", async () => {
  let turn = 0;
  const wish = parseFields("tid,ip");
  const { script, text } = await scriptOf(recorded("callchain"), wish, {
    names: { comm: () => turn++ % 2 === 0 },
  });
  // 13 samples, as perf script prints.
  assertEquals([turn, script.printed], [13, 7]);
  assertEquals(text.split("\n\n").filter((block) => block.trim() !== "").length, 7);
});

Deno.test("ScriptText: without chains, a sample has one line with its own address", async () => {
  const { text } = await scriptOf(recorded("callchain"), parseFields("tid,ip"), { chains: false });
  const lines = text.split("\n").slice(0, -1);
  assertEquals(lines.length, 13);
  for (const line of lines) assert(/^\s*\d+\s+[0-9a-f]+\s*$/.test(line), line);
});

Deno.test("ScriptText: nanoseconds add three digits to the same times", async () => {
  const wish = parseFields("time");
  const short = (await scriptOf(recorded("two-events"), wish)).text.split("\n");
  const long = (await scriptOf(recorded("two-events"), wish, { nanoseconds: true })).text.split(
    "\n",
  );
  assertEquals(
    long.map((line) => line.trim().replace(/\d{3}:$/, ":")),
    short.map((line) => line.trim()),
  );
});
