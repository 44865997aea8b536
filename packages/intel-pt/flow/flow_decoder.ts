// One module, since all kinds of packets change the same state: address, mode, branches that wait for
// their TIP, and events that wait for their FUP.
import { PacketDecoder } from "../packets/packet_decoder.ts";
import { PacketKind } from "../packets/packet_kind.ts";
import type { InsnMode } from "../x86/insn_decoder.ts";
import { InsnKind } from "../x86/insn_kind.ts";
import { BlockCache } from "./block_cache.ts";
import type { CodeSpace } from "./code.ts";
import { FlowError, FlowEvent } from "./flow_event.ts";
import { PathTable } from "./path_table.ts";
import { type ClockRatios, TimeKeeper } from "./time_keeper.ts";
import { DEFERRED, HopWalker, Scan, Walker } from "./walker.ts";

/** Receives the results of a {@linkcode FlowDecoder}. */
export interface FlowSink {
  /**
   * Receives entries `0 … run.count` of `run.entries`: an entry is the number of a path, or the complement
   * (`~n`) of the number of an event. They are valid during the call only.
   */
  flow(run: FlowDecoder): void;
  /** Called before the numbers of blocks and paths are reused: data keyed by them has to be dropped. */
  forget?(): void;
}

/** Blocks and paths, which decoders of several streams can share. */
export class FlowCache {
  /** The blocks. */
  readonly blocks: BlockCache = new BlockCache();
  /** Paths over the blocks. */
  readonly paths: PathTable = new PathTable(this.blocks);
  /** Number of times the cache was cleared. */
  generation = 0;

  /** Whether the cache should be cleared. */
  get full(): boolean {
    return this.blocks.full || this.paths.full;
  }

  /** Removes all blocks and paths. */
  clear(): void {
    this.blocks.clear();
    this.paths.clear();
    this.generation++;
  }
}

/** Options of {@linkcode FlowDecoder}. */
export interface FlowOptions {
  /** The code at the start; see {@linkcode FlowDecoder.setSpace}. */
  readonly space: CodeSpace;
  /** Cache for blocks and paths; a new one by default. */
  readonly cache?: FlowCache;
  /** Ratios of the clocks. Without them, only TSC packets give the time. */
  readonly clocks?: ClockRatios;
  /** TSC value at time 0; the first TSC of the stream by default. */
  readonly timeBase?: bigint;
  /**
   * Reports only events, without following code: 1 reports the addresses of all packets
   * (TIP, FUP, TIP.PGE), 2 only those of PSB+. Then no code is needed.
   */
  readonly quick?: 0 | 1 | 2;
  /** Stream offset of the first byte that is fed; 0 by default. */
  readonly offset?: number;
}

/** Results of {@linkcode FlowDecoder.run}. */
export const FlowStatus = {
  /** All bytes fed so far are decoded. */
  NEED_MORE: 0,
  /** The stream has ended. */
  END: 1,
  /** The time limit is reached. */
  TIME: 2,
  /** The requested PSB+ has ended: {@linkcode FlowDecoder.seam}. */
  SEAM: 3,
  /** A guest was entered or left, so the code may be in another space; {@linkcode FlowDecoder.nonRoot}. */
  SPACE: 4,
  /** {@linkcode FlowDecoder.holds} stopped before a packet, which the next `run` decodes. */
  HELD: 5,
} as const;

/** One of the numbers of {@linkcode FlowStatus}. */
export type FlowStatus = typeof FlowStatus[keyof typeof FlowStatus];

/** State of tracing: off, on at a known address, or lost. */
const OFF = 0;
const ON = 1;
const LOST = 2;

// Kinds of events that wait for a FUP with their address.
const BIND_TSX = 1;
const BIND_ABORT = 2;
const BIND_PTW = 4;
const BIND_EXSTOP = 8;
const BIND_BEP = 16;
const BIND_CFE = 32;
const BIND_TRIG = 64;
const BIND_MODE = 128;
/** Kinds whose instruction executes before the event. */
const BIND_FIRST = BIND_TSX | BIND_PTW | BIND_ABORT;
/** Kinds whose FUP is also the address of an interrupt or other asynchronous event. */
const BIND_EVENT = BIND_ABORT | BIND_CFE;

/** Instructions are counted in one of 2^4 stretches between two PSBs. */
const SAMPLED_BITS = 4;
/** Instructions before this stream offset are all counted. */
const ALL_SAMPLED = 1 << 16;

/** Maximum number of events between two calls of the sink; {@linkcode Walker.out} has the same length. */
const EVENTS = 4096;
/** Number of entries kept free for a packet and its FUP. */
const ROOM = 32;

