/**
 * Synthesized samples, as with `--itrace`.
 *
 * @module
 */
export * from "./itrace.ts";
export * from "./met_places.ts";
export * from "./pt_added_lists.ts";
export type { PebsEvents } from "./pt_pebs.ts";
export * from "./pt_sample_rows.ts";
export type { LeftOut } from "./pt_event_samples.ts";
export type { SamplesOptions } from "./pt_sample_maker.ts";
export * from "./pt_samples.ts";
