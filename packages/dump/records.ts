import {
  decodeFeature,
  type EventDescs,
  HEADER_EVENT_DESC,
  KERNEL_RECORDS,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_SAMPLE,
  type PerfDataReader,
  type PerfEvent,
  type RecordBatch,
  RecordCodec,
  sectionRange,
} from "@perfdata/format";
import {
  GOOGLE_RECORDS,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_HEADER_FEATURE,
  USER_RECORD_NAMES,
  USER_RECORDS,
} from "@perfdata/user-records";
import { stringify } from "@std/csv";
import { defaultEventName } from "./header_events.ts";
import { type AnyDecoded, FieldTree, lineMembers, type U64Style } from "./records_json.ts";
import { type AnyRecordCodec, RecordPlan } from "./records_plan.ts";
import { SampleWriter } from "./records_sample.ts";

/** Which records are written, and how. */
export interface RecordsOptions {
  /** `ndjson`: one JSON object a line, the default; `csv`: rows of {@link CSV_COLUMNS}. */
  readonly format?: "ndjson" | "csv";
  /** How 64-bit values that are no addresses are written; exact JSON integers by default. */
  readonly u64?: U64Style;
  /** Names of the record types that are written, without `PERF_RECORD_`; all by default. */
  readonly types?: ReadonlySet<string>;
  /** File offset of the first record that is written. */
  readonly from?: number;
  /** How many records are written at most. */
  readonly limit?: number;
  /**
   * Whether the records inside of COMPRESSED ones are written in their place; true by default.
   */
  readonly inflate?: boolean;
}

/** The columns of CSV: those that all records share, and all else as one JSON object. */
export const CSV_COLUMNS: readonly string[] = [
  "type",
  "offset",
  "event",
  "misc",
  "cpumode",
  "ip",
  "pid",
  "tid",
  "cpu",
  "time",
  "count",
  "period",
  "more",
];

/** Bytes of text that are handed out at once. */
const BLOCK = 1 << 18;
const MACHINE_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

const CODEC: AnyRecordCodec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
const GOOGLE_CODEC: AnyRecordCodec = new RecordCodec([...KERNEL_RECORDS, ...GOOGLE_RECORDS]);

/**
 * The names that `RecordsOptions.types` may have: those of the known records, and `TYPE_<n>`.
 */
export function isRecordName(name: string): boolean {
  return /^TYPE_\d+$/.test(name) ||
    [...KERNEL_RECORDS, ...USER_RECORDS, ...GOOGLE_RECORDS].some((known) => known.name === name);
}

/** Text that grows in one buffer. */
class TextBuffer {
  bytes = new Uint8Array(2 * BLOCK);
  view = new DataView(this.bytes.buffer);
  length = 0;
  readonly #encoder = new TextEncoder();

  /** Makes room for `size` more bytes, and the 8 that a store may go beyond. */
  reserve(size: number): void {
    const need = this.length + size + 8;
    if (need <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(need, 2 * this.bytes.length));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }

  append(text: string): void {
    this.reserve(3 * text.length);
    this.length += this.#encoder.encodeInto(text, this.bytes.subarray(this.length)).written;
  }
}

/** The names of a file's events, as they become known. */
class EventNames {
  readonly #given = new Map<number, string>();
  /** Counts changes: what was prepared for a name has to be made again. */
  version = 0;

  nameOf(index: number, event: PerfEvent): string {
    return this.#given.get(index) ?? defaultEventName(event.attr);
  }

  take(descs: EventDescs): void {
    descs.events.forEach(({ name }, i) => this.#given.set(i, name));
    this.version++;
  }

  set(index: number, name: string): void {
    this.#given.set(index, name);
    this.version++;
  }
}

/** Turns batches into lines. */
class RecordsText {
  readonly out = new TextBuffer();
  readonly #reader: PerfDataReader;
  readonly #options: RecordsOptions;
  readonly #u64: U64Style;
  readonly #names = new EventNames();
  readonly #tree = new FieldTree();
  readonly #samples: (SampleWriter | null)[] = [];
  readonly #plans = new Map<number, RecordPlan | null>();
  readonly #wanted = new Map<number, boolean>();
  #namesVersion = 0;
  #left: number;

  constructor(reader: PerfDataReader, options: RecordsOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#u64 = options.u64 ?? "number";
    this.#left = options.limit ?? Infinity;
  }

  /** Whether all lines that were asked for are written. */
  get done(): boolean {
    return this.#left <= 0;
  }

