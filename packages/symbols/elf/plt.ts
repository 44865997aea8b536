import { floatAt } from "@perfdata/format/bytes";
import type { Address } from "../resolver/address.ts";
import { lowerBound } from "../table/sorted_numbers.ts";
import { EM, SHT } from "./elf_constants.ts";
import { ElfError } from "./elf_error.ts";
import type { ElfFile, ElfSection } from "./elf_file.ts";

/** The `symbol` of the code that resolves TLS descriptors. */
export const TLS_DESCRIPTORS = -1;

/** A stub of the procedure linkage table. */
export interface PltEntry {
  readonly address: Address;
  /** Size in bytes. */
  readonly size: number;
  /**
   * Index in `.dynsym` of the called function; 0 for an IFUNC that is resolved by address;
   * {@linkcode TLS_DESCRIPTORS}.
   */
  readonly symbol: number;
  /** The relocation's addend: for an IFUNC, the address of its resolver. */
  readonly addend: Address;
}

interface Relocation {
  readonly offset: Address;
  readonly type: number;
  readonly symbol: number;
  readonly addend: Address;
}

/** Sizes of the header before the first stub, and of a stub, on machines where they are fixed. */
const PLT_SHAPE: Readonly<Record<number, { header: number; entry: number }>> = {
  [EM.I386]: { header: 16, entry: 16 },
  [EM.X86_64]: { header: 16, entry: 16 },
  [EM.ARM]: { header: 20, entry: 12 },
  [EM.RISCV]: { header: 32, entry: 16 },
  [EM.LOONGARCH]: { header: 32, entry: 16 },
  [EM.SPARC]: { header: 48, entry: 12 },
  [EM.SPARCV9]: { header: 128, entry: 32 },
};

/**
 * Relocations of TLS descriptors (R_386_TLS_DESC, R_X86_64_TLSDESC, R_ARM_TLS_DESC,
 * R_AARCH64_TLSDESC), which linkers put into `.rela.plt`: no stub calls them.
 */
const TLS_DESCRIPTOR: Readonly<Record<number, number>> = {
  [EM.I386]: 41,
  [EM.X86_64]: 36,
  [EM.ARM]: 13,
  [EM.AARCH64]: 1031,
};

/** Relocations of IFUNCs: R_386_IRELATIVE, R_X86_64_IRELATIVE, R_AARCH64_IRELATIVE. */
const IFUNC: Readonly<Record<number, number>> = {
  [EM.I386]: 42,
  [EM.X86_64]: 37,
  [EM.AARCH64]: 1032,
};

/** `DT_TLSDESC_PLT`: address of the code that resolves TLS descriptors when they are first used. */
const DT_TLSDESC_PLT = 0x6fff_fef6;

/** A stub whose jump was decoded, with the slot of the GOT that it jumps through. */
interface Jump {
  readonly address: Address;
  readonly size: number;
  readonly slot: Address;
}

/**
 * Finds PLT stubs, which have no symbols, and the functions that they call.
 *
 * On x86 and AArch64, a stub belongs to the relocation of the GOT slot through which it jumps. This
 * holds for `.plt`, `.iplt`, `.plt.sec` (the called stubs with indirect branch tracking) and
 * `.plt.got`, and for stubs of any size, as with branch protection. Stubs of `.plt` on x86 without
 * such a jump, and stubs of other machines, are in the order of the slots. The order of `.rela.plt`
 * (`.rel.plt`) can differ: linkers put relocations of IFUNCs at its end.
 *
 * The code at the end of `.plt` that resolves TLS descriptors is a stub with the symbol
 * {@linkcode TLS_DESCRIPTORS}.
 *
 * @param addresses sorted; stubs at other addresses may be left out
 * @throws {ElfError} If a section is outside of the file.
 */
