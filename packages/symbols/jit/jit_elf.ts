import { enlarge } from "@perfdata/format/bytes";
import type { JitCodeLoad, JitCodeUnwindingInfo, JitdumpHeader, JitLine } from "./jitdump.ts";

/** JIT-compiled code with its description. */
export interface JitElfInput {
  /** The jitdump header: machine and byte order. */
  readonly header: Pick<JitdumpHeader, "machine" | "littleEndian">;
  /** The `JIT_CODE_LOAD` record. */
  readonly load: Pick<JitCodeLoad, "name" | "codeAddr" | "codeSize">;
  /** The machine code. */
  readonly code: Uint8Array;
  /** The line table, if there is one. */
  readonly lines?: readonly JitLine[] | undefined;
  /** The unwind tables, if there are any. */
  readonly unwinding?: Pick<JitCodeUnwindingInfo, "ehFrameHdrSize" | "unwindingData"> | undefined;
}

/** An ELF file made from one `JIT_CODE_LOAD`. */
export interface JitElf {
  /** The file. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Offset of the code in the file, which is also its virtual address. */
  readonly textOffset: number;
  /** Build id in hex. */
  readonly buildId: string;
}

/** Machines whose code is 32-bit: EM_386, EM_MIPS, EM_PPC, EM_ARM. */
const MACHINES_32: ReadonlySet<number> = new Set([3, 8, 20, 40]);

/** A growing buffer for section contents and tables, in one byte order. */
class Bytes {
  readonly #le: boolean;
  #bytes = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  size = 0;

  constructor(littleEndian: boolean) {
    this.#le = littleEndian;
  }

  u(width: 1 | 2 | 4 | 8, ...values: readonly number[]): this {
    for (const value of values) {
      const at = this.#grow(width);
      if (width === 1) this.#view.setUint8(at, value);
      else if (width === 2) this.#view.setUint16(at, value, this.#le);
      else if (width === 4) this.#view.setUint32(at, value, this.#le);
      else this.#view.setBigUint64(at, BigInt(value), this.#le);
    }
    return this;
  }

  put(bytes: Uint8Array): this {
    const at = this.#grow(bytes.length);
    this.#bytes.set(bytes, at);
    return this;
  }

  text(text: string): this {
    return this.put(new TextEncoder().encode(text)).u(1, 0);
  }

  /** Appends an unsigned or signed LEB128 number (DWARF, "Variable Length Data"). */
  leb(value: number, signed = false): this {
    for (;;) {
      const low = ((value % 128) + 128) % 128;
      value = Math.floor(value / 128);
      const isLast = signed
        ? (value === 0 && low < 64) || (value === -1 && low >= 64)
        : value === 0;
      this.u(1, isLast ? low : low | 0x80);
      if (isLast) return this;
    }
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.size);
  }

  #grow(by: number): number {
    const at = this.size;
    this.size += by;
    if (this.size > this.#bytes.length) {
      this.#bytes = enlarge(this.#bytes, this.size);
      this.#view = new DataView(this.#bytes.buffer);
    }
    return at;
  }
}

/** The only compile unit: DW_AT_stmt_list (data4), DW_AT_low_pc and DW_AT_high_pc (addr). */
const ABBREVIATIONS = [1, 0x11, 0, 0x10, 0x06, 0x11, 0x01, 0x12, 0x01, 0, 0, 0];

/**
 * A `.debug_line` table, version 2 (DWARF 4, section 6.2), for code at an address of the file.
 *
 * The program itself defines the files, in the order of the lines.
 */
