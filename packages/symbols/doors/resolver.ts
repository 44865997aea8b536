/**
 * Types shared by modules that name addresses: addresses, resolutions, places to search for files.
 *
 * @module
 */
export { WALK_END } from "../cfi/walk_end.ts";
export { type ElfMachine, machineOf, runsOn } from "../code/architecture.ts";
export { SymbolsError } from "../errors.ts";
export {
  type BinarySource,
  bytesSource,
  checkRange,
  sliceSource,
  windowedSource,
} from "../files/binary_source.ts";
export {
  buildIdsEqual,
  type CandidateOrigin,
  type FileCandidate,
  type FoundFile,
  type KernelCandidate,
  kernelCandidates,
  type OpenedCandidate,
  type RefusedFile,
  type SearchPlaces,
  searchPlaces,
  type SearchResult,
  searchSymbolFiles,
  type WantedFile,
} from "../files/file_search.ts";
export { type MapKind, mapKind, perfMapPid } from "../files/map_name.ts";
export {
  type Address,
  addressFromBigInt,
  addressFromHalves,
  addressToBigInt,
  addressToHex,
} from "../resolver/address.ts";
export {
  FileAddresses,
  type KernelReference,
  kernelReference,
  kernelRelocation,
  type LoadSegment,
} from "../resolver/address_map.ts";
export { bundledResolution, type ObjectSymbols } from "../resolver/object_symbols.ts";
export type {
  RecordedMachine,
  RecordedSymbolsOf,
  ResolverOptions,
  SymbolOptions,
} from "../resolver/options.ts";
export {
  canHaveBuildId,
  type ObjectKind,
  type Resolution,
  resolution,
  type ResolvedFrame,
  type SymbolObject,
  unresolved,
} from "../resolver/resolution.ts";
export {
  CONTESTED_MAP,
  UNRESOLVED_CAUSES,
  type UnresolvedCause,
  UNVERIFIED_MARK,
} from "../resolver/trust_report.ts";
