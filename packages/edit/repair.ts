import {
  type Diagnostics,
  encode,
  fileMagic,
  KERNEL_RECORDS,
  layoutOf,
  type Payload,
  PERF_ATTR_SIZE_VER0,
  PERF_EVENT_HEADER_SIZE,
  PERF_FILE_HEADER_SIZE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PerfDataError,
  PerfDataReader,
  perfEventAttr,
  perfFileHeader,
  perfFileSection,
  prefixSize,
  type RandomAccessSource,
  type RecordBatch,
  RecordCodec,
  recordSize,
  SampleFields,
} from "@perfdata/format";
import { USER_RECORDS } from "@perfdata/user-records";
import { copyRecording, type CopyStats } from "./copy.ts";
import type { RecordingOutput } from "./output.ts";
import { RepairHead } from "./repair_head.ts";

/** Bytes of a recording that could not be used. */
export interface LostRange {
  /** File offset of the first byte. */
  readonly offset: number;
  /** How many. */
  readonly size: number;
  /** What is wrong with them. */
  readonly reason: string;
}

/** What a repair found and did. */
export interface RepairReport {
  /** Bytes among the records that are lost, in file order. */
  readonly lost: readonly LostRange[];
  /** What else was wrong, a line each. */
  readonly findings: readonly string[];
  /** Whether the file header, or the attr table, was made anew. */
  readonly headerRebuilt: boolean;
  /** What was copied. */
  readonly copied: CopyStats;
}

/** Records that must follow one another before damaged bytes count as over. */
const ENOUGH = 3;
/** Bytes that are looked at, at once, for the next record. */
const WINDOW = 1 << 20;
/** The last types that are known here, and how many later ones there may be. */
const LAST_KERNEL_TYPE = Math.max(...KERNEL_RECORDS.map(({ type }) => type));
const LAST_USER_TYPE = Math.max(...USER_RECORDS.map(({ type }) => type));
const LATER = 8;

/**
 * Whether a type that is not known may be one of a later Linux, or of simpleperf and hiperf, which count
 * from 32768 on. Few numbers of 32 bits are: what is not a record hardly ever looks like one of them.
 */
function isPlausible(type: number, size: number): boolean {
  const isLater = (type < PERF_RECORD_USER_TYPE_START && type <= LAST_KERNEL_TYPE + LATER) ||
    (type >= PERF_RECORD_USER_TYPE_START && type <= LAST_USER_TYPE + LATER);
  return (size & 7) === 0 && type > 0 && (isLater || (type >= 32768 && type <= 32768 + LATER));
}

/** Most bytes of one AUXTRACE payload. */
const MOST_AUX = 1n << 34n;
/** Types that are known to be written: the kernel's, and perf's own. Others only where framing is sure. */
const KNOWN = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);

/**
 * Copies what is sound of a damaged recording into a new one: whole records before and after damage,
 * features that can be read.
 *
 * A record counts as sound if it is of a known type, and its parts fill it: a sample by the layout of
 * its event, others by their declarations. After a record that is not, the next one is searched at
 * every eighth byte; three sound ones in a row end the damage.
 *
 * @param source The damaged file.
 * @param output Where the new one goes.
 * @throws {PerfDataError} Where neither a header nor an attr table can be found.
 */
export async function repairRecording(
  source: RandomAccessSource,
  output: RecordingOutput,
  progress?: (bytes: number) => void,
): Promise<RepairReport> {
  const errors: PerfDataError[] = [];
  // Looking and copying find the same.
  const take: Diagnostics = (error) => {
    if (!errors.some((known) => known.located() === error.located())) errors.push(error);
  };
  const { reader, headerRebuilt } = await openDamaged(source, take);
  const salvage = new Salvage(reader, source, errors);
  const changes: string[] = [];
  const copied = await copyRecording(reader, output, {
    edit: await RepairHead.of(reader, changes),
    batches: (options) => salvage.batches(options),
    // A feature that is cut, or lies outside of the file, is left out.
    lostFeature: take,
    ...(progress === undefined ? {} : { progress }),
  });
  return {
    lost: salvage.lost,
    findings: [...errors.map((error) => error.located()), ...changes],
    headerRebuilt,
    copied,
  };
}

async function openDamaged(
  source: RandomAccessSource,
  diagnostics: Diagnostics,
): Promise<{ reader: PerfDataReader; headerRebuilt: boolean }> {
  try {
    const reader = await PerfDataReader.open(source, { diagnostics });
    if (reader.isPipe || reader.events.all.length > 0) return { reader, headerRebuilt: false };
  } catch (error) {
    if (!(error instanceof PerfDataError)) throw error;
  }
  const rebuilt = await rebuildHeader(source);
  // Without a header of either kind this throws what is wrong with the one that is there.
  const reader = await PerfDataReader.open(rebuilt ?? source, { diagnostics });
  return { reader, headerRebuilt: rebuilt !== undefined };
}

/** An entry of the attr table: the attr, and the place of its ids. */
const ATTR = layoutOf(perfEventAttr());
const IDS = layoutOf(perfFileSection);
const IDS_SIZE = prefixSize(perfFileSection);
const LEAST_ENTRY = PERF_ATTR_SIZE_VER0 + IDS_SIZE;

