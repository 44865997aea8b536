/** Formats of a profile that is small enough for output worked out by hand. */
import { type Profile, ProfileBuilder } from "@perfdata/profile";
import { assertEquals } from "@std/assert";
import { Profile as PprofProfile } from "pprof-format";
import { bytesOf, smallProfile, textOf } from "../testing.ts";
import { callgrind } from "./callgrind.ts";
import { chrome } from "./chrome.ts";
import { firefox } from "./firefox.ts";
import { folded } from "./folded.ts";
import { perfetto } from "./perfetto.ts";
import { pprof } from "./pprof.ts";
import { speedscope } from "./speedscope.ts";

const SMALL = smallProfile();

/**
 * A profile of the event `cycles`, thread 7, with one sample of period 1 for each stack, outermost
 * first.
 */
function stacksOf(...stacks: readonly (readonly string[])[]): Profile {
  const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
  const thread = builder.thread(7, 7, "demo");
  const places = new Map<string, number>();
  for (const names of stacks) {
    let stack = -1;
    for (const name of names) {
      if (!places.has(name)) places.set(name, builder.place(-1, places.size + 1, [{ name }]));
      stack = builder.stack(stack, places.get(name) as number);
    }
    builder.sample({ stack, event: 0, thread, period: 1 });
  }
  return builder.profile();
}

/**
 * Switches of CPU 3: thread 0 runs from 1 to 4 µs and is preempted, thread 1 from 4 to 6 µs and
 * waits.
 */
const SWITCHES: Profile["switches"] = [
  { cpu: 3, thread: 0, time: 1000, out: false, preempted: false },
  { cpu: 3, thread: 0, time: 4000, out: true, preempted: true },
  { cpu: 3, thread: 1, time: 4000, out: false, preempted: false },
  { cpu: 3, thread: 1, time: 6000, out: true, preempted: false },
  { cpu: 3, thread: 0, time: 7000, out: false, preempted: false },
];

interface TraceEvent {
  readonly ph: string;
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly args: Readonly<Record<string, unknown>>;
}

async function traceEvents(profile: Profile, inline = true): Promise<TraceEvent[]> {
  return JSON.parse(await textOf(chrome(profile, { inline }))).traceEvents;
}

/** Slices as `name tid ts dur samples period`. */
function slices(events: readonly TraceEvent[]): string[] {
  return events.filter(({ ph }) => ph === "X").map(({ name, tid, ts, dur, args }) =>
    [name, tid, ts, dur, args["samples"], args["period"]].join(" ")
  );
}

Deno.test("chrome: consecutive samples are one slice, up to a gap of four usual distances", async () => {
  const events = await traceEvents(SMALL);
  // Thread 7 has the distances 1, 1 and 17 µs: 1 is usual, so main at 3 µs ends at 4 µs.
  assertEquals(slices(events), [
    "main 7 1 3 3 35",
    "f 7 1 2 2 30",
    "g 7 1 2 2 30",
    "k 7 2 1 1 20",
    "main 7 20 1 1 7",
    "f 7 20 1 1 7",
    "g 7 20 1 1 7",
    "main 8 2.5 1 1 3",
    "f 8 2.5 1 1 3",
    "g 8 2.5 1 1 3",
    // A single sample takes a millisecond.
    "main 4194306 2.6 1000 1 1",
  ]);
  assertEquals(
    events.filter(({ ph }) => ph === "M").map(({ name, pid, tid, args }) => [
      ...[name, pid, tid, args["name"]],
    ]),
    [
      ["process_name", 7, 7, "demo"],
      ["thread_name", 7, 7, "demo"],
      ["thread_name", 7, 8, "work er"],
      ["thread_name", 7, 4194306, "demo 7 (page-faults)"],
    ],
  );
  assertEquals(slices(await traceEvents(SMALL, false)).slice(0, 3), [
    ...["main 7 1 3 3 35", "f 7 1 2 2 30", "k 7 2 1 1 20"],
  ]);
});

Deno.test("chrome: samples without times follow each other at a microsecond", async () => {
  const profile = stacksOf(["main", "f"], ["main"], ["f"]);
  assertEquals(slices(await traceEvents(profile)), [
    "main 7 0 2 2 2",
    "f 7 0 1 1 1",
    "f 7 2 1 1 1",
  ]);
});

