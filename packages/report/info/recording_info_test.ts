/** The summary of a few records laid out by hand. */
import { bytesSource } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { assertEquals } from "@std/assert";
import { asFile, type Item } from "../../../fixtures/synthesize/recording.ts";
import { Overview, type OverviewRow } from "../processes.ts";
import { recordingInfo } from "./info.ts";

// IP, TID, TIME, CALLCHAIN, CPU, PERIOD, IDENTIFIER.
const SAMPLE_TYPE = 0x1n | 0x2n | 0x4n | 0x20n | 0x80n | 0x100n | 0x10000n;

const sample = (
  event: number,
  pid: number,
  tid: number,
  time: number,
  cpu: number,
  period: bigint,
  ip: bigint,
  callchain: readonly bigint[] = [],
  misc = 2,
): Item => ({
  event,
  record: {
    type: 9,
    name: "SAMPLE",
    misc,
    body: {
      ...{ identifier: BigInt(event + 1), pid, tid, time: BigInt(time), cpu, period, ip },
      callchain: [...callchain],
    },
  } as Item["record"],
});

/** A record other than a sample, with its trailer. */
const other = (
  type: number,
  name: string,
  [pid, tid, time]: readonly [number, number, number],
  body: object,
): Item => ({
  record: {
    ...{ type, name, misc: 2, body },
    sample_id: { pid, tid, time: BigInt(time), cpu: 0, identifier: 1n },
  } as Item["record"],
});

/**
 * Processes 7 (threads 7 and 8) and 9, which 7 forks at 2000 and which ends at 9000; CPUs 0, 3 and
 * 5000.
 */
const ITEMS: readonly Item[] = [
  other(3, "COMM", [7, 7, 1000], { pid: 7, tid: 7, comm: "demo" }),
  other(3, "COMM", [7, 8, 1100], { pid: 7, tid: 8, comm: "helper" }),
  other(10, "MMAP2", [7, 7, 1200], {
    ...{ pid: 7, tid: 7, addr: 0x400000n, len: 0x1000n, pgoff: 0x2000n, maj: 8, min: 1, ino: 5n },
    ...{ ino_generation: 0n, prot: 5, flags: 2, filename: "/nowhere/demo" },
  }),
  sample(0, 7, 7, 1500, 0, 10n, 0x400010n, [0x400010n, 0x400020n]),
  other(7, "FORK", [9, 9, 2000], { pid: 9, ppid: 7, tid: 9, ptid: 7, time: 2000n }),
  sample(0, 7, 8, 2500, 3, 30n, 0x500000n),
  sample(1, 9, 9, 3000, 5000, 2n, 0x400010n),
  other(2, "LOST", [9, 9, 3500], { id: 1n, lost: 5n }),
  other(5, "THROTTLE", [9, 9, 3600], { time: 3600n, id: 1n, stream_id: 1n }),
  sample(0, 9, 9, 4000, 0, 20n, 0x400ff0n, [0x400ff0n]),
  other(4, "EXIT", [9, 9, 9000], { pid: 9, ppid: 7, tid: 9, ptid: 7, time: 9000n }),
];

async function opened(items = ITEMS): Promise<PerfDataReader> {
  const attr = { ...emptyAttr(), size: 128, config: 0n, sample_type: SAMPLE_TYPE };
  attr.flags = { ...attr.flags, sample_id_all: true, freq: true };
  const second = {
    ...attr,
    config: 1n,
    sample_period: 100n,
    flags: { ...attr.flags, freq: false },
  };
  const events = [{ attr: { ...attr, sample_period: 999n }, ids: [1n] }, {
    attr: second,
    ids: [2n],
  }];
  const bytes = await asFile({ events, items, features: [] }, true);
  return await PerfDataReader.open(bytesSource(bytes as Uint8Array<ArrayBuffer>));
}

Deno.test("recordingInfo: samples, periods, threads, CPUs and times of a recording are counted", async () => {
  const info = await recordingInfo(await opened());
  assertEquals(
    info.events.map(({ samples, period, largestPeriod, frequency, fixedPeriod }) => [
      ...[samples, period, largestPeriod, frequency, fixedPeriod],
    ]),
    [[3, 10 + 30 + 20, 30, 999, undefined], [1, 2, 2, undefined, 100]],
  );
  const { form, records, samples, leftOut, lost, throttled, processes, threads, cpus } = info;
  assertEquals([form, records, samples, leftOut, lost, throttled], ["file", 11, 4, 0, 5, 1]);
  assertEquals([processes, threads, cpus], [2, 3, 3]);
  // From the first sample, not from the first record.
  assertEquals([info.span, info.timed], [[1500n, 4000n], true]);
  assertEquals(info.stacks, { chains: 2, entries: 3, copies: 0, copySize: 0, branches: 0 });
  // 0x500000 is unmapped; process 9 inherits the mapping from its parent.
  assertEquals(info.objects, { count: 1, identified: 0, unidentified: 3, unmapped: 1 });
  assertEquals([info.aux, info.impossible, info.guests], [undefined, [], { count: 0, samples: 0 }]);
});

