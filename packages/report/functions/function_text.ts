import { jsonLine, uintAt, visible } from "@perfdata/format/bytes";
import { shortNames } from "@perfdata/profile";
import { type FunctionKey, keyValue } from "./function_keys.ts";
import type { FunctionTable } from "./functions.ts";

/**
 * A share in percent with two digits, rounded as in C: ties to even.
 *
 * @example
 * ```ts
 * import { percentText } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([1 / 32, 3 / 32, 2 / 3].map(percentText), ["3.12", "9.38", "66.67"]);
 * ```
 */
export function percentText(share: number): string {
  const eighths = share * 800;
  const nearest = Math.round(eighths);
  // Only odd eighths can be ties. Since a share is rounded before the multiplication, it may be
  // slightly off.
  const isMiddle = nearest % 2 !== 0 && Math.abs(eighths - nearest) <= 4 * Number.EPSILON * nearest;
  if (!isMiddle) return (share * 100).toFixed(2);
  return (nearest / 8 + (nearest % 4 === 1 ? -0.001 : 0.001)).toFixed(2);
}

/** A column of numbers before the keys. */
interface NumberColumn {
  /** Name in CSV. */
  readonly name: string;
  /** Title in a table. Columns without a title are not shown there. */
  readonly title?: string;
  readonly value: (row: number) => number;
  readonly text: (value: number) => string;
}

/** The columns before the keys. */
function numberColumns(table: FunctionTable): NumberColumn[] {
  const share = (row: number) => table.share(row, table.period(row));
  const samples = (row: number) => table.samples(row);
  const period = (row: number) => table.period(row);
  const rest = [
    { name: "samples", title: "SAMPLES", value: samples, text: String },
    { name: "period", title: "PERIOD", value: period, text: String },
  ];
  if (!table.withCallees) {
    return [
      ...latencyColumns(table),
      { name: "overhead", title: "OVERHEAD", value: share, text: percentText },
      ...rest,
    ];
  }
  const withCallees = (row: number) => table.share(row, table.childPeriod(row));
  return [
    ...latencyColumns(table),
    { name: "children", title: "CHILDREN", value: withCallees, text: percentText },
    { name: "overhead", title: "SELF", value: share, text: percentText },
    ...rest,
    { name: "children_samples", value: (row) => table.childSamples(row), text: String },
    { name: "children_period", value: (row) => table.childPeriod(row), text: String },
  ];
}

/** The columns of latency, which come first since rows are sorted by them. */
function latencyColumns(table: FunctionTable): NumberColumn[] {
  if (!table.withLatency) return [];
  const column = (name: string, title: string, latency: (row: number) => number): NumberColumn => ({
    ...{ name, title, text: percentText },
    value: (row) => table.latencyShare(row, latency(row)),
  });
  const own = (row: number) => table.latency(row);
  if (!table.withCallees) return [column("latency", "LATENCY", own)];
  return [
    column("latency_children", "LATENCY_CHILDREN", (row) => table.childLatency(row)),
    column("latency", "LATENCY_SELF", own),
  ];
}

/** Limit of a column's cached cells. */
const CELLS = 4096;

/** Formats the padded cells of a column. */
class Column {
  width = 0;
  readonly title: string;
  readonly isRight: boolean;
  readonly #number: (row: number) => number;
  readonly #text: (number: number) => string;
  /** Whether texts of greater numbers are at least as long. */
  readonly #grows: boolean;
  /** Cached cells by index, for commands and objects, which are few. */
  readonly #cells: Map<number, string> | undefined;
  /** The cell of the current row. */
  cell = "";
  /** Short texts of those that are too long. */
  #short: ReadonlyMap<string, string> | undefined;
  #last = NaN;

  /**
   * @param number A row's number in this column; equal numbers have equal texts.
   * @param text Text of a number.
   * @param grows Whether texts of greater numbers are at least as long.
   * @param isLast Whether it is the last column, in which nearly all cells differ.
   */
  constructor(
    title: string,
    isRight: boolean,
    number: (row: number) => number,
    text: (number: number) => string,
    grows: boolean,
    isLast: boolean,
  ) {
    this.#grows = grows;
    this.#cells = grows || isLast ? undefined : new Map();
    this.title = title;
    this.isRight = isRight;
    this.#number = number;
    this.#text = text;
  }

  /** Sets the width that these rows need, up to a limit. */
  fit(rows: Uint32Array, limit: number): void {
    this.width = Math.min(limit, this.longest(rows));
  }

