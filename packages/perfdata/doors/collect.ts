/**
 * Collects the samples of a recording for a profile.
 *
 * @module
 */
export { collect, type Collected, type CollectingOptions } from "../collect.ts";
