import { PacketDecoder } from "../packets/packet_decoder.ts";
import type { BlockCache } from "./block_cache.ts";
import type { CodeSpace } from "./code.ts";
import { FlowEvent } from "./flow_event.ts";
import { type FlowCache, type FlowCounts, type FlowOptions, noFlowCounts } from "./flow_options.ts";
import type { PathTable } from "./path_table.ts";
import { TimeKeeper } from "./time_keeper.ts";
import { HopWalker, Walker } from "./walker.ts";

/** States of a decoder. From `ON` on, the address of execution is known. */
export const FlowState = {
  /** The address is unknown. */
  LOST: 0,
  /** The address is unknown, and packets were lost: a FUP is only the address. */
  OVERFLOWN: 1,
  /** Tracing is off. */
  OFF: 2,
  /** Tracing is on. */
  ON: 3,
  /** The last flow packet was a FUP, so a TIP is the handler of an asynchronous event. */
  ASYNC: 4,
  /** Branches wait for the TIP of an indirect branch before them. */
  DEFERRED: 5,
} as const;

/** One of the numbers of {@linkcode FlowState}. */
export type FlowState = typeof FlowState[keyof typeof FlowState];

/** Instructions are counted in one of 2^4 stretches between two PSBs. */
const SAMPLED_BITS = 4;
/** Instructions before this stream offset are all counted. */
const ALL_SAMPLED = 1 << 16;

/** Maximum number of events between two calls of the sink; {@linkcode Walker.out} has the same length. */
const EVENTS = 4096;
/** Number of entries kept free for a packet and its FUP. */
const ROOM = 32;

/** The packets from a PSB to its PSBEND. */
interface PsbPlus {
  /** Offset of the PSB in the bytes that were fed. */
  offset: number;
  hasIp: boolean;
  /** Address of the FUP, bits 31:0. */
  low: number;
  /** Address of the FUP, bits 63:32. */
  high: number;
  /** Time before it. */
  time: number;
  /** Uncertainty of that time. */
  uncertainty: number;
}

/** The code that a {@linkcode FlowDecoder} follows, and its output: paths and events, in order of execution. */
export abstract class FlowOutput {
  /** Paths (0 or more) and complements of events (less than 0). */
  entries: Int32Array;
  /** Number of entries. */
  count = 0;
  /** {@linkcode FlowEvent} of each event. */
  readonly kind: Uint8Array = new Uint8Array(EVENTS);
  /** `detail` of each event. */
  readonly detail: Int32Array = new Int32Array(EVENTS);
  /** Address of each event, bits 31:0. */
  readonly ipLow: Int32Array = new Int32Array(EVENTS);
  /** Address of each event, bits 63:32. */
  readonly ipHigh: Int32Array = new Int32Array(EVENTS);
  /** Payload of each event, bits 31:0. */
  readonly low: Int32Array = new Int32Array(EVENTS);
  /** Payload of each event, bits 63:32. */
  readonly high: Int32Array = new Int32Array(EVENTS);
  /** Address of execution at the packet of each event, bits 31:0; 0 if unknown. */
  readonly hereLow: Int32Array = new Int32Array(EVENTS);
  /** Address of execution at the packet of each event, bits 63:32. */
  readonly hereHigh: Int32Array = new Int32Array(EVENTS);
  /** 1 for each event whose packet is part of a PSB+. */
  readonly psb: Uint8Array = new Uint8Array(EVENTS);
  /** Stream offset of the packet of each event. */
  readonly offset: Float64Array = new Float64Array(EVENTS);
  /** Time of each event, as {@linkcode TimeKeeper.time}. It applies to the paths up to the next event. */
  readonly time: Float64Array = new Float64Array(EVENTS);
  /** Core clocks counted by CYC packets up to each event, as {@linkcode TimeKeeper.cycles}. */
  readonly cycles: Float64Array = new Float64Array(EVENTS);
  /** Uncertainty of the time of each event. */
  readonly uncertainty: Float64Array = new Float64Array(EVENTS);
  /** Blocks of the paths. */
  readonly blocks: BlockCache;
  /** The paths. */
  readonly paths: PathTable;
  /** The clock. */
  readonly clock: TimeKeeper;
  /** Statistics so far. */
  readonly counts: FlowCounts = noFlowCounts();

