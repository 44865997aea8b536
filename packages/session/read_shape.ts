import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
} from "@perfdata/format/perf-event";

/** Where the values of a `read_format` lie, in bytes. */
export interface ReadShape {
  /** Whether there is a value for each event of a group, with their number before them. */
  readonly group: boolean;
  /** Bytes before the first entry. */
  readonly head: number;
  /** Bytes of an entry; its value comes first. */
  readonly entry: number;
  /** Where in an entry the id is; -1 where there is none. */
  readonly id: number;
  /** Where in an entry the number of lost samples is; -1 where there is none. */
  readonly lost: number;
}

/**
 * Where the values of a `read_format` lie, for loops over many samples
 * (`include/uapi/linux/perf_event.h`).
 *
 * @example
 * ```ts
 * import { PERF_FORMAT_GROUP, PERF_FORMAT_ID } from "@perfdata/format";
 * import { readShape } from "@perfdata/session/read-shape";
 * import { assertEquals } from "@std/assert";
 *
 * const shape = readShape(PERF_FORMAT_GROUP | PERF_FORMAT_ID);
 * assertEquals(shape, { group: true, head: 8, entry: 16, id: 8, lost: -1 });
 * ```
 */
export function readShape(format: number): ReadShape {
  const times = 8 * [PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING]
    .filter((bit) => format & bit).length;
  const group = (format & PERF_FORMAT_GROUP) !== 0;
  // Without a group the times lie between the value and the id.
  let at = group ? 8 : 8 + times;
  const id = format & PERF_FORMAT_ID ? at : -1;
  if (id >= 0) at += 8;
  const lost = format & PERF_FORMAT_LOST ? at : -1;
  if (lost >= 0) at += 8;
  return { group, head: group ? 8 + times : 0, entry: at, id, lost };
}
