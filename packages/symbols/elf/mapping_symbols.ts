import { byteAt, floatAt, uintAt } from "@perfdata/format/bytes";
import { EM, SHN, SHT } from "./elf_constants.ts";
import type { ElfFile } from "./elf_file.ts";
import { type RawSymbols, readRawSymbols } from "./raw_symbols.ts";

/**
 * Whether a name is an assembler's mapping symbol: `$a`, `$d`, `$t`, `$x`, optionally with a suffix
 * `.…` (ELF for the Arm architectures).
 */
export function isMappingSymbol(strings: Uint8Array, at: number): boolean {
  if (strings[at] !== 0x24) return false;
  const kind = strings[at + 1];
  if (kind !== 0x61 && kind !== DATA && kind !== 0x74 && kind !== 0x78) return false;
  return strings[at + 2] === 0 || strings[at + 2] === 0x2e;
}

/** `d` of a mapping symbol: data begins. */
const DATA = 0x64;

/**
 * File offsets of the data among the code of an Arm program, such as literals: the first byte and
 * the one after the last, in pairs, in order. Mapping symbols mark them; stripped files have none.
 *
 * @throws {ElfError} If the symbol table is outside of the file.
 *
 * @example
 * ```ts
 * import { dataRanges, ElfFile } from "@perfdata/symbols";
 * import { openBinaryFile } from "@perfdata/symbols/files";
 *
 * using source = openBinaryFile(Deno.execPath());
 * console.log(dataRanges(ElfFile.open(source)).length / 2, "pieces of data");
 * ```
 */
export function dataRanges(elf: ElfFile): Float64Array {
  const section = elf.sections.find(({ type }) => type === SHT.SYMTAB);
  if (elf.machine !== EM.AARCH64 && elf.machine !== EM.ARM || section === undefined) {
    return new Float64Array(0);
  }
  const symbols = readRawSymbols(elf, section);
  const ranges: number[] = [];
  for (const [number, { offset, addr, size, type, flags }] of elf.sections.entries()) {
    if (type !== SHT.PROGBITS || (flags & EXECUTABLE) === 0) continue;
    let from = NaN;
    for (const { address, isData } of marksIn(symbols, number)) {
      if (isData && Number.isNaN(from)) from = address;
      else if (!isData && !Number.isNaN(from)) {
        if (address > from) ranges.push(offset + from - addr, offset + address - addr);
        from = NaN;
      }
    }
    if (from < addr + size) ranges.push(offset + from - addr, offset + size);
  }
  return Float64Array.from(ranges);
}

/** `SHF_EXECINSTR`. */
const EXECUTABLE = 4;

/** The mapping symbols of a section, by address; the last one at an address counts. */
function marksIn(
  { count, value, name, shndx, strings }: RawSymbols,
  section: number,
): { address: number; isData: boolean }[] {
  const marks = new Map<number, boolean>();
  for (let i = 0; i < count; i++) {
    if (uintAt(shndx, i) !== section || section === SHN.UNDEF) continue;
    const at = uintAt(name, i);
    if (isMappingSymbol(strings, at)) {
      marks.set(floatAt(value, i), byteAt(strings, at + 1) === DATA);
    }
  }
  return Array.from(marks, ([address, isData]) => ({ address, isData }))
    .sort((a, b) => a.address - b.address);
}
