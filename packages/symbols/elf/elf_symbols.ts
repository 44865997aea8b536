import { byteAt, floatAt, uintAt } from "@perfdata/format/bytes";
import { addressToHex } from "../resolver/address.ts";
import { lowerBound } from "../table/sorted_numbers.ts";
import type { SymbolTable } from "../table/symbol_table.ts";
import { SymbolTableBuilder } from "../table/symbol_table_builder.ts";
import { EM, ET, SHF, SHN, SHT, STB, STT, STV } from "./elf_constants.ts";
import { ElfError } from "./elf_error.ts";
import type { ElfFile, ElfSection } from "./elf_file.ts";
import { isMappingSymbol } from "./mapping_symbols.ts";
import { type PltEntry, readPlt, TLS_DESCRIPTORS } from "./plt.ts";
import { rawSymbolNameLength, type RawSymbols, readRawSymbols } from "./raw_symbols.ts";
import { sectionAddress } from "./section_address.ts";

/** Options of {@linkcode readElfSymbols}. */
export interface ElfSymbolsOptions {
  /** The mapped file, if `elf` is a debug file. Its `.dynsym`, `.opd` and PLT stubs are used. */
  runtime?: ElfFile;
  /** The file in `.gnu_debugdata` (see `readMiniDebugInfo`), whose `.symtab` is added. */
  miniDebugInfo?: ElfFile;
  /**
   * Demangles names for display. The choice among aliases depends on it (see `SymbolTableBuilder`).
   */
  demangle?: (name: string) => string;
  /**
   * The addresses that will be looked up, sorted. The table then has only the symbols that they
   * need, and gives the same results for them as a full table. Skipping the others saves most of
   * the time, above all the comparison of aliases.
   */
  addresses?: Float64Array;
}

/** Result of {@linkcode readElfSymbols}. */
export interface ElfSymbols {
  /** Symbols by virtual address (`st_value`; see `sectionAddress`). */
  readonly table: SymbolTable;
  /** Number of symbols with an invalid section index or name offset. */
  readonly malformed: number;
}

/**
 * Reads the symbols of an ELF file that code and data addresses belong to: functions, IFUNCs,
 * objects, and visible labels in text and data sections, of `.symtab` and `.dynsym`, and PLT stubs
 * as `name@plt`.
 *
 * The selection of symbols, the ranges of those without a size, and the choice among aliases follow
 * `perf` (`dso__load_sym_internal` in tools/perf/util/symbol-elf.c). `perf` stores symbols by file
 * offset: the address minus `p_vaddr` plus `p_offset` of its segment. PLT stubs that `perf` 6.1
 * misplaces (`.plt.sec`, IFUNCs, static programs) are correct here.
 *
 * @throws {ElfError} If a symbol table is malformed.
 *
 * @example
 * ```ts
 * import { ElfFile, readElfSymbols } from "@perfdata/symbols";
 * import { openBinaryFile } from "@perfdata/symbols/files";
 * import { assert } from "@std/assert";
 *
 * using source = openBinaryFile(Deno.execPath());
 * const { table } = readElfSymbols(ElfFile.open(source));
 * assert(table.size > 100);
 * ```
 */
export function readElfSymbols(elf: ElfFile, options: ElfSymbolsOptions = {}): ElfSymbols {
  const runtime = options.runtime ?? elf;
  const builder = new SymbolTableBuilder(
    options.demangle === undefined ? {} : { demangle: options.demangle },
  );
  const symtab = candidates(elf, runtime, ".symtab", SHT.SYMTAB);
  const mini = options.miniDebugInfo === undefined
    ? undefined
    : candidates(options.miniDebugInfo, runtime, ".symtab", SHT.SYMTAB);
  const dynsym = candidates(runtime, runtime, ".dynsym", SHT.DYNSYM);
  const all = [symtab, mini, dynsym].filter((some) => some !== undefined);
  const { addresses } = options;
  const wanted = addresses === undefined ? undefined : decidingStarts(all, addresses);
  let malformed = 0;
  for (const some of all) {
    addSymbols(builder, some, wanted);
    builder.fixup();
    malformed += some.malformed;
  }
  if (elf.type !== ET.REL && (addresses === undefined || reachesPlt(runtime, addresses))) {
    addPlt(builder, readPlt(runtime, addresses), dynsym?.symbols);
  }
  return { table: builder.build(), malformed };
}

