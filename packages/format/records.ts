import { AUX, AUX_OUTPUT_HW_ID, ITRACE_START } from "./records/aux_area.ts";
import { CALLCHAIN_DEFERRED } from "./records/callchain_deferred.ts";
import { LOST, LOST_SAMPLES, READ, SAMPLE, THROTTLE, UNTHROTTLE } from "./records/counting.ts";
import { BPF_EVENT, KSYMBOL, TEXT_POKE } from "./records/kernel_code.ts";
import { MMAP, MMAP2 } from "./records/mmap.ts";
import { CGROUP, COMM, EXIT, FORK, NAMESPACES, SWITCH, SWITCH_CPU_WIDE } from "./records/task.ts";
import type { DecodedRecord } from "./record.ts";

export * from "./records/aux_area.ts";
export * from "./records/callchain_deferred.ts";
export * from "./records/counting.ts";
export * from "./records/kernel_code.ts";
export * from "./records/mmap.ts";
export * from "./records/task.ts";

/** The kernel's records, types 1–22 of `include/uapi/linux/perf_event.h`. */
export const KERNEL_RECORDS = [
  MMAP,
  LOST,
  COMM,
  EXIT,
  THROTTLE,
  UNTHROTTLE,
  FORK,
  READ,
  SAMPLE,
  MMAP2,
  AUX,
  ITRACE_START,
  LOST_SAMPLES,
  SWITCH,
  SWITCH_CPU_WIDE,
  NAMESPACES,
  KSYMBOL,
  BPF_EVENT,
  CGROUP,
  TEXT_POKE,
  AUX_OUTPUT_HW_ID,
  CALLCHAIN_DEFERRED,
] as const;

/** A decoded record of the kernel. */
export type KernelRecord = DecodedRecord<typeof KERNEL_RECORDS[number]>;
