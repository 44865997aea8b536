import { eventLabel } from "@perfdata/profile";
import { LEVELS } from "../data/tracks.ts";
import { Canvas, type Draw } from "../ui/canvas.tsx";
import { binsOf } from "../ui/context.ts";
import { amount, duration, grouped, seconds } from "../ui/format.ts";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";
import { drawAxis, drawRange, mostOf, stepOf } from "./time_canvas.ts";
import type { TracksProps } from "./tracks.tsx";

/** Maximum number of events that have a line. */
const MOST = 20;

/** How often each event happened over time, as a line, in the selected processes, threads and CPUs. */
export function Rates(props: Omit<TracksProps, "by" | "onColored">): JSX.Element {
  const { store, open, facts, window, range, brush } = props;
  const { from, to, pids, tids, cpus } = store.state;
  const [width, setWidth] = useState(800);
  const all = [...facts.events.keys()].filter((event) => (facts.totals[event]?.samples ?? 0) > 0);
  const shown = all.slice(0, MOST);
  const room = Math.max(50, Math.floor(width / 2));
  const counted = from === undefined && to === undefined
    ? undefined
    : [from ?? 0, to ?? facts.duration + 1] as const;
  const queries = shown.map((event) => ({
    ...{ kind: "all", weight: "period", most: 1, event, range: counted } as const,
    from: window[0],
    to: window[1],
    bins: binsOf(facts, window[0], window[1], { room, event }),
  }));
  const key = JSON.stringify([queries, pids, tids, cpus]);
  const { value } = useQuery(
    key,
    () =>
      Promise.all(queries.map(async (query) => {
        const { tracks: [track] } = await open.client.call("tracks", query, { pids, tids, cpus });
        const bins = track?.bins ?? new Float64Array();
        const span = (query.to - query.from) / query.bins;
        return { event: query.event, bins, span, most: mostOf(bins), sum: track?.sum ?? 0 };
      })),
  );
  const axis = useMemo<Draw>(() => (context, wide, high, colors) => {
    drawAxis(context, { span: window, width: wide, height: high, text: seconds }, colors);
  }, [window]);
  return (
    <>
      <div class="tracks">
        <div class="track axis">
          <span class="track-label soft">{duration(window[1] - window[0])}</span>
          <Canvas draw={axis} onSize={setWidth} aria-hidden="true" />
        </div>
        <ul class="rates" aria-label="Rates of events">
          {(value ?? []).map(({ event, bins, span, most, sum }) => (
            <li key={event} class="track">
              <div class="track-label" title={labelOf(props, event)}>
                <span>{labelOf(props, event)}</span>
                <small class="soft">
                  {amount(sum, facts.events[event]?.unit ?? "count")} · ≤{" "}
                  {rateText(props, event, most / span)}
                </small>
              </div>
              <RateLine bins={bins} most={most} window={window} range={range} brush={brush} />
            </li>
          ))}
        </ul>
      </div>
      <p class="foot soft">
        The top of each line is its own highest rate (≤), after the sum of what is selected.{" "}
        {all.length > MOST && `The first ${MOST} of ${grouped(all.length)} events. `}
        {brush.at === undefined
          ? "Ctrl and wheel zoom; drag to select."
          : `${seconds(brush.at, stepOf(window[1] - window[0], 2000))}${
            ratesAt(props, value ?? [], brush.at)
          }`}
      </p>
    </>
  );
}

/** The rates of an event: weights by bin, and the nanoseconds of a bin. */
interface Rate {
  readonly event: number;
  readonly bins: Float64Array;
  readonly span: number;
}

function labelOf({ facts }: Pick<TracksProps, "facts">, event: number): string {
  const of = facts.events[event];
  return of === undefined ? "" : eventLabel(of);
}

/** Formats a rate; for a clock, as the count of used CPUs. */
function rateText({ facts }: Pick<TracksProps, "facts">, event: number, perNs: number): string {
  return facts.events[event]?.unit === "nanoseconds"
    ? `${perNs.toFixed(2)} CPUs`
    : `${amount(Math.round(perNs * 1e9), "count")}/s`;
}

/** The rates at a time, in words. */
function ratesAt(props: Pick<TracksProps, "facts" | "window">, rates: readonly Rate[], at: number) {
  return rates.map(({ event, bins, span }) => {
    const bin = Math.floor((at - props.window[0]) / span) * LEVELS;
    const sum = bins.subarray(Math.max(0, bin), Math.max(0, bin + LEVELS)).reduce(
      (a, b) => a + b,
      0,
    );
    return `; ${labelOf(props, event)} ${rateText(props, event, sum / span)}`;
  }).join("");
}

function RateLine(
  { bins, most, window, range, brush }: Pick<TracksProps, "window" | "range" | "brush"> & {
    readonly bins: Float64Array;
    readonly most: number;
  },
): JSX.Element {
  const draw = useMemo<Draw>(() => (context, width, height, colors) => {
    const count = bins.length / LEVELS;
    context.strokeStyle = colors.accent;
    context.lineWidth = 1.5;
    context.beginPath();
    for (let bin = 0; bin < count; bin++) {
      const sum = bins.subarray(bin * LEVELS, (bin + 1) * LEVELS).reduce((a, b) => a + b, 0);
      const y = height - 2 - sum / Math.max(most, 1e-9) * (height - 5);
      context.lineTo(bin / count * width, y);
      context.lineTo((bin + 1) / count * width, y);
    }
    context.stroke();
    if (range !== undefined) drawRange(context, range, window, width, height, colors);
    if (brush.at !== undefined) {
      context.fillStyle = colors.soft;
      context.fillRect((brush.at - window[0]) / (window[1] - window[0]) * width, 0, 1, height);
    }
  }, [bins, most, window, range?.[0], range?.[1], brush.at]);
  return <Canvas draw={draw} aria-hidden="true" {...brush.handlers} />;
}
