/**
 * Names of sampled places, from the symbols of objects or of a bundle, and unwinding of copied
 * stacks.
 *
 * @module
 */
export { bundleSymbols } from "../names/bundle_symbols.ts";
export {
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
