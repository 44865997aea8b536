import { stepOf } from "../index/moments.ts";
import type { IndexBlock, RecordingIndex } from "../index/recording_index.ts";

/** The moment of a record without its position: step, and halves of the time (see `Moments`). */
export type Moment = readonly [step: number, hi: number, lo: number];

/** A part of a recording in the order of its delivery, which can be read alone. */
export interface Window {
  /** The moment of the first record. */
  readonly from: Moment;
  /** The moment after the last record. */
  readonly to: Moment;
  /**
   * The blocks that have its records, in the order of the file. They may have other records, too.
   */
  readonly ranges: readonly WindowRange[];
}

/** Adjacent blocks. */
export type WindowRange = Pick<IndexBlock, "from" | "to" | "first" | "round">;

/** Options of {@linkcode windowsOf}. */
export interface WindowOptions {
  /** Approximate bytes of a window. */
  readonly windowBytes: number;
  /** First and last time in ns that are needed: other blocks are not read. */
  readonly time?: readonly [bigint, bigint] | undefined;
}

/** Approximate bytes of a window, by default. */
export const WINDOW_BYTES: number = 1 << 21;

/**
 * Maximum bytes of a window, which is held in memory. A file with a larger window is not sorted at
 * all.
 */
const MOST_BYTES = 1 << 26;

const FIRST: Moment = [-1, 0, 0];
const LAST: Moment = [0x7fff_ffff, 0, 0];

/** A block with the range of its records' moments. */
interface Span {
  readonly block: IndexBlock;
  readonly bytes: number;
  readonly first: Moment;
  readonly last: Moment;
}

/**
 * Cuts a recording into windows.
 *
 * ```text
 * time ──▶      window 0      │      window 1       │   window 2
 * block 0   ├───────────┤     │                     │
 * block 1      ├──────────────┼──┤                  │             read for both
 * block 2           ├─────┤   │                     │
 * block 3                     │├────────────────────┼─┤
 * ```
 *
 * A cut is at the start of a block where few other blocks overlap, so that little is read twice. If
 * the order of the file counts, windows are blocks.
 *
 * @returns `undefined` if a window would be too large for memory, because the file is not sorted.
 */
export function windowsOf(
  index: RecordingIndex,
  { windowBytes, time }: WindowOptions,
): readonly Window[] | undefined {
  const spans = spansOf(index).filter(({ block: { oldest, youngest } }) =>
    time === undefined || (youngest >= time[0] && oldest <= time[1])
  );
  if (index.isTimed) spans.sort((a, b) => compare(a.first, b.first));
  const windows: Window[] = [];
  let from = FIRST;
  /** The blocks that may reach into the next window. */
  let open: Span[] = [];
  let bytes = 0;
  const close = (to: Moment): boolean => {
    const held = open.reduce((sum, span) => sum + span.bytes, 0);
    windows.push({ from, to, ranges: rangesOf(open) });
    open = index.isTimed ? open.filter(({ last }) => compare(last, to) >= 0) : [];
    from = to;
    bytes = 0;
    return held <= MOST_BYTES;
  };
  for (const span of spans) {
    const isCut = bytes >= windowBytes && (!index.isTimed ||
      (compare(span.first, from) > 0 && goingOn(open, span.first) <= bytes));
    if (isCut && !close(index.isTimed ? span.first : FIRST)) return undefined;
    open.push(span);
    bytes += span.bytes;
  }
  if (open.length > 0 && !close(LAST)) return undefined;
  return windows;
}

/** Bytes of the blocks that a cut divides. */
function goingOn(open: readonly Span[], at: Moment): number {
  let bytes = 0;
  for (const span of open) if (compare(span.last, at) >= 0) bytes += span.bytes;
  return bytes;
}

/** The blocks, with lower and upper bounds of the moments of their records. */
function spansOf({ blocks, rounds }: RecordingIndex): Span[] {
  return blocks.map((block, i) => {
    const { from, to, records, timed, oldest, youngest, round } = block;
    const end = blocks[i + 1]?.round ?? rounds.count;
    const at = (round: number, time: bigint): Moment => {
      const hi = Number(time >> 32n);
      const lo = Number(time & 0xffff_ffffn);
      return [stepOf(rounds, round, hi, lo), hi, lo];
    };
    // A record without a time is delivered when it is read.
    const untimed = records > timed;
    const first: Moment = untimed ? [stepOf(rounds, round, 0, 0), 0, 0] : at(round, oldest);
    const last: Moment = timed === 0 ? [stepOf(rounds, end, 0, 0), 0, 0] : at(end, youngest);
    return { block, bytes: to - from, first, last };
  });
}

/** File ranges of blocks, in the order of the file; adjacent blocks are one range. */
function rangesOf(spans: readonly Span[]): WindowRange[] {
  const ranges: { from: number; to: number; first: number; round: number }[] = [];
  for (const { block } of [...spans].sort((a, b) => a.block.from - b.block.from)) {
    const { from, to, first, round } = block;
    const last = ranges.at(-1);
    if (last?.to === from) last.to = to;
    else ranges.push({ from, to, first, round });
  }
  return ranges;
}

/** Negative if the first of two moments is earlier. */
export function compare(a: Moment, b: Moment): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** Bytes that are read for a window. */
export function bytesOf({ ranges }: Window): number {
  return ranges.reduce((bytes, { from, to }) => bytes + to - from, 0);
}
