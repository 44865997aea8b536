/**
 * Profiles in the formats that other tools open: folded stacks, speedscope, pprof, Firefox Profiler,
 * trace events, Callgrind.
 *
 * @module
 */
export * from "./branches.ts";
export * from "./byte_text.ts";
export * from "./call_text.ts";
export * from "./call_tree.ts";
export * from "./callgrind.ts";
export * from "./chrome.ts";
export * from "./call_writer.ts";
export * from "./chrome_calls.ts";
export * from "./perfetto.ts";
export * from "./perfetto_calls.ts";
export * from "./firefox.ts";
export { breakpadId } from "./firefox_tables.ts";
export * from "./flame_codec.ts";
export * from "./flame_colors.ts";
export * from "./flame_data.ts";
export * from "./flame_page.ts";
export * from "./flame_svg.ts";
export * from "./flame_text.ts";
export * from "./flame_tree.ts";
export * from "./folded.ts";
export * from "./message_bytes.ts";
export * from "./pprof.ts";
export * from "./speedscope.ts";
export * from "./script.ts";
export * from "./script_fields.ts";
export * from "./script_places.ts";
export * from "./script_pt.ts";
export * from "./script_rows.ts";
export * from "./script_text.ts";
export * from "./script_extras.ts";
export * from "./script_traces.ts";
export * from "./time_of_day.ts";
export * from "./data_source.ts";
export * from "./tree_text.ts";
export * from "./diff.ts";
export * from "./statistics.ts";
export * from "./annotate.ts";
export * from "./function_code.ts";
