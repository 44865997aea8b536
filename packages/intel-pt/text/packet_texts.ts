import { PacketKind } from "../packets/packet_kind.ts";

/** A bit field of a packet's payload, or of another number of {@linkcode PacketDecoder}. */
export interface PacketField {
  readonly of: "payload" | "count" | "size" | "ip";
  /** Number of the lowest bit. */
  readonly from: number;
  /** Number of bits; more than 32 means all bits from there on. */
  readonly bits: number;
  /** Number of low zero bits of the value that the packet omits. */
  readonly below: number;
}

/** Formats of a packet's fields in the texts of perf and ptdump. */
export interface PacketText {
  /** Fields by name. Fields that {@linkcode Packet} has, too, have the same name there. */
  readonly fields?: Readonly<Record<string, PacketField>>;
  /** Texts by the value of a field; they may contain fields. `other` applies to all other values. */
  readonly choices?: Readonly<Record<string, Choices>>;
  /**
   * Text of `perf report -D`. `{name}` is a field in hexadecimal, and `{}` the whole payload.
   * `{name:format}` is a field in another format or of `choices`; `{name?text}` is a text if the field is not 0.
   */
  readonly perf?: string;
  /** Text of `ptdump`: a name, a space and the payload. */
  readonly ptdump?: string;
  /** Third column of `ptdump`, in the same form. */
  readonly tracked?: string;
}

/** Texts by index. */
export type Choices = Readonly<Record<number, string>> & { readonly other?: string };

function bits(from: number, bits: number, below = 0): PacketField {
  return { of: "payload", from, bits, below };
}

/** Declares bits of the decoder's `count`, which has the bits of the opcode. */
function count(from: number, bits: number): PacketField {
  return { of: "count", from, bits, below: 0 };
}

/** The whole payload. */
export const PAYLOAD: PacketField = bits(0, 64);

/** ptdump prints question marks for the bytes that are not in the packet. */
const IP = {
  fields: {
    compression: count(0, 3),
    middle: bits(32, 16),
    ip: { of: "ip", from: 0, bits: 64, below: 0 },
  },
  choices: {
    perf: { 0: " no ip", other: " 0x{}" },
    ptdump: {
      0: "0: ????????????????",
      1: "1: ????????????{:x4}",
      2: "2: ????????{:x8}",
      3: "3: {ip:x16}",
      4: "4: ????{middle:x4}{:x8}",
      6: "6: {:x16}",
    },
  },
  // The last IP, by ptdump's own rules.
  tracked: "ip",
} as const;

const TNT_PERF = "TNT {:TN} ({count:d})";
const TNT_FIELDS = { count: count(0, 6) };

const CFE_TYPES: Choices = {
  1: "intr",
  2: "iret",
  3: "smi",
  4: "rsm",
  5: "sipi",
  6: "init",
  7: "vmentry",
  8: "vmexit",
  9: "vmexit_intr",
  10: "shutdown",
  12: "uintr",
  13: "uiret",
  14: "swintr",
  15: "syscall",
  other: "unknown",
};

