import { floatAt, uintAt } from "@perfdata/format/bytes";
import { Cursor, text } from "./bytes.ts";
import { DW_FORM, DW_LNCT } from "./dwarf_constants.ts";
import { DwarfError } from "./dwarf_error.ts";
import { fixedSize, indirect, READ, readOf, skipValue, type UnitFormat } from "./forms.ts";
import { type LineHeader, LineProgram } from "./line_program.ts";
import { orderOf } from "./paint.ts";
import type { Section } from "./section.ts";

/** The properties of a unit that its line table depends on. */
export interface LineUnit {
  readonly addressSize: number;
  /** The unit's `DW_AT_comp_dir`. */
  readonly compDir: string | undefined;
  /** The string of a form with that value; `at` has the bytes of inline strings. */
  string(form: number, value: number, at: Uint8Array): string | undefined;
}

/** Copies `values[0, count)` to 16-bit numbers if all of them fit. */
function narrow(values: Uint32Array, count: number): Uint16Array | Uint32Array {
  for (let i = 0; i < count; i++) {
    if ((values[i] as number) > 0xffff) return values.slice(0, count);
  }
  const result = new Uint16Array(count);
  result.set(values.subarray(0, count));
  return result;
}

/**
 * Rows and files of one line number program (DWARF 5, 6.2), versions 2 to 5.
 *
 * Rows are stored in typed arrays. Sequences are sorted by their ends. Of several rows with the
 * same address the last one is kept, since look-ups use it. If the wanted addresses are given, only
 * rows that they need are kept.
 */
export class LineTable {
  readonly address: Float64Array;
  readonly line: Uint32Array;
  readonly file: Uint16Array | Uint32Array;
  readonly column: Uint16Array | Uint32Array;
  readonly discriminator: Uint16Array | Uint32Array | undefined;
  readonly #low: Float64Array;
  readonly #high: Float64Array;
  readonly #first: Uint32Array;
  readonly #end: Uint32Array;
  readonly #version: number;
  readonly #unit: LineUnit;
  // Form and value of each name (a position in `#names` for inline strings).
  readonly #names: Uint8Array;
  #namesEnd = 0;
  readonly #dirForm: number[] = [];
  readonly #dirValue: number[] = [];
  readonly #fileForm: number[] = [];
  readonly #fileValue: number[] = [];
  readonly #fileDir: number[] = [];

  /**
   * Reads the table at `offset` of `.debug_line`.
   *
   * @param wanted addresses to look up, in ascending order; all rows are kept if it is missing
   */
  constructor(section: Section, offset: number, unit: LineUnit, wanted?: Float64Array) {
    this.#unit = unit;
    const head = section.cursor(offset, Math.min(12, Math.max(0, section.size - offset)));
    const { length, offsetSize } = head.unitLength();
    if (length > section.size - offset - head.pos) {
      throw new DwarfError(
        section.name,
        offset,
        `a line table of 0x${length.toString(16)} bytes, of which 0x${
          (section.size - offset - head.pos).toString(16)
        } are there`,
      );
    }
    const bytes = section.borrow(offset, head.pos + length);
    const c = new Cursor(bytes, section.name, offset, section.le, head.pos);
    const header = this.#header(c, offsetSize);
    this.#version = header.version;
    this.#names = c.bytes;
    const program = new LineProgram(c, header, wanted, () => {
      this.#fileEntry(c);
      this.#namesEnd = c.end;
    });
    const { rows, sequences } = program.run();
    const { count } = sequences;
    this.address = rows.address.slice(0, count);
    this.line = rows.line.slice(0, count);
    this.file = narrow(rows.file, count);
    this.column = narrow(rows.column, count);
    this.discriminator = sequences.discriminators ? narrow(rows.discriminator, count) : undefined;
    const n = sequences.high.length;
    const order = orderOf(Float64Array.from(sequences.high), 0, n).slice(0, n);
    this.#low = Float64Array.from(order, (i) => sequences.low[i] as number);
    this.#high = Float64Array.from(order, (i) => sequences.high[i] as number);
    this.#first = Uint32Array.from(order, (i) => sequences.first[i] as number);
    this.#end = Uint32Array.from(order, (i) => sequences.end[i] as number);
    // Inline names are decoded on demand. Without inline names, the program's bytes can be
    // released.
    if (!this.#fileForm.includes(DW_FORM.string) && !this.#dirForm.includes(DW_FORM.string)) {
      this.#names = new Uint8Array(0);
    } else if (section.copies) this.#names = c.bytes.slice(0, this.#namesEnd);
  }
  /** Bytes that the table holds in memory. */
  get bytes(): number {
    return this.address.byteLength + this.line.byteLength + this.file.byteLength +
      this.column.byteLength + (this.discriminator?.byteLength ?? 0) + this.#names.length +
      this.#low.length * 24 + this.#fileForm.length * 24;
  }

