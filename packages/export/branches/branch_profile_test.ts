import { CHOSEN, Run } from "@perfdata/session";
import { ElfFile } from "@perfdata/symbols";
import { bytesSource, type SymbolObject } from "@perfdata/symbols/resolver";
import { assertEquals, assertThrows } from "@std/assert";
import {
  symbolTable,
  writeElf,
  type WrittenFile,
  type WrittenSymbol,
} from "../../symbols/testing/elf_writer.ts";
import { textOf } from "../testing.ts";
import { BranchCounts } from "./branch_counts.ts";
import {
  binaryBranches,
  bolt,
  type BranchPlaces,
  linkedAddress,
  profgen,
} from "./branch_profile.ts";
import { CodeSteps } from "./code_steps.ts";
import { binarySamples, boltSamples } from "./sample_fdata.ts";

/** Location of the code: offset in the file after its headers, and address. */
const OFFSET = 176, ADDRESS = 0x40_1000, SIZE = 64;
const FUNC = 2, OBJECT = 1, SECTION = 3, GLOBAL = 1 << 4;

/** A file with a code segment of 64 bytes, and a data segment of the same bytes. */
function elfOf(
  symbols: readonly WrittenSymbol[],
  code: readonly number[] = [],
  machine = 62,
): ElfFile {
  const file = { is64: true, littleEndian: true };
  const { symtab, strtab } = symbolTable(file, symbols);
  const text = Uint8Array.from({ length: SIZE }, (_, i) => code[i] ?? 0x90);
  const segment = { type: 1, offset: BigInt(OFFSET), filesz: BigInt(SIZE), memsz: BigInt(SIZE) };
  const written: WrittenFile = {
    ...file,
    type: 2,
    machine,
    segments: [
      { ...segment, flags: 4, vaddr: 0x10_0000n },
      { ...segment, flags: 5, vaddr: BigInt(ADDRESS) },
    ],
    sections: [
      { name: ".text", type: 1, flags: 6, addr: BigInt(ADDRESS), bytes: text, addralign: 16 },
      { name: ".symtab", type: 2, bytes: symtab, link: 3, entsize: 24 },
      { name: ".strtab", type: 3, bytes: strtab },
    ],
  };
  return ElfFile.open(bytesSource(writeElf(written)));
}

/** A symbol, `at` bytes from the start of the code. */
function symbol(name: string, at: number, size: number, info = FUNC | GLOBAL): WrittenSymbol {
  return { name, value: BigInt(ADDRESS + at), size: BigInt(size), info, shndx: 1 };
}

/** `main` at 0 to 16, `work` at 16 to 32. */
const ELF = elfOf([symbol("main", 0, 16), symbol("work", 16, 16)]);

/** Places below 100 are in the binary's code, others in another object. */
const PLACES: BranchPlaces = {
  objects: ["/bin/a", "/bin/b"].map((path): SymbolObject => ({ path, kind: "elf" })),
  object: (place) => place < 100 ? 0 : 1,
  address: (place) => OFFSET + place % 100,
};
const isBinary = (object: number): boolean => object === 0;

function countsOf(stacks: readonly (readonly (readonly [number, number])[])[]): BranchCounts {
  const run = new Run();
  run.count = stacks.length;
  run.branches = Int32Array.from(stacks.flat(2));
  run.branchFlags = new Int32Array(stacks.flat().length).fill(1);
  let at = 0;
  stacks.forEach((stack, i) => {
    run.chosen[i] = CHOSEN.YES;
    run.branchStart[i] = at;
    run.branchStart[i + 1] = at += 2 * stack.length;
  });
  const counts = new BranchCounts();
  counts.rows(run);
  counts.finish();
  return counts;
}

Deno.test("linkedAddress: an offset in a code segment has an address, its end and other segments have none", () => {
  assertEquals(linkedAddress(ELF, OFFSET), ADDRESS);
  assertEquals(linkedAddress(ELF, OFFSET + SIZE - 1), ADDRESS + SIZE - 1);
  assertEquals(linkedAddress(ELF, OFFSET + SIZE), 0);
  assertEquals(linkedAddress(ELF, OFFSET - 1), 0);
});

