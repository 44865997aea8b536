/**
 * `script` by windows prints with any number of threads the text of a stream, which is stored to
 * its end.
 */
import { assert, assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format/records";
import { streamSource } from "@perfdata/format/bytes";
import { openSource } from "@perfdata/format/files";
import { nameList, unwoundText } from "@perfdata/session";
import { type ScriptText, writeScript } from "@perfdata/export/script";
import { scriptByWindows } from "../../packages/export/script/write_script.ts";
import type { SymbolFlags } from "../../tools/shared/symbol_flags.ts";
import { scriptHost } from "../../tools/shared/script_host.ts";
import { corpusFiles } from "../support/corpus.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Threads and window size: one thread, and one of the others in turn. */
const OTHERS = [[2, 1 << 12], [3, 1 << 13], [7, 1 << 12]] as const;
function ways(turn: number): readonly (readonly [jobs: number, windowBytes: number])[] {
  return [[1, 1 << 12], OTHERS[turn % OTHERS.length] ?? OTHERS[0]];
}

const start = () =>
  new Worker(new URL("../../tools/shared/script_worker.ts", import.meta.url), { type: "module" });

/** Symbols of this machine. */
function givenOf(name: string) {
  return { name, flags: { on: {}, value: {} } as SymbolFlags };
}

/** Options of `script`. */
function wishOf({ fields, comm }: { fields?: string; comm?: string }) {
  const names = { comm: comm === undefined ? undefined : nameList(comm) };
  return { fields, names, unmapped: comm !== undefined, diagnostics: () => {} };
}

/** Collects text. */
function gathered() {
  const decoder = new TextDecoder("latin1");
  const text = { all: "", write: (bytes: Uint8Array) => void (text.all += decoder.decode(bytes)) };
  return text;
}

/** Text of a recording read as a stream, with the messages about names. */
async function held(path: string, wish: ReturnType<typeof wishOf>): Promise<string[]> {
  const text = gathered();
  using file = Deno.openSync(path);
  const reader = await PerfDataReader.open(streamSource(file.readable), { diagnostics: () => {} });
  const { script, engine } = await writeScript(
    ...[reader, text.write, wish, scriptHost(givenOf(path))] as const,
  );
  return [text.all, said(script), unwoundText(engine, true) ?? ""];
}

/** Messages about names and samples after the text. */
function said(script: ScriptText): string {
  const { printed, samples: { count, frames, unmapped } } = script;
  const { objects, all, resolved, unverified, unresolved } = script.trust();
  const ofObjects = objects.map(({ object, origin, all, resolved, lines, refused, faults }) =>
    JSON.stringify([object?.path, origin, all, resolved, lines, refused, faults])
  );
  const total = [printed, count, frames, unmapped, all, resolved, unverified, [...unresolved]];
  return [JSON.stringify(total), ...ofObjects.sort()].join("\n");
}

Deno.test("script: any number of threads prints the text of a stream", async () => {
  const fixtures = ["callchain", "dwarf", "rounds", "all-cpus", "tracepoint"];
  const paths = [
    ...fixtures.map((name) => `${root}fixtures/recorded/${name}.perf.data`),
    ...corpusFiles().filter(({ sound, row }) => sound && Number(row["bytes"]) > 100_000)
      .slice(0, 2).map(({ path }) => path),
  ];
  const counted = { comm: "/[a-y]/" };
  const lines = { fields: "comm,tid,time,ip,sym,srcline" };
  let [files, texts, bytes, turn] = [0, 0, 0, 0];
  for (const path of paths) {
    const flags = files++ % 2 === 0 ? counted : lines;
    const wish = wishOf(flags);
    const expected = await held(path, wish);
    for (const [jobs, windowBytes] of ways(turn++)) {
      const text = gathered();
      const reader = await PerfDataReader.open(openSource(path), { diagnostics: () => {} });
      const given = givenOf(path);
      const threads = { jobs, windowBytes, path, start, given };
      const made = await scriptByWindows(
        ...[reader, text.write, wishOf(flags), scriptHost(given), threads] as const,
      );
      if (made === undefined) continue;
      const own = [text.all, said(made.script), unwoundText(made.engine, true) ?? ""];
      assertEquals(own, expected, `${path} ${JSON.stringify(flags)} --jobs ${jobs}`);
      texts++;
      bytes += text.all.length;
    }
  }
  console.log(`script: ${texts} texts of ${files} files, ${bytes} bytes, by windows`);
  assert(texts >= 10 && bytes > 150_000, "too little was compared");
});
