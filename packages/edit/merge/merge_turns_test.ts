import { assert, assertEquals } from "@std/assert";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader, PerfDataWriter } from "@perfdata/format/records";
import {
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { runEngine } from "@perfdata/session";
import { mergeRecordings } from "./merge.ts";
import { FileOutput } from "../copy/recording_output.ts";

const attr = {
  ...emptyAttr(),
  sample_type: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD),
  flags: { ...emptyAttr().flags, sample_id_all: true },
};

/** Returns a recording with samples at these times, and a FINISHED_ROUND after each `round` of them. */
async function recording(
  times: readonly bigint[],
  pid: number,
  round: number,
): Promise<Uint8Array> {
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
  const chunk = new Uint8Array(40);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, PERF_RECORD_SAMPLE, true);
  view.setUint16(4, 2, true);
  view.setUint16(6, 40, true);
  view.setBigUint64(8, 0x1000n, true);
  view.setInt32(16, pid, true);
  view.setInt32(20, pid, true);
  view.setBigUint64(32, 1n, true);
  for (const [i, time] of times.entries()) {
    view.setBigUint64(24, time, true);
    await writer.write(chunk);
    if (round > 0 && i % round === round - 1) {
      await writer.write(Uint8Array.of(PERF_RECORD_FINISHED_ROUND, 0, 0, 0, 0, 0, 8, 0));
    }
  }
  await writer.close();
  return sink.bytes();
}

Deno.test("mergeRecordings: the result has rounds without late records", async () => {
  const samples = 150_000;
  // Above 2^53, like a clock with the time of day.
  const start = 1_790_000_000_000_000_000n;
  // Within a round, one CPU after the other, in the order in which the kernel's buffers are read.
  const shuffled = (i: number) =>
    BigInt(Math.floor(i / 500) * 500 + (i % 2 === 0 ? 0 : 250) + i % 250);
  const inputs = [
    await recording(Array.from({ length: samples }, (_, i) => start + 1000n * BigInt(i)), 1, 1000),
    await recording(
      Array.from({ length: samples }, (_, i) => start + 7n + 1000n * shuffled(i)),
      2,
      0,
    ),
    // Begins in the middle of the others, and is denser.
    await recording(
      Array.from({ length: samples }, (_, i) => start + 75_000_000n + 300n * BigInt(i)),
      3,
      2000,
    ),
    await recording([], 4, 0),
  ];
  const readers = await Promise.all(inputs.map(async (bytes, i) => ({
    name: `${i}`,
    reader: await PerfDataReader.open(bytesSource(bytes)),
  })));
  const sink = memorySink();
  const report = await mergeRecordings(readers, new FileOutput(sink));
  assertEquals(report.inputs.map((input) => input.samples), [samples, samples, samples, 0]);
  const counts = new Map<number, number>();
  let rounds = 0;
  let last = 0n;
  const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
  const { order } = await runEngine(reader, [{
    needs: {},
    rows(run) {
      for (let i = 0; i < run.count; i++) {
        if (run.type[i] === PERF_RECORD_FINISHED_ROUND) rounds++;
        if (run.type[i] !== PERF_RECORD_SAMPLE) continue;
        assert(run.time(i) >= last);
        last = run.time(i);
        counts.set(run.pid[i] as number, (counts.get(run.pid[i] as number) ?? 0) + 1);
      }
    },
  }]);
  assertEquals([...counts].sort(), [[1, samples], [2, samples], [3, samples]]);
  assertEquals(order.violations, 0);
  assert(rounds >= 3, `${rounds} rounds`);
  assert(order.peakBytes < sink.bytes().length / 2, `${order.peakBytes} bytes waited`);
});
