import { assert, assertEquals } from "@std/assert";
import {
  array,
  decode,
  encode,
  KERNEL_RECORDS,
  PerfDataReader,
  PerfDataWriter,
  perfEventAttr,
  perfFileHeader,
  perfFileSection,
  perfTraceEventType,
  RecordCodec,
  type Region,
  u64,
} from "@perfdata/format/records";
import { bytesSource, memorySink, PerfDataError } from "@perfdata/format/bytes";
import { decodeFeature, encodeFeature } from "@perfdata/format/features";
import { USER_RECORDS } from "@perfdata/user-records";
import { type CorpusFile, corpusFiles } from "../support/corpus.ts";
import { perfText, perfVersion } from "../support/perf.ts";

const records = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);

/** Uses of each byte of a file. */
interface Account {
  parts: Map<string, number>;
  rawRecords: number;
  problems: PerfDataError[];
  /** Records by name in file order; compressed ones are not decompressed. */
  counts: Map<string, number>;
  /** The file encoded from its decoded form. */
  copy: Uint8Array;
}

/** Decodes a whole file, adds up the bytes, and encodes it again. */
async function account(bytes: Uint8Array): Promise<Account> {
  const problems: PerfDataError[] = [];
  const reader = await PerfDataReader.open(bytesSource(bytes), {
    diagnostics: (error) => problems.push(error),
  });
  const { littleEndian } = reader;
  const parts = new Map<string, number>();
  const counts = new Map<string, number>();
  const add = (part: string, size: number) => parts.set(part, (parts.get(part) ?? 0) + size);
  const sink = memorySink();
  let rawRecords = 0;

  async function copyData({ offset, size }: Region) {
    let at = offset;
    for await (const batch of reader.batches({ inflate: false })) {
      for (let i = 0; i < batch.count; i++) {
        const context = batch.context(i);
        const record = records.decode(batch.recordBytes(i), context);
        if (record.name === "RAW" && record.error !== undefined) rawRecords++;
        const name = record.name === "RAW" ? `${record.type}` : record.name;
        counts.set(name, (counts.get(name) ?? 0) + 1);
        const copy = records.encode(record, context);
        sink.write(copy);
        at += copy.length;
      }
      const into = new Uint8Array(1 << 16);
      for (let n; (n = await batch.payload?.read(into) ?? 0) > 0; at += n) {
        sink.write(into.subarray(0, n));
      }
    }
    const { recordBytes, payloadBytes, skippedBytes } = reader.stats;
    add("records", recordBytes);
    add("payloads", payloadBytes);
    if (skippedBytes > 0) add("skipped", skippedBytes);
    assertEquals(recordBytes + payloadBytes + skippedBytes, size);
    sink.write(bytes.subarray(at, offset + size));
  }

  function copySection({ kind, offset, size, index = 0 }: Region) {
    const section = bytes.subarray(offset, offset + size);
    add(kind, size);
    switch (kind) {
      case "header": {
        if (reader.header === undefined) return sink.write(section);
        const { tail } = reader.header;
        return sink.write(encode(perfFileHeader, reader.header, { littleEndian, tail }));
      }
      case "attrs": {
        const attrSize = Number(reader.header?.attr_size);
        for (let at = 0; at + attrSize <= size; at += attrSize) {
          const attr = perfEventAttr(attrSize - 16);
          const end = at + attrSize;
          const part = section.subarray(at, end - 16);
          sink.write(encode(attr, decode(attr, part, { littleEndian }).value, { littleEndian }));
          const { value } = decode(perfFileSection, section.subarray(end - 16, end), {
            littleEndian,
          });
          sink.write(encode(perfFileSection, value, { littleEndian }));
        }
        return sink.write(section.subarray(size - size % attrSize));
      }
      case "ids": {
        const { value, tail } = decode(array(u64, "rest"), section, { littleEndian });
        return sink.write(encode(array(u64, "rest"), value, { littleEndian, tail }));
      }
      case "event_types": {
        const codec = array(perfTraceEventType, "rest");
        const { value, pad, tail } = decode(codec, section, { littleEndian });
        return sink.write(encode(codec, value, { littleEndian, pad, tail }));
      }
      case "feature_table": {
        const codec = array(perfFileSection, "rest");
        const { value, tail } = decode(codec, section, { littleEndian });
        return sink.write(encode(codec, value, { littleEndian, tail }));
      }
      case "feature": {
        const feature = decodeFeature(index, section, { littleEndian });
        if (feature.name === "RAW" && feature.error !== undefined) problems.push(feature.error);
        return sink.write(encodeFeature(feature, { littleEndian }));
      }
      default:
        return sink.write(section);
    }
  }

  const { regions, conflicts } = reader.layout;
  for (const region of regions) {
    // Sections of damaged files overlap, so that the data section is not a sequence of records.
    const { offset, size } = reader.data;
    const whole = region.offset === offset && region.size === size;
    if (region.kind === "data" && whole) await copyData(region);
    else copySection(region);
  }
  for (const { wanted, reason } of conflicts) {
    problems.push(new PerfDataError(`${wanted.kind}: ${reason}`, { offset: wanted.offset }));
  }
  return { parts, rawRecords, problems, counts, copy: sink.bytes() };
}

