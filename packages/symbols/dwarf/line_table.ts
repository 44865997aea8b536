import { Cursor, text } from "./bytes.ts";
import { DW_FORM, DW_LNCT } from "./dwarf_constants.ts";
import { DwarfError } from "./dwarf_error.ts";
import { fixedSize, indirect, READ, readOf, skipValue, type UnitFormat } from "./forms.ts";
import { lowerBound } from "../table/sorted_numbers.ts";
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

// Rows of the table that is being read. Units are read one after another, so they share the
// buffers.
let rowCapacity = 0;
let rowAddress = new Float64Array(0);
let rowLine = new Uint32Array(0);
let rowFile = new Uint32Array(0);
let rowColumn = new Uint32Array(0);
let rowDiscriminator = new Uint32Array(0);

function reserveRows(count: number): void {
  if (count <= rowCapacity) return;
  rowCapacity = Math.max(count, 1 << 16);
  rowAddress = new Float64Array(rowCapacity);
  rowLine = new Uint32Array(rowCapacity);
  rowFile = new Uint32Array(rowCapacity);
  rowColumn = new Uint32Array(rowCapacity);
  rowDiscriminator = new Uint32Array(rowCapacity);
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

interface Header {
  readonly version: number;
  readonly minInstLength: number;
  readonly maxOps: number;
  readonly lineBase: number;
  readonly lineRange: number;
  readonly opcodeBase: number;
  readonly opcodeLengths: Uint8Array;
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
    const sequences = this.#run(c, header, wanted);
    const count = sequences.count;
    this.address = rowAddress.slice(0, count);
    this.line = rowLine.slice(0, count);
    this.file = narrow(rowFile, count);
    this.column = narrow(rowColumn, count);
    this.discriminator = sequences.discriminators ? narrow(rowDiscriminator, count) : undefined;
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

  #header(c: Cursor, offsetSize: 4 | 8): Header {
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

  /** Runs the program. Rows go to the shared buffers. */
  #run(c: Cursor, header: Header, wanted: Float64Array | undefined): Sequences {
    const { version, minInstLength, maxOps, lineBase, lineRange, opcodeBase } = header;
    const { end, pos: p } = c;
    reserveRows(end - p + 1); // every row takes a byte of the program
    const machine = new Machine(p, maxOps <= 1, Math.floor((255 - opcodeBase) / lineRange));
    const { addressAdvance, lineAdvance, sequences } = machine;
    if (lineRange === 0 && p < end) throw c.error("line_range is 0");
    for (let op = opcodeBase; op < 256; op++) {
      addressAdvance[op] = Math.floor((op - opcodeBase) / lineRange);
      lineAdvance[op] = lineBase + (op - opcodeBase) % lineRange;
    }
    if (maxOps === 0 && version >= 4 && p < end) {
      throw c.error("maximum_operations_per_instruction is 0");
    }
    if (machine.scalar) {
      for (let op = 0; op < 256; op++) {
        addressAdvance[op] = (addressAdvance[op] as number) * minInstLength;
      }
    }
    // In short calls: an engine optimizes a function best when it is called again.
    while (machine.p < end) this.#some(c, header, wanted, machine);
    // Rows after the last end_sequence have no end, so they cover no code.
    sequences.count = machine.sequenceFirst;
    return sequences;
  }

  /**
   * Runs up to `PIECE` operations. One function, since the state machine's registers are its local
   * variables: fields would be written to memory after each operation.
   */
  #some(c: Cursor, header: Header, wanted: Float64Array | undefined, machine: Machine): void {
    const { version, minInstLength, maxOps, opcodeBase } = header;
    const { bytes: b, end, le } = c;
    const A = rowAddress, L = rowLine, F = rowFile, C = rowColumn, D = rowDiscriminator;
    const { scalar, constAdd, addressAdvance, lineAdvance, sequences } = machine;
    let { p, n, sequenceFirst, ordered, dead, w, nextWanted } = machine;
    let { address, opIndex, file, line, column, discriminator } = machine;

    for (let left = PIECE; left > 0 && p < end; left--) {
      const op = b[p++] as number;
      if (op >= opcodeBase) {
        if (scalar) address += addressAdvance[op] as number;
        else {
          const total = opIndex + (addressAdvance[op] as number);
          address += minInstLength * Math.floor(total / maxOps);
          opIndex = total % maxOps;
        }
        line += lineAdvance[op] as number;
      } else if (op === 0) {
        c.pos = p;
        const length = p < end && (b[p] as number) < 0x80 ? c.u8() : c.uleb();
        const at = c.take(length);
        if (length === 0) throw c.error("extended opcode of length 0", p - 1);
        p = c.pos;
        const sub = b[at];
        if (sub === 1) { // DW_LNE_end_sequence
          if (!dead && n > sequenceFirst) {
            if (!ordered) sortRows(sequenceFirst, n);
            const low = A[sequenceFirst] as number;
            if (low < address) {
              sequences.low.push(low);
              sequences.high.push(address);
              sequences.first.push(sequenceFirst);
              sequences.end.push(n);
            } else n = sequenceFirst;
          } else n = sequenceFirst;
          sequenceFirst = n;
          ordered = true;
          dead = false;
          address =
            opIndex =
            column =
            discriminator =
              0;
          file = line = 1;
        } else if (sub === 2) { // DW_LNE_set_address
          c.pos = at + 1;
          address = c.address(length - 1);
          opIndex = 0;
          p = c.pos;
          // The largest address marks code that the linker dropped.
          if (address === (length === 9 ? -1 : length === 5 ? 0xffffffff : NaN)) dead = true;
        } else if (sub === 3 && version <= 4) { // DW_LNE_define_file
          c.pos = at + 1;
          this.#fileEntry(c);
          this.#namesEnd = end;
          p = at + length;
        } else if (sub === 4) { // DW_LNE_set_discriminator
          c.pos = at + 1;
          discriminator = c.uleb() >>> 0;
          p = at + length;
        }
        continue;
      } else {
        switch (op) {
          case 1: // DW_LNS_copy
            break;
          case 2: { // DW_LNS_advance_pc
            let advance = b[p] as number;
            if (p < end && advance < 0x80) p++;
            else {
              c.pos = p;
              advance = c.uleb();
              p = c.pos;
            }
            if (scalar) address += advance * minInstLength;
            else {
              address += minInstLength * Math.floor((opIndex + advance) / maxOps);
              opIndex = (opIndex + advance) % maxOps;
            }
            continue;
          }
          case 3: { // DW_LNS_advance_line
            let delta = b[p] as number;
            if (p < end && delta < 0x80) {
              p++;
              delta = (delta << 25) >> 25;
            } else if (p + 1 < end && (b[p + 1] as number) < 0x80) {
              delta = ((delta & 0x7f) | (b[p + 1] as number) << 7) << 18 >> 18;
              p += 2;
            } else {
              c.pos = p;
              delta = c.sleb();
              p = c.pos;
            }
            line = (line + delta) >>> 0;
            continue;
          }
          case 4: // DW_LNS_set_file
          case 5: { // DW_LNS_set_column
            let value = b[p] as number;
            if (p < end && value < 0x80) p++;
            else {
              c.pos = p;
              value = c.uleb();
              p = c.pos;
            }
            if (op === 4) file = value >>> 0;
            else column = value >>> 0;
            continue;
          }
          case 6: // DW_LNS_negate_stmt
          case 7: // DW_LNS_set_basic_block
          case 10: // DW_LNS_set_prologue_end
          case 11: // DW_LNS_set_epilogue_begin
            continue;
          case 8: // DW_LNS_const_add_pc
            if (scalar) address += constAdd * minInstLength;
            else {
              address += minInstLength * Math.floor((opIndex + constAdd) / maxOps);
              opIndex = (opIndex + constAdd) % maxOps;
            }
            continue;
          case 9: // DW_LNS_fixed_advance_pc
            if (p + 2 > end) throw c.error("the program ends in an operand", p);
            address += le
              ? (b[p] as number) | (b[p + 1] as number) << 8
              : (b[p] as number) << 8 | (b[p + 1] as number);
            opIndex = 0;
            p += 2;
            continue;
          default: // DW_LNS_set_isa and producers' opcodes: operands are LEB128
            c.pos = p;
            for (let i = header.opcodeLengths[op] as number; i > 0; i--) {
              skipValue(c, READ.ULEB, NO_FORMAT);
            }
            p = c.pos;
            continue;
        }
      }
      // Add a row.
      if (n > sequenceFirst) {
        const before = A[n - 1] as number;
        if (before === address) n--;
        else if (before > address) ordered = false;
        else if (nextWanted >= address) {
          // No wanted address is in the previous row. The first row is kept as the sequence's
          // start.
          if (n > sequenceFirst + 1 && ordered) n--;
        } else if (wanted !== undefined) {
          do nextWanted = wanted[++w] ?? Infinity; while (nextWanted < address);
        }
      } else if (wanted !== undefined) {
        w = lowerBound(wanted, address);
        nextWanted = wanted[w] ?? Infinity;
      }
      A[n] = address;
      L[n] = line;
      F[n] = file;
      C[n] = column;
      D[n] = discriminator;
      if (discriminator !== 0) {
        sequences.discriminators = true;
        discriminator = 0;
      }
      n++;
    }
    machine.p = p;
    machine.n = n;
    machine.sequenceFirst = sequenceFirst;
    machine.ordered = ordered;
    machine.dead = dead;
    machine.w = w;
    machine.nextWanted = nextWanted;
    machine.address = address;
    machine.opIndex = opIndex;
    machine.file = file;
    machine.line = line;
    machine.column = column;
    machine.discriminator = discriminator;
  }
}

