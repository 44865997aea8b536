import {
  KERNEL_RECORD_NAMES,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_EVENT_TYPE,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
} from "@perfdata/format/constants";
import { KERNEL_RECORDS } from "@perfdata/format/records";
import { GOOGLE_RECORDS, USER_RECORDS } from "@perfdata/user-records";

/** Names in `perf report -D` that differ from the records' names. */
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
 * Name of a record type in `perf report -D`, without `PERF_RECORD_`; `INVALID` for unknown types.
 */
export function dumpRecordName(type: number): string {
  return NAMES.get(type) ?? "INVALID";
}

/** The record type with a name, as `perf report -D` or the record's declaration has it. */
export function recordTypeOfName(name: string): number | undefined {
  const plain = name.toUpperCase().replace(/^PERF_RECORD_/, "");
  for (const [type, own] of NAMES) if (own === plain) return type;
  return USER_RECORDS.find((record) => record.name === plain)?.type;
}

/** All names of record types, in `perf report -D` and in the declarations. */
export function recordNames(): string[] {
  return [...new Set([...NAMES.values(), ...USER_RECORDS.map(({ name }) => name)])];
}

/** Whether `RecordsOptions.types` may have this name: a known record or `TYPE_<n>`. */
export function isRecordName(name: string): boolean {
  return /^TYPE_\d+$/.test(name) ||
    [...KERNEL_RECORDS, ...USER_RECORDS, ...GOOGLE_RECORDS].some((known) => known.name === name);
}
