/**
 * Measures the codec's loops, in memory and from a file: `deno run -A bench/format.ts [FILE]`.
 *
 * Without FILE, it uses generated samples. Each result is the best of five runs after a
 * warm-up; their ratios on one machine are comparable.
 */
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import {
  emptyAttr,
  KERNEL_RECORDS,
  PerfDataReader,
  PerfDataWriter,
  RecordCodec,
  SampleFields,
} from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { fileSource } from "@perfdata/format/files";

/** Generates 64 MB of samples with call chains of 10 frames, as `perf record -g` writes them. */
async function sampleFile(): Promise<Uint8Array> {
  const sink = memorySink();
  const attr = {
    ...emptyAttr(),
    sample_type: 0x127n, // IP, TID, TIME, CALLCHAIN, PERIOD
  };
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
  const size = 8 + 32 + 8 + 8 * 10;
  const block = new Uint8Array(size * 4096);
  const view = new DataView(block.buffer);
  for (let i = 0; i < 4096; i++) {
    const at = i * size;
    view.setUint32(at, PERF_RECORD_SAMPLE, true);
    view.setUint16(at + 4, 2, true);
    view.setUint16(at + 6, size, true);
    view.setBigUint64(at + 8, BigInt(0x401000 + (i % 977) * 16), true);
    view.setUint32(at + 16, 1000 + i % 7, true);
    view.setUint32(at + 20, 1000 + i % 13, true);
    view.setBigUint64(at + 24, BigInt(i) * 250_000n, true);
    view.setBigUint64(at + 32, 250_000n, true);
    view.setBigUint64(at + 40, 10n, true);
    for (let k = 0; k < 10; k++) view.setBigUint64(at + 48 + k * 8, BigInt(0x402000 + k), true);
  }
  for (let n = 0; n < 64 << 20; n += block.length) await writer.write(block);
  await writer.close();
  return sink.bytes();
}

const [path] = Deno.args;
using file = path === undefined ? undefined : fileSource(path);
const source = file ?? bytesSource(await sampleFile());
const megabytes = source.size / 1e6;
const codec = new RecordCodec(KERNEL_RECORDS);

async function measure(what: string, run: () => Promise<number>) {
  let best = Infinity;
  let records = 0;
  for (let i = 0; i < 6; i++) {
    const start = performance.now();
    records = await run();
    if (i > 0) best = Math.min(best, performance.now() - start);
  }
  const rate = (records / best / 1e3).toFixed(1);
  console.log(
    `${what.padEnd(44)} ${(megabytes / best * 1e3).toFixed(0).padStart(6)} MB/s ${
      rate.padStart(6)
    } M records/s`,
  );
}

console.log(`${path ?? "samples in memory"}: ${megabytes.toFixed(0)} MB`);

await measure("walk the record headers", async () => {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  for await (const _ of reader.batches());
  return reader.stats.records;
});

await measure("fixed fields of samples, u32 halves", async () => {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  let records = 0;
  let hash = 0;
  for await (const batch of reader.batches()) {
    const { starts, words, count } = batch;
    const layout = batch.events.all[0]?.layout;
    if (layout === undefined || !batch.aligned) continue;
    const ip = layout.ip >> 2;
    const pid = layout.pid >> 2;
    const period = layout.period >> 2;
    for (let i = 0; i < count; i++) {
      const at = (starts[i] as number) >> 2;
      if (words[at] !== PERF_RECORD_SAMPLE) continue;
      hash = (hash + (words[at + ip] as number) + (words[at + pid] as number) +
        (words[at + period] as number)) | 0;
    }
    records += count;
  }
  if (hash === 0x5eed) console.log(hash);
  return records;
});

await measure("variable fields of samples, SampleFields", async () => {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  let fields: SampleFields | undefined;
  let frames = 0;
  for await (const batch of reader.batches()) {
    const [event] = batch.events.all;
    if (event !== undefined) fields ??= new SampleFields(event.attr);
    if (fields === undefined) continue;
    for (let i = 0; i < batch.count; i++) {
      if (batch.type(i) !== PERF_RECORD_SAMPLE) continue;
      const start = batch.start(i);
      fields.locate(batch.view, start, start + batch.size(i), batch.littleEndian);
      frames += fields.callchainLength;
    }
  }
  if (frames < 0) console.log(frames);
  return reader.stats.records;
});

await measure("whole records as objects, RecordCodec", async () => {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  let sizes = 0;
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      sizes += codec.decode(batch.recordBytes(i), batch.context(i)).misc;
    }
  }
  if (sizes < 0) console.log(sizes);
  return reader.stats.records;
});

console.log(`memory: ${(Deno.memoryUsage().rss / 1e6).toFixed(0)} MB resident`);
