/**
 * Result of {@linkcode PacketDecoder.next}: a number for each packet of the Intel SDM, Volume 3,
 * chapter "Intel Processor Trace", section "Trace Packets and Data Types", and for each kind of invalid
 * bytes.
 *
 * The two results without bytes in the stream come first, so that `while ((kind = decoder.next()) >
 * PacketKind.END)` visits all others.
 *
 * @example
 * ```ts
 * import { PacketDecoder, PacketKind } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const decoder = new PacketDecoder();
 * decoder.feed(Uint8Array.of(0x02, 0xf3));
 * assertEquals(decoder.next(), PacketKind.OVF);
 * ```
 */
export const PacketKind = {
  /** All bytes fed so far are decoded, except perhaps for an incomplete packet. */
  NEED_MORE: 0,
  /** The stream has ended, and all of it has been returned. */
  END: 1,
  /** Padding: one zero byte. */
  PAD: 2,
  /** Taken/not taken, short: 1 to 6 branches in a byte. */
  TNT_8: 3,
  /** Taken/not taken, long: 1 to 47 branches in eight bytes. */
  TNT_64: 4,
  /** Target IP. */
  TIP: 5,
  /** Target IP, packet generation enable. */
  TIP_PGE: 6,
  /** Target IP, packet generation disable. */
  TIP_PGD: 7,
  /** Flow update. */
  FUP: 8,
  /** Paging information: CR3 and the VMX non-root bit. */
  PIP: 9,
  /** MODE, leaf 0: addressing mode and interrupt flag. */
  MODE_EXEC: 10,
  /** MODE, leaf 1: transactional state. */
  MODE_TSX: 11,
  /** A TraceStop region was entered. */
  TRACESTOP: 12,
  /** Core to bus ratio. */
  CBR: 13,
  /** Time-stamp counter. */
  TSC: 14,
  /** Mini time counter. */
  MTC: 15,
  /** TSC/MTC alignment. */
  TMA: 16,
  /** Cycle count. */
  CYC: 17,
  /** VMCS pointer. */
  VMCS: 18,
  /** Overflow: packets were lost. */
  OVF: 19,
  /** Packet stream boundary: sixteen bytes that occur nowhere else. */
  PSB: 20,
  /** The end of the packets that follow a PSB to describe the state. */
  PSBEND: 21,
  /** Maintenance; the payload is specific to the processor model. */
  MNT: 22,
  /** PTWRITE: an operand that software wrote. */
  PTW: 23,
  /** Execution stopped. */
  EXSTOP: 24,
  /** MWAIT, with its hints. */
  MWAIT: 25,
  /** Power entry. */
  PWRE: 26,
  /** Power exit. */
  PWRX: 27,
  /** Block begin. */
  BBP: 28,
  /** Block item; only between a BBP and the end of its block. */
  BIP: 29,
  /** Block end. */
  BEP: 30,
  /** Control flow event. */
  CFE: 31,
  /** Event data. */
  EVD: 32,
  /** Trigger. */
  TRIG: 33,
  /** A byte that begins no packet. */
  BAD_OPCODE: 34,
  /** A known opcode in a form that the SDM does not have. */
  BAD_PACKET: 35,
  /** The stream ended inside a packet. */
  TRUNCATED: 36,
  /** Bytes skipped before the next PSB. */
  SKIPPED: 37,
} as const;

/** One of the numbers of {@linkcode PacketKind}. */
export type PacketKind = typeof PacketKind[keyof typeof PacketKind];
