import { type Piece, piece, safeCell } from "@perfdata/format/bytes";
import type { FieldFormat } from "../text/field_text.ts";
import type { U64Style } from "./records_json.ts";

/**
 * The columns of CSV: members that all records share. The last column has the others as a JSON
 * object.
 */
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

/** The column of the other members. */
const MORE = CSV_COLUMNS.length - 1;

export interface LineStyle {
  /** Format of 64-bit values other than addresses. */
  readonly u64: U64Style;
  /** Whether lines are CSV instead of JSON. */
  readonly isCsv: boolean;
}

/** Text before the digits of a value. */
function openOf(format: FieldFormat, size: number, u64: U64Style): string {
  if (format === "u" || format === "d") return size === 8 && u64 === "string" ? '"' : "";
  return format === "x" ? '"0x' : '"';
}

/** Formats a cell of CSV (RFC 4180) that no spreadsheet evaluates. */
function cellText(text: string): string {
  const cell = safeCell(text);
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** Longest number in bytes. */
const NUMBER = 20;

/**
 * Builds the text of a line between its values while members are added. Only this class knows the
 * difference between JSON and CSV. A JSON line is an object of its members. A CSV row has some
 * members as cells without quotes, and the others as an object in its last cell, with doubled
 * quotes.
 */
export class LineText {
  readonly #style: LineStyle;
  /** Text since the last value. */
  #text = "";
  #isFirst = true;
  /** Current column of the CSV row. */
  #column = 0;
  /** Limit of the line's size so far: text and numbers. */
  room = 0;

  constructor(style: LineStyle) {
    this.#style = style;
  }

  styled(json: string): string {
    if (!this.#style.isCsv) return json;
    return json.replaceAll('"', this.#column === MORE ? '""' : "");
  }

  /** Begins a member of the JSON object, or its cell of CSV. */
  member(name: string): this {
    const { isCsv } = this.#style;
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

  /** Adds JSON text that is the same in all lines. */
  text(json: string): this {
    this.#text += this.styled(json);
    return this;
  }

  /** Adds a JSON value that is the same in all lines. */
  constant(json: string): this {
    if (!this.#style.isCsv || this.#column === MORE) return this.text(json);
    if (json !== "null") {
      this.#text += cellText(json.startsWith('"') ? JSON.parse(json) as string : json);
    }
    return this;
  }

  /** Adds a 64-bit number that is the same in all lines; `undefined` becomes null. */
  whole(value: bigint | undefined): this {
    const quote = this.#style.u64 === "string" ? '"' : "";
    return this.constant(value === undefined ? "null" : `${quote}${value}${quote}`);
  }

  /** Adds a value that differs between lines. Returns the text before it. */
  value(format: FieldFormat, size: number): Piece {
    const open = openOf(format, size, this.#style.u64);
    const before = this.text(open).piece();
    this.text(open.slice(0, 1));
    this.room += NUMBER;
    return before;
  }

  /** Returns the collected text, and resets it. */
  piece(): Piece {
    const text = this.pieceWith("");
    this.#text = "";
    return text;
  }

  /** Returns the collected text with more text after it. The state does not change. */
  pieceWith(json: string): Piece {
    const text = piece(this.#text + this.styled(json));
    this.room += text.length;
    return text;
  }

  /** Returns the collected text as a string, and resets it. */
  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  finish(): this {
    if (!this.#style.isCsv) {
      this.#text += "}\n";
      return this;
    }
    const inMore = this.#column === MORE;
    if (!inMore) this.#toColumn(MORE);
    this.#text += `${inMore ? '}"' : ""}\r\n`;
    return this;
  }
}
