import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { SampleCollector } from "./sample_collector.ts";
import { profileColumns, recordedProfile } from "./recorded_profile.ts";
import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { functionNames, totals } from "../columns/profile.ts";
import {
  collected,
  idOf,
  profiled,
  recordingOf,
  resolverOf,
  SAMPLE_TYPE,
  sampleLines,
  type Small,
  TWO_THREADS,
} from "../testing.ts";
import { type ProfileOptions } from "./recorded_profile.ts";

/** The columns of samples with their times. */
function timedRows({ samples, threads }: Awaited<ReturnType<typeof profiled>>): unknown[] {
  const of = (column: ArrayLike<number> | undefined) =>
    Array.from(column ?? []).slice(0, samples.length);
  return [
    of(samples.time),
    of(samples.period),
    of(samples.cpu),
    of(samples.thread).map((thread) => threads.comm(thread)),
    of(samples.event),
  ];
}

Deno.test("SampleCollector: equal samples become one row with their count and period", async () => {
  const made = await profiled({ samples: TWO_THREADS });
  // Addresses in the object are 0x1000 less than in memory; 0x9000 is unmapped.
  assertEquals(sampleLines(made).sort(), ["t7 0 2 15 10 20", "t8 0 1 1 0 20", "t8 0 1 2 30"]);
  assertEquals(totals(made), [{ samples: 4, period: 18 }]);
  assertEquals([made.title, made.epoch, made.span, made.objects.map(({ path }) => path)], [
    ...["small", 0n, [100, 400], ["/bin/small"]],
  ]);
  assertEquals([made.objects[0]?.name, made.switches, "time" in made.samples], [
    ...["small", [], false],
  ]);
  assertEquals(new Set(functionNames(made)), new Set(["[small]", "[unknown]"]));
});

Deno.test("SampleCollector: timed samples are rows in order of time, with CPUs", async () => {
  assertEquals(timedRows(await profiled({ samples: TWO_THREADS }, { timed: true })), [
    [100, 200, 300, 400],
    [10, 2, 5, 1],
    [0, 1, 0, 1],
    ["t7", "t8", "t7", "t8"],
    [0, 0, 0, 0],
  ]);
});

Deno.test("SampleCollector: threads: false sums threads of one name, not those without a name", async () => {
  const samples = TWO_THREADS.map((sample) => ({ ...sample, ips: [0x1010n] }));
  const both: Small = { samples, comms: { 7: "same", 8: "same" } };
  assertEquals(sampleLines(await profiled(both, { threads: false })), ["same 0 4 18 10"]);
  assertEquals((await profiled(both)).threads.length, 2);
  const unnamed: Small = { samples, comms: {} };
  assertEquals(sampleLines(await profiled(unnamed, { threads: false })).sort(), [
    ":7 0 2 15 10",
    ":8 0 2 3 10",
  ]);
});

Deno.test("SampleCollector: samples before a thread's first COMM have that name, whether they are read in any order or in order of time", async () => {
  const late: Small = { samples: TWO_THREADS, namedAt: 250n };
  const lines = ["t7 0 2 15 10 20", "t8 0 1 1 0 20", "t8 0 1 2 30"];
  for (const threads of [true, false]) {
    assertEquals(sampleLines(await profiled(late, { threads })).sort(), lines);
    const inTime = await profiled(late, { threads, weight: "latency" });
    assertEquals(new Set(Array.from(inTime.threads, ({ comm }) => comm)), new Set(["t7", "t8"]));
  }
});

Deno.test("SampleCollector: samples of two events are rows of each, clocks are in nanoseconds", async () => {
  const attrs = [{}, { type: 1, config: 0n }, { type: 1, config: 1n }];
  const samples = TWO_THREADS.map((sample, i) => ({ ...sample, ips: [0x1010n], event: i % 2 }));
  const made = await profiled({ samples, attrs });
  assertEquals(sampleLines(made).sort(), ["t7 0 2 15 10", "t8 1 2 3 10"]);
  assertEquals(made.events, [
    { name: "instructions", unit: "count" },
    { name: "cpu-clock", unit: "nanoseconds" },
    { name: "task-clock", unit: "nanoseconds" },
  ]);
  assertEquals(totals(made), [
    { samples: 2, period: 15 },
    { samples: 2, period: 3 },
    { samples: 0, period: 0 },
  ]);
});

