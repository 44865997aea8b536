import { assertEquals } from "@std/assert";
import { bytesSource, intAt, memorySink, numberAt } from "@perfdata/format/bytes";
import {
  emptyAttr,
  KERNEL_RECORDS,
  PerfDataReader,
  PerfDataWriter,
  PerfEvent,
  RecordCodec,
} from "@perfdata/format/records";
import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { runEngine } from "../reading/run_engine.ts";
import { CHOSEN, type Run } from "../order/run.ts";
import { SampleReads } from "./sample_reads.ts";

/** A sample: its thread (of a process of the same number) and the values of both counters. */
type Row = readonly [tid: number, first: bigint, second: bigint];

/** The event, thread and period of each count in samples of a group with the ids 5 and 6. */
async function counts(
  rows: readonly Row[],
  options: { readonly inherit: boolean; readonly ids?: boolean; readonly time?: [bigint, bigint] },
): Promise<{ counts: (readonly [event: number, tid: number, period: number])[]; leftOut: number }> {
  const { inherit, ids = true, time } = options;
  const base = emptyAttr();
  const type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_READ;
  const attr = {
    ...base,
    sample_type: BigInt(type),
    read_format: BigInt(PERF_FORMAT_GROUP | (ids ? PERF_FORMAT_ID : 0)),
    sample_period: 100n,
    flags: { ...base.flags, inherit },
  };
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, {
    events: [{ attr, ids: [5n] }, { attr: { ...attr, config: 1n }, ids: [6n] }],
  });
  const codec = new RecordCodec(KERNEL_RECORDS);
  const event = new PerfEvent(attr, [5n]);
  for (const [i, [tid, first, second]] of rows.entries()) {
    const values = ids
      ? [{ value: first, id: 5n }, { value: second, id: 6n }]
      : [{ value: first }, { value: second }];
    const body = { pid: tid, tid, time: BigInt(1000 + i), id: 5n, read: { values } };
    await writer.write(codec.encode({ type: 9, name: "SAMPLE", misc: 2, body }, { event }));
  }
  await writer.close();
  const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
  const reads = new SampleReads(reader);
  const found: [number, number, number][] = [];
  const take = (run: Run, i: number): void => {
    const count = reads.take(run, i);
    for (let k = 0; k < count; k++) {
      found.push([numberAt(reads.event, k), intAt(run.tid, i), numberAt(reads.period, k)]);
    }
  };
  const consumer = {
    needs: {},
    rows(run: Run): void {
      for (let i = 0; i < run.count; i++) {
        if (run.chosen[i] === CHOSEN.NO) reads.skip(run, i);
        else take(run, i);
      }
    },
  };
  await runEngine(reader, [consumer], time === undefined ? {} : { filter: { time } });
  return { counts: found, leftOut: reads.leftOut };
}

// Per sample, thread 7 counts 100 and 1000, and thread 8 counts 50 and 20.
const TWO_THREADS: readonly Row[] = [
  [7, 100n, 1000n],
  [8, 50n, 20n],
  [7, 200n, 2000n],
  [8, 100n, 40n],
];
const OF_EACH: [number, number, number][] = [
  [0, 7, 100],
  [1, 7, 1000],
  [0, 8, 50],
  [1, 8, 20],
  [0, 7, 100],
  [1, 7, 1000],
  [0, 8, 50],
  [1, 8, 20],
];

Deno.test("group read: inherited counters of two threads are kept apart by thread", async () => {
  assertEquals(await counts(TWO_THREADS, { inherit: true }), { counts: OF_EACH, leftOut: 0 });
});

Deno.test("group read: inherited counters without ids are kept apart by thread and position", async () => {
  const found = await counts(TWO_THREADS, { inherit: true, ids: false });
  assertEquals(found, { counts: OF_EACH, leftOut: 0 });
});

Deno.test("group read: threads share a counter that is not inherited", async () => {
  const rows: Row[] = [[7, 100n, 10n], [8, 150n, 30n], [7, 200n, 30n]];
  assertEquals((await counts(rows, { inherit: false })).counts, [
    [0, 7, 100],
    [1, 7, 10],
    [0, 8, 50],
    [1, 8, 20],
    [0, 7, 50],
  ]);
});

Deno.test("group read: a second thread with the ids of the first begins at 0", async () => {
  const rows: Row[] = [[7, 1n << 33n, 5n], [7, 30n, 2n]];
  assertEquals(await counts(rows, { inherit: true }), {
    counts: [[0, 7, 2 ** 33], [1, 7, 5], [0, 7, 30], [1, 7, 2]],
    leftOut: 0,
  });
});

Deno.test("group read: a shared counter that counts backwards is left out once, never negative", async () => {
  const rows: Row[] = [[7, 1n << 33n, 5n], [7, 30n, 6n], [7, 50n, 7n]];
  assertEquals(await counts(rows, { inherit: false }), {
    counts: [[0, 7, 2 ** 33], [1, 7, 5], [1, 7, 1], [0, 7, 20], [1, 7, 1]],
    leftOut: 1,
  });
});

Deno.test("group read: a filter by time leaves out what was counted before the first chosen sample", async () => {
  const rows: Row[] = [[7, 100n, 10n], [8, 150n, 30n], [7, 170n, 35n]];
  const found = await counts(rows, { inherit: false, time: [1001n, 1001n] });
  assertEquals(found.counts, [[0, 8, 50], [1, 8, 20]]);
});