  /** Takes the names of the events from a file. */
  async readNames(): Promise<void> {
    const { features, littleEndian } = this.#reader;
    const found = features.find(({ id }) => id === HEADER_EVENT_DESC);
    if (found === undefined) return;
    const { offset, size } = sectionRange(found.section);
    this.#takeNames(await this.#reader.readSection(offset, size, "feature EVENT_DESC"), {
      littleEndian,
      base: offset,
    });
  }

  #takeNames(bytes: Uint8Array, options: { littleEndian: boolean; base: number }): void {
    const feature = decodeFeature(HEADER_EVENT_DESC, bytes, options);
    if (feature.name === "EVENT_DESC") this.#names.take(feature.value);
  }

  get #codec(): AnyRecordCodec {
    return this.#reader.isGoogleDialect ? GOOGLE_CODEC : CODEC;
  }

  /** The name of a record type. */
  #typeName(type: number): string {
    const known = this.#codec.declaration(type)?.name;
    return known ?? USER_RECORD_NAMES[type] ?? `TYPE_${type}`;
  }

  #isWanted(type: number): boolean {
    let wanted = this.#wanted.get(type);
    if (wanted === undefined) {
      const { types, inflate } = this.#options;
      const carrier = inflate !== false && !this.#reader.isGoogleDialect &&
        (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2);
      wanted = types === undefined ? !carrier : types.has(this.#typeName(type));
      this.#wanted.set(type, wanted);
    }
    return wanted;
  }

  /** Takes from a record what the lines after it need. */
  #observe(batch: RecordBatch, i: number, type: number): void {
    if (type === PERF_RECORD_HEADER_FEATURE && !this.#reader.isGoogleDialect) {
      const bytes = batch.recordBytes(i);
      if (bytes.length <= PERF_EVENT_HEADER_SIZE + 8) return;
      const { littleEndian } = batch;
      const id = batch.view.getBigUint64(batch.start(i) + PERF_EVENT_HEADER_SIZE, littleEndian);
      if (Number(id) === HEADER_EVENT_DESC) {
        this.#takeNames(bytes.subarray(16), { littleEndian, base: batch.offsetOf(i) + 16 });
      }
    } else if (type === PERF_RECORD_EVENT_UPDATE && !this.#reader.isGoogleDialect) {
      const record = CODEC.decode(batch.recordBytes(i), batch.context(i));
      if ("raw" in record) return;
      const update = record.body as { id?: bigint; name?: string };
      if (typeof update.name !== "string" || update.id === undefined) return;
      const index = batch.events.all.findIndex(({ ids }) => ids.includes(update.id as bigint));
      if (index >= 0) this.#names.set(index, update.name);
    }
  }

  /** Writes the lines of record `from` and those after it until the block is full. */
  write(batch: RecordBatch, from: number): number {
    const { out } = this;
    const fast = batch.littleEndian && MACHINE_LITTLE_ENDIAN && this.#options.format !== "csv";
    const fastSamples = fast && batch.aligned;
    const { view, starts, littleEndian, events, count } = batch;
    const first = this.#options.from ?? 0;
    let i = from;
    for (; i < count && out.length < BLOCK && this.#left > 0; i++) {
      const start = starts[i] as number;
      const type = view.getUint32(start, littleEndian);
      if (type >= PERF_RECORD_EVENT_UPDATE) this.#observe(batch, i, type);
      if (batch.offset + start < first && batch.offsetOf(i) < first) continue;
      if (!this.#isWanted(type)) continue;
      this.#left--;
      const size = view.getUint16(start + 6, littleEndian);
      if (fastSamples && type === PERF_RECORD_SAMPLE) {
        const event = events.indexOf(view, start, start + size, type, littleEndian);
        const writer = event < 0 ? undefined : this.#sampleWriter(event, batch);
        if (writer) {
          out.reserve(writer.bound(size));
          const end = writer.write(batch, i, out.view, out.length);
          if (end >= 0) {
            out.length = end;
            continue;
          }
        }
      } else if (fast && type !== PERF_RECORD_SAMPLE) {
        const plan = this.#plan(batch, i, type);
        if (plan) {
          out.reserve(plan.bound(size));
          const end = plan.write(batch, i, out.bytes, out.view, out.length);
          if (end >= 0) {
            out.length = end;
            continue;
          }
        }
      }
      this.#writeDecoded(batch, i, type);
    }
    return i;
  }

  #sampleWriter(index: number, batch: RecordBatch): SampleWriter | null {
    if (this.#namesVersion !== this.#names.version) {
      this.#samples.length = 0;
      this.#namesVersion = this.#names.version;
    }
    let writer = this.#samples[index];
    if (writer === undefined) {
      const event = batch.events.all[index] as PerfEvent;
      const name = this.#names.nameOf(index, event);
      writer = SampleWriter.for(event, name, this.#u64) ?? null;
      this.#samples[index] = writer;
    }
    return writer;
  }

  #plan(batch: RecordBatch, i: number, type: number): RecordPlan | null {
    const { events, view, littleEndian } = batch;
    const start = batch.start(i);
    const event = events.indexOf(view, start, start + batch.size(i), type, littleEndian);
    if (type > 0xff || event > 0xfff) return null;
    const key = (event + 1) * 0x100_0000 + type * 0x1_0000 + batch.misc(i);
    let plan = this.#plans.get(key);
    if (plan === undefined) {
      plan = RecordPlan.for(this.#codec, batch, i, this.#u64) ?? null;
      this.#plans.set(key, plan);
    }
    return plan;
  }

  /** Writes the line of any record. */
  #writeDecoded(batch: RecordBatch, i: number, type: number): void {
    const tree = this.#tree;
    tree.clear();
    const offset = batch.offsetOf(i);
    const record = this.#codec.decode(batch.recordBytes(i), {
      ...batch.context(i),
      trace: tree,
    }) as AnyDecoded;
    let event: string | undefined;
    if (type === PERF_RECORD_SAMPLE) {
      const found = batch.eventOf(i);
      if (found !== undefined) event = this.#names.nameOf(batch.events.all.indexOf(found), found);
    }
    const members = lineMembers(record, tree, {
      name: this.#typeName(type),
      offset,
      event,
      littleEndian: batch.littleEndian,
      u64: this.#u64,
    });
    this.out.append(
      this.#options.format === "csv"
        ? csvRow(members)
        : `{${members.map(([name, json]) => `"${name}":${json}`).join(",")}}\n`,
    );
  }
}

