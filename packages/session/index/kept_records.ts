import { enlarge } from "@perfdata/format/bytes";
import { Moments, type MomentsPart } from "./moments.ts";

/** Kept records as they are sent to another thread. */
export interface KeptRecordsPart {
  /** The records. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where each starts. */
  readonly start: Int32Array<ArrayBuffer>;
  /** Where each ends. */
  readonly end: Int32Array<ArrayBuffer>;
  /** When each happens. */
  readonly moments: MomentsPart;
}

/** Records that were copied out of a recording, with when they happen. */
export class KeptRecords {
  /** All of them, one after the other, each at a multiple of 8. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 14);
  /** The same bytes, for reads in either byte order. */
  view: DataView<ArrayBuffer> = new DataView(this.bytes.buffer);
  /** When each happens: as many as there are records. */
  readonly moments: Moments;
  /** Where each starts in {@link KeptRecords.bytes}. */
  start: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Where each ends. */
  end: Int32Array<ArrayBuffer> = new Int32Array(64);
  #used = 0;

  /** All of them, to be sent to another thread. */
  part(): KeptRecordsPart {
    const { count } = this;
    return {
      bytes: this.bytes.slice(0, this.#used),
      start: this.start.slice(0, count),
      end: this.end.slice(0, count),
      moments: this.moments.part(),
    };
  }

  /** Those of a part. */
  static of({ bytes, start, end, moments }: KeptRecordsPart): KeptRecords {
    const records = new KeptRecords(Moments.of(moments));
    records.bytes = bytes;
    records.view = new DataView(bytes.buffer);
    records.start = start;
    records.end = end;
    records.#used = bytes.length;
    return records;
  }

  /** Has those records whose moments are given, or none. */
  constructor(moments: Moments = new Moments()) {
    this.moments = moments;
  }

  /** Number of records. */
  get count(): number {
    return this.moments.count;
  }

  /**
   * Copies a record.
   *
   * @param round How many FINISHED_ROUND records stand before it.
   * @param hi Upper half of its time; both are 0 where it has none.
   * @param lo Lower half.
   * @param position Its number among the records of the file.
   */
  add(record: Uint8Array, round: number, hi: number, lo: number, position: number): void {
    const at = this.#used;
    const size = record.length;
    if (at + size > this.bytes.length) {
      this.bytes = enlarge(this.bytes, at + size);
      this.view = new DataView(this.bytes.buffer);
    }
    this.bytes.set(record, at);
    const number = this.moments.add(round, hi, lo, position);
    if (number >= this.start.length) {
      this.start = enlarge(this.start, number + 1);
      this.end = enlarge(this.end, number + 1);
    }
    this.start[number] = at;
    this.end[number] = at + size;
    this.#used = at + size + 7 & ~7;
  }
}
