import { type BlockCache, type FlowDecoder, FlowEvent, InsnKind } from "@perfdata/intel-pt";
import { enlarge } from "@perfdata/format/bytes";
import type { CallFilter } from "../calls/pt_calls.ts";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";
import type { PtTrace } from "../code/pt_trace.ts";
import { InsnTable, type InsnText } from "../decode/pt_block_insns.ts";
import { isBranch } from "../decode/pt_path_turns.ts";
import type { PtClock } from "../decode/pt_clock.ts";
import type { PtBuffer, PtSink } from "../decode/pt_sink.ts";

/** Kinds of rows of {@linkcode FlowRows}. */
export const ROW = {
  /** A branch from place `a` to place `b` at the address `payload`; `kind` is an `InsnKind`. */
  BRANCH: 0,
  /**
   * An instruction at place `a`; `b` is the number of its text in `PtList.texts`, and `kind` the
   * `InsnKind` of a branch, or 0.
   */
  INSN: 1,
  /** An event; `kind` is a `FlowEvent`, `a` its place or -1, `b` its detail. */
  EVENT: 2,
} as const;

/** Branches, instructions and events: columns in order of execution. */
export class FlowRows {
  /** Number of rows. */
  count = 0;
  /** Kind of the row: {@linkcode ROW}. */
  row: Uint8Array;
  /** See {@linkcode ROW}. */
  kind: Uint8Array;
  /** The thread. */
  tid: Int32Array;
  /** The CPU, or -1. */
  cpu: Int32Array;
  /** 1 if the row may belong to another thread. */
  unsure: Uint8Array;
  /** Time in ns; -1 without times. */
  time: Float64Array;
  /** Uncertainty of the time in ns. */
  uncertainty: Float64Array;
  /** See {@linkcode ROW}. */
  a: Int32Array;
  /** See {@linkcode ROW}. */
  b: Int32Array;
  /** Upper half of the address of place `a`; 0 without an address. */
  high: Int32Array;
  /** Lower half of the address of place `a`. */
  low: Int32Array;
  /** For an event, its payload; for a branch, the address of place `b`. */
  payload: BigUint64Array;

  /** Starts with memory for a number of rows. */
  constructor(room = 1024) {
    this.row = new Uint8Array(room);
    this.kind = new Uint8Array(room);
    this.tid = new Int32Array(room);
    this.cpu = new Int32Array(room);
    this.unsure = new Uint8Array(room);
    this.time = new Float64Array(room);
    this.uncertainty = new Float64Array(room);
    this.a = new Int32Array(room);
    this.b = new Int32Array(room);
    this.high = new Int32Array(room);
    this.low = new Int32Array(room);
    this.payload = new BigUint64Array(room);
  }

  /** Makes room for a row at a time in ns; returns its number. */
  next(_time: number): number {
    if (this.count === this.row.length) this.#grow();
    return this.count++;
  }

  /** Forgets all rows. */
  clear(): void {
    this.count = 0;
  }

  #grow(): void {
    const n = this.count + 1;
    this.row = enlarge(this.row, n);
    this.kind = enlarge(this.kind, n);
    this.tid = enlarge(this.tid, n);
    this.cpu = enlarge(this.cpu, n);
    this.unsure = enlarge(this.unsure, n);
    this.time = enlarge(this.time, n);
    this.uncertainty = enlarge(this.uncertainty, n);
    this.a = enlarge(this.a, n);
    this.b = enlarge(this.b, n);
    this.high = enlarge(this.high, n);
    this.low = enlarge(this.low, n);
    this.payload = enlarge(this.payload, n);
  }
}