Deno.test("binaryBranches: the binary's branches and traces are selected and sorted", () => {
  // Latest first: a loop in main, then a call of work from the other object, then a branch outside
  // of the binary.
  const counts = countsOf([
    [[8, 4], [8, 4], [2, 4]],
    [[20, 105], [101, 16]],
    [[101, 105], [102, 103]],
  ]);
  const at = (place: number) => ADDRESS + place;
  const { branches, ranges, share } = binaryBranches(counts, PLACES, ELF, isBinary);
  assertEquals(branches, [
    { from: 0, to: at(16), taken: 1, mispredicted: 1 },
    { from: at(2), to: at(4), taken: 1, mispredicted: 1 },
    { from: at(8), to: at(4), taken: 2, mispredicted: 2 },
    { from: at(20), to: 0, taken: 1, mispredicted: 1 },
  ]);
  assertEquals(ranges, [
    { from: at(4), to: at(8), entered: false, count: 2 },
    { from: at(16), to: at(20), entered: true, count: 1 },
  ]);
  assertEquals(share, 5 / 7);
});

Deno.test("binaryBranches: a call within the binary enters a function, a jump within a function does not", () => {
  const { ranges } = binaryBranches(
    countsOf([[[20, 40], [10, 16]], [[20, 40], [18, 16]]]),
    PLACES,
    ELF,
    isBinary,
  );
  assertEquals(ranges.map(({ from, entered, count }) => [from - ADDRESS, entered, count]), [
    ...[[16, false, 1], [16, true, 1]] as [number, boolean, number][],
  ]);
  // Without a symbol, 32 and 40 are both in no function.
  const none = binaryBranches(countsOf([[[44, 50], [32, 40]]]), PLACES, ELF, isBinary);
  assertEquals(none.ranges.map(({ entered }) => entered), [false]);
});

Deno.test("binaryBranches: a trace that ends before its start, or in another object, is dropped", () => {
  assertEquals(binaryBranches(countsOf([[[2, 4], [8, 6]]]), PLACES, ELF, isBinary).ranges, []);
  assertEquals(binaryBranches(countsOf([[[102, 4], [8, 6]]]), PLACES, ELF, isBinary).ranges, []);
  const one = binaryBranches(countsOf([[[6, 4], [8, 6]]]), PLACES, ELF, isBinary).ranges;
  assertEquals(one.length, 1);
});

Deno.test("binaryBranches: without counts, the share is 0", () => {
  assertEquals(binaryBranches(countsOf([]), PLACES, ELF, isBinary), {
    branches: [],
    ranges: [],
    share: 0,
  });
});

const RANGE = { from: 0x10, to: 0x20, entered: false, count: 3 };

Deno.test("bolt: branches precede ranges, and entered ranges have f", async () => {
  const branches = [{ from: 0xab, to: 0, taken: 12, mispredicted: 3 }];
  const text = await textOf(
    bolt({ branches, ranges: [RANGE, { ...RANGE, entered: true }], share: 1 }),
  );
  assertEquals(text, "B ab 0 12 3\nF 10 20 3\nf 10 20 3\n");
});

Deno.test("bolt: more lines than fit into a chunk are all written", async () => {
  const ranges = Array.from({ length: 4097 }, (_, count) => ({ ...RANGE, count }));
  const chunks = [...bolt({ branches: [], ranges, share: 1 })];
  assertEquals(chunks.length, 2);
  const lines = (await textOf(chunks)).split("\n");
  assertEquals([lines.length, lines[4096], lines[4097]], [4098, "F 10 20 4096", ""]);
});

Deno.test("profgen: ranges of both kinds are merged, branches out of the binary are dropped", async () => {
  const branches = [
    { from: 0xab, to: 0, taken: 12, mispredicted: 3 },
    { from: 0, to: 0xcd, taken: 7, mispredicted: 0 },
  ];
  const ranges = [RANGE, { ...RANGE, entered: true, count: 4 }, { ...RANGE, to: 0x21, count: 1 }];
  assertEquals(
    await textOf(profgen({ branches, ranges, share: 1 })),
    "2\n10-20:7\n10-21:1\n1\n0->cd:7\n",
  );
});

