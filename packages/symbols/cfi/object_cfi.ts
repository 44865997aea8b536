import { BareCode } from "./bare_code.ts";
import { ElfError } from "../elf/elf_error.ts";
import { ET, PT, SHT } from "../elf/elf_constants.ts";
import type { ElfFile, ElfSection } from "../elf/elf_file.ts";
import { SymbolsError } from "../errors.ts";
import { type ExidxBytes, ExidxTable } from "./exidx.ts";
import { type EhFrameHdr, hdrIndex, readEhFrameHdr, scannedIndex } from "./fde_index.ts";
import type { FrameRules } from "./frame_rules.ts";
import { FrameSection, type FrameSectionBytes } from "./frame_section.ts";
import { type CfiSource, FrameTable } from "./unwind_table.ts";
import type { CfiMachine } from "./cfi_machine.ts";
import { DAMAGED, NO_FDE, type RowTable } from "./row_table.ts";

/** `p_type` of the segment with `.eh_frame_hdr`. */
const PT_GNU_EH_FRAME = 0x6474e550;
/** `sh_type` of `.ARM.exidx`. */
const SHT_ARM_EXIDX = 0x70000001;

/** The files of one object that may have call frame information. */
export interface CfiFiles {
  /** The file that was mapped. */
  readonly runtime: ElfFile;
  /** The separate debug file, for `.debug_frame`. */
  readonly debug?: ElfFile;
  /** The file in `.gnu_debugdata` (`readMiniDebugInfo`), for `.debug_frame`. */
  readonly miniDebugInfo?: ElfFile;
}

/**
 * The call frame information of one object. A look-up tries `.eh_frame`, `.debug_frame` of each
 * file, `.ARM.exidx`, and the known rules of PLT stubs and the entry point, in this order.
 *
 * @example
 * ```ts
 * import { ElfFile } from "@perfdata/symbols";
 * import { openBinaryFile } from "@perfdata/symbols/files";
 * import { cfiMachine, ObjectCfi, RowTable } from "@perfdata/symbols/dwarf";
 * import { assert } from "@std/assert";
 *
 * using source = openBinaryFile(Deno.execPath());
 * const elf = ElfFile.open(source);
 * const machine = cfiMachine(elf.machine);
 * assert(machine !== undefined);
 * const rows = new RowTable(machine);
 * const cfi = ObjectCfi.open({ runtime: elf }, rows);
 * const row = cfi.find(elf.entry);
 * assert(row < 0 || row < rows.count);
 * ```
 */
export class ObjectCfi {
  readonly #sources: readonly CfiSource[];
  /** Errors of the parts that could not be read so far. */
  readonly damage: readonly SymbolsError[];

  private constructor(sources: readonly CfiSource[], damage: readonly SymbolsError[]) {
    this.#sources = sources;
    this.damage = damage;
  }

  /**
   * Opens the sections. Damage is added to `damage`, not thrown.
   *
   * @param files the object's files; files of another machine than that of `rows` are ignored
   * @param rows table that gets the rows
   */
  static open(files: CfiFiles, rows: RowTable): ObjectCfi {
    const damage: SymbolsError[] = [];
    const sources: CfiSource[] = [];
    const { runtime } = files;
    const add = (make: () => CfiSource | undefined): void => {
      try {
        const source = make();
        if (source !== undefined) sources.push(source);
      } catch (error) {
        if (!(error instanceof SymbolsError)) throw error;
        note(error);
      }
    };
    const note = (error: SymbolsError): void => {
      if (damage.length < 100) damage.push(error);
    };
    if (runtime.machine === rows.machine.machine && runtime.type !== ET.REL) {
      add(() => ehFrame(runtime, rows, note));
      for (const elf of [runtime, files.debug, files.miniDebugInfo]) {
        if (elf !== undefined) add(() => debugFrame(elf, rows, note));
      }
      add(() => exidx(runtime, rows, note));
      const stubs = runtime.sections.filter(({ name, type }) =>
        /^\.i?plt(?:\.|$)/.test(name) && type === SHT.PROGBITS
      );
      if (sources.length > 0) {
        const sections = stubs.map((section) => ({
          name: section.name,
          low: section.addr,
          high: section.addr + section.size,
          code: () => runtime.sectionData(section),
        }));
        sources.push(new BareCode(sections, runtime.entry, rows));
      }
    }
    return new ObjectCfi(sources, damage);
  }

  /** Opens sections that are not in an ELF file: those of a JIT compiler or a symbol bundle. */
  static ofSections(
    section: FrameSectionBytes,
    hdr: EhFrameHdr | undefined,
    rows: RowTable,
  ): ObjectCfi {
    const damage: SymbolsError[] = [];
    const table = frameTable(section, hdr, rows, (error) => {
      if (damage.length < 100) damage.push(error);
    });
    return new ObjectCfi([table], damage);
  }

