/**
 * Several threads that take the samples of a recording side by side.
 *
 * @module
 */
export * from "./part.ts";
export * from "./serve_blocks.ts";
