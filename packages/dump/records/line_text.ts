import { type Piece, piece, putHex } from "@perfdata/format/text-bytes";
import { safeCell } from "@perfdata/format/visible";
import { type FieldFormat, type FieldPlace, type FieldStep } from "../text/field_text.ts";
import type { U64Style } from "./records_json.ts";

/** The columns of CSV: those that all records share, and all else as one JSON object. */
export const CSV_COLUMNS: readonly string[] = [
  "type",
  "offset",
  "event",
  "misc",
  "cpumode",
  "ip",
  "pid",
  "tid",
  "cpu",
  "time",
  "count",
  "period",
  "more",
];

/** The column of all else. */
const MORE = CSV_COLUMNS.length - 1;

/** How lines are written. */
export interface LineStyle {
  /** How 64-bit values that are no addresses are written. */
  readonly u64: U64Style;
  /** Makes a row of cells, where lines are rows of CSV. */
  readonly csv: ((row: readonly string[]) => string) | undefined;
}

/** What stands before the digits of a value. */
function openOf(format: FieldFormat, size: number, u64: U64Style): string {
  if (format === "u") return size === 8 && u64 === "string" ? '"' : "";
  if (format === "d") return "";
  return format === "x" ? '"0x' : '"';
}

/**
 * The text of a line between its values, as its members are named one after the other: the only place
 * that knows how JSON and CSV differ. A line of JSON is an object of its members; a row of CSV has cells
 * of some of them, without quotes, and an object of all others in its last cell, with doubled quotes.
 */
export class LineText {
  readonly #style: LineStyle;
  /** What is between the value before and the next one. */
  #text = "";
  #isFirst = true;
  /** Where the row of CSV is. */
  #column = 0;

  constructor(style: LineStyle) {
    this.#style = style;
  }

  /** Text of JSON in the style of the place where the line is now. */
  styled(json: string): string {
    if (this.#style.csv === undefined) return json;
    return json.replaceAll('"', this.#column === MORE ? '""' : "");
  }

  /** Begins a member of the line. */
  member(name: string): this {
    const isCsv = this.#style.csv !== undefined;
    const column = isCsv ? CSV_COLUMNS.indexOf(name) : MORE;
    if (column >= 0 && isCsv) {
      this.#toColumn(column);
      return this;
    }
    const isFirst = isCsv ? this.#column < MORE : this.#isFirst;
    if (isCsv && isFirst) {
      this.#toColumn(MORE);
      this.#text += '"';
    }
    this.#isFirst = false;
    return this.text(`${isFirst ? "{" : ","}"${name}":`);
  }

  #toColumn(column: number): void {
    this.#text += ",".repeat(column - this.#column);
    this.#column = column;
  }

  /** Goes on with text of JSON that is the same in all lines. */
  text(json: string): this {
    this.#text += this.styled(json);
    return this;
  }

  /** A value that is the same in all lines, as JSON. */
  constant(json: string): this {
    const { csv } = this.#style;
    if (csv === undefined || this.#column === MORE) return this.text(json);
    if (json !== "null") {
      const cell = json.startsWith('"') ? JSON.parse(json) as string : json;
      this.#text += /^\w+$/.test(cell) ? cell : csv([safeCell(cell)]).replace(/\r?\n$/, "");
    }
    return this;
  }

  /** A 64-bit number that is the same in all lines, or none. */
  whole(value: bigint | undefined): this {
    const quote = this.#style.u64 === "string" ? '"' : "";
    return this.constant(value === undefined ? "null" : `${quote}${value}${quote}`);
  }

  /** A value that each line has its own of: returns what leads to it. */
  value(format: FieldFormat, size: number): Piece {
    const open = openOf(format, size, this.#style.u64);
    const before = piece(this.text(open).take());
    this.text(open.slice(0, 1));
    return before;
  }

  /** A value of a field. */
  step(format: FieldFormat, { offset, size }: FieldPlace): FieldStep {
    return { before: this.value(format, size), format, offset, size };
  }

  /** What leads to the next value so far; that begins with what comes next. */
  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  /** The end of the line, from the value before on. */
  end(): string {
    if (this.#style.csv === undefined) return `${this.take()}}\n`;
    const inMore = this.#column === MORE;
    if (!inMore) this.#toColumn(MORE);
    return `${this.take()}${inMore ? '}"' : ""}\r\n`;
  }
}

/** Writes addresses of a call chain as the items of a JSON array, and the bracket after them. */
export class ChainText {
  readonly #open: Piece;
  readonly #separator: Piece;
  readonly #close: Piece;
  readonly #empty: Piece;

  /** @param line Where the chain stands. */
  constructor(line: LineText) {
    this.#open = piece(line.styled('"0x'));
    this.#separator = piece(line.styled('","0x'));
    this.#close = piece(line.styled('"]'));
    this.#empty = piece("]");
  }

  /** @param words Hold the addresses in `[from, to)`, low halves first. */
  put(words: Int32Array, from: number, to: number, out: DataView, pos: number): number {
    if (from >= to) return this.#empty.put(out, pos);
    const separator = this.#separator;
    for (let i = from; i < to; i += 2) {
      pos = (i === from ? this.#open : separator).put(out, pos);
      pos = putHex(out, pos, words[i + 1] as number, words[i] as number);
    }
    return this.#close.put(out, pos);
  }
}