  /** Whether there is no call frame information at all. */
  get empty(): boolean {
    return this.#sources.length === 0;
  }

  /** The sources, in the order of look-ups. */
  get sources(): readonly CfiSource[] {
    return this.#sources;
  }

  /**
   * Returns the row of an address.
   *
   * @param address virtual address in the file (as `st_value`)
   * @returns a row of the table, `NO_FDE`, or `DAMAGED`
   */
  find(address: number): number {
    let answer = NO_FDE;
    for (const source of this.#sources) {
      const row = source.find(address);
      if (row >= 0) return row;
      if (row === DAMAGED) answer = DAMAGED;
    }
    return answer;
  }

  /** The source that has a row for an address. */
  source(address: number): CfiSource | undefined {
    return this.#sources.find((source) => source.find(address) >= 0);
  }

  /** The rules of all registers at an address; `undefined` if `find` returns no row. */
  rules(address: number): FrameRules | undefined {
    return this.source(address)?.rules(address);
  }
}

type Note = (error: SymbolsError) => void;

function frameTable(
  source: FrameSectionBytes,
  hdr: EhFrameHdr | undefined,
  rows: RowTable,
  note: Note,
): FrameTable {
  const section = new FrameSection(source, rows.machine);
  const index = (hdr === undefined ? undefined : hdrIndex(hdr, section)) ??
    scannedIndex(section, note);
  return new FrameTable(section, index, rows, note);
}

function present(elf: ElfFile, name: string): ElfSection | undefined {
  const section = elf.section(name);
  return section === undefined || section.type === SHT.NOBITS || section.size === 0
    ? undefined
    : section;
}

function ehFrame(elf: ElfFile, rows: RowTable, note: Note): CfiSource | undefined {
  const section = present(elf, ".eh_frame");
  if (section === undefined) return ehFrameOfSegment(elf, rows.machine, rows, note);
  const { littleEndian } = elf;
  const hdrSection = present(elf, ".eh_frame_hdr");
  const hdr = hdrSection && { bytes: elf.sectionData(hdrSection), address: hdrSection.addr };
  return frameTable(
    { name: ".eh_frame", bytes: elf.sectionData(section), address: section.addr, littleEndian },
    hdr,
    rows,
    note,
  );
}

/**
 * `.eh_frame` of a file without section headers, found through the program headers as the C++
 * runtime does.
 */
function ehFrameOfSegment(
  elf: ElfFile,
  machine: CfiMachine,
  rows: RowTable,
  note: Note,
): CfiSource | undefined {
  const segment = elf.segments.find((s) => s.type === PT_GNU_EH_FRAME);
  if (segment === undefined || elf.sections.length > 0) return undefined;
  const { littleEndian } = elf;
  const hdr = {
    bytes: elf.source.read(segment.offset, segment.filesz),
    address: segment.vaddr,
  };
  const address = readEhFrameHdr(hdr, littleEndian, machine.addressSize)?.ehFrame;
  const load = address === undefined
    ? undefined
    : elf.segments.find((s) =>
      s.type === PT.LOAD && address >= s.vaddr && address < s.vaddr + s.filesz
    );
  if (address === undefined || load === undefined) return undefined;
  // The size is not recorded, so read to the end of the segment.
  const bytes = elf.source.read(
    load.offset + address - load.vaddr,
    load.vaddr + load.filesz - address,
  );
  return frameTable({ name: ".eh_frame", bytes, address, littleEndian }, hdr, rows, note);
}

function debugFrame(elf: ElfFile, rows: RowTable, note: Note): CfiSource | undefined {
  const section = elf.debugSection(".debug_frame");
  if (section === undefined || section.size === 0 || elf.machine !== rows.machine.machine) {
    return undefined;
  }
  const bytes = elf.sectionData(section);
  const { littleEndian } = elf;
  return frameTable(
    { name: ".debug_frame", bytes, address: 0, littleEndian },
    undefined,
    rows,
    note,
  );
}

function exidx(elf: ElfFile, rows: RowTable, note: Note): CfiSource | undefined {
  const section = elf.sections.find((s) => s.type === SHT_ARM_EXIDX) ??
    present(elf, ".ARM.exidx");
  if (section === undefined || section.type === SHT.NOBITS || rows.machine.link < 0) {
    return undefined;
  }
  const read: ExidxBytes["read"] = (address, length) => {
    const load = elf.segments.find((s) =>
      s.type === PT.LOAD && address >= s.vaddr && address < s.vaddr + s.filesz
    );
    if (load === undefined) {
      throw new ElfError(
        section.offset,
        `.ARM.exidx points to 0x${address.toString(16)}, not loaded`,
      );
    }
    const within = address - load.vaddr;
    return elf.source.read(load.offset + within, Math.min(length, load.filesz - within));
  };
  const { littleEndian } = elf;
  const source = { bytes: elf.sectionData(section), address: section.addr, littleEndian, read };
  return new ExidxTable(source, rows, note);
}
