/**
 * Profiles in the formats of other tools: folded stacks, speedscope, pprof, Firefox Profiler, trace
 * events, Callgrind.
 *
 * @module
 */
export { annotate } from "./code/annotate.ts";
export { diff } from "./diff/diff.ts";
export { flameData } from "./flame/flame_data.ts";
export { flameSvg } from "./flame/flame_svg.ts";
export { callgrind } from "./formats/callgrind.ts";
export { chrome } from "./formats/chrome.ts";
export { firefox } from "./formats/firefox.ts";
export { folded } from "./formats/folded.ts";
export { perfetto } from "./formats/perfetto.ts";
export { pprof } from "./formats/pprof.ts";
export { speedscope } from "./formats/speedscope.ts";
export { type CallTree, callTree } from "./tree/call_tree.ts";
