/**
 * List of the kernel's records: all exports of these files.
 *
 * @module
 */

export * from "./aux_area.ts";
export * from "./callchain_deferred.ts";
export * from "./counting.ts";
export * from "./kernel_code.ts";
export * from "./mmap.ts";
export * from "./task.ts";
