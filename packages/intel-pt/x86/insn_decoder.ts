import { InsnKind } from "./insn_kind.ts";

/** Execution mode of the code: CS.L and CS.D. */
export type InsnMode = 64 | 32 | 16;

const {
  OTHER,
  JCC,
  JMP,
  JMP_INDIRECT,
  CALL,
  CALL_INDIRECT,
  RET,
  SYSCALL,
  SYSRET,
  INT,
  IRET,
  FAR_CALL,
  FAR_JMP,
  FAR_RET,
  VM_ENTRY,
  VM_CALL,
  PTWRITE,
  MOV_CR3,
} = InsnKind;

// Operands after an opcode: a ModRM byte, and an immediate of one of these forms.
const MODRM = 0x10;
/** Immediate: one byte. */
const IB = 1;
/** Immediate: two bytes. */
const IW = 2;
/** Immediate: operand size, at most four bytes. */
const IZ = 3;
/** Immediate: operand size, up to eight bytes. */
const IV = 4;
/** Immediates of ENTER: two bytes and one byte. */
const IWB = 5;
/** Immediate: an address. */
const MOFFS = 6;
/** Immediate: a far pointer, operand size and two bytes. */
const AP = 7;
/** Immediate: a branch displacement of one byte. */
const JB = 8;
/** Immediate: a branch displacement of operand size; four bytes in 64-bit code. */
const JZ = 9;
/** TEST in group 3: an immediate if ModRM.reg is 0 or 1, of one byte or of operand size. */
const G3B = 10;
const G3Z = 11;
/** Immediate: four bytes. */
const ID = 12;
/** Immediates: two, of one byte each (EXTRQ, INSERTQ). */
const IB2 = 13;
/** The opcode is invalid in 64-bit code. */
const NOT64 = 0x20;
/** The opcode is always invalid. */
const BAD = 0x40;

/** Creates a table from rows `"first-last": flags`; `rest` is the value of other opcodes. */
function table(rows: Readonly<Record<string, number>>, rest: number): Uint8Array {
  const flags = new Uint8Array(256).fill(rest);
  for (const [range, value] of Object.entries(rows)) {
    const [first = 0, last = first] = range.split("-").map((hex) => parseInt(hex, 16));
    flags.fill(value, first, last + 1);
  }
  return flags;
}

/** Intel SDM, Volume 2, table "One-byte Opcode Map". */
const MAP0 = table({
  ...Object.fromEntries(
    ["00", "08", "10", "18", "20", "28", "30", "38"].flatMap((first) => {
      const at = parseInt(first, 16);
      const hex = (n: number) => (at + n).toString(16);
      return [
        [`${hex(0)}-${hex(3)}`, MODRM],
        [hex(4), IB],
        [hex(5), IZ],
        [`${hex(6)}-${hex(7)}`, NOT64],
      ];
    }),
  ),
  "60-61": NOT64,
  "62": MODRM | NOT64,
  "63": MODRM,
  "68": IZ,
  "69": MODRM | IZ,
  "6a": IB,
  "6b": MODRM | IB,
  "70-7f": JB,
  "80": MODRM | IB,
  "81": MODRM | IZ,
  "82": MODRM | IB | NOT64,
  "83": MODRM | IB,
  "84-8f": MODRM,
  "9a": AP | NOT64,
  "a0-a3": MOFFS,
  "a8": IB,
  "a9": IZ,
  "b0-b7": IB,
  "b8-bf": IV,
  "c0-c1": MODRM | IB,
  "c2": IW,
  "c4-c5": MODRM | NOT64,
  "c6": MODRM | IB,
  "c7": MODRM | IZ,
  "c8": IWB,
  "ca": IW,
  "cd": IB,
  "ce": NOT64,
  "d0-d3": MODRM,
  "d4-d5": IB | NOT64,
  "d6": NOT64,
  "d8-df": MODRM,
  "e0-e3": JB,
  "e4-e7": IB,
  "e8-e9": JZ,
  "ea": AP | NOT64,
  "eb": JB,
  "f6": MODRM | G3B,
  "f7": MODRM | G3Z,
  "fe-ff": MODRM,
}, 0);