Deno.test("binarySamples: samples have distances from their functions, which are sorted", () => {
  const counts = [[20, 5], [3, 1], [16, 2], [3, 4], [40, 8], [105, 9], [-1, 3]] as const;
  const { functions, share } = binarySamples(
    counts.map(([place, samples]) => ({ place, samples })),
    PLACES,
    ELF,
    isBinary,
  );
  assertEquals(functions, [
    { name: "main", samples: [{ offset: 3, count: 5 }] },
    { name: "work", samples: [{ offset: 0, count: 2 }, { offset: 4, count: 5 }] },
  ]);
  assertEquals(share, 12 / 32);
  assertEquals(binarySamples([], PLACES, ELF, isBinary).share, 0);
});

/** Names of the functions at offsets in the code. */
function namesAt(elf: ElfFile, ...at: number[]): (string | undefined)[] {
  return at.map((place) =>
    binarySamples([{ place, samples: 1 }], PLACES, elf, isBinary).functions[0]?.name
  );
}

Deno.test("binarySamples: local functions are numbered, the first symbol at an address gives the name", () => {
  const elf = elfOf([
    symbol("same", 0, 8, FUNC),
    symbol("same", 8, 8, FUNC),
    symbol("second", 16, 8),
    symbol("alias", 16, 8),
    symbol("data", 24, 8, OBJECT | GLOBAL),
    symbol("", 32, 0, SECTION),
  ]);
  assertEquals(namesAt(elf, 0, 7, 8, 16, 24, 40), [
    ...["same/1", "same/1", "same/2", "second", undefined, undefined],
  ]);
});

Deno.test("binarySamples: a function without a size extends to the end of its section", () => {
  const elf = elfOf([symbol("sized", 0, 8), symbol("open", 16, 0)]);
  assertEquals(namesAt(elf, 8, 15, 16, 63), [undefined, undefined, "open", "open"]);
  assertEquals(namesAt(elfOf([]), 0), [undefined]);
});

Deno.test("boltSamples: blanks and backslashes in names are escaped, events come first", async () => {
  const functions = [{
    name: "a b\\c",
    samples: [{ offset: 255, count: 2 }, { offset: 0, count: 1 }],
  }];
  assertEquals(
    await textOf(boltSamples({ functions, share: 1 }, ["cycles", "faults"])),
    "no_lbr cycles: faults:\n1 a\\ b\\\\c ff 2\n1 a\\ b\\\\c 0 1\n",
  );
});

/**
 * Sizes of instructions from the start of the code on, negative after instructions that never fall
 * through.
 */
function steps(code: readonly number[], machine: number, count: number): number[] {
  const steps = new CodeSteps(elfOf([], code, machine));
  let at = ADDRESS;
  return Array.from({ length: count }, () => {
    const size = steps.step(at);
    at += size;
    return steps.ends ? -size : size;
  });
}

Deno.test("CodeSteps: x86 jumps, calls and returns end a trace, conditional jumps do not", () => {
  // push %rbp; mov %rsp,%rbp; je; jmp; call; call *%rax; ret; nop
  const code = [
    ...[0x55, 0x48, 0x89, 0xe5, 0x74, 0x02, 0xeb, 0x00, 0xe8, 0, 0, 0, 0, 0xff, 0xd0, 0xc3, 0x90],
  ];
  assertEquals(steps(code, 62, 8), [1, 3, 2, -2, -5, -2, -1, 1]);
});

Deno.test("CodeSteps: AArch64 instructions have 4 bytes, and b, bl, blr and ret end a trace", () => {
  const words = [
    0xd503201f,
    0x14000000,
    0x94000000,
    0xd63f0000,
    0xd65f03c0,
    0x54000000,
    0xb4000000,
  ];
  const code = words.flatMap((word) => [0, 8, 16, 24].map((bit) => word >>> bit & 255));
  assertEquals(steps(code, 183, 7), [4, -4, -4, -4, -4, 4, 4]);
});

Deno.test("CodeSteps: code ends with its segment", () => {
  const code = new CodeSteps(elfOf([]));
  assertEquals([code.step(ADDRESS - 1), code.step(ADDRESS + SIZE - 1), code.step(ADDRESS + SIZE)], [
    ...[0, 1, 0],
  ]);
  assertEquals(
    [ADDRESS - 1, ADDRESS, ADDRESS + SIZE - 1, ADDRESS + SIZE, 0x10_0000].map((at) =>
      code.hasCode(at)
    ),
    [false, true, true, false, false],
  );
});

Deno.test("CodeSteps: another processor is refused with its number", () => {
  assertThrows(() => new CodeSteps(elfOf([], [], 243)), Error, "machine 243");
});
