/**
 * Parts of the engine that few recordings need. A module of its own, so that a bundler can put them
 * into a file that is loaded on demand.
 */
export { Parallelism, recordedCpus, THREAD_STATE, ThreadIntervals } from "@perfdata/session";
