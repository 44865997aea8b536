import { floatAt, intAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_THROTTLE,
} from "@perfdata/format/constants";
import { LEVELS } from "../data/tracks.ts";
import { Canvas, type Draw } from "../ui/canvas.tsx";
import { binsOf } from "../ui/context.ts";
import { duration, grouped, seconds } from "../ui/format.ts";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import type { OpenRecording, Store } from "../ui/store.ts";
import { useQuery } from "../ui/use_query.ts";
import { type Range, useBrush } from "./brush.ts";
import { drawAxis, drawBins, drawRange, mostOf, stepOf } from "./time_canvas.ts";

/** Records about lost records and throttled events. */
const LOSSES: ReadonlySet<number> = new Set([
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_THROTTLE,
]);

/** The whole recording as a strip on which a range is selected. */
export function Strip({ store }: { readonly store: Store }): JSX.Element | null {
  const { open, state } = store;
  const { index, facts } = open ?? {};
  const [width, setWidth] = useState(600);
  const span = facts?.duration ?? index?.duration ?? 0;
  const whole = [0, Math.max(1, span)] as const;
  const room = Math.max(50, Math.floor(width / 2));
  const bins = facts === undefined ? room : binsOf(facts, 0, span, { room, event: state.event });
  const { pids, tids, cpus, event, weight } = state;
  const query = { kind: "all", event, weight, from: 0, to: span, bins, most: 1 } as const;
  const { value } = useQuery(
    facts?.timed ? JSON.stringify([query, pids, tids, cpus]) : undefined,
    async () => await open?.client.call("tracks", query, { pids, tids, cpus }),
  );
  // Before the samples are read, the blocks of the file give an approximation.
  const roughly = useMemo(() => index && roughBins(index, bins), [index, bins]);
  const losses = useMemo(() => lossTimes(index, facts), [index, facts]);
  const track = value?.tracks[0];
  const shown = track?.bins ?? (facts === undefined ? roughly : undefined);
  const brush = useBrush(whole, (range) => {
    store.set({ from: range?.[0], to: range?.[1], zoom: [] });
  });
  const { from = 0, to = span } = state;
  const range = brush.range ??
    (state.from === undefined && state.to === undefined ? undefined : [from, to] as const);
  const draw = useMemo<Draw>(() => (context, wide, high, colors) => {
    const axis = 16;
    if (shown !== undefined) {
      context.save();
      context.translate(0, axis);
      drawBins(context, shown, Math.max(1e-9, mostOf(shown)), wide, high - axis);
      context.restore();
    }
    drawAxis(context, { span: [0, whole[1]], width: wide, height: axis, text: seconds }, colors);
    context.fillStyle = colors.mark;
    for (const time of losses) context.fillRect(time / whole[1] * wide - 1, axis, 2, 6);
    if (range !== undefined) drawRange(context, range, whole, wide, high, colors);
    if (brush.at !== undefined) {
      context.fillStyle = colors.soft;
      context.fillRect(brush.at / whole[1] * wide, 0, 1, high);
    }
  }, [shown, losses, range?.[0], range?.[1], brush.at, span]);
  if (span === 0 || (facts !== undefined && !facts.timed)) return null;
  const keyed = (event: KeyboardEvent) => {
    if (event.key === "Escape") store.set({ from: undefined, to: undefined, zoom: [] });
    else if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    else {
      const step = whole[1] / 50 * (event.key === "ArrowLeft" ? -1 : 1);
      const begin = state.from ?? 0;
      const end = state.to ?? (state.from === undefined ? whole[1] / 10 : whole[1]);
      const [from, to] = moved([begin, end], step, whole[1], event.shiftKey);
      store.set({ from: Math.round(from), to: Math.round(to) }, true);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="strip">
      <Canvas
        draw={draw}
        onSize={setWidth}
        tabIndex={0}
        role="application"
        aria-label="Samples over time: drag to choose a range; arrow keys move it, with Shift its end, Escape shows everything"
        onKeyDown={keyed}
        {...brush.handlers}
      />
      <span class="strip-text" aria-live="polite">
        {range !== undefined
          ? `${seconds(range[0], stepOf(span, 2000))} – ${seconds(range[1], stepOf(span, 2000))} (${
            duration(range[1] - range[0])
          })`
          : brush.at !== undefined
          ? seconds(brush.at, stepOf(span, 2000))
          : losses.length > 0
          ? `${grouped(losses.length)} times records were lost or events paused (marked)`
          : ""}
      </span>
    </div>
  );
}

type Index = NonNullable<OpenRecording["index"]>;

/** Approximates the number of samples in each bin from the blocks of the file. */
function roughBins(index: Index, bins: number): Float64Array | undefined {
  if (index.duration === 0) return undefined;
  const sums = new Float64Array(bins * LEVELS);
  const { samples, from, to } = index.blocks;
  for (let block = 0; block < samples.length; block++) {
    const [start, end] = [floatAt(from, block), floatAt(to, block)].map((time) =>
      Math.min(bins - 1, Math.floor(time / index.duration * bins))
    ) as [number, number];
    const each = floatAt(samples, block) / (end - start + 1);
    for (let bin = start; bin <= end; bin++) {
      const at = bin * LEVELS + LEVELS - 1;
      sums[at] = floatAt(sums, at) + each;
    }
  }
  return sums;
}

/** Returns the times of lost records and throttled events, from the first sample or the index's start. */
function lossTimes(index: Index | undefined, facts: OpenRecording["facts"]): number[] {
  if (index?.start === undefined) return [];
  const by = facts === undefined ? 0 : Number(BigInt(index.start) - BigInt(facts.start));
  return [...index.marks.time.keys()].filter((i) => LOSSES.has(intAt(index.marks.type, i)))
    .map((i) => floatAt(index.marks.time, i) + by);
}

/** Moves a range, or only its end, by a step within `[0, last]`. */
function moved([begin, end]: Range, step: number, last: number, isEnd: boolean): Range {
  const [low, high] = isEnd ? [begin, end + step] : [begin + step, end + step];
  const from = Math.max(0, Math.min(last - (high - low), low));
  return [from, Math.min(last, Math.max(from + 1, isEnd ? high : from + high - low))];
}
