import { assertEquals } from "@std/assert";
import { adviceOf, adviceOfTrust } from "./advice.ts";
import type { EventInfo, RecordingInfo } from "./info.ts";
import { infoLines } from "./info_text.ts";

const EVENT = {
  ...{ name: "cycles", samples: 200, period: 5000, frequency: 99, fixedPeriod: 0 },
} as Partial<EventInfo> as EventInfo;

const INFO: RecordingInfo = {
  ...{ form: "file", partOfDirectory: false, bytes: 123_456, littleEndian: true },
  machine: { HOSTNAME: "host", OSRELEASE: "6.1", ARCH: "x86_64", CPUDESC: "", VERSION: "6.2" },
  command: ["perf", "record", "it's", "a=b"],
  ...{ startedAt: undefined, span: [1_500_000_000n, 3_500_000_000n], timed: true, records: 999 },
  ...{ events: [EVENT], samples: 200, leftOut: 0, lost: 0, throttled: 0 },
  ...{
    guests: { count: 0, samples: 0 },
    processes: 1,
    threads: 2,
    cpus: 1,
    aux: undefined,
    impossible: [],
  },
  stacks: { chains: 100, entries: 250, copies: 0, copySize: 0, branches: 0 },
  objects: { count: 3, identified: 150, unidentified: 2, unmapped: 0 },
};

/** Text of a line, by its name. */
function line(name: string, more: Partial<RecordingInfo> = {}, damage = 0): string | undefined {
  return infoLines({ ...INFO, ...more }, damage, "perf.data")
    .find((text) => text.startsWith(name))?.slice(10);
}

/** The suggestions below `next`. */
function next(more: Partial<RecordingInfo> = {}, damage = 0, file = "perf.data"): string[] {
  const lines = infoLines({ ...INFO, ...more }, damage, file);
  const at = lines.findIndex((text) => text.startsWith("next"));
  return at < 0 ? [] : lines.slice(at).map((text) => text.slice(10));
}

Deno.test("infoLines: a recording has its lines in order", () => {
  assertEquals(infoLines(INFO, 0, "perf.data"), [
    "machine   host, Linux 6.1, x86_64",
    "command   perf record 'it'\\''s' a=b",
    "recording 123 KB, file, little-endian, by perf 6.2",
    "time      2.000 s, from 1.500000 of its clock; the time of day was not recorded",
    "event     cycles: 200 samples, period 5000; 99 samples/s of each CPU or thread wanted, 100/s in all",
    "samples   200 of 1 process, 2 threads, 1 CPU",
    "lost      nothing",
    "stacks    call chains in 50.0%, 2.5 entries each",
    "symbols   3 objects, with a build id for 75.0% of samples",
    "damage    none",
    "next      perfdata funcs --children perf.data",
    "          perfdata symbols trust perf.data",
  ]);
});

Deno.test("infoLines: without samples there are neither stacks nor symbols", () => {
  const lines = infoLines({ ...INFO, samples: 0 }, 0, "perf.data");
  assertEquals(lines.map((text) => text.slice(0, 10).trim()), [
    ...["machine", "command", "recording", "time", "event", "samples", "lost", "damage", "next"],
  ]);
  assertEquals(line("samples", { samples: 0 }), "none");
  assertEquals(next({ samples: 0 }), ["perfdata dump perf.data"]);
});

Deno.test("infoLines: sizes have three digits and a unit", () => {
  const size = (bytes: number | undefined) => line("recording", { bytes })?.split(",")[0];
  assertEquals([999, 1000, 2_500_000, 3.25e9, 7e15, undefined].map(size), [
    ...["999 bytes", "1.00 KB", "2.50 MB", "3.25 GB", "7.00e+3 TB", "file"],
  ]);
});

Deno.test("infoLines: the form line tells pipes, byte order and parts of directories", () => {
  assertEquals(
    line("recording", { form: "pipe", littleEndian: false, machine: {} }),
    "123 KB, pipe, big-endian",
  );
  assertEquals(
    line("recording", { partOfDirectory: true, machine: {} }),
    "123 KB, file of a directory, without the records beside it, little-endian",
  );
  assertEquals(line("machine", { machine: {} }), "not recorded");
});

Deno.test("infoLines: a short time is in ms, a known time of day is shown", () => {
  assertEquals(
    line("time", { span: [0n, 99_999_999n], startedAt: 1_700_000_000_123_000_000n, timed: false }),
    "100.000 ms, from 2023-11-14T22:13:20.123Z; of records that are no samples",
  );
  assertEquals(line("time", { span: [0n, 100_000_000n] })?.split(",")[0], "0.100 s");
  assertEquals(line("time", { span: undefined }), "no record has a time");
});

