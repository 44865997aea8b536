/**
 * Trust in names, missing data, and remedies.
 *
 * @module
 */
export { FETCH, remedyText } from "../trust/remedies.ts";
export {
  causesText,
  misleadingLines,
  refusedLines,
  trustLines,
  type TrustLinesOptions,
  unverifiedLines,
} from "../trust/trust_lines.ts";
export {
  percent,
  trustJson,
  trustText,
  type TrustTextOptions,
  type UnwoundStacks,
  unwoundStacks,
  unwoundTable,
} from "../trust/trust_text.ts";
