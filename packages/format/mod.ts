/**
 * The core codec of Linux `perf.data` files: headers, attrs, features, kernel records and samples.
 *
 * @module
 */
export * from "./attr.ts";
export * from "./cursor.ts";
export * from "./error.ts";
export * from "./features.ts";
export * from "./perf_event.ts";
export * from "./record.ts";
export * from "./struct.ts";
export * from "./text.ts";