  /** @internal */
  protected readonly cache: FlowCache;
  /** @internal */
  protected readonly packets: PacketDecoder = new PacketDecoder({ start: "psb", recover: "byte" });
  /** @internal */
  protected readonly walker: Walker;
  /** @internal */
  protected readonly quick: 0 | 1 | 2;
  /** @internal */
  protected state: FlowState = FlowState.OFF;
  /**
   * Whether the current packet is between PSB and PSBEND.
   *
   * @internal
   */
  protected inPsb = false;
  /** @internal */
  protected readonly plus: PsbPlus = {
    offset: 0,
    hasIp: false,
    low: 0,
    high: 0,
    time: -1,
    uncertainty: 0,
  };
  /**
   * Number of events since the last flush.
   *
   * @internal
   */
  protected events = 0;
  /** Stream offset of the first byte that was fed. */
  private readonly first: number;
  /** Whether instructions are counted, until the next PSB. */
  private sampled = true;
  /** Number of followed branches at the last flush. */
  private branchesBefore = 0;
  private generation: number;
  /**
   * Bits of the kinds of events that wait for a FUP with their address.
   *
   * @internal
   */
  protected bound = 0;
  private readonly boundEvent: Int32Array = new Int32Array(8);
  private boundCount = 0;

  /** Prepares for one stream. */
  constructor(options: FlowOptions, cache: FlowCache) {
    this.cache = cache;
    this.generation = cache.generation;
    this.blocks = cache.blocks;
    this.paths = cache.paths;
    this.first = options.offset ?? 0;
    this.clock = new TimeKeeper(options.clocks, options.timeBase, this.first > 0);
    this.quick = options.quick ?? 0;
    const Follower = this.quick === 0 ? Walker : HopWalker;
    this.walker = new Follower(this.blocks, this.paths, options.space, () => this.flush());
    this.entries = this.walker.out;
  }

  /** Whether the address of execution is known. */
  get tracing(): boolean {
    return this.state >= FlowState.ON;
  }

  /** Whether tracing is off: the address of execution is the one at which it ended. */
  get isOff(): boolean {
    return this.state === FlowState.OFF;
  }

  /** Address of execution, bits 31:0; see {@linkcode FlowDecoder.tracing}. */
  get atLow(): number {
    const { cur, low } = this.walker;
    return cur < 0 ? low : this.blocks.low[cur] as number;
  }

  /** Address of execution, bits 63:32. */
  get atHigh(): number {
    const { cur, high } = this.walker;
    return cur < 0 ? high : this.blocks.high[cur] as number;
  }

  /** Number of followed branches of TNT packets; with `quick`, of all TNT branches. */
  get branches(): number {
    return this.walker.branches;
  }

  /** Stream offset of the packet decoded last. */
  get position(): number {
    return this.first + this.packets.offset;
  }

  /** Whether an event waits for the FUP with its address, so that output cannot be flushed yet. */
  get isWaiting(): boolean {
    return this.bound !== 0;
  }

  /** Whether the last packet is part of a PSB+. */
  get isInPsb(): boolean {
    return this.inPsb;
  }

  /** Stream offset of the last PSB. */
  get psbAt(): number {
    return this.plus.offset;
  }

  /** Replaces the code, after a thread switch or a new mapping. */
  setSpace(space: CodeSpace): void {
    this.walker.detach();
    this.walker.stack.forgetBlocks();
    this.blocks.forgetSpace();
    this.walker.space = space;
  }

  /**
   * Passes the entries to the sink.
   *
   * @internal
   */
  protected abstract deliver(): void;

  /**
   * Tells the sink that the indices of blocks and paths are reused.
   *
   * @internal
   */
  protected abstract forget(): void;

  /** Passes the remaining output to the sink. */
  flush(): void {
    // Events that wait for an address are passed on without it.
    this.release();
    this.count = this.walker.outCount;
    if (this.count > 0) {
      this.sample();
      this.deliver();
    }
    this.walker.outCount = 0;
    this.count = 0;
    this.events = 0;
  }

