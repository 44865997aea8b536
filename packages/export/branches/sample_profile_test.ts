import { ElfFile } from "@perfdata/symbols";
import { bytesSource } from "@perfdata/symbols/resolver";
import { assertEquals } from "@std/assert";
import { symbolTable, writeElf, type WrittenSymbol } from "../../symbols/testing/elf_writer.ts";
import { textOf } from "../testing.ts";
import { CodeSteps } from "./code_steps.ts";
import { type ProfileDwarf, type SampleProfile, sampleProfile } from "./sample_profile.ts";
import { autofdoText } from "./sample_profile_text.ts";

/** Location of the code: offset in the file after its headers, and address. */
const OFFSET = 128, AT = 0x40_1000;

/**
 * 00 nop; 01 call 10; 06 nop; 07 nop; 08 ret; nops up to 0f
 * 10 mov rbx, rax; 13 nop; 14 nop; 15 jmp 18; 17 nop; 18 ret; nops up to 1f
 * 20 nop; 21 jmp 06
 */
const CODE = Uint8Array.fromHex(
  "90" + "e80a000000" + "9090" + "c3" + "90".repeat(7) +
    "4889c3" + "9090" + "eb01" + "90" + "c3" + "90".repeat(7) +
    "90" + "ebe3" + "90".repeat(13),
);

function elfOf(symbols: readonly (readonly [string, number])[], code = CODE, machine = 62) {
  const file = { is64: true, littleEndian: true };
  const { symtab, strtab } = symbolTable(
    file,
    symbols.map(([name, at]): WrittenSymbol => ({
      ...{ name, value: BigInt(AT + at), size: 4n, info: 2 | 1 << 4, shndx: 1 },
    })),
  );
  const size = BigInt(code.length);
  return ElfFile.open(bytesSource(writeElf({
    ...file,
    ...{ type: 2, machine },
    segments: [{
      ...{
        type: 1,
        flags: 5,
        offset: BigInt(OFFSET),
        vaddr: BigInt(AT),
        filesz: size,
        memsz: size,
      },
    }],
    sections: [
      { name: ".text", type: 1, flags: 6, addr: BigInt(AT), bytes: code, addralign: 8 },
      { name: ".symtab", type: 2, bytes: symtab, link: 3, entsize: 24 },
      { name: ".strtab", type: 3, bytes: strtab },
    ],
  })));
}

const ELF = elfOf([["main", 0], ["work", 0x10]]);

/** A place in a function: line, line of the function's declaration, discriminator. */
type Frame = readonly [name: string, line: number, declared: number, discriminator?: number];

interface Described {
  /** Functions: name, first byte, byte after the last. */
  readonly ranges: readonly (readonly [string, number, number])[];
  /** Frames, innermost first, for a range of bytes. */
  readonly frames: readonly (readonly [number, number, readonly Frame[]])[];
  readonly linkage?: Readonly<Record<string, string>>;
}

/** Debug information with these functions and frames. */
function dwarfOf({ ranges, frames, linkage = {} }: Described): ProfileDwarf {
  const names = [
    ...new Set([
      ...ranges.map(([name]) => name),
      ...frames.flatMap(([, , of]) => of.map(([name]) => name)),
    ]),
  ];
  const nameOf = (number: number) => {
    const name = names[number];
    return name === undefined ? undefined : {
      function: name,
      scope: undefined,
      linkageName: linkage[name],
    };
  };
  return {
    functionName: nameOf,
    functionRanges: () => ({
      low: Float64Array.from(ranges, ([, low]) => AT + low),
      high: Float64Array.from(ranges, ([, , high]) => AT + high),
      function: Int32Array.from(ranges, ([name]) => names.indexOf(name)),
    }),
    findAll(addresses) {
      const found = Array.from(
        addresses,
        (address) =>
          frames.find(([low, high]) => address - AT >= low && address - AT < high)?.[2] ?? [],
      );
      const all = found.flat();
      let first = 0;
      const column = (of: (frame: Frame) => number) => Int32Array.from(all, of);
      return {
        first: Uint32Array.from(found, ({ length }) => (first += length) - length),
        count: Uint32Array.from(found, ({ length }) => length),
        function: column(([name]) => names.indexOf(name)),
        file: column(() => -1),
        line: column(([, line]) => line),
        column: column(() => 0),
        discriminator: column(([, , , discriminator = 0]) => discriminator),
        declLine: column(([, , declared]) => declared),
        functions: names.map((_, i) => nameOf(i) as never),
        files: [],
      };
    },
  };
}

/**
 * `main` is declared in line 10, `work` in line 20; 13 to 14 belong to `add`, inlined in line 22 of
 * `work`.
 */
const DESCRIBED: Described = {
  ranges: [["main", 0, 0x10], ["work", 0x10, 0x20]],
  frames: [
    [0x00, 0x01, [["main", 10, 10]]],
    [0x01, 0x06, [["main", 11, 10]]],
    [0x06, 0x08, [["main", 12, 10]]],
    [0x08, 0x10, [["main", 13, 10]]],
    [0x10, 0x13, [["work", 21, 20]]],
    [0x13, 0x15, [["add", 4, 1], ["work", 22, 20]]],
    [0x15, 0x17, [["work", 23, 20]]],
    [0x17, 0x18, [["work", 24, 20]]],
    [0x18, 0x20, [["work", 25, 20]]],
  ],
};

