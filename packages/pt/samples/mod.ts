/**
 * Samples synthesized as of `--itrace`.
 *
 * @module
 */
export * from "./itrace.ts";
export * from "./pt_added_lists.ts";
export * from "./pt_sample_rows.ts";
export * from "./pt_samples.ts";