/** The file written by the writer, which lays it out as perf does. */
async function rewrite(bytes: Uint8Array): Promise<Uint8Array> {
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
  const { littleEndian } = reader;
  const sink = memorySink();
  const writer = reader.isPipe
    ? await PerfDataWriter.pipe(sink, { littleEndian })
    : await PerfDataWriter.file(sink, {
      littleEndian,
      events: reader.events.all,
      attrSize: Number(reader.header?.attr_size) - 16,
      dataOffset: reader.data.offset,
    });
  for await (const batch of reader.batches({ inflate: false })) {
    for (let i = 0; i < batch.count; i++) await writer.write(batch.recordBytes(i));
    const into = new Uint8Array(1 << 16);
    for (let n; (n = await batch.payload?.read(into) ?? 0) > 0;) {
      await writer.write(into.subarray(0, n));
    }
  }
  const features = [];
  for (const { id, section } of reader.features) {
    const { offset, size } = section;
    features.push({ id, bytes: bytes.slice(Number(offset), Number(offset + size)) });
  }
  await writer.close(features);
  return sink.bytes();
}

const files = corpusFiles();

Deno.test({
  name: "corpus: each byte of each file is accounted for, and comes back from its decoded form",
  ignore: files.length === 0,
  async fn() {
    for (const file of files) {
      const bytes = Deno.readFileSync(file.path);
      const { parts, rawRecords, problems, counts, copy } = await account(bytes);
      const sum = [...parts.values()].reduce((all, size) => all + size, 0);
      const text = [...parts].map(([part, size]) => `${part} ${size}`).join(" + ");
      console.log(
        `${file.name}: ${text} = ${sum}${file.sound ? "" : ` (${problems.length} reported)`}`,
      );
      for (const problem of problems.slice(0, 3)) console.log(`    ${problem.located()}`);
      assertEquals(sum, bytes.length, file.name);
      assertEquals(firstDifference(copy, bytes), undefined, file.name);
      if (!file.sound || UNMARKED_DAMAGE.has(file.name)) continue;
      assertEquals([problems.map((problem) => problem.located()), rawRecords], [[], 0], file.name);
      assertEquals(parts.get("skipped"), undefined, file.name);
      checkCounts(file, counts);
    }
  },
});

/** Files that the index calls intact although they are not, with the damage. */
const UNMARKED_DAMAGE: ReadonlyMap<string, string> = new Map([
  [
    "mstange__linux-perf-data/tests/fixtures/sleep.compressed2.pipe.data",
    "ends with the lines that perf record printed to the terminal",
  ],
]);

/** Numbers of records by type in the index, counted by another program. */
function checkCounts(file: CorpusFile, counts: ReadonlyMap<string, number>) {
  const expected = Object.fromEntries(
    (file.row["record_counts"] ?? "").split(" ").filter(Boolean).map((cell) => {
      const [name = "", count] = cell.split(":");
      return [name, Number(count)];
    }),
  );
  assertEquals(Object.fromEntries([...counts].sort()), sorted(expected), file.name);
}

const sorted = (record: Record<string, number>) =>
  Object.fromEntries(Object.entries(record).sort());

function firstDifference(a: Uint8Array, b: Uint8Array): string | undefined {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    if (a[i] !== b[i]) return `byte 0x${i.toString(16)}: ${a[i]} and ${b[i]}`;
  }
  return a.length === b.length ? undefined : `${a.length} and ${b.length} bytes`;
}

/** The first line in which two long texts differ; a complete diff would not fit in memory. */
function firstLine(a: string, b: string): string | undefined {
  if (a === b) return undefined;
  const [left, right] = [a.split("\n"), b.split("\n")];
  const i = left.findIndex((line, n) => line !== right[n]);
  return `line ${i + 1}: ${left[i]} and ${right[i]}`;
}

Deno.test({
  name: "corpus: perf reads a written file as it reads the original",
  ignore: files.length === 0,
  async fn() {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-rewrite-" });
    let identical = 0;
    const compared: string[] = [];
    try {
      for (const file of files) {
        if (!file.sound) continue;
        const bytes = Deno.readFileSync(file.path);
        const copy = await rewrite(bytes);
        if (firstDifference(copy, bytes) === undefined) {
          identical++;
          continue;
        }
        // The bytes differ: version 1, or sections in the order of old perf versions. perf prints
        // the file's name, so the copy has the original's.
        const path = `${folder}/${file.name.split("/").pop()}`;
        Deno.writeFileSync(path, copy);
        const original = await perfText(["report", "-D", "--no-children", "-g", "none"], file.path);
        const again = await perfText(["report", "-D", "--no-children", "-g", "none"], path);
        if (original === undefined || again === undefined) continue;
        assertEquals(firstLine(again.stdout, original.stdout), undefined, file.name);
        compared.push(file.name);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    console.log(`${identical} files come out of the writer byte by byte`);
    console.log(`${compared.length} others read the same to perf: ${compared.join(", ")}`);
    assert(identical >= 50, `${identical} files are the same`);
    assert(perfVersion() === undefined || compared.length >= 60, `${compared.length} compared`);
  },
});
