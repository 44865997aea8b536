import type { StatSeries } from "../recording/stat_series.ts";
import { Canvas, type Draw } from "../ui/canvas.tsx";
import type { ViewProps } from "../ui/context.ts";
import { duration, grouped } from "../ui/format.ts";
import { type JSX, useMemo } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";

/** The counts of `perf stat record`: their sums, and lines over the intervals. */
export function CountsCard({ open }: ViewProps): JSX.Element | null {
  const isCounted = open.index?.types.some(({ name }) => name === "STAT") === true;
  const { value = [] } = useQuery(
    isCounted ? "counts" : undefined,
    () => open.client.call("counts"),
  );
  if (value.length === 0) return null;
  const [first = value[0] as StatSeries] = value;
  const rounds = first.to.length;
  return (
    <div class="card counts">
      <h2>Counts</h2>
      <ul>
        {value.map((series) => (
          <li key={series.name}>
            <span class="count-name" title={series.name}>{series.name}</span>
            <span class="number">{sumText(series)}</span>
            {rounds > 1 && <CountLine series={series} />}
            {rounds > 1 && <small class="soft number">{mostText(series)}</small>}
          </li>
        ))}
      </ul>
      {rounds > 1 && (
        <p class="soft">
          {grouped(rounds)} intervals,{" "}
          {duration(first.to.at(-1) ?? 0)}; the top of each line is its highest rate.
        </p>
      )}
    </div>
  );
}

function valueText(value: number, unit: string): string {
  const digits = unit === "" ? 0 : 2;
  const text = value.toLocaleString("en-US", { maximumFractionDigits: digits });
  return unit === "" ? text : `${text} ${unit}`;
}

function sumText({ count, unit }: StatSeries): string {
  const counted = count.filter((value) => value !== undefined);
  return counted.length === 0
    ? "not counted"
    : valueText(counted.reduce((sum, value) => sum + value, 0), unit);
}

/** Rate of an interval per second; `undefined` if it was not counted. */
function rateOf({ count, length }: StatSeries, i: number): number | undefined {
  const [value, ns = 0] = [count[i], length[i]];
  return value === undefined || ns === 0 ? undefined : value / (ns / 1e9);
}

function mostOf(series: StatSeries): number {
  return series.to.reduce((most, _, i) => Math.max(most, rateOf(series, i) ?? 0), 0);
}

function mostText(series: StatSeries): string {
  return `≤ ${valueText(Math.round(mostOf(series)), series.unit)}/s`;
}

/** The rate over time; a count is of its whole interval, so its line is level. */
function CountLine({ series }: { readonly series: StatSeries }): JSX.Element {
  const draw = useMemo<Draw>(() => (context, width, height, colors) => {
    const { to, length } = series;
    const [most, last] = [Math.max(mostOf(series), 1e-9), Math.max(1, to.at(-1) ?? 1)];
    context.strokeStyle = colors.accent;
    context.lineWidth = 1.5;
    context.beginPath();
    let isOn = false;
    for (const [i, end] of to.entries()) {
      const rate = rateOf(series, i);
      if (rate === undefined) {
        isOn = false;
        continue;
      }
      const y = height - 2 - rate / most * (height - 5);
      const [left, right] = [(end - (length[i] ?? 0)) / last * width, end / last * width];
      if (isOn) context.lineTo(left, y);
      else context.moveTo(left, y);
      context.lineTo(right, y);
      isOn = true;
    }
    context.stroke();
  }, [series]);
  return <Canvas draw={draw} role="img" aria-label={`${series.name} per second over time`} />;
}
