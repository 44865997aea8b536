import type { TextBuffer } from "./records_bytes.ts";
import type { Members } from "./records_json.ts";

const encoder = new TextEncoder();

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN = 0x7b;
const CLOSE = 0x7d;

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

/** A row: what has a column of its own, without the quotes of JSON; all else as an object. */
export function csvRow(members: Members): string[] {
  const known = new Map(members);
  const row = CSV_COLUMNS.slice(0, -1).map((column) => {
    const json = known.get(column);
    if (json === undefined || json === "null") return "";
    return json.startsWith('"') ? JSON.parse(json) as string : json;
  });
  const more = members.filter(([name]) => !CSV_COLUMNS.includes(name));
  row.push(
    more.length === 0 ? "" : `{${more.map(([name, json]) => `"${name}":${json}`).join(",")}}`,
  );
  return row;
}

const NAMES = CSV_COLUMNS.slice(0, -1).map((name) => encoder.encode(name));

/**
 * Writes the row of a line of JSON: what {@linkcode csvRow} makes of its members.
 *
 * @param line The line, which begins at 0 and ends with a newline.
 * @returns False where the line is not as lines of samples and plain records are, or a value is not
 *   copied as it is: then nothing is written.
 */
export function putCsvRow(out: TextBuffer, line: TextBuffer): boolean {
  const before = out.length;
  out.reserve(2 * line.length + NAMES.length + 4);
  const { bytes } = line;
  const end = line.length - 2;
  let column = 0;
  let at = 1;
  while (at < end) {
    const nameEnd = bytes.indexOf(QUOTE, at + 1);
    const found = columnOf(bytes, at + 1, nameEnd, column);
    if (found < 0) break;
    for (; column < found; column++) out.bytes[out.length++] = COMMA;
    const from = nameEnd + 2;
    at = putCell(out, bytes, from, end);
    if (at < 0 || bytes[nameEnd + 1] !== COLON) {
      out.length = before;
      return false;
    }
    // The comma after it.
    at++;
  }
  for (; column < NAMES.length; column++) out.bytes[out.length++] = COMMA;
  if (at < end) putRest(out, bytes, at, end);
  out.bytes[out.length++] = 0x0d;
  out.bytes[out.length++] = 0x0a;
  return true;
}

/** The column from `first` on that has the name in `[from, to)`; -1 for none. */
function columnOf(bytes: Uint8Array, from: number, to: number, first: number): number {
  for (let column = first; column < NAMES.length; column++) {
    const name = NAMES[column] as Uint8Array;
    if (name.length !== to - from) continue;
    let i = 0;
    while (i < name.length && name[i] === bytes[from + i]) i++;
    if (i === name.length) return column;
  }
  return -1;
}

/** Writes a value as a cell; returns where it ends, -1 where it is not copied as it is. */
function putCell(out: TextBuffer, bytes: Uint8Array, from: number, end: number): number {
  const to = out.bytes;
  let p = out.length;
  let at = from;
  const first = bytes[from] as number;
  // null
  if (first === 0x6e) return from + 4;
  if (first === QUOTE) {
    const start = bytes[++at] as number;
    // What a spreadsheet takes for a formula; and what is escaped.
    if (start === 0x3d || start === 0x2b || start === 0x2d || start === 0x40) return -1;
    let isQuoted = false;
    for (;; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH || at >= end) return -1;
      if (byte === COMMA) isQuoted = true;
      to[p++] = byte;
    }
    at++;
    if (isQuoted) {
      to.copyWithin(out.length + 1, out.length, p);
      to[out.length] = QUOTE;
      to[p + 1] = QUOTE;
      p += 2;
    }
  } else {
    // Digits, with a sign.
    for (; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === COMMA) break;
      if (byte > 0x39) return -1;
      to[p++] = byte;
    }
  }
  out.length = p;
  return at;
}

/** Writes members as an object in a cell. */
function putRest(out: TextBuffer, bytes: Uint8Array, from: number, end: number): void {
  const to = out.bytes;
  let p = out.length;
  to[p++] = QUOTE;
  to[p++] = OPEN;
  for (let at = from; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) to[p++] = QUOTE;
    to[p++] = byte;
  }
  to[p++] = CLOSE;
  to[p++] = QUOTE;
  out.length = p;
}
