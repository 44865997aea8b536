import { floatAt, intAt } from "@perfdata/format/bytes";
import { FUNCTION_KIND } from "@perfdata/profile";
import type { FlameData } from "./flame_data.ts";
import { type FlameTree, NO_STACK } from "./flame_tree.ts";

/** Display name of a function. */
export function flameFunctionName(data: FlameData, number: number): string {
  const name = data.names[number] ?? "";
  if (name !== "") return name;
  const object = data.objects[data.functionObject[number] ?? -1] ?? "unknown";
  return object.startsWith("[") ? object : `[${object}]`;
}

/** Display name of a box: of its function, process or thread. */
export function boxName(data: FlameData, tree: FlameTree, box: number): string {
  const item = intAt(tree.item, box);
  if (item >= 0) return flameFunctionName(data, item);
  if (item === NO_STACK) return "[no stack]";
  const { comm, tid } = data.threads[-1 - item] ?? { comm: "?", tid: -1 };
  return tree.root === "thread" && tid >= 0 ? `${comm} ${tid}` : comm;
}

/**
 * Formats a share as percent, with useful digits.
 *
 * @example
 * ```ts
 * import { percentage } from "@perfdata/export/tree";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([percentage(1), percentage(0.123456), percentage(0.00001)], [
 *   "100%",
 *   "12.35%",
 *   "0.0010%",
 * ]);
 * ```
 */
export function percentage(share: number): string {
  const percent = share * 100;
  const digits = percent === 0 || percent >= 99.995 ? 0 : Math.abs(percent) < 0.1 ? 4 : 2;
  return `${percent.toFixed(digits)}%`;
}

/** Formats a weight with its unit: time for a clock, otherwise the number in groups of three. */
export function amount(value: number, unit: "nanoseconds" | "count"): string {
  if (unit === "count") return value.toLocaleString("en-US");
  const steps = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]] as const;
  for (const [size, name] of steps) {
    if (value >= size) return `${(value / size).toPrecision(4)} ${name}`;
  }
  return `${value} ns`;
}

/** Facts about a box, one line each. */
export function boxFacts(data: FlameData, tree: FlameTree, box: number, event: number): string[] {
  const { unit = "count", name = "" } = data.events[event] ?? {};
  const up = intAt(tree.parent, box);
  const item = intAt(tree.item, box);
  const node = intAt(tree.node, box);
  const value = floatAt(tree.value, box);
  const above = up < 0 ? tree.total : floatAt(tree.value, up);
  const lines = [
    `${percentage(tree.total === 0 ? 0 : value / tree.total)} of all` +
    (up < 0 ? "" : `, ${percentage(above === 0 ? 0 : value / above)} of its parent`) +
    `, ${percentage(tree.total === 0 ? 0 : floatAt(tree.self, box) / tree.total)} itself`,
    `${floatAt(tree.samples, box).toLocaleString("en-US")} samples, ${name} ` +
    amount(floatAt(tree.periods, box), unit),
  ];
  if (data.sides.length > 1) {
    const before = tree.baseTotal === 0 ? 0 : floatAt(tree.base, box) / tree.baseTotal;
    const now = tree.total === 0 ? 0 : value / tree.total;
    const change = now - before;
    lines.push(
      `${percentage(before)} before: ${change < 0 ? "−" : "+"}${percentage(Math.abs(change))}`,
    );
  }
  const object = item >= 0 ? data.objects[intAt(data.functionObject, item)] : undefined;
  if (object !== undefined) lines.push(object);
  const kind = item >= 0 ? intAt(data.functionKind, item) : 0;
  if ((kind & FUNCTION_KIND.UNVERIFIED) !== 0) {
    lines.push("name not verified: no build id recorded");
  }
  const file = node >= 0 ? data.files[intAt(data.file, node)] : undefined;
  if (file !== undefined) lines.push(`${file}:${data.line[node]}`);
  return lines;
}
