import { type Diagnostics, PerfDataError, type RandomAccessSource } from "@perfdata/format/bytes";
import {
  encode,
  fileMagic,
  layoutOf,
  type Payload,
  PERF_ATTR_SIZE_VER0,
  PERF_FILE_HEADER_SIZE,
  PerfDataReader,
  perfEventAttr,
  perfFileHeader,
  perfFileSection,
  prefixSize,
  type RecordBatch,
  recordSize,
} from "@perfdata/format/records";
import { PERF_EVENT_HEADER_SIZE, PERF_RECORD_AUXTRACE } from "@perfdata/format/constants";
import { copyRecording, type CopyStats } from "../copy/copy.ts";
import type { RecordingOutput } from "../copy/recording_output.ts";
import { JUDGED, mendEvents } from "./repair_events.ts";
import { RepairHead } from "./repair_head.ts";
import { ENOUGH, KNOWN, Soundness } from "./repair_sound.ts";

/** Bytes of a recording that could not be used. */
export interface LostRange {
  /** File offset of the first byte. */
  readonly offset: number;
  /** Number of bytes. */
  readonly size: number;
  /** Description of the damage. */
  readonly reason: string;
}

/** Findings and changes of a repair. */
export interface RepairReport {
  /** Lost bytes among the records, in file order. */
  readonly lost: readonly LostRange[];
  /** Other findings and changes, one line each. */
  readonly findings: readonly string[];
  /** Whether the file header or the attr table was rebuilt. */
  readonly headerRebuilt: boolean;
  /** Counts of the copy. */
  readonly copied: CopyStats;
}

/** Number of bytes searched at once for the next record. */
const WINDOW = 1 << 20;
/**
 * Copies the valid parts of a damaged recording to a new one: whole records before and after damage, and
 * readable features.
 *
 * A record is valid if its type is known and its parts fill it: a sample by the layout of
 * its event, other records by their declarations. After an invalid record, the next one is searched at
 * every eighth byte; three successive valid records end the damage.
 *
 * @param source The damaged file.
 * @param output Receives the repaired recording.
 * @throws {PerfDataError} If neither a header nor an attr table can be found.
 */
export async function repairRecording(
  source: RandomAccessSource,
  output: RecordingOutput,
  progress?: (bytes: number) => void,
): Promise<RepairReport> {
  const errors: PerfDataError[] = [];
  // Reading and copying report the same errors.
  const addError: Diagnostics = (error) => {
    if (!errors.some((known) => known.located() === error.located())) errors.push(error);
  };
  const changes: string[] = [];
  const { reader, headerRebuilt, isMended } = await openDamaged(source, addError, errors, changes);
  const salvage = new Salvage(reader, source, errors);
  const copied = await copyRecording(reader, output, {
    edit: await RepairHead.of(reader, isMended, changes),
    batches: (options) => salvage.batches(options),
    // A feature that is cut, or outside of the file, is dropped.
    lostFeature: addError,
    progress,
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
  errors: PerfDataError[],
  findings: string[],
): Promise<{
  reader: PerfDataReader;
  headerRebuilt: boolean;
  /** Whether the events are those of EVENT_DESC. */
  isMended: boolean;
}> {
  try {
    const reader = await PerfDataReader.open(source, { diagnostics });
    if (reader.isPipe) await readAttrs(reader, source, errors);
    const isMended = await mendEvents(reader, source, findings);
    if (reader.isPipe || reader.events.all.length > 0) {
      return { reader, headerRebuilt: false, isMended };
    }
  } catch (error) {
    if (!(error instanceof PerfDataError)) throw error;
  }
  const rebuilt = await rebuildHeader(source);
  // Without a header of either kind, this throws the error of the existing header.
  const reader = await PerfDataReader.open(rebuilt ?? source, { diagnostics });
  return { reader, headerRebuilt: rebuilt !== undefined, isMended: false };
}

/** Reads the HEADER_ATTR records of a pipe, also those after damage. The copy reports the damage. */
async function readAttrs(
  reader: PerfDataReader,
  source: RandomAccessSource,
  errors: PerfDataError[],
): Promise<void> {
  const known = errors.length;
  const salvage = new Salvage(reader, source, errors);
  const to = reader.data.offset + JUDGED;
  for await (const _ of salvage.batches({ inflate: false, to }));
  errors.length = known;
}

/** Layout of an entry of the attr table: the attr and the section of its ids. */
const ATTR = layoutOf(perfEventAttr());
const IDS = layoutOf(perfFileSection);
const IDS_SIZE = prefixSize(perfFileSection);
const LEAST_ENTRY = PERF_ATTR_SIZE_VER0 + IDS_SIZE;

/** All sizes of `struct perf_event_attr`: PERF_ATTR_SIZE_VER0 to VER9. */
const ATTR_SIZES: ReadonlySet<number> = new Set([64, 72, 80, 96, 104, 112, 120, 128, 136, 144]);

/**
 * Searches for the attr table of a file without a valid header, and prepends a header.
 *
 * perf writes the ids of all events right after the header, then the attrs, each with the section of
 * its ids. A table whose sections begin after the header and fill the space before the table
 * is certainly the attr table.
 *
 * @returns The file with a header; `undefined` if no such table is found.
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

/** Yields the valid records of a damaged recording. */
class Salvage {
  readonly lost: LostRange[] = [];
  readonly #reader: PerfDataReader;
  readonly #source: RandomAccessSource;
  readonly #errors: PerfDataError[];
  readonly #soundness: Soundness;
  /** Whether a record had a size that is not a multiple of 8. The kernel writes none, but perf and other tools do. */
  #isOdd = false;

  constructor(reader: PerfDataReader, source: RandomAccessSource, errors: PerfDataError[]) {
    this.#reader = reader;
    this.#source = source;
    this.#errors = errors;
    this.#soundness = new Soundness(reader.events, reader.littleEndian);
  }

  async *batches(
    options: { readonly inflate?: boolean; readonly to?: number },
  ): AsyncGenerator<RecordBatch, void, void> {
    const { offset, size } = this.#reader.data;
    const end = Math.min(offset + size, this.#source.size, options.to ?? Infinity);
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
        // The error of the reader has the offset at which it stopped.
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

  /** Reduces the size in an AUXTRACE record to the available data. */
  #cutPayload(batch: RecordBatch, payload: Payload, end: number): void {
    const size = Math.max(0, end - payload.offset);
    if (payload.size <= size) return;
    const { littleEndian } = this.#reader;
    this.lost.push({ offset: end, size: payload.size - size, reason: "payload: cut off" });
    // AUXTRACE begins with the size as u64, HEADER_TRACING_DATA as u32.
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

  /** Returns the number of valid records before the first invalid one. */
  #soundRecords(batch: RecordBatch): number {
    // Damage of inflated records was detected by the decompressor.
    if (batch.inflatedFrom >= 0) return batch.count;
    for (let i = 0; i < batch.count; i++) {
      const start = batch.start(i);
      if (batch.size(i) & 7) this.#isOdd = true;
      if (!this.#soundness.isSound(batch.view, batch.bytes, start, start + batch.size(i))) return i;
    }
    return batch.count;
  }

  /** Searches in steps of `step` bytes for the next record that two more valid ones follow. */
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
          if (!this.#soundness.isSound(view, bytes, pos, pos + size)) break;
          sound++;
          pos += size;
        }
        // At the end of the data, fewer records suffice, except if every byte is tried: a single one may be chance.
        const isEnd = step > 1 && sound > 0 && window + pos === end;
        if (sound === ENOUGH || isEnd) return window + at;
      }
    }
    return undefined;
  }
}
