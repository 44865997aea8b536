// One module, since all fields of a line are written in sequence into one buffer and depend on the
// kind of sample.
import type { ObjectCodeReader } from "@perfdata/session/code";
import { eventName, PERF_SAMPLE_TID, PERF_SAMPLE_TIME } from "@perfdata/format/constants";
import type { PerfEvent } from "@perfdata/format/records";
import type { PtCode, PtNames, PtThreads, PtTrace } from "@perfdata/pt/decode";
import {
  BRANCH_WORDS,
  CHAIN_WORDS,
  DATA_WORDS,
  ERROR_TEXTS,
  IP_FLAG,
  type ItraceOptions,
  type PtSampleRows,
  SAMPLE,
  SAMPLE_WORD,
  SAMPLE_WORDS,
} from "@perfdata/pt";
import { ByteText, TextPool } from "@perfdata/format/bytes";
import { cpuText, secondsText, threadText } from "./row_start.ts";
import type { FieldWish, ScriptField } from "./script_fields.ts";
import type { CodePieces } from "./script.ts";
import { BranchBlocks } from "./script_blocks.ts";
import { PtListText, tracedPlaces } from "./script_pt_lists.ts";
import { NoText, WayTexts } from "./script_pt_ways.ts";

/** Options of {@linkcode PtScriptWriter}. */
export interface PtScriptOptions {
  /** Names of all events of the recording. */
  readonly eventNames: readonly string[];
  /** Selection of the samples that are synthesized. */
  readonly itrace: ItraceOptions;
  /** The event that recorded the trace. */
  readonly event: PerfEvent;
  /** Periods of all events, for PEBS records in the trace; 0 for events with a frequency. */
  readonly periods: readonly bigint[];
  /** Requested fields. */
  readonly wish: FieldWish | undefined;
  /** Reads the code between the branches of stacks, if it is printed. */
  readonly blockCode?: ObjectCodeReader | undefined;
  /** Architecture of the recorded machine. */
  readonly arch?: string | undefined;
  /** Whether times have nanoseconds. */
  readonly nanoseconds: boolean;
  /** Width of objects in a call trace; 0 for no padding. */
  readonly objectWidth: number;
  /** Whether the trace is per CPU, so that samples have a CPU number. */
  readonly hasCpu: boolean;
  /** Whether samples have times. */
  readonly timed: boolean;
  /** Ratio of the TSC to the bus clock; 0 if unknown. */
  readonly maxNonTurboRatio: number;
  /** Frequency of the TSC in Hz. */
  readonly ticksPerSecond: number;
  /** Whether call chains of samples are printed. */
  readonly chains: boolean;
  /** Whether there are branches, or recorded events of perf's hardware type. */
  readonly hardware: boolean;
}

/** Minimum width of a period. */
export const PERIOD_WIDTH = 10;

/** Printed fields. */
type Has = Readonly<Partial<Record<ScriptField, boolean>>>;

const encoder = new TextEncoder();
const NEWLINE = 0x0a;

/** PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES. */
const HARDWARE_CONFIG: Readonly<Record<number, bigint>> = {
  [SAMPLE.INSTRUCTIONS]: 1n,
  [SAMPLE.BRANCHES]: 4n,
  [SAMPLE.CYCLES]: 0n,
};

const SYNTH_NAMES: Readonly<Record<number, string>> = {
  [SAMPLE.TRANSACTIONS]: "transactions",
  [SAMPLE.PTWRITE]: "ptwrite",
  [SAMPLE.MWAIT]: "mwait",
  [SAMPLE.PWRE]: "pwre",
  [SAMPLE.EXSTOP]: "exstop",
  [SAMPLE.PWRX]: "pwrx",
  [SAMPLE.CBR]: "cbr",
  [SAMPLE.PSB]: "psb",
  [SAMPLE.EVENT]: "evt",
};

/** Control flow events by type (SDM, "Control Flow Event (CFE) Packet"). */
const EVENT_TYPES: Readonly<Record<number, string>> = {
  1: "INTR",
  2: "IRET",
  3: "SMI",
  4: "RSM",
  5: "SIPI",
  6: "INIT",
  7: "VMENTRY",
  8: "VMEXIT",
  9: "VMEXIT_INTR",
  10: "SHUTDOWN",
  12: "UINT",
  13: "UIRET",
};
const EVENT_DATA: Readonly<Record<number, string>> = { 0: "PFA", 1: "VMXQ", 2: "VMXR" };