/** Intel SDM, Volume 2, table "Two-byte Opcode Map", after 0F. */
const MAP1 = table({
  "04": BAD,
  "05-09": 0,
  "0a": BAD,
  "0b": 0,
  "0c": BAD,
  "0e": 0,
  "0f": MODRM | IB,
  "25": BAD,
  "27": BAD,
  "30-35": 0,
  "36": BAD,
  "37": 0,
  "39": BAD,
  "3b-3f": BAD,
  "70-73": MODRM | IB,
  "77": 0,
  "7a-7b": BAD,
  "80-8f": JZ,
  "a0-a2": 0,
  "a4": MODRM | IB,
  "a8-aa": 0,
  "ac": MODRM | IB,
  "ba": MODRM | IB,
  "c2": MODRM | IB,
  "c4-c6": MODRM | IB,
  "c8-cf": 0,
}, MODRM);

/** Map 1 in VEX and EVEX. */
const VEX1 = table({
  "70-73": MODRM | IB,
  "77": 0,
  "c2": MODRM | IB,
  "c4-c6": MODRM | IB,
}, MODRM);
const NO_IMM = table({}, MODRM);
const WITH_IB = table({}, MODRM | IB);
const WITH_ID = table({}, MODRM | ID);
/** Map 4 in EVEX: general instructions of APX. */
const EVEX4 = table({
  "24": MODRM | IB,
  "2c": MODRM | IB,
  "69": MODRM | IZ,
  "6b": MODRM | IB,
  "80": MODRM | IB,
  "81": MODRM | IZ,
  "83": MODRM | IB,
  "c0-c1": MODRM | IB,
  "f6": MODRM | G3B,
  "f7": MODRM | G3Z,
}, MODRM);

/** Flags of each opcode by map. VEX and EVEX have the same immediates except in map 4. */
const VEX_MAPS: readonly (Uint8Array | undefined)[] = [
  undefined,
  VEX1,
  NO_IMM,
  WITH_IB,
  EVEX4,
  NO_IMM,
  NO_IMM,
  WITH_ID,
  // XOP (AMD).
  WITH_IB,
  NO_IMM,
  WITH_ID,
];

/** Prefix flags in {@linkcode PREFIX}; REX has none. */
const P66 = 1;
const P67 = 2;
const PF2 = 4;
const PF3 = 8;
const PSEG = 16;

/** Flag of each prefix byte; 0 for other bytes. */
const PREFIX = new Uint8Array(256);
PREFIX[0x66] = P66;
PREFIX[0x67] = P67;
PREFIX[0xf2] = PF2;
PREFIX[0xf3] = PF3;
for (const byte of [0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0xf0]) PREFIX[byte] = PSEG;

/** Kind of the first map's opcodes that do not depend on ModRM. */
const KIND0 = table({
  "70-7f": JCC,
  "9a": FAR_CALL,
  "c2-c3": RET,
  "ca-cb": FAR_RET,
  "cc-ce": INT,
  "cf": IRET,
  "e0-e3": JCC,
  "e8": CALL,
  "e9": JMP,
  "ea": FAR_JMP,
  "eb": JMP,
  "f1": INT,
}, OTHER);

/** Kind of the opcodes after 0F that do not depend on ModRM. */
const KIND1 = table({
  "05": SYSCALL,
  "07": SYSRET,
  "34": SYSCALL,
  "35": SYSRET,
  "80-8f": JCC,
  "aa": IRET,
}, OTHER);

/** Kind of FF by ModRM.reg. */
const KIND_FF = [OTHER, OTHER, CALL_INDIRECT, FAR_CALL, JMP_INDIRECT, FAR_JMP, OTHER, OTHER];

/** Maximum length of an instruction in bytes. */
const MAX_LENGTH = 15;

