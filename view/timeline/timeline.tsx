import { type Ran, ranOf } from "../data/switched.ts";
import { tracedBy } from "../data/traced.ts";
import type { Track } from "../data/tracks.ts";
import { Canvas, type Draw } from "../ui/canvas.tsx";
import { binsOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { amount, duration, grouped, seconds } from "../ui/format.ts";
import { type JSX, useMemo, useRef, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";
import { VirtualList } from "../ui/virtual_list.tsx";
import type { PtGrowth } from "@perfdata/pt/decode";
import { type Brush, type Range, useBrush } from "./brush.ts";
import { HeatMap } from "./heat_map.tsx";
import {
  drawAxis,
  drawBins,
  drawRan,
  drawRange,
  drawTraced,
  LEVEL_COLORS,
  LEVEL_NAMES,
  mostOf,
  RAN,
  stepOf,
  TRACED,
} from "./time_canvas.ts";

/** Most tracks that are shown; the line below says how many there are. */
const MOST = 2000;
/** Height of a track: of few of them, more. */
const [LOW, HIGH, ROOM] = [34, 120, 360];

/** Samples over time: a track for each CPU, process or thread. */
export function TimelineView(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { state } = store;
  const [width, setWidth] = useState(800);
  const [window, setWindow] = useState<Range>([0, Math.max(1, facts.duration)]);
  const last = Math.max(1, facts.duration);
  const kinds = facts.cpus.length > 0
    ? ["process", "thread", "cpu"] as const
    : ["process", "thread"] as const;
  // Sums by slice of time have no fractions of seconds.
  const hasHeat = facts.step === undefined;
  const isHeat = hasHeat && state.by === "heat";
  const by = kinds.find((kind) => kind === state.by) ?? "process";
  const query = {
    kind: by,
    event: state.event,
    weight: state.weight,
    from: window[0],
    to: window[1],
    bins: binsOf(facts, window[0], window[1], Math.max(50, Math.floor(width / 2))),
    most: MOST,
  } as const;
  const { value } = useQuery(
    isHeat ? undefined : JSON.stringify(query),
    () => open.client.call("tracks", query, {}),
  );
  const brush = useBrush(window, (range) => {
    store.set({ from: range?.[0], to: range?.[1], zoom: [] });
  });
  const range = brush.range ??
    (state.from === undefined && state.to === undefined
      ? undefined
      : [state.from ?? 0, state.to ?? last] as const);
  const most = useMemo(
    () => Math.max(1e-9, ...(value?.tracks ?? []).map(({ bins }) => mostOf(bins))),
    [value],
  );
  const zoom = (by: number, middle = (window[0] + window[1]) / 2) => {
    const span = Math.max(1000, Math.min(last, (window[1] - window[0]) * by));
    const share = (middle - window[0]) / (window[1] - window[0]);
    const from = Math.max(0, Math.min(last - span, middle - share * span));
    setWindow([from, from + span]);
  };
  const pan = (by: number) => {
    const span = window[1] - window[0];
    const from = Math.max(0, Math.min(last - span, window[0] + by * span));
    setWindow([from, from + span]);
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey && event.deltaX === 0) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) zoom(1.0015 ** event.deltaY, brush.at);
    else pan((event.deltaX || event.deltaY) / 800);
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "w") zoom(0.6);
    else if (event.key === "-") zoom(1 / 0.6);
    else if (event.key === "ArrowLeft" || event.key === "a") pan(-0.1);
    else if (event.key === "ArrowRight" || event.key === "d") pan(0.1);
    else if (event.key === "0") setWindow([0, last]);
    else if (event.key === "z" && range !== undefined) setWindow(range);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isChosen = ({ id }: Track) =>
    (by === "cpu" ? state.cpus : by === "process" ? state.pids : state.tids)?.includes(id) === true;
  const choose = (track: Track, more: boolean) => {
    const name = by === "cpu" ? "cpus" : by === "process" ? "pids" : "tids";
    const before = state[name] ?? [];
    const next = isChosen(track)
      ? before.filter((id) => id !== track.id)
      : more
      ? [...before, track.id]
      : [track.id];
    store.set({ [name]: next.length === 0 ? undefined : next, zoom: [] });
  };
  const { index, pt } = open;
  const { value: switched } = useQuery(
    index?.switches === true && !isHeat ? "switched" : undefined,
    () => open.client.call("switched"),
  );
  // As far from the first sample as from the start of the index.
  const ran = useMemo(() => {
    if (index?.start === undefined || !(Number(switched?.time.length) > 0)) return undefined;
    const by = Number(BigInt(index.start) - BigInt(facts.start));
    return switched && { ...switched, time: switched.time.map((time) => time + by) };
  }, [index, switched, facts]);
  const traced = useMemo(() => {
    if (pt === undefined || pt.untimed !== undefined) return undefined;
    const by = Number(BigInt(pt.start) - BigInt(facts.start));
    return tracedBy(pt.buffers, by, facts.threads, ran);
  }, [pt, facts, ran]);
  const ranBy = useMemo(() => ran === undefined ? undefined : ranOf(ran, by), [ran, by]);
  const unit = unitOf(props);
  const tall = Math.max(LOW, Math.min(HIGH, Math.floor(ROOM / (value?.tracks.length ?? 1))));
  const axis = useMemo<Draw>(() => (context, wide, high, colors) => {
    drawAxis(context, { span: window, width: wide, height: high, text: seconds }, colors);
  }, [window]);
  if (!facts.timed) {
    return (
      <p class="empty">
        {pt === undefined
          ? "Samples have no times: perf record -T records them."
          : "This is the sum of what ran. When it ran is in the view Intel PT."}
      </p>
    );
  }
  return (
    <section
      class="fill"
      aria-label="Timeline"
      {...isHeat ? {} : { onWheel: wheel, onKeyDown: keyed }}
    >
      <div class="bar">
        <label>
          Show{" "}
          <select
            value={isHeat ? "heat" : by}
            onChange={(event) => store.set({ by: event.currentTarget.value as typeof state.by })}
          >
            {kinds.map((kind) => (
              <option key={kind} value={kind}>
                a track for each {kind === "cpu" ? "CPU" : kind}
              </option>
            ))}
            {hasHeat && <option value="heat">seconds and their fractions</option>}
          </select>
        </label>
        {!isHeat && (
          <>
            <span class="group" role="group" aria-label="Zoom">
              <button
                type="button"
                title="Zoom in (+)"
                aria-label="Zoom in"
                onClick={() => zoom(0.6)}
              >
                +
              </button>
              <button
                type="button"
                title="Zoom out (-)"
                aria-label="Zoom out"
                onClick={() => zoom(1 / 0.6)}
              >
                −
              </button>
              <button
                type="button"
                title="Show what is selected (z)"
                disabled={range === undefined}
                onClick={() => range !== undefined && setWindow(range)}
              >
                Selection
              </button>
              <button
                type="button"
                title="Show everything (0)"
                onClick={() => setWindow([0, last])}
              >
                All
              </button>
            </span>
            <ul class="legend" aria-label="Colors">
              {LEVEL_NAMES.map((name, level) => (
                <li key={name}>
                  <span
                    class="swatch"
                    style={{ background: LEVEL_COLORS[level] }}
                    aria-hidden="true"
                  />
                  {name}
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
      {isHeat ? <HeatMap {...props} /> : (
        <>
          <div class="tracks">
            <div class="track axis">
              <span class="track-label soft">{duration(window[1] - window[0])}</span>
              <Canvas draw={axis} onSize={setWidth} aria-hidden="true" />
            </div>
            {value !== undefined && (
              <VirtualList
                role="list"
                aria-label="Tracks"
                tabIndex={0}
                count={value.tracks.length}
                height={tall}
                render={(line) => {
                  const track = value.tracks[line];
                  return track === undefined
                    ? null
                    : (
                      <div class={`track${isChosen(track) ? " chosen" : ""}`} role="listitem">
                        <button
                          type="button"
                          class="track-label"
                          aria-pressed={isChosen(track)}
                          title={`${track.label}: ${
                            amount(track.sum, unit)
                          }; click to select, with Ctrl another one`}
                          onClick={(event) => choose(track, event.ctrlKey || event.metaKey)}
                        >
                          <TrackName {...track} />
                          <small class="soft">{amount(track.sum, unit)}</small>
                        </button>
                        <TrackCanvas
                          track={track}
                          most={most}
                          window={window}
                          range={range}
                          ran={ranBy?.get(track.id)}
                          traced={traced?.[by].get(track.id)}
                          brush={brush}
                        />
                      </div>
                    );
                }}
              />
            )}
          </div>
          <p class="foot soft">
            {value === undefined
              ? ""
              : value.count > value.tracks.length
              ? `The ${grouped(value.tracks.length)} of ${grouped(value.count)} with most samples. `
              : `${several(value.count, by)}. `}
            {ran !== undefined &&
              `The line below a track is when ${by === "cpu" ? "a thread had it" : "it had a CPU"}${
                ran.more ? ", as far as the first 100,000 context switches say" : ""
              }. `}
            {traced !== undefined &&
              "The bars at the bottom of a track are the Intel PT that was written, each track by its own most. "}
            {brush.at === undefined
              ? "Ctrl and wheel zoom; drag to select."
              : seconds(brush.at, stepOf(window[1] - window[0], 2000))}
          </p>
        </>
      )}
    </section>
  );
}

/** What a track is called; where there is little room, its number stays. */
function TrackName({ label, id }: Track): JSX.Element {
  return (
    <span class="track-name">
      <span>{label.slice(0, label.length - `${id}`.length)}</span>
      <span>{id}</span>
    </span>
  );
}

/** So many CPUs, processes or threads. */
function several(count: number, by: "cpu" | "process" | "thread"): string {
  const one = by === "cpu" ? "CPU" : by;
  return `${grouped(count)} ${one}${count === 1 ? "" : by === "process" ? "es" : "s"}`;
}

function TrackCanvas(
  { track, most, window, range, ran, traced, brush }: {
    readonly track: Track;
    readonly most: number;
    readonly window: Range;
    readonly range: Range | undefined;
    /** When it had a CPU, where that is known. */
    readonly ran: Ran | undefined;
    /** How the Intel PT that it wrote grew. */
    readonly traced: readonly PtGrowth[] | undefined;
    readonly brush: Brush;
  },
): JSX.Element {
  const known = useRef(window);
  known.current = window;
  const draw = useMemo<Draw>(() => (context, width, height, colors) => {
    const below = ran === undefined ? 0 : RAN;
    const room = below + (traced === undefined ? 0 : TRACED);
    drawBins(context, track.bins, most, width, height - room);
    if (ran !== undefined) drawRan(context, ran, known.current, width, height, colors);
    if (traced !== undefined) {
      drawTraced(context, traced, known.current, width, height - below, colors);
    }
    if (range !== undefined) drawRange(context, range, known.current, width, height, colors);
    if (brush.at !== undefined) {
      const [from, to] = known.current;
      context.fillStyle = colors.soft;
      context.fillRect((brush.at - from) / (to - from) * width, 0, 1, height);
    }
  }, [track, most, ran, traced, range?.[0], range?.[1], brush.at]);
  return <Canvas draw={draw} aria-hidden="true" {...brush.handlers} />;
}
