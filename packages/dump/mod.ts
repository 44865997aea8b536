/**
 * The text of `perf.data` files: their header, their bytes and their records, for people and pipes.
 *
 * @module
 */
export { headerLines, type HeaderOptions } from "./header.ts";
export { defaultEventName } from "./header_events.ts";
