/**
 * Intel PT of a recording to what was executed: threads, code, times, calls.
 *
 * @module
 */
export * from "./itrace.ts";
export * from "./pt_added_lists.ts";
export type { StreamPlace } from "./pt_buffer.ts";
export * from "./pt_bundle.ts";
export * from "./pt_call_events.ts";
export * from "./pt_call_log.ts";
export * from "./pt_call_part.ts";
export * from "./pt_call_tree.ts";
export * from "./pt_calls.ts";
export * from "./pt_code.ts";
export * from "./pt_entries.ts";
export * from "./pt_entries_text.ts";
export * from "./pt_history.ts";
export * from "./pt_images.ts";
export * from "./pt_join.ts";
export * from "./pt_latency.ts";
export * from "./pt_list.ts";
export * from "./pt_names.ts";
export * from "./pt_places.ts";
export { pieceEnd } from "./pt_pieces.ts";
export * from "./pt_ranges.ts";
export * from "./pt_run.ts";
export * from "./pt_seek.ts";
export * from "./pt_snapshots.ts";
export * from "./pt_span.ts";
export * from "./pt_sample_rows.ts";
export * from "./pt_samples.ts";
export * from "./pt_sideband.ts";
export * from "./pt_text.ts";
export * from "./pt_time.ts";
export * from "./serve_pt.ts";