/** Options of {@linkcode PtList}. */
export interface ListOptions {
  /** Whether to list branches that were taken. */
  readonly branches?: boolean;
  /** Whether to list instructions. */
  readonly insns?: boolean;
  /** Whether to list events: of packets, and errors. */
  readonly events?: boolean;
  /** Whether to list only errors of the events. */
  readonly errors?: boolean;
  /** Whether to list events at which known execution begins, ends or is interrupted, and PTWRITE. */
  readonly breaks?: boolean;
  /** Formats instructions. */
  readonly text?: InsnText | undefined;
  /** Filter for a part of the trace. */
  readonly filter?: CallFilter;
  /** Receives blocks and events before their rows are added, and those that the filter leaves out. */
  readonly follower?: ListFollower;
  /** The rows, if they are of a kind of their own. */
  readonly rows?: FlowRows;
  /** Called between packets. The function may use and clear `rows`. */
  readonly idle: () => Promise<void> | void;
}

/** Receives the execution in the order of the rows of {@linkcode PtList}. */
export interface ListFollower {
  /** Called before the rows of a block. */
  block(buffer: PtBuffer, run: FlowDecoder, block: number): void;
  /** Called before the row of an event. */
  event(buffer: PtBuffer, run: FlowDecoder, event: number): void;
}

/** State of a buffer: its time, and its last block, from whose end the next branch comes. */
class ListedBuffer {
  /** The last time in ns, and its uncertainty. */
  now = -1;
  uncertainty = 0;
  /** Number of the last block, {@linkcode NO_BLOCK}, or {@linkcode KEPT_BLOCK}. */
  block = NO_BLOCK;
  /** The code at the time of the last block, which may have changed since. */
  code: ThreadCode | undefined;
  /**
   * Saved data of a block whose number is no longer valid: kind, last instruction, and the address
   * after it.
   */
  kind = 0;
  lastLow = 0;
  lastHigh = 0;
  lastPlace = -1;
  endLow = 0;
  endHigh = 0;

  /** Saves the data of the last block. */
  keep(blocks: BlockCache, insns: InsnTable): void {
    const { block, code } = this;
    if (block < 0 || code === undefined) return;
    const end = insns.end(code, blocks, block);
    this.kind = blocks.kind[block] as number;
    this.lastLow = insns.endLow(end);
    this.lastHigh = insns.endHigh(end);
    this.lastPlace = insns.endPlace(end);
    this.endLow = (blocks.low[block] as number) + (blocks.size[block] as number) | 0;
    this.endHigh = blocks.endHigh(block);
    this.block = KEPT_BLOCK;
  }
}

/** Number without a last block. */
const NO_BLOCK = -1;
/** Number of a block that is no longer valid, but whose data is saved. */
const KEPT_BLOCK = -2;

/** Lists executed branches, instructions and events. */
export class PtList implements PtSink {
  /** Rows since the last clearing. */
  readonly rows: FlowRows;
  /**
   * Whether no rows are added, because another thread lists this part, and only the state after it
   * is needed.
   */
  isQuiet = false;

  readonly #code: PtCode;
  readonly #clock: PtClock;
  readonly #options: ListOptions;
  readonly #insns: InsnTable;
  #blocks: BlockCache | undefined;
  readonly #buffers = new Map<number, ListedBuffer>();

  /** Creates a sink for `decodePt`. */
  constructor({ code, clock }: Pick<PtTrace, "code" | "clock">, options: ListOptions) {
    this.#code = code;
    this.#clock = clock;
    this.#options = options;
    this.rows = options.rows ?? new FlowRows();
    this.#insns = new InsnTable(code, options.text);
  }

  /** Texts of instructions. */
  get texts(): readonly string[] {
    return this.#insns.texts;
  }

  /** Calls `idle` of the options, which may use the rows. */
  async idle(): Promise<void> {
    await this.#options.idle();
  }

