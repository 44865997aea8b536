/** The Intel PT of small recordings, whose execution is known from their packets. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { PerfDataError } from "@perfdata/format/bytes";
import type { Profile } from "@perfdata/profile";
import { bytesSource } from "@perfdata/symbols/resolver";
import { at, CODE, smallBytes, TWO_CALLS } from "../../pt/testing.ts";
import { open, type OpenOptions, type Recording, type TraceWork } from "../mod.ts";

const RECORDED = new URL("../../../fixtures/recorded/callchain.perf.data", import.meta.url);

const code = () => ({
  files: { open: () => ({ source: bytesSource(CODE) }), file: () => undefined },
});

async function opened(options: OpenOptions = {}): Promise<Recording> {
  return await open(await smallBytes({ cpus: [TWO_CALLS] }), { symbols: "none", code, ...options });
}

/** Periods by stack of addresses in the file, of samples of one event. */
function periods({ samples, stacks, places }: Profile, event: number): Record<string, number> {
  const sums: Record<string, number> = {};
  for (let row = 0; row < samples.length; row++) {
    if (samples.event[row] !== event) continue;
    const addresses: string[] = [];
    for (let node = samples.stack[row] ?? -1; node >= 0; node = stacks.parent[node] ?? -1) {
      addresses.unshift((places.address[stacks.place[node] ?? -1] ?? 0).toString(16));
    }
    const stack = addresses.join(";");
    sums[stack] = (sums[stack] ?? 0) + (samples.period[row] ?? 0);
  }
  return sums;
}

Deno.test("trace: profile() has the instructions of each stack, and tells that nothing is lost", async () => {
  using recording = await opened();
  const { profile, loss } = await (await recording.trace()).profile();
  assertEquals(profile.events.map(({ name }) => name), ["time", "instructions"]);
  // Three instructions at 1000, and three in each of two calls.
  assertEquals(periods(profile, 1), { "0": 3, "0;10": 6 });
  assertEquals(profile.trust, "all was decoded");
  const { undecoded, unsure, untimed, missingCode } = loss;
  assertEquals([undecoded, unsure, untimed, missingCode], [undefined, undefined, undefined, ""]);
});

Deno.test("trace: profile({ timeline }) has a sample for each stack in order, with its time", async () => {
  using recording = await opened();
  const { profile } = await (await recording.trace()).profile({ timeline: true });
  const { samples, stacks } = profile;
  const depths = Array.from(samples.stack, (node) => {
    let depth = 0;
    for (; node >= 0; node = stacks.parent[node] ?? -1) depth++;
    return depth;
  });
  // 1000 ticks are 372 ns. The last sample is the end of the thread.
  assertEquals(depths, [1, 2, 2, 0]);
  const first = samples.time?.[0] ?? NaN;
  assertEquals(Array.from(samples.time ?? [], (time) => time - first), [0, 372, 1116, 2232]);
});

Deno.test("trace: calls() delivers each call with the place that is called", async () => {
  using recording = await opened();
  const trace = await recording.trace();
  const calls: string[] = [];
  await trace.calls((names) => ({ kind, place, insns, count }) => {
    for (let i = 0; i < count; i++) {
      calls.push(`${kind[i]} ${names.names[place[i] ?? -1]} ${insns[i]}`);
    }
  });
  assertEquals(calls, ["0 0x10 0", "1 0x10 3", "0 0x10 0", "1 0x10 3"]);
});

Deno.test("trace: a filter by thread or CPU leaves out others in all methods", async () => {
  using recording = await opened();
  const trace = await recording.trace();
  for (const filter of [{ tids: new Set([8]) }, { cpus: new Set([1]) }]) {
    const { profile } = await trace.profile({ filter });
    let rows = 0;
    await trace.calls(() => ({ count }) => rows += count, { filter });
    await trace.branches(({ count }) => rows += count, { filter });
    assertEquals([profile.samples.length, rows], [0, 0]);
    await assertRejects(() => trace.instructions({ filter }), PerfDataError, "nothing ran");
  }
});

Deno.test("trace: a filter by process keeps all of its threads, and those of no other process", async () => {
  // Thread 8 of process 7 runs on CPU 1, and process 9 on CPU 2.
  const sample_id = { pid: 7, tid: 8, time: at(-950), cpu: 1, identifier: 21n };
  const body = { pid: 7, ppid: 7, tid: 8, ptid: 7, time: at(-950) };
  const fork = { record: { type: 7, name: "FORK", misc: 0, body, sample_id }, event: 1 } as const;
  const started = [7, 8, 9].map((tid, cpu) => ({ ticks: -900, cpu, tid }));
  const small = {
    cpus: [TWO_CALLS, TWO_CALLS, TWO_CALLS],
    tids: [7, 9],
    items: [fork],
    switches: started,
  };
  using recording = await open(await smallBytes(small), { symbols: "none", code });
  const trace = await recording.trace();
  for (
    const [filter, tids] of [
      [{ pids: new Set([7]) }, [7, 8]],
      [{ pids: new Set([9]) }, [9]],
      [{ pids: new Set([7]), tids: new Set([8, 9]) }, [8]],
      [{ pids: new Set([5]) }, []],
    ] as const
  ) {
    const { profile } = await trace.profile({ filter });
    const found = new Set(Array.from(profile.samples.thread, (row) => profile.threads.tid(row)));
    assertEquals([...found].sort(), [...tids]);
  }
});