Deno.test("SampleCollector: times from 2^52 on count from the first sample, others from 0", async () => {
  const at = async (first: bigint) => {
    const samples = TWO_THREADS.map((sample) => ({ ...sample, time: first + sample.time - 100n }));
    const made = await profiled({ samples }, { timed: true });
    return [made.epoch, made.span, timedRows(made)[0]];
  };
  const late = 2n ** 52n;
  assertEquals(await at(late), [late, [0, 300], [0, 100, 200, 300]]);
  const exact = Number(late - 1n);
  assertEquals(await at(late - 1n), [
    0n,
    [exact, exact + 300],
    [exact, exact + 100, exact + 200, exact + 300],
  ]);
  const none = await profiled({ samples: [] }, { timed: true });
  assertEquals([none.epoch, none.span, none.samples.length], [0n, undefined, 0]);
});

Deno.test("SampleCollector: a filter by thread or time leaves out other samples", async () => {
  const bytes = await recordingOf({ samples: TWO_THREADS });
  const lines = async (filter: ProfileOptions["filter"]) => {
    const { consumer } = await collected(bytes, {}, filter === undefined ? {} : { filter });
    const { profile } = await recordedProfile(consumer, { resolver: resolverOf(), title: "" });
    return [consumer.samples, profile.span, sampleLines(profile).sort()];
  };
  assertEquals(await lines({ tids: new Set([7]) }), [2, [100, 300], ["t7 0 2 15 10 20"]]);
  assertEquals(await lines({ time: [200n, 300n] }), [2, [200, 300], [
    "t7 0 1 5 10 20",
    "t8 0 1 2 30",
  ]]);
});

Deno.test("SampleCollector: samples with the counts of a group give each event what it counted since", async () => {
  const attr = { sample_type: SAMPLE_TYPE | 0x10n, read_format: 4n | 8n };
  const attrs = [attr, { ...attr, config: 0n }];
  const counts = [[5n, 7n], [15n, 7n], [16n, 107n]] as const;
  const samples = counts.map(([one, other], i) => ({
    tid: 7,
    time: BigInt(100 * (i + 1)),
    period: 1000n,
    ips: [0x1010n],
    group: [[idOf(0), one], [idOf(1), other]] as const,
  }));
  const made = await profiled({ samples, attrs });
  // Event 0 counted 5, 10, 1, event 1 counted 7, 0, 100; a count of 0 gives no sample.
  assertEquals(sampleLines(made).sort(), ["t7 0 3 16 10", "t7 1 2 107 10"]);
  const unknown = samples.map((sample) => ({
    ...sample,
    group: [[idOf(0), 5n], [99n, 1n]] as const,
  }));
  const damaged = await profiled({ samples: unknown, attrs });
  // Event 0 counted 5 once; each sample has a count of an unknown event.
  assertEquals([sampleLines(damaged), damaged.trust.split("; ").at(-1)], [
    ["t7 0 1 5 10"],
    "3 samples are damaged or of no known event",
  ]);
  // Samples before the time filter give the start values of the counters.
  const { consumer } = await collected(await recordingOf({ samples, attrs }), {}, {
    filter: { time: [200n, 300n] },
  });
  const { profile } = await recordedProfile(consumer, { resolver: resolverOf(), title: "" });
  assertEquals(sampleLines(profile).sort(), ["t7 0 2 11 10", "t7 1 1 100 10"]);
});

/** 7 runs on CPU 0 except from 150 to 250 and from 320 to 380; 8 runs on CPU 1 from 200 on. */
const SWITCHED: Small = {
  samples: TWO_THREADS,
  switches: [
    { tid: 7, time: 150n, cpu: 0, change: "out" },
    { tid: 7, time: 250n, cpu: 0, change: "in" },
    { tid: 7, time: 320n, cpu: 0, change: "preempted" },
    { tid: 7, time: 380n, cpu: 2, change: "in" },
    { tid: 8, time: 500n, cpu: 1, change: "out" },
  ],
};

Deno.test("SampleCollector: switches with timed samples are kept with thread, time and CPU", async () => {
  const options = { timed: true, switches: true };
  const { switches, threads } = await profiled(SWITCHED, options);
  assertEquals(
    switches.map(({ thread, ...change }) => [threads.comm(thread), ...Object.values(change)]),
    [
      ["t7", 150, 0, true, false],
      ["t7", 250, 0, false, false],
      ["t7", 320, 0, true, true],
      ["t7", 380, 2, false, false],
      ["t8", 500, 1, true, false],
    ],
  );
  const late: Small = {
    samples: SWITCHED.samples.map((sample) => ({ ...sample, time: sample.time + 2n ** 60n })),
    switches: SWITCHED.switches?.map((change) => ({ ...change, time: change.time + 2n ** 60n })),
  } as Small;
  // Times are relative to the first sample, which is at 100.
  assertEquals((await profiled(late, options)).switches.map(({ time }) => time), [
    ...[50, 150, 220, 280, 400],
  ]);
  for (const without of [{ timed: true }, { switches: true }, {}]) {
    assertEquals((await profiled(SWITCHED, without)).switches, []);
  }
});

