import { KIND_COLORS, PLAIN_COLOR, PMU_COLORS } from "@perfdata/export/tree";
import { FUNCTION_KIND } from "@perfdata/profile";
import type { Coloring } from "../ui/state.ts";
import type { ProfileViewProps } from "../ui/context.ts";
import { type JSX, useMemo } from "../ui/preact.ts";

const LABELS = { kind: "kinds of code", object: "objects", pmu: "PMUs" } as const;

/** Maximum number of objects in the legend. */
const MOST = 6;

/** The legend of colors: of the objects with most functions, of kinds of code, or of PMUs. */
export function Legend(
  { open, facts, coloring, pmus }: Pick<ProfileViewProps, "open" | "facts"> & {
    readonly coloring: Coloring;
    readonly pmus: readonly string[] | undefined;
  },
): JSX.Element {
  const entries = useMemo(() => {
    if (coloring === "kind") return KIND_COLORS.map(({ label, color }) => ({ name: label, color }));
    if (coloring === "pmu") {
      return (pmus ?? []).map((name, pmu) => ({
        name,
        color: PMU_COLORS[pmu % PMU_COLORS.length] ?? PLAIN_COLOR,
      }));
    }
    const counts = new Map<string, { fn: number; count: number }>();
    const { object: objects, kind } = facts.functions;
    for (const [fn, object] of objects.entries()) {
      const isKernel = ((kind[fn] ?? 0) & FUNCTION_KIND.LEVEL) === FUNCTION_KIND.KERNEL;
      const name = isKernel ? "kernel" : facts.objects[object]?.name;
      if (name === undefined) continue;
      const known = counts.get(name);
      if (known === undefined) counts.set(name, { fn, count: 1 });
      else known.count++;
    }
    return [...counts].sort(([, a], [, b]) => b.count - a.count).slice(0, MOST)
      .map(([name, { fn }]) => ({ name, color: open.colors[fn] ?? PLAIN_COLOR }));
  }, [facts, open.colors, coloring, pmus]);
  return (
    <ul
      class="legend"
      aria-label={`Colors of ${LABELS[coloring]}`}
    >
      {entries.map(({ name, color }) => (
        <li key={name}>
          <span class="swatch" style={{ background: color }} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  );
}
