import { assertEquals } from "@std/assert";
import { bytesSource } from "../files/binary_source.ts";
import { symbolTable, writeElf } from "../testing/elf_writer.ts";
import { ElfFile } from "./elf_file.ts";
import { dataRanges } from "./mapping_symbols.ts";

/** Offsets in `.text`, whose 64 bytes are at 0x1000, of the data that the symbols mark. */
function found(machine: number, marks: readonly (readonly [string, number])[]): number[] {
  const layout = { is64: true, littleEndian: true };
  const symbols = marks.map(([name, at]) => ({
    ...{ name, value: BigInt(0x1000 + at), size: 0n, info: 0, shndx: 1 },
  }));
  const { symtab, strtab } = symbolTable(layout, symbols);
  const elf = ElfFile.open(bytesSource(writeElf({
    ...layout,
    type: 3,
    machine,
    sections: [
      { name: ".text", type: 1, flags: 6, addr: 0x1000n, bytes: new Uint8Array(64) },
      { name: ".symtab", type: 2, bytes: symtab, link: 3, entsize: 24 },
      { name: ".strtab", type: 3, bytes: strtab },
    ],
  })));
  return [...dataRanges(elf)].map((offset) => offset - (elf.section(".text")?.offset ?? 0));
}

Deno.test("dataRanges: $d begins data, $x ends it, in any order of the symbols", () => {
  const marks = [["$d.7", 8], ["$x", 0], ["f", 4], ["$x.1", 16], ["$d", 12], ["$d", 56]] as const;
  assertEquals(found(183, marks), [8, 16, 56, 64]);
  assertEquals(found(183, [["$x", 0], ["$data", 8]]), []);
  // Other machines have no such symbols: the names are those of variables.
  assertEquals(found(62, marks), []);
});
