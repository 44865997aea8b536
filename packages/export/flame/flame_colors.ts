import { floatAt, numberAt } from "@perfdata/format/bytes";
import type { FlameTree } from "./flame_tree.ts";
import { FUNCTION_KIND } from "@perfdata/profile";

/** Meaning of a box's color. */
export type FlameColoring = "object" | "kind" | "change";

/**
 * Hues that people with any common kind of color blindness can distinguish (Okabe and Ito),
 * lightened so that black text is readable.
 */
const HUES = [
  "#7cc4ec",
  "#4fb896",
  "#ece573",
  "#6ba6d6",
  "#e39161",
  "#dda1c4",
  "#b9c97a",
];

const KERNEL_COLOR = "#e8b04f";

/** Colors by kind, with their labels. */
export const KIND_COLORS: readonly { readonly label: string; readonly color: string }[] = [
  { label: "user", color: "#7cc4ec" },
  { label: "kernel", color: KERNEL_COLOR },
  { label: "JIT", color: "#4fb896" },
  { label: "other", color: "#b8b8b8" },
  { label: "inlined", color: "#dda1c4" },
];

/**
 * Colors of the PMUs of a hybrid processor, which differ in brightness as much as in hue, since
 * they are mixed.
 */
export const PMU_COLORS: readonly string[] = ["#7cc4ec", "#e39161", "#ece573", "#4fb896"];

/** Mixes colors by weight; {@linkcode PLAIN_COLOR} if the weights are 0. */
export function mixedColor(
  parts: readonly { readonly color: string; readonly weight: number }[],
): string {
  const sum = parts.reduce((sum, { weight }) => sum + weight, 0);
  if (sum === 0) return PLAIN_COLOR;
  const mixed = (at: number) =>
    Math.round(
      parts.reduce(
        (all, { color, weight }) => all + parseInt(color.slice(at, at + 2), 16) * weight,
        0,
      ) / sum,
    ).toString(16).padStart(2, "0");
  return `#${mixed(1)}${mixed(3)}${mixed(5)}`;
}

/** Color of a process, a thread, or unknown code. */
export const PLAIN_COLOR = "#c9ccd1";

/** Lightens or darkens a color slightly, so that neighbours differ. */
function shade(color: string, by: number): string {
  const part = (at: number) => {
    const value = parseInt(color.slice(at, at + 2), 16);
    const moved = by < 0 ? value * (1 + by) : value + (255 - value) * by;
    return Math.round(moved).toString(16).padStart(2, "0");
  };
  return `#${part(1)}${part(3)}${part(5)}`;
}

function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h ^ h >>> 15) >>> 0;
}

/**
 * Color of a change of share: blue for a decrease, orange for an increase, gray for none.
 *
 * @param change difference of the shares, -1 to 1
 */
export function changeColor(change: number): string {
  // A change of a fifth has the full color; the root makes small changes visible.
  const strength = Math.min(1, Math.sqrt(Math.abs(change) / 0.2));
  const from = [226, 226, 226];
  const to = change < 0 ? [72, 148, 214] : [232, 120, 40];
  return `#${
    from.map((value, i) =>
      Math.round(value + (numberAt(to, i) - value) * strength).toString(16).padStart(2, "0")
    ).join("")
  }`;
}

/** Colors of functions by object or by kind. */
export function functionColors(
  data: {
    readonly names: readonly string[];
    readonly functionObject: ArrayLike<number>;
    readonly functionKind: ArrayLike<number>;
  },
  coloring: "object" | "kind",
): string[] {
  return data.names.map((name, number) => {
    const kind = data.functionKind[number] as number;
    const object = data.functionObject[number] as number;
    const by = (hash(name) % 9 - 4) / 30;
    if (coloring === "kind") {
      const at = kind & FUNCTION_KIND.INLINED ? 4 : kind & FUNCTION_KIND.LEVEL;
      return shade(KIND_COLORS[at]?.color ?? PLAIN_COLOR, by);
    }
    // The kernel, its modules and BPF programs share a hue in both colorings.
    if ((kind & FUNCTION_KIND.LEVEL) === FUNCTION_KIND.KERNEL) return shade(KERNEL_COLOR, by);
    if (object < 0) return shade(PLAIN_COLOR, by);
    const hue = HUES[object % HUES.length] ?? PLAIN_COLOR;
    return shade(hue, by);
  });
}

/** Change of a box's share against the base. */
export function shareChange(tree: FlameTree, box: number): number {
  const now = tree.total === 0 ? 0 : floatAt(tree.value, box) / tree.total;
  const before = tree.baseTotal === 0 ? 0 : floatAt(tree.base, box) / tree.baseTotal;
  return now - before;
}
