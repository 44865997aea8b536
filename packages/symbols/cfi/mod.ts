/**
 * Call frame information: finds the caller's frame of a stack frame. Read from `.eh_frame`,
 * `.debug_frame` and `.ARM.exidx`, for x86-64, i386, aarch64 and arm.
 *
 * @module
 */

export * from "./bare_code.ts";
export * from "./cfi_constants.ts";
export * from "./exidx.ts";
export * from "./dwarf_expression.ts";
export { type EhFrameHdr } from "./fde_index.ts";
export * from "./frame_rules.ts";
export { type Cie, type Fde, type FrameSectionBytes } from "./frame_section.ts";
export * from "./unwind_table.ts";
export * from "./frame_walker.ts";
export * from "./walk_end.ts";
export * from "./frame_writer.ts";
export * from "./jit_cfi.ts";
export * from "./cfi_machine.ts";
export * from "./object_cfi.ts";
export * from "./row_table.ts";
