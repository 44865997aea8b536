import type { Address } from "../resolver/address.ts";
import { type BinarySource, bytesSource, sliceSource } from "../files/binary_source.ts";
import { SymbolsError } from "../errors.ts";
import { ELFCOMPRESS, PT, SHF, SHN, SHT } from "./elf_constants.ts";
import { type Decompressors, defaultDecompressors } from "./decompress.ts";
import { ElfError } from "./elf_error.ts";
import { buildIdOfNotes } from "./notes.ts";
import { decodeName } from "./strings.ts";

/** A section header (`Elf32_Shdr` / `Elf64_Shdr` of elf.h), with its name. */
export interface ElfSection {
  /** Index in the section header table. */
  readonly index: number;
  /** Name from the section header string table; `""` if the file has none. */
  readonly name: string;
  /** `SHT_*`. */
  readonly type: number;
  /** `SHF_*`, the low 32 bits (none is defined above them). */
  readonly flags: number;
  /** `sh_addr`. */
  readonly addr: Address;
  /** Byte offset in the file. */
  readonly offset: number;
  /** Size in the file in bytes; for a compressed section, its compressed size. */
  readonly size: number;
  /** `sh_link`. */
  readonly link: number;
  /** `sh_info`. */
  readonly info: number;
  /** `sh_addralign`. */
  readonly addralign: number;
  /** `sh_entsize`. */
  readonly entsize: number;
}

/** One program header (`Elf32_Phdr` / `Elf64_Phdr` of elf.h). */
export interface ElfSegment {
  /** `PT_*`. */
  readonly type: number;
  /** `PF_*`. */
  readonly flags: number;
  /** Byte offset in the file. */
  readonly offset: number;
  /** `p_vaddr`. */
  readonly vaddr: Address;
  /** Bytes in the file. */
  readonly filesz: number;
  /** Bytes in memory. */
  readonly memsz: number;
  /** `p_align`. */
  readonly align: number;
}

/** Contents of `.gnu_debuglink`: the separate debug file. */
export interface DebugLink {
  /** File name without directory. */
  readonly name: string;
  /** CRC-32 of the whole debug file. */
  readonly crc32: number;
}

/** Contents of `.gnu_debugaltlink`: the supplementary file written by `dwz`. */
export interface DebugAltLink {
  /** Path: absolute, or relative to the file that has the link. */
  readonly name: string;
  /** Build id of the supplementary file, lower-case hex. */
  readonly buildId: string;
}

/** Options of {@linkcode ElfFile.open}. */
export interface ElfOpenOptions {
  /** Decompressors to use instead of the plain JavaScript ones. */
  decompressors?: Partial<Decompressors>;
  /** Limit of the decompressed size that a section may declare; default 2³¹. */
  maxDecompressedSize?: number;
}

/** Sizes and field offsets that differ between the two ELF classes. */
interface Layout {
  readonly ehdrSize: number;
  readonly shdrSize: number;
  readonly phdrSize: number;
  readonly chdrSize: number;
}

const LAYOUT_32: Layout = { ehdrSize: 52, shdrSize: 40, phdrSize: 32, chdrSize: 12 };
const LAYOUT_64: Layout = { ehdrSize: 64, shdrSize: 64, phdrSize: 56, chdrSize: 24 };

/** Longer section names, as in hostile files, are truncated. */
const MAX_SECTION_NAME = 4096;
/**
 * Limit of the decompressed size of all sections of a file, unless the caller sets another: a
 * constant, plus a multiple of the file's size. Debug information is compressed to a third or a
 * tenth.
 */
const FREE_BYTES = 2 ** 26;
const MOST_RATIO = 24;

