import { enlarge } from "@perfdata/format/bytes";
import { Moments, type MomentsPart } from "./moments.ts";

/** Kept records in the form for sending them to another thread. */
export interface KeptRecordsPart {
  /** The bytes of all records. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Offset of each record in `bytes`. */
  readonly start: Int32Array<ArrayBuffer>;
  /** Offset after each record. */
  readonly end: Int32Array<ArrayBuffer>;
  /** Moment of each record. */
  readonly moments: MomentsPart;
}

/** Records copied out of a recording, with their moments. */
export class KeptRecords {
  /** The bytes of all records, each at a multiple of 8. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 14);
  /** The same bytes, for reads in either byte order. */
  view: DataView<ArrayBuffer> = new DataView(this.bytes.buffer);
  /** Moment of each record. */
  readonly moments: Moments;
  /** Offset of each record in {@link KeptRecords.bytes}. */
  start: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Offset after each record. */
  end: Int32Array<ArrayBuffer> = new Int32Array(64);
  #used = 0;

  /** Copies the records into the form for another thread. */
  part(): KeptRecordsPart {
    const { count } = this;
    return {
      bytes: this.bytes.slice(0, this.#used),
      start: this.start.slice(0, count),
      end: this.end.slice(0, count),
      moments: this.moments.part(),
    };
  }

  /** Restores the records that another thread sent. */
  static of({ bytes, start, end, moments }: KeptRecordsPart): KeptRecords {
    const records = new KeptRecords(Moments.of(moments));
    records.bytes = bytes;
    records.view = new DataView(bytes.buffer);
    records.start = start;
    records.end = end;
    records.#used = bytes.length;
    return records;
  }

  /** Creates an empty list, or one for records with these moments. */
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
   * @param round Number of FINISHED_ROUND records before it.
   * @param hi Upper half of its time; both are 0 if it has none.
   * @param lo Lower half.
   * @param position Its index among the records of the file.
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