Deno.test("chrome: samples four usual distances apart are one slice", async () => {
  const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
  const thread = builder.thread(7, 7, "demo");
  const stack = builder.stack(-1, builder.place(-1, 1, [{ name: "main" }]));
  for (const time of [0, 1000, 2000, 6000, 10_001]) {
    builder.sample({ stack, event: 0, thread, period: 1, time });
  }
  // Of the distances 1, 1, 4 and 4.001 µs, 4 is usual; after two more of 1 µs, 1 is.
  assertEquals(slices(await traceEvents(builder.profile())), ["main 7 0 14.001 5 5"]);
  builder.sample({ stack, event: 0, thread, period: 1, time: 11_001 });
  builder.sample({ stack, event: 0, thread, period: 1, time: 12_001 });
  assertEquals(slices(await traceEvents(builder.profile())), [
    ...["main 7 0 7 4 4", "main 7 10.001 3 3 3"],
  ]);
});

Deno.test("chrome: context switches are slices of their CPU, with the clock's epoch added", async () => {
  // 2^60 ns = 1152921504606846976 ns. A double loses the last digits, so compare the text.
  const profile: Profile = { ...SMALL, epoch: 2n ** 60n, switches: SWITCHES };
  const text = await textOf(chrome(profile));
  const lines = text.split("\n").filter((line) => line.includes(`"pid":4194305`));
  assertEquals(lines, [
    `{"ph":"M","name":"process_name","pid":4194305,"tid":4194305,"args":{"name":"CPUs"}},`,
    `{"ph":"X","name":"demo 7","pid":4194305,"tid":3,"ts":1152921504606847.976,"dur":3.000,"args":{"end":"preempted"}},`,
    `{"ph":"X","name":"work er 8","pid":4194305,"tid":3,"ts":1152921504606850.976,"dur":2.000,"args":{"end":"waiting"}}`,
  ]);
  assertEquals(text.includes(`"name":"k","pid":7,"tid":7,"ts":1152921504606848.976`), true);
});

Deno.test("chrome: a thread that is only switched out, or was switched in as another, has no slice", async () => {
  const profile: Profile = {
    ...SMALL,
    switches: [...SWITCHES.slice(1, 3), ...SWITCHES.slice(1, 2)],
  };
  const events = await traceEvents(profile);
  assertEquals(events.filter(({ pid, ph }) => pid === 4194305 && ph === "X"), []);
});

Deno.test("callgrind: functions have costs by line, calls those of the samples below them", async () => {
  assertEquals(
    await textOf(callgrind(SMALL)),
    `# callgrind format
version: 1
creator: perfdata
cmd: perf record demo
desc: Trust: all
positions: line
events: cpu-clock cpu-clock_samples page-faults page-faults_samples
summary: 49 6 1 1

ob=(2) /usr/bin/demo
fl=(2) /src/demo.c
fn=(1) main
10 5 1 1 1
cob=(2)
cfi=(2)
cfn=(3) f
calls=4 0
10 40 4 0 0

ob=(2)
fl=(3) /src/in.h
fn=(2) g
3 20 3 0 0
cob=(3) [kernel.kallsyms]
cfi=(1) ???
cfn=(4) k
calls=1 0
3 20 1 0 0

ob=(2)
fl=(2)
fn=(3)
cob=(2)
cfi=(3)
cfn=(2)
calls=4 0
20 40 4 0 0

ob=(3)
fl=(1)
fn=(4)
0 20 1 0 0

ob=(1) [unknown]
fl=(1)
fn=[no stack]
0 4 1 0 0

totals: 49 6 1 1
`,
  );
});

Deno.test("callgrind: a call that is twice in a stack counts once", async () => {
  const profile = stacksOf(["a", "b", "a", "b"], ["a", "b", "b"]);
  const text = await textOf(callgrind(profile));
  const costs = text.split("\n\n").slice(1, -1).map((part) =>
    part.split("\n").filter((line) => /^(fn|cfn|calls|\d)/.test(line)).join(", ")
  );
  // a calls b in both samples, b calls a in the first, b calls b in the second; b alone has both
  // samples.
  assertEquals(costs, [
    "fn=(1) a, cfn=(2) b, calls=2 0, 0 2 2",
    "fn=(2), 0 2 2, cfn=(1), calls=1 0, 0 1 1, cfn=(2), calls=1 0, 0 1 1",
  ]);
  assertEquals(text.includes("\nevents: cycles samples\n"), true);
  assertEquals(text.includes("desc:"), false);
});