  /** Shortens long texts, so that all rows stay distinct. */
  shorten(rows: Uint32Array, room: number): void {
    const texts = new Set<string>();
    let last = NaN;
    for (let i = 0; i < rows.length; i++) {
      const number = this.#number(uintAt(rows, i));
      if (number === last) continue;
      last = number;
      texts.add(this.#text(number));
    }
    const names = [...texts];
    if (names.every(({ length }) => length <= room)) return;
    const short = shortNames(names, room);
    this.#short = new Map(names.map((name, i) => [name, short[i] as string]));
  }

  /** Length of the longest text of these rows, and of the title. */
  longest(rows: Uint32Array): number {
    let most = this.title.length;
    if (this.#grows && rows.length > 0) {
      let [least, greatest, isWhole] = [Infinity, -Infinity, true];
      for (let i = 0; i < rows.length; i++) {
        const number = this.#number(uintAt(rows, i));
        if (number < least) least = number;
        if (number > greatest) greatest = number;
        isWhole &&= Number.isInteger(number);
      }
      // Other numbers are printed with all of their digits, and very large ones with an exponent.
      const isLonger = (isWhole || this.#text !== String) && least >= 0 && greatest < 1e15;
      if (isLonger) return Math.max(most, this.#text(greatest).length);
    }
    const met = new Set<number>();
    for (let i = 0; i < rows.length; i++) {
      const number = this.#number(uintAt(rows, i));
      if (met.has(number)) continue;
      if (met.size < CELLS) met.add(number);
      most = Math.max(most, this.#text(number).length);
    }
    return most;
  }

  /**
   * Pads a cell to the column's width. Longer text is truncated, unless the column has no width.
   */
  pad(text: string): string {
    if (text.length > this.width && this.width > 0) return `${text.slice(0, this.width - 1)}…`;
    return this.isRight ? text.padStart(this.width) : text.padEnd(this.width);
  }

  /** Moves to a row. Returns whether its cell differs from the last one. */
  move(row: number): boolean {
    const number = this.#number(row);
    if (number === this.#last) return false;
    this.#last = number;
    const known = this.#cells?.get(number);
    if (known !== undefined) {
      this.cell = known;
      return true;
    }
    const text = this.#text(number);
    this.cell = this.pad(this.#short?.get(text) ?? text);
    if (this.#cells !== undefined && this.#cells.size < CELLS) this.#cells.set(number, this.cell);
    return true;
  }
}

/** The key of functions, whose cells get marks of {@link marksOf}. */
const MARKED = "sym";

/**
 * Marks for functions that look the same, such as `static` ones: the object if it is not shown,
 * otherwise the hash of a Rust name or the start of the function.
 */
function marksOf(table: FunctionTable, rows: Uint32Array): ReadonlyMap<number, string> {
  const marks = new Map<number, string>();
  const key = table.keys.find(({ name }) => name === MARKED);
  if (key === undefined) return marks;
  const { functions, dsos } = table.names;
  const byText = new Map<string, Set<number>>();
  for (let i = 0, last = -1; i < rows.length; i++) {
    const number = key.number(table, uintAt(rows, i));
    // Addresses, of which there may be millions, are all different.
    if (number === last || functions.origin(last = number) === undefined) continue;
    const text = functions.text(number);
    const same = byText.get(text);
    if (same === undefined) byText.set(text, new Set([number]));
    else same.add(number);
  }
  const shared = new Set([...byText.values()].flatMap((same) => same.size > 1 ? [...same] : []));
  if (shared.size === 0) return marks;
  const alike = new Map<string, Set<number>>();
  for (const row of rows) {
    const number = key.number(table, row);
    if (!shared.has(number)) continue;
    const others = table.keys.filter((other) => other !== key).map((other) => {
      const value = other.number(table, row);
      return (other.shown ?? other.text)?.(table, value) ?? value;
    });
    const look = JSON.stringify([functions.text(number), ...others]);
    const same = alike.get(look);
    if (same === undefined) alike.set(look, new Set([number]));
    else same.add(number);
  }
  for (const same of alike.values()) {
    if (same.size < 2) continue;
    const origins = [...same].map((number) => ({ number, ...functions.origin(number) }));
    const objects = new Set(origins.map(({ dso }) => dso)).size;
    for (const { number, dso = -1, mark = "" } of origins) {
      const object = objects > 1 ? ` (${dsos.text(dso)})` : "";
      marks.set(number, objects === same.size ? object : mark + object);
    }
  }
  return marks;
}

function tableColumns(table: FunctionTable, marks?: ReadonlyMap<number, string>): Column[] {
  return [
    ...numberColumns(table).flatMap(({ title, value, text }) => {
      if (title === undefined) return [];
      const shown = text === percentText ? (share: number) => `${percentText(share)}%` : text;
      return [new Column(title, true, value, shown, true, false)];
    }),
    ...table.keys.map((key, i) => {
      const text = key.shown ?? key.text;
      return new Column(
        key.name.toUpperCase(),
        text === undefined,
        (row) => key.number(table, row),
        // Names chosen by a program must not control the terminal.
        text === undefined
          ? String
          : (number) =>
            visible(text(table, number) + (key.name === MARKED ? marks?.get(number) ?? "" : "")),
        text === undefined,
        i === table.keys.length - 1,
      );
    }),
  ];
}

/** On a terminal: number of rows that determine a column's width, and the limit of the width. */
const FITTED = 1000, WIDEST = 40;
/** Characters of a bar, and with the blank after it. */
const BAR = 10, BAR_COLUMN = BAR + 1;
/**
 * Characters that a bar must leave for the last column. If even {@link LEAST} do not fit, the
 * terminal wraps lines.
 */
const ENOUGH = 40, LEAST = 16;

/** Truncates a line to the terminal's width. */
function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}

/**
 * The rows of one event as a table.
 *
 * @param rows Indices of rows, as in `FunctionTable.rows`.
 * @param width Width of the terminal, if there is one: then bars are shown if there is room, and
 * lines are truncated.
 * @param fullNames Whether long names are truncated at their end instead of being shortened.
 */
export function* functionLines(
  table: FunctionTable,
  rows: Uint32Array,
  width?: number,
  fullNames = false,
): Generator<string, void, void> {
  // Programs that read the table get perf's names.
  const columns = tableColumns(table, width === undefined ? undefined : marksOf(table, rows));
  for (const column of columns) {
    // The last column is not padded.
    if (!column.isRight && column === columns.at(-1)) continue;
    // Programs that read the table get whole names.
    if (width === undefined) column.fit(rows, Infinity);
    else column.fit(rows.subarray(0, FITTED), WIDEST);
  }
  const shown = (row: number) => table.firstShare(row);
  const most = rows[0] === undefined ? 0 : shown(rows[0]);
  const leading = columns.slice(0, -1);
  const last = columns.at(-1);
  const before = leading.reduce((sum, column) => sum + column.width + 2, 0);
  const room = (width ?? 0) - before;
  const hasBars = width !== undefined &&
    room - BAR_COLUMN >= Math.min(ENOUGH, last?.longest(rows.subarray(0, FITTED)) ?? 0);
  if (width !== undefined && !fullNames) {
    for (const column of leading) if (!column.isRight) column.shorten(rows, column.width);
    const left = hasBars ? room - BAR_COLUMN : room;
    if (left >= LEAST) last?.shorten(rows, left);
  }
  // Consecutive rows usually differ only in their last column.
  let start = "";
  for (let i = -1; i < rows.length; i++) {
    const row = rows[i];
    let line = "";
    if (row === undefined) {
      line = columns.map((column) => column.pad(column.title)).join("  ");
    } else {
      let moved = i === 0;
      for (const column of leading) moved = column.move(row) || moved;
      if (moved) start = leading.map(({ cell }) => `${cell}  `).join("");
      last?.move(row);
      line = start + (last?.cell ?? "");
    }
    if (line.endsWith(" ")) line = line.trimEnd();
    if (width === undefined || !hasBars) {
      yield width === undefined || room < LEAST ? line : cut(line, width);
      continue;
    }
    const share = row === undefined || most === 0 ? 0 : shown(row) / most;
    const eighths = Math.round(share * BAR * 8);
    const bar = "█".repeat(eighths >> 3) + (eighths & 7 ? " ▏▎▍▌▋▊▉"[eighths & 7] : "");
    yield cut(`${bar.padEnd(BAR)} ${line}`, width);
  }
}

/** Names of the CSV columns. */
export function functionCsvColumns(table: FunctionTable): string[] {
  return [
    "event",
    ...numberColumns(table).map(({ name }) => name),
    ...table.keys.map(({ name }) => name),
  ];
}

/** Cells of a CSV row. */
export function functionCells(
  table: FunctionTable,
  row: number,
  eventNames: readonly string[],
): (string | number)[] {
  return [
    eventNames[table.event(row)] ?? "",
    ...numberColumns(table).map(({ value, text }) =>
      text === percentText ? text(value(row)) : value(row)
    ),
    ...table.keys.map((key) => keyValue(key, table, row)),
  ];
}

/** A row as a JSON line. Shares are in percent, as in CSV, with all digits. */
export function functionJson(
  table: FunctionTable,
  row: number,
  eventNames: readonly string[],
  more: Readonly<Record<string, unknown>> = {},
): string {
  const event = table.event(row);
  const values: Record<string, unknown> = {
    event: eventNames[event] ?? "",
    event_index: event,
    overhead: 100 * table.share(row, table.period(row)),
    samples: table.samples(row),
    period: table.period(row),
  };
  if (table.withCallees) {
    values["children"] = 100 * table.share(row, table.childPeriod(row));
    values["children_samples"] = table.childSamples(row);
    values["children_period"] = table.childPeriod(row);
  }
  if (table.withLatency) {
    values["latency"] = 100 * table.latencyShare(row, table.latency(row));
    values["latency_period"] = Math.round(table.latency(row));
    if (table.withCallees) {
      values["latency_children"] = 100 * table.latencyShare(row, table.childLatency(row));
      values["latency_children_period"] = Math.round(table.childLatency(row));
    }
  }
  for (const key of table.keys as readonly FunctionKey[]) {
    const number = key.number(table, row);
    values[key.name] = key.full?.(table, number) ?? keyValue(key, table, row);
    Object.assign(values, key.more?.(table, number));
  }
  return jsonLine({ ...values, ...more });
}

/** Options of {@link functionText}. */
export interface FunctionTextOptions {
  /** A table for people, CSV, or JSON lines. */
  readonly format: "table" | "csv" | "json";
  /** Names of the events. */
  readonly eventNames: readonly string[];
  /** Width of the terminal, if there is one. */
  readonly width?: number | undefined;
  /** Whether long names are truncated at their end instead of being shortened. */
  readonly fullNames?: boolean;
  /** Lines below a row of the table, or members of its JSON line: `FunctionChains`. */
  readonly chains?: {
    lines(row: number): readonly string[];
    json(row: number): Readonly<Record<string, unknown>>;
  } | undefined;
  /** Formats rows of cells as CSV; only needed for CSV. */
  readonly csv?: (rows: readonly unknown[][]) => string;
}

/** Rows per piece of text. */
const BLOCK = 1024;

/** All rows of a table as text, in pieces. */
export function* functionText(
  table: FunctionTable,
  { format, eventNames, width, fullNames, csv, chains }: FunctionTextOptions,
): Generator<string, void, void> {
  if (format === "table") {
    yield* tableText(table, eventNames, width, chains, fullNames);
    return;
  }
  if (format === "csv") yield csv?.([functionCsvColumns(table)]) ?? "";
  for (let from = 0; from < table.rows.length; from += BLOCK) {
    const rows = Array.from(table.rows.subarray(from, from + BLOCK));
    if (format === "csv") {
      yield csv?.(rows.map((row) => functionCells(table, row, eventNames))) ?? "";
    } else {
      yield rows.map((row) => `${functionJson(table, row, eventNames, chains?.json(row))}\n`)
        .join("");
    }
  }
}

function* tableText(
  table: FunctionTable,
  eventNames: readonly string[],
  width: number | undefined,
  chains: FunctionTextOptions["chains"],
  fullNames: boolean | undefined,
): Generator<string, void, void> {
  let lines: string[] = [];
  let first = true;
  let from = 0;
  for (const [event, { samples, period, latency = 0 }] of table.totals.entries()) {
    let to = from;
    while (to < table.rows.length && table.event(uintAt(table.rows, to)) === event) to++;
    const rows = table.rows.subarray(from, to);
    from = to;
    if (samples === 0 || table.events?.has(event) === false) continue;
    if (!first) lines.push("");
    first = false;
    const name = visible(eventNames[event] ?? "");
    lines.push(
      table.kind === "branches"
        ? `${name}: ${samples} branches`
        : `${name}: ${samples} ${table.kind}, ${
          table.kind === "accesses" ? "weight" : "period"
        } ${period}${table.withLatency ? `, latency ${Math.round(latency)}` : ""}`,
    );
    let next = -1;
    for (const line of functionLines(table, rows, width, fullNames)) {
      lines.push(line);
      const row = rows[next++];
      if (chains !== undefined && row !== undefined) {
        const texts = chains.lines(row).map(visible);
        lines.push(...(width === undefined ? texts : texts.map((text) => cut(text, width))));
      }
      if (lines.length < BLOCK) continue;
      yield lines.join("\n") + "\n";
      lines = [];
    }
  }
  if (lines.length > 0) yield lines.join("\n") + "\n";
}
