/**
 * What one thread of `records` hands to those that write: records with what the pass knows of them, and
 * text that is made. Any thread can write a block:
 *
 * ```text
 *  block:   bytes used (u32), unused (u32), items
 *  item:    kind (u32), bytes of the item (u32, a multiple of 8), …
 *  TEXT     length, unused; the text
 *  COMM     number, bytes of the name; the name
 *  RECORD   event, comm, offset (f64); the record
 * ```
 *
 * A name comes before the first record of the block that has it.
 *
 * @module
 */
import { recordMisc, recordSize } from "@perfdata/format/record-header";
import type { PerfDataReader } from "@perfdata/format";
import type { Blocks, BlockTarget } from "@perfdata/session/blocks";
import type { Engine } from "@perfdata/session/engine";
import { type RecordBytes, Run, RUN_ROWS } from "@perfdata/session/run";

const decoder = new TextDecoder();

const TEXT = 0;
const COMM = 1;
const RECORD = 2;

const HEADER = 8;
/** Bytes before what an item holds. */
const HEAD = 16;
const RECORD_HEAD = 24;

/** Bytes of a block: room for the longest record with the longest name. */
export const RECORDS_BLOCK: number = 1 << 18;
/** What a block is handed over with. */
const FULL = 1 << 17;

/** Fills blocks. */
export class RecordsPacker {
  readonly #blocks: BlockTarget;
  readonly #full: number;
  #bytes: Uint8Array;
  #view: DataView;
  #words: Int32Array;
  #at = HEADER;
  /** Counts the blocks. */
  #number = 1;
  /** By number of a name: the block that it was written to last. */
  readonly #comms: number[] = [];

  /** Begins the first block. */
  constructor(blocks: BlockTarget) {
    this.#blocks = blocks;
    this.#full = blocks.full ?? FULL;
    const memory = blocks.memory(blocks.room());
    this.#bytes = new Uint8Array(memory);
    this.#view = new DataView(memory);
    this.#words = new Int32Array(memory);
  }

  /** Adds text. */
  text(text: Uint8Array): void {
    for (let from = 0; from < text.length;) {
      if (this.#at >= this.#full) this.#next();
      const length = Math.min(this.#bytes.length - this.#at - HEAD & ~7, text.length - from);
      const at = this.#put(TEXT, HEAD + length, length, 0);
      this.#bytes.set(text.subarray(from, from + length), at + HEAD);
      from += length;
    }
  }

  /**
   * Adds a row of a run.
   *
   * @param names Where the run has names of threads.
   */
  record(run: Run, row: number, names: Engine["names"] | undefined): void {
    const { bytes, words } = run.at(row);
    const start = run.start[row] as number;
    const end = run.end[row] as number;
    const comm = names === undefined ? -1 : run.comm[row] as number;
    const name = comm < 0 ? undefined : names?.get(comm);
    const most = RECORD_HEAD + end - start + (name === undefined ? 0 : HEAD + name.length) + 16;
    if (this.#at >= this.#full || this.#at + most > this.#bytes.length) this.#next();
    if (name !== undefined && this.#comms[comm] !== this.#number) {
      const at = this.#put(COMM, HEAD + name.length, comm, name.length);
      this.#bytes.set(name, at + HEAD);
      this.#comms[comm] = this.#number;
    }
    const at = this.#put(RECORD, RECORD_HEAD + end - start, run.event[row] as number, comm);
    this.#view.setFloat64(at + 16, run.offset[row] as number, true);
    const from = at + RECORD_HEAD;
    if (((start | end) & 3) !== 0) {
      this.#bytes.set(bytes.subarray(start, end), from);
      return;
    }
    // Most records are short.
    const to = this.#words;
    for (let i = start >> 2, k = from >> 2; i < end >> 2; i++, k++) to[k] = words[i] as number;
  }

  /** Hands over what there is: there will be no more. */
  close(): void {
    this.#fill();
    this.#blocks.close();
  }

  /** Begins an item; returns where. */
  #put(kind: number, size: number, first: number, second: number): number {
    const at = this.#at;
    const view = this.#view;
    const whole = size + 7 & ~7;
    view.setInt32(at, kind, true);
    view.setInt32(at + 4, whole, true);
    view.setInt32(at + 8, first, true);
    view.setInt32(at + 12, second, true);
    this.#at = at + whole;
    return at;
  }

  #next(): void {
    this.#fill();
    const memory = this.#blocks.memory(this.#blocks.room());
    this.#bytes = new Uint8Array(memory);
    this.#view = new DataView(memory);
    this.#words = new Int32Array(memory);
    this.#at = HEADER;
    this.#number++;
  }

  #fill(): void {
    this.#view.setInt32(0, this.#at, true);
    this.#blocks.fill();
  }
}

/** What makes something of blocks. */
export interface BlockLines {
  /** Takes rows: block to misc, and comm, are filled. */
  rows(run: Run): void;
  /** Takes text. */
  text(bytes: Uint8Array): void;
}

/** Reads blocks: gives the rows back as runs. */
export class RecordsUnpacker {
  readonly #blocks: Pick<Blocks, "memory">;
  readonly #le: boolean;
  readonly #run = new Run();
  /** A copy: what decodes records wants memory of its own. */
  readonly #own: RecordBytes;
  readonly #comms = new Map<number, string>();

  /** Reads blocks of records of one file. */
  constructor({ littleEndian }: PerfDataReader, blocks: Pick<Blocks, "memory">) {
    this.#blocks = blocks;
    this.#le = littleEndian;
    const memory = new ArrayBuffer(RECORDS_BLOCK);
    this.#own = {
      bytes: new Uint8Array(memory),
      view: new DataView(memory),
      words: new Int32Array(memory),
    };
    this.#run.blocks = [this.#own];
  }

  /** The name of a thread by its number. */
  readonly comm = (number: number): string => this.#comms.get(number) ?? "";

  /** Hands on what block `n` holds. */
  put(n: number, lines: BlockLines): void {
    const { bytes, view } = this.#own;
    const shared = new Uint8Array(this.#blocks.memory(n));
    const used = new DataView(shared.buffer).getInt32(0, true);
    bytes.set(shared.subarray(0, used));
    const run = this.#run;
    const flush = () => {
      if (run.count > 0) lines.rows(run);
      run.count = 0;
    };
    for (let at = HEADER; at < used; at += view.getInt32(at + 4, true)) {
      const first = view.getInt32(at + 8, true);
      const second = view.getInt32(at + 12, true);
      switch (view.getInt32(at, true)) {
        case RECORD:
          if (run.count === RUN_ROWS) flush();
          this.#row(at + RECORD_HEAD, first, second, view.getFloat64(at + 16, true));
          break;
        case COMM:
          if (!this.#comms.has(first)) {
            const name = bytes.subarray(at + HEAD, at + HEAD + second);
            this.#comms.set(first, decoder.decode(name));
          }
          break;
        default:
          flush();
          lines.text(bytes.subarray(at + HEAD, at + HEAD + first));
      }
    }
    flush();
  }

  #row(start: number, event: number, comm: number, offset: number): void {
    const run = this.#run;
    const { view } = this.#own;
    const le = this.#le;
    const row = run.count++;
    run.block[row] = 0;
    run.start[row] = start;
    run.end[row] = start + recordSize(view, start, le);
    run.offset[row] = offset;
    run.type[row] = view.getInt32(start, le);
    run.misc[row] = recordMisc(view, start, le);
    run.event[row] = event;
    run.comm[row] = comm;
  }
}
