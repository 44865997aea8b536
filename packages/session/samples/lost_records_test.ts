import { assertEquals } from "@std/assert";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import {
  emptyAttr,
  KERNEL_RECORDS,
  PerfDataReader,
  PerfDataWriter,
  PerfEvent,
  RecordCodec,
} from "@perfdata/format/records";
import {
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { LostRecords } from "./lost_records.ts";

const LOST = 2;
const LOST_SAMPLES = 13;

/** A loss: type of the record, number of lost records, time (0: without a time), and `misc`. */
type Loss = readonly [type: number, lost: bigint, time: bigint, misc?: number];

async function total(losses: readonly Loss[], readFormat: number): Promise<number> {
  const base = emptyAttr();
  const attr = {
    ...base,
    sample_type: BigInt(PERF_SAMPLE_ID | PERF_SAMPLE_TIME),
    read_format: BigInt(readFormat),
    flags: { ...base.flags, sample_id_all: true },
  };
  const events = [{ attr, ids: [5n] }];
  const sink = memorySink();
  await (await PerfDataWriter.file(sink, { events })).close();
  const lost = new LostRecords(await PerfDataReader.open(bytesSource(sink.bytes())));
  const codec = new RecordCodec(KERNEL_RECORDS);
  const event = new PerfEvent(attr, [5n]);
  let added = 0;
  for (const [type, count, time, misc = 0] of losses) {
    const sample_id = { id: 5n, time };
    const record = type === LOST
      ? codec.encode({ type, name: "LOST", misc, body: { id: 5n, lost: count }, sample_id }, {
        event,
      })
      : codec.encode(
        { type, name: "LOST_SAMPLES", misc, body: { lost: count }, sample_id } as never,
        {
          event,
        },
      );
    const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
    added += lost.add(view, 0, record.length, Number(time >> 32n), Number(time & 0xffff_ffffn));
  }
  assertEquals(added, lost.total);
  return lost.total;
}

const COUNTED = PERF_FORMAT_ID | PERF_FORMAT_LOST;

Deno.test("losses: LOST and the event's own count at the end are the same losses", async () => {
  assertEquals(await total([[LOST, 3n, 10n], [LOST, 4n, 20n], [LOST_SAMPLES, 9n, 0n]], COUNTED), 9);
  assertEquals(await total([[LOST_SAMPLES, 7n, 0n], [LOST, 3n, 10n], [LOST, 4n, 20n]], COUNTED), 7);
});

Deno.test("losses: LOST_SAMPLES with a time are lost by the hardware, and added", async () => {
  assertEquals(await total([[LOST, 3n, 10n], [LOST_SAMPLES, 5n, 15n]], COUNTED), 8);
});

Deno.test("losses: LOST_SAMPLES of an event that counts no losses are added", async () => {
  assertEquals(await total([[LOST, 3n, 10n], [LOST_SAMPLES, 5n, 0n]], PERF_FORMAT_ID), 8);
});

Deno.test("losses: samples that a BPF filter dropped are not lost", async () => {
  const dropped: Loss = [LOST_SAMPLES, 500n, 0n, 1 << 15];
  assertEquals(await total([[LOST, 3n, 10n], [LOST_SAMPLES, 3n, 0n], dropped], COUNTED), 3);
});
