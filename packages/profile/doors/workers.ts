// Uses Deno's API, directly or by imports; the rest of this package runs in any JavaScript runtime.
/**
 * Collecting profiles with several threads, on Deno, and profiles of recordings that are being made.
 *
 * @module
 */
export { COLLECT_SERVICE, type CollectAbout } from "../collecting/collect_service.ts";
export { collectWorkers } from "../collecting/collect_workers.ts";
export { LiveCollector } from "../live/live_collector.ts";
export { LIVE_LIMITS, type LiveLimits, LiveProfile } from "../live/live_profile.ts";