export function readPlt(elf: ElfFile, addresses?: Float64Array): PltEntry[] {
  const entries: PltEntry[] = [];
  const relocationSection = elf.section(".rela.plt") ?? elf.section(".rel.plt");
  const plt = elf.section(".plt");
  const relocations = relocationSection === undefined ? [] : readRelocations(elf, relocationSection)
    .filter(({ type }) => type !== TLS_DESCRIPTOR[elf.machine])
    .sort((a, b) => a.offset - b.offset);
  const bySlot = new Map(relocations.map((relocation) => [relocation.offset, relocation]));
  const isX86 = elf.machine === EM.X86_64 || elf.machine === EM.I386;
  const isDecoded = isX86 || elf.machine === EM.AARCH64;
  const resolver = plt === undefined ? undefined : tlsResolver(elf, plt);
  if (plt !== undefined && plt.type !== SHT.NOBITS && elf.machine !== EM.AARCH64) {
    const { header, entry } = pltShape(elf, plt, relocations.length);
    const slotOf = new Map(
      isX86 ? readJumps(elf, plt, addresses).map(({ address, slot }) => [address, slot]) : [],
    );
    const first = plt.addr + header;
    const fitting = Math.floor(((resolver ?? plt.addr + plt.size) - first) / entry);
    const count = entry === 0 ? 0 : Math.min(relocations.length, fitting);
    for (const i of stubNumbers(first, entry, count, addresses)) {
      const address = first + i * entry;
      const slot = slotOf.get(address);
      const found = (slot === undefined ? undefined : bySlot.get(slot)) ?? relocations[i];
      if (found === undefined) continue;
      entries.push({ address, size: entry, symbol: found.symbol, addend: found.addend });
    }
  }
  if (isDecoded) {
    const names = isX86 ? [".plt.sec", ".plt.got", ".iplt"] : [".plt", ".iplt"];
    const stubs = names.flatMap((name) => {
      const section = elf.section(name);
      if (section === undefined || section.type === SHT.NOBITS) return [];
      return isX86 ? readJumps(elf, section, addresses) : readArmJumps(elf, section);
    });
    const dynamic = elf.section(".rela.dyn") ?? elf.section(".rel.dyn");
    const others = new Set(stubs.map(({ slot }) => slot).filter((slot) => !bySlot.has(slot)));
    // Most other relocations are of data.
    if (dynamic !== undefined && others.size > 0) {
      for (const relocation of readRelocations(elf, dynamic, others)) {
        const { offset, type, symbol } = relocation;
        if (symbol !== 0 || type === IFUNC[elf.machine]) bySlot.set(offset, relocation);
      }
    }
    for (const { address, size, slot } of stubs) {
      const found = bySlot.get(slot);
      if (found === undefined) continue;
      entries.push({ address, size, symbol: found.symbol, addend: found.addend });
    }
  }
  if (plt !== undefined && resolver !== undefined) {
    const size = plt.addr + plt.size - resolver;
    entries.push({ address: resolver, size, symbol: TLS_DESCRIPTORS, addend: 0 });
  }
  return entries;
}

/** Address of the code in `.plt` that resolves TLS descriptors; `undefined` if there is none. */
function tlsResolver(elf: ElfFile, plt: ElfSection): Address | undefined {
  const section = elf.section(".dynamic");
  if (section === undefined || section.type === SHT.NOBITS) return undefined;
  const bytes = elf.sectionData(section);
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = (at: number): Address => wordAt(elf, data, at);
  const size = elf.is64 ? 8 : 4;
  for (let at = 0; at + 2 * size <= bytes.length; at += 2 * size) {
    if (word(at) !== DT_TLSDESC_PLT) continue;
    const address = word(at + size);
    return address >= plt.addr && address < plt.addr + plt.size ? address : undefined;
  }
  return undefined;
}

/** An address-sized word. */
function wordAt({ is64, littleEndian: le }: ElfFile, data: DataView, at: number): Address {
  if (!is64) return data.getUint32(at, le);
  return data.getInt32(le ? at + 4 : at, le) * 4294967296 + data.getUint32(le ? at : at + 4, le);
}

/** Size of the longest stub, at any part of which an address may be. */
const LONGEST_STUB = 32;

/** The numbers of all stubs, or of those at some addresses and before them. */
function stubNumbers(
  first: Address,
  size: number,
  count: number,
  addresses: Float64Array | undefined,
): number[] {
  if (addresses === undefined) return Array.from({ length: count }, (_, i) => i);
  const numbers: number[] = [];
  let next = 0;
  const end = lowerBound(addresses, first + count * size);
  for (let k = lowerBound(addresses, first); k < end; k++) {
    const distance = floatAt(addresses, k) - first;
    next = Math.max(next, Math.floor((distance - LONGEST_STUB) / size));
    for (; next * size <= distance; next++) numbers.push(next);
  }
  return numbers;
}