Deno.test("SampleCollector: weight latency divides periods by the threads that have a CPU", async () => {
  const samples: Small["samples"] = [
    { tid: 7, time: 100n, period: 10n, ips: [0x1010n] },
    { tid: 8, time: 200n, period: 3n, ips: [0x1010n], cpu: 1 },
    { tid: 8, time: 210n, period: 3n, ips: [0x1010n], cpu: 1 },
    { tid: 8, time: 300n, period: 3n, ips: [0x1010n], cpu: 1 },
    { tid: 8, time: 400n, period: 8n, ips: [0x1020n], cpu: 1 },
  ];
  const switches = [{ tid: 7, time: 350n, cpu: 0, change: "out" }] as const;
  const recording: Small = { samples, switches };
  // 7 alone: 10; 8 while 7 runs: three times 1.5, which is rounded to 5; 8 alone: 8.
  assertEquals(sampleLines(await profiled(recording, { weight: "latency" })).sort(), [
    "t7 0 1 10 10",
    "t8 0 1 8 20",
    "t8 0 3 5 10",
  ]);
  const timed = await profiled(recording, { weight: "latency", timed: true });
  // Rounded to whole numbers, with the rest carried over: 1.5 is 2, 1.0 is 1, 1.5 is 2, 7.5 is 8.
  assertEquals(timedRows(timed)[1], [10, 2, 1, 2, 8]);
  assertEquals(timed.events, [{ name: "instructions", unit: "count" }]);
});

Deno.test("SampleCollector: weight off-cpu counts times without a CPU, weight wall all times", async () => {
  const off = await profiled(SWITCHED, { weight: "off-cpu" });
  assertEquals(off.events, [{ name: "off-cpu", unit: "nanoseconds" }]);
  // From 150 to 250 and from 320 to 380; 8 leaves its CPU at the end.
  assertEquals(totals(off), [{ samples: 2, period: 160 }]);
  assertEquals([off.span, off.samples.length], [[150, 380], 1]);
  // Each of these times in turn is the first with a carry into the upper half.
  for (const time of [150n, 250n, 320n, 380n]) {
    const shift = 2n ** 33n - time;
    const shifted = {
      samples: TWO_THREADS.map((sample) => ({ ...sample, time: sample.time + shift })),
      switches: (SWITCHED.switches ?? []).map((change) => ({
        ...change,
        time: change.time + shift,
      })),
    };
    const { span } = await profiled(shifted, { weight: "off-cpu" });
    assertEquals(span, [Number(150n + shift), Number(380n + shift)]);
  }
  const timed = await profiled(SWITCHED, { weight: "off-cpu", timed: true });
  assertEquals(timedRows(timed), [[150, 320], [100, 60], [0, 0], ["t7", "t7"], [0, 0]]);
});

Deno.test("SampleCollector: weight wall counts times with and without a CPU, each with its state", async () => {
  const wall = await profiled(SWITCHED, { weight: "wall" });
  assertEquals(wall.events, [{ name: "wall", unit: "nanoseconds" }]);
  assertEquals(wall.objects.at(-1)?.name, "[off-cpu]");
  const names = functionNames(wall);
  const lines = Array.from({ length: wall.samples.length }, (_, i) => {
    const stack = wall.samples.stack[i] ?? -1;
    const frame = wall.places.frames[wall.places.start[wall.stacks.place[stack] ?? -1] ?? 0];
    const thread = wall.threads.comm(wall.samples.thread[i] ?? 0);
    const name = stack < 0 ? "-" : names[wall.frames.function[frame ?? -1] ?? -1];
    return `${thread} ${wall.samples.count[i]} ${wall.samples.period[i]} ${name}`;
  });
  assertEquals(lines.sort(), [
    // From 150 to 250, after a voluntary switch; from 320 to 380, after a preemption.
    "t7 1 100 [waiting]",
    // From 380 to the last record, without a sample.
    "t7 1 120 -",
    "t7 1 60 [runnable]",
    // From 100 to 150, 250 to 300 and 300 to 320.
    "t7 3 120 [small]",
    // From 200 to 400, by the sample at 400, and on to 500.
    "t8 2 300 [unknown]",
  ]);
  assertEquals(wall.span, [100, 500]);
  assertEquals(timedRows(await profiled(SWITCHED, { weight: "wall", timed: true })), [
    [100, 150, 200, 250, 300, 320, 380, 400],
    [50, 100, 200, 50, 20, 60, 120, 100],
    [0, 0, 1, 0, 0, 0, 2, 1],
    ["t7", "t7", "t8", "t7", "t7", "t7", "t7", "t8"],
    [0, 0, 0, 0, 0, 0, 0, 0],
  ]);
});