/** The symbols of a section, with marks of those that are used. */
interface Candidates {
  readonly elf: ElfFile;
  readonly symbols: RawSymbols;
  /** Addresses; NaN for symbols that are not used. */
  readonly starts: Float64Array;
  readonly malformed: number;
}

/**
 * Limit of the mean sharing of name bytes. Linkers let names share suffixes; more sharing than this
 * is an attack on the time for measuring names.
 */
const MAX_NAME_SHARING = 64;

function candidates(
  elf: ElfFile,
  runtime: ElfFile,
  name: string,
  sectionType: number,
): Candidates | undefined {
  const table = elf.section(name);
  if (table === undefined || table.type !== sectionType) return undefined;
  const symbols = readRawSymbols(elf, table);
  const starts = new Float64Array(symbols.count).fill(NaN);
  const relocatable = elf.type === ET.REL;
  const hasMappingSymbols = elf.machine === EM.ARM || elf.machine === EM.AARCH64;
  const opd = elf.machine === EM.PPC64 ? descriptors(runtime) : undefined;
  const allocated = elf.sections.map(({ flags }) => (flags & SHF.ALLOC) !== 0);
  const labelled = elf.sections.map(({ name }) => name.includes("text") || name.includes("data"));
  let malformed = 0;
  for (let i = 1; i < symbols.count; i++) {
    const nameOffset = symbols.name[i] ?? 0;
    const shndx = symbols.shndx[i] ?? 0;
    if (nameOffset === 0 || shndx === SHN.UNDEF || shndx === SHN.ABS) continue;
    const type = (symbols.info[i] ?? 0) & 15;
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
    if (shndx >= allocated.length) {
      if (shndx !== SHN.COMMON) malformed++;
      continue;
    }
    if (!allocated[shndx] || (isLabel && !labelled[shndx])) continue;
    let value = symbols.value[i] ?? 0;
    if (opd !== undefined && shndx === opd.section.index) value = opd.entry(value) ?? value;
    if (elf.machine === EM.ARM && type === STT.FUNC && value % 2 === 1) value--; // Thumb
    if (relocatable) value += sectionAddress(elf, elf.sections[shndx] as ElfSection);
    starts[i] = value;
  }
  return { elf, symbols, starts, malformed };
}

/** Adds symbols, or only those that start at the wanted addresses. */
function addSymbols(
  builder: SymbolTableBuilder,
  { elf, symbols, starts }: Candidates,
  wanted: Float64Array | undefined,
): void {
  const name = { strings: builder.addStrings(symbols.strings), offset: 0, length: 0 };
  let nameBytes = 0;
  const nameBytesLimit = symbols.strings.length * MAX_NAME_SHARING + symbols.count * 16;
  for (let i = 1; i < symbols.count; i++) {
    const start = floatAt(starts, i);
    if (start !== start) continue;
    if (wanted !== undefined && wanted[lowerBound(wanted, start)] !== start) continue;
    name.offset = uintAt(symbols.name, i);
    name.length = rawSymbolNameLength(symbols, i);
    nameBytes += name.length;
    if (nameBytes > nameBytesLimit) {
      throw new ElfError(
        elf.section(".symtab")?.offset ?? 0,
        `The names of ${symbols.count} symbols overlap: they are more than ` +
          `${MAX_NAME_SHARING} times as long as the string table of ${symbols.strings.length} bytes`,
      );
    }
    const info = byteAt(symbols.info, i);
    const size = floatAt(symbols.size, i);
    builder.add(start, size, name, info >> 4, info & 15);
  }
}

/**
 * The sorted starts of all symbols that determine the results at some addresses.
 *
 * A symbol with a size matters if it covers an address, together with its aliases. A symbol without
 * a size extends to the next one: it matters if it is the last before an address, and its
 * successor, which ends it, matters too. Sections are handled separately, since such ends are
 * computed by section.
 */
