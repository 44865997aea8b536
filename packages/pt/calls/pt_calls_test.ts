import { assertEquals } from "@std/assert";
import { decodePt } from "../decode/pt_run.ts";
import { at, small, TWO_CALLS } from "../testing.ts";
import { PtCalls } from "./pt_calls.ts";
import type { CallFilter } from "./pt_calls.ts";

/** Calls and returns as text, with times in ns since the first TSC packet. */
async function calls(packets = TWO_CALLS, filter: CallFilter = {}, from = 0) {
  const opened = await small({ cpus: [packets] });
  const { trace } = opened;
  const { code, clock } = trace;
  const rows: string[] = [];
  const first = clock.origin.since(at(from));
  const sink: PtCalls = new PtCalls(trace, {
    filter,
    idle: () => {
      const { events } = sink;
      if (events === undefined) return;
      for (let i = 0; i < events.count; i++) {
        const address = code.places.address(events.place[i] ?? 0);
        const time = (events.time[i] ?? 0) - first;
        rows.push(
          `${"call,return,open".split(",")[events.kind[i] ?? 9]} ${address.toString(16)}` +
            ` tid ${events.tid[i]} cpu ${events.cpu[i]} depth ${events.depth[i]} at ${time}` +
            (events.kind[i] === 0 ? "" : ` for ${events.duration[i]}, ${events.insns[i]} insns`),
        );
      }
      events.clear();
    },
  });
  await decodePt(trace, sink);
  sink.finish();
  await sink.idle();
  return rows;
}

Deno.test("PtCalls: two calls between times give their depth, time, duration and instructions", async () => {
  // 1000 ticks are 372 ns.
  assertEquals(await calls(), [
    "call 10 tid 7 cpu 0 depth 0 at 372",
    "return 10 tid 7 cpu 0 depth 0 at 1116 for 744, 3 insns",
    "call 10 tid 7 cpu 0 depth 0 at 1116",
    "return 10 tid 7 cpu 0 depth 0 at 2232 for 1116, 3 insns",
  ]);
});

/** Sums by place, in order of address: instructions and ns. */
async function sums(packets = TWO_CALLS, filter: CallFilter = {}) {
  const { trace } = await small({ cpus: [packets] });
  const { code } = trace;
  const sink = new PtCalls(trace, { filter, tree: true, timeline: true });
  await decodePt(trace, sink);
  await sink.idle();
  sink.finish();
  const { tree, timeline, latency } = sink;
  const of = Array.from({ length: code.places.count }, (_, place) => place)
    .filter((place) => (sink.sums.insnsOf[place] ?? 0) > 0)
    .sort((a, b) => code.places.address(a) - code.places.address(b))
    .map((place) => [
      code.places.address(place),
      sink.sums.insnsOf[place],
      Math.round(sink.sums.timeOf[place] ?? 0),
      latency.of(place)?.calls ?? 0,
      Math.round(latency.of(place)?.time ?? 0),
      latency.of(place)?.insns,
    ]);
  return { of, tree, timeline, sums: sink.sums, sink };
}

Deno.test("PtCalls: sums of a caller and its callee have instructions, time, calls and totals of each", async () => {
  const { of, sums: all, tree, timeline } = await sums();
  // Four instructions share the 744 ns up to the second time, and four the 1116 ns up to the third.
  assertEquals(of, [
    // The first code has no call.
    [0, 1, 186, 0, 0, undefined],
    [0x5, 1, 279, 0, 0, undefined],
    [0xa, 1, 0, 0, 0, undefined],
    [0x10, 6, 3 * (186 + 279), 2, 1860, 6],
  ]);
  assertEquals([all.insns, Math.round(all.time)], [9, 1860]);
  assertEquals([tree?.count, [...tree?.insns.subarray(0, 2) ?? []]], [2, [3, 6]]);
  assertEquals([...tree?.parent.subarray(0, 2) ?? []], [-1, 0]);
  assertEquals([...timeline?.node.subarray(0, timeline.count) ?? []], [0, 1, 1]);
});

Deno.test("PtCalls: a time filter keeps only time and instructions in it", async () => {
  const { trace } = await small({ cpus: [TWO_CALLS] });
  const { clock } = trace;
  const from = clock.origin.since(at(3000));
  const { of } = await sums(TWO_CALLS, { from });
  assertEquals(of, [
    [0x5, 1, 279, 0, 0, undefined],
    [0xa, 1, 0, 0, 0, undefined],
    [0x10, 3, 3 * 279, 2, 1116, 6],
  ]);
  const { of: before } = await sums(TWO_CALLS, { to: from - 1 });
  // 743 ns of the 744.
  assertEquals(before.map((row) => row.slice(0, 3)), [[0, 1, 186], [0x10, 3, 557]]);
});

Deno.test("PtCalls: a thread that the filter excludes has no sums", async () => {
  assertEquals((await sums(TWO_CALLS, { tids: new Set([8]) })).of, []);
  assertEquals((await sums(TWO_CALLS, { tids: new Set([7]) })).of.length, 4);
});
