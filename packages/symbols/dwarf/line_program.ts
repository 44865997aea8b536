import { lowerBound } from "../table/sorted_numbers.ts";
import type { Cursor } from "./bytes.ts";
import { READ, skipValue, type UnitFormat } from "./forms.ts";
import { orderOf } from "./paint.ts";

/** The header fields that a line number program depends on (DWARF 5, 6.2.4). */
export interface LineHeader {
  readonly version: number;
  readonly minInstLength: number;
  readonly maxOps: number;
  readonly lineBase: number;
  readonly lineRange: number;
  readonly opcodeBase: number;
  /** Number of LEB128 operands of each standard opcode. */
  readonly opcodeLengths: Uint8Array;
}

/** Standard opcodes (DWARF 5, table 7.25). */
const DW_LNS = {
  copy: 1,
  advance_pc: 2,
  advance_line: 3,
  set_file: 4,
  set_column: 5,
  negate_stmt: 6,
  set_basic_block: 7,
  const_add_pc: 8,
  fixed_advance_pc: 9,
  set_prologue_end: 10,
  set_epilogue_begin: 11,
} as const;

/** Extended opcodes (DWARF 5, table 7.26; `define_file` up to DWARF 4). */
const DW_LNE = { end_sequence: 1, set_address: 2, define_file: 3, set_discriminator: 4 } as const;

/** The rows of a program, as columns. */
class Rows {
  address = new Float64Array(0);
  line = new Uint32Array(0);
  file = new Uint32Array(0);
  column = new Uint32Array(0);
  discriminator = new Uint32Array(0);

  /** Makes room for `count` rows. Rows already there are lost. */
  reserve(count: number): void {
    if (count <= this.address.length) return;
    const capacity = Math.max(count, 1 << 16);
    this.address = new Float64Array(capacity);
    this.line = new Uint32Array(capacity);
    this.file = new Uint32Array(capacity);
    this.column = new Uint32Array(capacity);
    this.discriminator = new Uint32Array(capacity);
  }

  /** Sorts the rows `[from, to)` by address. Only broken input needs it. */
  sort(from: number, to: number): void {
    const order = orderOf(this.address, from, to);
    for (const rows of [this.address, this.line, this.file, this.column, this.discriminator]) {
      const before = rows.slice(from, to);
      for (let i = 0; i < to - from; i++) {
        rows[from + i] = before[(order[i] as number) - from] as number;
      }
    }
  }
}

/** The buffers of the program that is running. Programs run one after another, so they share them. */
const sharedRows = new Rows();

/** The sequences of a program: contiguous code, with the rows that describe it. */
class Sequences {
  /** First address of each sequence. */
  readonly low: number[] = [];
  /** First address after each sequence. */
  readonly high: number[] = [];
  /** First row of each sequence. */
  readonly first: number[] = [];
  /** Row after the last one of each sequence. */
  readonly end: number[] = [];
  /** Whether any row has a discriminator. */
  discriminators = false;
  /** Number of rows. */
  count = 0;
}

/** Number of operations that one call of `#runPiece` executes. */
const PIECE = 4096;

/**
 * Runs a line number program (DWARF 5, 6.2.2). The registers of its state machine are fields; each
 * opcode is a method.
 */
export class LineProgram {
  readonly rows: Rows = sharedRows;
  readonly sequences: Sequences = new Sequences();

  readonly #c: Cursor;
  readonly #header: LineHeader;
  readonly #wanted: Float64Array | undefined;
  readonly #defineFile: () => void;
  /** Whether an instruction is a single operation. */
  readonly #scalar: boolean;
  /** Operation advance of each special opcode. */
  readonly #advance = new Float64Array(256);
  /** Line advance of each special opcode. */
  readonly #lineAdvance = new Int32Array(256);

  /** Position of the next opcode. */
  #p: number;
  #address = 0;
  #opIndex = 0;
  #file = 1;
  #line = 1;
  #column = 0;
  #discriminator = 0;

  /** Number of rows. */
  #count = 0;
  /** First row of the sequence. */
  #first = 0;
  /** Whether the sequence's addresses ascend. */
  #ordered = true;
  /** Whether the linker dropped the sequence's code. */
  #dead = false;
  /** Index of the first wanted address that is not below the last row. */
  #wantedIndex = 0;
  #nextWanted = -Infinity;

