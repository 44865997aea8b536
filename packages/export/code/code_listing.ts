import { intAt } from "@perfdata/format/bytes";
import type { AnnotatedCount } from "./annotate.ts";
import { jumpLines } from "./jump_lines.ts";

/** Source of an instruction: a function and a line. */
export interface ListedFrame {
  /** Name of the function. */
  readonly name: string;
  /** Source file; `undefined` if unknown. */
  readonly file: string | undefined;
  /** Line; 0 if unknown. */
  readonly line: number;
}

/** An instruction of a function. */
export interface ListedInsn {
  /** Samples taken at the instruction. */
  readonly self: AnnotatedCount;
  /** Samples taken at the instruction or in its callees. */
  readonly total: AnnotatedCount;
  /** The function, then the functions inlined there, innermost last. */
  readonly frames: readonly ListedFrame[];
  /**
   * Index of the instruction to which it may jump; `undefined` if the target is not in the
   * listing.
   */
  readonly jump?: number | undefined;
}

/** A row of a listing. */
export type ListingRow =
  /** The source of the instructions below it. */
  | {
    readonly kind: "source";
    readonly frame: ListedFrame;
    /** Number of functions into which it is inlined. */
    readonly depth: number;
    /** Whether an inlined function begins here. */
    readonly begins: boolean;
  }
  | { readonly kind: "insn"; readonly number: number }
  /** Skipped instructions. */
  | { readonly kind: "gap"; readonly count: number };

/** A listing of a function. */
export interface CodeListing {
  /** Rows of source lines, instructions and gaps. */
  readonly rows: readonly ListingRow[];
  /** Jump lines of each row. */
  readonly gutters: readonly string[];
  /** Number of jumps that are not drawn, since too many would be side by side. */
  readonly undrawn: number;
  /** Row of the instruction with the most samples; 0 without samples. */
  readonly hottest: number;
}

/**
 * Lays out the instructions of a function: source lines before their instructions, inlined
 * functions in place, jumps as lines.
 *
 * @param context Number of instructions shown around those with samples; all by default.
 *
 * @example
 * ```ts
 * import { codeListing } from "@perfdata/export/code";
 * import { assertEquals } from "@std/assert";
 *
 * const none = { samples: 0, period: 0 }, some = { samples: 1, period: 9 };
 * const main = { name: "main", file: "a.c", line: 3 };
 * const { rows } = codeListing([
 *   { self: none, total: none, frames: [main] },
 *   { self: some, total: some, frames: [main, { name: "add", file: "a.c", line: 1 }] },
 * ]);
 * assertEquals(rows.map(({ kind }) => kind), ["source", "insn", "source", "insn"]);
 * ```
 */
export function codeListing(insns: readonly ListedInsn[], context = Infinity): CodeListing {
  const isShown = near(insns, context);
  const rows: ListingRow[] = [];
  const rowOf = new Int32Array(insns.length).fill(-1);
  let before: readonly ListedFrame[] = [];
  let hottest = 0;
  let most = 0;
  for (let number = 0; number < insns.length; number++) {
    if (isShown[number] === 0) {
      const from = number;
      while (number + 1 < insns.length && isShown[number + 1] === 0) number++;
      rows.push({ kind: "gap", count: number - from + 1 });
      before = [];
      continue;
    }
    const { frames, self } = insns[number] as ListedInsn;
    rows.push(...sourceRows(before, frames));
    if (frames.length > 0) before = frames;
    rowOf[number] = rows.length;
    if (self.period > most) [hottest, most] = [rows.length, self.period];
    rows.push({ kind: "insn", number });
  }
  const jumps = insns.flatMap(({ jump }, number) => {
    const [from, to] = [intAt(rowOf, number), jump === undefined ? -1 : rowOf[jump] ?? -1];
    return from < 0 || to < 0 ? [] : [{ from, to }];
  });
  const { gutters, left } = jumpLines(rows.length, jumps);
  return { rows, gutters, undrawn: left, hottest };
}

/** Marks the instructions near one with samples; all, if no instruction has samples. */
function near(insns: readonly ListedInsn[], context: number): Uint8Array {
  const shown = new Uint8Array(insns.length);
  let any = false;
  for (const [number, { total }] of insns.entries()) {
    if (total.samples === 0) continue;
    any = true;
    shown.fill(1, Math.max(0, number - context), number + context + 1);
  }
  return any ? shown : shown.fill(1);
}

/** The rows for frames that differ from those of the previous instruction. */
function sourceRows(
  before: readonly ListedFrame[],
  frames: readonly ListedFrame[],
): ListingRow[] {
  let same = 0;
  while (same < frames.length && isSame(before[same], frames[same])) same++;
  return frames.slice(same).flatMap((frame, i): ListingRow[] => {
    const depth = same + i;
    // The next line of the same call continues it; another call begins.
    const begins = depth > 0 && (i > 0 || before[depth]?.name !== frame.name);
    if (!begins && (frame.file === undefined || frame.line === 0)) return [];
    return [{ kind: "source", frame, depth, begins }];
  });
}

function isSame(a: ListedFrame | undefined, b: ListedFrame | undefined): boolean {
  return a !== undefined && b !== undefined && a.name === b.name && a.file === b.file &&
    a.line === b.line;
}
