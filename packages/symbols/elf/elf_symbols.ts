import { addressToHex } from "../address.ts";
import { type SymbolTable, SymbolTableBuilder } from "../symbol_table.ts";
import { EM, ET, SHF, SHN, SHT, STB, STT, STV } from "./constants.ts";
import { ElfError } from "./elf_error.ts";
import type { ElfFile, ElfSection } from "./elf_file.ts";
import { readPlt } from "./plt.ts";
import { rawSymbolNameLength, type RawSymbols, readRawSymbols } from "./raw_symbols.ts";
import { sectionAddress } from "./section_address.ts";

/** Options of {@linkcode readElfSymbols}. */
export interface ElfSymbolsOptions {
  /**
   * The file that was mapped, if `elf` is one of split-off debug information: the `.dynsym`,
   * `.opd` and PLT stubs are taken from there.
   */
  runtime?: ElfFile;
  /** The file in `.gnu_debugdata` (see `readMiniDebugInfo`), whose `.symtab` is added. */
  miniDebugInfo?: ElfFile;
  /** How names will be shown; `perf` chooses among aliases by that (see `SymbolTableBuilder`). */
  demangle?: (name: string) => string;
}

/** What {@linkcode readElfSymbols} made. */
export interface ElfSymbols {
  /** Symbols by the address they have in the file (`st_value`; see `sectionAddress`). */
  readonly table: SymbolTable;
  /** Symbols that name no section of the file, or lie outside of their string table. */
  readonly malformed: number;
}

/**
 * Reads the symbols of an ELF file that code and data addresses are attributed to: functions,
 * IFUNCs, objects, and visible labels in text and data sections, of `.symtab` and `.dynsym`, and
 * the stubs of the PLT as `name@plt`.
 *
 * Which symbols count, the ranges of those without a size, and the choice among several of one
 * address are those of `perf` (`dso__load_sym_internal` in tools/perf/util/symbol-elf.c), which
 * holds the symbols by file offset: the address minus `p_vaddr` plus `p_offset` of its segment.
 * Where `perf` 6.1 misplaces PLT stubs (`.plt.sec`, static programs) they are right here.
 *
 * @throws {ElfError} if a symbol table is malformed
 *
 * @example
 * ```ts
 * import { ElfFile, readElfSymbols } from "@perfdata/symbols";
 * import { openFileSource } from "@perfdata/symbols/file_source";
 * import { assert } from "@std/assert";
 *
 * using source = openFileSource(Deno.execPath());
 * const { table } = readElfSymbols(ElfFile.open(source));
 * assert(table.size > 100);
 * ```
 */
export function readElfSymbols(elf: ElfFile, options: ElfSymbolsOptions = {}): ElfSymbols {
  const runtime = options.runtime ?? elf;
  const builder = new SymbolTableBuilder(
    options.demangle === undefined ? {} : { demangle: options.demangle },
  );
  let malformed = 0;
  const addFrom = (file: ElfFile, name: string, type: number): RawSymbols | undefined => {
    const section = file.section(name);
    if (section === undefined || section.type !== type) return undefined;
    const symbols = readRawSymbols(file, section);
    malformed += addSymbols(builder, file, runtime, symbols);
    builder.fixup();
    return symbols;
  };
  addFrom(elf, ".symtab", SHT.SYMTAB);
  if (options.miniDebugInfo !== undefined) addFrom(options.miniDebugInfo, ".symtab", SHT.SYMTAB);
  const dynsym = addFrom(runtime, ".dynsym", SHT.DYNSYM);
  if (elf.type !== ET.REL) addPlt(builder, runtime, dynsym);
  return { table: builder.build(), malformed };
}

/**
 * Linkers let a name end another one and files repeat a few; a table whose names share more than
 * this is an attack on the time it takes to measure them.
 */
const MAX_NAME_SHARING = 64;