Deno.test("SampleCollector: off-CPU time without a call chain gets the stack of the thread's last sample, below [last sample]", async () => {
  const off = await profiled(SWITCHED, { weight: "off-cpu" });
  const names = functionNames(off);
  const frameAt = (stack: number) => {
    const first = off.places.start[off.stacks.place[stack] ?? -1] ?? -1;
    return names[off.frames.function[off.places.frames[first] ?? -1] ?? -1];
  };
  const [stack = -1] = off.samples.stack;
  assertEquals([frameAt(stack), frameAt(off.stacks.parent[stack] ?? -1)], [
    "[last sample]",
    "[small]",
  ]);
  assertMatch(
    `${off.notes?.[0]}`,
    /^2 of 2 times without a CPU have the stack of the thread's last sample .*: perf record -g -e .*sched_switch/,
  );
  // Times in which threads waited and marks are in one object.
  const wall = await profiled(SWITCHED, { weight: "wall" });
  assertEquals(wall.objects.filter(({ path }) => path === "[off-cpu]").length, 1);
  // A thread without an earlier sample has no stack.
  const before = { ...SWITCHED, samples: TWO_THREADS.filter(({ tid }) => tid === 8) };
  const none = await profiled(before, { weight: "off-cpu" });
  assertEquals(none.samples.stack.every((stack) => stack < 0), true);
});

Deno.test("SampleCollector: wall and off-cpu of threads of one name are sums of both", async () => {
  const recording: Small = {
    samples: TWO_THREADS,
    comms: { 7: "same", 8: "same" },
    switches: [
      { tid: 7, time: 150n, cpu: 0, change: "out" },
      { tid: 8, time: 210n, cpu: 1, change: "out" },
      { tid: 7, time: 250n, cpu: 0, change: "in" },
      { tid: 8, time: 260n, cpu: 1, change: "in" },
    ],
  };
  const off = await profiled(recording, { weight: "off-cpu", threads: false });
  // 100 of 7 and 50 of 8.
  assertEquals([off.threads.length, totals(off)], [1, [{ samples: 2, period: 150 }]]);
  assertEquals((await profiled(recording, { weight: "off-cpu" })).threads.length, 2);
});

/** The parts of the line about trust. */
async function trustOf(recording: Small, options?: ProfileOptions): Promise<string[]> {
  return (await profiled(recording, options)).trust.split("; ");
}

Deno.test("SampleCollector: the trust line has shares of functions and callers, and why there are none", async () => {
  // Three of four samples are in a missing file, and have callers.
  assertEquals(await trustOf({ samples: TWO_THREADS }), [
    "0% of samples have a function (without: file missing 75%, unmapped 25%)",
    "75% have callers",
  ]);
  const alone = TWO_THREADS.map(({ ips, ...sample }) => ({ ...sample, ips: ips.slice(0, 1) }));
  assertEquals((await trustOf({ samples: alone }))[1], "no call chains were recorded");
  assertEquals(await trustOf({ samples: [] }), [
    "0% of samples have a function",
    "no call chains were recorded",
  ]);
});

Deno.test("SampleCollector: the trust line names callers where nothing was mapped from a twentieth of the samples on", async () => {
  const sample = { tid: 7, period: 1n, ips: [0x1010n, 0x1020n, 0x1030n] };
  const samples = (all: number, ips: readonly bigint[]) =>
    Array.from({ length: all }, (_, i) => ({
      ...sample,
      time: BigInt(i + 1),
      ips: i === 0 ? ips : sample.ips,
    }));
  const lost = "5% have callers where nothing was mapped, as of code without frame pointers";
  assertEquals((await trustOf({ samples: samples(20, [0x1010n, 0x9000n]) }))[2], lost);
  // The caller of the caller may be unmapped, too, but not the sample itself.
  assertEquals((await trustOf({ samples: samples(20, [0x1010n, 0x1020n, 0x9000n]) }))[2], lost);
  assertEquals((await trustOf({ samples: samples(20, [0x9000n, 0x1020n]) })).length, 2);
  assertEquals((await trustOf({ samples: samples(21, [0x1010n, 0x9000n]) })).length, 2);
});

