/** A transform of the chosen function's stacks, in the menus of the page and of the terminal. */
export interface FunctionTransform {
  readonly text: string;
  readonly key: string;
  /** The key in the terminal, if the page's key has another meaning there. */
  readonly terminalKey?: string;
  /** The word before the colon: see `transformOf`. */
  readonly word: string;
  /** The name after the colon. */
  readonly about: "function" | "object" | "all";
}

/** The transforms, in the order of the menus. */
export const FUNCTION_TRANSFORMS: readonly FunctionTransform[] = [
  { text: "Focus on function", key: "f", word: "focus", about: "function" },
  { text: "Focus on its callers", key: "F", word: "callers", about: "function" },
  { text: "Merge function into its callers", key: "m", word: "merge", about: "function" },
  {
    text: "Drop samples with function",
    key: "d",
    terminalKey: "D",
    word: "drop",
    about: "function",
  },
  {
    text: "Collapse recursion of function",
    key: "r",
    terminalKey: "x",
    word: "recursion",
    about: "function",
  },
  { text: "Collapse all recursion", key: "R", word: "recursion", about: "all" },
  { text: "Collapse object", key: "o", word: "collapse", about: "object" },
  { text: "Only this object", key: "O", word: "only-object", about: "object" },
];