/** A row: what has a column of its own, without the quotes of JSON; all else as an object. */
function csvRow(members: [string, string][]): string {
  const known = new Map(members);
  const row = CSV_COLUMNS.slice(0, -1).map((column) => {
    const json = known.get(column);
    if (json === undefined || json === "null") return "";
    return json.startsWith('"') ? JSON.parse(json) as string : json;
  });
  const more = members.filter(([name]) => !CSV_COLUMNS.includes(name));
  row.push(
    more.length === 0 ? "" : `{${more.map(([name, json]) => `"${name}":${json}`).join(",")}}`,
  );
  return stringify([row], { headers: false });
}

/**
 * Writes the records of a file as text, one line each: JSON objects or rows of CSV. The schema is in
 * `docs/records.md`.
 *
 * Records come in file order. Samples of plain fields and call chains, and other records of plain
 * fields, are written without being decoded.
 *
 * @param reader The file or stream.
 * @param options Which records, and how they are written.
 * @returns Blocks of whole lines, some 256 KB each, from a stream as soon as there are any; a block
 * is overwritten when the next one is asked for.
 * @throws {PerfDataError} In strict mode, where the data is damaged.
 *
 * @example
 * ```ts
 * import { recordsText } from "@perfdata/dump";
 * import { bytesSource, KERNEL_RECORDS, memorySink, PerfDataReader, PerfDataWriter,
 *   RecordCodec } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const writer = await PerfDataWriter.pipe(sink);
 * await writer.write(new RecordCodec(KERNEL_RECORDS).encode({
 *   type: 3,
 *   name: "COMM",
 *   misc: 0x2000,
 *   body: { pid: 7, tid: 7, comm: "true" },
 * }));
 * const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
 * let text = "";
 * for await (const block of recordsText(reader)) text += new TextDecoder().decode(block);
 * assertEquals(
 *   text,
 *   '{"type":"COMM","offset":16,"misc":"0x2000","body":{"pid":7,"tid":7,"comm":"true"}}\n',
 * );
 * ```
 */
export async function* recordsText(
  reader: PerfDataReader,
  options: RecordsOptions = {},
): AsyncGenerator<Uint8Array, void, void> {
  const text = new RecordsText(reader, options);
  const { out } = text;
  await text.readNames();
  if (options.format === "csv") {
    out.append(stringify([CSV_COLUMNS], { headers: false }));
  }
  const live = reader.fileSize === undefined;
  for await (const batch of reader.batches({ inflate: options.inflate ?? true })) {
    for (let i = 0; i < batch.count && !text.done;) {
      i = text.write(batch, i);
      if (out.length >= BLOCK || (live && i === batch.count && out.length > 0)) {
        yield out.bytes.subarray(0, out.length);
        out.length = 0;
      }
    }
    if (text.done) break;
  }
  if (out.length > 0) yield out.bytes.subarray(0, out.length);
}