  /**
   * Prepares a program that begins at `c.pos`.
   *
   * @param wanted addresses to look up, in ascending order; without it, all rows are kept
   * @param defineFile reads the file entry at `c.pos`
   */
  constructor(
    c: Cursor,
    header: LineHeader,
    wanted: Float64Array | undefined,
    defineFile: () => void,
  ) {
    const { version, maxOps, lineBase, lineRange, opcodeBase } = header;
    this.#c = c;
    this.#header = header;
    this.#wanted = wanted;
    this.#defineFile = defineFile;
    this.#p = c.pos;
    this.#scalar = maxOps <= 1;
    if (c.pos >= c.end) return;
    if (lineRange === 0) throw c.error("line_range is 0");
    if (maxOps === 0 && version >= 4) {
      throw c.error("maximum_operations_per_instruction is 0");
    }
    for (let op = opcodeBase; op < 256; op++) {
      this.#advance[op] = Math.floor((op - opcodeBase) / lineRange);
      this.#lineAdvance[op] = lineBase + (op - opcodeBase) % lineRange;
    }
  }

  /** Runs the program. The rows are valid until the next program runs. */
  run(): { readonly rows: Rows; readonly sequences: Sequences } {
    const { rows, sequences } = this;
    const { end } = this.#c;
    rows.reserve(end - this.#p + 1); // every row takes a byte of the program
    // In short calls: an engine optimizes a function best when it is called again.
    while (this.#p < end) this.#runPiece();
    // Rows after the last end_sequence have no end, so they cover no code.
    sequences.count = this.#first;
    return { rows, sequences };
  }

  /** Executes up to `PIECE` operations. */
  #runPiece(): void {
    const { opcodeBase } = this.#header;
    const { bytes, end } = this.#c;
    for (let left = PIECE; left > 0 && this.#p < end; left--) {
      const opcode = bytes[this.#p++] as number;
      if (opcode >= opcodeBase) this.#special(opcode);
      else if (opcode === 0) this.#extended();
      else this.#standard(opcode);
    }
  }

  #special(opcode: number): void {
    this.#advancePc(this.#advance[opcode] as number);
    this.#line += this.#lineAdvance[opcode] as number;
    this.#addRow();
  }

  #standard(opcode: number): void {
    switch (opcode) {
      case DW_LNS.copy:
        return this.#addRow();
      case DW_LNS.advance_pc:
        return this.#advancePc(this.#uleb());
      case DW_LNS.advance_line:
        this.#line = (this.#line + this.#sleb()) >>> 0;
        return;
      case DW_LNS.set_file:
        this.#file = this.#uleb() >>> 0;
        return;
      case DW_LNS.set_column:
        this.#column = this.#uleb() >>> 0;
        return;
      case DW_LNS.negate_stmt:
      case DW_LNS.set_basic_block:
      case DW_LNS.set_prologue_end:
      case DW_LNS.set_epilogue_begin:
        return;
      case DW_LNS.const_add_pc:
        return this.#advancePc(this.#advance[255] as number);
      case DW_LNS.fixed_advance_pc:
        return this.#fixedAdvancePc();
      default:
        return this.#skipOperands(opcode);
    }
  }

  #extended(): void {
    const c = this.#c;
    const start = this.#p;
    const length = this.#uleb();
    if (length === 0) throw c.error("extended opcode of length 0", start - 1);
    c.pos = this.#p;
    const at = c.take(length);
    this.#p = c.pos;
    c.pos = at + 1;
    switch (c.bytes[at]) {
      case DW_LNE.end_sequence:
        return this.#endSequence();
      case DW_LNE.set_address:
        return this.#setAddress(length - 1);
      case DW_LNE.define_file:
        if (this.#header.version <= 4) this.#defineFile();
        return;
      case DW_LNE.set_discriminator:
        this.#discriminator = c.uleb() >>> 0;
    }
  }

