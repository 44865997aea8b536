/**
 * The Intel PT of a recording: its synthesized samples, its clocks, and rows of samples.
 *
 * `@perfdata/pt/decode` finds the executed code, decodes the packets of all buffers (`decodePt`), and
 * reports the execution to a sink: calls, rows of lists, samples as with `--itrace`.
 *
 * @module
 */
export { clockRatios, PtClock } from "./decode/pt_clock.ts";
export { pieceEnd, type StreamPlace } from "./decode/pt_pieces.ts";
export {
  DEFAULT_ITRACE,
  type ItraceOptions,
  type ItracePeriod,
  parseItrace,
  parseSampleItrace,
} from "./samples/itrace.ts";
export {
  BRANCH_WORDS,
  CHAIN_WORDS,
  DATA_WORDS,
  ERROR_TEXTS,
  IP_FLAG,
  PtSampleRows,
  SAMPLE,
  SAMPLE_WORD,
  SAMPLE_WORDS,
} from "./samples/pt_sample_rows.ts";
