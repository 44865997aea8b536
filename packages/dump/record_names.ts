import { KERNEL_RECORD_NAMES } from "@perfdata/format";
import { USER_RECORDS } from "@perfdata/user-records";

/** Record types that perf 6.1 knows; it gives up where it meets others. */
export const PERF_RECORD_HEADER_MAX = 83;

/** The names that `perf report -D` prints where they are not those of the records. */
const OTHER_NAMES: Readonly<Record<number, string>> = {
  64: "ATTR",
  65: "EVENT_TYPE",
  66: "TRACING_DATA",
  67: "BUILD_ID",
  80: "FEATURE",
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