/** Statistics of a {@linkcode FlowDecoder}. */
export interface FlowCounts {
  /** Bytes of the stream that were decoded. */
  bytes: number;
  /** Bytes of packets while the address of execution was unknown. */
  lostBytes: number;
  /** Branches of TNT packets that could not be followed. */
  lostBranches: number;
  /** Packets with a target address: TIP, TIP.PGE and TIP.PGD. */
  addresses: number;
  /** Instructions in a sample of the output. Counting all of them would take longer than finding them. */
  insns: number;
  /** Branches of TNT packets in that sample. */
  insnBranches: number;
  /** Instructions that were followed and then taken back: they led into a loop without packets. */
  unsureInsns: number;
  /** Number of errors by {@linkcode FlowError}. */
  readonly errors: Float64Array;
}

/**
 * Reconstructs what a processor executed, from Intel PT packets and the code.
 *
 * Feed it bytes and call {@linkcode FlowDecoder.run}. It passes *paths* (sequences of basic blocks, stored in
 * {@linkcode PathTable}) and events to its sink, in order of execution. Behavior follows the Intel SDM,
 * Volume 3, chapter "Intel Processor Trace".
 *
 * An error is an event. Decoding continues at the next packet with an address (TIP, TIP.PGE,
 * FUP, PSB+); the bytes and branches in between are counted.
 *
 * @example
 * ```ts
 * import { bytesRange, encodePackets, fixedSpace, FlowDecoder } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * // 1000: dec eax; jne 1000; ret
 * const space = fixedSpace([bytesRange(1, 0x1000n, Uint8Array.of(0xff, 0xc8, 0x75, 0xfc, 0xc3))]);
 * const bytes = encodePackets([
 *   { type: "PSB" },
 *   { type: "MODE.Exec", csL: true, csD: false, interruptFlag: false },
 *   { type: "FUP", compression: 3, payload: 0x1000n },
 *   { type: "PSBEND" },
 *   { type: "TNT", long: false, count: 3, bits: 0b110n },
 *   { type: "TIP", compression: 3, payload: 0x1000n },
 * ]);
 * let insns = 0;
 * const decoder = new FlowDecoder({ space }, {
 *   flow({ entries, count, paths }) {
 *     for (let i = 0; i < count; i++) {
 *       const path = entries[i] as number;
 *       if (path >= 0) insns += paths.insns[path] as number;
 *     }
 *   },
 * });
 * decoder.feed(bytes);
 * decoder.end();
 * decoder.run();
 * assertEquals(insns, 3 * 2 + 1);
 * ```
 */
export class FlowDecoder {
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
  readonly counts: FlowCounts = {
    bytes: 0,
    lostBytes: 0,
    lostBranches: 0,
    addresses: 0,
    insns: 0,
    insnBranches: 0,
    unsureInsns: 0,
    errors: new Float64Array(10),
  };

  private readonly cache: FlowCache;
  private readonly sink: FlowSink;
  private readonly packets: PacketDecoder = new PacketDecoder({ start: "psb", recover: "byte" });
  private readonly walker: Walker;
  private readonly quick: 0 | 1 | 2;
  /** Stream offset of the first byte that was fed. */
  private readonly first: number;
  private events = 0;
  /** Whether instructions are counted, until the next PSB. */
  private sampled = true;
  /** Number of followed branches at the last flush. */
  private branchesBefore = 0;
  private generation: number;
  private state = OFF;
  /** Whether calls since the last PSB are missing, because their code is not available. */
  private lacksCalls = false;
  /** Whether a PSB was decoded. */
  private synced = false;
  /** Whether the current packet is between PSB and PSBEND. */
  private inPsb = false;
  private psbHasIp = false;
  private psbLow = 0;
  private psbHigh = 0;
  /** Offset of the PSB in the bytes that were fed. */
  private psbOffset = 0;
  private timeBefore = -1;
  private uncertaintyBefore = 0;
  /** BIND_ bits of the events that wait for a FUP. */
  private bound = 0;
  /** Whether a FUP was the last flow packet, so that it may be the address of an asynchronous event. */
  private async = false;
  private asyncLow = 0;
  private asyncHigh = 0;
  /** Whether an OVF was decoded, without an address after it yet. */
  private overflown = false;
  /** Mode of the code at the next address. */
  private nextMode: InsnMode = 64;
  private interrupts = -1;
  /** Branches that follow an indirect branch whose TIP is still missing, as `lead` of {@linkcode Walker.tnt}. */
  private deferred: number[] = [];
  /** Whether invalid bytes were decoded. Packets are then ignored up to a PSB or an address of at least 32 bits. */
  private astray = false;
  private boundEvent: Int32Array = new Int32Array(8);
  private boundCount = 0;

