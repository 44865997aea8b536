/**
 * Statistics of a recording: sampling rates, functions, processes.
 *
 * @module
 */
export { DEEPEST_FIELD, fieldAt } from "./data-types/data_field.ts";
export type {
  DataDecoder,
  DataInsn,
  InsnEffect,
  InsnFlow,
  MemoryOperand,
} from "./data-types/data_insn.ts";
export {
  countTypes,
  type ListedField,
  listFields,
  type TypeCount,
  type TypeCounts,
} from "./data-types/data_type_table.ts";
export {
  isTypeCalled,
  typeJsonLines,
  typeLines,
  unknownTypesText,
} from "./data-types/data_type_text.ts";
export {
  armDataDecoder,
  type CodeReader,
  DATA_CAUSES,
  type DataAccess,
  type DataCause,
  DataTypes,
} from "./data-types/data_types.ts";
export { addCount, type DataCount, TypeSums, type UnknownTypes } from "./data-types/type_sums.ts";
export { CommTable } from "./functions/comm_table.ts";
export {
  type ChainOrder,
  type FunctionChain,
  FunctionChains,
} from "./functions/function_chains.ts";
export type {
  BranchEnd,
  ContextColumn,
  End,
  FineColumn,
  NameColumn,
  OrderColumn,
  SortKey,
} from "./functions/function_columns.ts";
export {
  areOfBranches,
  areOfMemory,
  areOfTypes,
  FUNCTION_KEYS,
  functionColumns,
  type FunctionKey,
  keyOrder,
  keysOf,
  keyValue,
  markedText,
  nameText,
  sampleKeys,
  SORT_KEYS,
} from "./functions/function_keys.ts";
export { type CodeToList, type NameNeeds, PlaceNames } from "./functions/function_names.ts";
export {
  FunctionNumbers,
  LEVEL,
  levelOf,
  type NamedFunction,
} from "./functions/function_numbers.ts";
export type {
  FunctionOptions,
  FunctionRow,
  NamedFunctionRow,
  NameFilter,
} from "./functions/function_options.ts";
export {
  functionCells,
  functionCsvColumns,
  functionJson,
  functionLines,
  functionText,
  type FunctionTextOptions,
  percentText,
} from "./functions/function_text.ts";
export {
  type FoundInFiles,
  FunctionTable,
  functionTable,
  nameNeeds,
  type RowStack,
} from "./functions/functions.ts";
export { distinct, textRanks, Texts } from "./numbered_texts.ts";
