/** Mark after an unverified name, the same in every text and format. */
export const UNVERIFIED_MARK = "?";

/** Begins the fault of a perf map that has lines with different names for a sampled address. */
export const CONTESTED_MAP = "several lines of the perf map name one sampled address";

/** Reason for an address without a symbol. */
export type UnresolvedCause =
  /** The mapped file and its debug files do not exist. */
  | "file missing"
  /** Only files of another build exist. */
  | "build id differs"
  /** The file exists, but has no symbol at the address. */
  | "no symbols"
  /** The file is damaged or too large. */
  | "not readable"
  /** The recording user could not read the kernel's addresses. */
  | "kallsyms restricted"
  /** JIT-compiled code without a map or dump. */
  | "JIT"
  /** Nothing was mapped at the address. */
  | "unmapped";

/** All causes, in display order. */
export const UNRESOLVED_CAUSES: readonly UnresolvedCause[] = [
  "file missing",
  "build id differs",
  "no symbols",
  "not readable",
  "kallsyms restricted",
  "JIT",
  "unmapped",
];