Deno.test("callgrind: line breaks in names become spaces", async () => {
  const text = await textOf(callgrind(stacksOf(["a\nb\x7f"])));
  assertEquals(text.includes("fn=(1) a b \n"), true);
});

Deno.test("speedscope: each event and thread is a profile with its stacks, outermost first", async () => {
  const { shared, profiles, name } = JSON.parse(await textOf(speedscope(SMALL)));
  assertEquals(name, "perf record demo");
  assertEquals(shared.frames, [
    { name: "main", file: "/src/demo.c", line: 10 },
    { name: "g", file: "/src/in.h", line: 3 },
    { name: "f", file: "/src/demo.c", line: 20 },
    { name: "k" },
  ]);
  const rest = { type: "sampled", startValue: 0 };
  const clock = { ...rest, unit: "nanoseconds" };
  assertEquals(profiles, [
    {
      ...clock,
      ...{ name: "demo 7/7 cpu-clock", endValue: 10 + 20 + 5 + 7, weights: [10, 20, 5, 7] },
      samples: [[0, 2, 1], [0, 2, 1, 3], [0], [0, 2, 1]],
    },
    {
      ...clock,
      ...{ name: "work er 7/8 cpu-clock", endValue: 3 + 4, weights: [3, 4] },
      samples: [[0, 2, 1], []],
    },
    {
      ...rest,
      ...{ unit: "none", name: "demo 7/7 page-faults", endValue: 1, weights: [1] },
      samples: [[0]],
    },
  ]);
  const without = JSON.parse(await textOf(speedscope(SMALL, { inline: false })));
  assertEquals(without.profiles[0].samples, [[0, 2], [0, 2, 3], [0], [0, 2]]);
  const one = JSON.parse(await textOf(speedscope(stacksOf(["main"]))));
  assertEquals(one.profiles[0].name, "demo 7/7");
});

Deno.test("folded: threads of the kernel for each CPU are one if that is asked for", async () => {
  const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
  const comms = ["kworker/3:1-eve", "kworker/u16:0", "ksoftirqd/0", "ksoftirqd/1", "a/b", "x/1y"];
  for (const [i, comm] of comms.entries()) {
    builder.sample({ stack: -1, event: 0, thread: builder.thread(i, i, comm), period: 1 });
  }
  assertEquals(
    await textOf(folded(builder.profile(), { mergeCpus: true })),
    "a/b 1\nksoftirqd/* 2\nkworker/* 2\nx/1y 1\n",
  );
});

Deno.test("folded: options select event, weight, root and marks", async () => {
  assertEquals(
    await textOf(folded(SMALL, { inline: true, kernel: true })),
    "demo;main 5\ndemo;main;f;g_[i] 17\ndemo;main;f;g_[i];k_[k] 20\nwork_er 4\nwork_er;main;f;g_[i] 3\n",
  );
  assertEquals(
    await textOf(folded(SMALL, { weight: "samples", tid: true, jit: true })),
    "demo-7/7;main 1\ndemo-7/7;main;f 2\ndemo-7/7;main;f;k 1\nwork_er-7/8 1\nwork_er-7/8;main;f 1\n",
  );
  assertEquals(await textOf(folded(SMALL, { event: 1, pid: true })), "demo-7;main 1\n");
  // Threads of all commands are one; a sample without a stack keeps a frame.
  assertEquals(
    await textOf(folded(SMALL, { withoutComm: true })),
    "[unknown] 4\nmain 5\nmain;f 20\nmain;f;k 20\n",
  );
});

