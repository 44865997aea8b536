import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  bytesSource,
  emptyAttr,
  memorySink,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PerfDataReader,
  PerfDataWriter,
} from "@perfdata/format";
import { dump } from "./dump.ts";
import { dumpByBlocks } from "./testing.ts";

/** What the samples of a file are, of which many are alike. */
interface Kind {
  readonly misc: number;
  readonly pid: number;
  readonly tid: number;
  readonly cpu: number;
  readonly ip: bigint;
  readonly chain: readonly bigint[];
}

/** Of a thread; the idle one is known by name. */
const id = fc.integer({ min: 1, max: 0x7fff_ffff });
const address = fc.oneof(fc.bigInt(0n, 2n ** 64n - 1n), fc.bigInt(0n, 2n ** 47n));
const kind: fc.Arbitrary<Kind> = fc.record({
  misc: fc.constantFrom(0, 1, 2, 0x4002),
  pid: id,
  tid: id,
  cpu: fc.constantFrom(0, 1, 12),
  ip: address,
  chain: fc.array(address, { maxLength: 9 }),
});

function sampleBytes(kind: Kind, time: bigint, i: number, type: number): Uint8Array {
  const ids = BigInt(kind.pid) | BigInt(kind.tid) << 32n;
  const words: bigint[] = [kind.ip + BigInt(i & 3), ids, time];
  if (type & PERF_SAMPLE_CPU) words.push(BigInt(kind.cpu));
  if (type & PERF_SAMPLE_CALLCHAIN) words.push(BigInt(kind.chain.length), ...kind.chain);
  const bytes = new Uint8Array(8 + 8 * words.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 9, true);
  view.setUint16(4, kind.misc, true);
  view.setUint16(6, bytes.length, true);
  words.forEach((word, i) => view.setBigUint64(8 + 8 * i, BigInt.asUintN(64, word), true));
  return bytes;
}

const digits = (n: bigint | number, width: number): string =>
  BigInt.asUintN(64, BigInt(n)).toString(16).padStart(width, "0");

/** The text of a sample as `perf report -D` has it, where nothing is known of any thread. */
function sampleText(kind: Kind, bytes: Uint8Array, time: bigint, place: number, type: number) {
  const size = `[0x${bytes.length.toString(16)}]`;
  let text = `\n0x${place.toString(16)}@f ${size}: event: 9\n.\n` +
    `. ... raw event: size ${bytes.length} bytes\n`;
  for (let at = 0; at < bytes.length; at += 16) {
    const line = [...bytes.subarray(at, at + 16)];
    const hex = line.map((byte) => ` ${digits(byte, 2)}`).join("").padEnd(48);
    const shown = line.map((b) => b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : ".").join("");
    text += `.  ${digits(at, 4)}: ${hex}  ${shown.padEnd(16)}\n`;
  }
  const view = new DataView(bytes.buffer);
  const ip = view.getBigUint64(8, true);
  text += `\n${type & PERF_SAMPLE_CPU ? `${kind.cpu} ` : ""}${time} 0x${place.toString(16)} ` +
    `${size}: PERF_RECORD_SAMPLE(IP, 0x${kind.misc.toString(16)}): ${kind.pid}/${kind.tid}: ` +
    `${ip === 0n ? "0" : `0x${digits(ip, 1)}`} period: 1 addr: 0\n`;
  if (type & PERF_SAMPLE_CALLCHAIN) {
    text += `... FP chain: nr:${kind.chain.length}\n`;
    kind.chain.forEach((address, i) => text += `.....  ${i}: ${digits(address, 16)}\n`);
  }
  const mode = kind.misc & 7;
  return `${text} ... thread: :${kind.tid}:${kind.tid}\n ...... dso: ${
    mode === 1 || mode === 2 ? "<not found>" : "[hypervisor]"
  }\n`;
}

Deno.test("samples that are alike differ where they should", async () => {
  const files = fc.record({
    kinds: fc.array(kind, { minLength: 1, maxLength: 40 }),
    extra: fc.constantFrom(
      0,
      PERF_SAMPLE_CPU,
      PERF_SAMPLE_CALLCHAIN,
      PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN,
    ),
    first: fc.bigInt(1n, 2n ** 53n),
    step: fc.constantFrom(1n, 99_999n, 3_000_000n, 10n ** 9n),
    // Made by this thread; or handed to another one, many at a time or few.
    blockSize: fc.constantFrom(0, 0, 100, 10_000),
  });
  await fc.assert(
    fc.asyncProperty(files, async ({ kinds, extra, first, step, blockSize }) => {
      const type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | extra;
      const attr = {
        ...emptyAttr(),
        sample_type: BigInt(type),
        sample_period: 1n,
        flags: { ...emptyAttr().flags, sample_id_all: true },
      };
      const sink = memorySink();
      const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
      const samples: { kind: Kind; bytes: Uint8Array; time: bigint }[] = [];
      // Long enough for places of five digits, and six: so many bytes come first, as no record.
      for (let i = 0; i < 3000; i++) {
        const kind = kinds[i * 7 % kinds.length] as Kind;
        const time = first + BigInt(i) * step;
        const bytes = sampleBytes(kind, time, i, type);
        samples.push({ kind, bytes, time });
        await writer.write(bytes);
      }
      await writer.close();
      const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
      let text = "";
      const decoder = new TextDecoder();
      const write = (part: Uint8Array): void => void (text += decoder.decode(part));
      if (blockSize === 0) await dump(reader, { path: "f", write });
      else await dumpByBlocks(reader, { path: "f", write }, blockSize);
      let place = reader.data.offset;
      let expected = "";
      for (const { kind, bytes, time } of samples) {
        expected += sampleText(kind, bytes, time, place, type);
        place += bytes.length;
      }
      const records = text.slice(text.indexOf("#\n") + 2, text.indexOf("\nAggregated stats:"));
      if (records !== expected) {
        let at = 0;
        while (records[at] === expected[at]) at++;
        const from = Math.max(0, at - 300);
        assertEquals(records.slice(from, at + 100), expected.slice(from, at + 100));
      }
      assertEquals(text.includes(`SAMPLE events: ${String(samples.length).padStart(10)}`), true);
    }),
    { numRuns: 16 },
  );
});
