/** `open` with the option `itrace`: samples synthesized from Intel PT, as perf makes them. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { bytesSource } from "@perfdata/symbols/resolver";
import { PRINTED_RECORDINGS } from "../../export/script/testing.ts";
import { CODE, type Small, smallBytes } from "../../pt/testing.ts";
import { open, type OpenOptions, type Recording } from "../mod.ts";

/** Lines of `perf script --ns`: comm, tid, time, event and address. */
function printed(name: string): string[][] {
  const url = new URL(`../../../fixtures/printed/pt/${name}.txt`, import.meta.url);
  return Deno.readTextFileSync(url).trimEnd().split("\n").map((line) => {
    const found = /^ *(.+?) +(\d+) \[\d+\] +(\d+)\.(\d{9}): +\d+ +(\S+): +([0-9a-f]+)/.exec(line);
    const [, comm = "", tid = "", seconds = "", ns = "", event = "", address = ""] = found ?? [];
    return [comm, tid, `${BigInt(seconds + ns)}`, event, address];
  });
}

async function opened(name: string, options: OpenOptions): Promise<Recording> {
  return await open(await smallBytes(PRINTED_RECORDINGS[name] as Small), {
    symbols: "none",
    code: () => ({
      files: { open: () => ({ source: bytesSource(CODE) }), file: () => undefined },
    }),
    ...options,
  });
}

Deno.test("itrace: the samples have the threads, times and addresses that perf script prints", async () => {
  let compared = 0;
  for (const [name, letters] of [["calls", "b"], ["twice", "i1i"]] as const) {
    const lines = printed(`${name}.${letters}.ns`);
    using recording = await opened(name, { itrace: letters });
    const samples = await Array.fromAsync(recording.samples());
    const own = samples.map(({ comm, tid, time, event, stack: [frame] }) => {
      const { address = NaN, object } = frame ?? {};
      // The file's address 0 is mapped at 1000.
      const mapped = address + (object === undefined ? 0 : 0x1000);
      return [comm, `${tid}`, `${time}`, event, mapped.toString(16)];
    });
    assertEquals(own, lines, name);
    assertEquals(recording.synthesized?.samples, lines.length);
    compared += lines.length;
  }
  assert(compared > 20);
});

Deno.test("itrace: all methods count the samples, and the trace is still there", async () => {
  using recording = await opened("calls", { itrace: "b" });
  const { samples = 0, events, loss } = recording.synthesized ?? {};
  assertEquals([samples, events, loss?.undecoded], [printed("calls.b.ns").length, [
    "branches:uhH",
  ], undefined]);
  assertEquals((await recording.info()).samples, samples);
  const rows = await recording.functions();
  assertEquals(rows.reduce((sum, row) => sum + row.samples, 0), samples);
  let records = 0;
  for await (const { type } of recording.records()) if (type === 9) records++;
  assertEquals(records, samples);
  // A recording with samples: the fallback to Intel PT is not used.
  assertEquals((await recording.ask({ filter: { tids: new Set([99]) } })).traced, undefined);
  assertEquals((await recording.auxStreams()).length, 1);
  let branches = 0;
  await (await recording.trace()).branches(({ count }) => branches += count);
  assertEquals(branches, samples);
});

Deno.test("itrace: threads of the file are not started, because it has no such samples", async () => {
  let started = 0;
  using recording = await opened("calls", { itrace: "b", threads: () => void started++ });
  await recording.functions();
  await recording.info();
  assertEquals(started, 0);
});

Deno.test("itrace: unknown letters, and those without samples of records, are a RangeError", async () => {
  for (const [itrace, message] of [["k", "no such letter"], ["w", "script"], ["e", "no samples"]]) {
    await assertRejects(() => opened("calls", { itrace }), RangeError, message);
  }
});
