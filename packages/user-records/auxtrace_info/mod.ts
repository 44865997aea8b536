/**
 * AUXTRACE_INFO: type of the hardware that wrote a trace, and the words of each type.
 *
 * @module
 */
export * from "../auxtrace/auxtrace_info.ts";
export * from "./arm_spe.ts";
export * from "./cs_etm.ts";
export * from "./intel_bts.ts";
export * from "./intel_pt.ts";
export type { PrivCodec } from "./words.ts";