  /** Closes the sequence, and resets the registers. A sequence without code is dropped. */
  #endSequence(): void {
    const { rows, sequences } = this;
    if (this.#count > this.#first) {
      if (!this.#ordered) rows.sort(this.#first, this.#count);
      const low = rows.address[this.#first] as number;
      if (!this.#dead && low < this.#address) {
        sequences.low.push(low);
        sequences.high.push(this.#address);
        sequences.first.push(this.#first);
        sequences.end.push(this.#count);
        this.#first = this.#count;
      }
    }
    this.#count = this.#first;
    this.#ordered = true;
    this.#dead = false;
    this.#address =
      this.#opIndex =
      this.#column =
      this.#discriminator =
        0;
    this.#file = this.#line = 1;
  }

  #setAddress(size: number): void {
    this.#address = this.#c.address(size);
    this.#opIndex = 0;
    this.#p = this.#c.pos;
    // The largest address marks code that the linker dropped.
    if (this.#address === (size === 8 ? -1 : size === 4 ? 0xffffffff : NaN)) this.#dead = true;
  }

  #fixedAdvancePc(): void {
    const { bytes, end, le } = this.#c;
    const p = this.#p;
    if (p + 2 > end) throw this.#c.error("the program ends in an operand", p);
    const first = bytes[p] as number, second = bytes[p + 1] as number;
    this.#address += le ? first | second << 8 : first << 8 | second;
    this.#opIndex = 0;
    this.#p = p + 2;
  }

  /** Skips DW_LNS_set_isa and producers' opcodes, whose operands are LEB128. */
  #skipOperands(opcode: number): void {
    const c = this.#c;
    c.pos = this.#p;
    for (let i = this.#header.opcodeLengths[opcode] as number; i > 0; i--) {
      skipValue(c, READ.ULEB, NO_FORMAT);
    }
    this.#p = c.pos;
  }

  #advancePc(operations: number): void {
    const { minInstLength, maxOps } = this.#header;
    if (this.#scalar) this.#address += minInstLength * operations;
    else {
      const total = this.#opIndex + operations;
      this.#address += minInstLength * Math.floor(total / maxOps);
      this.#opIndex = total % maxOps;
    }
  }

  /** Reads a ULEB128; one byte is enough for most. */
  #uleb(): number {
    const c = this.#c;
    const p = this.#p;
    const byte = c.bytes[p] as number;
    if (p < c.end && byte < 0x80) {
      this.#p = p + 1;
      return byte;
    }
    c.pos = p;
    const value = c.uleb();
    this.#p = c.pos;
    return value;
  }

  /** Reads an SLEB128; one or two bytes are enough for most. */
  #sleb(): number {
    const c = this.#c;
    const { bytes, end } = c;
    const p = this.#p;
    const low = bytes[p] as number;
    if (p < end && low < 0x80) {
      this.#p = p + 1;
      return (low << 25) >> 25;
    }
    const high = bytes[p + 1] as number;
    if (p + 1 < end && high < 0x80) {
      this.#p = p + 2;
      return ((low & 0x7f) | high << 7) << 18 >> 18;
    }
    c.pos = p;
    const value = c.sleb();
    this.#p = c.pos;
    return value;
  }

  #addRow(): void {
    const { rows } = this;
    const address = this.#address;
    const n = this.#rowFor(address);
    rows.address[n] = address;
    rows.line[n] = this.#line;
    rows.file[n] = this.#file;
    rows.column[n] = this.#column;
    rows.discriminator[n] = this.#discriminator;
    if (this.#discriminator !== 0) {
      this.sequences.discriminators = true;
      this.#discriminator = 0;
    }
    this.#count = n + 1;
  }

  /** Index of the next row: that of the last one if nothing will be looked up there. */
  #rowFor(address: number): number {
    const n = this.#count;
    if (n === this.#first) {
      if (this.#wanted !== undefined) this.#seekWanted(address);
      return n;
    }
    const before = this.rows.address[n - 1] as number;
    if (before === address) return n - 1;
    if (before > address) this.#ordered = false;
    else if (this.#nextWanted >= address) {
      // No wanted address is in the last row. The first row is kept as the sequence's start.
      if (n > this.#first + 1 && this.#ordered) return n - 1;
    } else if (this.#wanted !== undefined) this.#passWanted(this.#wanted, address);
    return n;
  }

  #seekWanted(address: number): void {
    const wanted = this.#wanted as Float64Array;
    this.#wantedIndex = lowerBound(wanted, address);
    this.#nextWanted = wanted[this.#wantedIndex] ?? Infinity;
  }

  #passWanted(wanted: Float64Array, address: number): void {
    do this.#nextWanted = wanted[++this.#wantedIndex] ?? Infinity; while (
      this.#nextWanted < address
    );
  }
}

const NO_FORMAT: UnitFormat = { version: 0, offsetSize: 4, addressSize: 8 };
