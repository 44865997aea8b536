/**
 * Formats of tracepoints, and the fields of a sample as text.
 *
 * @module
 */
export type { DynamicKind, Expression, NamedValue } from "../tracepoint/expression.ts";
export {
  parseTracepoint,
  type PrintFormat,
  type TracepointField,
  type TracepointFormat,
  tracepointHead,
} from "../tracepoint/format_file.ts";
export { TracepointFields } from "../tracepoint/tracepoint_fields.ts";
export { TracepointFormats } from "../tracepoint/tracepoint_formats.ts";
export {
  type FindSymbol,
  TracepointText,
  type TraceSymbol,
} from "../tracepoint/tracepoint_text.ts";
export type { BinaryOperator } from "../tracepoint/values.ts";