Deno.test("trace: instructions() counts the executions of each instruction after the first branch", async () => {
  using recording = await opened();
  const { profile, loss, counts } = await (await recording.trace()).instructions();
  assertEquals(periods(profile, 0), { "5": 1, "a": 1, "10": 2, "11": 2, "12": 2 });
  assertEquals([loss.undecoded, counts.branches.length > 0], [undefined, true]);
});

Deno.test("trace: without code, the loss names the object whose code is missing", async () => {
  using recording = await open(await smallBytes({ cpus: [TWO_CALLS] }), {
    symbols: "none",
    code: "none",
  });
  const { profile, loss } = await (await recording.trace()).profile();
  assertEquals([profile.samples.length, loss.missingCode], [0, "/bin/small: file missing"]);
  assert(loss.undecoded?.startsWith("not decoded: "), loss.undecoded);
});

Deno.test("trace: code is searched in the files that are given for symbols", async () => {
  const asked: string[] = [];
  const files = { open: (path: string) => void asked.push(path), read: () => undefined };
  using recording = await open(await smallBytes({ cpus: [TWO_CALLS] }), { symbols: files });
  await (await recording.trace()).branches(() => {});
  assert(asked.includes("/bin/small"), `${asked}`);
});

Deno.test("trace: recordings without AUX data or Intel PT are errors with a code", async () => {
  using none = await open(RECORDED, { symbols: "none" });
  assertEquals(await none.hasTrace(), false);
  const error = await assertRejects(() => none.trace(), PerfDataError);
  assertEquals([error.message, error.code], ["no AUX data", "no-aux-data"]);
  const folded = new TextEncoder().encode("main;work 3\n");
  const profile = await assertRejects(() => open(folded, { itrace: "b" }), PerfDataError);
  assertEquals(profile.code, "no-aux-data");
  await assertRejects(() => open(RECORDED, { itrace: "b" }), PerfDataError, "no AUX data");
});

Deno.test("threads of a trace: they are told what is decoded, and not used for a timeline", async () => {
  const works: TraceWork[] = [];
  using recording = await opened({ traceThreads: (work) => void works.push(work) });
  const trace = await recording.trace();
  const tids = new Set([7]);
  await trace.profile({ timeline: true });
  await trace.profile({ filter: { tids, cpus: new Set([0]) } });
  await trace.calls(() => () => {});
  const told = works.map(({ by, filter, cpus }) => [by, filter.tids, cpus?.has(0)]);
  assertEquals(told, [["stacks", tids, true], ["events", undefined, undefined]]);
  assertEquals(works[0]?.bytes, trace.trace.bytes);
});

Deno.test("ask: a recording with Intel PT and no samples gives the profile of its stacks", async () => {
  using recording = await opened();
  assertEquals([await recording.hasTrace(), await recording.hasOnlyTrace()], [true, true]);
  const { profile, traced } = await recording.ask();
  assertEquals(periods(profile, 1), { "0": 3, "0;10": 6 });
  assertEquals(traced?.undecoded, undefined);
  const times = await recording.ask({ weight: "off-cpu" });
  assertEquals([times.traced, times.profile.samples.length], [undefined, 0]);
  const folded = await new Blob(await Array.fromAsync(recording.exportAs("folded"))).text();
  assertEquals(folded.trimEnd().split("\n").length, 2);
});

Deno.test("decoding: it is called with all bytes of a trace, awaited, and an abort ends it", async () => {
  let [bytes, size, isBusy] = [0, 0, false];
  using recording = await opened({
    async decoding(done, all) {
      assertEquals(isBusy, false);
      isBusy = true;
      await Promise.resolve();
      isBusy = false;
      bytes += done;
      size = all;
    },
  });
  const trace = await recording.trace();
  await trace.branches(() => {});
  assertEquals([bytes, size], [trace.trace.bytes, trace.trace.bytes]);
  const end = new AbortController();
  using aborted = await opened({ signal: end.signal, decoding: () => end.abort() });
  const other = await aborted.trace();
  await assertRejects(() => other.branches(() => {}), DOMException, "abort");
});
