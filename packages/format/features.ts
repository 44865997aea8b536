/**
 * The feature sections of a `perf.data` file: what the recording perf told of machine and events.
 *
 * @module
 */
export * from "./features/bpf.ts";
export * from "./features/build_id.ts";
export * from "./features/cmdline.ts";
export * from "./features/event_desc.ts";
export * from "./features/feature.ts";
export * from "./features/hiperf.ts";
export * from "./features/memory.ts";
export * from "./features/names.ts";
export * from "./features/pmu.ts";
export * from "./features/recording.ts";
export * from "./features/simpleperf.ts";
export * from "./features/strings.ts";
export * from "./features/time.ts";
export * from "./features/topology.ts";
export * from "./features/tracing_data.ts";
