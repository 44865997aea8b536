import * as types from "./record_types.ts";

/** Returns the names of the types that pass `isIncluded`, derived from the exported constants. */
function namesOf(isIncluded: (type: number) => boolean): Readonly<Record<number, string>> {
  const prefix = "PERF_RECORD_";
  return Object.fromEntries(
    Object.entries(types)
      .filter(([name]) => name.startsWith(prefix) && name !== `${prefix}USER_TYPE_START`)
      .filter(([, type]) => isIncluded(type))
      .map(([name, type]) => [type, name.slice(prefix.length)]),
  );
}

/** Names of the kernel's record types, without `PERF_RECORD_`. */
export const KERNEL_RECORD_NAMES: Readonly<Record<number, string>> = namesOf((type) =>
  type < types.PERF_RECORD_USER_TYPE_START
);

/** Names of perf's own record types, without `PERF_RECORD_`. */
export const USER_RECORD_NAMES: Readonly<Record<number, string>> = namesOf((type) =>
  type >= types.PERF_RECORD_USER_TYPE_START
);