/** Names of branch flags (`sample_flags` of tools/perf/util/event.c). */
const FLAG_NAMES: ReadonlyMap<number, string> = new Map([
  [IP_FLAG.BRANCH | IP_FLAG.CALL, "call"],
  [IP_FLAG.BRANCH | IP_FLAG.RETURN, "return"],
  [IP_FLAG.BRANCH | IP_FLAG.CONDITIONAL, "jcc"],
  [IP_FLAG.BRANCH, "jmp"],
  [IP_FLAG.BRANCH | IP_FLAG.CALL | IP_FLAG.INTERRUPT, "int"],
  [IP_FLAG.BRANCH | IP_FLAG.RETURN | IP_FLAG.INTERRUPT, "iret"],
  [IP_FLAG.BRANCH | IP_FLAG.CALL | IP_FLAG.SYSCALLRET, "syscall"],
  [IP_FLAG.BRANCH | IP_FLAG.RETURN | IP_FLAG.SYSCALLRET, "sysret"],
  [IP_FLAG.BRANCH | IP_FLAG.ASYNC, "async"],
  [IP_FLAG.BRANCH | IP_FLAG.CALL | IP_FLAG.ASYNC | IP_FLAG.INTERRUPT, "hw int"],
  [IP_FLAG.BRANCH | IP_FLAG.TX_ABORT, "tx abrt"],
  [IP_FLAG.BRANCH | IP_FLAG.TRACE_BEGIN, "tr strt"],
  [IP_FLAG.BRANCH | IP_FLAG.TRACE_END, "tr end"],
  [IP_FLAG.BRANCH | IP_FLAG.CALL | IP_FLAG.VMENTRY, "vmentry"],
  [IP_FLAG.BRANCH | IP_FLAG.CALL | IP_FLAG.VMEXIT, "vmexit"],
]);

/** A letter for each bit (`PERF_IP_FLAG_CHARS`). */
const FLAG_LETTERS = "bcrosyiABExgh";

/**
 * The bytes of a payload, lowest first, if they are text followed by zeros. perf prints it beside
 * the number.
 */
function payloadText(high: number, low: number): string {
  let text = "";
  let ended = false;
  for (let i = 0; i < 8; i++) {
    const byte = (i < 4 ? low >>> 8 * i : high >>> 8 * (i - 4)) & 255;
    if (byte === 0) ended = true;
    else if (ended || byte < 0x20 || byte > 0x7e) return "";
    else text += String.fromCharCode(byte);
  }
  return text;
}

/** Formats the flags of a sample as perf does. */
export function ipFlagsText(flags: number): string {
  const plain = flags & ~IP_FLAG.IN_TX;
  const extra = (flags & IP_FLAG.IN_TX) === 0 ? "" : "(x)";
  const name = FLAG_NAMES.get(plain);
  if (name !== undefined) return name.padEnd(15) + extra.padStart(6);
  for (
    const [bit, word] of [[IP_FLAG.TRACE_BEGIN, "tr strt "], [
      IP_FLAG.TRACE_END,
      "tr end  ",
    ]] as const
  ) {
    const rest = (flags & bit) === 0 ? undefined : FLAG_NAMES.get(plain & ~bit);
    if (rest !== undefined) return word + rest.padEnd(7) + extra.padStart(6);
  }
  let text = "";
  for (let i = 0; i < FLAG_LETTERS.length; i++) if ((flags >> i & 1) !== 0) text += FLAG_LETTERS[i];
  return text;
}

function eventData({ words, lists }: PtSampleRows, row: number): string {
  let list = words[row * SAMPLE_WORDS + SAMPLE_WORD.LISTS] as number;
  if (list < 0) return "";
  list += 1 + CHAIN_WORDS * (lists[list] as number);
  list += 1 + BRANCH_WORDS * (lists[list] as number);
  let text = "";
  for (let n = lists[list++] as number; n > 0; n--, list += DATA_WORDS) {
    const [type = 0, high = 0, low = 0] = lists.subarray(list);
    const value = BigInt(high >>> 0) << 32n | BigInt(low >>> 0);
    text += ` ${EVENT_DATA[type] ?? `EVD_${type}`}: ${value === 0n ? "" : "0x"}${
      value.toString(16)
    }`;
  }
  return text;
}

