export {
  type Addr2LineOptions,
  Addr2LineText,
  type FrameFinder,
  type SymbolFinder,
} from "./addr2line_text.ts";
export {
  DwarfContext,
  type DwarfOptions,
  type DwoRequest,
  type Frame,
  type FrameBatch,
  type FunctionRanges,
} from "./dwarf_context.ts";
export type {
  DataField,
  DataType,
  FunctionData,
  GlobalVariable,
  Location,
  Variable,
  VariableFinder,
  VariablePlace,
} from "./data/variables.ts";
export { DwarfError } from "./dwarf_error.ts";
export { elfDwarfSections } from "./elf_sections.ts";
export type { FunctionName } from "./entry_names.ts";
export type { DwarfSections } from "./sections.ts";
