/**
 * Debug information: functions, inlined frames, lines and types from DWARF; call frame information.
 *
 * @module
 */
export {
  type BundleObjectInfo,
  type BundleUnwinding,
  SymbolBundleWriter,
} from "../bundle/bundle_writer.ts";

export { DW_CFA, DW_EH_PE } from "../cfi/cfi_constants.ts";
export { type CfiMachine, cfiMachine } from "../cfi/cfi_machine.ts";

export { ExpressionTable, FrameRules } from "../cfi/frame_rules.ts";

export { type CodeLookup, FrameWalker, NOT_MAPPED, type StackCopy } from "../cfi/frame_walker.ts";
export { FrameSectionWriter } from "../cfi/frame_writer.ts";

export { ObjectCfi } from "../cfi/object_cfi.ts";
export { RowTable } from "../cfi/row_table.ts";
export { type CfiSource, FrameTable } from "../cfi/unwind_table.ts";
export {
  type Addr2LineOptions,
  Addr2LineText,
  type FrameFinder,
  type SymbolFinder,
} from "../dwarf/addr2line_text.ts";
export type {
  DataField,
  DataType,
  FunctionData,
  GlobalVariable,
  Location,
  Variable,
  VariableFinder,
  VariablePlace,
} from "../dwarf/data/variables.ts";
export {
  type CodeLines,
  DwarfContext,
  type Frame,
  type FrameBatch,
  type FunctionRanges,
} from "../dwarf/dwarf_context.ts";
export { DwarfError } from "../dwarf/dwarf_error.ts";
export { elfDwarfSections } from "../dwarf/elf_sections.ts";
export type { FunctionName } from "../dwarf/entry_names.ts";
export type { DwarfSections } from "../dwarf/sections.ts";
export { ObjectData } from "../resolver/object_data.ts";