/** The fields of instructions and branches, or those of other events. */
function fieldsOf(
  { wish, timed, hasCpu, event, chains, hardware }: PtScriptOptions,
  isSynth: boolean,
): Has {
  const own = isSynth ? "synth" : "period";
  const fields = new Set<ScriptField>(
    ["comm", "tid", "time", "cpu", "event", "ip", "sym", "symoff", "dso", own],
  );
  if (wish !== undefined) {
    if (!wish.isChange) fields.clear();
    for (const field of wish.add) fields.add(field);
    for (const field of wish.remove) fields.delete(field);
  }
  // perf prints call chains with their functions, unless events of the type come first.
  if (chains && (isSynth || !hardware)) {
    for (const f of ["ip", "sym"] as const) if (wish?.remove.has(f) !== true) fields.add(f);
  }
  const { sampleType } = event.layout;
  if (!timed || (sampleType & PERF_SAMPLE_TIME) === 0) fields.delete("time");
  if (!hasCpu) fields.delete("cpu");
  if ((sampleType & PERF_SAMPLE_TID) === 0) {
    for (const f of ["tid", "pid"] as const) fields.delete(f);
  }
  // Each end of a branch has its own object.
  const isStack = (["brstack", "brstacksym", "brstackoff"] as const).some((f) => fields.has(f));
  const isAddress = fields.has("ip") || fields.has("addr") || fields.has("callindent");
  if (!isAddress) fields.delete("sym");
  if (!isAddress && !isStack) fields.delete("dso");
  if (!fields.has("sym")) fields.delete("symoff");
  return Object.fromEntries([...fields].map((field) => [field, true]));
}

/**
 * Writes samples synthesized from a trace in the format of `perf script --itrace` 6.1
 * (tools/perf/builtin-script.c).
 */
export class PtScriptWriter {
  // One class, since perf's print functions run in sequence and share the current row.

  /** Text that was not written out yet. */
  readonly text: ByteText = new ByteText();
  readonly #names: PtNames;
  readonly #code: PtCode;
  readonly #threads: PtThreads;
  readonly #options: PtScriptOptions;
  readonly #fields: readonly Has[];
  /** Whether fields are perf's default, in which a branch has its target. */
  readonly #hasDefault: boolean;
  /** Indices in the pool of the events' texts, by kind of sample, and of recorded events. */
  readonly #eventTexts: number[] = [];
  readonly #recordedTexts: readonly number[];
  readonly #pool = new TextPool();
  /** Index of the text after an address, by place and fields. */
  #ends = new Int32Array(0);
  readonly #flags = new Map<number, number>();
  readonly #insns: number[] = [];
  readonly #prefix = new TextPool();
  #time = NaN;
  #tid = NaN;
  #cpu = NaN;
  #comm = NaN;
  readonly #scratch = new ByteText();
  readonly #ways = new WayTexts();
  #period: number | bigint = NaN;
  readonly #periodText = new TextPool();
  #prefixOf: Has | undefined;
  #prefixIsShort = false;
  readonly #lists: readonly PtListText[];
  readonly #blocks: BranchBlocks | undefined;
  #seconds = -1;
  #secondsText = "";
  /** Time in ns at which {@linkcode PtScriptWriter.rows} calls `others` next. */
  #nextOther = -Infinity;
  /** Position of the last row's period in the text; -1 if it is not printed. */
  periodAt: number = -1;
  /** Width of event names. */
  readonly nameWidth: number;
  /** Current width of names in a call trace. */
  #spacing = 0;

