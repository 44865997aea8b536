/**
 * The code that a trace executed, and the names of its places.
 *
 * @module
 */
export { bundledCode, bundlePlaces, CodeRecorder } from "../code/pt_bundle.ts";
export { PtCode, ThreadCode } from "../code/pt_code.ts";
export { missingCode, type PtFunction, PtNames, shortObject } from "../code/pt_names.ts";
export { type CounterEvent, PtSideband, Switches } from "../code/pt_sideband.ts";
export { PtThreads } from "../code/pt_threads.ts";
export { type OpenPtOptions, PtTrace, type TraceCode } from "../code/pt_trace.ts";
