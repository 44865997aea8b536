import { FUNCTION_TRANSFORMS } from "../ui/function_transforms.ts";
import type { Line } from "./lines.ts";

/** A title, and keys with their effects. */
export type KeyGroup = readonly [string, readonly (readonly [string, string])[]];

/** The keys of the browser, in groups. */
const KEYS: readonly KeyGroup[] = [
  ["Move", [
    ["↑ ↓, k j", "a row; PgUp PgDn or Space: a page; Home End, g G: the ends"],
    ["Enter", "a menu of what can be done with the function"],
    ["+, →", "expand one level: what called the function, or what it called; or collapse"],
    ["e", "expand or collapse all levels of the row"],
    ["E, C", "expand all rows, collapse all"],
    ["←", "collapse, or go to the row above"],
    ["c", "callers or callees below a row"],
    ["Tab", "all functions, or the tree of calls"],
    ["s", "sort functions by total or by self"],
  ]],
  ["Narrow", [
    ["d", "to the object of the function at the cursor; again: to all"],
    ["t, p", "to a thread, to a process"],
    ["r", "to a range of time"],
    ["l", "to the last 10 seconds, the last 60, or all"],
    ["v", "another event"],
    ["L", "only rows of at least so many percent"],
    ["/", "search names: a part, or /an expression/; n N: next, previous"],
    ["u, U", "undo, and do again; Escape zooms out"],
  ]],
  ["Transform", [
    ...FUNCTION_TRANSFORMS.map(({ text, key, terminalKey = key }) => [terminalKey, text] as const),
    ["K, Y", "only code of the kernel, only code of programs; again: all"],
  ]],
  ["Show", [
    ["a", "the function line by line; H: its hottest line"],
    ["i", "inlined functions as functions of their own, or not"],
    ["w", "periods or samples"],
    ["V", "names in full, or shortened"],
    ["P", "write this view to a file, perf.hist.N"],
    ["|", "send this view as text to a command, such as less or tee FILE"],
    ["z", "stop a recording that is being made on the screen, and go on"],
    ["?", "this list"],
    ["Ctrl-Z", "suspend, as other programs"],
    ["q, Ctrl-C", "quit; q in a list or text: back"],
  ]],
];

/** A text that lists keys. */
export function helpLines(groups: readonly KeyGroup[]): Line[] {
  return groups.flatMap(([title, keys]): Line[] => [
    [{ text: title, style: "head" }],
    ...keys.map(([key, what]): Line => [{ text: `  ${key.padEnd(11)}`, style: "bold" }, {
      text: what,
    }]),
    [],
  ]);
}

/** The text for the key `?`. */
export const HELP_LINES: readonly Line[] = helpLines(KEYS);