  /** Creates the writer. */
  constructor(
    { code, sideband: { threads } }: Pick<PtTrace, "code" | "sideband">,
    names: PtNames,
    options: PtScriptOptions,
  ) {
    this.#code = code;
    this.#names = names;
    this.#threads = threads;
    this.#options = options;
    const { wish } = options;
    // perf does not count flags as a field.
    this.#hasDefault = wish === undefined ||
      (wish.isChange && [...wish.add, ...wish.remove].every((field) => field === "flags"));
    this.#fields = [fieldsOf(options, false), fieldsOf(options, true)];
    this.#blocks = options.blockCode &&
      new BranchBlocks(tracedPlaces(code, names), options.blockCode, options.arch);
    this.#lists = this.#fields.map((has) =>
      new PtListText(
        code,
        names,
        has,
        (text, place) => text.pooled(this.#pool, this.#end(place, has)),
        this.#blocks,
      )
    );
    const { attr } = options.event;
    const events = Object.entries(HARDWARE_CONFIG).map(([kind, config]) =>
      [Number(kind), eventName({ ...attr, type: 0, config })] as const
    );
    const all = [
      ...events,
      ...Object.entries(SYNTH_NAMES).map(([k, v]) => [Number(k), v] as const),
    ];
    // perf makes room for the names of requested kinds, and of all recorded events.
    const { itrace } = options;
    const isMade: Readonly<Record<number, boolean>> = {
      [SAMPLE.INSTRUCTIONS]: itrace.instructions !== undefined,
      [SAMPLE.BRANCHES]: itrace.branches,
      [SAMPLE.CYCLES]: itrace.cycles !== undefined,
      [SAMPLE.TRANSACTIONS]: itrace.transactions,
    };
    const width = this.nameWidth = Math.max(
      ...options.eventNames.map((name) => name.length),
      ...all.filter(([kind]) => isMade[kind] === true).map(([, name]) => name.length),
    );
    const text = (name: string) => this.#pool.add(encoder.encode(`${name.padStart(width)}: `));
    for (const [kind, name] of all) this.#eventTexts[kind] = text(name);
    this.#recordedTexts = options.eventNames.map(text);
  }

  /** Counts of pieces of code between branches, if they are printed. */
  get code(): CodePieces | undefined {
    return this.#blocks;
  }

