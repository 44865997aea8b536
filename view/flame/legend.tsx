import { KIND_COLORS, PLAIN_COLOR, PMU_COLORS } from "@perfdata/export/flame-colors";
import type { Coloring } from "../ui/state.ts";
import type { ProfileViewProps } from "../ui/context.ts";
import { type JSX, useMemo } from "../ui/preact.ts";

const LABELS = { kind: "kinds of code", object: "objects", pmu: "PMUs" } as const;

/** Most objects that the legend names. */
const MOST = 6;

/** Which color stands for which object, those with most functions; for which kind of code, or for which PMU. */
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
    const counts = new Map<number, { fn: number; count: number }>();
    for (const [fn, object] of facts.functions.object.entries()) {
      const known = counts.get(object);
      if (known === undefined) counts.set(object, { fn, count: 1 });
      else known.count++;
    }
    return [...counts].filter(([object]) => object >= 0)
      .sort(([, a], [, b]) => b.count - a.count).slice(0, MOST)
      .map(([object, { fn }]) => ({
        name: facts.objects[object]?.name ?? "?",
        color: open.colors[fn] ?? PLAIN_COLOR,
      }));
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