/** Sizes that `struct perf_event_attr` had: PERF_ATTR_SIZE_VER0 to VER9. */
const ATTR_SIZES: ReadonlySet<number> = new Set([64, 72, 80, 96, 104, 112, 120, 128, 136, 144]);

/**
 * Finds the attr table of a file whose header is gone, and puts a header before it.
 *
 * perf writes the ids of all events right after the header, and then the attrs, each with the place of
 * its ids: a table where these places begin after the header and fill the space before the table is
 * certain to be it.
 *
 * @returns The file with a header; `undefined` where no such table is found.
 */
async function rebuildHeader(source: RandomAccessSource): Promise<RandomAccessSource | undefined> {
  const head = new Uint8Array(Math.min(source.size, 1 << 20));
  await source.readAt(head, 0);
  const view = new DataView(head.buffer);
  for (const littleEndian of [true, false]) {
    for (let at = PERF_FILE_HEADER_SIZE; at + LEAST_ENTRY <= head.length; at += 8) {
      const size = view.getUint32(at + ATTR.size, littleEndian);
      if (!ATTR_SIZES.has(size)) continue;
      let idsEnd = PERF_FILE_HEADER_SIZE;
      let end = at;
      while (
        end + size + IDS_SIZE <= head.length &&
        view.getUint32(end + ATTR.size, littleEndian) === size &&
        view.getBigUint64(end + size + IDS.offset, littleEndian) === BigInt(idsEnd) &&
        view.getBigUint64(end + size + IDS.size, littleEndian) <= BigInt(at - idsEnd)
      ) {
        idsEnd += Number(view.getBigUint64(end + size + IDS.size, littleEndian));
        end += size + IDS_SIZE;
      }
      if (end === at || idsEnd !== at) continue;
      const header = encode(perfFileHeader, {
        magic: fileMagic(littleEndian),
        size: BigInt(PERF_FILE_HEADER_SIZE),
        attr_size: BigInt(size + IDS_SIZE),
        attrs: { offset: BigInt(at), size: BigInt(end - at) },
        data: { offset: BigInt(end), size: 0n },
        event_types: { offset: 0n, size: 0n },
        adds_features: [0n, 0n, 0n, 0n],
      }, { littleEndian });
      return {
        size: source.size,
        async readAt(into, position) {
          const got = await source.readAt(into, position);
          if (position < header.length) into.set(header.subarray(position, position + got));
          return got;
        },
      };
    }
  }
  return undefined;
}

/** Most bytes of a kernel record after its fields: those of a later Linux, and a trailer that no attr names. */
const MOST_TAIL = 128;

/**
 * Most bytes after a text that are not all zeros. The kernel pads with zeros to a multiple of eight; other
 * tools write what is in their buffer, as long as TASK_COMM_LEN.
 */
const MOST_PADDING = 16;

/**
 * Whether more follows the fields of a record, or the text at its end, than the kernel writes there: then
 * its size is damaged, and it would swallow the records after it.
 */
function swallows({ tail, body }: { readonly tail?: Uint8Array; readonly body: object }): boolean {
  if (tail !== undefined && tail.length > MOST_TAIL) return true;
  for (const [name, value] of Object.entries(body)) {
    if (!/_pad$|^padding$/.test(name) || !(value instanceof Uint8Array)) continue;
    if (value.length > MOST_PADDING && value.some((byte) => byte !== 0)) return true;
  }
  return false;
}

/** Gives the sound records of a damaged recording. */
class Salvage {
  readonly lost: LostRange[] = [];
  readonly #reader: PerfDataReader;
  readonly #source: RandomAccessSource;
  readonly #errors: PerfDataError[];
  readonly #samples: SampleFields[] = [];
  /**
   * Whether a record was seen whose size is no multiple of 8. The kernel writes none, but some of
   * perf's own are, and other tools write what they like.
   */
  #isOdd = false;

  constructor(reader: PerfDataReader, source: RandomAccessSource, errors: PerfDataError[]) {
    this.#reader = reader;
    this.#source = source;
    this.#errors = errors;
  }

