/**
 * Figures about a recording: sampling rates, functions, processes.
 *
 * @module
 */
export * from "./function_chains.ts";
export * from "./function_keys.ts";
export * from "./function_numbers.ts";
export * from "./function_text.ts";
export * from "./comm_table.ts";
export * from "./functions.ts";
export * from "./functions_of.ts";
export * from "./json_line.ts";
export * from "./place_names.ts";
export * from "./processes.ts";
export * from "./rate.ts";
export * from "./rate_plot.ts";
export * from "./rate_rows.ts";
export * from "./rate_stream.ts";
export * from "./rate_streams.ts";
export * from "./sample_counts.ts";
export * from "./sched/latency.ts";
export * from "./sched/latency_text.ts";
export * from "./sched/map.ts";
export * from "./sched/timehist.ts";
export * from "./texts.ts";
