/**
 * The page that shows a recording.
 *
 * @module
 */
export { VIEW_PARTS } from "../page/page_asset.ts";
