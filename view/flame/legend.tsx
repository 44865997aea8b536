import { KIND_COLORS, PLAIN_COLOR } from "@perfdata/export/flame-colors";
import type { ProfileViewProps } from "../ui/context.ts";
import { type JSX, useMemo } from "../ui/preact.ts";

/** Most objects that the legend names. */
const MOST = 6;

/** Which color stands for which object, those with most functions; or for which kind of code. */
export function Legend({ store, open, facts }: ProfileViewProps): JSX.Element {
  const { coloring } = store.state;
  const entries = useMemo(() => {
    if (coloring === "kind") return KIND_COLORS.map(({ label, color }) => ({ name: label, color }));
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
  }, [facts, open.colors, coloring]);
  return (
    <ul
      class="legend"
      aria-label={`Colors of ${coloring === "kind" ? "kinds of code" : "objects"}`}
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