/** Number of operations that one call runs. */
const PIECE = 4096;

/** State of a line number program (DWARF 5, 6.2.2) between two calls. */
class Machine {
  /** Position of the next operation. */
  p: number;
  /** Number of rows. */
  n = 0;
  sequenceFirst = 0;
  /** Whether the sequence's addresses ascend. */
  ordered = true;
  /** Whether the linker dropped the sequence's code. */
  dead = false;
  /** Index of the first wanted address that is not below the last row. */
  w = 0;
  nextWanted = -Infinity;
  address = 0;
  opIndex = 0;
  file = 1;
  line = 1;
  column = 0;
  discriminator = 0;
  /** Whether an instruction is a single operation. */
  readonly scalar: boolean;
  readonly constAdd: number;
  /** Address advance of each special opcode. */
  readonly addressAdvance: Float64Array = new Float64Array(256);
  readonly lineAdvance: Int32Array = new Int32Array(256);
  readonly sequences: Sequences = new Sequences();

  constructor(p: number, scalar: boolean, constAdd: number) {
    this.p = p;
    this.scalar = scalar;
    this.constAdd = constAdd;
  }
}

const NO_FORMAT: UnitFormat = { version: 0, offsetSize: 4, addressSize: 8 };

class Sequences {
  readonly low: number[] = [];
  readonly high: number[] = [];
  readonly first: number[] = [];
  readonly end: number[] = [];
  discriminators = false;
  count = 0;
}

/** Sorts the shared rows `[from, to)` by address. Only broken input needs it. */
function sortRows(from: number, to: number): void {
  const order = orderOf(rowAddress, from, to);
  for (const rows of [rowAddress, rowLine, rowFile, rowColumn, rowDiscriminator]) {
    const before = rows.slice(from, to);
    for (let i = 0; i < to - from; i++) {
      rows[from + i] = before[(order[i] as number) - from] as number;
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
