/**
 * Compression of the IP in a TIP, TIP.PGE, TIP.PGD or FUP packet: the three bits "IPBytes" in
 * the SDM's section "IP Compression".
 *
 * 0: no IP (it is outside of the traced context); 1, 2, 4: 16, 32 or 48 bits that replace the low bits of the last
 * IP; 3: 48 bits, sign-extended; 6: all 64 bits. 5 and 7 are reserved.
 */
export type IpCompression = 0 | 1 | 2 | 3 | 4 | 6;

/** PAD: a zero byte (SDM, "PAD Packet"). */
export interface PadPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "PAD";
}

/** TNT: the outcomes of conditional branches (SDM, "Taken/Not-taken (TNT) Packet"). */
export interface TntPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "TNT";
  /** Whether the packet has the long form of eight bytes. */
  readonly long: boolean;
  /** Number of branches: 1 to 6 in the short form, 1 to 47 in the long form. */
  readonly count: number;
  /** The branches: bit `count - 1` is the oldest, 1 = taken. */
  readonly bits: bigint;
}

/** TIP, TIP.PGE, TIP.PGD, FUP (SDM, "Target IP (TIP) Packet", "Flow Update (FUP) Packet"). */
export interface IpPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "TIP" | "TIP.PGE" | "TIP.PGD" | "FUP";
  /** Compression of the IP. */
  readonly compression: IpCompression;
  /** The bits in the packet, not extended; 0 without an IP. */
  readonly payload: bigint;
  /** The full address, derived from the previous IP; absent without an IP. Decoders set it, encoders ignore it. */
  readonly ip?: bigint;
}

/** PIP: the CR3 that was written (SDM, "Paging Information (PIP) Packet"). */
export interface PipPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "PIP";
  /** The address in CR3: bits 51:5, the others 0. */
  readonly cr3: bigint;
  /** Whether the processor was in VMX non-root operation. */
  readonly nr: boolean;
}

/** MODE.Exec: the addressing mode (SDM, "MODE Packets"). */
export interface ModeExecPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "MODE.Exec";
  /** CS.L and IA32_EFER.LMA: 64-bit code. */
  readonly csL: boolean;
  /** CS.D: with `csL` false, 32-bit code. Both set at once is not a mode. */
  readonly csD: boolean;
  /** RFLAGS.IF; valid if event tracing is on. */
  readonly interruptFlag: boolean;
  /** Reserved bits 4:3, not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** MODE.TSX: the transactional state (SDM, "MODE Packets"). */
export interface ModeTsxPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "MODE.TSX";
  /** Whether a transaction is being executed. */
  readonly inTx: boolean;
  /** Whether a transaction was aborted. */
  readonly txAbort: boolean;
  /** Reserved bits 4:2, not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** TraceSTOP (SDM, "TraceStop Packet"). */
export interface TraceStopPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "TraceSTOP";
}

/** CBR: the core to bus ratio (SDM, "Core:Bus Ratio (CBR) Packet"). */
export interface CbrPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "CBR";
  /** The ratio of core clock to bus clock. */
  readonly ratio: number;
  /** The reserved second byte (bits 15:8), not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** TSC: the low 56 bits of the time-stamp counter (SDM, "Timestamp Counter (TSC) Packet"). */
export interface TscPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "TSC";
  /** The value, 56 bits. */
  readonly tsc: bigint;
}

/** MTC: eight bits of the crystal clock counter (SDM, "Mini Time Counter (MTC) Packet"). */
export interface MtcPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "MTC";
  /** The value, eight bits. */
  readonly ctc: number;
}

/** TMA: aligns TSC and MTC (SDM, "TSC/MTC Alignment (TMA) Packet"). */
export interface TmaPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "TMA";
  /** Bits 15:0 of the crystal clock counter. */
  readonly ctc: number;
  /** Fast counter: nine bits. */
  readonly fastCounter: number;
  /** Reserved bits 23:16 and 39:33 of the five bytes, not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** CYC: processor clocks since the last CYC (SDM, "Cycle Count (CYC) Packet"). */
export interface CycPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "CYC";
  /** The count. */
  readonly cycles: bigint;
  /** Length in bytes, if it exceeds the minimum for the value. */
  readonly size?: number;
}

/** VMCS: the loaded VMCS pointer (SDM, "VMCS Packet"). */
export interface VmcsPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "VMCS";
  /** The address: bits 51:12, the others 0. */
  readonly base: bigint;
}

/** OVF: packets were lost (SDM, "Overflow (OVF) Packet"). */
export interface OvfPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "OVF";
}

/** PSB: a position at which decoding can start (SDM, "Packet Stream Boundary (PSB) Packet"). */
export interface PsbPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "PSB";
}

/** PSBEND: the end of the packets after a PSB that describe the state (SDM, "PSBEND Packet"). */
export interface PsbendPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "PSBEND";
}

/** MNT: specific to the processor model (SDM, "Maintenance (MNT) Packet"). */
export interface MntPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "MNT";
  /** The raw payload. */
  readonly payload: bigint;
}

/** PTW: the operand of a PTWRITE instruction (SDM, "PTWRITE (PTW) Packet"). */
export interface PtwPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "PTW";
  /** Size of the operand in bytes. */
  readonly operandSize: 4 | 8;
  /** The raw payload. */
  readonly payload: bigint;
  /** Whether a FUP with the instruction's address follows. */
  readonly ip: boolean;
}

