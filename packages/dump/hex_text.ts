import { type ByteSource, PerfDataError } from "@perfdata/format";
import { type HexOptions, type HexRun, hexRuns } from "./hex_runs.ts";

/** How a hexdump is written, beyond which bytes it has. */
export interface HexTextOptions extends HexOptions {
  /** One JSON object a run in place of lines of text. */
  readonly json?: boolean;
  /** Whether to use the colours of a terminal. */
  readonly color?: boolean;
  /** Only the line with this byte, and those around it. */
  readonly at?: number;
  /** How many lines before and after `at`; 8 by default. */
  readonly context?: number;
}

/** Bytes of a line. */
const WIDTH = 16;
const BYTES = Array.from({ length: 256 }, (_, byte) => ` ${byte.toString(16).padStart(2, "0")}`);
const DIM = "\x1b[2m";
const NAME = "\x1b[36m";
const VALUE = "\x1b[1m";
const BAD = "\x1b[31m";
const RESET = "\x1b[0m";

/** A line and the bytes that it shows. */
interface Line {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function offsetText(offset: number, inflated: boolean): string {
  return (inflated ? "+" : "") + offset.toString(16).padStart(inflated ? 7 : 8, "0");
}

function sameBytes(bytes: Uint8Array, a: number, b: number): boolean {
  for (let i = 0; i < WIDTH; i++) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

/** The lines of a run; `fold` writes `*` for lines that repeat the one before. */
function* runLines(run: HexRun, color: boolean, fold: boolean): Generator<Line, void, void> {
  const { offset, size, bytes, inflated, owner, field, depth, type, value } = run;
  const paint = (code: string, text: string) => color ? code + text + RESET : text;
  for (const problem of run.problems) {
    yield { from: offset, to: offset, text: paint(BAD, `!!        ${problem}`) };
  }
  if (size === 0) return;
  const label = `${"  ".repeat(depth)}${paint(NAME, field === "" ? owner : `${owner} ${field}`)} ${
    paint(DIM, type)
  }${value === undefined ? "" : ` = ${paint(VALUE, value)}`}`;
  if (bytes === undefined) {
    const text = `${paint(DIM, offsetText(offset, inflated))}  ${label}, not kept`;
    yield { from: offset, to: offset + size, text };
    return;
  }
  let folded = false;
  for (let at = 0; at < bytes.length; at += WIDTH) {
    const end = Math.min(at + WIDTH, bytes.length);
    // The last line is always shown, so that the end can be seen.
    if (
      fold && at > 0 && end - at === WIDTH && end < bytes.length && sameBytes(bytes, at, at - WIDTH)
    ) {
      if (!folded) yield { from: offset + at, to: offset + end, text: "*" };
      folded = true;
      continue;
    }
    folded = false;
    let hex = "";
    let ascii = "";
    for (let i = at; i < end; i++) {
      const byte = bytes[i] as number;
      hex += BYTES[byte];
      ascii += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".";
    }
    const columns = `${hex.padEnd(3 * WIDTH)}  |${ascii}|${" ".repeat(WIDTH - (end - at))}`;
    yield {
      from: offset + at,
      to: offset + end,
      text: `${paint(DIM, offsetText(offset + at, inflated))} ${columns}${
        at === 0 ? `  ${label}` : ""
      }`.trimEnd(),
    };
  }
}

/** A run as a JSON object. */
function runJson(run: HexRun): string {
  const { offset, size, bytes, owner, field, type, value, problems, inflated } = run;
  let hex: string | undefined;
  if (bytes !== undefined) {
    hex = "";
    for (const byte of bytes) hex += (BYTES[byte] as string).slice(1);
  }
  return JSON.stringify({
    offset,
    size,
    hex,
    owner,
    field,
    type,
    value,
    ...(problems.length > 0 ? { problems } : {}),
    ...(inflated ? { inflated } : {}),
  });
}

/** The line with the byte at `at` and those around it. */
async function* around(
  source: ByteSource,
  at: number,
  options: HexTextOptions,
): AsyncGenerator<string, void, void> {
  const { context = 8, color = false, json = false } = options;
  // A line shows at most so many bytes, so what lies farther away is not needed.
  const runs = hexRuns(source, {
    ...options,
    from: Math.max(options.from ?? 0, at - WIDTH * (context + 1)),
    to: Math.min(options.to ?? Infinity, at + WIDTH * (context + 1) + 1),
  });
  const before: string[] = [];
  let left = -1;
  for await (const run of runs) {
    const lines: Iterable<Line> = json
      ? [{ from: run.offset, to: run.offset + run.size, text: runJson(run) }]
      : runLines(run, color, false);
    for (const { from, to, text } of lines) {
      const mark = json ? "" : "  ";
      if (left < 0 && !run.inflated && from <= at && at < to) {
        yield* before;
        yield (json ? "" : "> ") + text;
        left = context;
      } else if (left > 0) {
        yield mark + text;
        if (to > from) left--;
      } else if (left < 0) {
        before.push(mark + text);
        if (before.length > context) before.shift();
      }
      if (left === 0) return;
    }
  }
  if (left < 0) throw new PerfDataError("--at: the file has no such byte", { offset: at });
}

/**
 * An annotated hexdump: each line has the offset, up to 16 bytes, their ASCII characters, and, where
 * a field begins, its name, type and value. Damage is a line of its own that begins with `!!`.
 *
 * @param source The file or stream.
 * @param options Which bytes, and how they are written.
 * @returns Lines, without their ends.
 * @throws {PerfDataError} Where `at` is outside of the file.
 *
 * @example
 * ```ts
 * import { hexLines } from "@perfdata/dump";
 * import { bytesSource } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe[8] = 16;
 * assertEquals(await Array.fromAsync(hexLines(bytesSource(pipe), { from: 8 })), [
 *   "00000008  10 00 00 00 00 00 00 00                          |........|          " +
 *   "  header .size u64 = 16",
 * ]);
 * ```
 */
export async function* hexLines(
  source: ByteSource,
  options: HexTextOptions = {},
): AsyncGenerator<string, void, void> {
  const { at, color = false, json = false } = options;
  if (at !== undefined) {
    yield* around(source, at, options);
    return;
  }
  for await (const run of hexRuns(source, options)) {
    if (json) yield runJson(run);
    else for (const { text } of runLines(run, color, true)) yield text;
  }
}