function decidingStarts(sections: readonly Candidates[], addresses: Float64Array): Float64Array {
  const covering: number[] = [];
  for (const { symbols, starts } of sections) {
    const { size } = symbols;
    // The last symbol between an address and the previous address.
    const last = new Float64Array(addresses.length).fill(-Infinity);
    // The last symbol in the upper half of the address space has a computed end.
    let lastOfHalf = -Infinity;
    for (let i = 1; i < symbols.count; i++) {
      const start = floatAt(starts, i);
      if (start !== start) continue;
      if (start < 0 && start > lastOfHalf) lastOfHalf = start;
      const at = lowerBound(addresses, start);
      if (at === addresses.length) continue;
      if (start > floatAt(last, at)) last[at] = start;
      if (start + floatAt(size, i) > floatAt(addresses, at)) covering.push(start);
    }
    if (lastOfHalf !== -Infinity) covering.push(lastOfHalf);
    for (const start of last) if (start !== -Infinity) covering.push(start);
  }
  const deciding = distinct(covering);
  const unsized = distinct(sections.flatMap((section) => unsizedStarts(section, deciding)));
  if (unsized.length === 0) return deciding;
  for (const { symbols, starts } of sections) {
    const next = new Float64Array(unsized.length).fill(Infinity);
    for (let i = 1; i < symbols.count; i++) {
      const start = floatAt(starts, i);
      if (start !== start) continue;
      const after = lowerBound(unsized, start);
      if (after === 0 || unsized[after] === start) continue;
      if (start < floatAt(next, after - 1)) next[after - 1] = start;
    }
    for (const start of next) if (start !== Infinity) covering.push(start);
  }
  return distinct(covering);
}

/** The starts of symbols without a size, as far as they are in the sorted `deciding`. */
function unsizedStarts({ symbols, starts }: Candidates, deciding: Float64Array): number[] {
  const found: number[] = [];
  for (let i = 1; i < symbols.count; i++) {
    const start = floatAt(starts, i);
    if (start !== start || floatAt(symbols.size, i) !== 0) continue;
    if (deciding[lowerBound(deciding, start)] === start) found.push(start);
  }
  return found;
}

function distinct(numbers: readonly number[]): Float64Array {
  const sorted = Float64Array.from(numbers).sort();
  let count = 0;
  for (let i = 0; i < sorted.length; i++) {
    const number = floatAt(sorted, i);
    if (i === 0 || number !== sorted[count - 1]) sorted[count++] = number;
  }
  return sorted.subarray(0, count);
}

/** Whether an address may be in a PLT stub. */
function reachesPlt(elf: ElfFile, addresses: Float64Array): boolean {
  return [".plt", ".iplt", ".plt.sec", ".plt.got"].some((name) => {
    const section = elf.section(name);
    const first = section === undefined
      ? undefined
      : addresses[lowerBound(addresses, section.addr)];
    return section !== undefined && first !== undefined && first < section.addr + section.size;
  });
}

/**
 * Function descriptors of 64-bit PowerPC (ELFv1): symbols refer to a descriptor, which has the code
 * address.
 */
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
  stubs: readonly PltEntry[],
  dynsym: RawSymbols | undefined,
): void {
  const named = dynsym === undefined ? 0 : builder.addStrings(dynsym.strings, "@plt");
  // Name the stub of a local IFUNC as objdump does, by the address of its resolver.
  const unnamed = stubs.filter(({ symbol }) => symbol === 0 || symbol === TLS_DESCRIPTORS);
  const names = unnamed.map(({ symbol, addend }) =>
    symbol === 0 ? `*ABS*+${addressToHex(addend)}@plt` : "*TLSDESC*@plt"
  );
  const resolvers = builder.addStrings(new TextEncoder().encode(names.join("")));
  let offset = 0;
  unnamed.forEach(({ address, size }, i) => {
    const length = names[i]?.length ?? 0;
    builder.add(address, size, { strings: resolvers, offset, length }, STB.GLOBAL, STT.FUNC);
    offset += length;
  });
  if (dynsym === undefined) return;
  for (const { address, size, symbol } of stubs) {
    if (symbol <= 0 || symbol >= dynsym.count) continue;
    const length = rawSymbolNameLength(dynsym, symbol);
    const name = { strings: named, offset: dynsym.name[symbol] ?? 0, length };
    builder.add(address, size, name, STB.GLOBAL, STT.FUNC);
  }
}
