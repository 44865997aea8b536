/**
 * Profiles in the formats that other tools open: folded stacks, speedscope, pprof, Firefox Profiler,
 * trace events, Callgrind.
 *
 * @module
 */
export * from "./branches/branches.ts";
export * from "./formats/byte_text.ts";
export * from "./tree/call_text.ts";
export * from "./tree/call_tree.ts";
export * from "./formats/callgrind.ts";
export * from "./formats/chrome.ts";
export * from "./formats/call_writer.ts";
export * from "./formats/chrome_calls.ts";
export * from "./formats/perfetto.ts";
export * from "./formats/perfetto_calls.ts";
export * from "./formats/firefox.ts";
export { breakpadId } from "./formats/firefox_tables.ts";
export * from "./flame/flame_codec.ts";
export * from "./flame/flame_colors.ts";
export * from "./flame/flame_data.ts";
export * from "./flame/flame_page.ts";
export * from "./flame/flame_svg.ts";
export * from "./flame/flame_text.ts";
export * from "./flame/flame_tree.ts";
export * from "./formats/folded.ts";
export * from "./formats/message_bytes.ts";
export * from "./formats/pprof.ts";
export * from "./formats/speedscope.ts";
export * from "./script/script.ts";
export * from "./script/script_fields.ts";
export * from "./script/script_places.ts";
export * from "./script/script_pt.ts";
export * from "./script/script_rows.ts";
export * from "./script/script_text.ts";
export * from "./script/script_extras.ts";
export * from "./script/script_traces.ts";
export * from "./script/time_of_day.ts";
export * from "./tree/tree_text.ts";
export * from "./diff/diff.ts";
export * from "./diff/statistics.ts";
export * from "./code/annotate.ts";
export * from "./code/function_code.ts";
