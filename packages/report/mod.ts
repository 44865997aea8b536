/**
 * Statistics of a recording: sampling rates, functions, processes.
 *
 * @module
 */
export type { FunctionOptions, FunctionRow } from "./functions/function_options.ts";
export { FunctionTable, functionTable } from "./functions/functions.ts";
export {
  functions,
  type FunctionsOptions,
  type NamedFunctionRow,
} from "./functions/functions_of.ts";
export { Overview } from "./processes.ts";
export { analyzeRate, type RateOptions, type RateReport } from "./rate/rate.ts";
