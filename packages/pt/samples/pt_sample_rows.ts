import { enlarge } from "@perfdata/format/bytes";

/** Kinds of rows of {@linkcode PtSampleRows}: the events that perf synthesizes from a trace. */
export const SAMPLE = {
  /** An instruction at `from`; `value` is the number of instructions since the last sample. */
  INSTRUCTIONS: 0,
  /** A branch from `from` to `to`. */
  BRANCHES: 1,
  /** A begin or end of a transaction at `from`; an abort has the target `to`. */
  TRANSACTIONS: 2,
  /** PTWRITE at `from`, with its payload. `flags`: whether the packet had the address. */
  PTWRITE: 3,
  /** MWAIT, with the payload of the packet. */
  MWAIT: 4,
  /** Entry to a C-state, with the payload of the packet. */
  PWRE: 5,
  /** A stop of execution. `flags`: whether the packet had the address. */
  EXSTOP: 6,
  /** Return to C0, with the payload of the packet. */
  PWRX: 7,
  /** A change of the clock ratio to `value`. */
  CBR: 8,
  /** A PSB at the offset `value` of the stream. */
  PSB: 9,
  /** An error at `from`; `value` is perf's code. */
  ERROR: 10,
  /**
   * An interrupt or another event of an event trace. `value` is its vector and 256 times its type;
   * `flags`: whether the packet had the address. Its data is in the lists.
   */
  EVENT: 11,
  /**
   * A PEBS record at `from`, of the event with the number `value`; `to` is the address of the
   * accessed data, or 0.
   */
  PEBS: 12,
  /** Core clocks (`value`) of the code up to the branch at `from`, which has the target `to`. */
  CYCLES: 13,
} as const;

/** Bits of `perf_sample.flags` (`PERF_IP_FLAG_*` of tools/perf/util/event.h). */
export const IP_FLAG = {
  BRANCH: 1 << 0,
  CALL: 1 << 1,
  RETURN: 1 << 2,
  CONDITIONAL: 1 << 3,
  SYSCALLRET: 1 << 4,
  ASYNC: 1 << 5,
  INTERRUPT: 1 << 6,
  TX_ABORT: 1 << 7,
  TRACE_BEGIN: 1 << 8,
  TRACE_END: 1 << 9,
  IN_TX: 1 << 10,
  VMENTRY: 1 << 11,
  VMEXIT: 1 << 12,
} as const;

/** Texts of `ERROR_CODES`. */
export const ERROR_TEXTS: Readonly<Record<number, string>> = {
  3: "Bad packet",
  5: "Failed to get instruction",
  6: "Trace doesn't match instruction",
  7: "Overflow packet",
  8: "Lost trace data",
  9: "Unknown error!",
  10: "Never-ending loop (refer perf config intel-pt.max-loops)",
};

/** Words of a row in {@linkcode PtSampleRows.words}. */
export const SAMPLE_WORDS = 18;

/** Columns of {@linkcode PtSampleRows.words}. */
export const SAMPLE_WORD = {
  KIND: 0,
  TID: 1,
  PID: 2,
  COMM: 3,
  CPU: 4,
  FLAGS: 5,
  FROM_HI: 6,
  FROM_LO: 7,
  FROM: 8,
  TO_HI: 9,
  TO_LO: 10,
  TO: 11,
  INSN: 12,
  DEPTH: 13,
  /** Offset of the row's lists in {@linkcode PtSampleRows.lists}; -1 without lists. */
  LISTS: 14,
  /** Bits 63:32 of the payload of an event; `value` has the other bits. */
  PAYLOAD_HI: 15,
  /** Instructions and core clocks since the last row of this kind that has them; 0 without them. */
  IPC_INSNS: 16,
  IPC_CYCLES: 17,
} as const;

/** Words of an entry of a call chain: high and low half of the address, place. */
export const CHAIN_WORDS = 3;
/** Words of an entry of a branch stack: three for the source, three for the target, and flags. */
export const BRANCH_WORDS = 7;

/** Words of an entry of an event's data: type, high and low half of the value. */
export const DATA_WORDS = 3;

const LIST_WORDS = [CHAIN_WORDS, BRANCH_WORDS, DATA_WORDS] as const;

