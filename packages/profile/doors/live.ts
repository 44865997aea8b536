/**
 * Profiles of recordings that are being made.
 *
 * @module
 */
export { LiveCollector } from "../live/live_collector.ts";
export { LIVE_LIMITS, type LiveLimits, LiveProfile } from "../live/live_profile.ts";
