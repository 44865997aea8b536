/**
 * What a figure may be trusted in, what is missing, and what helps.
 *
 * @module
 */
export {
  FETCH,
  mapsOf,
  type Remedied,
  remediesOf,
  remedyOf,
  remedyText,
} from "../trust/remedies.ts";
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