Deno.test("pprof: the decoded profile has the samples, places and labels", async () => {
  const read = PprofProfile.decode(await bytesOf(pprof(SMALL)));
  const text = (number: unknown) => read.stringTable.strings[Number(number)];
  assertEquals(read.sampleType.map(({ type, unit }) => [text(type), text(unit)]), [
    ["cpu-clock_samples", "count"],
    ["cpu-clock", "nanoseconds"],
    ["page-faults_samples", "count"],
    ["page-faults", "count"],
  ]);
  assertEquals(
    read.sample.map(({ locationId, value, label }) => [
      locationId.map(Number),
      value.map(Number),
      label.map(({ key, str, num }) => `${text(key)}=${text(str)}${num}`).join(" "),
    ]),
    [
      [[2, 1], [1, 10, 0, 0], "comm=demo0 pid=7 tid=7 cpu=00"],
      [[3, 2, 1], [1, 20, 0, 0], "comm=demo0 pid=7 tid=7 cpu=00"],
      [[2, 1], [1, 3, 0, 0], "comm=work er0 pid=7 tid=8 cpu=10"],
      [[1], [0, 0, 1, 1], "comm=demo0 pid=7 tid=7 cpu=00"],
      [[1], [1, 5, 0, 0], "comm=demo0 pid=7 tid=7 cpu=00"],
      [[], [1, 4, 0, 0], "comm=work er0 pid=7 tid=8 cpu=10"],
      [[2, 1], [1, 7, 0, 0], "comm=demo0 pid=7 tid=7 cpu=00"],
    ],
  );
  assertEquals(
    read.mapping.map(({ id, memoryStart, memoryLimit, filename, buildId, hasFilenames }) => [
      ...[Number(id), Number(memoryStart), Number(memoryLimit), text(filename), text(buildId)],
      hasFilenames,
    ]),
    // From the lowest used address to the one after the highest.
    [[1, 0x1000, 0x2001, "/usr/bin/demo", "0011aaff", true], [
      ...[2, 0x10, 0x11, "[kernel.kallsyms]", "", false],
    ]],
  );
  assertEquals(
    read.location.map(({ id, mappingId, address, line }) => [
      ...[Number(id), Number(mappingId), Number(address)],
      line.map(({ functionId, line }) => `${functionId}:${line}`).join(" "),
    ]),
    [[1, 1, 0x1000, "1:10"], [2, 1, 0x2000, "2:3 3:20"], [3, 2, 0x10, "4:0"]],
  );
  assertEquals(
    read.function.map(({ id, name, systemName, filename }) => [
      ...[Number(id), text(name), text(systemName), text(filename)],
    ]),
    [[1, "main", "main", "/src/demo.c"], [2, "g", "g", "/src/in.h"], [
      ...[3, "f", "f", "/src/demo.c"],
    ], [4, "k", "k", ""]],
  );
  assertEquals(read.comment.map(text), ["perf record demo", "all"]);
  assertEquals([Number(read.durationNanos), text(read.defaultSampleType)], [19_000, "cpu-clock"]);
});

Deno.test("pprof: without inlined functions, a location has only its outer function", async () => {
  const read = PprofProfile.decode(await bytesOf(pprof(SMALL, { inline: false })));
  assertEquals(read.location.map(({ line }) => line.map(({ functionId }) => Number(functionId))), [
    ...[[1], [3], [4]],
  ]);
});

Deno.test("pprof: an event without times, CPU and thread ids has one pair of values and no such labels", async () => {
  const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
  builder.sample({ stack: -1, event: 0, thread: builder.thread(-1, -1, "x"), period: 2 ** 53 - 1 });
  const read = PprofProfile.decode(await bytesOf(pprof(builder.profile())));
  const text = (number: unknown) => read.stringTable.strings[Number(number)];
  assertEquals(read.sampleType.map(({ type }) => text(type)), ["samples", "cycles"]);
  assertEquals(read.sample.map(({ value, label }) => [value.map(Number), label.length]), [
    [[1, 2 ** 53 - 1], 1],
  ]);
  assertEquals([Number(read.durationNanos), read.comment], [0, []]);
});