/** Texts by kind of packet. Without a text, nothing is printed, or only the bytes. */
export const PACKET_TEXTS: Readonly<Record<number, PacketText>> = {
  [PacketKind.PAD]: { perf: "PAD", ptdump: "pad" },
  [PacketKind.TNT_8]: { fields: TNT_FIELDS, perf: TNT_PERF, ptdump: "tnt.8 {:!.}" },
  [PacketKind.TNT_64]: { fields: TNT_FIELDS, perf: TNT_PERF, ptdump: "tnt.64 {:!.}" },
  [PacketKind.TIP]: { ...IP, perf: "TIP{compression:perf}", ptdump: "tip {compression:ptdump}" },
  [PacketKind.TIP_PGE]: {
    ...IP,
    perf: "TIP.PGE{compression:perf}",
    ptdump: "tip.pge {compression:ptdump}",
  },
  [PacketKind.TIP_PGD]: {
    ...IP,
    perf: "TIP.PGD{compression:perf}",
    ptdump: "tip.pgd {compression:ptdump}",
  },
  [PacketKind.FUP]: { ...IP, perf: "FUP{compression:perf}", ptdump: "fup {compression:ptdump}" },
  [PacketKind.PIP]: {
    fields: { cr3: bits(1, 47, 5), sent: bits(1, 47), nr: bits(0, 1) },
    perf: "PIP 0x{sent} (NR={nr:d})",
    ptdump: "pip {cr3}{nr?, nr}",
    tracked: "cr3 {cr3:x16}",
  },
  [PacketKind.MODE_EXEC]: {
    fields: { cs: bits(0, 2), interruptFlag: bits(2, 1), all: bits(0, 3) },
    choices: {
      size: { 0: "16", 1: "64", 2: "32", 3: "64" },
      mode: { 0: "16-bit", 1: "64-bit", 2: "32-bit", 3: "unknown" },
      bits: {
        ...{ 1: "cs.l", 2: "cs.d", 3: "cs.d, cs.l" },
        ...{ 4: "if", 5: "cs.l, if", 6: "cs.d, if", 7: "cs.d, cs.l, if" },
      },
    },
    perf: "MODE.Exec IF:{interruptFlag:d} {cs:size}",
    ptdump: "mode.exec {all:bits}",
    tracked: "em {cs:mode}",
  },
  [PacketKind.MODE_TSX]: {
    fields: { inTx: bits(0, 1), txAbort: bits(1, 1), all: bits(0, 2) },
    choices: { bits: { 1: "intx", 2: "abrt", 3: "intx, abrt" } },
    perf: "MODE.TSX TXAbort:{txAbort:d} InTX:{inTx:d}",
    ptdump: "mode.tsx {all:bits}",
  },
  [PacketKind.TRACESTOP]: { perf: "TraceSTOP", ptdump: "stop" },
  // perf prints the reserved byte, too.
  [PacketKind.CBR]: { fields: { ratio: bits(0, 8) }, perf: "CBR 0x{}", ptdump: "cbr {ratio}" },
  [PacketKind.TSC]: { perf: "TSC 0x{}", ptdump: "tsc {}" },
  [PacketKind.MTC]: { perf: "MTC 0x{}", ptdump: "mtc {}" },
  [PacketKind.TMA]: {
    fields: { ctc: bits(0, 16), fastCounter: bits(24, 9) },
    perf: "TMA CTC 0x{ctc} FC 0x{fastCounter}",
    ptdump: "tma {ctc}, {fastCounter}",
  },
  [PacketKind.CYC]: { perf: "CYC 0x{}", ptdump: "cyc {}" },
  [PacketKind.VMCS]: {
    fields: { base: bits(0, 40, 12) },
    perf: "VMCS 0x{}",
    ptdump: "vmcs {base}",
    tracked: "vmcs {base:x16}",
  },
  [PacketKind.OVF]: { perf: "OVF", ptdump: "ovf" },
  [PacketKind.PSB]: { perf: "PSB", ptdump: "psb" },
  [PacketKind.PSBEND]: { perf: "PSBEND", ptdump: "psbend" },
  [PacketKind.MNT]: { perf: "MNT 0x{}", ptdump: "mnt {}" },
  [PacketKind.PTW]: {
    fields: { size: count(0, 2), ip: count(2, 1) },
    perf: "PTWRITE 0x{} IP:{ip:d}",
    ptdump: "ptw {size}: {}{ip?, ip}",
  },
  [PacketKind.EXSTOP]: {
    fields: { ip: count(0, 1) },
    perf: "EXSTOP IP:{ip:d}",
    ptdump: "exstop {ip?ip}",
  },
  [PacketKind.MWAIT]: {
    fields: { hints: bits(0, 8), extensions: bits(32, 2), high: bits(32, 32) },
    perf: "MWAIT 0x{} Hints 0x{hints} Extensions 0x{extensions}",
    ptdump: "mwait {:x8}, {high:x8}",
  },
  [PacketKind.PWRE]: {
    // In the SDM, the hardware bit is bit 7; ptdump uses bit 3.
    fields: { hardware: bits(7, 1), bit3: bits(3, 1), cState: bits(12, 4), subCState: bits(8, 4) },
    perf: "PWRE 0x{} HW:{hardware:d} CState:{cState:d} Sub-CState:{subCState:d}",
    ptdump: "pwre c{cState:c}.{subCState:c}{bit3?, hw}",
  },
  [PacketKind.PWRX]: {
    fields: { lastCState: bits(4, 4), deepestCState: bits(0, 4), wakeReason: bits(8, 4) },
    // Bit 1 of the reason is reserved.
    choices: {
      reason: { 1: "int", 3: "int", 4: " st", 6: " st", 8: " hw", 10: " hw", other: "bad" },
    },
    perf: "PWRX 0x{} Last CState:{lastCState:d} Deepest CState:{deepestCState:d} " +
      "Wake Reason 0x{wakeReason}",
    ptdump: "pwrx {wakeReason:reason}: c{lastCState:c}, c{deepestCState:c}",
  },
  [PacketKind.BBP]: {
    fields: { itemSize: bits(7, 1), blockType: bits(0, 5) },
    choices: { bytes: { 0: "8-byte", 1: "4-byte" } },
    perf: "BBP SZ {itemSize:bytes} Type 0x{blockType}",
  },
  [PacketKind.BIP]: { fields: { id: count(0, 5) }, perf: "BIP ID 0x{id:x2} Value 0x{}" },
  [PacketKind.BEP]: { fields: { ip: count(0, 1) }, perf: "BEP IP:{ip:d}" },
  [PacketKind.CFE]: {
    fields: { eventType: bits(0, 5), vector: bits(8, 8), ip: bits(7, 1) },
    choices: {
      types: CFE_TYPES,
      vectors: {
        ...{ 1: ": {vector:d}", 9: ": {vector:d}", 12: ": {vector:d}", 14: ": {vector:d}" },
        5: ": {vector}",
      },
    },
    perf: "CFE IP:{ip:d} Type 0x{eventType:x2} Vector 0x{vector}",
    ptdump: "cfe {eventType:d}{eventType:vectors}{ip?, ip}",
    tracked: "type {eventType:types}",
  },
  [PacketKind.EVD]: {
    // ptdump uses five of the six bits.
    fields: { eventType: count(0, 6), lowType: count(0, 5) },
    choices: { types: { 0: "cr2", 1: "vmxq", 2: "vmxr", other: "unknown" } },
    perf: "EVD Type 0x{eventType:x2} Payload 0x{}",
    ptdump: "evd {lowType:d}: {}",
    tracked: "type {lowType:types}",
  },
  [PacketKind.TRIG]: {
    fields: {
      triggers: bits(8, 8),
      ip: bits(7, 1),
      multiple: bits(5, 1),
      instructionCount: bits(16, 16),
      bytes: { of: "size", from: 0, bits: 3, below: 0 },
    },
    choices: { counted: { 5: ", icnt: {instructionCount:d}" } },
    ptdump: "trig {triggers:x2}{ip?, ip}{multiple?, mult}{bytes:counted}",
  },
  // Packets that perf cannot decode.
  [PacketKind.BAD_OPCODE]: { perf: "Bad packet!" },
};
