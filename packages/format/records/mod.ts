import type { DecodedRecord } from "./record.ts";
import * as declared from "./declared.ts";

export * from "./declared.ts";

/** The kernel's records, types 1–22 of `include/uapi/linux/perf_event.h`, by type. */
export const KERNEL_RECORDS: readonly typeof declared[keyof typeof declared][] = Object
  .values(declared).sort((a, b) => a.type - b.type);

/** A decoded record of the kernel. */
export type KernelRecord = DecodedRecord<typeof KERNEL_RECORDS[number]>;
