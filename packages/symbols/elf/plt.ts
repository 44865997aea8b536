import type { Address } from "../resolver/address.ts";
import { EM, SHT } from "./elf_constants.ts";
import { ElfError } from "./elf_error.ts";
import type { ElfFile, ElfSection } from "./elf_file.ts";

/** A stub of the procedure linkage table. */
export interface PltEntry {
  readonly address: Address;
  /** Size in bytes. */
  readonly size: number;
  /** Index in `.dynsym` of the called function; 0 for an IFUNC that is resolved by address. */
  readonly symbol: number;
  /** The relocation's addend: for an IFUNC, the address of its resolver. */
  readonly addend: Address;
}

interface Relocation {
  readonly offset: Address;
  readonly symbol: number;
  readonly addend: Address;
}

/** Sizes of the header before the first stub, and of a stub, on machines where they are fixed. */
const PLT_SHAPE: Readonly<Record<number, { header: number; entry: number }>> = {
  [EM.I386]: { header: 16, entry: 16 },
  [EM.X86_64]: { header: 16, entry: 16 },
  [EM.ARM]: { header: 20, entry: 12 },
  [EM.AARCH64]: { header: 32, entry: 16 },
  [EM.RISCV]: { header: 32, entry: 16 },
  [EM.LOONGARCH]: { header: 32, entry: 16 },
  [EM.SPARC]: { header: 48, entry: 12 },
  [EM.SPARCV9]: { header: 128, entry: 32 },
};

/**
 * Finds PLT stubs, which have no symbols, and the functions that they call.
 *
 * On x86, a stub belongs to the relocation of the GOT slot through which it jumps. This holds for
 * `.plt`, `.plt.sec` (the called stubs with indirect branch tracking) and `.plt.got`. Stubs of
 * `.plt` without such a jump, and stubs of other machines, are in the order of the slots. The order
 * of `.rela.plt` (`.rel.plt`) can differ: linkers put relocations of IFUNCs at its end.
 *
 * @throws {ElfError} If a section is outside of the file.
 */
export function readPlt(elf: ElfFile): PltEntry[] {
  const entries: PltEntry[] = [];
  const relocationSection = elf.section(".rela.plt") ?? elf.section(".rel.plt");
  const plt = elf.section(".plt");
  const relocations = relocationSection === undefined
    ? []
    : readRelocations(elf, relocationSection).sort((a, b) => a.offset - b.offset);
  const bySlot = new Map(relocations.map((relocation) => [relocation.offset, relocation]));
  const isX86 = elf.machine === EM.X86_64 || elf.machine === EM.I386;
  if (plt !== undefined && plt.type !== SHT.NOBITS && relocations.length > 0) {
    const { header, entry } = pltShape(elf, plt, relocations.length);
    const slotOf = new Map(
      isX86 ? readJumps(elf, plt).map(({ address, slot }) => [address, slot]) : [],
    );
    let address = plt.addr + header;
    for (const inOrder of relocations) {
      if (entry === 0 || address + entry > plt.addr + plt.size) break;
      const slot = slotOf.get(address);
      const { symbol, addend } = (slot === undefined ? undefined : bySlot.get(slot)) ?? inOrder;
      entries.push({ address, size: entry, symbol, addend });
      address += entry;
    }
  }
  if (isX86) {
    const dynamic = elf.section(".rela.dyn") ?? elf.section(".rel.dyn");
    const got = elf.section(".plt.got");
    const stubs = [elf.section(".plt.sec"), got].flatMap((section) =>
      section === undefined || section.type === SHT.NOBITS ? [] : readJumps(elf, section)
    );
    // Most other relocations are of data.
    if (got !== undefined && dynamic !== undefined && stubs.length > 0) {
      const others = new Set(stubs.map(({ slot }) => slot).filter((slot) => !bySlot.has(slot)));
      for (const relocation of readRelocations(elf, dynamic, others)) {
        if (relocation.symbol !== 0) bySlot.set(relocation.offset, relocation);
      }
    }
    for (const { address, size, slot } of stubs) {
      const found = bySlot.get(slot);
      if (found === undefined) continue;
      entries.push({ address, size, symbol: found.symbol, addend: found.addend });
    }
  }
  return entries;
}

