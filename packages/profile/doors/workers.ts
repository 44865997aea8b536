// Uses Deno's API, or opens what does; everything else in this package runs in any JavaScript runtime.
/**
 * Profiles that several threads collect, on Deno.
 *
 * @module
 */
export type { CollectAbout } from "../collecting/collect_worker.ts";
export { collectWorkers } from "../collecting/collect_workers.ts";
