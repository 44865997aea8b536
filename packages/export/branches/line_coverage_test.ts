import { ElfFile } from "@perfdata/symbols";
import { bytesSource } from "@perfdata/symbols/resolver";
import { assertEquals } from "@std/assert";
import { writeElf } from "../../symbols/testing/elf_writer.ts";
import { textOf } from "../testing.ts";
import { type CoverageDwarf, lcov, lineCoverage } from "./line_coverage.ts";

const OFFSET = 128, AT = 0x40_1000;

/**
 * 00 nop; 01 jz 05; 03 nop; 04 nop; 05 ret
 * 06 nop; 07 nop; 08 jnz 06; 0a ret
 */
const CODE = Uint8Array.fromHex("90" + "7402" + "90" + "90" + "c3" + "9090" + "75fc" + "c3");

const ELF = ElfFile.open(bytesSource(writeElf({
  ...{ is64: true, littleEndian: true, type: 2, machine: 62 },
  segments: [{
    ...{ type: 1, flags: 5, offset: BigInt(OFFSET), vaddr: BigInt(AT) },
    ...{ filesz: BigInt(CODE.length), memsz: BigInt(CODE.length) },
  }],
  sections: [{ name: ".text", type: 1, flags: 6, addr: BigInt(AT), bytes: CODE, addralign: 8 }],
})));

/** Line 7 is inlined at lines 2 and 3 of `main`; `idle` and a part of it at 0 are not executed. */
const DWARF: CoverageDwarf = {
  *codeLines() {
    const row = (low: number, high: number, line: number, file: number) => ({
      low,
      high,
      line,
      file,
    });
    const rows = [
      row(0, 3, 1, 0),
      row(3, 4, 7, 1),
      row(4, 5, 7, 1),
      row(5, 6, 4, 0),
      row(6, 10, 20, 0),
      row(10, 11, 21, 0),
    ];
    yield {
      low: rows.map(({ low }) => AT + low),
      high: rows.map(({ high }) => AT + high),
      line: rows.map(({ line }) => line),
      file: rows.map(({ file }) => file),
      files: ["/a.c", "/in.h"],
    };
    // Code that the linker dropped.
    yield { low: [0], high: [4], line: [99], file: [0], files: ["/a.c"] };
  },
  functionRanges: () => ({
    low: Float64Array.of(AT, AT + 6),
    high: Float64Array.of(AT + 6, AT + 11),
    function: Int32Array.of(0, 1),
  }),
  functionName: (number) => ({
    function: ["main", "idle", "inner"][number],
    linkageName: undefined,
    scope: undefined,
  }),
  findAll(addresses) {
    // Function and line of each frame, innermost first.
    const found = Array.from(
      addresses,
      (address): [number, number][] =>
        address === AT + 3 ? [[2, 7], [0, 2]] : address === AT + 4 ? [[2, 7], [0, 3]] : [[0, 1]],
    );
    const all = found.flat();
    let first = 0;
    const none = () => new Int32Array(all.length);
    return {
      first: Uint32Array.from(found, ({ length }) => (first += length) - length),
      count: Uint32Array.from(found, ({ length }) => length),
      function: Int32Array.from(all, ([number]) => number),
      line: Int32Array.from(all, ([, line]) => line),
      ...{ file: none(), column: none(), discriminator: none(), functions: [], files: [] },
    };
  },
};

Deno.test("lineCoverage: counts of inlined copies are added, code that did not run has 0", async () => {
  const range = (from: number, to: number, count: number) => ({
    ...{ from: AT + from, to: AT + to, count, entered: false },
  });
  // Executed ten times up to the jump, which is taken four times; six times up to the return.
  const found = {
    branches: [{ from: AT + 1, to: AT + 5, taken: 4, mispredicted: 0 }],
    ranges: [range(0, 1, 4), range(0, 5, 6), range(5, 5, 4)],
    share: 1,
  };
  const covered = lineCoverage(found, ELF, DWARF);
  assertEquals(covered.withLine, 1);
  assertEquals((await textOf(lcov(covered))).split("\n"), [
    "TN:",
    "SF:/a.c",
    ...["FN:1,main", "FN:20,idle", "FNDA:10,main", "FNDA:0,idle", "FNF:2", "FNH:1"],
    ...["BRDA:1,0,0,4", "BRDA:1,0,1,6", "BRDA:20,0,0,-", "BRDA:20,0,1,-", "BRF:4", "BRH:2"],
    ...["DA:1,10", "DA:4,10", "DA:20,0", "DA:21,0", "LF:4", "LH:2"],
    "end_of_record",
    "TN:",
    "SF:/in.h",
    ...["FNF:0", "FNH:0", "BRF:0", "BRH:0", "DA:7,12", "LF:1", "LH:1"],
    "end_of_record",
    "",
  ]);
});

Deno.test("lineCoverage: a unit that begins with dropped code keeps its functions, and equal lines of two files stay apart", () => {
  const asked: number[][] = [];
  const dwarf: CoverageDwarf = {
    ...DWARF,
    *codeLines() {
      yield {
        low: [0, AT, AT + 1],
        high: [4, AT + 1, AT + 3],
        line: [9, 1, 1],
        file: [0, 0, 1],
        files: ["/a.c", "/in.h"],
      };
    },
    functionRanges(addresses) {
      asked.push([...addresses]);
      return DWARF.functionRanges(addresses);
    },
  };
  const range = { from: AT, to: AT + 1, count: 3, entered: false };
  const { files } = lineCoverage({ branches: [], ranges: [range], share: 1 }, ELF, dwarf);
  assertEquals(asked, [[AT]]);
  assertEquals([...files].map(([path, { lines }]) => [path, [...lines]]), [
    ["/a.c", [[1, 3]]],
    ["/in.h", [[1, 3]]],
  ]);
});