function pltShape(
  elf: ElfFile,
  plt: ElfSection,
  count: number,
): { header: number; entry: number } {
  const known = PLT_SHAPE[elf.machine];
  if (known === undefined) return { header: plt.entsize, entry: plt.entsize };
  // A static program has only IFUNC stubs and no lazy binding, so no header.
  if (plt.size === known.entry * count) return { header: 0, entry: known.entry };
  // Branch protection on AArch64 makes the stubs longer.
  const spread = (plt.size - known.header) / count;
  const entry = Number.isInteger(spread) && spread > known.entry && spread <= 32
    ? spread
    : known.entry;
  return { header: known.header, entry };
}

/** Reads the relocations of a section, or only those of some slots. */
function readRelocations(
  elf: ElfFile,
  section: ElfSection,
  slots?: { has(offset: Address): boolean },
): Relocation[] {
  if (section.type !== SHT.RELA && section.type !== SHT.REL) return [];
  const rela = section.type === SHT.RELA;
  const size = (elf.is64 ? 16 : 8) + (rela ? (elf.is64 ? 8 : 4) : 0);
  const stride = section.entsize === 0 ? size : section.entsize;
  if (stride < size) {
    throw new ElfError(
      section.offset,
      `Relocations of ${stride} bytes each in ${section.name}: expected ${size}`,
    );
  }
  const bytes = elf.sectionData(section);
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const le = elf.littleEndian;
  const address = (at: number): Address =>
    data.getInt32(le ? at + 4 : at, le) * 4294967296 + data.getUint32(le ? at : at + 4, le);
  const relocations: Relocation[] = [];
  for (let at = 0; at + size <= bytes.length; at += stride) {
    if (slots !== undefined && !slots.has(elf.is64 ? address(at) : data.getUint32(at, le))) {
      continue;
    }
    if (elf.is64) {
      relocations.push({
        offset: address(at),
        symbol: data.getUint32(le ? at + 12 : at + 8, le),
        addend: rela ? address(at + 16) : 0,
      });
    } else {
      relocations.push({
        offset: data.getUint32(at, le),
        symbol: data.getUint32(at + 4, le) >>> 8,
        addend: rela ? data.getUint32(at + 8, le) : 0,
      });
    }
  }
  return relocations;
}

/** Reads the stubs of `.plt.sec` and `.plt.got`: `[endbr] [bnd] jmp *slot`, of 8 or 16 bytes. */
function readJumps(
  elf: ElfFile,
  section: ElfSection,
): { address: Address; size: number; slot: Address }[] {
  const code = elf.sectionData(section);
  const data = new DataView(code.buffer, code.byteOffset, code.byteLength);
  const gotPlt = elf.section(".got.plt") ?? elf.section(".got");
  // With indirect branch tracking, stubs begin with endbr64/endbr32 and have 16 bytes.
  const size = section.entsize === 8 || section.entsize === 16
    ? section.entsize
    : code[0] === 0xf3 || section.size % 16 === 0
    ? 16
    : 8;
  const stubs: { address: Address; size: number; slot: Address }[] = [];
  for (let at = 0; at + size <= code.length; at += size) {
    for (let i = at; i + 6 <= at + size; i++) {
      // ff 25 disp32: jmp *disp32(%rip) on x86-64, jmp *disp32 on i386; ff a3: jmp *disp32(%ebx)
      if (code[i] !== 0xff || (code[i + 1] !== 0x25 && code[i + 1] !== 0xa3)) continue;
      const disp = data.getInt32(i + 2, true);
      const slot = elf.is64
        ? section.addr + i + 6 + disp
        : code[i + 1] === 0x25
        ? disp >>> 0
        : (gotPlt?.addr ?? 0) + disp;
      stubs.push({ address: section.addr + at, size, slot });
      break;
    }
  }
  return stubs;
}
