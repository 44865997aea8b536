/**
 * Counts of a recording's branches, for LLVM's optimizers.
 *
 * @module
 */
export * from "./branch_counts.ts";
export * from "./branch_profile.ts";
export * from "./recorded_binary.ts";
export * from "./branch_trace.ts";
export * from "../code/code_blocks.ts";
export * from "./code_steps.ts";
export * from "./sample_profile.ts";
export { autofdoText } from "./sample_profile_text.ts";
export { autofdoBinary } from "./sample_profile_binary.ts";
export * from "./sample_fdata.ts";
