/**
 * Callers and callees: trees, flame graphs, the difference of two recordings, and the table of formats.
 *
 * @module
 */
export {
  type Diff,
  diff,
  type DiffChange,
  type DiffMeasure,
  type DiffOptions,
  type DiffRecording,
  diffRecordings,
  type DiffRow,
  type DiffSide,
  type SameObject,
} from "../diff/diff.ts";
export { CountChange, logGamma, type SideCount } from "../diff/statistics.ts";
export {
  changeColor,
  type FlameColoring,
  functionColors,
  KIND_COLORS,
  mixedColor,
  PLAIN_COLOR,
  PMU_COLORS,
} from "../flame/flame_colors.ts";
export {
  type FlameData,
  flameData,
  type FlameLimits,
  type FlameRows,
} from "../flame/flame_data.ts";
export { flameSvg, type FlameSvgOptions } from "../flame/flame_svg.ts";
export { percentage } from "../flame/flame_text.ts";
export { type FlameSelection, type FlameTree, flameTree } from "../flame/flame_tree.ts";
export { gzipped } from "../formats/gzipped.ts";
export {
  type Chunks,
  type ExportFormat,
  formatOf,
  type FormatOptions,
  FORMATS,
  type ProfileFormat,
} from "../formats/formats.ts";
export { flamePage } from "../page/flame_page.ts";
export { deflate, fromBase64, inflate, pack, toBase64, unpack } from "../page/pack.ts";
export {
  type PageFrom,
  type PageParts,
  pageText,
  type ReportParts,
  reportText,
} from "../page/page_text.ts";
export {
  inDepthFirstOrder,
  type StackRows,
  type ViewProfile,
  viewProfile,
} from "../page/view_profile.ts";
export { type CallTree, callTree, type CallTreeOptions } from "../tree/call_tree.ts";
export {
  type NestedNode,
  nestedTree,
  type ShownNode,
  type ShownTree,
  shownTree,
  treeLines,
  type TreeRow,
  treeRows,
  type TreeTextOptions,
} from "../tree/tree_text.ts";
