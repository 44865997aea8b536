/** Shares of the PMUs of a hybrid processor in each box of a flame graph. */
import { floatAt } from "@perfdata/format/bytes";
import { mixedColor, PMU_COLORS } from "@perfdata/export/tree";
import { percent } from "../ui/format.ts";

/** Weights of boxes by PMU. */
export interface PmuBoxes {
  /** By PMU of the event: weight of each box. */
  readonly ofPmus?: readonly Float64Array[];
}

/** Returns the color of a box: of its PMU, or a mixture by their shares. */
export function pmuColor({ ofPmus = [] }: PmuBoxes, box: number): string {
  return mixedColor(
    ofPmus.map((weights, pmu) => ({
      color: PMU_COLORS[pmu % PMU_COLORS.length] as string,
      weight: floatAt(weights, box),
    })),
  );
}

/** Formats the shares of the PMUs in a box: `98.2% cpu_core, 1.8% cpu_atom`. */
export function pmuNote(
  { ofPmus = [] }: PmuBoxes,
  pmus: readonly string[],
  box: number,
): string {
  const weights = ofPmus.map((weights) => floatAt(weights, box));
  const sum = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight, pmu) => ({ weight, name: pmus[pmu] ?? "?" }))
    .filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight)
    .map(({ weight, name }) => `${percent(weight, sum)} ${name}`).join(", ");
}