function debugLine(
  lines: readonly JitLine[],
  codeAddr: number,
  text: number,
  size: number,
  wide: boolean,
  le: boolean,
): Uint8Array {
  const program = new Bytes(le);
  const width = wide ? 8 : 4;
  // DW_LNE_set_address
  program.u(1, 0, 1 + width, 2).u(width, text);
  let [pc, line, files, current] = [0, 1, 0, ""];
  for (const entry of lines.toSorted((a, b) => a.address - b.address)) {
    const at = entry.address - codeAddr;
    if (at < 0 || at > size || entry.line <= 0) continue;
    if (files === 0 || entry.file !== current) {
      current = entry.file;
      const name = new TextEncoder().encode(current);
      // DW_LNE_define_file, and DW_LNS_set_file.
      program.u(1, 0).leb(1 + name.length + 4).u(1, 3).put(name).u(1, 0, 0, 0, 0);
      program.u(1, 4).leb(++files);
    }
    // DW_LNS_advance_line, DW_LNS_advance_pc, DW_LNS_copy.
    if (entry.line !== line) program.u(1, 3).leb(entry.line - line, true);
    if (at !== pc) program.u(1, 2).leb(at - pc);
    program.u(1, 1);
    line = entry.line;
    pc = at;
  }
  if (size > pc) program.u(1, 2).leb(size - pc);
  // DW_LNE_end_sequence
  program.u(1, 0, 1, 1);
  // minimum_instruction_length, default_is_stmt, line_base, line_range, opcode_base, operand counts
  // of the standard opcodes; no directories, no files.
  const head = new Bytes(le).u(1, 1, 1, 0xfb, 14, 13).u(1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
    .u(1, 0, 0);
  return new Bytes(le).u(4, 2 + 4 + head.size + program.size).u(2, 2).u(4, head.size)
    .put(head.bytes()).put(program.bytes()).bytes();
}

interface Section {
  readonly name: string;
  readonly type: number;
  readonly flags?: number;
  readonly align?: number;
  readonly bytes: Uint8Array;
  readonly link?: number;
  readonly info?: number;
  readonly entry?: number;
}

// Types and flags of sections (ELF, "Sections").
const [PROGBITS, SYMTAB, STRTAB, NOTE] = [1, 2, 3, 7];
const [ALLOC, EXECUTE] = [2, 4];

/**
 * Makes an ELF file from the code of one JIT_CODE_LOAD, with its symbol, lines and unwind tables.
 * As in `perf inject --jit`, the code is at its own file offset, and the unwind tables follow it.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/symbols/resolver";
 * import { ElfFile, jitElf } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const { bytes, buildId } = await jitElf({
 *   header: { machine: 62, littleEndian: true },
 *   load: { name: "add", codeAddr: 0x7f00_0000, codeSize: 1 },
 *   code: Uint8Array.of(0xc3),
 * });
 * const elf = ElfFile.open(bytesSource(bytes));
 * assertEquals(elf.buildId(), buildId);
 * ```
 */
export async function jitElf(input: JitElfInput): Promise<JitElf> {
  const { header: { machine, littleEndian: le }, load, code, lines = [], unwinding } = input;
  const wide = !MACHINES_32.has(machine);
  const width = wide ? 8 : 4;
  const headers = wide ? 64 + 56 : 52 + 32;
  const textOffset = (headers + 15) & ~15;
  const hash = new Bytes(le).text(load.name).u(8, load.codeAddr).put(code);
  const id = new Uint8Array(await crypto.subtle.digest("SHA-1", hash.bytes()));
  const note = new Bytes(le).u(4, 4, id.length, 3).text("GNU").put(id).bytes();
  const names = new Bytes(le).u(1, 0).text(load.name).bytes();
  const symbols = new Bytes(le).put(new Uint8Array(wide ? 24 : 16));
  // st_info: STB_LOCAL, STT_FUNC; st_shndx: .text is section 1.
  if (wide) symbols.u(4, 1).u(1, 2, 0).u(2, 1).u(8, textOffset, code.length);
  else symbols.u(4, 1, textOffset, code.length).u(1, 2, 0).u(2, 1);

  const sections: Section[] = [
    { name: ".text", type: PROGBITS, flags: ALLOC | EXECUTE, align: 16, bytes: code },
  ];
  if (unwinding !== undefined) {
    const { unwindingData: data, ehFrameHdrSize } = unwinding;
    const at = Math.max(0, data.length - ehFrameHdrSize);
    const common = { type: PROGBITS, flags: ALLOC };
    sections.push(
      { name: ".eh_frame", ...common, align: 8, bytes: data.subarray(0, at) },
      // It must follow .eh_frame directly, since its contents rely on that.
      { name: ".eh_frame_hdr", ...common, align: 1, bytes: data.subarray(at) },
    );
  }
  const segment = sections.length;
  const symtab = sections.length + 1;
  const entry = wide ? 24 : 16;
  sections.push(
    {
      name: ".symtab",
      type: SYMTAB,
      align: 8,
      bytes: symbols.bytes(),
      link: symtab + 1,
      info: 2,
      entry,
    },
    { name: ".strtab", type: STRTAB, bytes: names },
    { name: ".note.gnu.build-id", type: NOTE, flags: ALLOC, align: 4, bytes: note },
  );
  if (lines.length > 0) {
    const info = new Bytes(le).u(2, 2).u(4, 0).u(1, width, 1).u(4, 0)
      .u(width, textOffset, textOffset + code.length).bytes();
    sections.push(
      {
        name: ".debug_line",
        type: PROGBITS,
        bytes: debugLine(lines, load.codeAddr, textOffset, code.length, wide, le),
      },
      {
        name: ".debug_info",
        type: PROGBITS,
        bytes: new Bytes(le).u(4, info.length).put(info).bytes(),
      },
      { name: ".debug_abbrev", type: PROGBITS, bytes: Uint8Array.from(ABBREVIATIONS) },
    );
  }
  const buildId = Array.from(id, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { bytes: elfFile(sections, segment, textOffset, machine, wide, le), textOffset, buildId };
}

/**
 * Lays out a shared object: headers, one segment of the first `inSegment` sections, all sections,
 * and their table.
 */
function elfFile(
  sections: readonly Section[],
  inSegment: number,
  textOffset: number,
  machine: number,
  wide: boolean,
  le: boolean,
): Uint8Array<ArrayBuffer> {
  const width = wide ? 8 : 4;
  const strings = new Bytes(le).u(1, 0);
  const nameOf = new Map<string, number>();
  for (const { name } of [...sections, { name: ".shstrtab" }]) {
    nameOf.set(name, strings.size);
    strings.text(name);
  }
  const all: Section[] = [...sections, { name: ".shstrtab", type: STRTAB, bytes: strings.bytes() }];
  const offsets: number[] = [];
  let at = textOffset;
  for (const { align = 1, bytes } of all) {
    at = Math.ceil(at / align) * align;
    offsets.push(at);
    at += bytes.length;
  }
  const table = Math.ceil(at / 8) * 8;
  const end = (offsets[inSegment - 1] ?? 0) + (sections[inSegment - 1]?.bytes.length ?? 0);
  const out = new Bytes(le);
  // e_ident, e_type ET_DYN, e_machine, e_version, e_entry, e_phoff, e_shoff, e_flags, sizes.
  out.u(1, 0x7f, 0x45, 0x4c, 0x46, wide ? 2 : 1, le ? 1 : 2, 1, 0).put(new Uint8Array(8));
  out.u(2, 3, machine).u(4, 1).u(width, textOffset, wide ? 64 : 52, table).u(4, 0);
  out.u(2, wide ? 64 : 52, wide ? 56 : 32, 1, wide ? 64 : 40, all.length + 1, all.length);
  // PT_LOAD, readable and executable.
  const size = end - textOffset;
  if (wide) out.u(4, 1, 5).u(8, textOffset, textOffset, textOffset, size, size, 8);
  else out.u(4, 1, textOffset, textOffset, textOffset, size, size, 5, 8);
  const bytes = new Uint8Array(table + (all.length + 1) * (wide ? 64 : 40));
  bytes.set(out.bytes());
  const headers = new Bytes(le).put(new Uint8Array(wide ? 64 : 40));
  for (const [i, section] of all.entries()) {
    const { name, type, flags = 0, align = 1, link = 0, info = 0, entry = 0 } = section;
    const offset = offsets[i] ?? 0;
    bytes.set(section.bytes, offset);
    headers.u(4, nameOf.get(name) ?? 0, type).u(width, flags);
    headers.u(width, (flags & ALLOC) !== 0 ? offset : 0, offset, section.bytes.length);
    headers.u(4, link, info).u(width, align, entry);
  }
  bytes.set(headers.bytes(), table);
  return bytes;
}
