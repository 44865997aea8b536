/** Decodes how AArch64 instructions use memory and registers (Arm ARM, C4.1). */
import { numberAt } from "@perfdata/format/bytes";
import type { DataDecoder, DataInsn, InsnEffect, InsnFlow, MemoryOperand } from "./data_insn.ts";

/** The stack pointer by its DWARF number; as another operand, the register that is zero. */
const SP = 31;
/** The conventional frame pointer. */
const FP = 29;
const WORD = 4;
const PAGE = 4096;
/** Registers that a called function need not preserve: x0 to x18. */
const LOST = Array.from({ length: 19 }, (_, register) => register);

/** An instruction without its position. */
interface Decoded {
  flow?: InsnFlow;
  /** Distance of the target of a jump or call. */
  distance?: number;
  memory?: MemoryOperand;
  isStackOperation?: boolean;
  effect?: InsnEffect;
  written?: readonly number[];
}

/** Creates the decoder of AArch64. */
export function armDataDecoder(): DataDecoder {
  return { insns, returned: 0, stackPointer: SP, lostByCalls: LOST };
}

function insns(bytes: Uint8Array, address: bigint): DataInsn[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = Number(BigInt.asIntN(64, address));
  const decoded: Decoded[] = [];
  for (let at = 0; at + WORD <= bytes.length; at += WORD) {
    decoded.push(decode(view.getUint32(at, true)));
  }
  const pages = new Pages(decoded, view, start);
  const found = decoded.map((own, i): DataInsn => {
    const at = WORD * i;
    const { flow = "next", distance, isStackOperation = false, written = [] } = own;
    const { memory, effect } = pages.resolved(i);
    return {
      ...{ at, length: WORD, flow, memory, isStackOperation, effect, written },
      target: distance === undefined ? undefined : at + distance,
      // A comparison has no operand in memory.
      isCompare: false,
      isConditional: flow === "branch",
    };
  });
  const rest = bytes.length % WORD;
  return rest === 0 ? found : [...found, {
    ...{ at: bytes.length - rest, length: rest, flow: "end", target: undefined, memory: undefined },
    ...{ isStackOperation: false, isCompare: false, isConditional: false, effect: undefined },
    written: [],
  }];
}

/**
 * Addresses of global variables: ADRP computes the page, and a later instruction adds the offset. A
 * page is followed in straight code; past jumps, only in a register that holds no other value.
 */
class Pages {
  readonly #decoded: readonly Decoded[];
  readonly #resolved: (Pick<DataInsn, "memory" | "effect"> | undefined)[] = [];

  constructor(decoded: readonly Decoded[], view: DataView, start: number) {
    this.#decoded = decoded;
    const page = (i: number): number | undefined => {
      const word = view.getUint32(WORD * i, true);
      if ((word & 0x9f000000) >>> 0 !== 0x90000000) return undefined;
      const at = start + WORD * i;
      return Math.floor(at / PAGE) * PAGE + relative(word) * PAGE;
    };
    const targets = new Set<number>();
    /** The page that a register always has; `NaN` if it has other values, too. */
    const only = new Map<number, number>();
    for (const [i, { distance, flow, written = [] }] of decoded.entries()) {
      if (distance !== undefined && flow !== "call") targets.add(i + distance / WORD);
      const own = page(i);
      for (const register of flow === "call" ? LOST : written) {
        const value = own ?? NaN;
        only.set(register, only.has(register) && only.get(register) !== value ? NaN : value);
      }
    }
    const pages = new Map<number, number>();
    for (const [i, { memory, effect, flow, written = [] }] of decoded.entries()) {
      if (targets.has(i) || ["jump", "end"].includes(decoded[i - 1]?.flow ?? "")) {
        for (const register of pages.keys()) {
          if (Number.isNaN(only.get(register) ?? NaN)) pages.delete(register);
        }
      }
      const of = memory === undefined ? undefined : pages.get(memory.base);
      if (memory !== undefined && of !== undefined && !memory.isIndexed) {
        const operand = { ...memory, base: -1, offset: of + memory.offset, isAddress: true };
        this.#resolved[i] = { memory: operand, effect };
      } else if (effect?.kind === "add" && effect.of !== undefined && pages.has(effect.of)) {
        const offset = (pages.get(effect.of) ?? 0) + effect.value;
        this.#resolved[i] = {
          memory: operandAt(-1, offset, { isAddress: true, isAccessed: false }),
          effect: { kind: "address", to: effect.to },
        };
      } else if (memory?.isAddress === true) {
        // Relative to the instruction.
        const operand = { ...memory, offset: start + WORD * i + memory.offset };
        this.#resolved[i] = { memory: operand, effect };
      }
      for (const register of flow === "call" ? LOST : written) pages.delete(register);
      const own = page(i);
      if (own !== undefined) pages.set(numberAt(written, 0), own);
    }
  }

  resolved(i: number): Pick<DataInsn, "memory" | "effect"> {
    const { memory, effect } = this.#decoded[i] ?? {};
    return this.#resolved[i] ?? { memory, effect };
  }
}