function pltShape(
  elf: ElfFile,
  plt: ElfSection,
  count: number,
): { header: number; entry: number } {
  const known = PLT_SHAPE[elf.machine];
  if (known === undefined) return { header: plt.entsize, entry: plt.entsize };
  // A static program has only IFUNC stubs and no lazy binding, so no header.
  return plt.size === known.entry * count ? { header: 0, entry: known.entry } : known;
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
  const word = (at: number): Address => wordAt(elf, data, at);
  const relocations: Relocation[] = [];
  for (let at = 0; at + size <= bytes.length; at += stride) {
    const offset = word(at);
    if (slots !== undefined && !slots.has(offset)) continue;
    if (elf.is64) {
      relocations.push({
        offset,
        type: data.getUint32(le ? at + 8 : at + 12, le),
        symbol: data.getUint32(le ? at + 12 : at + 8, le),
        addend: rela ? word(at + 16) : 0,
      });
    } else {
      const info = data.getUint32(at + 4, le);
      const addend = rela ? data.getUint32(at + 8, le) : 0;
      relocations.push({ offset, type: info & 0xff, symbol: info >>> 8, addend });
    }
  }
  return relocations;
}

/** Reads the stubs of `.plt.sec` and `.plt.got`: `[endbr] [bnd] jmp *slot`, of 8 or 16 bytes. */
function readJumps(elf: ElfFile, section: ElfSection, addresses?: Float64Array): Jump[] {
  const code = elf.sectionData(section);
  const data = new DataView(code.buffer, code.byteOffset, code.byteLength);
  const gotPlt = elf.section(".got.plt") ?? elf.section(".got");
  // With indirect branch tracking, stubs begin with endbr64/endbr32 and have 16 bytes.
  const size = section.entsize === 8 || section.entsize === 16
    ? section.entsize
    : code[0] === 0xf3 || section.size % 16 === 0
    ? 16
    : 8;
  const stubs: Jump[] = [];
  const count = Math.floor(code.length / size);
  for (const number of stubNumbers(section.addr, size, count, addresses)) {
    const at = number * size;
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

const BTI_C = 0xd503245f;
const NOP = 0xd503201f;

/**
 * Reads the stubs of AArch64: `[bti c]; adrp x16, page; ldr x17, [x16, offset]; add x16, …;
 * [autia1716]; br x17`, and `nop` up to the next one.
 */
function readArmJumps(elf: ElfFile, section: ElfSection): Jump[] {
  const code = elf.sectionData(section);
  const data = new DataView(code.buffer, code.byteOffset, code.byteLength);
  // Instructions are little-endian in big-endian programs, too.
  const at = (i: number): number => i >= 0 && i + 4 <= code.length ? data.getUint32(i, true) : 0;
  const stubs: Jump[] = [];
  for (let i = 0; i + 8 <= code.length; i += 4) {
    const [adrp, load] = [at(i), at(i + 4)];
    // adrp x16, …; ldr x17, [x16, #12 bits × 8], or ldr w17, × 4, for pointers of 32 bits.
    const isWide = (load & 0xffc003ff) >>> 0 === 0xf9400211;
    if ((adrp & 0x9f00001f) >>> 0 !== 0x90000010) continue;
    if (!isWide && (load & 0xffc003ff) >>> 0 !== 0xb9400211) continue;
    const pages = ((adrp << 8 >> 13) << 2) | (adrp >>> 29 & 3);
    const address = section.addr + i;
    const slot = address - address % 4096 + pages * 4096 +
      (load >>> 10 & 0xfff) * (isWide ? 8 : 4);
    let end = i + 8;
    while (end < i + 24 && at(end) !== 0xd61f0220) end += 4;
    end += 4;
    while (at(end) === NOP) end += 4;
    const begin = at(i - 4) === BTI_C ? i - 4 : i;
    stubs.push({ address: section.addr + begin, size: end - begin, slot });
  }
  return stubs;
}
