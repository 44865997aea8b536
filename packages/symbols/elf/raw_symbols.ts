import type { Address } from "../resolver/address.ts";
import { SHN, SHT } from "./elf_constants.ts";
import { ElfError } from "./elf_error.ts";
import type { ElfFile, ElfSection } from "./elf_file.ts";
import { decodeName } from "./strings.ts";

/**
 * The entries of a symbol table section, one array per field, in file order (`Elf32_Sym` /
 * `Elf64_Sym` of elf.h). Entry 0 is the null symbol.
 */
export interface RawSymbols {
  /** Number of entries. */
  readonly count: number;
  /** `st_value`, an {@linkcode Address}. */
  readonly value: Float64Array;
  /** `st_size`, bytes. */
  readonly size: Float64Array;
  /** `st_name`: byte offset in `strings`. */
  readonly name: Uint32Array;
  /** `st_info`: binding in the high four bits, type in the low four. */
  readonly info: Uint8Array;
  /** `st_other`: visibility in the low two bits. */
  readonly other: Uint8Array;
  /** `st_shndx`; `SHN_XINDEX` is replaced by the value in `SHT_SYMTAB_SHNDX`. */
  readonly shndx: Uint32Array;
  /** The string table. */
  readonly strings: Uint8Array;
}

/**
 * Reads a section of type `SHT_SYMTAB` or `SHT_DYNSYM` with its string table.
 *
 * @throws {ElfError} If the section or its string table is outside of the file.
 *
 * @example
 * ```ts
 * import { ElfFile, rawSymbolName, readRawSymbols } from "@perfdata/symbols";
 * import { openBinaryFile } from "@perfdata/symbols/files";
 * import { assert } from "@std/assert";
 *
 * using source = openBinaryFile(Deno.execPath());
 * const elf = ElfFile.open(source);
 * const dynsym = elf.section(".dynsym");
 * assert(dynsym !== undefined);
 * const symbols = readRawSymbols(elf, dynsym);
 * const names = Array.from({ length: symbols.count }, (_, i) => rawSymbolName(symbols, i));
 * assert(names.includes("malloc"));
 * ```
 */
export function readRawSymbols(elf: ElfFile, section: ElfSection): RawSymbols {
  const entrySize = elf.is64 ? 24 : 16;
  if (section.entsize !== 0 && section.entsize < entrySize) {
    throw new ElfError(
      section.offset,
      `Symbols of ${section.entsize} bytes each in ${section.name}: expected ${entrySize}`,
    );
  }
  const stride = section.entsize === 0 ? entrySize : section.entsize;
  const bytes = elf.sectionData(section);
  const count = Math.floor(bytes.length / stride);
  const stringSection = elf.sections[section.link];
  if (stringSection === undefined) {
    throw new ElfError(
      section.offset,
      `Section ${section.name} links to string table ${section.link}: ` +
        `the file has ${elf.sections.length} sections`,
    );
  }
  const symbols: RawSymbols = {
    count,
    value: new Float64Array(count),
    size: new Float64Array(count),
    name: new Uint32Array(count),
    info: new Uint8Array(count),
    other: new Uint8Array(count),
    shndx: new Uint32Array(count),
    strings: elf.sectionData(stringSection),
  };
  const { value, size, name, info, other, shndx } = symbols;
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const le = elf.littleEndian;
  if (elf.is64) {
    const high = le ? 4 : 0;
    const low = le ? 0 : 4;
    for (let i = 0, at = 0; i < count; i++, at += stride) {
      name[i] = data.getUint32(at, le);
      info[i] = data.getUint8(at + 4);
      other[i] = data.getUint8(at + 5);
      shndx[i] = data.getUint16(at + 6, le);
      value[i] = data.getInt32(at + 8 + high, le) * 4294967296 + data.getUint32(at + 8 + low, le);
      size[i] = data.getUint32(at + 16 + high, le) * 4294967296 + data.getUint32(at + 16 + low, le);
    }
  } else {
    for (let i = 0, at = 0; i < count; i++, at += stride) {
      name[i] = data.getUint32(at, le);
      value[i] = data.getUint32(at + 4, le);
      size[i] = data.getUint32(at + 8, le);
      info[i] = data.getUint8(at + 12);
      other[i] = data.getUint8(at + 13);
      shndx[i] = data.getUint16(at + 14, le);
    }
  }
  resolveExtendedIndexes(elf, section, symbols);
  return symbols;
}

function resolveExtendedIndexes(elf: ElfFile, section: ElfSection, symbols: RawSymbols): void {
  const { shndx, count } = symbols;
  if (!shndx.includes(SHN.XINDEX)) return;
  const extended = elf.sections.find((s) =>
    s.type === SHT.SYMTAB_SHNDX && s.link === section.index
  );
  if (extended === undefined) return;
  const bytes = elf.sectionData(extended);
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < count && i * 4 + 4 <= bytes.length; i++) {
    if (shndx[i] === SHN.XINDEX) shndx[i] = data.getUint32(i * 4, elf.littleEndian);
  }
}

/** Length of a symbol's name in bytes. */
export function rawSymbolNameLength(symbols: RawSymbols, index: number): number {
  const { strings } = symbols;
  const start = symbols.name[index] ?? 0;
  let end = start;
  while (end < strings.length && strings[end] !== 0) end++;
  return end - start;
}

/** The mangled name of a symbol. */
export function rawSymbolName(symbols: RawSymbols, index: number): string {
  const start = symbols.name[index] ?? 0;
  return decodeName(symbols.strings, start, start + rawSymbolNameLength(symbols, index));
}

/**
 * Finds a symbol by its name, first in `.symtab`, then in `.dynsym`.
 *
 * @returns its `st_value`; `undefined` if no defined symbol has that name
 * @throws {ElfError} if a symbol table is malformed
 */
export function findElfSymbol(elf: ElfFile, name: string): Address | undefined {
  const wanted = new TextEncoder().encode(name);
  for (const sectionName of [".symtab", ".dynsym"]) {
    const section = elf.section(sectionName);
    if (section === undefined || section.type === SHT.NOBITS) continue;
    const symbols = readRawSymbols(elf, section);
    const { strings } = symbols;
    search: for (let i = 1; i < symbols.count; i++) {
      if (symbols.shndx[i] === SHN.UNDEF) continue;
      const start = symbols.name[i] ?? 0;
      if (strings[start + wanted.length] !== 0) continue;
      for (let j = 0; j < wanted.length; j++) {
        if (strings[start + j] !== wanted[j]) continue search;
      }
      return symbols.value[i];
    }
  }
  return undefined;
}
