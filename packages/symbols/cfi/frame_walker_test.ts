import { assert, assertEquals } from "@std/assert";
import { EM } from "../elf/elf_constants.ts";
import { openJitdump } from "../jit/jitdump.ts";
import { bytesSource } from "../files/binary_source.ts";
import { RULE } from "./cfi_constants.ts";
import { ExpressionTable, FrameRules } from "./frame_rules.ts";
import { type CodeLookup, FrameWalker, NO_CFI, NOT_MAPPED } from "./frame_walker.ts";
import { WALK_END } from "./walk_end.ts";
import { FrameSectionWriter } from "./frame_writer.ts";
import { JitSymbols } from "../jit/jit_symbols.ts";
import { JitCfi } from "./jit_cfi.ts";
import { type CfiMachine, cfiMachine } from "./cfi_machine.ts";
import { ObjectCfi } from "./object_cfi.ts";
import { RowTable } from "./row_table.ts";

const SP = 0x7fff_1000;
const WORDS = 64;

function machineOf(number: number): CfiMachine {
  const machine = cfiMachine(number);
  assert(machine !== undefined);
  return machine;
}

/** Rules in machine words: `cfa` relative to sp or fp, saved registers by number. */
interface Frame {
  readonly at: number;
  readonly cfa: readonly ["sp" | "fp", number];
  readonly saved?: Readonly<Record<number, number>>;
  /** `DW_OP_*` of the CFA, instead of `cfa`. */
  readonly expression?: readonly number[];
  readonly end?: boolean;
  readonly signal?: boolean;
}

/** Result of a walk: addresses, reason for the end, and counts. */
interface Walked {
  frames: string[];
  end: number;
  guessed: number;
  wanted: number;
}

/** Unwinds a stack of words, from the stack pointer on, through code with the rules of `frames`. */
function walk(
  number: number,
  frames: readonly Frame[],
  registers: Readonly<Record<number, number>>,
  words: Readonly<Record<number, number | bigint>>,
  options: { size?: number; row?: (address: number) => number | undefined } = {},
): Walked {
  const machine = machineOf(number);
  const { addressSize: size } = machine;
  const writer = new FrameSectionWriter();
  for (const { at, cfa, saved = {}, expression, end, signal } of frames) {
    const rules = new FrameRules(machine.registers);
    const table = new ExpressionTable(Uint8Array.from(expression ?? []), true);
    rules.returnAddress = machine.returnAddress;
    rules.signal = signal === true;
    rules.cfaRegister = expression !== undefined ? -1 : cfa[0] === "sp" ? machine.sp : machine.fp;
    rules.cfaOffset = expression === undefined ? cfa[1] * size : table.add(0, expression.length);
    for (const [register, offset] of Object.entries(saved)) {
      rules.rule[Number(register)] = RULE.OFFSET;
      rules.value[Number(register)] = offset * size;
    }
    if (end) rules.rule[machine.returnAddress] = RULE.UNDEFINED;
    // Both ends of the function, since a rule holds between equal neighbours.
    writer.add(at, rules, table);
    writer.add(at + 0xff, rules, table);
  }
  const rows = new RowTable(machine);
  const section = { name: ".eh_frame", address: 0, littleEndian: true } as const;
  const cfi = ObjectCfi.ofSections({ ...section, bytes: writer.finish() }, undefined, rows);
  const found: number[] = [];
  const code: CodeLookup = {
    row: 0,
    place: 0,
    find(address) {
      this.place = found.push(address) - 1;
      this.row = options.row?.(address) ?? cfi.find(address);
    },
    rules(address) {
      const source = cfi.source(address);
      const rules = source?.rules(address);
      return source && rules && { rules, expressions: source.expressions };
    },
    memory: () => NaN,
  };
  const view = new DataView(new ArrayBuffer(WORDS * size));
  for (const [at, value] of Object.entries(words)) {
    if (size === 8) view.setBigUint64(Number(at) * 8, BigInt.asUintN(64, BigInt(value)), true);
    else view.setUint32(Number(at) * 4, Number(value), true);
  }
  const values = new Float64Array(Math.max(machine.registers, machine.pc + 1)).fill(NaN);
  for (const [register, value] of Object.entries(registers)) values[Number(register)] = value;
  values[machine.sp] = SP;
  const walker = new FrameWalker(rows, code, 127);
  walker.walk(values, { view, start: 0, size: (options.size ?? WORDS) * size });
  return {
    frames: [...walker.places.subarray(0, walker.count)].map((place) =>
      (found[place] as number).toString(16)
    ),
    end: walker.end,
    guessed: walker.guessed,
    wanted: walker.wanted,
  };
}

/** Address of the nth word on the stack. */
const word = (n: number, size: number): number => SP + n * size;

