import { KERNEL_RECORD_NAMES } from "@perfdata/format/record-names";
import { KERNEL_RECORDS } from "@perfdata/format";
import {
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_EVENT_TYPE,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
} from "@perfdata/format/record-types";
import { GOOGLE_RECORDS } from "@perfdata/user-records/google-dialect";
import { USER_RECORDS } from "@perfdata/user-records";

/** The names in `perf report -D` that differ from the names of the records. */
const OTHER_NAMES: Readonly<Record<number, string>> = {
  [PERF_RECORD_HEADER_ATTR]: "ATTR",
  [PERF_RECORD_HEADER_EVENT_TYPE]: "EVENT_TYPE",
  [PERF_RECORD_HEADER_TRACING_DATA]: "TRACING_DATA",
  [PERF_RECORD_HEADER_BUILD_ID]: "BUILD_ID",
  [PERF_RECORD_HEADER_FEATURE]: "FEATURE",
};

const NAMES: ReadonlyMap<number, string> = new Map([
  ...Object.entries(KERNEL_RECORD_NAMES).map(([type, name]) => [Number(type), name] as const),
  ...USER_RECORDS.map(({ type, name }) => [type, name] as const),
  ...Object.entries(OTHER_NAMES).map(([type, name]) => [Number(type), name] as const),
]);

/**
 * The name of a record type as `perf report -D` prints it after `PERF_RECORD_`; `INVALID` where the
 * type is not known.
 */
export function dumpRecordName(type: number): string {
  return NAMES.get(type) ?? "INVALID";
}

/** The type that a name means, in the dump's own names or in those of the records. */
export function recordTypeOfName(name: string): number | undefined {
  const plain = name.toUpperCase().replace(/^PERF_RECORD_/, "");
  for (const [type, own] of NAMES) if (own === plain) return type;
  return USER_RECORDS.find((record) => record.name === plain)?.type;
}

/** All names of record types, in the dump's own words and in those of the records. */
export function recordNames(): string[] {
  return [...new Set([...NAMES.values(), ...USER_RECORDS.map(({ name }) => name)])];
}

/**
 * The names that `RecordsOptions.types` may have: those of the known records, and `TYPE_<n>`.
 */
export function isRecordName(name: string): boolean {
  return /^TYPE_\d+$/.test(name) ||
    [...KERNEL_RECORDS, ...USER_RECORDS, ...GOOGLE_RECORDS].some((known) => known.name === name);
}
