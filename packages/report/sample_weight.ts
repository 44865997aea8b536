import { PERF_SAMPLE_WEIGHT_STRUCT } from "@perfdata/format/perf-event";

/**
 * Reads the weight of a sample: 64 bits, or the lower 32 of `perf_sample_weight`.
 *
 * @param at Where the weight is in `view`.
 * @param sampleType Flags of the sample's event.
 */
export function sampleWeight(
  view: DataView,
  at: number,
  sampleType: number,
  littleEndian: boolean,
): number {
  const low = view.getUint32(littleEndian ? at : at + 4, littleEndian);
  if ((sampleType & PERF_SAMPLE_WEIGHT_STRUCT) !== 0) return low;
  // deno-lint-ignore perfdata/halves -- a weight
  return view.getUint32(littleEndian ? at + 4 : at, littleEndian) * 2 ** 32 + low;
}
