import { helpLines, type KeyGroup } from "./help.ts";
import type { Line } from "./lines.ts";

const KEYS: readonly KeyGroup[] = [
  ["Back and forward", [
    ["↑ ↓, k j", "an instruction; PgUp PgDn: a page"],
    ["p, n", "to the previous or next source line, also in a called function"],
    ["P, N", "the same, but over calls"],
    ["c, C", "to the previous or next call"],
    ["u, o", "to the call of this function, or to where it returns"],
    ["g, G", "to the first or the last instruction, as Home and End"],
  ]],
  ["Find", [
    ["/, \\", "back or forward to a function, an address (0x401126), or a line (main.c:12)"],
    ["b, f", "the same again, back or forward"],
    ["t", "to a time: 12.5 of the recording's clock, 1.5s after the start, 10%"],
  ]],
  ["Show", [
    ["T", "another thread"],
    ["s", "decode more, to find more of the calls around"],
    ["?", "this list"],
    ["q, Ctrl-C", "quit; q in a list: back"],
  ]],
];

/** The text for the key `?` of a replay. */
export const REPLAY_HELP: readonly Line[] = helpLines(KEYS);