  /** Saves the last blocks, and clears everything by index of a block. */
  forget(): void {
    for (const at of this.#buffers.values()) at.keep(this.#blocks as BlockCache, this.#insns);
    this.#insns.clear();
  }

  /** Begins a buffer without any earlier state. */
  beginBuffer(index: number): void {
    this.#buffers.delete(index);
  }

  /** The state of a buffer that determines the next rows: two with the same state list the same. */
  stateOf({ index }: PtBuffer): number[] {
    const at = this.#bufferOf(index);
    if (at.block >= 0) at.keep(this.#blocks as BlockCache, this.#insns);
    const { now, uncertainty, block, kind, lastLow, lastHigh, endLow, endHigh } = at;
    return block === NO_BLOCK
      ? [now, uncertainty]
      : [now, uncertainty, kind, lastLow, lastHigh, endLow, endHigh];
  }

  /** The last time of a buffer in ns. */
  timeOfBuffer(index: number): number {
    return this.#bufferOf(index).now;
  }

  #bufferOf(index: number): ListedBuffer {
    let at = this.#buffers.get(index);
    if (at === undefined) this.#buffers.set(index, at = new ListedBuffer());
    return at;
  }

  /** Processes paths and events. */
  flow(buffer: PtBuffer, run: FlowDecoder): void {
    const { tids, from = -Infinity, to = Infinity } = this.#options.filter ?? {};
    const { follower } = this.#options;
    const isWanted = !this.isQuiet && tids?.has(buffer.tid) !== false;
    const { entries, count, paths, blocks } = run;
    this.#blocks = blocks;
    const at = this.#bufferOf(buffer.index);
    for (let i = 0; i < count; i++) {
      const entry = entries[i] as number;
      if (entry >= 0) {
        const { now } = at;
        if (isWanted && (now < 0 || (now >= from && now <= to))) {
          this.#path(buffer, at, run, entry);
        } else {
          if (follower !== undefined) followPath(follower, buffer, run, entry);
          // The first branch of the part may come from the last block before it.
          const last = paths.lastBlock(entry);
          if (last >= 0) {
            at.block = last;
            at.code = buffer.code;
          }
        }
        continue;
      }
      const event = ~entry;
      const time = this.#clock.ns(run.time[event] as number);
      if (time >= 0) at.now = time;
      at.uncertainty = this.#clock.duration(run.uncertainty[event] as number);
      const { now, block } = at;
      const kind = run.kind[event] as number;
      // The way from the last block to the event is not a branch.
      if (isFlow(kind) || kind === FlowEvent.ERROR) at.block = NO_BLOCK;
      follower?.event(buffer, run, event);
      if (isWanted && (now < 0 || (now >= from && now <= to))) {
        this.#event(buffer, at, run, event, block);
      }
    }
  }

  #path(
    buffer: PtBuffer,
    at: ListedBuffer,
    run: FlowDecoder,
    path: number,
  ): void {
    const { paths, blocks } = run;
    const { branches = false, insns = false, follower } = this.#options;
    let before = at.block;
    const end = paths.start[path + 1] as number;
    const first = paths.start[path] as number;
    for (let k = first; k < end; k++) {
      const block = paths.blocks[k] as number;
      if (branches && before !== NO_BLOCK && isTaken(blocks, at, before, block)) {
        const kind = before === KEPT_BLOCK ? at.kind : blocks.kind[before] as number;
        const n = this.#row(ROW.BRANCH, kind, buffer, at);
        this.#last(k > first ? buffer.code : at.code, blocks, at, before, n);
        this.rows.b[n] = this.#insns.place(buffer.code, blocks, block);
        this.rows.payload[n] = fromHalves(blocks.high[block], blocks.low[block]);
      }
      before = block;
      follower?.block(buffer, run, block);
      if (!insns) continue;
      const { place, text, high, low } = this.#insns.of(buffer.code, blocks, block);
      for (let i = 0; i < place.length; i++) {
        const kind = i === place.length - 1 ? blocks.kind[block] as number : InsnKind.OTHER;
        const n = this.#row(ROW.INSN, kind, buffer, at);
        this.rows.a[n] = place[i] as number;
        this.rows.b[n] = text[i] as number;
        this.rows.high[n] = high[i] as number;
        this.rows.low[n] = low[i] as number;
      }
    }
    at.block = before;
    at.code = buffer.code;
  }

