import { bytesSource } from "../files/binary_source.ts";
import { crc32 } from "../elf/crc32.ts";
import type { ObjectKind } from "../resolver/resolution.ts";
import { UNRESOLVED_CAUSES, type UnresolvedCause } from "../resolver/trust_report.ts";
import { SymbolsError } from "../errors.ts";

/** A symbol bundle is malformed, truncated, or of an unknown version. */
export class BundleError extends SymbolsError {
  /** The name of the class. */
  override name = "BundleError";
}

/** The first eight bytes of a bundle: `PERFSYMS`. */
export const BUNDLE_MAGIC: Uint8Array = new TextEncoder().encode("PERFSYMS");

/** The version of the format that this package writes, and the only one that it reads. */
export const BUNDLE_VERSION = 2;

/** Offsets of the header's fields. */
export const HEADER = {
  VERSION: 8,
  CRC: 12,
  SIZE: 16,
  /** Offset of the CODE section; 0 if there is none. */
  CODE: 20,
  SECTIONS: 24,
  END: 88,
} as const;

/** The sections in their order in header and file, with the bytes of an entry. */
export const SECTIONS = [
  { name: "objects", size: 64 },
  { name: "segments", size: 24 },
  { name: "symbols", size: 24 },
  { name: "ranges", size: 24 },
  { name: "frames", size: 24 },
  { name: "functions", size: 12 },
  // Bytes of `.eh_frame` sections.
  { name: "unwinding", size: 1 },
  // End offsets of the strings; the strings' bytes follow.
  { name: "strings", size: 4 },
] as const;

/** Limit of the depth of inlined calls. */
export const MAX_DEPTH = 8192;

/** Kind of a symbol that is data. Functions have 0. */
export const SYMBOL_IS_DATA = 1;

/** Object kinds by their number in the file, which starts at 1. */
export const KINDS: readonly ObjectKind[] = ["elf", "kernel", "module", "vdso", "jit", "bpf"];

/** Reasons for a missing symbol by their number in the file; 0 means no reason. */
export const CAUSES: readonly (UnresolvedCause | undefined)[] = [undefined, ...UNRESOLVED_CAUSES];

/** Longest build id that fits into an object's entry. */
export const BUILD_ID_BYTES = 20;

/** Rounds up to a multiple of 8. Each section begins at one. */
export function align8(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}

/** CRC-32 of all bytes after the checksum field. */
export function bundleChecksum(bytes: Uint8Array): number {
  return crc32(bytesSource(bytes.subarray(HEADER.SIZE)));
}
