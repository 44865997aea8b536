import { PacketKind } from "../packets/packet_kind.ts";
import type { InsnMode } from "../x86/insn_decoder.ts";
import { InsnKind } from "../x86/insn_kind.ts";
import { FlowEvent } from "./flow_event.ts";
import { FlowOutput, FlowState } from "./flow_output.ts";
import { Scan } from "./walker.ts";

/** Kinds of events that wait for a FUP with their address. */
export const Bind = {
  TSX: 1,
  ABORT: 2,
  PTW: 4,
  EXSTOP: 8,
  BEP: 16,
  CFE: 32,
  TRIG: 64,
  MODE: 128,
} as const;

/** Packets that give a time, a mode or an event, and do not change the address of execution. */
export abstract class PacketEvents extends FlowOutput {
  /** Whether the code runs in a guest, in VMX non-root operation. */
  nonRoot: boolean = false;
  /**
   * The same for the target of the next address packet: bit NR of the last PIP, which precedes the
   * address (SDM, "Paging Information Packet").
   */
  nextNonRoot: boolean = false;
  /**
   * Mode of the code at the next address.
   *
   * @internal
   */
  protected nextMode: InsnMode = 64;
  /**
   * Bit IF of the last MODE.Exec; -1 before it.
   *
   * @internal
   */
  protected interrupts = -1;

  /**
   * Whether a decoded packet enters or leaves a guest, or does so together with the next address.
   *
   * @internal
   */
  protected entersOrLeaves(kind: PacketKind): boolean {
    const { nonRoot, nextNonRoot } = this;
    if (kind === PacketKind.PIP) this.nextNonRoot = (this.packets.low & 1) === 1;
    else if (nonRoot === nextNonRoot) return false;
    // Until the branch that the address belongs to, the code before still runs.
    const waits = this.tracing && !this.inPsb &&
      kind !== PacketKind.TIP && kind !== PacketKind.TIP_PGE && kind !== PacketKind.TIP_PGD;
    if (!waits) this.nonRoot = this.nextNonRoot;
    return this.nonRoot !== nonRoot || this.nextNonRoot !== nextNonRoot;
  }

  /**
   * Whether a packet gives the position independently of the packets before it: an address of at
   * least 32 bits, or a PSB.
   * After invalid bytes, the boundaries of packets are unknown, so other packets may be parts of packets.
   *
   * @internal
   */
  protected isWayBack(kind: PacketKind): boolean {
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

  /**
   * Whether skipped bytes are padding before the first PSB, which aligns a part of a trace.
   *
   * @internal
   */
  protected isPadding(kind: PacketKind): boolean {
    return kind === PacketKind.SKIPPED && this.packets.size < 8 &&
      this.packets.raw().every((byte) => byte === 0);
  }

  /**
   * Processes a packet of the clock.
   *
   * @internal
   */
  protected onTime(kind: PacketKind): void {
    const { packets: { low, high }, clock } = this;
    switch (kind) {
      case PacketKind.TSC:
        clock.tsc(low, high);
        break;
      case PacketKind.TMA:
        clock.tma(low & 0xffff, (low >>> 24) | (high & 1) << 8);
        return;
      case PacketKind.MTC:
        clock.mtc(low & 0xff);
        break;
      case PacketKind.CYC:
        clock.cyc((high >>> 0) * 2 ** 32 + (low >>> 0));
        break;
    }
    this.timed();
  }

  /**
   * Processes a packet that does not change the address of execution.
   *
   * @internal
   */
  protected onOther(kind: PacketKind): void {
    const { packets, clock } = this;
    const { low, high, count } = packets;
    switch (kind) {
      case PacketKind.CBR:
        clock.cbr(low & 0xff);
        this.note(FlowEvent.CBR, low & 0xff);
        break;
      case PacketKind.PIP:
        // The instruction that wrote CR3 is known if no packet is needed to get there.
        if (this.tracing && this.state !== FlowState.ASYNC && !this.inPsb) {
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
      case PacketKind.MODE_EXEC:
        this.onModeExec(low);
        break;
      case PacketKind.VMCS:
        this.event(FlowEvent.VMCS, 0, 0, 0, low << 12, (high & 0xff) << 12 | low >>> 20);
        break;
      case PacketKind.MODE_TSX:
        this.note(FlowEvent.TSX, low & 3);
        // If tracing is off, no FUP follows.
        if (!this.inPsb && !this.isOff) this.bind((low & 2) !== 0 ? Bind.ABORT : Bind.TSX);
        break;
      case PacketKind.PTW:
        this.onPtwrite();
        if ((count & 4) !== 0) this.bind(Bind.PTW);
        break;
      case PacketKind.EXSTOP:
        this.note(FlowEvent.EXSTOP, 0);
        if (count !== 0) this.bind(Bind.EXSTOP);
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
        if ((low & 0x80) !== 0) this.bind(Bind.CFE);
        break;
      case PacketKind.EVD:
        this.note(FlowEvent.EVD, count & 0x3f);
        break;
      case PacketKind.TRACESTOP:
        this.note(FlowEvent.TRACESTOP, 0);
        break;
      case PacketKind.TRIG:
        this.note(FlowEvent.TRIG, 0);
        if ((low & 0x80) !== 0) this.bind(Bind.TRIG);
        break;
      case PacketKind.BBP:
        this.note(FlowEvent.BLOCK_BEGIN, low & 0x1f);
        break;
      case PacketKind.BIP:
        this.note(FlowEvent.BLOCK_ITEM, count);
        break;
      case PacketKind.BEP:
        this.note(FlowEvent.BLOCK_END, 0);
        if (count !== 0) this.bind(Bind.BEP);
        break;
    }
  }

  /** Processes a PTW; finds its instruction if no packet is needed to get there. */
  private onPtwrite(): void {
    const { count } = this.packets;
    const { atLow, atHigh } = this;
    const isOn = this.tracing;
    if (isOn && (count & 4) === 0) this.walker.scan(Scan.KIND, InsnKind.PTWRITE, 0);
    this.note(FlowEvent.PTWRITE, (count & 3) === 1 ? 8 : 4);
    this.hereLow[this.events - 1] = isOn ? atLow : 0;
    this.hereHigh[this.events - 1] = isOn ? atHigh : 0;
  }

  /** Processes a MODE.Exec, which applies from the next address on. */
  private onModeExec(low: number): void {
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
        if (this.state !== FlowState.ASYNC) this.bind(Bind.MODE);
      }
      this.interrupts = interrupts;
    }
  }
}