  #row(
    row: number,
    kind: number,
    buffer: PtBuffer,
    { now, uncertainty }: ListedBuffer,
  ): number {
    const { rows } = this;
    const n = rows.next(now);
    rows.row[n] = row;
    rows.kind[n] = kind;
    rows.tid[n] = buffer.tid;
    rows.cpu[n] = buffer.stream.cpu ?? -1;
    rows.unsure[n] = Number(buffer.isUnsure);
    rows.time[n] = now;
    rows.uncertainty[n] = uncertainty;
    return n;
  }

  /** Writes the last instruction of a block, or of the saved block, to a row. */
  #last(
    code: ThreadCode | undefined,
    blocks: BlockCache,
    at: ListedBuffer,
    block: number,
    n: number,
  ): void {
    const { rows } = this;
    if (block === KEPT_BLOCK || code === undefined) {
      rows.a[n] = at.lastPlace;
      rows.high[n] = at.lastHigh;
      rows.low[n] = at.lastLow;
      return;
    }
    const end = this.#insns.end(code, blocks, block);
    rows.a[n] = this.#insns.endPlace(end);
    rows.high[n] = this.#insns.endHigh(end);
    rows.low[n] = this.#insns.endLow(end);
  }

  #event(
    buffer: PtBuffer,
    at: ListedBuffer,
    run: FlowDecoder,
    event: number,
    before: number,
  ): void {
    const kind = run.kind[event] as number;
    const { branches = false, insns = false, events = false } = this.#options;
    const { errors = false, breaks = false } = this.#options;
    if (kind === FlowEvent.TIME || kind === FlowEvent.PSB) return;
    const wanted = kind === FlowEvent.ERROR
      ? errors || branches || insns || events
      : events || ((branches || breaks) && isFlow(kind)) ||
        (breaks && kind === FlowEvent.PTWRITE);
    if (!wanted) return;
    const n = this.#row(ROW.EVENT, kind, buffer, at);
    const low = run.ipLow[event] as number;
    const high = run.ipHigh[event] as number;
    this.rows.a[n] = low === 0 && high === 0 ? -1 : this.#code.place(buffer.code, low, high);
    this.rows.high[n] = high;
    this.rows.low[n] = low;
    // If no event ended tracing, the last branch did.
    const isByBranch = kind === FlowEvent.DISABLED && before !== NO_BLOCK && low === 0 &&
      high === 0;
    if (isByBranch) this.#last(at.code, run.blocks, at, before, n);
    this.rows.b[n] = run.detail[event] as number;
    this.rows.payload[n] = fromHalves(run.high[event], run.low[event]);
  }
}

function followPath(
  follower: ListFollower,
  buffer: PtBuffer,
  run: FlowDecoder,
  path: number,
): void {
  const { paths } = run;
  const end = paths.start[path + 1] as number;
  for (let k = paths.start[path] as number; k < end; k++) {
    follower.block(buffer, run, paths.blocks[k] as number);
  }
}

/** Whether an event has the address at which execution continues or ends. */
function isFlow(kind: number): boolean {
  return kind === FlowEvent.ENABLED || kind === FlowEvent.DISABLED || kind === FlowEvent.ASYNC ||
    kind === FlowEvent.SYNC || kind === FlowEvent.HOP;
}

/** A number of 64 bits: its upper half, its lower half. */
function fromHalves(high = 0, low = 0): bigint {
  return BigInt(high >>> 0) << 32n | BigInt(low >>> 0);
}

/** Whether a taken branch leads from the last block to a block. */
function isTaken(blocks: BlockCache, at: ListedBuffer, before: number, block: number): boolean {
  const isKept = before === KEPT_BLOCK;
  const kind = isKept ? at.kind : blocks.kind[before] as number;
  if (!isBranch(kind)) return false;
  if (kind !== InsnKind.JCC) return true;
  const end = isKept
    ? at.endLow
    : (blocks.low[before] as number) + (blocks.size[before] as number) | 0;
  const endHigh = isKept ? at.endHigh : blocks.endHigh(before);
  return blocks.low[block] !== end || blocks.high[block] !== endHigh;
}