Deno.test("FrameWalker on aarch64: a leaf, frame records and signed return addresses are unwound", () => {
  const X29 = 29, X30 = 30;
  const frames: Frame[] = [
    { at: 0x1000, cfa: ["sp", 0] }, // a leaf: the caller is in x30
    { at: 0x2000, cfa: ["sp", 2], saved: { [X29]: -2, [X30]: -1 } },
    { at: 0x3000, cfa: ["fp", 2], saved: { [X29]: -2, [X30]: -1 } },
    { at: 0x4000, cfa: ["sp", 0], end: true },
  ];
  const registers = { 32: 0x1010, [X30]: 0x2020, [X29]: word(4, 8) };
  const words = {
    0: word(6, 8), // x29 of the third frame
    1: 0x0029_0000_0000_3030n, // signed: bits above those of addresses
    6: 0,
    7: 0xffb4_0000_0000_4040n,
  };
  const row = (address: number) => address >= 0x5000 ? NOT_MAPPED : undefined;
  assertEquals(walk(EM.AARCH64, frames, registers, words, { row }), {
    frames: ["1010", "201f", "302f", "403f"],
    end: WALK_END.START,
    guessed: 0,
    wanted: 0,
  });
});

Deno.test("FrameWalker on aarch64: return addresses far above the stack keep their bits, signed ones those that are mapped", () => {
  const X29 = 29, X30 = 30;
  // A coroutine's stack below a program at 0xaaaa…, which is mapped in an address space of 48 bits.
  const frames: Frame[] = [
    { at: 0xaaaa_0000_1000, cfa: ["sp", 2], saved: { [X29]: -2, [X30]: -1 } },
    { at: 0xaaaa_0000_2000, cfa: ["sp", 2], saved: { [X29]: -2, [X30]: -1 } },
    { at: 0xaaaa_0000_3000, cfa: ["sp", 0], end: true },
  ];
  const row = (address: number) =>
    address >= 0xaaaa_0000_1000 && address < 0xaaaa_0000_4000 ? undefined : NOT_MAPPED;
  const registers = { 32: 0xaaaa_0000_1010, [X29]: 0 };
  const words = { 1: 0xaaaa_0000_2020n, 3: 0x0055_aaaa_0000_3030n };
  assertEquals(walk(EM.AARCH64, frames, registers, words, { row }).frames, [
    "aaaa00001010",
    "aaaa0000201f",
    "aaaa0000302f",
  ]);
});

Deno.test("FrameWalker on i386: 32-bit words are unwound to the end of the copy", () => {
  const EBP = 5, EIP = 8;
  const frames: Frame[] = [
    { at: 0x1000, cfa: ["sp", 3], saved: { [EBP]: -2, [EIP]: -1 } },
    { at: 0x2000, cfa: ["fp", 2], saved: { [EBP]: -2, [EIP]: -1 } },
    { at: 0x3000, cfa: ["sp", 40], saved: { [EIP]: -1 } },
  ];
  const registers = { [EIP]: 0x1010, [EBP]: 0xdead };
  const words = { 1: word(8, 4), 2: 0x2020, 8: 0x77, 9: 0x3030 };
  assertEquals(walk(EM.I386, frames, registers, words, { size: 48 }), {
    frames: ["1010", "201f", "302f"],
    end: WALK_END.STACK,
    guessed: 0,
    wanted: (10 + 40) * 4,
  });
  // The walk may use the copy's last word.
  const enough = { ...words, 49: 0 };
  assertEquals(walk(EM.I386, frames, registers, enough, { size: 50 }).end, WALK_END.START);
});

Deno.test("FrameWalker on x86-64: a signal frame and a CFA relative to rbx are unwound", () => {
  const RBX = 3, RBP = 6, RIP = 16;
  const breg = (register: number, offset: number) => [0x70 + register, offset];
  const frames: Frame[] = [
    // The callee saves rbx; the caller's CFA is relative to rbx.
    { at: 0x1000, cfa: ["sp", 3], saved: { [RBX]: -2, [RIP]: -1 } },
    { at: 0x2000, cfa: ["sp", 0], expression: breg(RBX, 16), saved: { [RIP]: -1 } },
    { at: 0x3000, cfa: ["sp", 2], saved: { [RIP]: -1, [RBP]: -2 }, signal: true },
    { at: 0x4000, cfa: ["sp", 1], saved: { [RIP]: -1 } },
    { at: 0x5000, cfa: ["sp", 0], saved: { [RIP]: -1 } },
  ];
  const words = {
    1: word(5, 8), // rbx
    2: 0x2020,
    6: 0x3030,
    7: 0,
    8: 0x4040, // exact address, since a signal interrupted the code
    9: 0,
  };
  const registers = { [RIP]: 0x1010, [RBP]: 0, [RBX]: 0x99 };
  assertEquals(walk(EM.X86_64, frames, registers, words), {
    frames: ["1010", "201f", "302f", "4040"],
    end: WALK_END.START,
    guessed: 0,
    wanted: 0,
  });
  const same = { [RIP]: 0x5010, [RBP]: 0, [RBX]: 0 };
  assertEquals(walk(EM.X86_64, frames, same, { 0: 0x5010 }).end, WALK_END.DAMAGED);
  const deep = Object.fromEntries(Array.from({ length: WORDS }, (_, i) => [i, 0x4040]));
  const cut = walk(EM.X86_64, frames, { ...same, [RIP]: 0x4040 }, deep);
  assertEquals([cut.end, cut.frames.length], [WALK_END.STACK, WORDS + 1]);
});