function addSymbols(
  builder: SymbolTableBuilder,
  elf: ElfFile,
  runtime: ElfFile,
  symbols: RawSymbols,
): number {
  const strings = builder.addStrings(symbols.strings);
  const relocatable = elf.type === ET.REL;
  const hasMappingSymbols = elf.machine === EM.ARM || elf.machine === EM.AARCH64;
  const opd = elf.machine === EM.PPC64 ? descriptors(runtime) : undefined;
  let malformed = 0;
  let nameBytes = 0;
  const nameBytesLimit = symbols.strings.length * MAX_NAME_SHARING + symbols.count * 16;
  for (let i = 1; i < symbols.count; i++) {
    const nameOffset = symbols.name[i] ?? 0;
    const shndx = symbols.shndx[i] ?? 0;
    if (nameOffset === 0 || shndx === SHN.UNDEF || shndx === SHN.ABS) continue;
    const info = symbols.info[i] ?? 0;
    const type = info & 15;
    const isLabel = type === STT.NOTYPE;
    if (isLabel) {
      const visibility = (symbols.other[i] ?? 0) & 3;
      if (visibility === STV.HIDDEN || visibility === STV.INTERNAL) continue;
    } else if (type !== STT.FUNC && type !== STT.GNU_IFUNC && type !== STT.OBJECT) continue;
    if (nameOffset >= symbols.strings.length) {
      malformed++;
      continue;
    }
    if (hasMappingSymbols && isMappingSymbol(symbols.strings, nameOffset)) continue;
    const section = elf.sections[shndx];
    if (section === undefined) {
      if (shndx !== SHN.COMMON) malformed++;
      continue;
    }
    if ((section.flags & SHF.ALLOC) === 0) continue;
    if (isLabel && !section.name.includes("text") && !section.name.includes("data")) continue;
    let value = symbols.value[i] ?? 0;
    if (opd !== undefined && shndx === opd.section.index) value = opd.entry(value) ?? value;
    if (elf.machine === EM.ARM && type === STT.FUNC && value % 2 === 1) value--; // Thumb
    if (relocatable) value += sectionAddress(elf, section);
    const nameLength = rawSymbolNameLength(symbols, i);
    nameBytes += nameLength;
    if (nameBytes > nameBytesLimit) {
      throw new ElfError(
        elf.section(".symtab")?.offset ?? 0,
        `The names of ${symbols.count} symbols overlap: they are more than ` +
          `${MAX_NAME_SHARING} times as long as the string table of ${symbols.strings.length} bytes`,
      );
    }
    builder.add(
      value,
      symbols.size[i] ?? 0,
      strings,
      nameOffset,
      nameLength,
      info >> 4,
      type,
    );
  }
  return malformed;
}

/** `$a`, `$d`, `$t`, `$x`, also with a suffix `.…`: marks of the assembler (ARM ELF ABI). */
function isMappingSymbol(strings: Uint8Array, at: number): boolean {
  if (strings[at] !== 0x24) return false;
  const kind = strings[at + 1];
  if (kind !== 0x61 && kind !== 0x64 && kind !== 0x74 && kind !== 0x78) return false;
  return strings[at + 2] === 0 || strings[at + 2] === 0x2e;
}

/** Function descriptors of 64-bit PowerPC (ELFv1): a symbol there points to the code address. */
function descriptors(
  elf: ElfFile,
): { section: ElfSection; entry: (address: number) => number | undefined } | undefined {
  const section = elf.section(".opd");
  if (section === undefined || section.type !== SHT.PROGBITS) return undefined;
  const bytes = elf.sectionData(section);
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const le = elf.littleEndian;
  return {
    section,
    entry: (address) => {
      const at = address - section.addr;
      if (at < 0 || at + 8 > bytes.length) return undefined;
      return data.getInt32(le ? at + 4 : at, le) * 4294967296 +
        data.getUint32(le ? at : at + 4, le);
    },
  };
}

function addPlt(
  builder: SymbolTableBuilder,
  elf: ElfFile,
  dynsym: RawSymbols | undefined,
): void {
  const named = dynsym === undefined ? 0 : builder.addStrings(dynsym.strings, "@plt");
  const stubs = readPlt(elf);
  // As objdump names the stub of a local IFUNC: there is only the address of its resolver.
  const unnamed = stubs.filter((stub) => stub.symbol === 0);
  const names = unnamed.map((stub) => `*ABS*+${addressToHex(stub.addend)}@plt`);
  const resolvers = builder.addStrings(new TextEncoder().encode(names.join("")));
  let nameOffset = 0;
  unnamed.forEach(({ address, size }, i) => {
    const length = names[i]?.length ?? 0;
    builder.add(address, size, resolvers, nameOffset, length, STB.GLOBAL, STT.FUNC);
    nameOffset += length;
  });
  if (dynsym === undefined) return;
  for (const { address, size, symbol } of stubs) {
    if (symbol === 0 || symbol >= dynsym.count) continue;
    const length = rawSymbolNameLength(dynsym, symbol);
    builder.add(address, size, named, dynsym.name[symbol] ?? 0, length, STB.GLOBAL, STT.FUNC);
  }
}
