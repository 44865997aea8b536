import { enlarge } from "@perfdata/format/bytes";

/** Kinds of rows of {@linkcode PtSampleRows}: the events that perf synthesizes from a trace. */
export const SAMPLE = {
  /** An instruction: `from`; `period` is how many there were since the last. */
  INSTRUCTIONS: 0,
  /** A branch from `from` to `to`. */
  BRANCHES: 1,
  /** A transaction begins or ends at `from`; an abort leads to `to`. */
  TRANSACTIONS: 2,
  /** PTWRITE at `from`; `payload`, and in `flags` whether the packet had the address. */
  PTWRITE: 3,
  /** MWAIT; `payload` of the packet. */
  MWAIT: 4,
  /** A C-state was entered; `payload` of the packet. */
  PWRE: 5,
  /** Execution stopped; `flags` says whether the packet had the address. */
  EXSTOP: 6,
  /** C0 was entered; `payload` of the packet. */
  PWRX: 7,
  /** The clock ratio changed to `payload`. */
  CBR: 8,
  /** A PSB at the offset `payload` of the stream. */
  PSB: 9,
  /** An error at `from`; `payload` is perf's code. */
  ERROR: 10,
  /**
   * An interrupt or another event of an event trace: `payload` is its vector and 256 times its type, in
   * `flags` whether the packet had the address; what belongs to it is in the lists.
   */
  EVENT: 11,
  /**
   * A record of PEBS at `from`, of the event whose number is `value`; `to` is the address of the data that it
   * accessed, 0 if there is none.
   */
  PEBS: 12,
  /** Core clocks (`value`) of what ran up to the branch at `from`, which `to` is the target of. */
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

/** Numbers of a row in {@linkcode PtSampleRows.words}. */
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
  /** Where the row's lists begin in {@linkcode PtSampleRows.lists}; -1 if it has none. */
  LISTS: 14,
  /** Bits 63:32 of the payload of an event, of which `value` has the rest. */
  PAYLOAD_HI: 15,
  /** Instructions and core clocks since the last row of its kind that has them; 0 if it has none. */
  IPC_INSNS: 16,
  IPC_CYCLES: 17,
} as const;

/** Numbers of an entry of a call chain: high and low half of the address, place. */
export const CHAIN_WORDS = 3;
/** Numbers of an entry of a branch stack: those of where it comes from, of where it goes, flags. */
export const BRANCH_WORDS = 7;

/** Numbers of an entry of what belongs to an event: type, high and low half of the value. */
export const DATA_WORDS = 3;

const LIST_WORDS = [CHAIN_WORDS, BRANCH_WORDS, DATA_WORDS] as const;

/** Samples of a trace, in order: rows of numbers. */
export class PtSampleRows {
  /** Number of rows. */
  count = 0;
  /** {@linkcode SAMPLE_WORDS} numbers a row: see {@linkcode SAMPLE_WORD}. */
  words: Int32Array = new Int32Array(SAMPLE_WORDS * 1024);
  /** When, ns; -1 if there is no time. */
  time: Float64Array = new Float64Array(1024);
  /**
   * How many instructions an instruction stands for, bits 31:0 of the payload of an event, or what
   * {@linkcode SAMPLE} says.
   */
  value: Float64Array = new Float64Array(1024);
  /**
   * Lists of rows, which several may have in common: each list is the number of its entries and the
   * entries ({@linkcode CHAIN_WORDS}, {@linkcode BRANCH_WORDS}, {@linkcode DATA_WORDS}). First the
   * callers, innermost first; then the last branches, newest first; then what belongs to an event.
   */
  lists: Int32Array = new Int32Array(64);
  /** How much of `lists` is used. */
  listWords = 0;
  /** How often rows were dropped: lists are elsewhere then. */
  drops = 0;

  /** Adds a row; returns where its words begin. */
  add(time: number, value: number): number {
    if (this.count === this.time.length) this.#grow();
    const n = this.count++;
    this.time[n] = time;
    this.value[n] = value;
    return n * SAMPLE_WORDS;
  }

  /** Says which address a row whose words begin at `at` is at, and which place that is. */
  from(at: number, low: number, high: number, place: number): void {
    this.words[at + SAMPLE_WORD.FROM_LO] = low;
    this.words[at + SAMPLE_WORD.FROM_HI] = high;
    this.words[at + SAMPLE_WORD.FROM] = place;
  }

  /** Says which address a row leads to, and which place that is. */
  to(at: number, low: number, high: number, place: number): void {
    this.words[at + SAMPLE_WORD.TO_LO] = low;
    this.words[at + SAMPLE_WORD.TO_HI] = high;
    this.words[at + SAMPLE_WORD.TO] = place;
  }

  /** Adds a row of other rows. */
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

  /** Makes room for lists; returns where they begin. */
  reserve(words: number): number {
    const end = this.listWords + words;
    if (end > this.lists.length) this.lists = enlarge(this.lists, end);
    return this.listWords;
  }

  /** Forgets the first `rows`. */
  drop(rows: number): void {
    this.words.copyWithin(0, rows * SAMPLE_WORDS, this.count * SAMPLE_WORDS);
    this.time.copyWithin(0, rows, this.count);
    this.value.copyWithin(0, rows, this.count);
    this.count -= rows;
    this.drops++;
    if (this.listWords > 0) this.#dropLists();
  }

  /** Forgets the lists before those of the first row that has some. */
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

/** How many words the lists of a row have. */
function listSize(lists: Int32Array, from: number): number {
  let at = from;
  for (const words of LIST_WORDS) at += 1 + words * (lists[at] as number);
  return at - from;
}