function operandAt(
  base: number,
  offset: number,
  { isIndexed = false, isAddress = false, isAccessed = true } = {},
): MemoryOperand {
  return { base, offset, isIndexed, isAddress, isAccessed, isSegment: false };
}

/** A signed bit field. */
function field(word: number, at: number, bits: number): number {
  return word << (32 - at - bits) >> (32 - bits);
}

/** An unsigned bit field. */
function bits(word: number, at: number, count: number): number {
  return word >>> at & (1 << count) - 1;
}

/** The operand of ADR and ADRP. */
function relative(word: number): number {
  return field(word, 5, 19) * 4 + bits(word, 29, 2);
}

/** The register in the lowest bits, if it is written: 31 is the register that is zero. */
function toRegister(word: number): readonly number[] {
  const register = bits(word, 0, 5);
  return register === SP ? [] : [register];
}

function decode(word: number): Decoded {
  const group = bits(word, 25, 4);
  if ((group & 0b1110) === 0b1000) return immediate(word);
  if ((group & 0b1110) === 0b1010) return branch(word);
  if ((group & 0b0101) === 0b0100) return access(word);
  if ((group & 0b0111) === 0b0101) return register(word);
  // UDF
  if (word >>> 16 === 0) return { flow: "end" };
  // Vectors: a few instructions write a general register.
  return { written: toRegister(word) };
}

/** Data processing with an immediate operand. */
function immediate(word: number): Decoded {
  const to = bits(word, 0, 5), of = bits(word, 5, 5);
  if (bits(word, 24, 5) === 0b10000) {
    if (word >>> 31 === 1) return { written: toRegister(word) };
    const memory = operandAt(-1, relative(word), { isAddress: true, isAccessed: false });
    return { written: toRegister(word), memory, effect: { kind: "address", to } };
  }
  if (bits(word, 23, 6) !== 0b100010) {
    return { written: to === SP && bits(word, 23, 6) === 0b100100 ? [SP] : toRegister(word) };
  }
  // ADD and SUB; with flags, register 31 is not the stack pointer.
  const setsFlags = bits(word, 29, 1) === 1;
  if (setsFlags && to === SP) return {};
  const value = bits(word, 10, 12) * (bits(word, 22, 1) === 1 ? PAGE : 1);
  const written = [to];
  if (word >>> 31 === 0) return { written };
  const step = bits(word, 30, 1) === 1 ? -value : value;
  // A sum with the stack pointer or the frame pointer is the address of a variable in the frame.
  return of === SP || of === FP
    ? {
      memory: operandAt(of, step, { isAccessed: false }),
      written,
      effect: { kind: "address", to },
    }
    : { written, effect: { kind: "add", to, of, value: step } };
}
/** Branches, exceptions and system instructions. */
function branch(word: number): Decoded {
  if (bits(word, 26, 5) === 0b00101) {
    const distance = field(word, 0, 26) * WORD;
    return word >>> 31 === 1
      ? { flow: "call", distance, isStackOperation: true }
      : { flow: "jump", distance };
  }
  if (word >>> 24 === 0b01010100 || bits(word, 25, 6) === 0b011010) {
    return { flow: "branch", distance: field(word, 5, 19) * WORD };
  }
  if (bits(word, 25, 6) === 0b011011) {
    return { flow: "branch", distance: field(word, 5, 14) * WORD };
  }
  if (word >>> 25 === 0b1101011) {
    const kind = bits(word, 21, 3);
    return kind === 1
      ? { flow: "call", isStackOperation: true }
      : { flow: "end", isStackOperation: kind === 2 };
  }
  // BRK and HLT do not continue.
  if (word >>> 24 === 0b11010100) return { flow: bits(word, 21, 3) === 0 ? "next" : "end" };
  // MRS writes a register.
  return { written: word >>> 20 === 0xd53 ? toRegister(word) : [] };
}