const range = (from: number, to: number, count: number) => ({
  ...{ from: AT + from, to: AT + to, entered: false, count },
});
const branch = (from: number, to: number, taken: number) => ({
  ...{ from: from < 0 ? 0 : AT + from, to: to < 0 ? 0 : AT + to, taken, mispredicted: 0 },
});

const RANGES = [range(0, 1, 5), range(6, 8, 4), range(0x10, 0x15, 7), range(0x18, 0x18, 6)];

function profile(
  branches: readonly ReturnType<typeof branch>[],
  ranges: readonly ReturnType<typeof range>[] = RANGES,
  described: Described = DESCRIBED,
  elf: ElfFile = ELF,
): SampleProfile {
  return sampleProfile({ branches, ranges, share: 1 }, elf, dwarfOf(described));
}

const lines = async (of: SampleProfile) => (await textOf(autofdoText(of))).split("\n").slice(0, -1);

Deno.test("sampleProfile: a line has the count of its most frequent instruction, a function the executed bytes", async () => {
  const found = profile([]);
  assertEquals([found.impossible, found.named, found.isFlowSensitive], [0, 1, false]);
  assertEquals(await lines(found), [
    // 7 x 3 bytes, 7 for each byte of add, 7 x 2, 6; lines that did not run have 0.
    "work:55:0",
    ...[" 1: 7", " 3: 7", " 4: 0", " 5: 6", " 2: add:14", "  3: 7"],
    // 5 x (1 + 5) and 4 x 3.
    "main:42:0",
    ...[" 0: 5", " 1: 5", " 2: 4", " 3: 4"],
  ]);
});

Deno.test("sampleProfile: overlapping ranges are added, and end with their last instruction", async () => {
  const found = profile([], [range(0x10, 0x14, 2), range(0x13, 0x15, 10)]);
  assertEquals(await lines(found), [
    // 2 x 3, 12 x 2, 10 x 2.
    "work:50:0",
    ...[" 1: 2", " 3: 10", " 4: 0", " 5: 0", " 2: add:24", "  3: 12"],
  ]);
});

Deno.test("sampleProfile: a range over a jump, a call or a return is impossible, and not counted", async () => {
  const found = profile([], [
    ...[range(0, 6, 1), range(6, 8, 4), range(6, 9, 2), range(0x13, 0x18, 3)],
  ]);
  assertEquals(found.impossible, 6 / 10);
  assertEquals(await lines(found), ["main:12:0", " 0: 0", " 1: 0", " 2: 4", " 3: 4"]);
});

Deno.test("sampleProfile: ranges outside of functions have no name", async () => {
  const found = profile([], [range(6, 8, 3), range(0x20, 0x20, 9)]);
  assertEquals(found.named, 3 / 12);
  assertEquals(await lines(found), ["main:9:0", " 0: 0", " 1: 0", " 2: 3", " 3: 3"]);
  assertEquals([profile([], []).named, profile([], []).impossible], [0, 0]);
});

Deno.test("sampleProfile: a branch to the start of a function is a call in the branch's line", async () => {
  const found = profile([
    ...[branch(1, 0x10, 9), branch(0x15, 0x18, 7), branch(-1, 0, 3), branch(0x14, 0, 2)],
    // A return, and a branch to another place.
    ...[branch(0x18, 6, 5), branch(0x18, -1, 5)],
  ]);
  assertEquals(await lines(found), [
    "work:55:9",
    ...[" 1: 7", " 3: 7", " 4: 0", " 5: 6", " 2: add:14", "  3: 7 main:2"],
    // More calls than runs of the line.
    "main:42:5",
    ...[" 0: 5", " 1: 9 work:9", " 2: 4", " 3: 4"],
  ]);
});

/** A discriminator in LLVM's encoding: components of 1, 7 or 14 bits, the lowest first. */
function discriminator(...parts: readonly number[]): number {
  let [value, shift] = [0, 0];
  for (const part of parts) {
    // Bit 0: no component; bit 6: the component has twelve bits instead of five.
    const long = part > 31;
    value |= (part === 0 ? 1 : part % 32 * 2 + (long ? 64 + (part >> 5) * 128 : 0)) << shift;
    shift += part === 0 ? 1 : long ? 14 : 7;
  }
  return value;
}

