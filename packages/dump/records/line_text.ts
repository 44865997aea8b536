import { type Piece, piece } from "@perfdata/format/text-bytes";
import { safeCell } from "@perfdata/format/visible";
import type { FieldFormat } from "../text/field_text.ts";
import type { U64Style } from "./records_json.ts";

/** The columns of CSV: members that all records share, and all others as one JSON object. */
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
  /** How 64-bit values that are not addresses are written. */
  readonly u64: U64Style;
  /** Makes a row of cells, where lines are rows of CSV. */
  readonly csv: ((row: readonly string[]) => string) | undefined;
}

/** Text before the digits of a value. */
function openOf(format: FieldFormat, size: number, u64: U64Style): string {
  if (format === "u" || format === "d") return size === 8 && u64 === "string" ? '"' : "";
  return format === "x" ? '"0x' : '"';
}

/** Most bytes of a number. */
const NUMBER = 20;

/**
 * The text of a line between its values, as its members are named one after the other: the only place
 * that knows how JSON and CSV differ. A line of JSON is an object of its members; a row of CSV has cells
 * of some of them, without quotes, and an object of all others in its last cell, with doubled quotes.
 */
export class LineText {
  readonly #style: LineStyle;
  /** Text between the previous value and the next one. */
  #text = "";
  #isFirst = true;
  /** Where the row of CSV is. */
  #column = 0;
  /** Maximum number of bytes that the line takes up so far: what is between its values, and its numbers. */
  room = 0;

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
    const before = this.text(open).piece();
    this.text(open.slice(0, 1));
    this.room += NUMBER;
    return before;
  }

  /** Length in bytes of the text before the next value, so far. */
  piece(): Piece {
    const text = this.pieceWith("");
    this.#text = "";
    return text;
  }

  /** The same with text after it; the state of the line does not change. */
  pieceWith(json: string): Piece {
    const text = piece(this.#text + this.styled(json));
    this.room += text.length;
    return text;
  }

  /** The text before the next value so far, which is then reset. */
  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  /** Ends the line. */
  finish(): this {
    if (this.#style.csv === undefined) {
      this.#text += "}\n";
      return this;
    }
    const inMore = this.#column === MORE;
    if (!inMore) this.#toColumn(MORE);
    this.#text += `${inMore ? '}"' : ""}\r\n`;
    return this;
  }
}
