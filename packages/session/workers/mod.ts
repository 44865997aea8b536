/**
 * Reads the records of a recording in several threads.
 *
 * @module
 */
export * from "./part.ts";
export * from "./pool.ts";
export * from "./serve_blocks.ts";
export * from "./serve_text.ts";
export * from "./text_part.ts";
export * from "./text_workers.ts";
