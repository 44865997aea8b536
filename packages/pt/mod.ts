/**
 * Decodes the Intel PT of a recording: threads, executed code, times, calls.
 *
 * {@linkcode decodePt} follows the code by the packets of all buffers and reports what ran to a sink:
 * {@linkcode PtCalls} here, rows of lists in `@perfdata/pt/lists`, samples as with `--itrace` in
 * `@perfdata/pt/samples`.
 *
 * @module
 */
export { PtCalls } from "./calls/pt_calls.ts";
export { bundledCode } from "./code/pt_bundle.ts";
export { PtCode } from "./code/pt_code.ts";
export { PtNames } from "./code/pt_names.ts";
export { PtSideband } from "./code/pt_sideband.ts";
export { PtTrace } from "./code/pt_trace.ts";
export { PtClock } from "./decode/pt_clock.ts";
export { decodePt } from "./decode/pt_run.ts";
