/**
 * The one way from a recording to a profile, in commands, in the page and in `open`.
 *
 * @module
 */
export { collect, type Collected, type CollectingOptions } from "../collect.ts";
