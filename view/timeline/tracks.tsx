import { type Ran, ranOf, type Switched } from "../data/switched.ts";
import { tracedBy } from "../data/traced.ts";
import type { Track } from "../data/tracks.ts";
import { Canvas, type Draw } from "../ui/canvas.tsx";
import { binsOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { alsoCalled, amount, duration, grouped, seconds } from "../ui/format.ts";
import { type JSX, useMemo, useRef, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";
import { VirtualList } from "../ui/virtual_list.tsx";
import type { PtGrowth } from "@perfdata/pt/decode";
import type { Brush, Range } from "./brush.ts";
import {
  drawAxis,
  drawBins,
  drawRan,
  drawRange,
  drawTraced,
  mostOf,
  RAN,
  stepOf,
  TRACED,
} from "./time_canvas.ts";

/** Maximum number of tracks; a line below them shows the number of all. */
const MOST = 2000;
/** Minimum and maximum height of a track, and total height that few tracks share, in pixels. */
const [LOW, HIGH, ROOM] = [34, 120, 360];

/** Kind of tracks. */
export type Kind = "process" | "thread" | "cpu";

/** Properties of {@linkcode Tracks}. */
export interface TracksProps extends ProfileViewProps {
  readonly by: Kind;
  /** The visible range of time. */
  readonly window: Range;
  /** The selected range of time. */
  readonly range: Range | undefined;
  readonly brush: Brush;
}

/** The tracks with their labels and notes. */
export function Tracks(props: TracksProps): JSX.Element {
  const { store, open, facts, by, window, range, brush } = props;
  const { state } = store;
  const [width, setWidth] = useState(800);
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
    JSON.stringify(query),
    () => open.client.call("tracks", query, {}),
  );
  const most = useMemo(
    () => Math.max(1e-9, ...(value?.tracks ?? []).map(({ bins }) => mostOf(bins))),
    [value],
  );
  const switched = useSwitches(props);
  const ran = useMemo(
    () => switched && { by: ranOf(switched, by), more: switched.more },
    [switched, by],
  );
  const traced = useTraced(props, switched)?.[by];
  const { isChosen, choose } = chosenTracks(props);
  const unit = unitOf(props);
  const tall = Math.max(LOW, Math.min(HIGH, Math.floor(ROOM / (value?.tracks.length ?? 1))));
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
        {value !== undefined && (
          <VirtualList
            role="list"
            aria-label="Tracks"
            tabIndex={0}
            count={value.tracks.length}
            height={tall}
            render={(line) => {
              const track = value.tracks[line];
              return track === undefined ? null : (
                <TrackLine
                  track={track}
                  most={most}
                  window={window}
                  range={range}
                  ran={ran?.by.get(track.id)}
                  traced={traced?.get(track.id)}
                  brush={brush}
                  unit={unit}
                  isChosen={isChosen(track)}
                  choose={(more) => choose(track, more)}
                />
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
  );
}

/** Returns which tracks are selected, and a function that selects them. */
function chosenTracks({ store, by }: TracksProps): {
  readonly isChosen: (track: Track) => boolean;
  /** Selects or deselects a track; `more` keeps the other selected ones. */
  readonly choose: (track: Track, more: boolean) => void;
} {
  const name = by === "cpu" ? "cpus" : by === "process" ? "pids" : "tids";
  const before = store.state[name] ?? [];
  const isChosen = ({ id }: Track) => before.includes(id);
  return {
    isChosen,
    choose(track, more) {
      const next = isChosen(track)
        ? before.filter((id) => id !== track.id)
        : more
        ? [...before, track.id]
        : [track.id];
      store.set({ [name]: next.length === 0 ? undefined : next, zoom: [] });
    },
  };
}

/** Returns context switches, with times relative to the first sample. */
function useSwitches({ open, facts }: ProfileViewProps): Switched | undefined {
  const { index } = open;
  const { value: switched } = useQuery(
    index?.switches === true ? "switched" : undefined,
    () => open.client.call("switched"),
  );
  return useMemo(() => {
    if (index?.start === undefined || !(Number(switched?.time.length) > 0)) return undefined;
    const by = Number(BigInt(index.start) - BigInt(facts.start));
    return switched && { ...switched, time: switched.time.map((time) => time + by) };
  }, [index, switched, facts]);
}

/** Returns the growth of Intel PT by process, thread or CPU. */
function useTraced(
  { open: { pt }, facts }: ProfileViewProps,
  switched: Switched | undefined,
): ReturnType<typeof tracedBy> | undefined {
  return useMemo(() => {
    if (pt === undefined || pt.untimed !== undefined) return undefined;
    const by = Number(BigInt(pt.start) - BigInt(facts.start));
    return tracedBy(pt.buffers, by, facts.threads, switched);
  }, [pt, facts, switched]);
}

/** Content of a track. */
interface TrackProps {
  readonly track: Track;
  readonly most: number;
  readonly window: Range;
  readonly range: Range | undefined;
  /** Ranges with a CPU, if known. */
  readonly ran: Ran | undefined;
  /** Growth of its Intel PT. */
  readonly traced: readonly PtGrowth[] | undefined;
  readonly brush: Brush;
}

function TrackLine(
  props: TrackProps & {
    readonly unit: ReturnType<typeof unitOf>;
    readonly isChosen: boolean;
    readonly choose: (more: boolean) => void;
  },
): JSX.Element {
  const { track, unit, isChosen, choose } = props;
  return (
    <div class={`track${isChosen ? " chosen" : ""}`} role="listitem">
      <button
        type="button"
        class="track-label"
        aria-pressed={isChosen}
        title={[
          `${track.label}: ${amount(track.sum, unit)}`,
          alsoCalled(track.others),
          "click to select, with Ctrl another one",
        ].filter((text) => text !== "").join("; ")}
        onClick={(event) => choose(event.ctrlKey || event.metaKey)}
      >
        <TrackName {...track} />
        <small class="soft">{amount(track.sum, unit)}</small>
      </button>
      <TrackCanvas {...props} />
    </div>
  );
}

/** The name of a track; its number stays visible if space is short. */
function TrackName({ label, id }: Track): JSX.Element {
  return (
    <span class="track-name">
      <span>{label.slice(0, label.length - `${id}`.length)}</span>
      <span>{id}</span>
    </span>
  );
}

/** Formats a number of CPUs, processes or threads. */
function several(count: number, by: "cpu" | "process" | "thread"): string {
  const one = by === "cpu" ? "CPU" : by;
  return `${grouped(count)} ${one}${count === 1 ? "" : by === "process" ? "es" : "s"}`;
}

function TrackCanvas(
  { track, most, window, range, ran, traced, brush }: TrackProps,
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