/**
 * Decodes the length and the branch of x86 instructions: all that following a trace requires.
 *
 * Supports the opcode maps of the Intel SDM, Volume 2, appendix "Opcode Map": the legacy maps, VEX,
 * EVEX (AVX-512, AVX10 and the map of APX), REX2, and AMD's 3DNow and XOP. It does not check
 * operands: some bytes that a processor rejects are decoded as an instruction of kind OTHER.
 *
 * @example
 * ```ts
 * import { InsnDecoder, InsnKind } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const decoder = new InsnDecoder();
 * // e8 rel32: call
 * assertEquals(decoder.decode(Uint8Array.of(0xe8, 0xfb, 0xff, 0xff, 0xff), 0, 5, 64), 5);
 * assertEquals([decoder.kind, decoder.relative], [InsnKind.CALL, -5]);
 * ```
 */
export class InsnDecoder {
  /** Kind of the last decoded instruction. */
  kind: InsnKind = OTHER;
  /** Target of JCC, JMP and CALL, relative to the next instruction. */
  relative = 0;
  /** Whether the operand size is 16 bits: a branch then clears the higher bits of its target. */
  operand16 = false;
  /** Whether the target is absolute (JMPABS); its halves are `absoluteLow` and `absoluteHigh`. */
  absolute = false;
  /** Bits 31:0 of an absolute target, as a signed integer. */
  absoluteLow = 0;
  /** Bits 63:32 of an absolute target, as a signed integer. */
  absoluteHigh = 0;

  private bytes: Uint8Array = new Uint8Array(0);
  private limit = 0;

  /**
   * Decodes one instruction.
   *
   * @param bytes Memory with the instruction.
   * @param at Offset of the instruction's first byte.
   * @param end Offset after the last readable byte.
   * @param mode Width of the code in bits.
   * @returns The length in bytes; 0 if the instruction exceeds `end`; -1 if it is invalid.
   */
  decode(bytes: Uint8Array, at: number, end: number, mode: InsnMode): number {
    this.kind = OTHER;
    this.relative = 0;
    this.operand16 = mode === 16;
    this.absolute = false;
    this.bytes = bytes;
    this.limit = Math.min(end, at + MAX_LENGTH);
    const to = this.walk(at, mode);
    if (to <= 0) return to;
    if (to - at > MAX_LENGTH) return -1;
    return to <= end ? to - at : 0;
  }

  /** Returns the result at the end of the available bytes: 0, or -1 if the instruction is already too long. */
  private short(start: number): number {
    return this.limit - start === MAX_LENGTH ? -1 : 0;
  }

  /** Returns the offset after the instruction, or 0 or -1 like `decode`. */
  private walk(start: number, mode: InsnMode): number {
    const { bytes, limit } = this;
    let prefixes = 0;
    let rex = 0;
    let at = start;
    let byte = 0;
    for (;;) {
      if (at >= limit) return this.short(start);
      byte = bytes[at++] as number;
      const prefix = PREFIX[byte] as number;
      if (prefix !== 0) {
        prefixes |= prefix;
        rex = 0;
      } else if (mode === 64 && (byte & 0xf0) === 0x40) rex = byte;
      else break;
    }
    const next = at < limit ? bytes[at] as number : -1;
    if (byte === 0x0f) return this.escape(start, at, mode, prefixes, rex);
    if (byte === 0xc4 || byte === 0xc5 || byte === 0x62) {
      if (next < 0) return this.short(start);
      if (mode === 64 || next >= 0xc0) return this.vex(start, at, byte, mode, prefixes);
    }
    if (byte === 0x8f) {
      if (next < 0) return this.short(start);
      if ((next & 0x1f) >= 8) return this.vex(start, at, byte, mode, prefixes);
    }
    if (mode === 64 && byte === 0xd5) {
      // REX2: a payload, then an opcode of the first map or, with bit 7, of the second map.
      if (at + 1 >= limit) return this.short(start);
      const rex2 = 0x40 | next & 0x0f | (next & 0x40) >> 4;
      const opcode = bytes[at + 1] as number;
      if ((next & 0x80) !== 0) return this.opcode1(start, at + 2, opcode, mode, prefixes, rex2);
      if (next === 0 && opcode === 0xa1) {
        if (at + 10 > limit) return this.short(start);
        this.kind = JMP;
        this.absolute = true;
        this.absoluteLow = readWord(bytes, at + 2);
        this.absoluteHigh = readWord(bytes, at + 6);
        return at + 10;
      }
      return this.opcode0(start, at + 2, opcode, mode, prefixes, rex2);
    }
    return this.opcode0(start, at, byte, mode, prefixes, rex);
  }

