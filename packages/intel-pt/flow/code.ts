import { partitionPoint } from "@perfdata/format/bytes";

/**
 * A range of code at its address, for example a mapped segment of an ELF file.
 *
 * Decoded instructions of a range are cached by its `id`. Changed code (a new mapping, a kernel
 * patch, JIT code) needs a range with another `id`. The same file at the same address in
 * two processes should be one range.
 */
export interface CodeRange {
  /** Id of the range, 0 to 2^28 - 1. */
  readonly id: number;
  /** Bits 31:0 of the first address, as a signed integer. */
  readonly low: number;
  /** Bits 63:32 of the first address, as a signed integer. */
  readonly high: number;
  /** Size in bytes, less than 2^31. */
  readonly size: number;
  /**
   * Returns memory of the range from `offset` on.
   *
   * @returns At least the 15 bytes from `offset` on (fewer at the end of the range), or `undefined`
   * if they are not available.
   */
  window(offset: number): CodeWindow | undefined;
}

/** A part of a {@linkcode CodeRange}. */
export interface CodeWindow {
  /** Memory of the part. */
  readonly bytes: Uint8Array;
  /** Offset of `bytes[0]` in the range. */
  readonly from: number;
}

/** The code in a thread's address space. */
export interface CodeSpace {
  /**
   * Returns the range that contains an address.
   *
   * @param low Bits 31:0 of the address, as a signed integer.
   * @param high Bits 63:32, as a signed integer.
   */
  find(low: number, high: number): CodeRange | undefined;
}

/**
 * Creates a space of ranges that never change; addresses are found by binary search.
 *
 * @param ranges Ranges that do not overlap, in any order.
 *
 * @example
 * ```ts
 * import { bytesRange, fixedSpace } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const space = fixedSpace([bytesRange(1, 0x401000n, Uint8Array.of(0x90, 0xc3))]);
 * assertEquals(space.find(0x401001, 0)?.id, 1);
 * assertEquals(space.find(0x401002, 0), undefined);
 * ```
 */
export function fixedSpace(ranges: readonly CodeRange[]): CodeSpace {
  const sorted = [...ranges].sort((a, b) => compareAddress(a.low, a.high, b.low, b.high));
  return {
    find(low, high) {
      const after = partitionPoint(0, sorted.length, (i) => {
        const range = sorted[i] as CodeRange;
        return compareAddress(range.low, range.high, low, high) <= 0;
      });
      const range = sorted[after - 1];
      return range !== undefined && offsetIn(range, low, high) >= 0 ? range : undefined;
    },
  };
}

/** Compares two unsigned addresses, given as halves. */
export function compareAddress(aLow: number, aHigh: number, bLow: number, bHigh: number): number {
  return (aHigh >>> 0) - (bHigh >>> 0) || (aLow >>> 0) - (bLow >>> 0);
}

/** Returns the offset of an address in a range, or -1 if it is outside. */
export function offsetIn(range: CodeRange, low: number, high: number): number {
  // The range is shorter than 2^31, so the difference of the lower halves suffices.
  const offset = (low - range.low) >>> 0;
  if (offset >= range.size) return -1;
  const carry = (range.low >>> 0) + offset > 0xffffffff ? 1 : 0;
  return ((range.high + carry) | 0) === high ? offset : -1;
}

/**
 * Creates a range over bytes in memory.
 *
 * @param id Id of the range; see {@linkcode CodeRange.id}.
 * @param address First address of the range.
 *
 * @example
 * ```ts
 * import { bytesRange } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const { low, high, size } = bytesRange(1, 0xffffffff81000000n, new Uint8Array(4096));
 * assertEquals([low, high, size], [-0x7f000000, -1, 4096]);
 * ```
 */
export function bytesRange(id: number, address: bigint, bytes: Uint8Array): CodeRange {
  const window: CodeWindow = { bytes, from: 0 };
  return {
    id,
    low: Number(BigInt.asIntN(32, address)),
    high: Number(BigInt.asIntN(32, address >> 32n)),
    size: bytes.length,
    window: () => window,
  };
}