Deno.test("infoLines: events show the request and the result", () => {
  const text = (more: Partial<EventInfo>, info: Partial<RecordingInfo> = {}) =>
    line("event", { events: [{ ...EVENT, frequency: undefined, ...more }], ...info });
  assertEquals(
    text({ fixedPeriod: 1 }),
    "cycles: 200 samples, period 5000; each event, 100/s in all",
  );
  assertEquals(
    text({ fixedPeriod: 25, samples: 1 }, { span: [5n, 5n] }),
    "cycles: 1 sample, period 5000; every 25 events",
  );
  assertEquals(text({ samples: 0, name: "" }), "unnamed: no samples");
});

Deno.test("infoLines: losses are shares of the total, throttling and odd samples are counted", () => {
  assertEquals(
    line("lost", { lost: 50, throttled: 1, leftOut: 3 }),
    "50 records (20.0%); throttled 1 time; 3 samples of no known event or damaged",
  );
});

Deno.test("infoLines: stacks of each kind have their share", () => {
  const stacks = { chains: 0, entries: 0, copies: 20, copySize: 8192, branches: 50 };
  assertEquals(
    line("stacks", { stacks }),
    "copies of the user stack in 10.0%, up to 8192 bytes, to be unwound; branch stacks in 25.0%",
  );
  const none = { ...stacks, copies: 0, branches: 0 };
  assertEquals(line("stacks", { stacks: none }), "none");
  assertEquals(next({ stacks: none })[0], "perfdata funcs perf.data");
  assertEquals(
    line("symbols", { objects: { count: 1, identified: 0, unidentified: 0, unmapped: 2 } }),
    "1 object, with a build id for 0.0% of samples; 1.0% where nothing is mapped",
  );
});

Deno.test("infoLines: traces show their size and a command", () => {
  const aux = { type: "INTEL_PT", bytes: 4096 };
  assertEquals(line("AUX", { aux }), "INTEL_PT, 4.10 KB");
  assertEquals(next({ aux })[0], "perfdata pt perf.data");
  assertEquals(
    next({ aux: { ...aux, type: "ARM_SPE" } })[0],
    "perfdata funcs --children perf.data",
  );
});

Deno.test("infoLines: damage is counted and repair suggested first, standard input has no suggestions", () => {
  assertEquals([line("damage", {}, 1), line("damage", {}, 2)], ["1 fault", "2 faults"]);
  assertEquals(next({}, 1)[0], "perfdata repair perf.data -o repaired.data");
  assertEquals(next({}, 1, "-"), []);
  assertEquals(next({ partOfDirectory: true }, 0, "a b/data")[0], "perfdata info 'a b'");
  assertEquals(next({ partOfDirectory: true }, 0, "data")[0], "perfdata info .");
  assertEquals(next({ partOfDirectory: true }, 0, "/data")[0], "perfdata info /");
});

/** The problems named by advice. */
function advice(more: Partial<RecordingInfo>, damage = 0): string[] {
  return adviceOf({ ...INFO, ...more }, damage, "perf.data").map(({ what }) => what);
}

Deno.test("adviceOf: a good recording gives no advice", () => assertEquals(advice({}), []));

Deno.test("adviceOf: each fault gives its own advice", () => {
  assertEquals(advice({}, 1), [
    "The recording is damaged: 1 fault. What can be read is shown.",
  ]);
  assertEquals(advice({ impossible: ["Periods are 0"] }), ["Periods are 0."]);
  assertEquals(advice({ lost: 50 }), [
    "50 records (20.0%) were lost, since nobody read the buffers in time.",
  ]);
  assertEquals(advice({ throttled: 3 }), [
    "The kernel paused events 3 times, since they interrupted too often.",
  ]);
  assertEquals(advice({ timed: false }), ["Samples have no times: there is no timeline."]);
  const stacks = { chains: 0, entries: 0, copies: 0, copySize: 0, branches: 9 };
  assertEquals(advice({ stacks }), ["No call chains were recorded: functions have no callers."]);
  assertEquals(advice({ stacks: { ...stacks, copies: 1 } }), []);
  assertEquals(advice({ stacks, samples: 0, timed: false }), []);
});

Deno.test("adviceOf: objects without a build id give advice from 1 % of samples on", () => {
  const objects = { count: 3, identified: 150, unmapped: 0 };
  assertEquals(advice({ objects: { ...objects, unidentified: 2 } }), []);
  assertEquals(
    advice({ objects: { ...objects, unidentified: 3 } }).map((text) => text.slice(0, 44)),
    [
      "1.5% of samples are in objects without a bui",
    ],
  );
});

Deno.test("adviceOfTrust: callers at unmapped addresses and missing files give advice", () => {
  assertEquals(adviceOfTrust("90% named"), []);
  const [callers, files, ...rest] = adviceOfTrust(
    "88.2% named; 12.5% have callers where nothing was mapped; file missing 3.1%",
  );
  assertEquals(
    callers?.what.slice(0, 60),
    "12.5% of samples have callers where nothing was mapped: the ",
  );
  assertEquals(files?.what, "3.1% of samples have no name, since their files are not here.");
  assertEquals(rest, []);
});