  /** Decodes an opcode of the first map, after the prefixes. */
  private opcode0(
    start: number,
    at: number,
    byte: number,
    mode: InsnMode,
    prefixes: number,
    rex: number,
  ): number {
    const flags = MAP0[byte] as number;
    if ((flags & NOT64) !== 0 && mode === 64) return -1;
    this.kind = KIND0[byte] as InsnKind;
    if ((flags & MODRM) === 0) {
      return this.operands(start, at, flags, mode, prefixes, rex);
    }
    if (byte === 0xff) {
      if (at >= this.limit) return this.short(start);
      const modrm = this.bytes[at] as number;
      const reg = modrm >> 3 & 7;
      this.kind = KIND_FF[reg] as InsnKind;
      if (reg === 7 || (modrm >= 0xc0 && (reg === 3 || reg === 5))) return -1;
    }
    return this.operands(start, at, flags, mode, prefixes, rex);
  }

  /** Decodes an opcode after 0F. */
  private escape(
    start: number,
    at: number,
    mode: InsnMode,
    prefixes: number,
    rex: number,
  ): number {
    if (at >= this.limit) return this.short(start);
    const opcode = this.bytes[at] as number;
    if (opcode === 0x38 || opcode === 0x3a) {
      if (at + 1 >= this.limit) return this.short(start);
      return this.operands(
        start,
        at + 2,
        opcode === 0x38 ? MODRM : MODRM | IB,
        mode,
        prefixes,
        rex,
      );
    }
    return this.opcode1(start, at + 1, opcode, mode, prefixes, rex);
  }

  /** Decodes an opcode of the second map, after 0F. */
  private opcode1(
    start: number,
    at: number,
    opcode: number,
    mode: InsnMode,
    prefixes: number,
    rex: number,
  ): number {
    let flags = MAP1[opcode] as number;
    if ((flags & BAD) !== 0) return -1;
    this.kind = KIND1[opcode] as InsnKind;
    if ((flags & MODRM) !== 0) {
      if (at >= this.limit) return this.short(start);
      const modrm = this.bytes[at] as number;
      switch (opcode) {
        case 0x01:
          this.kind = systemKind(modrm, prefixes);
          break;
        case 0x20:
        case 0x21:
        case 0x22:
        case 0x23:
        case 0x24:
        case 0x26:
          // Control and debug registers: the operand is a register for any ModRM.mod.
          if (opcode === 0x22 && (modrm & 0x38) === 0x18 && (rex & 4) === 0) this.kind = MOV_CR3;
          return at + 1;
        case 0x78:
          if ((prefixes & (P66 | PF2)) !== 0) flags = MODRM | IB2;
          break;
        case 0xae:
          if ((modrm & 0x38) === 0x20 && (prefixes & (PF3 | P66)) === PF3) this.kind = PTWRITE;
          break;
      }
    }
    return this.operands(start, at, flags, mode, prefixes, rex);
  }

  /** Decodes VEX (C4, C5), EVEX (62) and XOP (8F); `at` is the offset of the second byte. */
  private vex(start: number, at: number, byte: number, mode: InsnMode, prefixes: number): number {
    const { bytes, limit } = this;
    const payload = byte === 0xc5 ? 1 : byte === 0x62 ? 3 : 2;
    if (at + payload >= limit) return this.short(start);
    const first = bytes[at] as number;
    const map = byte === 0xc5 ? 1 : byte === 0x62 ? first & 7 : first & 0x1f;
    const flags = map < (byte === 0x8f ? 11 : 8) ? VEX_MAPS[map] : undefined;
    if (flags === undefined) return -1;
    const opcode = bytes[at + payload] as number;
    const second = bytes[at + 1] as number;
    if (byte === 0x62 && map === 4) {
      const wide = (second & 0x80) !== 0;
      const legacy = prefixes & P67 | ((second & 3) === 1 ? P66 : 0);
      return this.operands(
        start,
        at + 4,
        flags[opcode] as number,
        mode,
        legacy,
        wide ? 0x48 : 0x40,
      );
    }
    const rest = byte !== 0x62 && map === 1 && opcode === 0x77 ? 0 : flags[opcode] as number;
    return this.operands(
      start,
      at + payload + 1,
      byte === 0x62 && map === 1 && opcode === 0x77 ? MODRM : rest,
      mode,
      prefixes,
      0,
    );
  }