/** EXSTOP: execution stopped (SDM, "Execution Stopped (EXSTOP) Packet"). */
export interface ExstopPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "EXSTOP";
  /** Whether a FUP with the next instruction's address follows. */
  readonly ip: boolean;
}

/** MWAIT: an MWAIT to a C-state deeper than C0 (SDM, "MWAIT Packet"). */
export interface MwaitPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "MWAIT";
  /** EAX bits 7:0. */
  readonly hints: number;
  /** ECX bits 1:0. */
  readonly extensions: number;
  /** The other 54 bits of the payload, not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** PWRE: entry to a C-state (SDM, "Power Entry (PWRE) Packet"). */
export interface PwrePacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "PWRE";
  /** Whether hardware, not an instruction, initiated the entry to a C-state. */
  readonly hardware: boolean;
  /** Resolved thread C-state: 0 is C1. */
  readonly cState: number;
  /** Resolved thread sub C-state. */
  readonly subCState: number;
  /** Reserved bits 6:0, not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** PWRX: return to C0 (SDM, "Power Exit (PWRX) Packet"). */
export interface PwrxPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "PWRX";
  /** Last core C-state. */
  readonly lastCState: number;
  /** Deepest core C-state. */
  readonly deepestCState: number;
  /** Bit 0: interrupt, bit 2: store to the monitored address, bit 3: hardware. */
  readonly wakeReason: number;
  /** Reserved bits 39:12, not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** BBP: a block of items begins (SDM, "Block Begin Packet (BBP)"). */
export interface BbpPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "BBP";
  /** Size in bytes of the value of each BIP in the block. */
  readonly itemSize: 4 | 8;
  /** Type of the items: for example 1 (general registers), 4 (PEBS basic), 0x10 (XMM). */
  readonly blockType: number;
  /** Reserved bits 6:5, not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** BIP: an item of a block (SDM, "Block Item Packet (BIP)"). */
export interface BipPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "BIP";
  /** Size of the value in bytes, from the BBP. */
  readonly itemSize: 4 | 8;
  /** The item's ID within its block: five bits. */
  readonly id: number;
  /** The value. */
  readonly value: bigint;
}

/** BEP: a block ends (SDM, "Block End Packet (BEP)"). */
export interface BepPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "BEP";
  /** Whether a FUP with an address follows. */
  readonly ip: boolean;
}

/** CFE: a control flow event (SDM, "Control Flow Event (CFE) Packet"). */
export interface CfePacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "CFE";
  /** For example 1 (interrupt), 2 (IRET), 3 (SMI), 4 (RSM), 5 (SIPI), 6 (INIT), 7 (VM entry), 8 (VM exit). */
  readonly eventType: number;
  /** The vector, for event types with a vector. */
  readonly vector: number;
  /** Whether a FUP with an address follows. */
  readonly ip: boolean;
  /** Reserved bits 6:5, not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** EVD: data of an event (SDM, "Event Data (EVD) Packet"). */
export interface EvdPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "EVD";
  /** 0: page fault address, 1: VM exit qualification, 2: VM exit reason. */
  readonly eventType: number;
  /** The raw payload. */
  readonly payload: bigint;
  /** Reserved bits 7:6 of the type byte, not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** TRIG: a trigger fired (SDM, "Trigger (TRIG) Packet"). */
export interface TrigPacket {
  /** The name of the packet, as the SDM writes it. */
  readonly type: "TRIG";
  /** Trigger bit vector. */
  readonly triggers: number;
  /** Whether a FUP with an address follows. */
  readonly ip: boolean;
  /** Whether a trigger fired more than once. */
  readonly multiple: boolean;
  /** Instructions since the trigger, if the packet has the count. */
  readonly instructionCount?: number;
  /** Reserved bits 4:0 of the first payload byte, not shifted; absent if 0. */
  readonly reserved?: bigint;
}

/** Bytes that are not a packet. */
export interface BadPacket {
  /**
   * `"BAD_OPCODE"`: a byte that begins no packet. `"BAD_PACKET"`: a known opcode in a form that the SDM
   * does not have. `"TRUNCATED"`: the stream ends inside a packet. `"SKIPPED"`: bytes before the next PSB,
   * at most 4096 at once.
   */
  readonly type: "BAD_OPCODE" | "BAD_PACKET" | "TRUNCATED" | "SKIPPED";
  /** A copy of the bytes. */
  readonly bytes: Uint8Array;
}

/** Any packet of an Intel PT stream, or bytes that are not one. */
export type Packet =
  | PadPacket
  | TntPacket
  | IpPacket
  | PipPacket
  | ModeExecPacket
  | ModeTsxPacket
  | TraceStopPacket
  | CbrPacket
  | TscPacket
  | MtcPacket
  | TmaPacket
  | CycPacket
  | VmcsPacket
  | OvfPacket
  | PsbPacket
  | PsbendPacket
  | MntPacket
  | PtwPacket
  | ExstopPacket
  | MwaitPacket
  | PwrePacket
  | PwrxPacket
  | BbpPacket
  | BipPacket
  | BepPacket
  | CfePacket
  | EvdPacket
  | TrigPacket
  | BadPacket;