Deno.test("recordingInfo: blocks of any size give the same counts", async () => {
  const whole = await recordingInfo(await opened());
  for (const blockBytes of [128, 300, 1 << 20]) {
    assertEquals(await recordingInfo(await opened(), { blockBytes }), whole);
  }
});

Deno.test("recordingInfo: without samples, the span is that of other records", async () => {
  const info = await recordingInfo(await opened(ITEMS.filter(({ record }) => record.type !== 9)));
  assertEquals([info.samples, info.timed, info.span], [0, false, [1000n, 9000n]]);
  assertEquals([info.processes, info.cpus, info.objects.count], [0, 0, 0]);
  const none = await recordingInfo(await opened([]));
  assertEquals([none.records, none.span, none.events.length], [0, undefined, 2]);
});

Deno.test("recordingInfo: guests' samples are counted by their hypervisor's process", async () => {
  const guest = (pid: number, misc: number) => sample(0, pid, pid, 10, 0, 1n, 0x10n, [], misc);
  // CPU modes 4 and 5 are a guest's kernel and its processes.
  const info = await recordingInfo(
    await opened([guest(7, 4), guest(7, 5), guest(9, 4), guest(9, 2)]),
  );
  assertEquals(info.guests, { count: 2, samples: 3 });
});

async function overviewOf(items = ITEMS, filtered = false, tids?: ReadonlySet<number>) {
  const rows: OverviewRow[] = [];
  const overview = new Overview((row) => rows.push(row), filtered);
  await runEngine(
    await opened(items),
    [overview],
    tids === undefined ? {} : { filter: { tids } },
  );
  return { rows, overview };
}

Deno.test("Overview: each record is a row in time order, with its main fields", async () => {
  const { rows } = await overviewOf();
  assertEquals(rows.map(({ nr, type, pid, tid, time, info }) => [nr, type, pid, tid, time, info]), [
    [0, "COMM", 7, 7, 1000n, "demo"],
    [1, "COMM", 7, 8, 1100n, "helper"],
    [2, "MMAP2", 7, 7, 1200n, "/nowhere/demo at 0x400000 size 0x1000 offset 0x2000"],
    [3, "SAMPLE", 7, 7, 1500n, "ip 0x400010 period 10 event 0"],
    [4, "FORK", 9, 9, 2000n, "parent 7:7"],
    [5, "SAMPLE", 7, 8, 2500n, "ip 0x500000 period 30 event 0"],
    [6, "SAMPLE", 9, 9, 3000n, "ip 0x400010 period 2 event 1"],
    [7, "LOST", 9, 9, 3500n, "id 1 lost 5"],
    [8, "THROTTLE", 9, 9, 3600n, "id 1 stream_id 1"],
    [9, "SAMPLE", 9, 9, 4000n, "ip 0x400ff0 period 20 event 0"],
    [10, "EXIT", 9, 9, 9000n, "parent 7:7"],
  ]);
});

Deno.test("Overview: processes have names, mappings, times and samples by event", async () => {
  const { overview } = await overviewOf();
  assertEquals(
    overview.processes.map(({ pid, name, mmaps, forkTime, exitTime, samples }) => [
      ...[pid, name, mmaps, forkTime, exitTime, [...samples]],
    ]),
    [[7, "demo", 1, undefined, undefined, [2]], [9, "demo", 0, 2000n, 9000n, [1, 1]]],
  );
  assertEquals(overview.time, [1000n, 9000n]);
  assertEquals(overview.types.map(({ type, count }) => `${type} ${count}`), [
    ...["SAMPLE 4", "COMM 2", "EXIT 1", "FORK 1", "LOST 1", "MMAP2 1", "THROTTLE 1"],
  ]);
});

Deno.test("Overview: a filter drops samples of other threads, but no other records", async () => {
  const { rows, overview } = await overviewOf(ITEMS, true, new Set([8]));
  assertEquals(rows.filter(({ type }) => type === "SAMPLE").map(({ tid }) => tid), [8]);
  assertEquals(rows.length, 8);
  assertEquals(overview.processes[0]?.periods, [30]);
});

Deno.test("Overview: a process without a COMM has its pid as name, the idle task is swapper, a forked pid is new", async () => {
  const { overview } = await overviewOf([
    sample(0, 0, 0, 1, 0, 1n, 0n),
    sample(0, 12, 12, 2, 0, 1n, 0n),
    other(7, "FORK", [12, 12, 3], { pid: 12, ppid: 5, tid: 12, ptid: 5, time: 3n }),
    // A new thread is not a new process.
    other(7, "FORK", [12, 13, 4], { pid: 12, ppid: 12, tid: 13, ptid: 12, time: 4n }),
    // A process without a name takes that of its thread.
    other(3, "COMM", [12, 13, 5], { pid: 12, tid: 13, comm: "x" }),
    other(3, "COMM", [12, 13, 6], { pid: 12, tid: 13, comm: "y" }),
  ]);
  assertEquals(
    overview.processes.map((
      { pid, name, forkTime, samples },
    ) => [pid, name, forkTime, [...samples]]),
    [[0, "swapper", undefined, [1]], [12, ":12", undefined, [1]], [12, "x", 3n, []]],
  );
});