  /** Returns the offset after the operands, which start at `at`. */
  private operands(
    start: number,
    at: number,
    flags: number,
    mode: InsnMode,
    prefixes: number,
    rex: number,
  ): number {
    const { bytes, limit } = this;
    let reg = 0;
    if ((flags & MODRM) !== 0) {
      if (at >= limit) return this.short(start);
      const modrm = bytes[at++] as number;
      reg = modrm >> 3 & 7;
      if (modrm < 0xc0) {
        const mod = modrm >> 6;
        const rm = modrm & 7;
        if (mode === 16 ? (prefixes & P67) === 0 : mode === 32 && (prefixes & P67) !== 0) {
          at += mod === 0 ? (rm === 6 ? 2 : 0) : mod;
        } else {
          let base = rm;
          if (rm === 4) {
            if (at >= limit) return this.short(start);
            base = (bytes[at++] as number) & 7;
          }
          if (mod === 1) at++;
          else if (mod === 2 || base === 5) at += 4;
        }
      }
    }
    const operand16 = (mode === 16) !== ((prefixes & P66) !== 0);
    const form = flags & 15;
    const small = operand16 && (rex & 8) === 0;
    switch (form) {
      case 0:
        break;
      case IB:
        at++;
        break;
      case IW:
      case IB2:
        at += 2;
        break;
      case IZ:
        at += small ? 2 : 4;
        break;
      case IV:
        at += (rex & 8) !== 0 ? 8 : operand16 ? 2 : 4;
        break;
      case IWB:
        at += 3;
        break;
      case MOFFS:
        at += mode === 64
          ? (prefixes & P67 ? 4 : 8)
          : (mode === 16) !== ((prefixes & P67) !== 0)
          ? 2
          : 4;
        break;
      case AP:
        at += operand16 ? 4 : 6;
        break;
      case JB:
        if (at >= limit) return this.short(start);
        this.relative = (bytes[at++] as number) << 24 >> 24;
        break;
      case JZ: {
        const size = operand16 && mode !== 64 ? 2 : 4;
        if (at + size > limit) return this.short(start);
        const low = (bytes[at] as number) | (bytes[at + 1] as number) << 8;
        this.relative = size === 2
          ? low << 16 >> 16
          : low | (bytes[at + 2] as number) << 16 | (bytes[at + 3] as number) << 24;
        at += size;
        break;
      }
      case G3B:
        if (reg < 2) at++;
        break;
      case G3Z:
        if (reg < 2) at += small ? 2 : 4;
        break;
      case ID:
        at += 4;
        break;
    }
    this.operand16 = operand16 && mode !== 64;
    return at;
  }
}

function readWord(bytes: Uint8Array, at: number): number {
  return (bytes[at] as number) | (bytes[at + 1] as number) << 8 |
    (bytes[at + 2] as number) << 16 | (bytes[at + 3] as number) << 24;
}

/** Returns the kind of 0F 01 with a ModRM byte without memory operand. */
function systemKind(modrm: number, prefixes: number): InsnKind {
  switch (modrm) {
    case 0xc1:
      return VM_CALL;
    case 0xc2:
    case 0xc3:
      return VM_ENTRY;
    case 0xca:
      return (prefixes & (PF2 | PF3)) !== 0 ? SYSRET : OTHER;
    case 0xec:
      return (prefixes & PF3) !== 0 ? IRET : OTHER;
    default:
      return OTHER;
  }
}
