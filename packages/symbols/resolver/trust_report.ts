/** The mark after a name that nothing verifies, the same in every text and format. */
export const UNVERIFIED_MARK = "?";

/** Begins the fault of a perf map in which lines of different names have a sampled address. */
export const CONTESTED_MAP = "several lines of the perf map name one sampled address";

/** Why an address could not be given a symbol. */
export type UnresolvedCause =
  /** The mapped file, and every file that could stand for it, is not here. */
  | "file missing"
  /** Only files of another build are here. */
  | "build id differs"
  /** The file is here, but has no symbol table, or none that covers the address. */
  | "no symbols"
  /** The file is here, but is damaged, or too large. */
  | "not readable"
  /** The kernel's addresses were hidden from the user who recorded them. */
  | "kallsyms restricted"
  /** Code of a JIT compiler that left no map or dump. */
  | "JIT"
  /** Nothing was mapped at the address. */
  | "unmapped";

/** All causes, in the order in which they are shown. */
export const UNRESOLVED_CAUSES: readonly UnresolvedCause[] = [
  "file missing",
  "build id differs",
  "no symbols",
  "not readable",
  "kallsyms restricted",
  "JIT",
  "unmapped",
];
