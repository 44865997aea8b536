import { hexOfRecord, type HexRun, recordTypeOfName } from "@perfdata/dump";
import {
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from "@perfdata/format/constants";
import type { PerfDataReader, RecordBatch } from "@perfdata/format/records";
import { floatAt } from "@perfdata/format/bytes";
import type { IndexBlock, RecordingIndex } from "@perfdata/session";
import { RecordFacts, recordTypeName } from "./record_facts.ts";

/** Selects the records to list; all by default. */
export interface RecordQuery {
  /** Names of types, such as `MMAP2`. */
  readonly types?: readonly string[] | undefined;
  readonly pids?: readonly number[] | undefined;
  readonly tids?: readonly number[] | undefined;
  readonly cpus?: readonly number[] | undefined;
  /** Index of the event. */
  readonly event?: number | undefined;
  /** Start and end in nanoseconds as decimal text: `from` inclusive, `to` exclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** A line of the list. */
export interface RecordRow {
  /** Index of the record in the file, from 0. */
  readonly number: number;
  /** File offset. */
  readonly offset: number;
  readonly size: number;
  readonly type: string;
  /** Seconds with nine digits, exact; empty without a time. */
  readonly time: string;
  readonly pid: number;
  readonly tid: number;
  readonly cpu: number;
  readonly event: string;
  /** Summary of the fields. */
  readonly text: string;
}

/** A field of a record, as the command `hex` shows it. */
export type RecordField = Pick<
  HexRun,
  "offset" | "size" | "field" | "depth" | "type" | "value" | "problems"
>;

export interface RecordDetail {
  readonly row: RecordRow;
  readonly bytes: Uint8Array;
  /** The fields in the order of the bytes, without gap or overlap. */
  readonly fields: readonly RecordField[];
}

export interface RecordRows {
  readonly count: number;
  readonly rows: readonly RecordRow[];
}

/** Maximum number of records per request. */
const MOST_ROWS = 1000;

interface Matches {
  /** By block: number of matching records before it. */
  readonly before: Float64Array;
  /** By block: indices of its matching records; `undefined` if all match. */
  readonly of: (Uint32Array | undefined)[];
  readonly count: number;
}

/** The records of a recording as a list, if its blocks can be read independently. */
export class RecordList {
  readonly #reader: PerfDataReader;
  readonly #blocks: readonly IndexBlock[];
  readonly #eventNames: readonly string[];
  readonly #all: Matches;
  /** The last query and its matches. */
  #found: { readonly key: string; readonly matches: Promise<Matches> } | undefined;

  /** Creates the list of the records of an index. */
  constructor(reader: PerfDataReader, { blocks }: RecordingIndex, eventNames: readonly string[]) {
    this.#reader = reader;
    this.#blocks = blocks;
    this.#eventNames = eventNames;
    this.#all = matchesOf(blocks.map(() => undefined), blocks);
  }

  async rows(query: RecordQuery, from: number, count: number): Promise<RecordRows> {
    const matches = await this.#matches(query);
    const end = Math.min(matches.count, from + Math.min(count, MOST_ROWS));
    const rows: RecordRow[] = [];
    let at = Math.max(0, from);
    while (at < end) {
      const number = blockOf(matches.before, at);
      const block = this.#blocks[number] as IndexBlock;
      const of = matches.of[number];
      const first = at - floatAt(matches.before, number);
      const size = of?.length ?? block.records;
      const last = Math.min(size, first + end - at);
      const wanted = of?.subarray(first, last) ??
        Uint32Array.from({ length: last - first }, (_, i) => first + i);
      let next = 0;
      await this.#read(block, (batch, i, nth) => {
        if (nth !== wanted[next]) return true;
        next++;
        rows.push(this.#row(batch, i, block.first + nth));
        return next < wanted.length;
      });
      // A file that shrinks while it is read has fewer records.
      if (last <= first) break;
      at += last - first;
    }
    return { count: matches.count, rows };
  }

  /** Returns the position of a record in the list, by its number; of the next match if it does not match. */
  async position(query: RecordQuery, number: number): Promise<number> {
    const { before, of, count } = await this.#matches(query);
    let block = this.#blocks.findIndex(({ first, records }) => number < first + records);
    if (block < 0) return Math.max(0, count - 1);
    const nth = number - (this.#blocks[block] as IndexBlock).first;
    const own = of[block];
    if (own === undefined) return floatAt(before, block) + Math.max(0, nth);
    const at = own.findIndex((i) => i >= nth);
    if (at >= 0) return floatAt(before, block) + at;
    block++;
    return Math.min(Math.max(0, count - 1), before[block] ?? count);
  }

  /** Returns a record with its fields and bytes. */
  async detail(number: number): Promise<RecordDetail | undefined> {
    const block = this.#blocks.find(({ first, records }) =>
      number >= first && number < first + records
    );
    let found: RecordDetail | undefined;
    if (block === undefined) return undefined;
    await this.#read(block, (batch, i, nth) => {
      if (block.first + nth !== number) return true;
      const runs = hexOfRecord(this.#reader, batch, i, number);
      found = {
        row: this.#row(batch, i, number),
        bytes: batch.recordBytes(i).slice(),
        fields: runs.map((run) => fieldOf(run, batch.offsetOf(i), batch.inflatedFrom >= 0)),
      };
      return false;
    });
    return found;
  }

  #matches(query: RecordQuery): Promise<Matches> {
    const key = JSON.stringify(query);
    if (Object.values(query).every((value) => value === undefined)) {
      return Promise.resolve(this.#all);
    }
    if (this.#found?.key !== key) this.#found = { key, matches: this.#find(query) };
    return this.#found.matches;
  }

  async #find({ types, pids, tids, cpus, event, from, to }: RecordQuery): Promise<Matches> {
    const wanted = types === undefined
      ? undefined
      : new Set(types.map((name) =>
        /^TYPE_\d+$/.test(name) ? Number(name.slice(5)) : recordTypeOfName(name)
      ));
    const [least, most] = [halves(from), halves(to)];
    const facts = new RecordFacts();
    const fits = (batch: RecordBatch, i: number): boolean => {
      if (wanted !== undefined && !wanted.has(batch.type(i))) return false;
      facts.read(batch, i);
      if (event !== undefined && facts.event !== event) return false;
      if (pids !== undefined || tids !== undefined) {
        if (!(pids?.includes(facts.pid) || tids?.includes(facts.tid))) return false;
      }
      if (cpus !== undefined && !cpus.includes(facts.cpu)) return false;
      if (least === undefined && most === undefined) return true;
      const { timeHi: hi, timeLo: lo } = facts;
      if (hi === 0 && lo === 0) return false;
      return (least === undefined || !isBefore(hi, lo, least)) &&
        (most === undefined || isBefore(hi, lo, most));
    };
    const found: Uint32Array[] = [];
    for (const block of this.#blocks) {
      const own: number[] = [];
      await this.#read(block, (batch, i, nth) => {
        if (fits(batch, i)) own.push(nth);
        return true;
      });
      found.push(Uint32Array.from(own));
    }
    return matchesOf(found, this.#blocks);
  }

  /** Reads a block until `take` returns false. */
  async #read(
    { from, to }: IndexBlock,
    take: (batch: RecordBatch, i: number, nth: number) => boolean,
  ): Promise<void> {
    let nth = 0;
    for await (const batch of this.#reader.batches({ from, to, quiet: true })) {
      for (let i = 0; i < batch.count; i++) if (!take(batch, i, nth++)) return;
    }
  }

  #row(batch: RecordBatch, i: number, number: number): RecordRow {
    const { type, event, pid, tid, cpu, timeHi, timeLo } = new RecordFacts().read(batch, i);
    const time = BigInt(timeHi) << 32n | BigInt(timeLo);
    return {
      number,
      offset: batch.offsetOf(i),
      size: batch.size(i),
      type: recordTypeName(type),
      time: time === 0n ? "" : secondsText(time),
      pid,
      tid,
      cpu,
      event: this.#eventNames[event] ?? "",
      text: [
        ...switchText(type, batch.misc(i)),
        ...summary(hexOfRecord(this.#reader, batch, i, number), { pid, tid }),
      ].join(", "),
    };
  }
}

