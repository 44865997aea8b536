/**
 * The past of a machine, made before any sample is looked at.
 *
 * @module
 */
export * from "./history.ts";
export type { MachineLog } from "./machine_log.ts";