  async *batches(options: { readonly inflate?: boolean }): AsyncGenerator<RecordBatch, void, void> {
    const { offset, size } = this.#reader.data;
    const end = Math.min(offset + size, this.#source.size);
    for (let from = offset; from < end;) {
      const known = this.#errors.length;
      let bad = -1;
      let reason = "";
      for await (const batch of this.#reader.batches({ ...options, from, to: end })) {
        const sound = this.#soundRecords(batch);
        if (sound < batch.count) {
          bad = batch.offset + batch.start(sound);
          reason = `${KNOWN.name(batch.type(sound))}: not what its type says`;
          batch.count = sound;
          batch.payload = undefined;
          if (sound > 0) yield batch;
          break;
        }
        if (batch.payload !== undefined) this.#cutPayload(batch, batch.payload, end);
        yield batch;
      }
      if (bad < 0) {
        // The reader reports where it stopped.
        const stop = this.#errors.slice(known).findLast(({ offset }) => offset !== undefined);
        if (this.#reader.stats.skippedBytes === 0 || stop?.offset === undefined) return;
        this.#errors.splice(this.#errors.indexOf(stop), 1);
        bad = Number(stop.offset);
        reason = stop.message.replace(/; the rest of the data.*/, "");
      }
      const next = (this.#isOdd ? undefined : await this.#nextSound(bad, 8, end)) ??
        await this.#nextSound(bad, 1, end) ?? end;
      this.lost.push({ offset: bad, size: next - bad, reason });
      from = next;
    }
  }

  /** Makes an AUXTRACE record announce no more data than there is. */
  #cutPayload(batch: RecordBatch, payload: Payload, end: number): void {
    const size = Math.max(0, end - payload.offset);
    if (payload.size <= size) return;
    const { littleEndian } = this.#reader;
    this.lost.push({ offset: end, size: payload.size - size, reason: "payload: cut off" });
    // Both AUXTRACE and HEADER_TRACING_DATA begin with the size, as u64 and as u32.
    const at = batch.start(batch.count - 1) + PERF_EVENT_HEADER_SIZE;
    if (payload.type === PERF_RECORD_AUXTRACE) {
      batch.view.setBigUint64(at, BigInt(size), littleEndian);
    } else {
      batch.view.setUint32(at, size, littleEndian);
    }
    batch.payload = {
      ...payload,
      size,
      read: (into) => payload.read(into),
      [Symbol.asyncIterator]: () => payload[Symbol.asyncIterator](),
    };
  }

  /** How many records of a batch are sound, up to the first that is not. */
  #soundRecords(batch: RecordBatch): number {
    // What was inflated is checked by its own checksums.
    if (batch.inflatedFrom >= 0) return batch.count;
    for (let i = 0; i < batch.count; i++) {
      const start = batch.start(i);
      if (batch.size(i) & 7) this.#isOdd = true;
      if (!this.#isSound(batch.view, batch.bytes, start, start + batch.size(i))) return i;
    }
    return batch.count;
  }

  #isSound(view: DataView, bytes: Uint8Array, start: number, end: number): boolean {
    const { littleEndian: le, events } = this.#reader;
    const type = view.getUint32(start, le);
    if (type === PERF_RECORD_SAMPLE) {
      const number = events.indexOf(view, start, end, type, le);
      const event = events.all[number];
      if (event === undefined) return false;
      const fields = this.#samples[number] ??= new SampleFields(event.attr);
      // The kernel pads raw data, and nothing else, so that a sample ends at a multiple of 8.
      return fields.locate(view, start, end, le) && end - fields.end < 8 &&
        // No more of a stack was copied than there was room for.
        (fields.stackUserDynSize < 0 ||
          view.getBigUint64(fields.stackUserDynSize, le) <= BigInt(fields.stackUserSize));
    }
    if (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2) return true;
    if (KNOWN.declaration(type) === undefined) return isPlausible(type, end - start);
    const isKernels = type < PERF_RECORD_USER_TYPE_START;
    const event = isKernels ? events.eventOf(view, start, end, type, le) : undefined;
    // Of no event: its id is damaged, if not more.
    if (isKernels && event === undefined && events.all.length > 0) return false;
    const record = KNOWN.decode(bytes.subarray(start, end), { littleEndian: le, event });
    if (record.name === "AUXTRACE") return record.body.size <= MOST_AUX;
    // perf reads no further where this record names an id that no event has.
    if (record.name === "ID_INDEX") return record.body.entries.every(({ id }) => this.#hasId(id));
    return !("raw" in record) && !(isKernels && swallows(record));
  }

  #hasId(id: bigint): boolean {
    const { all } = this.#reader.events;
    return all.length === 0 || all.some(({ ids }) => ids.includes(id));
  }

  /** The offset of the next record that two more sound ones follow: `step` bytes on, or twice that… */
  async #nextSound(bad: number, step: number, end: number): Promise<number | undefined> {
    const { littleEndian: le } = this.#reader;
    const from = bad + step;
    const bytes = new Uint8Array(WINDOW + ENOUGH * 0x10000);
    const view = new DataView(bytes.buffer);
    for (let window = from; window < end; window += WINDOW) {
      const got = await this.#source.readAt(
        bytes.subarray(0, Math.min(bytes.length, end - window)),
        window,
      );
      for (let at = 0; at < Math.min(WINDOW, got); at += step) {
        let pos = at;
        let sound = 0;
        while (sound < ENOUGH && pos + PERF_EVENT_HEADER_SIZE <= got) {
          const size = recordSize(view, pos, le);
          const type = view.getUint32(pos, le);
          if (size < PERF_EVENT_HEADER_SIZE || pos + size > got || type === 0) break;
          if (!this.#isSound(view, bytes, pos, pos + size)) break;
          sound++;
          pos += size;
        }
        // At the end of the data there may be fewer; at any byte, a single one can be chance.
        const isEnd = step > 1 && sound > 0 && window + pos === end;
        if (sound === ENOUGH || isEnd) return window + at;
      }
    }
    return undefined;
  }
}
