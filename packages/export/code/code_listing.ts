import { intAt } from "@perfdata/format/elements";
import type { AnnotatedCount } from "./annotate.ts";
import { jumpLines } from "./jump_lines.ts";

/** Source of an instruction: a function and a line. */
export interface ListedFrame {
  /** The function. */
  readonly name: string;
  /** Source file; `undefined` if it is not known. */
  readonly file: string | undefined;
  /** Line, 0 if it is not known. */
  readonly line: number;
}

/** An instruction of a function. */
export interface ListedInsn {
  /** Samples that were taken at it. */
  readonly self: AnnotatedCount;
  /** With those in what it calls. */
  readonly total: AnnotatedCount;
  /** Where it comes from: the function, then what is inlined there, the innermost last. */
  readonly frames: readonly ListedFrame[];
  /** Number of the instruction that it may jump to; `undefined` if that is in no instruction here. */
  readonly jump?: number | undefined;
}

/** A row of a listing. */
export type ListingRow =
  /** Where the instructions below it come from. */
  | {
    readonly kind: "source";
    readonly frame: ListedFrame;
    /** How many functions it is inlined into. */
    readonly depth: number;
    /** Whether the function begins to be inlined here. */
    readonly begins: boolean;
  }
  | { readonly kind: "insn"; readonly number: number }
  /** Instructions that are left out. */
  | { readonly kind: "gap"; readonly count: number };

/** A listing of a function. */
export interface CodeListing {
  /** The rows. */
  readonly rows: readonly ListingRow[];
  /** By row: the lines of jumps. */
  readonly gutters: readonly string[];
  /** Jumps that are not drawn, since there are too many side by side. */
  readonly undrawn: number;
  /** Row of the instruction with most samples; 0 if none has any. */
  readonly hottest: number;
}

/**
 * Lays out the instructions of a function: source lines before what came from them, what was inlined in its
 * place, jumps as lines.
 *
 * @param context Instructions that are shown around those with samples; all by default.
 *
 * @example
 * ```ts
 * import { codeListing } from "@perfdata/export/code-listing";
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

/** Which instructions are near one with samples; all, where none has any. */
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

/** The rows for frames that are other ones than those of the instruction before. */
function sourceRows(
  before: readonly ListedFrame[],
  frames: readonly ListedFrame[],
): ListingRow[] {
  let same = 0;
  while (same < frames.length && isSame(before[same], frames[same])) same++;
  return frames.slice(same).flatMap((frame, i): ListingRow[] => {
    const depth = same + i;
    // A line of the same call goes on in it; another call begins again.
    const begins = depth > 0 && (i > 0 || before[depth]?.name !== frame.name);
    if (!begins && (frame.file === undefined || frame.line === 0)) return [];
    return [{ kind: "source", frame, depth, begins }];
  });
}

function isSame(a: ListedFrame | undefined, b: ListedFrame | undefined): boolean {
  return a !== undefined && b !== undefined && a.name === b.name && a.file === b.file &&
    a.line === b.line;
}
