import {
  GOOGLE_RECORD_HEADER_HOSTNAME,
  GOOGLE_RECORD_HEADER_NUMA_TOPOLOGY,
  GOOGLE_RECORD_HEADER_PMU_MAPPINGS,
  HEADER_HOSTNAME,
  HEADER_PMU_MAPPINGS,
  HEADER_SAMPLE_TIME,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_HEADER_FEATURE,
} from "@perfdata/format/constants";
import { layoutOf } from "@perfdata/format/records";
import { HEADER_FEATURE } from "@perfdata/user-records/metadata";

/** Offsets of the fields of a HEADER_FEATURE record. */
const FEATURE = layoutOf(HEADER_FEATURE);

/**
 * Whether a HEADER_FEATURE record marks the end of a pipe's features. It has no data, and its
 * number is one more than that of the last feature that its writer knows. The first perf that wrote
 * features into pipes knew SAMPLE_TIME. Features up to that one may have no data as well:
 * BRANCH_STACK never has.
 *
 * @param id its `feat_id`
 * @param size bytes of its data
 *
 * @example
 * ```ts
 * import { HEADER_BRANCH_STACK } from "@perfdata/format/constants";
 * import { isLastFeature } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([isLastFeature(32, 0), isLastFeature(HEADER_BRANCH_STACK, 0)], [true, false]);
 * ```
 */
export function isLastFeature(id: number, size: number): boolean {
  return size === 0 && id > HEADER_SAMPLE_TIME;
}

/** A feature that came as a record. */
export interface StreamFeature {
  /** Id of the feature: `HEADER_*` of `@perfdata/format`. */
  readonly id: number;
  /** Its payload in the form of a file's section, for `decodeFeature`. */
  readonly payload: Uint8Array;
}

/**
 * The feature in a record of a pipe: `PERF_RECORD_HEADER_FEATURE`, or in the dialect of Google's
 * old perf, a record type for each feature.
 *
 * @param stream byte order and dialect, as of `PerfDataReader`
 * @param end offset after the record
 * @returns `undefined` if the record holds no feature, or marks the end of the features
 *
 * @example
 * ```ts
 * import { streamFeature } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = Uint8Array.of(80, 0, 0, 0, 0, 0, 24, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8);
 * const stream = { littleEndian: true, isGoogleDialect: false };
 * const feature = streamFeature(stream, bytes, new DataView(bytes.buffer), 0, 24);
 * assertEquals([feature?.id, feature?.payload[0]], [4, 1]);
 * ```
 */
export function streamFeature(
  stream: { readonly littleEndian: boolean; readonly isGoogleDialect: boolean },
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
): StreamFeature | undefined {
  const { littleEndian: le } = stream;
  const type = view.getUint32(start, le);
  if (!stream.isGoogleDialect) {
    if (type !== PERF_RECORD_HEADER_FEATURE || end - start < FEATURE.data) return undefined;
    const id = Number(view.getBigUint64(start + FEATURE.feat_id, le));
    const payload = bytes.subarray(start + FEATURE.data, end);
    return isLastFeature(id, payload.length) ? undefined : { id, payload };
  }
  const id = type === GOOGLE_RECORD_HEADER_PMU_MAPPINGS
    ? HEADER_PMU_MAPPINGS
    : type >= GOOGLE_RECORD_HEADER_HOSTNAME && type <= GOOGLE_RECORD_HEADER_NUMA_TOPOLOGY
    ? HEADER_HOSTNAME + type - GOOGLE_RECORD_HEADER_HOSTNAME
    : undefined;
  return id === undefined
    ? undefined
    : { id, payload: bytes.subarray(start + PERF_EVENT_HEADER_SIZE, end) };
}
