import { EM, ET, SHT } from "./elf_constants.ts";
import { ElfError } from "./elf_error.ts";
import type { ElfFile, ElfSection } from "./elf_file.ts";
import { readRawSymbols } from "./raw_symbols.ts";
import { sectionAddress } from "./section_address.ts";

/** Relocation types that store symbol + addend in a field of 4 or 8 bytes, by machine (psABIs). */
const ABSOLUTE: Readonly<Record<number, { word: readonly number[]; xword: readonly number[] }>> = {
  [EM.X86_64]: { word: [10, 11], xword: [1] }, // R_X86_64_32, _32S; _64
  [EM.I386]: { word: [1], xword: [] }, // R_386_32
  [EM.AARCH64]: { word: [258], xword: [257] }, // R_AARCH64_ABS32; _ABS64
  [EM.ARM]: { word: [2], xword: [] }, // R_ARM_ABS32
  [EM.PPC64]: { word: [1], xword: [38] }, // R_PPC64_ADDR32; _ADDR64
  [EM.PPC]: { word: [1], xword: [] }, // R_PPC_ADDR32
  [EM.S390]: { word: [4], xword: [22] }, // R_390_32; _64
  [EM.RISCV]: { word: [1], xword: [2] }, // R_RISCV_32; _64
};

/**
 * The bytes of a section with its absolute relocations applied, as debug sections of a relocatable
 * file (`ET_REL`: a `.o`, a kernel module) need. Addresses have the layout of {@linkcode sectionAddress}.
 * Sections of other files are returned unchanged.
 *
 * Other kinds of relocations (differences of labels, on RISC-V and LoongArch) are not applied.
 *
 * @throws {ElfError} If the relocations or the symbol table are malformed.
 */
export function relocatedSectionData(elf: ElfFile, section: ElfSection): Uint8Array {
  const original = elf.sectionData(section);
  if (elf.type !== ET.REL) return original;
  const tables = elf.sections.filter((s) =>
    (s.type === SHT.RELA || s.type === SHT.REL) && s.info === section.index
  );
  const kinds = ABSOLUTE[elf.machine];
  if (tables.length === 0 || kinds === undefined) return original;
  const bytes = original.slice();
  for (const table of tables) applyTable(elf, section, table, bytes, kinds);
  return bytes;
}

function applyTable(
  elf: ElfFile,
  section: ElfSection,
  table: ElfSection,
  bytes: Uint8Array,
  kinds: { word: readonly number[]; xword: readonly number[] },
): void {
  const symbolSection = elf.sections[table.link];
  if (symbolSection === undefined) {
    throw new ElfError(
      table.offset,
      `Section ${table.name} links to symbol table ${table.link}: ` +
        `the file has ${elf.sections.length} sections`,
    );
  }
  const symbols = readRawSymbols(elf, symbolSection);
  const rela = table.type === SHT.RELA;
  const stride = (elf.is64 ? 16 : 8) + (rela ? (elf.is64 ? 8 : 4) : 0);
  const le = elf.littleEndian;
  const entries = elf.sectionData(table);
  const data = new DataView(entries.buffer, entries.byteOffset, entries.byteLength);
  const target = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const signed64 = (view: DataView, at: number): number =>
    view.getInt32(le ? at + 4 : at, le) * 4294967296 + view.getUint32(le ? at : at + 4, le);
  for (let at = 0; at + stride <= entries.length; at += stride) {
    const offset = elf.is64 ? signed64(data, at) : data.getUint32(at, le);
    const info = elf.is64 ? data.getUint32(le ? at + 8 : at + 12, le) : data.getUint32(at + 4, le);
    const type = elf.is64 ? info : info & 255;
    const symbol = elf.is64 ? data.getUint32(le ? at + 12 : at + 8, le) : info >>> 8;
    const width = kinds.xword.includes(type) ? 8 : kinds.word.includes(type) ? 4 : 0;
    if (width === 0) continue;
    if (offset < 0 || offset + width > bytes.length) {
      throw new ElfError(
        table.offset + at,
        `Relocation at ${offset} of ${section.name}: it has ${bytes.length} bytes`,
      );
    }
    const home = elf.sections[symbols.shndx[symbol] ?? 0];
    let value = (symbols.value[symbol] ?? 0) +
      (home === undefined ? 0 : sectionAddress(elf, home));
    if (rela) value += elf.is64 ? signed64(data, at + 16) : data.getInt32(at + 8, le);
    else value += width === 8 ? signed64(target, offset) : target.getInt32(offset, le);
    if (width === 8) {
      const hi = Math.floor(value / 4294967296);
      target.setInt32(le ? offset + 4 : offset, hi, le);
      target.setUint32(le ? offset : offset + 4, value - hi * 4294967296, le);
    } else {
      target.setInt32(offset, value, le);
    }
  }
}
