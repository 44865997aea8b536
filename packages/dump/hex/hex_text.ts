import { byteAt, type ByteSource, PerfDataError, visible } from "@perfdata/format/bytes";
import type { HexOptions, HexRun } from "./hex_run.ts";
import { hexRuns, hexStructures } from "./hex_runs.ts";

/** Options of {@linkcode hexText}. */
export interface HexTextOptions extends HexOptions {
  /** Write one JSON object per run instead of lines of text. */
  readonly json?: boolean;
  /** Use terminal colors. */
  readonly color?: boolean;
  /** Only the line with this byte, and its context. */
  readonly at?: number;
  /** Called with each problem. */
  readonly problem?: (problem: string) => void;
  /** Number of lines before and after `at`; default 8. */
  readonly context?: number;
}

/** Limit of the text that is returned at once. */
const BLOCK = 1 << 20;
/** Bytes per line. */
const WIDTH = 16;
const BYTES = Array.from({ length: 256 }, (_, byte) => ` ${byte.toString(16).padStart(2, "0")}`);
const CHARACTERS = Array.from(
  { length: 256 },
  (_, byte) => byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".",
);
/** Padding for a line with this many bytes. */
const HEX_SPACES = Array.from({ length: WIDTH + 1 }, (_, n) => " ".repeat(3 * (WIDTH - n)));
const ASCII_SPACES = Array.from({ length: WIDTH + 1 }, (_, n) => " ".repeat(WIDTH - n));
const INDENTS = Array.from({ length: 12 }, (_, depth) => "  ".repeat(depth));
const DIM = "\x1b[2m";
const NAME = "\x1b[36m";
const VALUE = "\x1b[1m";
const BAD = "\x1b[31m";
const RESET = "\x1b[0m";

/** A line, with the range of its bytes. */
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

function labelText(run: HexRun, color: boolean): string {
  const { owner, field, depth, type, value } = run;
  const name = field === "" ? owner : `${owner} ${field}`;
  const text = color ? `${NAME}${name}${RESET} ${DIM}${type}${RESET}` : `${name} ${type}`;
  const indented = (INDENTS[depth] ?? "  ".repeat(depth)) + text;
  if (value === undefined) return indented;
  const shown = visible(value);
  return `${indented} = ${color ? VALUE + shown + RESET : shown}`;
}

/** Formats a line: offset, bytes `[at, end)` of a run, their characters. */
function bytesText(run: HexRun, bytes: Uint8Array, at: number, end: number, color: boolean) {
  const offset = offsetText(run.offset + at, run.inflated);
  let text = color ? `${DIM}${offset}${RESET} ` : `${offset} `;
  let ascii = "";
  for (let i = at; i < end; i++) {
    const byte = byteAt(bytes, i);
    text += BYTES[byte];
    ascii += CHARACTERS[byte];
  }
  return `${text}${HEX_SPACES[end - at]}  |${ascii}|`;
}

/** The lines of a run. With `fold`, repeated lines become `*`. */
function runLines(run: HexRun, color: boolean, fold: boolean): Line[] {
  const { offset, size, bytes, inflated } = run;
  const lines: Line[] = run.problems.map(visible).map((problem) => {
    const text = `!!        ${problem}`;
    return { from: offset, to: offset, text: color ? BAD + text + RESET : text };
  });
  if (size === 0) return lines;
  const label = labelText(run, color);
  if (bytes === undefined) {
    const text = `${offsetText(offset, inflated)}  ${label}, not kept`;
    lines.push({ from: offset, to: offset + size, text });
    return lines;
  }
  let folded = false;
  for (let at = 0; at < bytes.length; at += WIDTH) {
    const end = Math.min(at + WIDTH, bytes.length);
    // The last line is never folded, so that the end is visible.
    if (
      fold && at > 0 && end - at === WIDTH && end < bytes.length && sameBytes(bytes, at, at - WIDTH)
    ) {
      if (!folded) lines.push({ from: offset + at, to: offset + end, text: "*" });
      folded = true;
      continue;
    }
    folded = false;
    const columns = bytesText(run, bytes, at, end, color);
    const text = at === 0 ? `${columns}${ASCII_SPACES[end - at]}  ${label}` : columns;
    lines.push({ from: offset + at, to: offset + end, text });
  }
  return lines;
}

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

/** The line with the byte at `at`, and its context. */
async function* around(
  source: ByteSource,
  at: number,
  options: HexTextOptions,
): AsyncGenerator<string, void, void> {
  const { context = 8, color = false, json = false, problem = () => {} } = options;
  // A line has at most this many bytes, which bounds the distance of the context.
  const runs = hexRuns(source, {
    ...options,
    from: Math.max(options.from ?? 0, at - WIDTH * (context + 1)),
    to: Math.min(options.to ?? Infinity, at + WIDTH * (context + 1) + 1),
  });
  const before: string[] = [];
  let left = -1;
  for await (const run of runs) {
    run.problems.forEach(problem);
    const lines: readonly Line[] = json
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
 * An annotated hexdump: each line has the offset, up to 16 bytes, their ASCII characters, and at
 * the start of a field its name, type and value. Damage has its own line, which begins with `!!`.
 *
 * @param source The file or stream.
 * @param options Selection and format.
 * @returns Whole lines, grouped by structure.
 * @throws {PerfDataError} If `at` is outside of the file.
 *
 * @example
 * ```ts
 * import { hexText } from "@perfdata/dump";
 * import { bytesSource } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe[8] = 16;
 * assertEquals(await Array.fromAsync(hexText(bytesSource(pipe), { from: 8 })), [
 *   "00000008  10 00 00 00 00 00 00 00                          |........|          " +
 *   "  header .size u64 = 16\n",
 * ]);
 * ```
 */
export async function* hexText(
  source: ByteSource,
  options: HexTextOptions = {},
): AsyncGenerator<string, void, void> {
  const { at, color = false, json = false, problem = () => {} } = options;
  if (at !== undefined) {
    for await (const line of around(source, at, options)) yield `${line}\n`;
    return;
  }
  for await (const runs of hexStructures(source, options)) {
    let lines = "";
    for (const run of runs) {
      run.problems.forEach(problem);
      if (json) {
        lines += `${runJson(run)}\n`;
      } else {
        for (const { text } of runLines(run, color, true)) lines += `${text}\n`;
      }
      // Unknown bytes may have very many lines.
      if (lines.length > BLOCK) {
        yield lines;
        lines = "";
      }
    }
    if (lines !== "") yield lines;
  }
}
