// As engine_calls.ts: names that choose samples, which are loaded on demand.
export { chooseSamples, isCompressed, plainCopy } from "@perfdata/edit/slice";
export { memoryFile } from "@perfdata/format/records";
