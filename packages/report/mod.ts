/**
 * Figures about a recording: sampling rates, functions, processes.
 *
 * @module
 */
export * from "./functions/function_chains.ts";
export * from "./functions/function_keys.ts";
export * from "./functions/function_numbers.ts";
export * from "./functions/function_text.ts";
export * from "./functions/comm_table.ts";
export * from "./functions/functions.ts";
export * from "./functions/functions_of.ts";
export * from "./json_line.ts";
export * from "./functions/function_names.ts";
export * from "./memory/access_stats.ts";
export * from "./memory/cache_lines.ts";
export * from "./memory/cache_lines_text.ts";
export * from "./processes.ts";
export * from "./rate/rate.ts";
export * from "./rate/rate_plot.ts";
export * from "./rate/rate_rows.ts";
export * from "./rate/rate_stream.ts";
export * from "./rate/rate_streams.ts";
export * from "./functions/profile_functions.ts";
export * from "./functions/sample_counts.ts";
export * from "./functions/sample_details.ts";
export * from "./sched/latency.ts";
export * from "./sched/latency_text.ts";
export * from "./sched/map.ts";
export * from "./sched/timehist.ts";
export * from "./sched/wakeups.ts";
export * from "./numbered_texts.ts";