Deno.test("SampleCollector: the trust line reports a sample with most of the period, and rounded sums", async () => {
  const samples = Array.from({ length: 100 }, (_, i) => ({
    ...{ tid: 7, time: BigInt(i + 1), ips: [0x1010n] },
    period: i === 50 ? 2n ** 53n : 1n,
  }));
  const parts = await trustOf({ samples });
  assertEquals(parts.slice(2), [
    "one of 100 samples of instructions has a period of 9007199254740992, 100.0% of all: " +
    "shares by period are of it alone",
    "sums of periods from 2^53 on are rounded",
  ]);
  const below = samples.map((sample, i) =>
    i === 50 ? { ...sample, period: 2n ** 53n - 101n } : sample
  );
  assertEquals((await trustOf({ samples: below })).length, 3);
});

Deno.test("SampleCollector: parts of two threads that are joined give the profile of one", async () => {
  for (const timed of [false, true]) {
    const { consumer: whole, engine } = await collected(
      await recordingOf({ samples: [...TWO_THREADS, ...TWO_THREADS] }),
      { timed },
    );
    const { profile: wanted } = await recordedProfile(whole, { resolver: resolverOf(), title: "" });
    const joined = new SampleCollector(profileColumns({ timed }));
    await joined.start(engine);
    for (let part = 0; part < 2; part++) {
      const { consumer } = await collected(await recordingOf({ samples: TWO_THREADS }), { timed });
      // Both parts have the same numbers of stacks as the whole.
      const same = Int32Array.from({ length: engine.stacks.count }, (_, i) => i);
      joined.join(consumer.part(), { place: same, stack: same, objects: same });
    }
    joined.finish();
    assertEquals(joined.samples, 8);
    const { profile } = await recordedProfile(joined, { resolver: resolverOf(), title: "" });
    assertEquals(profile.samples.length, timed ? 8 : 3);
    assertEquals(sampleLines(profile).sort(), sampleLines(wanted).sort());
    assertEquals([profile.span, profile.trust], [wanted.span, wanted.trust]);
  }
});

Deno.test("SampleCollector: a part has its own numbers of stacks, which join translates; -1 stays", async () => {
  const { consumer, engine } = await collected(await recordingOf({ samples: TWO_THREADS }), {
    timed: true,
  });
  const part = consumer.part();
  assertEquals([part.totals[0]?.samples, part.leftOut, [...part.largest]], [4, 0, [10]]);
  const timed = { ...part.timed, node: Int32Array.of(0, -1, 2, 1) };
  const other = new SampleCollector(profileColumns({ timed: true }));
  await other.start(engine);
  const stack = Int32Array.of(100, 101, 102);
  other.join({ ...part, leftOut: 2, timed }, { place: stack, stack, objects: stack });
  const joined = other.part();
  assertEquals([[...joined.timed.node], joined.leftOut], [[100, -1, 102, 101], 2]);
  assertEquals([[...joined.timed.timeLo], [...joined.timed.cpu]], [[100, 200, 300, 400], [
    0,
    1,
    0,
    1,
  ]]);
});

Deno.test("SampleCollector: reuse of a consumer whose part was handed on counts from nothing", async () => {
  const reader = await PerfDataReader.open(
    bytesSource(await recordingOf({ samples: TWO_THREADS })),
  );
  const options = { timed: false };
  const [before, consumer] = [
    new SampleCollector(profileColumns(options)),
    new SampleCollector(profileColumns(options)),
  ];
  // Passes the samples as a worker does, which returns its part before the end.
  await runEngine(reader, [{
    needs: before.needs,
    start: (engine) => before.start(engine),
    rows: (run) => before.rows(run),
  }]);
  assertEquals(before.part().totals[0]?.samples, 4);
  consumer.reuse(before);
  await runEngine(reader, [consumer]);
  const { profile } = await recordedProfile(consumer, { resolver: resolverOf(), title: "" });
  assertEquals(totals(profile), [{ samples: 4, period: 18 }]);
});

Deno.test("SampleCollector: a second call of profile throws", async () => {
  const { consumer } = await collected(await recordingOf({ samples: TWO_THREADS }));
  await recordedProfile(consumer, { resolver: resolverOf(), title: "" });
  await assertRejects(
    () => recordedProfile(consumer, { resolver: resolverOf(), title: "" }),
    Error,
    "the profile of a recording is made once",
  );
});
