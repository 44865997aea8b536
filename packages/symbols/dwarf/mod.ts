export { signedAddress } from "./bytes.ts";
export { DwarfError } from "./dwarf_error.ts";
export {
  DwarfContext,
  type DwarfOptions,
  type DwoRequest,
  type Frame,
  type FrameBatch,
  type FunctionName,
} from "./dwarf_context.ts";
export type { DwarfSections, SectionSource } from "./sections.ts";