Deno.test("FrameWalker on x86-64: without call frame information it follows and counts frame pointers", () => {
  const RBP = 6, RIP = 16;
  const frames: Frame[] = [{ at: 0x9000, cfa: ["sp", 1], end: true }];
  const registers = { [RIP]: 0x1010, [RBP]: word(2, 8) };
  const words = { 2: word(5, 8), 3: 0x1110, 5: 0x123, 6: 0x9010 };
  const row = (address: number) =>
    address < 0x2000 ? NO_CFI : address < 0x9000 ? NOT_MAPPED : undefined;
  assertEquals(walk(EM.X86_64, frames, registers, words, { row }), {
    frames: ["1010", "110f", "900f"],
    end: WALK_END.START,
    guessed: 2,
    wanted: 0,
  });
  // The return address is unmapped: no frame.
  const astray = walk(EM.X86_64, frames, registers, { ...words, 3: 0x3110 }, { row });
  assertEquals([astray.frames.length, astray.end], [1, WALK_END.NO_CFI]);
});

Deno.test("JitCfi: an address gets the tables of the code that was there at the time", () => {
  const x86 = machineOf(EM.X86_64);
  const tables = (words: number): Uint8Array => {
    // Addresses are pcrel sdata4, as if the tables began at the multiple of 8 after the code.
    const cie = [
      0x14,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      1,
      0x7a,
      0x52,
      0,
      1,
      0x78,
      0x10,
      1,
      0x1b,
      0x0c,
      7,
      8 * words,
      0x90,
      1,
      0,
      0,
    ];
    const fde = new Uint8Array(24);
    const view = new DataView(fde.buffer);
    view.setUint32(0, 20, true);
    view.setUint32(4, cie.length + 4, true);
    view.setInt32(8, -(0x40 + cie.length + 8), true); // the code has 0x40 bytes
    view.setUint32(12, 0x40, true);
    return Uint8Array.from([...cie, ...fde]);
  };
  let time = 0n;
  const record = (id: number, body: readonly (bigint | Uint8Array)[]): Uint8Array => {
    const parts = body.map((part) =>
      part instanceof Uint8Array ? part : new Uint8Array(BigUint64Array.of(part).buffer)
    );
    const size = 16 + parts.reduce((sum, { length }) => sum + length, 0);
    const bytes = new Uint8Array(size);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, id, true);
    view.setUint32(4, size, true);
    view.setBigUint64(8, time += 10n, true);
    let at = 16;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  };
  const header = new Uint8Array(40);
  const head = new DataView(header.buffer);
  head.setUint32(0, 0x4a695444, true);
  head.setUint32(4, 1, true);
  head.setUint32(8, 40, true);
  head.setUint32(12, 62, true);
  const load = (index: bigint, address: bigint) =>
    record(0, [
      7n,
      address,
      address,
      0x40n,
      index,
      new TextEncoder().encode("f\0"),
      new Uint8Array(0x40),
    ]);
  const unwinding = (data: Uint8Array) => record(4, [BigInt(data.length), 0n, 0n, data]);
  const file = [
    header,
    unwinding(tables(1)),
    load(1n, 0x10000n),
    unwinding(tables(3)),
    load(2n, 0x10000n),
    load(3n, 0x20000n),
  ];
  const bytes = new Uint8Array(file.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of file) {
    bytes.set(part, at);
    at += part.length;
  }
  const rows = new RowTable(x86);
  const symbols = new JitSymbols(openJitdump(bytesSource(bytes)).records());
  const jit = new JitCfi(symbols, true, rows);
  assertEquals([jit.size, symbols.isReused], [2, true]);
  // The first code's tables are valid from time 20, the second's from 40.
  const first = jit.find(0x10010, symbols.version(0x10010, 30));
  assert(first >= 0);
  assertEquals([rows.cfa[first], rows.ra[first]], [8, -8]);
  assertEquals(jit.find(0x10010, symbols.version(0x10010, 45)), jit.find(0x10010));
  const row = jit.find(0x10010);
  assert(row >= 0);
  assertEquals([rows.cfa[row], rows.ra[row]], [24, -8]);
  assertEquals([jit.find(0x10040), jit.find(0x20000), jit.find(0xffff)], [-1, -1, -1]);
});
