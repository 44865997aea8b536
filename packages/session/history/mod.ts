/**
 * The past of a machine, made before any sample is looked at.
 *
 * @module
 */
export * from "./history.ts";
