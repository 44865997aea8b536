/**
 * Finds Intel PT buffers, splits them and decodes them in order of time.
 *
 * @module
 */
export * from "./pt_clock.ts";
export * from "./pt_counts.ts";
export * from "./pt_run.ts";
export * from "./pt_sink.ts";
export * from "./pt_seek.ts";
export * from "./pt_snapshots.ts";
export * from "./pt_span.ts";
export * from "./pt_time.ts";
export type { InsnText } from "./pt_block_insns.ts";
export { pieceEnd, type StreamPlace } from "./pt_pieces.ts";