/** Samples of a trace, in order: rows of words. */
export class PtSampleRows {
  /** Number of rows. */
  count = 0;
  /** {@linkcode SAMPLE_WORDS} words per row: see {@linkcode SAMPLE_WORD}. */
  words: Int32Array = new Int32Array(SAMPLE_WORDS * 1024);
  /** Time of each row in ns; -1 without times. */
  time: Float64Array = new Float64Array(1024);
  /**
   * Value of each row: number of instructions, bits 31:0 of the payload of an event, or as
   * described in {@linkcode SAMPLE}.
   */
  value: Float64Array = new Float64Array(1024);
  /**
   * Lists of rows; several rows may share them. Each list is the number of its entries, and the
   * entries ({@linkcode CHAIN_WORDS}, {@linkcode BRANCH_WORDS}, {@linkcode DATA_WORDS}). First the
   * callers, innermost first; then the last branches, newest first; then the data of an event.
   */
  lists: Int32Array = new Int32Array(64);
  /** Number of used words of `lists`. */
  listWords = 0;
  /** Number of calls of `drop`, which changes the offsets of lists. */
  drops = 0;

  /** Adds a row; returns the offset of its words. */
  add(time: number, value: number): number {
    if (this.count === this.time.length) this.#grow();
    const n = this.count++;
    this.time[n] = time;
    this.value[n] = value;
    return n * SAMPLE_WORDS;
  }

  /** Sets the address and place of a row whose words are at `at`. */
  from(at: number, low: number, high: number, place: number): void {
    this.words[at + SAMPLE_WORD.FROM_LO] = low;
    this.words[at + SAMPLE_WORD.FROM_HI] = high;
    this.words[at + SAMPLE_WORD.FROM] = place;
  }

  /** Sets the target address and place of a row. */
  to(at: number, low: number, high: number, place: number): void {
    this.words[at + SAMPLE_WORD.TO_LO] = low;
    this.words[at + SAMPLE_WORD.TO_HI] = high;
    this.words[at + SAMPLE_WORD.TO] = place;
  }

  /** Copies a row of other rows. */
  copy(other: PtSampleRows, row: number): void {
    const at = this.add(other.time[row] as number, other.value[row] as number);
    const from = row * SAMPLE_WORDS;
    for (let i = 0; i < SAMPLE_WORDS; i++) this.words[at + i] = other.words[from + i] as number;
    const list = other.words[from + SAMPLE_WORD.LISTS] as number;
    if (list < 0) return;
    const size = listSize(other.lists, list);
    this.words[at + SAMPLE_WORD.LISTS] = this.reserve(size);
    this.lists.set(other.lists.subarray(list, list + size), this.listWords);
    this.listWords += size;
  }

  /** Makes room for lists; returns their offset. */
  reserve(words: number): number {
    const end = this.listWords + words;
    if (end > this.lists.length) this.lists = enlarge(this.lists, end);
    return this.listWords;
  }

  /** Removes the first `rows`. */
  drop(rows: number): void {
    this.words.copyWithin(0, rows * SAMPLE_WORDS, this.count * SAMPLE_WORDS);
    this.time.copyWithin(0, rows, this.count);
    this.value.copyWithin(0, rows, this.count);
    this.count -= rows;
    this.drops++;
    if (this.listWords > 0) this.#dropLists();
  }

  /** Removes the lists before those of the first row with lists. */
  #dropLists(): void {
    const { words, count } = this;
    let first = this.listWords;
    for (let at = SAMPLE_WORD.LISTS; at < count * SAMPLE_WORDS; at += SAMPLE_WORDS) {
      const list = words[at] as number;
      if (list < 0) continue;
      if (first === this.listWords) first = list;
      words[at] = list - first;
    }
    this.lists.copyWithin(0, first, this.listWords);
    this.listWords -= first;
  }

  #grow(): void {
    const n = this.count + 1;
    this.words = enlarge(this.words, n * SAMPLE_WORDS);
    this.time = enlarge(this.time, n);
    this.value = enlarge(this.value, n);
  }
}

function listSize(lists: Int32Array, from: number): number {
  let at = from;
  for (const words of LIST_WORDS) at += 1 + words * (lists[at] as number);
  return at - from;
}