/** Loads and stores. */
function access(word: number): Decoded {
  const to = bits(word, 0, 5), base = bits(word, 5, 5);
  const isVector = bits(word, 26, 1) === 1;
  const size = word >>> 30;
  const kind = bits(word, 27, 3);
  if (kind === 0b101) return pair(word);
  if (kind === 0b111) return single(word);
  if (kind === 0b011 && bits(word, 24, 1) === 0) {
    // A literal; PRFM has none.
    if (size === 3) return {};
    const memory = operandAt(-1, field(word, 5, 19) * WORD, { isAddress: true });
    if (isVector) return { memory };
    return {
      memory,
      written: toRegister(word),
      effect: size === 1 ? { kind: "load", to } : undefined,
    };
  }
  if (kind === 0b011) {
    // LDAPUR and STLUR; operations on tags are alike.
    const memory = operandAt(base, field(word, 12, 9));
    return { memory, written: bits(word, 22, 2) === 0 ? [] : toRegister(word) };
  }
  const memory = operandAt(base, 0);
  // Structures of vectors; some add to the base.
  if (isVector) return { memory, written: bits(word, 23, 1) === 1 ? [base] : [] };
  // Exclusive and ordered accesses, compare and swap.
  const isLoad = bits(word, 22, 1) === 1;
  const second = bits(word, 16, 5);
  const written = [...toRegister(word), ...(second === SP ? [] : [second]), bits(word, 10, 5)];
  return {
    memory,
    written: written.filter((one) => one !== SP),
    effect: isLoad && size === 3 && bits(word, 21, 1) === 0 ? { kind: "load", to } : undefined,
  };
}

/** An access to two registers. */
function pair(word: number): Decoded {
  const to = bits(word, 0, 5), other = bits(word, 10, 5), base = bits(word, 5, 5);
  const isVector = bits(word, 26, 1) === 1, isLoad = bits(word, 22, 1) === 1;
  const opc = word >>> 30, mode = bits(word, 23, 2);
  const offset = field(word, 15, 7) * 2 ** (isVector ? 2 + opc : 2 + (opc >> 1));
  const isWrittenBack = mode === 1 || mode === 3;
  const registers = isLoad && !isVector ? [to, other].filter((one) => one !== SP) : [];
  return {
    memory: operandAt(base, mode === 1 ? 0 : offset),
    // Prologues push registers and epilogues pop them.
    isStackOperation: base === SP && isWrittenBack,
    written: isWrittenBack ? [...registers, base] : registers,
    effect: isWrittenBack
      ? { kind: "add", to: base, value: offset }
      : isLoad && !isVector && opc === 2
      ? { kind: "load", to }
      : undefined,
  };
}

/** An access to one register. */
function single(word: number): Decoded {
  const to = bits(word, 0, 5), base = bits(word, 5, 5);
  const isVector = bits(word, 26, 1) === 1;
  const size = word >>> 30, opc = bits(word, 22, 2);
  // PRFM
  if (size === 3 && !isVector && opc === 2) return {};
  const isLoad = isVector ? opc % 2 === 1 : opc !== 0;
  const scale = isVector ? (opc >> 1 << 2) + size : size;
  const written = isLoad && !isVector ? toRegister(word) : [];
  const isWhole = size === 3 && opc === 1 && !isVector && to !== SP;
  const effect: InsnEffect | undefined = isWhole ? { kind: "load", to } : undefined;
  if (bits(word, 24, 1) === 1) {
    return { memory: operandAt(base, bits(word, 10, 12) * 2 ** scale), written, effect };
  }
  const mode = bits(word, 10, 2);
  if (bits(word, 21, 1) === 1) {
    if (mode === 2) return { memory: operandAt(base, 0, { isIndexed: true }), written, effect };
    // Atomic operations return the old value; LDRAA authenticates the base.
    return { memory: operandAt(base, 0), written: toRegister(word) };
  }
  const offset = field(word, 12, 9);
  if (mode === 0 || mode === 2) return { memory: operandAt(base, offset), written, effect };
  return {
    memory: operandAt(base, mode === 1 ? 0 : offset),
    isStackOperation: base === SP,
    written: [...written, base],
    effect: effect ?? { kind: "add", to: base, value: offset },
  };
}

function register(word: number): Decoded {
  const to = bits(word, 0, 5), of = bits(word, 5, 5), from = bits(word, 16, 5);
  const isWide = word >>> 31 === 1;
  const written = toRegister(word);
  const kind = bits(word, 24, 5);
  if (to === SP && kind !== 0b01011) return {};
  // ORR of register 31 copies.
  if ((word & 0xffe0ffe0) >>> 0 === 0xaa0003e0) {
    return { written, effect: { kind: "move", to, from } };
  }
  // ADD of registers, shifted or extended; the extended one may write the stack pointer.
  if (kind === 0b01011) {
    const isExtended = bits(word, 21, 1) === 1, setsFlags = bits(word, 29, 1) === 1;
    const all = isExtended && !setsFlags ? [to] : written;
    const isSum = isWide && bits(word, 30, 1) === 0 && to !== SP;
    return { written: all, effect: isSum ? { kind: "sum", to, of, from } : undefined };
  }
  // CSEL
  if ((word & 0xffe00c00) >>> 0 === 0x9a800000) {
    return { written, effect: { kind: "choose", to, of, from } };
  }
  // Conditional comparisons write flags only.
  if (bits(word, 21, 8) === 0b11010010) return {};
  return { written };
}
