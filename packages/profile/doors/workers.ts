// Uses Deno's API, directly or by imports; the rest of this package runs in any JavaScript runtime.
/**
 * Collecting profiles with several threads, on Deno.
 *
 * @module
 */
export { COLLECT_SERVICE, type CollectAbout } from "../collecting/collect_service.ts";
export { collectWorkers } from "../collecting/collect_workers.ts";