function matchesOf(of: (Uint32Array | undefined)[], blocks: readonly IndexBlock[]): Matches {
  const before = new Float64Array(blocks.length);
  let count = 0;
  for (const [i, { records }] of blocks.entries()) {
    before[i] = count;
    count += of[i]?.length ?? records;
  }
  return { before, of, count };
}

/** Returns the last block that begins at or before a position and is not empty. */
function blockOf(before: Float64Array, at: number): number {
  let [low, high] = [0, before.length];
  while (low < high) {
    const middle = low + high >>> 1;
    if (floatAt(before, middle) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function halves(text: string | undefined): readonly [number, number] | undefined {
  if (text === undefined) return undefined;
  const time = BigInt(text);
  return [Number(time >> 32n), Number(time & 0xffff_ffffn)];
}

function isBefore(hi: number, lo: number, [otherHi, otherLo]: readonly [number, number]): boolean {
  return hi < otherHi || (hi === otherHi && lo < otherLo);
}

/** Formats nanoseconds as seconds with nine digits. */
export function secondsText(nanoseconds: bigint): string {
  const digits = `${nanoseconds}`.padStart(10, "0");
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

function fieldOf(
  { offset, size, field, depth, type, value, problems }: HexRun,
  start: number,
  isInflated: boolean,
): RecordField {
  return {
    offset: isInflated ? offset : offset - start,
    size,
    field,
    depth,
    type,
    value,
    problems,
  };
}

/** Maximum number of fields in a summary. */
const MOST_FIELDS = 12;
/** Fields that have their own column or carry no information. */
const LEFT_OUT =
  /^\.(header|sample_id)\b|\.(padding|tail|length|len|reserved\w*)$|^\.(time|cpu|id|stream_id|identifier)$/;

/** Describes a context switch, whose kind is in the record header. */
function switchText(type: number, misc: number): readonly string[] {
  if (type !== PERF_RECORD_SWITCH && type !== PERF_RECORD_SWITCH_CPU_WIDE) return [];
  if ((misc & PERF_RECORD_MISC_SWITCH_OUT) === 0) return ["in"];
  return [(misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) === 0 ? "out" : "out, preempted"];
}

/** @param row The row's process and thread; only other ones, such as a child's, are in the summary. */
function summary(
  runs: readonly HexRun[],
  row: { readonly pid: number; readonly tid: number },
): readonly string[] {
  const parts: string[] = [];
  for (const { field, value } of runs) {
    if (value === undefined || LEFT_OUT.test(field)) continue;
    if (field === ".pid" && value === `${row.pid}`) continue;
    if (field === ".tid" && value === `${row.tid}`) continue;
    if (parts.length === MOST_FIELDS) {
      parts.push("…");
      break;
    }
    parts.push(`${field.replace(/^\./, "")} ${value}`);
  }
  return parts;
}
