/**
 * Names of sampled places, from symbols of objects or of a bundle, and stacks that are unwound.
 *
 * @module
 */
export { bundleSymbols } from "../names/bundle_symbols.ts";
export {
  type BundleNames,
  BundlePlaceSymbols,
  FilePlaceSymbols,
  type PlaceSymbol,
  PlaceSymbols,
} from "../names/place_symbols.ts";
export { type CodeFinder, type UnwindEngine, UnwindStep } from "../stacks/unwind.ts";
export {
  type ThreadStack,
  UnwindCounts,
  type UnwindPart,
  type UnwindTally,
} from "../stacks/unwind_counts.ts";
