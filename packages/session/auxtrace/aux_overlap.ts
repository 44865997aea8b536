import { findPsb, PSB_SIZE } from "@perfdata/intel-pt";

/** perf pads the data of an AUXTRACE record with zeros to a multiple of 8. */
const MAX_PADDING = 7;

/** Number of equal bytes that confirm an overlap given by the offsets. */
const MIN_AGREEING = 16;

/**
 * Minimum bytes to search for, from the last PSB on: the PSB, and enough after it to distinguish it
 * from others (with the default settings a TSC packet of 8 bytes, TMA, CBR).
 */
const MIN_TAIL = PSB_SIZE + 16;

/** A buffer of AUX data, with its offset in the AUX area's stream. */
export interface AuxBuffer {
  /** The data in the file, including padding. */
  readonly bytes: Uint8Array;
  /** Offset of the first byte in the AUX area's stream; samples have none. */
  readonly offset?: bigint;
}

/** Options of {@link findAuxOverlap}. */
export interface AuxOverlapOptions {
  /** Whether the data is Intel PT, so that its PSB packets can be searched for. */
  readonly intelPt: boolean;
}

/**
 * The number of bytes at the start of `after` that are also in `before`.
 *
 * Each snapshot of a ring buffer has all bytes that are still in the ring, so that two snapshots
 * taken soon one after the other overlap. If the offsets in the stream say so and the bytes agree,
 * the offsets decide. But in snapshot mode, offsets are positions in the ring, which mean nothing
 * if the ring wrapped in between. Then, and in samples, which have no offsets, the last PSB of
 * `before` and the bytes after it are searched in `after`. The match counts if all bytes before it
 * agree as well.
 *
 * The same data occurs twice in the stream only if a program loops and the trace has no timestamps.
 * Of several possible overlaps, the longest is chosen, as in perf.
 *
 * Memory and time are linear in the sizes; nothing is allocated.
 *
 * @returns Bytes of `after` to skip: 0 if it directly follows `before`, all of them if it has
 * nothing new. `undefined` if no connection was found: there is a gap of unknown size between the
 * two.
 *
 * @example
 * ```ts
 * import { findAuxOverlap } from "@perfdata/session/auxtrace";
 * import { assertEquals } from "@std/assert";
 *
 * const ring = Uint8Array.from({ length: 64 }, (_, i) => i + 1);
 * const before = { bytes: ring.subarray(0, 40), offset: 0x1000n };
 * const after = { bytes: ring.subarray(16), offset: 0x1010n };
 * assertEquals(findAuxOverlap(before, after, { intelPt: false }), 24);
 * ```
 */
export function findAuxOverlap(
  before: AuxBuffer,
  after: AuxBuffer,
  options: AuxOverlapOptions,
): number | undefined {
  const a = before.bytes;
  const b = after.bytes;
  const unpadded = withoutPadding(a);
  let distance: number | undefined;
  if (before.offset !== undefined && after.offset !== undefined) {
    // Offset in `after` of the end of `before`, without padding.
    distance = Number(before.offset + BigInt(unpadded) - after.offset);
    if (distance > 0 && distance <= b.length && agrees(a, unpadded, b, distance)) {
      return overPadding(a, unpadded, b, distance);
    }
  }
  if (options.intelPt) {
    const found = findTail(a, unpadded, b);
    if (found !== undefined) return overPadding(a, unpadded, b, found);
  }
  const padding = a.length - unpadded;
  return distance !== undefined && distance <= 0 && distance >= -padding ? 0 : undefined;
}

/** Length without trailing zeros that may be padding. */
function withoutPadding(bytes: Uint8Array): number {
  let end = bytes.length;
  while (end > 0 && bytes.length - end < MAX_PADDING && bytes[end - 1] === 0) end--;
  return end;
}

/** The overlap including trailing zeros of `a` that are data, because `b` has them, too. */
function overPadding(a: Uint8Array, unpadded: number, b: Uint8Array, overlap: number): number {
  let n = overlap;
  while (n < b.length && n - overlap < a.length - unpadded && b[n] === 0) n++;
  return n;
}

/**
 * Whether the bytes before `a[aEnd]` and before `b[bEnd]` are the same, up to the shorter of both.
 */
function agrees(a: Uint8Array, aEnd: number, b: Uint8Array, bEnd: number): boolean {
  const length = Math.min(aEnd, bEnd);
  if (length < Math.min(MIN_AGREEING, b.length)) return false;
  return sameBytes(a, aEnd - length, b, bEnd - length, length);
}

function sameBytes(a: Uint8Array, i: number, b: Uint8Array, j: number, length: number): boolean {
  for (let k = 0; k < length; k++) {
    if (a[i + k] !== b[j + k]) return false;
  }
  return true;
}

/** Offset of the last PSB in `bytes[0, end)`, or -1. */
function lastPsb(bytes: Uint8Array, end: number): number {
  for (let at = end - PSB_SIZE; at >= 0;) {
    const last = bytes.lastIndexOf(0x82, at + PSB_SIZE - 1);
    if (last < PSB_SIZE - 1) return -1;
    at = last - PSB_SIZE + 1;
    if (findPsb(bytes, at, last + 1) === at) return at;
    at--;
  }
  return -1;
}

/** Offset in `b` of the end of `a`, found by the last PSB of `a` and the bytes after it. */
function findTail(a: Uint8Array, aEnd: number, b: Uint8Array): number | undefined {
  let psb = lastPsb(a, aEnd);
  while (psb >= 0 && aEnd - psb < MIN_TAIL) psb = lastPsb(a, psb);
  if (psb < 0) return undefined;
  const tail = aEnd - psb;
  let longest: number | undefined;
  for (let at = findPsb(b); at >= 0 && at + tail <= b.length; at = findPsb(b, at + PSB_SIZE)) {
    if (sameBytes(a, psb, b, at, tail) && agrees(a, aEnd, b, at + tail)) longest = at + tail;
  }
  return longest;
}