Deno.test("firefox: tables have frames, threads' samples and times in milliseconds", async () => {
  const { meta, libs, shared, threads } = JSON.parse(await textOf(firefox(SMALL)));
  // 19 µs and seven samples.
  assertEquals(meta.interval, 0.019 / 7);
  assertEquals(meta.sampleUnits.threadCPUDelta, "ns");
  assertEquals(libs.map(({ name, codeId }: Record<string, unknown>) => [name, codeId]), [
    ["demo", "0011aaff"],
    ["[kernel]", null],
  ]);
  // The inlined g has depth 1 at the address in f, its caller.
  assertEquals(shared.stackTable, { length: 4, frame: [0, 2, 1, 3], prefix: [null, 0, 1, 2] });
  const { address, inlineDepth, category, func, line } = shared.frameTable;
  assertEquals([address, inlineDepth, category, func, line], [
    [0x1000, 0x2000, 0x2000, 0x10],
    ...[[0, 1, 0, 0], [0, 0, 0, 1], [0, 1, 2, 3], [10, 3, 20, null]],
  ]);
  const texts = (numbers: number[]) => numbers.map((number) => shared.stringArray[number]);
  assertEquals(texts(shared.funcTable.name), ["main", "g", "f", "k"]);
  assertEquals(shared.funcTable.source, [0, 1, 0, null]);
  assertEquals(shared.funcTable.resource, [0, 0, 0, 1]);
  assertEquals(texts(shared.sources.filename), ["/src/demo.c", "/src/in.h"]);
  assertEquals(texts(shared.resourceTable.name), ["demo", "[kernel]"]);
  const shown = threads.map((
    { name, processName, isMainThread, pid, tid, processStartupTime, processShutdownTime, samples }:
      & Record<string, unknown>
      & { samples: Record<string, unknown> },
  ) => [
    ...[name, processName, isMainThread, pid, tid, processStartupTime, processShutdownTime],
    ...[samples["stack"], samples["time"], samples["threadCPUDelta"], samples["weight"]],
  ]);
  assertEquals(shown, [
    [
      ...["demo (cpu-clock)", "demo", true, "7", 7, 0, 0.019],
      ...[[2, 3, 0, 2], [0, 0.001, 0.002, 0.019], [10, 20, 5, 7], null],
    ],
    [
      ...["work er (cpu-clock)", "demo", false, "7", 8, 0.0015, 0.0025],
      ...[[2, null], [0.0015, 0.0025], [3, 4], null],
    ],
    [
      "demo (page-faults)",
      "demo",
      true,
      "7",
      "7.1",
      0.0016,
      0.0016,
      [0],
      [0.0016],
      undefined,
      null,
    ],
  ]);
});

Deno.test("firefox: a thread's time off the CPU is a marker, even before its first sample", async () => {
  const switches: Profile["switches"] = [
    // Before the first sample, at 1000 ns, times count from here.
    { cpu: 3, thread: 0, time: 400, out: true, preempted: false },
    { cpu: 3, thread: 1, time: 450, out: false, preempted: false },
    { cpu: 2, thread: 0, time: 900, out: false, preempted: false },
    { cpu: 2, thread: 0, time: 5400, out: true, preempted: true },
  ];
  const { threads } = JSON.parse(await textOf(firefox({ ...SMALL, switches })));
  assertEquals(threads[0].markers, {
    length: 1,
    data: [{ type: "off-cpu", cause: "waiting", cpu: 3 }],
    ...{ name: [0], startTime: [0], endTime: [0.0005], phase: [1], category: [1] },
  });
  assertEquals(threads.slice(1).map((thread: typeof threads[0]) => thread.markers.length), [0, 0]);
  assertEquals(threads[0].samples.time, [0.0006, 0.0016, 0.0026, 0.0196]);
  assertEquals(threads[0].processStartupTime, 0.0006);
  const preempted = switches.map((change) => ({ ...change, preempted: true }));
  const again = JSON.parse(await textOf(firefox({ ...SMALL, switches: preempted })));
  assertEquals(again.threads[0].markers.data, [{ type: "off-cpu", cause: "preempted", cpu: 3 }]);
});

Deno.test("firefox: durations are weights in milliseconds; without times, samples are numbered", async () => {
  const { threads } = JSON.parse(await textOf(firefox(SMALL, { durations: true })));
  assertEquals([threads[0].samples.weightType, threads[0].samples.weight], [
    ...["tracing-ms", [0.00001, 0.00002, 0.000005, 0.000007]],
  ]);
  const untimed = JSON.parse(await textOf(firefox(smallProfile(false))));
  assertEquals(untimed.meta.interval, 1);
  assertEquals(untimed.threads[1].samples.time, [0, 1]);
  assertEquals([untimed.threads[1].registerTime, untimed.threads[1].unregisterTime], [0, 7]);
  const cycles = JSON.parse(await textOf(firefox(stacksOf(["main"]))));
  assertEquals(cycles.meta.sampleUnits.threadCPUDelta, "variable CPU cycles");
  assertEquals([cycles.threads[0].name, cycles.threads[0].samples.threadCPUDelta], ["demo", [1]]);
});