/** Limit of the decompressed size of all sections, for a file of this many bytes. */
export function sectionBudget(size: number): number {
  return Math.min(2 ** 31, FREE_BYTES + MOST_RATIO * size);
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * An ELF file of either class and byte order. Opening it reads the file header, the section headers
 * with their names, and the program headers. Other parts are read on demand.
 *
 * Layouts are those of the System V gABI, chapters 4 and 5, and elf.h.
 *
 * @example
 * ```ts
 * import { ElfFile } from "@perfdata/symbols";
 * import { openBinaryFile } from "@perfdata/symbols/files";
 * import { assertEquals } from "@std/assert";
 *
 * using source = openBinaryFile(Deno.execPath());
 * const elf = ElfFile.open(source);
 * assertEquals(elf.section(".text")?.name, ".text");
 * ```
 */
// One file: sections, segments, notes and links share headers and byte order.
export class ElfFile {
  /** The source of the bytes. */
  readonly source: BinarySource;
  /** `true` for `ELFCLASS64`. */
  readonly is64: boolean;
  /** `true` for `ELFDATA2LSB`. */
  readonly littleEndian: boolean;
  /** `e_type`: one of `ET`. */
  readonly type: number;
  /** `e_machine`: see `EM`. */
  readonly machine: number;
  /** `e_flags`, which contain the ABI version on some machines. */
  readonly flags: number;
  /** `e_entry`. */
  readonly entry: Address;
  /** All section headers, by index; empty if the file has none. */
  readonly sections: readonly ElfSection[];
  /** All program headers, in file order. */
  readonly segments: readonly ElfSegment[];

  readonly #layout: Layout;
  readonly #decompressors: Decompressors;
  readonly #maxDecompressedSize: number;
  /** Total size of decompressed sections. */
  #decompressed = 0;
  readonly #expanded = new Map<number, Uint8Array>();
  readonly #byName = new Map<string, ElfSection>();

  private constructor(source: BinarySource, options: ElfOpenOptions) {
    this.source = source;
    this.#decompressors = { ...defaultDecompressors, ...options.decompressors };
    this.#maxDecompressedSize = options.maxDecompressedSize ??
      sectionBudget(source.size);

    const ident = this.#read(0, 16, "the ELF identification");
    if (ident[0] !== 0x7f || ident[1] !== 0x45 || ident[2] !== 0x4c || ident[3] !== 0x46) {
      const found = Array.from(ident.subarray(0, 4), (b) => b.toString(16).padStart(2, "0"));
      throw new ElfError(0, `Not an ELF file: starts with ${found.join(" ")}, not 7f 45 4c 46`);
    }
    if (ident[4] !== 1 && ident[4] !== 2) {
      throw new ElfError(4, `Unknown ELF class ${ident[4]}: expected 1 (32-bit) or 2 (64-bit)`);
    }
    if (ident[5] !== 1 && ident[5] !== 2) {
      throw new ElfError(5, `Unknown ELF byte order ${ident[5]}: expected 1 (LSB) or 2 (MSB)`);
    }
    this.is64 = ident[4] === 2;
    this.littleEndian = ident[5] === 1;
    this.#layout = this.is64 ? LAYOUT_64 : LAYOUT_32;

    const header = view(this.#read(0, this.#layout.ehdrSize, "the ELF header"));
    const le = this.littleEndian;
    this.type = header.getUint16(16, le);
    this.machine = header.getUint16(18, le);
    let at: number;
    let shoff: number, phoff: number;
    if (this.is64) {
      this.entry = this.#addr(header, 24);
      phoff = this.#offset(header, 32);
      shoff = this.#offset(header, 40);
      at = 48;
    } else {
      this.entry = this.#addr(header, 24);
      phoff = this.#offset(header, 28);
      shoff = this.#offset(header, 32);
      at = 36;
    }
    this.flags = header.getUint32(at, le);
    const phentsize = header.getUint16(at + 6, le);
    const phnum = header.getUint16(at + 8, le);
    const shentsize = header.getUint16(at + 10, le);
    const shnum = header.getUint16(at + 12, le);
    const shstrndx = header.getUint16(at + 14, le);

    const raw = this.#readSectionHeaders(shoff, shentsize, shnum);
    // Extended numbering: values above 16 bits are in section header 0.
    const first = raw[0];
    const names = first !== undefined && shstrndx === SHN.XINDEX ? first.link : shstrndx;
    this.sections = this.#nameSections(raw, names);
    for (const section of this.sections) {
      if (!this.#byName.has(section.name)) this.#byName.set(section.name, section);
    }
    const count = first !== undefined && phnum === 0xffff ? first.info : phnum;
    this.segments = this.#readSegments(phoff, phentsize, count);
  }

  /**
   * Reads the headers of an ELF file.
   *
   * @throws {ElfError} If it is not an ELF file, or its headers refer outside of it.
   */
  static open(source: BinarySource, options: ElfOpenOptions = {}): ElfFile {
    return new ElfFile(source, options);
  }

  /** Size in bytes of an address in this file: 4 or 8. */
  get addressSize(): 4 | 8 {
    return this.is64 ? 8 : 4;
  }

  /** The first section with that name. */
  section(name: string): ElfSection | undefined {
    return this.#byName.get(name);
  }

  /**
   * The bytes of a section, decompressed if it is compressed (`SHF_COMPRESSED`, or the older
   * `.zdebug_*` form). `SHT_NOBITS` sections are empty.
   *
   * Decompressed bytes are cached; others are read again.
   *
   * @throws {ElfError} If the section is outside of the file or cannot be decompressed.
   */
  sectionData(section: ElfSection): Uint8Array {
    if (section.type === SHT.NOBITS) return new Uint8Array(0);
    const kept = this.#expanded.get(section.index);
    if (kept !== undefined) return kept;
    const compression = this.#compressionOf(section);
    if (compression === undefined) {
      return this.#read(section.offset, section.size, `section ${section.name}`);
    }
    const expanded = this.#expand(section, compression);
    this.#expanded.set(section.index, expanded);
    return expanded;
  }

  /**
   * A section as a source, so that a large section can be read in parts. A compressed section is
   * decompressed whole.
   *
   * @throws {ElfError} as {@linkcode ElfFile.sectionData}
   */
  sectionSource(section: ElfSection): BinarySource {
    if (section.type === SHT.NOBITS || this.#compressionOf(section) !== undefined) {
      return bytesSource(this.sectionData(section));
    }
    if (section.offset + section.size > this.source.size) {
      throw new ElfError(
        section.offset,
        `Section ${section.name} lies at ${section.offset} + ${section.size}, ` +
          `outside the file of ${this.source.size} bytes`,
      );
    }
    return sliceSource(this.source, section.offset, section.size);
  }

  /**
   * A debug section by its standard name (`.debug_info`), also found as `.zdebug_info`. Sections
   * without bytes (`SHT_NOBITS`, in a stripped binary) are ignored.
   */
  debugSection(name: string): ElfSection | undefined {
    const plain = this.section(name);
    if (plain !== undefined && plain.type !== SHT.NOBITS) return plain;
    if (!name.startsWith(".debug_")) return undefined;
    return this.section(".z" + name.slice(1));
  }

  /**
   * The build id (note `NT_GNU_BUILD_ID` of owner `GNU`) in lower-case hex. Sections are searched
   * first, as in `perf` and `readelf`, then `PT_NOTE` segments.
   *
   * @throws {ElfError} If a note section is outside of the file.
   */
  buildId(): string | undefined {
    for (const name of [".note.gnu.build-id", ".notes", ".note"]) {
      const section = this.section(name);
      if (section === undefined || section.type === SHT.NOBITS) continue;
      const id = buildIdOfNotes(this.sectionData(section), this.littleEndian, 4);
      if (id !== undefined) return id;
    }
    for (const section of this.sections) {
      if (section.type !== SHT.NOTE) continue;
      const align = section.addralign === 8 ? 8 : 4;
      const id = buildIdOfNotes(this.sectionData(section), this.littleEndian, align);
      if (id !== undefined) return id;
    }
    // A debug file has the original's program headers, so segments may be outside of it. That is no
    // error; they just have no notes.
    for (const segment of this.segments) {
      if (segment.type !== PT.NOTE) continue;
      if (segment.offset + segment.filesz > this.source.size) continue;
      const bytes = this.source.read(segment.offset, segment.filesz);
      const id = buildIdOfNotes(bytes, this.littleEndian, segment.align === 8 ? 8 : 4);
      if (id !== undefined) return id;
    }
    return undefined;
  }

  /**
   * Reads `.gnu_debuglink`; `undefined` if the file has none.
   *
   * @throws {ElfError} If it is malformed.
   */
  debugLink(): DebugLink | undefined {
    const section = this.section(".gnu_debuglink");
    if (section === undefined || section.type === SHT.NOBITS) return undefined;
    const bytes = this.sectionData(section);
    const end = bytes.indexOf(0);
    const crcAt = (end + 4) & ~3;
    if (end < 1 || crcAt + 4 > bytes.length) {
      throw new ElfError(
        section.offset,
        `Malformed .gnu_debuglink of ${bytes.length} bytes: expected a name, padding and a CRC-32`,
      );
    }
    return {
      name: decodeName(bytes, 0, end),
      crc32: view(bytes).getUint32(crcAt, this.littleEndian),
    };
  }

  /**
   * Reads `.gnu_debugaltlink`; `undefined` if the file has none.
   *
   * @throws {ElfError} If it is malformed.
   */
  debugAltLink(): DebugAltLink | undefined {
    const section = this.section(".gnu_debugaltlink");
    if (section === undefined || section.type === SHT.NOBITS) return undefined;
    const bytes = this.sectionData(section);
    const end = bytes.indexOf(0);
    if (end < 1 || end + 1 >= bytes.length) {
      throw new ElfError(
        section.offset,
        `Malformed .gnu_debugaltlink of ${bytes.length} bytes: expected a path and a build id`,
      );
    }
    let buildId = "";
    for (let i = end + 1; i < bytes.length; i++) {
      buildId += (bytes[i] ?? 0).toString(16).padStart(2, "0");
    }
    return { name: decodeName(bytes, 0, end), buildId };
  }

  #read(offset: number, length: number, what: string): Uint8Array {
    try {
      return this.source.read(offset, length);
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
      throw new ElfError(
        offset,
        `Cannot read ${what} (${length} bytes at ${offset}): the file has ${this.source.size}`,
        { cause: error },
      );
    }
  }

  /** Reads an address: sign-extended from 64 bits, zero-extended from 32. */
  #addr(data: DataView, at: number): Address {
    const le = this.littleEndian;
    if (!this.is64) return data.getUint32(at, le);
    return data.getInt32(le ? at + 4 : at, le) * 4294967296 + data.getUint32(le ? at : at + 4, le);
  }

  /** Reads an offset or size. Beyond 2⁵³ it is rounded, but then no read accepts it. */
  #offset(data: DataView, at: number): number {
    const le = this.littleEndian;
    if (!this.is64) return data.getUint32(at, le);
    return data.getUint32(le ? at + 4 : at, le) * 4294967296 + data.getUint32(le ? at : at + 4, le);
  }

  #readSectionHeaders(shoff: number, shentsize: number, shnum: number): RawSection[] {
    if (shoff === 0) return [];
    const { shdrSize } = this.#layout;
    if (shentsize < shdrSize) {
      throw new ElfError(
        this.is64 ? 58 : 46,
        `Section headers of ${shentsize} bytes each: expected at least ${shdrSize}`,
      );
    }
    let count = shnum;
    if (count === 0) {
      const zero = view(this.#read(shoff, shdrSize, "section header 0"));
      count = this.#offset(zero, this.is64 ? 32 : 20);
    }
    const data = view(this.#read(shoff, count * shentsize, `${count} section headers`));
    const raw: RawSection[] = [];
    for (let i = 0; i < count; i++) {
      const at = i * shentsize;
      raw.push(this.is64 ? this.#section64(data, at) : this.#section32(data, at));
    }
    return raw;
  }

  #section32(data: DataView, at: number): RawSection {
    const le = this.littleEndian;
    return {
      nameOffset: data.getUint32(at, le),
      type: data.getUint32(at + 4, le),
      flags: data.getUint32(at + 8, le),
      addr: this.#addr(data, at + 12),
      offset: this.#offset(data, at + 16),
      size: this.#offset(data, at + 20),
      link: data.getUint32(at + 24, le),
      info: data.getUint32(at + 28, le),
      addralign: this.#offset(data, at + 32),
      entsize: this.#offset(data, at + 36),
    };
  }

  #section64(data: DataView, at: number): RawSection {
    const le = this.littleEndian;
    return {
      nameOffset: data.getUint32(at, le),
      type: data.getUint32(at + 4, le),
      flags: data.getUint32(le ? at + 8 : at + 12, le),
      addr: this.#addr(data, at + 16),
      offset: this.#offset(data, at + 24),
      size: this.#offset(data, at + 32),
      link: data.getUint32(at + 40, le),
      info: data.getUint32(at + 44, le),
      addralign: this.#offset(data, at + 48),
      entsize: this.#offset(data, at + 56),
    };
  }

  #nameSections(raw: RawSection[], shstrndx: number): ElfSection[] {
    const table = raw[shstrndx];
    const strings = shstrndx === SHN.UNDEF || table === undefined || table.type === SHT.NOBITS
      ? new Uint8Array(0)
      : this.#read(table.offset, table.size, "the section names");
    const sections: ElfSection[] = [];
    for (let index = 0; index < raw.length; index++) {
      const header = raw[index];
      if (header === undefined) continue;
      const { nameOffset, ...rest } = header;
      // The limit bounds the work for overlapping names without NUL in a hostile file.
      const limit = Math.min(strings.length, nameOffset + MAX_SECTION_NAME);
      const length = strings.subarray(nameOffset, limit).indexOf(0);
      const end = length < 0 ? limit : nameOffset + length;
      sections.push({ index, name: decodeName(strings, nameOffset, end), ...rest });
    }
    return sections;
  }

  #readSegments(phoff: number, phentsize: number, count: number): ElfSegment[] {
    if (phoff === 0 || count === 0) return [];
    const { phdrSize } = this.#layout;
    if (phentsize < phdrSize) {
      throw new ElfError(
        this.is64 ? 54 : 42,
        `Program headers of ${phentsize} bytes each: expected at least ${phdrSize}`,
      );
    }
    const data = view(this.#read(phoff, count * phentsize, `${count} program headers`));
    const le = this.littleEndian;
    const segments: ElfSegment[] = [];
    for (let i = 0; i < count; i++) {
      const at = i * phentsize;
      segments.push(
        this.is64
          ? {
            type: data.getUint32(at, le),
            flags: data.getUint32(at + 4, le),
            offset: this.#offset(data, at + 8),
            vaddr: this.#addr(data, at + 16),
            filesz: this.#offset(data, at + 32),
            memsz: this.#offset(data, at + 40),
            align: this.#offset(data, at + 48),
          }
          : {
            type: data.getUint32(at, le),
            offset: this.#offset(data, at + 4),
            vaddr: this.#addr(data, at + 8),
            filesz: this.#offset(data, at + 16),
            memsz: this.#offset(data, at + 20),
            flags: data.getUint32(at + 24, le),
            align: this.#offset(data, at + 28),
          },
      );
    }
    return segments;
  }

  #compressionOf(section: ElfSection): "gabi" | "gnu" | undefined {
    if (section.flags & SHF.COMPRESSED) return "gabi";
    if (!section.name.startsWith(".zdebug_") || section.size < 12) return undefined;
    const magic = this.#read(section.offset, 4, `section ${section.name}`);
    // "ZLIB"
    const zlib = magic[0] === 0x5a && magic[1] === 0x4c && magic[2] === 0x49 && magic[3] === 0x42;
    return zlib ? "gnu" : undefined;
  }

  #expand(section: ElfSection, compression: "gabi" | "gnu"): Uint8Array {
    const { chdrSize } = this.#layout;
    const bytes = this.#read(section.offset, section.size, `section ${section.name}`);
    const fail = (why: string, cause?: unknown): never => {
      throw new ElfError(section.offset, `Cannot decompress section ${section.name}: ${why}`, {
        cause,
      });
    };
    let algorithm: "zlib" | "zstd" = "zlib";
    let size: number;
    let payload: Uint8Array;
    if (compression === "gnu") {
      const data = view(bytes);
      size = data.getUint32(4, false) * 4294967296 + data.getUint32(8, false);
      payload = bytes.subarray(12);
    } else {
      if (bytes.length < chdrSize) return fail(`${bytes.length} bytes hold no compression header`);
      const data = view(bytes);
      const type = data.getUint32(0, this.littleEndian);
      if (type === ELFCOMPRESS.ZSTD) algorithm = "zstd";
      else if (type !== ELFCOMPRESS.ZLIB) {
        return fail(`compression type ${type}, expected 1 (zlib) or 2 (zstd)`);
      }
      size = this.#offset(data, this.is64 ? 8 : 4);
      payload = bytes.subarray(chdrSize);
    }
    if (this.#decompressed + size > this.#maxDecompressedSize) {
      return fail(
        `too large: it says it expands to ${size} bytes, the limit of a file is ` +
          `${this.#maxDecompressedSize}`,
      );
    }
    // Deflate expands at most 1032-fold. zstd has no useful bound.
    if (algorithm === "zlib" && size > payload.length * 1032 + 64) {
      return fail(`${payload.length} bytes of zlib cannot expand to ${size}`);
    }
    let expanded: Uint8Array;
    try {
      expanded = this.#decompressors[algorithm](payload, size);
    } catch (error) {
      return fail(
        `bad ${algorithm} data (${error instanceof Error ? error.message : error})`,
        error,
      );
    }
    if (expanded.length !== size) {
      return fail(`it expanded to ${expanded.length} bytes, expected ${size}`);
    }
    this.#decompressed += size;
    return expanded;
  }
}

/** A section header without its name. */
interface RawSection extends Omit<ElfSection, "index" | "name"> {
  readonly nameOffset: number;
}
