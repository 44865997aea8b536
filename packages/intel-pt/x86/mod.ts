/**
 * Kinds and lengths of x86 instructions.
 *
 * @module
 */
export * from "./insn_decoder.ts";
export * from "./insn_kind.ts";