/** A message as text: `{field:value …}`, with fields in byte order. */
function messageText(bytes: Uint8Array, texts: ReadonlySet<string>, path = ""): string {
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let scale = 1;; scale *= 128) {
      const byte = bytes[at++] as number;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const fields: string[] = [];
  while (at < bytes.length) {
    const key = number();
    const field = Math.floor(key / 8);
    const here = `${path}/${field}`;
    if ((key & 7) === 0) fields.push(`${field}:${number()}`);
    else {
      assertEquals(key & 7, 2, here);
      const length = number();
      const value = bytes.subarray(at, at += length);
      assertEquals(value.length, length, here);
      fields.push(
        `${field}:${
          texts.has(here) ? `"${new TextDecoder().decode(value)}"` : messageText(value, texts, here)
        }`,
      );
    }
  }
  return `{${fields.join(" ")}}`;
}

/**
 * Fields of a trace that are texts: names of processes, threads, events, functions and mappings.
 */
const TEXTS = new Set(["/1/2/1/3", "/1/2/2/2", "/1/59/12/1/10", "/1/12/5/2", "/1/12/17/2"]);

/** Packets of a trace as text. */
async function packets(profile: Profile): Promise<string[]> {
  const text = messageText(await bytesOf(perfetto(profile)), TEXTS);
  return text.slice(1, -1).split(/ (?=1:\{(?:2|8|10):)/);
}

Deno.test("perfetto: packets have threads, events, and each sample with new parts of its stack", async () => {
  const found = await packets(stacksOf(["main", "f"], ["main"], ["main", "f"], []));
  // Field numbers of trace_packet.proto. Object -1 is mapping 1; function n and stack n have the
  // number n + 1.
  const mapping = `17:{1:1 2:"[unknown]"} 19:{1:1 7:1}`;
  const frame = (number: number, name: string) =>
    `5:{1:${number} 2:"${name}"} 6:{1:${number} 2:${number} 3:1}`;
  assertEquals(found, [
    `1:{2:{1:{1:7 3:"demo"} 2:{1:7 2:"demo" 3:7}} 8:0}`,
    `1:{10:1 13:1 59:{12:{1:{10:"cycles"}}}}`,
    `1:{8:0 10:1 12:{${mapping} ${frame(2, "f")} ${
      frame(1, "main")
    } 7:{1:2 2:1 2:2}} 13:2 66:{2:7 3:7 4:2 5:2}}`,
    "1:{8:1000 10:1 12:{7:{1:1 2:1}} 13:2 66:{2:7 3:7 4:1 5:2}}",
    "1:{8:2000 10:1 13:2 66:{2:7 3:7 4:2 5:2}}",
    "1:{8:3000 10:1 13:2 66:{2:7 3:7}}",
  ]);
});

Deno.test("perfetto: each event is a sequence with its own stacks, and kernel code has its mode", async () => {
  const texts = new Set([...TEXTS, "/1/12/16/2"]);
  const bytes = await bytesOf(perfetto({ ...SMALL, epoch: 2n ** 40n }));
  const text = messageText(bytes, texts);
  const samples = [...text.matchAll(/8:(\d+) 10:(\d)[^"]*?(?:".*?)?13:2 66:(\{.*?\})/g)]
    .map(([, time, event, sample]) => `${Number(time) - 2 ** 40} ${event} ${sample}`);
  assertEquals(samples, [
    "1000 1 {1:0 2:7 3:7 4:3 5:2}",
    "2000 1 {1:0 2:7 3:7 4:4 5:1}",
    "3000 1 {1:0 2:7 3:7 4:1 5:2}",
    "20000 1 {1:0 2:7 3:7 4:3 5:2}",
    "2500 1 {1:1 2:7 3:8 4:3 5:2}",
    "3500 1 {1:1 2:7 3:8}",
    "2600 2 {1:0 2:7 3:7 4:1 5:2}",
  ]);
  // main is defined in both sequences, k only in the first.
  assertEquals(
    [...text.matchAll(/"(main|f|g|k)"/g)].map(([, name]) => name).join(""),
    "gfmainkmain",
  );
  assertEquals([...text.matchAll(/16:\{1:(\d)/g)].map(([, iid]) => iid), ["2", "2"]);
});