  /**
   * Writes the callers of a recorded sample, from `lists` as in `PtSampleRows`. Their places' names
   * are known. Returns their count.
   */
  callers(text: ByteText, lists: Int32Array, at: number): number {
    return (this.#lists[0] as PtListText).callers(text, lists, at);
  }

  /** Writes the sample's branch stack, if that is a field. */
  branchStack(text: ByteText, lists: Int32Array, at: number): void {
    (this.#lists[0] as PtListText).branchStack(text, lists, at);
  }

  /**
   * Writes rows. Their places' names are known.
   *
   * @param others Writes other samples up to a row's time. It is called before the first row at or
   * after the time (ns) that it returned last.
   */
  rows(
    rows: PtSampleRows,
    insnTexts: readonly string[],
    out: (bytes: Uint8Array) => void,
    others: (ns: number) => number = () => Infinity,
  ): void {
    for (let row = 0; row < rows.count; row++) {
      if ((rows.time[row] as number) >= this.#nextOther) {
        out(this.text.lend());
        this.#nextOther = others(rows.time[row] as number);
      }
      this.row(rows, row, insnTexts);
      if (this.text.isFull) out(this.text.lend());
    }
  }

  /** Writes a row. Its places' names are known. */
  row(rows: PtSampleRows, row: number, insnTexts: readonly string[]): void {
    this.periodAt = -1;
    const { words, time, value } = rows;
    const at = row * SAMPLE_WORDS;
    const kind = words[at + SAMPLE_WORD.KIND] as number;
    const amount = value[row] as number;
    if (kind === SAMPLE.ERROR) {
      this.#error(words, at, time[row] as number, amount);
      return;
    }
    const { text } = this;
    // A PEBS record is a sample of a recorded event.
    const isSynth = kind > SAMPLE.TRANSACTIONS && kind < SAMPLE.PEBS;
    const has = this.#fields[isSynth ? 1 : 0] as Has;
    const chain = this.#options.chains && has.ip === true && kind !== SAMPLE.BRANCHES &&
      kind !== SAMPLE.PEBS;
    this.#start(words, at, time[row] as number, has, chain);
    const hasIpc = has.ipc === true && words[at + SAMPLE_WORD.IPC_INSNS] !== 0;
    if (kind === SAMPLE.BRANCHES && !has.callindent && !hasIpc) {
      return this.#branch(words, at, has, insnTexts);
    }
    const flags = isSynth ? 0 : words[at + SAMPLE_WORD.FLAGS] as number;
    const isPebs = kind === SAMPLE.PEBS;
    const name = (isPebs ? this.#recordedTexts[amount] : this.#eventTexts[kind]) as number;
    const period = isPebs ? this.#options.periods[amount] ?? 0n : isSynth ? 1 : amount;
    this.#head(text, name, period, flags, has);
    if (kind === SAMPLE.BRANCHES) {
      if (has.callindent) this.#callIndent(words, at, has);
      this.#edge(text, words, at, has);
      if (hasIpc) this.#putIpc(words, at);
    } else {
      if (isSynth && has.synth) {
        const data = kind === SAMPLE.EVENT ? eventData(rows, row) : "";
        const high = words[at + SAMPLE_WORD.PAYLOAD_HI] as number;
        const flags = words[at + SAMPLE_WORD.FLAGS] as number;
        this.#payload(kind, flags, high, amount, data);
      }
      if (has.addr) this.#target(words, at, has);
      const lists = this.#lists[isSynth ? 1 : 0] as PtListText;
      if (chain) lists.chain(text, rows, row);
      else if (has.ip) this.#address(text, words, at + SAMPLE_WORD.FROM_HI, has);
      lists.branches(text, rows, row);
    }
    this.#putInsn(text, words[at + SAMPLE_WORD.INSN] as number, has, insnTexts);
    (this.#lists[isSynth ? 1 : 0] as PtListText).blocks(text, rows, row);
    if (hasIpc && kind !== SAMPLE.BRANCHES) this.#putIpc(words, at);
    text.byte(NEWLINE);
  }

  /** Writes instructions per core clock, rounded down as in perf, and both numbers. */
  #putIpc(words: Int32Array, at: number): void {
    const insns = words[at + SAMPLE_WORD.IPC_INSNS] as number;
    const cycles = words[at + SAMPLE_WORD.IPC_CYCLES] as number;
    const ipc = Math.floor(insns * 100 / cycles);
    const part = String(ipc % 100).padStart(2, "0");
    this.text.string(` \t IPC: ${Math.floor(ipc / 100)}.${part} (${insns}/${cycles}) `);
  }

  /** Writes all fields up to the time. */
  #start(
    words: Int32Array,
    at: number,
    time: number,
    has: Has,
    isShort: boolean,
  ): void {
    const { text } = this;
    const tid = words[at + SAMPLE_WORD.TID] as number;
    const cpu = words[at + SAMPLE_WORD.CPU] as number;
    const comm = words[at + SAMPLE_WORD.COMM] as number;
    if (
      has !== this.#prefixOf || isShort !== this.#prefixIsShort || time !== this.#time ||
      tid !== this.#tid || cpu !== this.#cpu ||
      comm !== this.#comm
    ) {
      this.#prefixOf = has;
      this.#prefixIsShort = isShort;
      this.#time = time;
      this.#tid = tid;
      this.#cpu = cpu;
      this.#comm = comm;
      const pid = words[at + SAMPLE_WORD.PID] as number;
      this.#prefix.only(
        encoder.encode(this.#prefixText(has, pid)),
      );
    }
    text.pooled(this.#prefix, 0);
  }

  #prefixText(has: Has, pid: number): string {
    const [tid, cpu, comm] = [this.#tid, this.#cpu, this.#comm];
    let text = "";
    if (has.comm) {
      const name = comm < 0 ? `:${tid}` : this.#threads.names.text(comm);
      text += `${this.#prefixIsShort ? name : name.padStart(16)} `;
    }
    text += threadText(has, pid, tid);
    if (has.cpu) text += cpuText(cpu);
    if (has.misc) text += "U     ";
    if (!has.time) return text;
    const ns = Math.max(0, this.#time);
    const { origin } = this.#code;
    const seconds = origin.secondsOf(ns);
    if (seconds !== this.#seconds) {
      this.#seconds = seconds;
      this.#secondsText = secondsText(seconds);
    }
    const rest = origin.restOf(ns);
    return text + this.#secondsText +
      (this.#options.nanoseconds
        ? String(rest).padStart(9, "0")
        : String(Math.floor(rest / 1000)).padStart(6, "0")) +
      ": ";
  }

  /** Index of the flags' text. */
  #flagsText(flags: number): number {
    let number = this.#flags.get(flags);
    if (number === undefined) {
      const words = flags === 0 ? "" : ipFlagsText(flags);
      number = this.#pool.add(encoder.encode(`  ${words.padEnd(21)} `));
      this.#flags.set(flags, number);
    }
    return number;
  }

  /** Writes all fields of a branch after the time. Branches repeat, so their texts are cached. */
  #branch(words: Int32Array, at: number, has: Has, insnTexts: readonly string[]): void {
    const { text } = this;
    const number = this.#ways.find(words, at);
    if (number >= 0) {
      text.pooled(this.#pool, number);
      return;
    }
    const out = this.#scratch;
    // The period of a branch is 1.
    const name = this.#eventTexts[SAMPLE.BRANCHES] as number;
    this.#head(out, name, 1, words[at + SAMPLE_WORD.FLAGS] as number, has);
    this.#edge(out, words, at, has);
    this.#putInsn(out, words[at + SAMPLE_WORD.INSN] as number, has, insnTexts);
    out.byte(NEWLINE);
    const bytes = out.lend();
    text.bytes(bytes);
    if (number === NoText.NEW) this.#ways.keep(words, at, this.#pool.add(bytes));
  }

  /** Writes the fields between time and addresses. */
  #head(
    text: ByteText,
    name: number,
    period: number | bigint,
    flags: number,
    has: Has,
  ): void {
    if (has.period) {
      this.periodAt = text.length;
      if (period !== this.#period) {
        this.#period = period;
        this.#periodText.only(encoder.encode(`${String(period).padStart(PERIOD_WIDTH)} `));
      }
      text.pooled(this.#periodText, 0);
    }
    if (has.event) text.pooled(this.#pool, name);
    if (has.flags) text.pooled(this.#pool, this.#flagsText(flags));
  }

  /** Writes source and target of a branch. */
  #edge(text: ByteText, words: Int32Array, at: number, has: Has): void {
    if (has.ip) this.#address(text, words, at + SAMPLE_WORD.FROM_HI, has);
    if (has.addr || this.#hasDefault) {
      text.string(" => ");
      const to = at + SAMPLE_WORD.TO_HI;
      text.hex16(words[to] as number, words[to + 1] as number);
      text.pooled(this.#pool, this.#end(words[to + 2] as number, has));
    }
  }

  #putInsn(text: ByteText, insn: number, has: Has, insnTexts: readonly string[]): void {
    if (!has.insn || insn === 0) return;
    const number = this.#insns[insn] ??= this.#pool.add(encoder.encode(` insn:${insnTexts[insn]}`));
    text.pooled(this.#pool, number);
  }

  /** Writes a space, an address, and its fields. */
  #address(text: ByteText, words: Int32Array, at: number, has: Has): void {
    text.byte(0x20);
    text.hex16(words[at] as number, words[at + 1] as number);
    text.pooled(this.#pool, this.#end(words[at + 2] as number, has));
  }

  #target(words: Int32Array, at: number, has: Has): void {
    const { text } = this;
    const to = at + SAMPLE_WORD.TO_HI;
    text.hex16(words[to] as number, words[to + 1] as number);
    if (words[at + SAMPLE_WORD.KIND] !== SAMPLE.BRANCHES) return;
    text.pooled(this.#pool, this.#end(words[to + 2] as number, has));
  }

  /** Index of the text after a place's address. */
  #end(place: number, has: Has): number {
    // Synthesized events can have other fields.
    const n = 2 * (place + 1) + (has === this.#fields[0] ? 0 : 1);
    if (n >= this.#ends.length) {
      const ends = new Int32Array(Math.max(this.#ends.length * 2, n + 2, 256)).fill(-1);
      ends.set(this.#ends);
      this.#ends = ends;
    }
    const known = this.#ends[n] as number;
    if (known >= 0) return known;
    let line = "";
    if (has.sym) line += ` ${this.#symbol(place, has.symoff === true)}`;
    if (has.dso) line += ` (${this.#names.perfObject(place)})`;
    if (has.srcline) {
      const source = this.#names.line(place);
      if (source !== undefined) line += `\n  ${source.slice(source.lastIndexOf("/") + 1)}`;
    }
    return this.#ends[n] = this.#pool.add(encoder.encode(line));
  }

  #symbol(place: number, offset: boolean): string {
    const name = this.#names.symbols[place];
    if (name === undefined) return "[unknown]";
    return offset ? `${name}+0x${(this.#names.offsets[place] as number).toString(16)}` : name;
  }

  /**
   * Writes the line of a call trace: the function that is called or returned from, indented by
   * depth.
   */
  #callIndent(
    words: Int32Array,
    at: number,
    has: Has,
  ): void {
    const { text } = this;
    const flags = words[at + SAMPLE_WORD.FLAGS] as number;
    if (has.dso && !has.ip && !has.addr) {
      const object = this.#names.perfObject(words[at + SAMPLE_WORD.FROM] as number);
      const { objectWidth } = this.#options;
      text.string(
        `(${objectWidth > 0 ? object.slice(0, objectWidth - 1).padEnd(objectWidth) : object})\t`,
      );
    }
    const isTo = (flags & (IP_FLAG.CALL | IP_FLAG.TRACE_BEGIN)) !== 0;
    const isFrom = (flags & (IP_FLAG.RETURN | IP_FLAG.TRACE_END)) !== 0;
    let length = 0;
    if (isTo || isFrom) {
      const part = at + (isTo ? SAMPLE_WORD.TO_HI : SAMPLE_WORD.FROM_HI);
      const place = words[part + 2] as number;
      const hi = words[part] as number;
      const lo = words[part + 1] as number;
      const indent = 4 * (words[at + SAMPLE_WORD.DEPTH] as number);
      const name = this.#names.symbols[place];
      if (name !== undefined) {
        for (let i = 0; i < indent; i++) text.byte(0x20);
        text.string(name);
        length = indent + encoder.encode(name).length;
      } else if (hi !== 0 || lo !== 0) {
        for (let i = 0; i < indent; i++) text.byte(0x20);
        text.hex16(hi, lo);
        length = indent + 16;
      }
    }
    // The width changes rarely.
    if (length > this.#spacing || (length > 0 && length < this.#spacing - 52)) {
      this.#spacing = Math.ceil((length + 4) / 32) * 32;
    }
    for (let i = length; i < this.#spacing; i++) text.byte(0x20);
  }

  /** Writes the data of an event with perf's width. */
  #payload(kind: number, flags: number, high: number, value: number, data: string): void {
    const text = this.#payloadText(kind, flags & 1, high >>> 0, value) + data;
    this.text.string(text.length > 0 ? text.padEnd(34) : text);
  }

  #payloadText(kind: number, isAt: number, high: number, value: number): string {
    const hex = (of: number) => of === 0 ? "0" : `0x${of.toString(16)}`;
    const low = value >>> 0;
    switch (kind) {
      case SAMPLE.PTWRITE:
        // The halves are printed separately, since a single number would be rounded.
        return ` IP: ${isAt} payload: ${
          high === 0 ? hex(low) : hex(high) + low.toString(16).padStart(8, "0")
        } ${payloadText(high, low)} `;
      case SAMPLE.MWAIT:
        return ` hints: ${hex(low & 0xff)} extensions: ${hex(high & 3)} `;
      case SAMPLE.PWRE:
        return ` hw: ${low >> 7 & 1} cstate: ${low >> 12 & 15} sub-cstate: ${low >> 8 & 15} `;
      case SAMPLE.EXSTOP:
        return ` IP: ${isAt} `;
      case SAMPLE.PWRX:
        return ` deepest cstate: ${low & 15} last cstate: ${low >> 4 & 15} wake reason: ${
          hex(low >> 8 & 15)
        } `;
      case SAMPLE.CBR: {
        const { maxNonTurboRatio, ticksPerSecond } = this.#options;
        const khz = maxNonTurboRatio === 0
          ? 0
          : low * Math.floor(Math.floor(ticksPerSecond / maxNonTurboRatio) / 1000);
        const percent = maxNonTurboRatio === 0
          ? 0
          : Math.floor((5 + Math.floor(1000 * low / maxNonTurboRatio)) / 10);
        return ` cbr: ${String(low).padStart(2)} freq: ${
          String(Math.floor((khz + 500) / 1000)).padStart(4)
        } MHz (${String(percent).padStart(3)}%) `;
      }
      case SAMPLE.EVENT:
        return ` cfe: ${EVENT_TYPES[low >> 8] ?? low >> 8} IP: ${isAt} vector: ${low & 255}`;
      case SAMPLE.PSB:
        return ` psb offs: ${hex(value)} `;
      default:
        return "";
    }
  }

  #error(words: Int32Array, at: number, time: number, code: number): void {
    const hi = (words[at + SAMPLE_WORD.FROM_HI] as number) >>> 0;
    const lo = (words[at + SAMPLE_WORD.FROM_LO] as number) >>> 0;
    const ip = BigInt(hi) << 32n | BigInt(lo);
    const when = time <= 0 ? " time 0" : ` time ${this.#code.origin.secondsText(time)}`;
    this.text.string(
      ` instruction trace error type 1${when} cpu ${words[at + SAMPLE_WORD.CPU]} pid ${
        words[at + SAMPLE_WORD.PID]
      } tid ${words[at + SAMPLE_WORD.TID]} ip ${
        ip === 0n ? "0" : `0x${ip.toString(16)}`
      } code ${code}: ${ERROR_TEXTS[code] ?? ""}\n`,
    );
  }
}
