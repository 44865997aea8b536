/**
 * The code of functions with their samples.
 *
 * @module
 */
export { BranchCounts, type BranchPart } from "../branches/branch_counts.ts";
export { armDisassembler } from "../code/arm_disassembler.ts";
export {
  annotate,
  type AnnotatedCall,
  type AnnotatedCount,
  type AnnotatedLine,
  type Annotation,
  type CodeCounts,
  codeCounts,
  type FunctionTest,
} from "../code/annotate.ts";
export {
  type BundledFunctions,
  bundleFunctions,
  type FunctionsToBundle,
  keptLines,
} from "../code/bundle_functions.ts";
export {
  type BlockInsn,
  type CodeRun,
  codeRuns,
  type InsnRuns,
  insnRuns,
} from "../code/code_blocks.ts";
export {
  codeJson,
  type CodeLineOptions,
  codeLines,
  type SourceLineOptions,
  sourceLines,
  type SourceTexts,
} from "../code/code_lines.ts";
export {
  type CodeListing,
  codeListing,
  type ListedFrame,
  type ListedInsn,
  type ListingRow,
} from "../code/code_listing.ts";
export {
  type CodeInsn,
  type CodeOptions,
  type DecodedInsn,
  type Disassembler,
  type ReadCode,
  readCode,
  x86Disassembler,
} from "../code/function_code.ts";
export { type JumpLines, jumpLines, type RowJump } from "../code/jump_lines.ts";
export {
  findFunctions,
  type FoundFunctions,
  noSuchFunction,
  parseWanted,
  type ProfileSource,
  type Wanted,
} from "../code/wanted_function.ts";