  /** The row of an address, or -1. */
  find(address: number): number {
    const highs = this.#high;
    let low = 0, high = highs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((highs[middle] as number) <= address) low = middle + 1;
      else high = middle;
    }
    if (low === highs.length || (this.#low[low] as number) > address) return -1;
    const rows = this.address;
    const first = this.#first[low] as number;
    high = this.#end[low] as number;
    low = first;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((rows[middle] as number) <= address) low = middle + 1;
      else high = middle;
    }
    return low > first ? low - 1 : -1;
  }

  /**
   * Calls `take` for each row with code: its index, and the code `[low, high)` up to the next row
   * of its sequence.
   */
  each(take: (row: number, low: number, high: number) => void): void {
    for (let sequence = 0; sequence < this.#high.length; sequence++) {
      const end = uintAt(this.#end, sequence);
      for (let row = uintAt(this.#first, sequence); row < end; row++) {
        const low = floatAt(this.address, row);
        const high = row + 1 < end ? floatAt(this.address, row + 1) : floatAt(this.#high, sequence);
        if (high > low) take(row, low, high);
      }
    }
  }

  /** Number of files. File numbers are below it; in DWARF 2 to 4 they are 1 to the count. */
  get fileCount(): number {
    return this.#fileForm.length;
  }

  /** Full path of file number `index`, as far as table and unit state it. */
  path(index: number): string | undefined {
    const i = this.#version >= 5 ? index : index - 1;
    if (i < 0 || i >= this.#fileForm.length) return undefined;
    const name = this.#string(this.#fileForm, this.#fileValue, i);
    if (name === undefined || name.startsWith("/")) return name;
    const dirIndex = this.#fileDir[i] as number;
    // Up to DWARF 4 directory 0 is the compilation directory, which is not in the table.
    const dir = this.#version >= 5
      ? this.#string(this.#dirForm, this.#dirValue, dirIndex)
      : this.#string(this.#dirForm, this.#dirValue, dirIndex - 1);
    const path = join(dir, name);
    return path.startsWith("/") ? path : join(this.#unit.compDir, path);
  }

  #string(forms: number[], values: number[], i: number): string | undefined {
    const form = forms[i], value = values[i];
    if (form === undefined || value === undefined) return undefined;
    return this.#unit.string(form, value, this.#names);
  }

  #header(c: Cursor, offsetSize: 4 | 8): LineHeader {
    const version = c.u16();
    if (version < 2 || version > 5) {
      throw c.error(`line table of version ${version}; 2 to 5 expected`, c.pos - 2);
    }
    let addressSize = this.#unit.addressSize;
    if (version >= 5) {
      addressSize = c.u8();
      const selector = c.u8();
      if (selector !== 0) throw c.error("segment selectors are not known", c.pos - 1);
    }
    const headerLength = c.uint(offsetSize);
    const programStart = c.pos + headerLength;
    if (programStart > c.end) {
      throw c.error(`a header of 0x${headerLength.toString(16)} bytes is longer than its table`);
    }
    const minInstLength = c.u8();
    const maxOps = version >= 4 ? c.u8() : 1;
    c.u8(); // default_is_stmt: not needed, since every row counts for look-ups
    const lineBase = (c.u8() << 24) >> 24;
    const lineRange = c.u8();
    const opcodeBase = c.u8();
    if (opcodeBase === 0) throw c.error("opcode_base is 0; at least 1 expected", c.pos - 1);
    const lengthsAt = c.take(opcodeBase - 1);
    const opcodeLengths = c.bytes.subarray(lengthsAt - 1, lengthsAt - 1 + opcodeBase);
    const end = c.end;
    c.end = programStart;
    if (version >= 5) {
      const format = { version, offsetSize, addressSize };
      this.#entries(c, format, this.#dirForm, this.#dirValue, undefined);
      this.#entries(c, format, this.#fileForm, this.#fileValue, this.#fileDir);
    } else {
      while (c.pos < c.end && c.bytes[c.pos] !== 0) {
        this.#dirForm.push(DW_FORM.string);
        this.#dirValue.push(c.skipString());
      }
      if (c.pos < c.end) c.pos++;
      while (c.pos < c.end && c.bytes[c.pos] !== 0) this.#fileEntry(c);
    }
    this.#namesEnd = c.pos;
    c.end = end;
    c.pos = programStart;
    return { version, minInstLength, maxOps, lineBase, lineRange, opcodeBase, opcodeLengths };
  }

  #fileEntry(c: Cursor): void {
    this.#fileForm.push(DW_FORM.string);
    this.#fileValue.push(c.skipString());
    this.#fileDir.push(c.uleb());
    c.uleb(); // time of last modification
    c.uleb(); // length
  }

  /** Reads a list of directories or files (DWARF 5, 6.2.4.1). */
  #entries(
    c: Cursor,
    format: UnitFormat,
    forms: number[],
    values: number[],
    dirs: number[] | undefined,
  ): void {
    const formatAt = c.pos;
    const formatCount = c.u8();
    const types: number[] = [], typeForms: number[] = [], reads: number[] = [];
    for (let i = 0; i < formatCount; i++) {
      const at = c.pos;
      const type = c.uleb();
      const form = c.uleb();
      const read = readOf(form, format);
      if (read < 0 || read === READ.IMPLICIT) {
        throw c.error(`form 0x${form.toString(16)} of content type ${type} is not known`, at);
      }
      types.push(type);
      typeForms.push(form);
      reads.push(read);
    }
    const countAt = c.pos;
    const count = c.uleb();
    // Entries of no bytes would allow any 64-bit count.
    const least = reads.reduce((sum, read) => sum + Math.abs(fixedSize(read)), 0);
    if (count > 0 && (least === 0 || count > (c.end - c.pos) / least)) {
      throw c.error(
        `${count} entries of ${least} bytes or more, ${c.end - c.pos} bytes left (format at 0x${
          (c.base + formatAt).toString(16)
        })`,
        countAt,
      );
    }
    for (let n = 0; n < count; n++) {
      let nameForm = 0, nameValue = 0, dir = 0;
      for (let i = 0; i < formatCount; i++) {
        let read = reads[i] as number, form = typeForms[i] as number;
        if (read === READ.INDIRECT) ({ form, read } = indirect(c, format));
        const type = types[i];
        if (type === DW_LNCT.path) {
          nameForm = form;
          nameValue = numberOf(c, read, format);
        } else if (type === DW_LNCT.directory_index) dir = numberOf(c, read, format);
        else skipValue(c, read, format);
      }
      forms.push(nameForm);
      values.push(nameValue);
      dirs?.push(dir);
    }
  }
}

function numberOf(c: Cursor, read: number, format: UnitFormat): number {
  if (read === READ.ULEB) return c.uleb();
  const at = c.pos;
  const size = fixedSize(read);
  if (size > 0 && size <= 8) return c.uint(size);
  skipValue(c, read, format);
  return at;
}

/** Joins to `dir/name`, without a double slash, and without a slash if there is no directory. */
function join(dir: string | undefined, name: string): string {
  if (dir === undefined || dir === "") return name;
  return dir.endsWith("/") ? dir + name : `${dir}/${name}`;
}

/** Decodes the inline string at `at`, for {@link LineUnit.string}. */
export function inlineString(bytes: Uint8Array, at: number): string {
  const nul = bytes.indexOf(0, at);
  return text(bytes, at, nul < 0 ? bytes.length : nul);
}
