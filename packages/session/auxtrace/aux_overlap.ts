import { findPsb, PSB_SIZE } from "@perfdata/intel-pt";

/** perf pads the data of an AUXTRACE record with zeros to a multiple of 8. */
const MAX_PADDING = 7;

/** Bytes that are taken for proof where the offsets say that they are the same. */
const MIN_AGREEING = 16;

/**
 * Bytes from the last PSB on that are searched for: the PSB, and enough after it to distinguish it from
 * others (with the default settings a TSC packet of 8 bytes, TMA, CBR).
 */
const MIN_TAIL = PSB_SIZE + 16;

/** A buffer of AUX data, and where it says that it lies in the AUX area's stream. */
export interface AuxBuffer {
  /** The data as the file has it, padding included. */
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
 * How many bytes at the start of `after` are already in `before`.
 *
 * Each snapshot of a ring buffer holds all that is still in the ring, so that two snapshots which
 * are taken soon one after the other have bytes in common. Where the offsets in the stream say so
 * and the bytes agree, the offsets decide. But in snapshot mode they are places in the ring, which
 * say nothing if it wrapped in between. Then, and in samples, which have no offsets, the
 * last PSB of `before` and what follows it is searched in `after`; it counts as found when all that
 * comes before it in both agrees as well.
 *
 * The same data repeats in the stream only where a program runs in a circle and nothing in the
 * trace has the time. Of several overlaps that would fit, the longest is taken then, as perf does.
 *
 * Memory and time are linear in the sizes; nothing is allocated.
 *
 * @returns Bytes of `after` to leave out: 0 if it follows on `before` directly, all of them
 *   where it has nothing new. `undefined` if no connection was found: there is a gap of unknown
 *   size between the two.
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
    // How far into `after` the end of `before` lies, padding not counted.
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

/** Length without the zeros at the end that may be padding. */
function withoutPadding(bytes: Uint8Array): number {
  let end = bytes.length;
  while (end > 0 && bytes.length - end < MAX_PADDING && bytes[end - 1] === 0) end--;
  return end;
}

/** Zeros at the end of `a` that turn out to be data, since `b` goes on with them. */
function overPadding(a: Uint8Array, unpadded: number, b: Uint8Array, overlap: number): number {
  let n = overlap;
  while (n < b.length && n - overlap < a.length - unpadded && b[n] === 0) n++;
  return n;
}

/** Whether what lies before `a[aEnd]` and before `b[bEnd]` is the same, as far as both reach. */
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

/** Offset of the last PSB that lies wholly in `bytes[0, end)`, or -1. */
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

/** Where in `b` the end of `a` lies, found by the last PSB of `a` and what follows it. */
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
