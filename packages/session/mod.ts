/**
 * A `perf.data` file opened for analysis: the order of its records, the machine that was recorded,
 * its AUX streams.
 *
 * @module
 */
export { readAuxTrace } from "./auxtrace/aux_streams.ts";
export { type AuxStream, auxStreamBytes, type AuxTrace } from "./auxtrace/aux_trace.ts";
export { type Consumer, Engine, type EngineOptions, runEngine } from "./engine/mod.ts";
export { Machine } from "./machine/machine.ts";
export type { SampleFilter } from "./samples/resolve.ts";