  /**
   * Counts the instructions about to be passed on, in some stretches. The choice of stretches does not depend on where
   * decoding began.
   */
  private sample(): void {
    const { entries, count, counts } = this;
    const { insns } = this.paths;
    counts.unsureInsns = this.walker.unsure;
    const { branches } = this.walker;
    const since = branches - this.branchesBefore;
    this.branchesBefore = branches;
    if (!this.sampled) return;
    counts.insnBranches += since;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const entry = entries[i] as number;
      if (entry >= 0) sum += insns[entry] as number;
    }
    counts.insns += sum;
  }

  /**
   * Chooses whether the instructions after the last PSB are counted.
   *
   * @internal
   */
  protected chooseSample(): void {
    const at = this.psbAt;
    this.sampled = at < ALL_SAMPLED || Math.imul(at, 0x9e3779b1) >>> (32 - SAMPLED_BITS) === 0;
  }

  /**
   * Clears the cache if it is full, so that it does not grow without limit.
   *
   * @internal
   */
  protected refresh(): void {
    const { cache, walker } = this;
    if (cache.full) {
      this.flush();
      walker.detach();
      this.forget();
      cache.clear();
    }
    if (this.generation !== cache.generation) {
      // After another decoder has cleared the cache, addresses replace the indices of blocks.
      this.generation = cache.generation;
      walker.stack.forgetBlocks();
    }
  }

  /**
   * Sets the address of the events that wait for it.
   *
   * @internal
   */
  protected locate(low: number, high: number): void {
    for (let i = 0; i < this.boundCount; i++) {
      const event = this.boundEvent[i] as number;
      this.ipLow[event] = low;
      this.ipHigh[event] = high;
    }
  }

  /**
   * Outputs the events that waited.
   *
   * @internal
   */
  protected release(): void {
    const n = this.boundCount;
    this.boundCount = 0;
    for (let i = 0; i < n; i++) this.walker.put(~(this.boundEvent[i] as number));
  }

  /**
   * Holds back the last event until its FUP.
   *
   * @internal
   */
  protected bind(bit: number): void {
    this.bound |= bit;
    if (this.boundCount === this.boundEvent.length) return;
    this.boundEvent[this.boundCount++] = this.events - 1;
    // The last entry of the output is this event.
    this.walker.outCount--;
  }

  /**
   * Outputs the current time.
   *
   * @internal
   */
  protected timed(): void {
    if (this.inPsb) return;
    const { clock } = this;
    // Of several times without a path in between, only the last is kept.
    const last = this.events - 1;
    const { out, outCount } = this.walker;
    if (last >= 0 && out[outCount - 1] === ~last && this.kind[last] === FlowEvent.TIME) {
      this.time[last] = clock.time;
      this.cycles[last] = clock.cycles;
      this.uncertainty[last] = clock.uncertainty;
      this.offset[last] = this.position;
      return;
    }
    this.event(FlowEvent.TIME, 0, 0, 0, 0, 0);
  }

  /**
   * Outputs an event with the payload of the packet.
   *
   * @internal
   */
  protected note(kind: FlowEvent, detail: number): void {
    this.event(kind, detail, 0, 0, this.packets.low, this.packets.high);
  }

  /**
   * Outputs an event.
   *
   * @internal
   */
  protected event(
    kind: FlowEvent,
    detail: number,
    ipLow: number,
    ipHigh: number,
    low: number,
    high: number,
  ): void {
    // Leave room for the code before the address of an event that waits for it.
    if (this.bound === 0 && this.walker.outCount > this.entries.length - ROOM) this.flush();
    this.walker.put(~this.events);
    const n = this.events++;
    this.kind[n] = kind;
    this.detail[n] = detail;
    this.ipLow[n] = ipLow;
    this.ipHigh[n] = ipHigh;
    this.low[n] = low;
    this.high[n] = high;
    this.psb[n] = this.inPsb ? 1 : 0;
    const isKnown = this.tracing;
    this.hereLow[n] = isKnown ? this.atLow : 0;
    this.hereHigh[n] = isKnown ? this.atHigh : 0;
    this.offset[n] = this.position;
    // Code up to the address in a PSB+ was executed before it; the PSB's own event has the new time.
    this.time[n] = this.inPsb ? this.plus.time : this.clock.time;
    this.cycles[n] = this.clock.cycles;
    this.uncertainty[n] = this.inPsb ? this.plus.uncertainty : this.clock.uncertainty;
  }
}
