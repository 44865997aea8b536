/** The style of a piece of text on a terminal. */
export type Style =
  | "plain"
  | "bold"
  | "dim"
  /** A share of at least 5 percent. */
  | "hot"
  /** A share of at least half a percent. */
  | "warm"
  /** The row at the cursor. */
  | "selected"
  /** A match of a search. */
  | "match"
  /** A heading. */
  | "head"
  /** A place in source code. */
  | "source"
  /** An arrow of a jump. */
  | "jump";

/** A piece of a line with its style. */
export interface Span {
  /** The text. */
  readonly text: string;
  /** Its style; plain by default. */
  readonly style?: Style;
}

/** A line. */
export type Line = readonly Span[];

/** Colors, attributes such as bold, or plain text. */
export type ColorMode = "colors" | "attributes" | "none";

/** The codes in `ESC [ … m`, with colors. */
const COLORS: Readonly<Record<Style, string>> = {
  plain: "",
  bold: "1",
  dim: "2",
  hot: "31",
  warm: "32",
  selected: "7",
  match: "1;33",
  head: "1",
  source: "36",
  jump: "35",
};

/** The codes without colors: important text is bold instead. */
const ATTRIBUTES: Readonly<Record<Style, string>> = {
  ...COLORS,
  hot: "1",
  warm: "",
  match: "1;4",
  source: "",
  jump: "",
};

/** Minimum shares in percent that are hot or warm, as in perf. */
const HOT = 5;
const WARM = 0.5;

/**
 * The style of a share, as perf colors it: red from 5%, green from 0.5%.
 *
 * @param percent The share in percent.
 *
 * @example
 * ```ts
 * import { shareStyle } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([7, 5, 4.9, 0.5, 0.4].map(shareStyle), ["hot", "hot", "warm", "warm", "plain"]);
 * ```
 */
export function shareStyle(percent: number): Style {
  return percent >= HOT ? "hot" : percent >= WARM ? "warm" : "plain";
}

/**
 * Adds the codes of a style to text. The text must have no control characters: see `visible`.
 *
 * @example
 * ```ts
 * import { painted } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(painted("7.00%", "hot", "colors"), "\x1b[31m7.00%\x1b[0m");
 * assertEquals(painted("7.00%", "hot", "none"), "7.00%");
 * ```
 */
export function painted(text: string, style: Style, mode: ColorMode): string {
  if (mode === "none" || text === "") return text;
  const code = (mode === "colors" ? COLORS : ATTRIBUTES)[style];
  return code === "" ? text : `\x1b[${code}m${text}\x1b[0m`;
}
