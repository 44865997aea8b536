// Uses Deno's API, or opens what does; everything else in this package runs in any JavaScript runtime.
/**
 * Figures that several threads collect, on Deno.
 *
 * @module
 */
export { infoCollectWorkers, infoWorkers } from "../info/info_workers.ts";
export type { LineAbout } from "../memory/line_worker.ts";
export { lineWorkers } from "../memory/line_workers.ts";