Deno.test("sampleProfile: a discriminator's base is part of the place, duplicated code counts for all copies", async () => {
  const of = async (...parts: number[]) => {
    const frames = DESCRIBED.frames.map((each) =>
      each[0] === 6 ? [6, 8, [["main", 12, 10, discriminator(...parts)]]] as const : each
    );
    const found = profile([], [range(6, 8, 4)], { ...DESCRIBED, frames });
    return (await lines(found)).find((line) => line.startsWith(" 2"));
  };
  assertEquals(await of(), " 2: 4");
  assertEquals(await of(3), " 2.3: 4");
  assertEquals(await of(31), " 2.31: 4");
  assertEquals(await of(32), " 2.32: 4");
  assertEquals(await of(1000), " 2.1000: 4");
  // Base, then the number of copies.
  assertEquals(await of(3, 2), " 2.3: 8");
  assertEquals(await of(0, 5), " 2: 20");
  assertEquals(await of(1000, 5), " 2.1000: 20");
  assertEquals(await of(0, 0, 7), " 2: 4");
  // With discriminators of late passes, the whole discriminator is part of the place.
  const late = elfOf([["main", 0], ["__llvm_fs_discriminator__", 0x28]]);
  const frames = DESCRIBED.frames.map((each) =>
    each[0] === 6 ? [6, 8, [["main", 12, 10, discriminator(3, 2)]]] as const : each
  );
  const found = profile([], [range(6, 8, 4)], { ...DESCRIBED, frames }, late);
  assertEquals(found.isFlowSensitive, true);
  // 3 is encoded as 6; 2 as 4, from bit 7 on.
  assertEquals((await lines(found))[3], ` 2.${6 + 4 * 128}: 4`);
});

Deno.test("sampleProfile: names are linkage names without the suffixes of copies and parts", async () => {
  const of = async (name: string) =>
    (await lines(profile([], [range(6, 8, 4)], {
      ...DESCRIBED,
      linkage: { main: name },
    })))[0]?.replace(/:.*/, "");
  assertEquals(await of("_Z4mainv"), "_Z4mainv");
  assertEquals(await of("f.llvm.123"), "f");
  assertEquals(await of("f.part.0.llvm.123"), "f");
  assertEquals(await of("f.part.0"), "f");
  assertEquals(await of("f.llvm.1.x"), "f.llvm.1.x");
  assertEquals(await of("f.cold"), "f.cold");
  // Several source files have functions with such a name.
  assertEquals(await of("__cxx_global_var_init.1"), undefined);
  assertEquals(await of("__tls_init"), undefined);
});

Deno.test("sampleProfile: inlined functions that several source files define are dropped", async () => {
  const found = profile([], RANGES, { ...DESCRIBED, linkage: { add: "__tls_init" } });
  assertEquals((await lines(found)).slice(0, 6), [
    ...["work:55:0", " 1: 7", " 3: 7", " 4: 0", " 5: 6", "main:42:0"],
  ]);
});

/** `main` has a second part at 20. */
const PARTS: Described = {
  ranges: [...DESCRIBED.ranges, ["main", 0x20, 0x23]],
  frames: [...DESCRIBED.frames, [0x20, 0x23, [["main", 14, 10]]]],
};

Deno.test("sampleProfile: a function in two parts is entered at the symbol of its name", async () => {
  const heads = async (elf: ElfFile) =>
    (await lines(profile([branch(-1, 0, 3), branch(8, 0x20, 8)], [], PARTS, elf)))
      .map((line) => line.replace(/^(\w+):\d+/, "$1"));
  assertEquals(await heads(elfOf([["main.cold", 0x20], ["main", 0]])), ["main:3"]);
  assertEquals((await heads(elfOf([["main", 0x20]])))[0], "main:8");
  assertEquals(await heads(elfOf([])), []);
});

Deno.test("sampleProfile: if one part of a function ran, lines of the other have the count 0", async () => {
  const found = profile([], [range(0x20, 0x21, 5)], PARTS);
  // 5 x 3 bytes.
  assertEquals(await lines(found), ["main:15:0", " 0: 0", " 1: 0", " 2: 0", " 3: 0", " 4: 5"]);
  assertEquals(found.named, 1);
});

Deno.test("CodeSteps: instructions have sizes and fall through or not, other bytes are no code", () => {
  const steps = new CodeSteps(ELF);
  const of = (at: number) => [steps.step(AT + at), steps.ends];
  assertEquals([0, 1, 8, 0x10, 0x15, 0x18].map(of), [
    ...[[1, false], [5, true], [1, true], [3, false], [2, true], [1, true]],
  ]);
  assertEquals([of(-1), of(0x2f), of(0x30)], [[0, false], [1, false], [0, false]]);
  assertEquals([-1, 0, 0x2f, 0x30].map((at) => steps.hasCode(AT + at)), [
    ...[false, true, true, false],
  ]);
});

Deno.test("CodeSteps: AArch64 instructions have four bytes, and B, BL, BLR and RET end a trace", () => {
  const words = [
    ...[0xd503201f, 0x14000002, 0x94000002, 0xd63f0000, 0xd65f03c0],
    // BR may jump through a table; B.NE, CBZ and TBZ may fall through.
    ...[0x54000041, 0xb4000040, 0x36000040, 0x17ffffff, 0x97ffffff],
  ];
  const code = new Uint8Array(Uint32Array.from(words).buffer);
  const steps = new CodeSteps(elfOf([], code, 183));
  assertEquals(
    words.map((_, i) => [steps.step(AT + 4 * i), steps.ends]),
    [false, true, true, true, true, false, false, false, true, true].map((ends) => [4, ends]),
  );
  assertEquals([steps.step(AT + 38), steps.step(AT + 36)], [0, 4]);
});
