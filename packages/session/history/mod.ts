/**
 * The history of a machine, made before any sample is read.
 *
 * @module
 */
export * from "./history.ts";
export type { MachineLog } from "./machine_log.ts";
