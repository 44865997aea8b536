/**
 * The page that shows a recording, as data. `pageText`, `reportText` and `flamePage` of
 * `@perfdata/export/tree` write it to a file.
 *
 * @example
 * ```ts
 * import { reportText } from "@perfdata/export/tree";
 * import { VIEW_PARTS } from "@perfdata/page";
 * import { assert } from "@std/assert";
 *
 * const page = await reportText(VIEW_PARTS, { profile: undefined });
 * assert(page.startsWith("<!DOCTYPE html>"));
 * ```
 *
 * @module
 */
export { VIEW_PARTS } from "./page_asset.ts";