  /** Creates a decoder for one stream, for example of one CPU. */
  constructor(options: FlowOptions, sink: FlowSink) {
    this.cache = options.cache ?? new FlowCache();
    this.generation = this.cache.generation;
    this.blocks = this.cache.blocks;
    this.paths = this.cache.paths;
    this.sink = sink;
    this.first = options.offset ?? 0;
    this.clock = new TimeKeeper(options.clocks, options.timeBase, this.first > 0);
    this.quick = options.quick ?? 0;
    const Follower = this.quick === 0 ? Walker : HopWalker;
    this.walker = new Follower(this.blocks, this.paths, options.space, () => this.flush());
    this.entries = this.walker.out;
  }

  /** Whether the address of execution is known. */
  get tracing(): boolean {
    return this.state === ON;
  }

  /** Whether tracing is off: the address of execution is the one at which it ended. */
  get isOff(): boolean {
    return this.state === OFF;
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

  /** Adds bytes, like {@linkcode PacketDecoder.feed}. */
  feed(bytes: Uint8Array): void {
    this.packets.feed(bytes);
  }

  /** Whether an event waits for the FUP with its address, so that output cannot be flushed yet. */
  get isWaiting(): boolean {
    return this.bound !== 0;
  }

  /** Whether the last packet is part of a PSB+. */
  get isInPsb(): boolean {
    return this.inPsb;
  }

  /** Marks the end of the bytes. */
  end(): void {
    this.packets.end();
  }

  /** Marks missing data: decoding continues at the next PSB. */
  gap(): void {
    this.packets.resync();
    if (!this.synced) return;
    this.lose(FlowError.GAP);
    this.synced = false;
    this.inPsb = false;
    this.clock.lost();
  }

  /** Replaces the code, after a thread switch or a new mapping. */
  setSpace(space: CodeSpace): void {
    this.walker.detach();
    this.walker.stack.forgetBlocks();
    this.blocks.forgetSpace();
    this.walker.space = space;
  }

  /** The current code. */
  get space(): CodeSpace {
    return this.walker.space;
  }

  /** Passes the remaining output to the sink. */
  flush(): void {
    // Events that wait for an address are passed on without it.
    this.release();
    this.count = this.walker.outCount;
    if (this.count > 0) {
      this.sample();
      this.sink.flow(this);
    }
    this.walker.outCount = 0;
    this.count = 0;
    this.events = 0;
  }

  /** Stream offset at which `run` stops: at the end of the PSB+ there, or of the first one after it. */
  seam: number = Infinity;

  /** Number of times that tracing became known to be on. */
  enables = 0;
  /** Whether `run` stops before each TIP.PGE and PIP, since another thread may run from there. */
  holds: boolean = false;
  /** The packet before which `run` stopped. */
  private held: PacketKind | undefined;

  /** Advances the time to `ticks`, known from a source other than the trace. */
  passes(ticks: number): void {
    if (ticks <= this.clock.time) return;
    this.clock.passes(ticks);
    this.timed();
  }

  /** Whether the code runs in a guest, in VMX non-root operation. */
  nonRoot: boolean = false;
  /**
   * The same for the target of the next address packet: bit NR of the last PIP, which precedes the
   * address (SDM, "Paging Information Packet").
   */
  nextNonRoot: boolean = false;

  /** Whether a decoded packet enters or leaves a guest, or does so together with the next address. */
  private entersOrLeaves(kind: PacketKind): boolean {
    const { nonRoot, nextNonRoot } = this;
    if (kind === PacketKind.PIP) this.nextNonRoot = (this.packets.low & 1) === 1;
    else if (nonRoot === nextNonRoot) return false;
    // Until the branch that the address belongs to, the code before still runs.
    const waits = this.state === ON && !this.inPsb &&
      kind !== PacketKind.TIP && kind !== PacketKind.TIP_PGE && kind !== PacketKind.TIP_PGD;
    if (!waits) this.nonRoot = this.nextNonRoot;
    return this.nonRoot !== nonRoot || this.nextNonRoot !== nextNonRoot;
  }

  /** Stream offset of the last PSB. */
  get psbAt(): number {
    return this.psbOffset;
  }

  /**
   * Returns the state that determines the decoding after a PSB+: two decoders with the same state continue
   * identically. At a PSB+, calls are forgotten and addresses are complete.
   */
  stateAfterPsb(): number[] {
    const isOn = this.state === ON;
    return [
      this.psbAt,
      this.state,
      isOn ? this.atLow : 0,
      isOn ? this.atHigh : 0,
      this.walker.mode,
      this.nextMode,
      this.interrupts,
      Number(this.synced),
      Number(this.inPsb),
      Number(this.async),
      Number(this.overflown),
      Number(this.nonRoot),
      Number(this.nextNonRoot),
      this.bound,
      this.deferred.length,
      ...this.clock.state(),
    ];
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
   * Decodes until the bytes are used up or the time reaches `limit`.
   *
   * @param limit Ticks, as in {@linkcode TimeKeeper.time}.
   */
  run(limit: number = Infinity): FlowStatus {
    const { packets, walker, counts } = this;
    if (this.clock.time >= limit) return FlowStatus.TIME;
    this.refresh();
    // Decoders that share the cache may have used it with other spaces.
    this.blocks.forgetSpace();
    for (;;) {
      const kind = this.held ?? packets.next();
      if (kind === PacketKind.TNT_8 && this.state === ON && !this.inPsb) {
        this.async = false;
        this.clock.follows(false);
        if (this.deferred.length === 0 || this.noneDeferred()) {
          const error = walker.tnt(1 << packets.count | packets.low);
          if (error !== 0) this.stop(error);
          else {
            packets.shortTnt(walker);
            if (walker.error !== 0) this.stop(walker.error);
            walker.error = 0;
          }
        }
        continue;
      }
      // A PAD changes no state, so it needs no processing even after errors.
      if (kind === PacketKind.PAD) continue;
      if (kind <= PacketKind.END) {
        counts.bytes = packets.offset + (kind === PacketKind.END ? packets.size : 0);
        if (kind === PacketKind.END) this.flush();
        return kind === PacketKind.END ? FlowStatus.END : FlowStatus.NEED_MORE;
      }
      if (this.holds && this.held === undefined && this.isTurn(kind)) {
        this.flush();
        this.held = kind;
        return FlowStatus.HELD;
      }
      this.held = undefined;
      if (this.state === LOST && !this.isPadding(kind)) counts.lostBytes += packets.size;
      this.processPacket(kind);
      if (this.entersOrLeaves(kind)) {
        this.flush();
        counts.bytes = packets.offset + packets.size;
        return FlowStatus.SPACE;
      }
      if (kind === PacketKind.PSBEND) {
        this.flush();
        const at = this.psbAt;
        this.sampled = at < ALL_SAMPLED ||
          Math.imul(at, 0x9e3779b1) >>> (32 - SAMPLED_BITS) === 0;
        if (at >= this.seam) {
          counts.bytes = packets.offset + packets.size;
          return FlowStatus.SEAM;
        }
      }
      if (this.clock.time >= limit && kind >= PacketKind.TSC && kind <= PacketKind.CYC) {
        counts.bytes = packets.offset + packets.size;
        return FlowStatus.TIME;
      }
    }
  }

  /** Whether another thread may run from this packet on. */
  private isTurn(kind: PacketKind): boolean {
    return kind === PacketKind.TIP_PGE || (kind === PacketKind.PIP && !this.inPsb);
  }

  /**
   * Whether a packet gives the position independently of the packets before it: an address of at least 32 bits, or a
   * PSB.
   * After invalid bytes, the boundaries of packets are unknown, so other packets may be parts of packets.
   */
  private isWayBack(kind: PacketKind): boolean {
    switch (kind) {
      case PacketKind.PSB:
      case PacketKind.OVF:
      case PacketKind.TRUNCATED:
        return true;
      case PacketKind.TIP:
      case PacketKind.TIP_PGE:
      case PacketKind.FUP:
        return this.packets.count >= 2;
      default:
        return false;
    }
  }

  /** Whether skipped bytes are padding before the first PSB, which aligns a part of a trace. */
  private isPadding(kind: PacketKind): boolean {
    return kind === PacketKind.SKIPPED && this.packets.size < 8 &&
      this.packets.raw().every((byte) => byte === 0);
  }

  /** Clears the cache if it is full, so that it does not grow without limit. */
  private refresh(): void {
    const { cache, walker } = this;
    if (cache.full) {
      this.flush();
      walker.detach();
      this.sink.forget?.();
      cache.clear();
    }
    if (this.generation !== cache.generation) {
      // After another decoder has cleared the cache, addresses replace the numbers of blocks.
      this.generation = cache.generation;
      walker.stack.forgetBlocks();
    }
  }

  /** Processes a packet. */
  private processPacket(kind: PacketKind): void {
    const { packets, clock } = this;
    const { low, high } = packets;
    if (this.astray && !this.isWayBack(kind)) {
      if (kind === PacketKind.TNT_8 || kind === PacketKind.TNT_64) {
        this.counts.lostBranches += packets.count;
      }
      return;
    }
    this.astray = false;
    clock.follows(kind === PacketKind.CYC);
    switch (kind) {
      case PacketKind.PAD:
        break;
      case PacketKind.TNT_8:
      case PacketKind.TNT_64:
        this.tnt();
        break;
      case PacketKind.TIP:
        this.tip();
        break;
      case PacketKind.TIP_PGE:
        this.enable();
        break;
      case PacketKind.TIP_PGD:
        this.disable();
        break;
      case PacketKind.FUP:
        this.fup();
        break;
      case PacketKind.TSC:
        clock.tsc(low, high);
        this.timed();
        break;
      case PacketKind.TMA:
        clock.tma(low & 0xffff, (low >>> 24) | (high & 1) << 8);
        break;
      case PacketKind.MTC:
        clock.mtc(low & 0xff);
        this.timed();
        break;
      case PacketKind.CYC:
        clock.cyc((high >>> 0) * 2 ** 32 + (low >>> 0));
        this.timed();
        break;
      case PacketKind.CBR:
        clock.cbr(low & 0xff);
        this.note(FlowEvent.CBR, low & 0xff);
        break;
      case PacketKind.PSB:
        this.psbBegin();
        break;
      case PacketKind.PSBEND:
        if (this.inPsb) this.psbEnd();
        break;
      case PacketKind.OVF:
        this.overflow();
        break;
      case PacketKind.MODE_EXEC:
        this.modeExec(low);
        break;
      case PacketKind.BAD_OPCODE:
      case PacketKind.BAD_PACKET:
        this.lose(FlowError.BAD_PACKET);
        this.clock.lost();
        this.inPsb = false;
        this.astray = true;
        break;
      case PacketKind.TRUNCATED:
        this.lose(FlowError.TRUNCATED);
        break;
      case PacketKind.SKIPPED:
        if (this.state !== LOST && this.quick < 2 && !this.isPadding(kind)) {
          this.counts.lostBytes += packets.size;
        }
        break;
      default:
        this.processOther(kind);
    }
  }

  /** Processes a packet that does not change the address of execution. */
  private processOther(kind: PacketKind): void {
    const { packets } = this;
    const { low, high, count } = packets;
    switch (kind) {
      case PacketKind.PIP:
        // The instruction that wrote CR3 is known if no packet is needed to get there.
        if (this.state === ON && !this.inPsb && !this.async) {
          this.walker.scan(Scan.KIND, InsnKind.MOV_CR3, 0);
        }
        this.event(
          FlowEvent.PIP,
          low & 1,
          0,
          0,
          (low & ~1) << 4,
          (high & 0xffff) << 4 | low >>> 28,
        );
        break;
      case PacketKind.VMCS:
        this.event(FlowEvent.VMCS, 0, 0, 0, low << 12, (high & 0xff) << 12 | low >>> 20);
        break;
      case PacketKind.MODE_TSX:
        this.note(FlowEvent.TSX, low & 3);
        // If tracing is off, no FUP follows.
        if (!this.inPsb && this.state !== OFF) this.bind((low & 2) !== 0 ? BIND_ABORT : BIND_TSX);
        break;
      case PacketKind.PTW:
        this.ptwrite();
        if ((count & 4) !== 0) this.bind(BIND_PTW);
        break;
      case PacketKind.EXSTOP:
        this.note(FlowEvent.EXSTOP, 0);
        if (count !== 0) this.bind(BIND_EXSTOP);
        break;
      case PacketKind.MWAIT:
        this.note(FlowEvent.MWAIT, 0);
        break;
      case PacketKind.PWRE:
        this.note(FlowEvent.PWRE, 0);
        break;
      case PacketKind.PWRX:
        this.note(FlowEvent.PWRX, 0);
        break;
      case PacketKind.CFE:
        this.event(FlowEvent.CFE, low & 0x1f, 0, 0, low >>> 8 & 0xff, 0);
        if ((low & 0x80) !== 0) this.bind(BIND_CFE);
        break;
      case PacketKind.EVD:
        this.note(FlowEvent.EVD, count & 0x3f);
        break;
      case PacketKind.TRACESTOP:
        this.note(FlowEvent.TRACESTOP, 0);
        break;
      case PacketKind.TRIG:
        this.note(FlowEvent.TRIG, 0);
        if ((low & 0x80) !== 0) this.bind(BIND_TRIG);
        break;
      case PacketKind.BBP:
        this.note(FlowEvent.BLOCK_BEGIN, low & 0x1f);
        break;
      case PacketKind.BIP:
        this.note(FlowEvent.BLOCK_ITEM, count);
        break;
      case PacketKind.BEP:
        this.note(FlowEvent.BLOCK_END, 0);
        if (count !== 0) this.bind(BIND_BEP);
        break;
    }
  }

  /** Processes a TNT packet outside of the fast path in `run`. */
  private tnt(): void {
    const { packets, walker } = this;
    const { count } = packets;
    if (this.inPsb) this.brokenPsb();
    this.async = false;
    this.noneDeferred();
    if (this.state !== ON) {
      this.counts.lostBranches += count;
      if (this.state === OFF && this.synced) this.lose(FlowError.UNEXPECTED);
      return;
    }
    for (let left = count; left > 0;) {
      const n = Math.min(6, left);
      left -= n;
      const bits = (left >= 32
        ? packets.high >>> left - 32
        : left === 0
        ? packets.low
        : packets.high << 32 - left | packets.low >>> left) & (1 << n) - 1;
      const lead = 1 << n | bits;
      if (this.deferred.length > 0) {
        this.deferred.push(lead);
        continue;
      }
      const error = walker.tnt(lead);
      if (error !== 0) {
        this.stop(error);
      }
      if (this.state !== ON) {
        this.counts.lostBranches += left;
        return;
      }
    }
  }

  /** Handles the error of a walk along a TNT. */
  private stop(error: number): void {
    if (error === DEFERRED) this.deferred.unshift(this.walker.rest);
    else this.fail(error - 1);
  }

  /**
   * Fails if branches wait for a deferred TIP (SDM, "Deferred TIPs"): the current packet is not a TIP.
   *
   * @returns Whether the address of execution is still known.
   */
  private noneDeferred(): boolean {
    if (this.deferred.length > 0) {
      this.walker.atBranch();
      for (const lead of this.deferred) this.counts.lostBranches += 31 - Math.clz32(lead);
      this.counts.lostBranches += this.packets.kind === PacketKind.TNT_8 ? this.packets.count : 0;
      this.fail(FlowError.MISMATCH);
    }
    return this.state === ON;
  }

  /** Processes a TIP: the target of an indirect branch, or the handler of an asynchronous event. */
  private tip(): void {
    const { packets, walker } = this;
    if (this.inPsb) this.brokenPsb();
    const known = packets.count !== 0;
    if (this.async) {
      this.event(
        FlowEvent.ASYNC,
        0,
        this.asyncLow,
        this.asyncHigh,
        packets.ipLow,
        packets.ipHigh,
      );
    } else if (this.state === ON) {
      const error = walker.indirect();
      if (error !== 0) this.fail(error - 1);
    } else if (this.state === OFF && this.synced) this.lose(FlowError.UNEXPECTED);
    if (!known) {
      this.async = false;
      // Without an address, the target is outside of the traced context, but no packet ended tracing.
      if (this.state === ON) this.lose(FlowError.UNEXPECTED);
      return;
    }
    this.counts.addresses++;
    const wasAsync = this.async;
    this.async = false;
    this.arrive(packets.ipLow, packets.ipHigh);
    if (this.quick > 0 && !wasAsync) this.hop();
    while (this.deferred.length > 0 && this.state === ON) {
      const error = walker.tnt(this.deferred.shift() as number);
      if (error === 0) continue;
      this.stop(error);
      break;
    }
  }

  /** Continues at the address of a packet, in the mode of the last MODE.Exec. */
  private arrive(low: number, high: number): void {
    const { walker } = this;
    const lost = this.state === LOST;
    if (this.state !== ON) this.enables++;
    walker.jump(low, high);
    this.state = ON;
    this.overflown = false;
    this.setMode();
    if (lost) this.event(FlowEvent.SYNC, 0, low, high, 0, 0);
    if (this.cache.full) this.refresh();
  }

  /** Applies the mode of the last MODE.Exec. */
  private setMode(): void {
    if (this.walker.mode === this.nextMode) return;
    this.walker.mode = this.nextMode;
    this.walker.detach();
    this.event(FlowEvent.MODE, this.nextMode, 0, 0, 0, 0);
  }

  /** Processes a TIP.PGE. */
  private enable(): void {
    const { packets } = this;
    if (this.inPsb) this.brokenPsb();
    const { ipLow, ipHigh } = packets;
    this.async = false;
    this.noneDeferred();
    // A PSB+ written while tracing begins already had the address.
    const isElsewhere = this.quick === 0 && !this.walker.isAt(ipLow, ipHigh);
    if (packets.count === 0 || (this.state === ON && isElsewhere)) {
      this.lose(FlowError.UNEXPECTED);
      if (packets.count === 0) return;
    }
    this.counts.addresses++;
    this.enables++;
    this.state = ON;
    this.overflown = false;
    this.walker.jump(ipLow, ipHigh);
    this.setMode();
    this.event(FlowEvent.ENABLED, 0, ipLow, ipHigh, 0, 0);
    if (this.cache.full) this.refresh();
  }

  /** Processes a TIP.PGD: tracing ended by an event, a branch to an untraced address, or a system call. */
  private disable(): void {
    const { packets, walker } = this;
    if (this.inPsb) this.brokenPsb();
    const { ipLow, ipHigh } = packets;
    const known = packets.count !== 0;
    this.noneDeferred();
    if (known) this.counts.addresses++;
    const byEvent = this.async;
    if (!byEvent && this.state === ON) {
      let error: number;
      if (known) error = walker.scan(Scan.BRANCH_TO, ipLow, ipHigh);
      else {
        error = walker.scan(Scan.LEAVE, 0, 0);
        // With a CR3 filter, writing CR3 ends tracing.
        if (error !== 0 && walker.scan(Scan.KIND, InsnKind.MOV_CR3, 0) === 0) error = 0;
      }
      if (error !== 0) this.fail(error - 1);
    } else if (!byEvent && this.state === OFF && this.synced) {
      this.lose(FlowError.UNEXPECTED);
    }
    this.state = OFF;
    this.event(
      FlowEvent.DISABLED,
      (known ? 1 : 0) | (byEvent ? 2 : 0),
      byEvent ? this.asyncLow : 0,
      byEvent ? this.asyncHigh : 0,
      known ? ipLow : 0,
      known ? ipHigh : 0,
    );
    this.async = false;
    this.overflown = false;
  }

  /** With `quick`, reports the address of a packet. */
  private hop(detail = 0): void {
    const { ipLow, ipHigh } = this.packets;
    this.event(FlowEvent.HOP, detail, ipLow, ipHigh, 0, 0);
  }

  /** Processes a FUP: the address of an asynchronous event, or of events that wait for it. */
  private fup(): void {
    const { packets, walker, bound } = this;
    if (packets.count === 0) {
      if (!this.inPsb) this.lose(FlowError.UNEXPECTED);
      return;
    }
    const { ipLow, ipHigh } = packets;
    if (this.inPsb) {
      this.psbHasIp = true;
      this.psbLow = ipLow;
      this.psbHigh = ipHigh;
      return;
    }
    this.bound = 0;
    this.noneDeferred();
    if (this.overflown) {
      this.release();
      this.arrive(ipLow, ipHigh);
      return;
    }
    if (bound !== 0) this.locate(ipLow, ipHigh);
    if (this.state === ON) {
      const error = walker.scan(Scan.ADDRESS, ipLow, ipHigh);
      if (error !== 0) {
        this.fail(error - 1);
        this.arrive(ipLow, ipHigh);
      }
    } else if (this.state === LOST) this.arrive(ipLow, ipHigh);
    // Code executed up to the address precedes the events.
    const isBound = this.quick > 0 && bound !== 0 && (bound & BIND_CFE) === 0;
    if (isBound && (bound & BIND_FIRST) !== 0) this.hop((bound & BIND_ABORT) !== 0 ? 1 : 0);
    this.release();
    if (isBound && (bound & BIND_FIRST) === 0) this.hop();
    if ((bound & BIND_MODE) !== 0 && this.state === ON) this.setMode();
    if (bound === 0 || (bound & BIND_EVENT) !== 0) {
      // Also if tracing is off, since an event may begin it.
      this.async = this.state === ON;
      this.asyncLow = ipLow;
      this.asyncHigh = ipHigh;
    }
  }

  /** Sets the address of the events that wait for it. */
  private locate(low: number, high: number): void {
    for (let i = 0; i < this.boundCount; i++) {
      const event = this.boundEvent[i] as number;
      this.ipLow[event] = low;
      this.ipHigh[event] = high;
    }
  }

  /** Outputs the events that waited. */
  private release(): void {
    const n = this.boundCount;
    this.boundCount = 0;
    for (let i = 0; i < n; i++) this.walker.put(~(this.boundEvent[i] as number));
  }

  /** Holds back the last event until its FUP. */
  private bind(bit: number): void {
    this.bound |= bit;
    if (this.boundCount === this.boundEvent.length) return;
    this.boundEvent[this.boundCount++] = this.events - 1;
    // The last entry of the output is this event.
    this.walker.outCount--;
  }

  /** Processes a MODE.Exec, which applies from the next address on. */
  private modeExec(low: number): void {
    this.nextMode = (low & 1) !== 0 ? 64 : (low & 2) !== 0 ? 32 : 16;
    const interrupts = low >> 2 & 1;
    if (this.inPsb) {
      this.interrupts = interrupts;
      return;
    }
    if (interrupts !== this.interrupts) {
      // Only traces of events have this bit; otherwise it is always 0.
      if (this.interrupts >= 0) {
        this.event(FlowEvent.INTERRUPTS, interrupts, 0, 0, 0, 0);
        if (!this.async) this.bind(BIND_MODE);
      }
      this.interrupts = interrupts;
    }
  }

  /** Processes a PTW; finds its instruction if no packet is needed to get there. */
  private ptwrite(): void {
    const { count } = this.packets;
    const { atLow, atHigh } = this;
    const isOn = this.state === ON;
    if (isOn && (count & 4) === 0) this.walker.scan(Scan.KIND, InsnKind.PTWRITE, 0);
    this.note(FlowEvent.PTWRITE, (count & 3) === 1 ? 8 : 4);
    this.hereLow[this.events - 1] = isOn ? atLow : 0;
    this.hereHigh[this.events - 1] = isOn ? atHigh : 0;
  }

  /** Processes a PSB. */
  private psbBegin(): void {
    this.inPsb = true;
    this.psbHasIp = false;
    this.async = false;
    this.release();
    this.bound = 0;
    this.walker.stack.clear();
    this.lacksCalls = false;
    // Its event is output at PSBEND, when its time is known.
    this.psbOffset = this.position;
    this.timeBefore = this.clock.time;
    this.uncertaintyBefore = this.clock.uncertainty;
  }

  /** Ends a PSB+, whose state is now complete. */
  private psbEnd(): void {
    const { walker } = this;
    this.inPsb = false;
    const { psbLow, psbHigh } = this;
    const first = !this.synced;
    this.synced = true;
    this.noneDeferred();
    if (!this.psbHasIp) {
      this.notePsb(0, 0);
      if (this.quick === 2) this.packets.resync();
      else if (this.state === ON) this.lose(FlowError.UNEXPECTED);
      this.state = OFF;
      this.overflown = false;
      this.walker.mode = this.nextMode;
      return;
    }
    if (this.quick === 2) this.packets.resync();
    if (this.state === ON) {
      const error = walker.scan(Scan.ADDRESS, psbLow, psbHigh);
      if (error === 0) {
        this.notePsb(psbLow, psbHigh);
        return this.setMode();
      }
      this.notePsb(psbLow, psbHigh);
      this.fail(error - 1);
      this.lacksCalls = false;
    } else this.notePsb(psbLow, psbHigh);
    if (first) this.state = LOST;
    this.arrive(psbLow, psbHigh);
  }

  /** Outputs the event of a PSB+, with the time that it has set. */
  private notePsb(low: number, high: number): void {
    this.event(FlowEvent.PSB, 0, low, high, 0, 0);
    this.offset[this.events - 1] = this.psbOffset;
  }

  /** Ends a PSB+ at a packet that cannot occur in it. */
  private brokenPsb(): void {
    this.psbEnd();
  }

  /** Processes an OVF: packets were lost. */
  private overflow(): void {
    if (this.inPsb) {
      this.inPsb = false;
      this.synced = true;
    }
    this.lose(FlowError.OVERFLOW);
    this.clock.lost();
    this.overflown = true;
  }

  /** Reports an error of a walk. */
  private fail(error: number): void {
    const { walker } = this;
    walker.detach();
    // The matching call is in unavailable code, or was forgotten there.
    const isUnknownCall = error === FlowError.NO_CALL && this.lacksCalls;
    const reason = isUnknownCall ? FlowError.NO_CODE : error as FlowError;
    this.problem(reason, walker.low, walker.high);
    if (reason === FlowError.NO_CODE) this.lacksCalls = true;
  }

  /** Reports an error that has no address. */
  private lose(error: FlowError): void {
    this.walker.detach();
    const on = this.state === ON;
    this.problem(error, on ? this.walker.low : 0, on ? this.walker.high : 0);
  }

  /** Reports an error; the address of execution is unknown afterwards. */
  private problem(error: FlowError, low: number, high: number): void {
    this.counts.errors[error] = (this.counts.errors[error] as number) + 1;
    this.event(FlowEvent.ERROR, error, low, high, 0, 0);
    this.state = LOST;
    this.async = false;
    this.bound = 0;
    this.deferred.length = 0;
    this.walker.stack.clear();
  }

  /** Outputs the current time. */
  private timed(): void {
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

  /** Outputs an event with the payload of the packet. */
  private note(kind: FlowEvent, detail: number): void {
    this.event(kind, detail, 0, 0, this.packets.low, this.packets.high);
  }

  /** Outputs an event. */
  private event(
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
    const isKnown = this.state === ON;
    this.hereLow[n] = isKnown ? this.atLow : 0;
    this.hereHigh[n] = isKnown ? this.atHigh : 0;
    this.offset[n] = this.position;
    // Code up to the address in a PSB+ was executed before it; the PSB's own event has the new time.
    this.time[n] = this.inPsb ? this.timeBefore : this.clock.time;
    this.cycles[n] = this.clock.cycles;
    this.uncertainty[n] = this.inPsb ? this.uncertaintyBefore : this.clock.uncertainty;
  }
}
