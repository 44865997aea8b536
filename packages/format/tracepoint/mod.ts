/**
 * Descriptions of tracepoints from TRACING_DATA, and the text of their raw data.
 *
 * @module
 */

export {
  parseTracepoint,
  type PrintFormat,
  type TracepointField,
  type TracepointFormat,
  tracepointHead,
} from "./format_file.ts";
export type { DynamicKind, Expression, NamedValue } from "./expression.ts";
export type { BinaryOperator } from "./values.ts";
export { type FindSymbol, TracepointText, type TraceSymbol } from "./tracepoint_text.ts";
