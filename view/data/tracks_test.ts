import { assert, assertEquals } from "@std/assert";
import { ProfileBuilder } from "@perfdata/profile";
import { viewProfile } from "@perfdata/export/tree";
import { ViewEngine } from "./view_engine.ts";
import { LEVELS, type TrackQuery } from "./tracks.ts";

/** A clock that samples every 1000 ns. */
const STEP = 1000;

/**
 * Thread 7 runs on CPU 0 all the time, thread 8 of the same process on CPU 1 in the second half, and process 9
 * on CPU 1 in the first half.
 */
function engineOf(unit: "nanoseconds" | "count"): ViewEngine {
  const builder = new ProfileBuilder({ events: [{ name: "event", unit }] });
  const [a, b, c] = [
    builder.thread(7, 7, "a"),
    builder.thread(7, 8, "b"),
    builder.thread(9, 9, "c"),
  ];
  const main = builder.stack(-1, builder.place(-1, 1, [{ name: "main" }]));
  const work = builder.stack(main, builder.place(-1, 2, [{ name: "work" }]));
  for (let at = 1; at <= 100; at++) {
    const sample = { event: 0, period: unit === "count" ? 40 : STEP, time: at * STEP };
    builder.sample({ ...sample, stack: work, thread: a, cpu: 0 });
    builder.sample({ ...sample, stack: main, thread: at > 50 ? b : c, cpu: 1 });
  }
  return new ViewEngine(viewProfile(builder.profile()));
}

/** From the first sample to the last. */
const QUERY: TrackQuery = {
  ...{ kind: "thread", event: 0, weight: "period", most: 10 },
  ...{ from: 0, to: 99 * STEP, bins: 37 },
};

/** The sum of each bin. */
function heights(bins: Float64Array, stride = LEVELS): number[] {
  return Array.from(
    { length: bins.length / stride },
    (_, bin) => bins.subarray(bin * stride, (bin + 1) * stride).reduce((a, b) => a + b, 0),
  );
}

Deno.test("tracks: a thread that always ran is a full bar, whatever the width of the bins", () => {
  const engine = engineOf("nanoseconds");
  for (const bins of [1, 7, 37, 99]) {
    const { tracks } = engine.tracks({ ...QUERY, bins }, {});
    const full = (QUERY.to - QUERY.from) / bins;
    const [a] = tracks.filter(({ id }) => id === 7).map(({ bins }) => heights(bins));
    for (const height of a ?? []) {
      assert(Math.abs(height - full) < 1e-6, `${bins}: ${height} of ${full}`);
    }
    // The other one has a full second half, and nothing before.
    const half = tracks.filter(({ id }) => id === 8).map(({ bins }) => heights(bins))[0] ?? [];
    for (const [bin, height] of half.entries()) {
      const share = Math.max(0, Math.min(1, (bin + 1) - 49 * STEP / full));
      assert(Math.abs(height - share * full) < 1e-6, `${bins}, ${bin}: ${height}`);
    }
  }
  // So is one of an event whose periods are no times, by the usual time between its samples.
  const counted = engineOf("count").tracks(QUERY, {}).tracks.find(({ id }) => id === 7);
  const [first = 0, ...others] = heights(counted?.bins ?? new Float64Array());
  for (const height of others) assert(Math.abs(height - first) < 1e-6);
  assertEquals(engineOf("count").facts().intervals, [STEP]);
});

Deno.test("tracks: the threads of a process are below it unless it is closed, and sums are those of the range", () => {
  const engine = engineOf("nanoseconds");
  const query = { ...QUERY, kind: "process", range: [0, 20 * STEP] } as const;
  assertEquals(
    engine.tracks(query, {}).tracks.map((
      { kind, id, sum, threads, isNested },
    ) => [kind, id, sum, threads, isNested]),
    [
      ["process", 7, 20 * STEP, 2, false],
      ["thread", 7, 20 * STEP, 0, true],
      ["thread", 8, 0, 0, true],
      ["process", 9, 20 * STEP, 1, false],
    ],
  );
  const { tracks: [process, a, b] } = engine.tracks(query, {});
  const sums = heights(a?.bins ?? new Float64Array());
  for (const [bin, height] of heights(b?.bins ?? new Float64Array()).entries()) {
    sums[bin] = (sums[bin] ?? 0) + height;
  }
  assertEquals(heights(process?.bins ?? new Float64Array()).map(Math.round), sums.map(Math.round));
});

Deno.test("tracks: sorted by weight, name or first sample, threads within their process; room for a part", () => {
  const engine = engineOf("nanoseconds");
  const query = { ...QUERY, kind: "process" } as const;
  const idsOf = (more: Partial<TrackQuery>) => {
    const { tracks, count, left } = engine.tracks({ ...query, ...more }, {});
    return [tracks.map(({ id }) => id).join(), count, left];
  };
  // In the second quarter, c runs as much as a, and b does not run.
  const range = [25 * STEP, 50 * STEP] as const;
  assertEquals(idsOf({ range }), ["7,7,8,9", 2, 0]);
  assertEquals(idsOf({ sort: "name" }), ["7,7,8,9", 2, 0]);
  assertEquals(idsOf({ kind: "thread", sort: "weight" }), ["7,8,9", 3, 0]);
  assertEquals(idsOf({ kind: "thread", sort: "start" }), ["7,9,8", 3, 0]);
  assertEquals(idsOf({ kind: "thread", sort: "weight", range: [0, 20 * STEP] }), ["7,9,8", 3, 0]);
  assertEquals(idsOf({ closed: [7] }), ["7,9", 2, 0]);
  assertEquals(idsOf({ most: 2 }), ["7,7", 2, 1]);
  assertEquals(idsOf({ most: 3 }), ["7,7,8", 2, 0]);
  assertEquals(idsOf({ kind: "cpu" }), ["0,1", 2, 0]);
});

Deno.test("tracks: bins of a CPU are by thread, those with most weight first", () => {
  const { tracks: [, second], colored } = engineOf("nanoseconds")
    .tracks({ ...QUERY, kind: "cpu", byThread: true, bins: 2 }, {});
  assertEquals(colored, ["a 7", "b 8", "c 9"]);
  const stride = (second?.bins.length ?? 0) / 2;
  const share = (bin: number, color: number) =>
    Math.round(100 * (second?.bins[bin * stride + color] ?? 0) / (QUERY.to / 2));
  assertEquals([[0, 1, 2].map((of) => share(0, of)), [0, 1, 2].map((of) => share(1, of))], [
    [0, 1, 99],
    [0, 100, 0],
  ]);
});

Deno.test("ViewEngine.sampleAt: the sample next to a time, and the samples around it", () => {
  const engine = engineOf("nanoseconds");
  const range = { event: 0, weight: "period", from: 9 * STEP, to: 12 * STEP } as const;
  const found = engine.sampleAt({ kind: "cpu", id: 1 }, range, 10.4 * STEP);
  const { functions } = engine.facts();
  assertEquals(
    [found?.time, found?.thread, found?.cpu, found?.count, found?.weight],
    [10 * STEP, "c 9", 1, 3, 3 * STEP],
  );
  assertEquals(found?.stack.map((fn) => functions.name[fn]), ["main"]);
  const thread = engine.sampleAt({ kind: "thread", id: 7 }, range, 10 * STEP);
  assertEquals(thread?.stack.map((fn) => functions.name[fn]), ["work", "main"]);
  assertEquals(engine.sampleAt({ kind: "thread", id: 8 }, range, 10 * STEP), undefined);
});
