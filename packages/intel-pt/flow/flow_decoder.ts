// One module, since these packets change the same state: the address of execution.
import { PacketKind } from "../packets/packet_kind.ts";
import { InsnKind } from "../x86/insn_kind.ts";
import { FlowError, FlowEvent } from "./flow_event.ts";
import { FlowState } from "./flow_output.ts";
import { FlowCache, type FlowOptions, FlowStatus } from "./flow_options.ts";
import { Bind, PacketEvents } from "./packet_events.ts";
import { DEFERRED, Scan } from "./walker.ts";

/** Kinds whose instruction executes before the event. */
const BIND_FIRST = Bind.TSX | Bind.PTW | Bind.ABORT;
/** Kinds whose FUP is also the address of an interrupt or other asynchronous event. */
const BIND_EVENT = Bind.ABORT | Bind.CFE;

/** Receives the results of a {@linkcode FlowDecoder}. */
export interface FlowSink {
  /**
   * Receives entries `0 … run.count` of `run.entries`: an entry is the index of a path, or the complement
   * (`~n`) of the number of an event. They are valid during the call only.
   */
  flow(run: FlowDecoder): void;
  /** Called before the indices of blocks and paths are reused: data keyed by them has to be dropped. */
  forget?(): void;
}

/**
 * Reconstructs the executed code from Intel PT packets and the code.
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
export class FlowDecoder extends PacketEvents {
  /** Stream offset at which `run` stops: at the end of the PSB+ there, or of the first one after it. */
  seam: number = Infinity;

  /** Number of times that tracing became known to be on. */
  enables = 0;
  /** Whether `run` stops before each TIP.PGE and PIP, since another thread may run from there. */
  holds: boolean = false;
  /** The packet before which `run` stopped. */
  private held: PacketKind | undefined;

  private readonly sink: FlowSink;
  /** Whether a PSB was decoded. */
  private synced = false;
  /** Whether calls since the last PSB are missing, because their code is not available. */
  private lacksCalls = false;
  /** Whether invalid bytes were decoded. Packets are then ignored up to a PSB or an address of at least 32 bits. */
  private astray = false;
  /** In state `ASYNC`: the address of the event, bits 31:0. */
  private asyncLow = 0;
  private asyncHigh = 0;
  /** In state `DEFERRED`: the branches, as `lead` of {@linkcode Walker.tnt}. */
  private readonly deferred: number[] = [];

  /** Creates a decoder for one stream, for example of one CPU. */
  constructor(options: FlowOptions, sink: FlowSink) {
    super(options, options.cache ?? new FlowCache());
    this.sink = sink;
  }

  /** @internal */
  protected override deliver(): void {
    this.sink.flow(this);
  }

  /** @internal */
  protected override forget(): void {
    this.sink.forget?.();
  }

  /** Adds bytes, like {@linkcode PacketDecoder.feed}. */
  feed(bytes: Uint8Array): void {
    this.packets.feed(bytes);
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

  /** Advances the time to `ticks`, known from a source other than the trace. */
  passes(ticks: number): void {
    if (ticks <= this.clock.time) return;
    this.clock.passes(ticks);
    this.timed();
  }

  /**
   * Returns the state that determines the decoding after a PSB+: two decoders with the same state continue
   * identically. At a PSB+, calls are forgotten and addresses are complete.
   */
  stateAfterPsb(): number[] {
    const { tracing: isOn } = this;
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
      Number(this.nonRoot),
      Number(this.nextNonRoot),
      this.bound,
      this.deferred.length,
      ...this.clock.state(),
    ];
  }

  /**
   * Decodes until the bytes are used up or the time reaches `limit`.
   *
   * @param limit Ticks, as in {@linkcode TimeKeeper.time}.
   */
  run(limit: number = Infinity): FlowStatus {
    const { packets, counts } = this;
    if (this.clock.time >= limit) return FlowStatus.TIME;
    this.refresh();
    // Decoders that share the cache may have used it with other spaces.
    this.blocks.forgetSpace();
    for (;;) {
      if (this.state === FlowState.ON && !this.inPsb && this.held === undefined) this.followShort();
      const kind = this.held ?? packets.next();
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
      if (this.isLost && !this.isPadding(kind)) counts.lostBytes += packets.size;
      this.onPacket(kind);
      if (this.entersOrLeaves(kind)) {
        this.flush();
        counts.bytes = packets.offset + packets.size;
        return FlowStatus.SPACE;
      }
      if (kind === PacketKind.PSBEND) {
        this.flush();
        this.chooseSample();
        if (this.psbAt >= this.seam) {
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

  /** Processes a packet. */
  private onPacket(kind: PacketKind): void {
    const { packets } = this;
    if (this.astray && !this.isWayBack(kind)) {
      if (kind === PacketKind.TNT_8 || kind === PacketKind.TNT_64) {
        this.counts.lostBranches += packets.count;
      }
      return;
    }
    this.astray = false;
    this.clock.follows(kind === PacketKind.CYC);
    switch (kind) {
      case PacketKind.PAD:
        break;
      case PacketKind.TNT_8:
      case PacketKind.TNT_64:
        this.onTnt();
        break;
      case PacketKind.TIP:
        this.onTip();
        break;
      case PacketKind.TIP_PGE:
        this.onTipPge();
        break;
      case PacketKind.TIP_PGD:
        this.onTipPgd();
        break;
      case PacketKind.FUP:
        this.onFup();
        break;
      case PacketKind.TSC:
      case PacketKind.TMA:
      case PacketKind.MTC:
      case PacketKind.CYC:
        this.onTime(kind);
        break;
      case PacketKind.PSB:
        this.onPsb();
        break;
      case PacketKind.PSBEND:
        if (this.inPsb) this.onPsbEnd();
        break;
      case PacketKind.OVF:
        this.onOverflow();
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
        if (!this.isLost && this.quick < 2 && !this.isPadding(kind)) {
          this.counts.lostBytes += packets.size;
        }
        break;
      default:
        this.onOther(kind);
    }
  }

  /** Whether the address of execution is unknown, though tracing may be on. */
  private get isLost(): boolean {
    return this.state <= FlowState.OVERFLOWN;
  }

  /** Follows the next packets, if they are short TNTs. */
  private followShort(): void {
    const { packets, walker } = this;
    if (!packets.shortTnt(walker)) return;
    this.clock.follows(false);
    if (walker.error !== 0) this.stop(walker.error);
    walker.error = 0;
  }

  /** Processes a TNT packet that {@linkcode FlowDecoder.followShort} does not follow. */
  private onTnt(): void {
    const { packets, walker } = this;
    const { count } = packets;
    if (this.inPsb) this.onPsbEnd();
    this.noneDeferred();
    if (!this.tracing) {
      this.counts.lostBranches += count;
      if (this.isOff && this.synced) this.lose(FlowError.UNEXPECTED);
      return;
    }
    this.state = FlowState.ON;
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
      if (!this.tracing) {
        this.counts.lostBranches += left;
        return;
      }
    }
  }

  /** Handles the error of a walk along a TNT. */
  private stop(error: number): void {
    if (error === DEFERRED) {
      this.deferred.unshift(this.walker.rest);
      this.state = FlowState.DEFERRED;
    } else this.fail(error - 1);
  }

  /**
   * Fails if branches wait for a deferred TIP (SDM, "Deferred TIPs"): the current packet is not a TIP.
   *
   * @returns Whether the address of execution is still known.
   */
  private noneDeferred(): boolean {
    if (this.state === FlowState.DEFERRED) {
      this.walker.atBranch();
      for (const lead of this.deferred) this.counts.lostBranches += 31 - Math.clz32(lead);
      this.fail(FlowError.MISMATCH);
    }
    return this.tracing;
  }

  /** Processes a TIP: the target of an indirect branch, or the handler of an asynchronous event. */
  private onTip(): void {
    const { packets, walker } = this;
    if (this.inPsb) this.onPsbEnd();
    const known = packets.count !== 0;
    const isAsync = this.state === FlowState.ASYNC;
    if (isAsync) {
      this.event(
        FlowEvent.ASYNC,
        0,
        this.asyncLow,
        this.asyncHigh,
        packets.ipLow,
        packets.ipHigh,
      );
    } else if (this.tracing) {
      const error = walker.indirect();
      if (error !== 0) this.fail(error - 1);
    } else if (this.isOff && this.synced) this.lose(FlowError.UNEXPECTED);
    if (!known) {
      // Without an address, the target is outside of the traced context, but no packet ended tracing.
      if (this.tracing) this.lose(FlowError.UNEXPECTED);
      return;
    }
    this.counts.addresses++;
    this.arrive(packets.ipLow, packets.ipHigh);
    if (this.quick > 0 && !isAsync) this.hop();
    while (this.deferred.length > 0) {
      const error = walker.tnt(this.deferred.shift() as number);
      if (error === 0) continue;
      this.stop(error);
      break;
    }
  }

  /** Continues at the address of a packet, in the mode of the last MODE.Exec. */
  private arrive(low: number, high: number): void {
    const { walker } = this;
    const { isLost } = this;
    if (!this.tracing) this.enables++;
    walker.jump(low, high);
    this.state = FlowState.ON;
    this.setMode();
    if (isLost) this.event(FlowEvent.SYNC, 0, low, high, 0, 0);
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
  private onTipPge(): void {
    const { packets } = this;
    if (this.inPsb) this.onPsbEnd();
    const { ipLow, ipHigh } = packets;
    this.noneDeferred();
    // A PSB+ written while tracing begins already had the address.
    const isElsewhere = this.quick === 0 && !this.walker.isAt(ipLow, ipHigh);
    if (packets.count === 0 || (this.tracing && isElsewhere)) {
      this.lose(FlowError.UNEXPECTED);
      if (packets.count === 0) return;
    }
    this.counts.addresses++;
    this.enables++;
    this.state = FlowState.ON;
    this.walker.jump(ipLow, ipHigh);
    this.setMode();
    this.event(FlowEvent.ENABLED, 0, ipLow, ipHigh, 0, 0);
    if (this.cache.full) this.refresh();
  }

  /** Processes a TIP.PGD: tracing ended by an event, a branch to an untraced address, or a system call. */
  private onTipPgd(): void {
    const { packets, walker } = this;
    if (this.inPsb) this.onPsbEnd();
    const { ipLow, ipHigh } = packets;
    const known = packets.count !== 0;
    this.noneDeferred();
    if (known) this.counts.addresses++;
    const byEvent = this.state === FlowState.ASYNC;
    if (!byEvent && this.tracing) {
      let error: number;
      if (known) error = walker.scan(Scan.BRANCH_TO, ipLow, ipHigh);
      else {
        error = walker.scan(Scan.LEAVE, 0, 0);
        // With a CR3 filter, writing CR3 ends tracing.
        if (error !== 0 && walker.scan(Scan.KIND, InsnKind.MOV_CR3, 0) === 0) error = 0;
      }
      if (error !== 0) this.fail(error - 1);
    } else if (this.isOff && this.synced) {
      this.lose(FlowError.UNEXPECTED);
    }
    this.state = FlowState.OFF;
    this.event(
      FlowEvent.DISABLED,
      (known ? 1 : 0) | (byEvent ? 2 : 0),
      byEvent ? this.asyncLow : 0,
      byEvent ? this.asyncHigh : 0,
      known ? ipLow : 0,
      known ? ipHigh : 0,
    );
  }

  /** With `quick`, reports the address of a packet. */
  private hop(detail = 0): void {
    const { ipLow, ipHigh } = this.packets;
    this.event(FlowEvent.HOP, detail, ipLow, ipHigh, 0, 0);
  }

  /** Processes a FUP: the address of an asynchronous event, or of events that wait for it. */
  private onFup(): void {
    const { packets, walker, bound } = this;
    if (packets.count === 0) {
      if (!this.inPsb) this.lose(FlowError.UNEXPECTED);
      return;
    }
    const { ipLow, ipHigh } = packets;
    if (this.inPsb) {
      this.plus.hasIp = true;
      this.plus.low = ipLow;
      this.plus.high = ipHigh;
      return;
    }
    this.bound = 0;
    this.noneDeferred();
    if (this.state === FlowState.OVERFLOWN) {
      this.release();
      this.arrive(ipLow, ipHigh);
      return;
    }
    if (bound !== 0) this.locate(ipLow, ipHigh);
    if (this.tracing) {
      const error = walker.scan(Scan.ADDRESS, ipLow, ipHigh);
      if (error !== 0) {
        this.fail(error - 1);
        this.arrive(ipLow, ipHigh);
      }
    } else if (this.isLost) this.arrive(ipLow, ipHigh);
    // Code executed up to the address precedes the events.
    const isBound = this.quick > 0 && bound !== 0 && (bound & Bind.CFE) === 0;
    if (isBound && (bound & BIND_FIRST) !== 0) this.hop((bound & Bind.ABORT) !== 0 ? 1 : 0);
    this.release();
    if (isBound && (bound & BIND_FIRST) === 0) this.hop();
    if ((bound & Bind.MODE) !== 0 && this.tracing) this.setMode();
    if (bound === 0 || (bound & BIND_EVENT) !== 0) {
      if (this.tracing) this.state = FlowState.ASYNC;
      this.asyncLow = ipLow;
      this.asyncHigh = ipHigh;
    }
  }

  /** Processes a PSB. */
  private onPsb(): void {
    this.inPsb = true;
    if (this.state === FlowState.ASYNC) this.state = FlowState.ON;
    this.release();
    this.bound = 0;
    this.walker.stack.clear();
    this.lacksCalls = false;
    // Its event is output at PSBEND, when its time is known.
    const { plus, clock } = this;
    plus.hasIp = false;
    plus.offset = this.position;
    plus.time = clock.time;
    plus.uncertainty = clock.uncertainty;
  }

  /** Ends a PSB+, whose state is now complete. */
  private onPsbEnd(): void {
    const { walker } = this;
    this.inPsb = false;
    const { hasIp, low, high } = this.plus;
    const first = !this.synced;
    this.synced = true;
    this.noneDeferred();
    if (!hasIp) {
      this.notePsb(0, 0);
      if (this.quick === 2) this.packets.resync();
      else if (this.tracing) this.lose(FlowError.UNEXPECTED);
      this.state = FlowState.OFF;
      this.walker.mode = this.nextMode;
      return;
    }
    if (this.quick === 2) this.packets.resync();
    if (this.tracing) {
      const error = walker.scan(Scan.ADDRESS, low, high);
      if (error === 0) {
        this.notePsb(low, high);
        return this.setMode();
      }
      this.notePsb(low, high);
      this.fail(error - 1);
      this.lacksCalls = false;
    } else this.notePsb(low, high);
    if (first) this.state = FlowState.LOST;
    this.arrive(low, high);
  }

  /** Outputs the event of a PSB+, with the time that it has set. */
  private notePsb(low: number, high: number): void {
    this.event(FlowEvent.PSB, 0, low, high, 0, 0);
    this.offset[this.events - 1] = this.plus.offset;
  }

  /** Processes an OVF: packets were lost. */
  private onOverflow(): void {
    if (this.inPsb) {
      this.inPsb = false;
      this.synced = true;
    }
    this.lose(FlowError.OVERFLOW);
    this.clock.lost();
    this.state = FlowState.OVERFLOWN;
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
    const on = this.tracing;
    this.problem(error, on ? this.walker.low : 0, on ? this.walker.high : 0);
  }

  /** Reports an error; the address of execution is unknown afterwards. */
  private problem(error: FlowError, low: number, high: number): void {
    this.counts.errors[error] = (this.counts.errors[error] as number) + 1;
    this.event(FlowEvent.ERROR, error, low, high, 0, 0);
    if (this.state !== FlowState.OVERFLOWN) this.state = FlowState.LOST;
    this.bound = 0;
    this.deferred.length = 0;
    this.walker.stack.clear();
  }
}
