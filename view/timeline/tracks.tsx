import { type Ran, ranOf, type Switched } from "../data/switched.ts";
import { tracedBy } from "../data/traced.ts";
import { COLORED, LEVELS, type Track, type Tracks as FoundTracks } from "../data/tracks.ts";
import { Canvas, type Draw } from "../ui/canvas.tsx";
import { binsOf, nameOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { alsoCalled, amount, duration, grouped, percent, seconds } from "../ui/format.ts";
import { type JSX, useEffect, useMemo, useRef, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";
import { type Marks, marksBy } from "../data/marks.ts";
import { floatAt, intAt } from "@perfdata/format/bytes";
import { markColor, type ShownMarks } from "./mark_table.tsx";
import { VirtualList } from "../ui/virtual_list.tsx";
import { shortName } from "@perfdata/profile";
import type { PtGrowth } from "@perfdata/pt/decode";
import type { Brush, Range } from "./brush.ts";
import {
  drawAxis,
  drawBins,
  drawMarks,
  drawRan,
  drawRange,
  drawTraced,
  LEVEL_COLORS,
  mostOf,
  RAN,
  stepOf,
  THREAD_COLORS,
  TRACED,
} from "./time_canvas.ts";

/** Maximum number of tracks; a line below them says how many are left out. */
const MOST = 2000;
/** Minimum and maximum height of a track, and total height that few tracks share, in pixels. */
const [LOW, HIGH, ROOM] = [34, 120, 360];

export type Kind = "process" | "thread" | "cpu";

/** Properties of {@linkcode Tracks}. */
export interface TracksProps extends ProfileViewProps {
  readonly by: Kind;
  /** The visible range of time. */
  readonly window: Range;
  /** The selected range of time. */
  readonly range: Range | undefined;
  readonly brush: Brush;
  readonly marks?: ShownMarks | undefined;
  /** Time of the mark that is chosen. */
  readonly markedAt?: number | undefined;
  /** Called with the threads that have colors, if colors show threads. */
  readonly onColored: (threads: readonly string[] | undefined) => void;
}

/** Draws the tracks, and describes them. */
export function Tracks(props: TracksProps): JSX.Element {
  const { store, open, facts, by, window, range, brush, onColored } = props;
  const { state } = store;
  const [width, setWidth] = useState(800);
  const [closed, setClosed] = useState<readonly number[]>([]);
  const [arranged, setArranged] = useState<Arrangement>({ hidden: [], pinned: [] });
  const [pointed, setPointed] = useState<Pointed | undefined>();
  const isSelected = state.from !== undefined || state.to !== undefined;
  const counted: Range = [state.from ?? 0, state.to ?? facts.duration + 1];
  const query = {
    kind: by,
    event: state.event,
    weight: state.weight,
    from: window[0],
    to: window[1],
    bins: binsOf(facts, window[0], window[1], {
      room: Math.max(50, Math.floor(width / 2)),
      event: state.event,
    }),
    most: MOST,
    range: isSelected ? counted : undefined,
    closed: by === "process" ? closed : [],
    sort: state.sort,
    byThread: by === "cpu",
  } as const;
  const { value } = useQuery(
    JSON.stringify(query),
    () => open.client.call("tracks", query, {}),
  );
  const unit = unitOf(props);
  // The weight of a bin in which something had a CPU all the time.
  const full = unit === "nanoseconds" && state.counts === "period" && facts.step === undefined
    ? (window[1] - window[0]) / query.bins
    : undefined;
  const levels = value?.colored === undefined ? LEVELS : COLORED + 1;
  const most = useMemo(
    () => Math.max(full ?? 1e-9, ...(value?.tracks ?? []).map(({ bins }) => mostOf(bins, levels))),
    [value, full],
  );
  useEffect(() => onColored(value?.colored), [value?.colored?.join()]);
  const switched = useSwitches(props);
  const ran = useMemo(
    () =>
      switched && {
        by: { [by]: ranOf(switched, by), thread: ranOf(switched, "thread") },
        more: switched.more,
      },
    [switched, by],
  );
  const traced = useTraced(props, switched);
  const { marks, markedAt } = props;
  const marked = useMemo(
    () =>
      marks && {
        [by]: marksBy(marks.marks, by, marks.rows),
        thread: marksBy(marks.marks, "thread", marks.rows),
      },
    [marks, by],
  );
  const { isChosen, choose } = chosenTracks(props);
  const shown = arrangedTracks(value?.tracks ?? [], arranged);
  const tall = Math.max(LOW, Math.min(HIGH, Math.floor(ROOM / Math.max(1, shown.length))));
  const axis = useMemo<Draw>(() => (context, wide, high, colors) => {
    drawAxis(context, { span: window, width: wide, height: high, text: seconds }, colors);
  }, [window]);
  const perCpu = full === undefined ? undefined : Math.max(1, counted[1] - counted[0]);
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
            count={shown.length}
            height={tall}
            render={(line) => {
              const track = shown[line];
              return track === undefined ? null : (
                <TrackLine
                  track={track}
                  most={most}
                  full={full}
                  colors={value.colored === undefined ? LEVEL_COLORS : THREAD_COLORS}
                  text={amount(track.sum, unit) +
                    (perCpu === undefined ? "" : ` · ${percent(track.sum, perCpu)}`)}
                  window={window}
                  range={range}
                  ran={track.kind === "all" ? undefined : ran?.by[track.kind]?.get(track.id)}
                  traced={track.kind === by ? traced?.[by].get(track.id) : undefined}
                  marks={marks?.marks}
                  marked={track.kind === "all" ? undefined : marked?.[track.kind]?.get(track.id)}
                  markedAt={markedAt}
                  brush={brush}
                  isChosen={isChosen(track)}
                  choose={(more) => choose(track, more)}
                  isOpen={!closed.includes(track.id)}
                  turn={() =>
                    setClosed(
                      closed.includes(track.id)
                        ? closed.filter((id) => id !== track.id)
                        : [...closed, track.id],
                    )}
                  isPinned={arranged.pinned.includes(keyOf(track))}
                  arrange={(how) => setArranged(rearranged(arranged, track, how))}
                  point={(at) => setPointed(at && { ...at, track })}
                />
              );
            }}
          />
        )}
      </div>
      {pointed !== undefined && brush.range === undefined && (
        <PointedTip
          {...props}
          pointed={pointed}
          bin={(window[1] - window[0]) / query.bins}
          marked={pointed.track.kind === "all"
            ? undefined
            : marked?.[pointed.track.kind]?.get(pointed.track.id)}
        />
      )}
      <p class="foot soft">
        {value !== undefined && countText(value, by)}
        {arranged.hidden.length > 0 && (
          <>
            <button
              type="button"
              class="link"
              onClick={() => setArranged({ ...arranged, hidden: [] })}
            >
              Show {arranged.hidden.length} hidden
            </button>
            {". "}
          </>
        )}
        {full !== undefined &&
          (most > full * 1.01
            ? `Full height is ${(most / full).toFixed(1)} CPUs, and the line one. `
            : "Full height is a CPU. ")}
        {ran !== undefined &&
          `The line below a track is when ${by === "cpu" ? "a thread had it" : "it had a CPU"}${
            ran.more ? ", as far as the first 100,000 context switches say" : ""
          }. `}
        {marks !== undefined && "Ticks at the top of a track are events. "}
        {traced?.[by] !== undefined &&
          "The bars at the bottom of a track are the Intel PT that was written, each track by its own most. "}
        {brush.at === undefined
          ? "Ctrl and wheel zoom; drag to select."
          : seconds(brush.at, stepOf(window[1] - window[0], 2000))}
      </p>
    </>
  );
}

/** Says how many tracks there are, and how many of them have no room. */
function countText({ tracks, count, left }: FoundTracks, by: Kind): string {
  const shown = tracks.filter(({ isNested }) => !isNested).length;
  const all = shown < count
    ? `The first ${grouped(shown)} of ${several(count, by)}. `
    : `${several(count, by)}. `;
  return left === 0 ? all : `${all}${several(left, "thread")} without a track. `;
}

/** Hidden tracks, and tracks that are shown first, by {@linkcode keyOf}. */
interface Arrangement {
  readonly hidden: readonly string[];
  readonly pinned: readonly string[];
}

function keyOf({ kind, id }: Track): string {
  return `${kind} ${id}`;
}

/** Hides a track, or pins it, or no longer. */
function rearranged(
  { hidden, pinned }: Arrangement,
  track: Track,
  how: "hide" | "pin",
): Arrangement {
  const key = keyOf(track);
  if (how === "hide") return { hidden: [...hidden, key], pinned };
  const others = pinned.filter((other) => other !== key);
  return { hidden, pinned: others.length < pinned.length ? others : [...pinned, key] };
}

/** The tracks that are shown: pinned ones first, each with the threads below it. */
function arrangedTracks(
  tracks: readonly Track[],
  { hidden, pinned }: Arrangement,
): readonly Track[] {
  if (hidden.length === 0 && pinned.length === 0) return tracks;
  const first: Track[] = [];
  const rest: Track[] = [];
  let [isPinned, isHidden] = [false, false];
  for (const track of tracks) {
    if (!track.isNested) {
      isPinned = pinned.includes(keyOf(track));
      isHidden = hidden.includes(keyOf(track));
    }
    if (isHidden || hidden.includes(keyOf(track))) continue;
    (isPinned ? first : rest).push(track);
  }
  return [...first, ...rest];
}

/** Position of the pointer: the track, the time, and the point of the page. */
interface Pointed {
  readonly track: Track;
  readonly time: number;
  readonly x: number;
  readonly y: number;
}

/** Functions of the stack that are shown at the pointer. */
const POINTED = 8;

function PointedTip(
  props: TracksProps & {
    readonly pointed: Pointed;
    readonly bin: number;
    readonly marked: readonly number[] | undefined;
  },
): JSX.Element | null {
  const { store, open, facts, pointed: { track, time, x, y }, bin } = props;
  const { event, weight } = store.state;
  // The query is for a bin, so a pointer that stays in the bin sends one query.
  const from = Math.floor(time / bin) * bin;
  const query = { event, weight, from, to: from + bin };
  const { kind, id } = track;
  const { value } = useQuery(
    JSON.stringify([kind, id, query]),
    () => open.client.call("sampleAt", { kind, id }, query, from + bin / 2),
  );
  const unit = unitOf(props);
  const isRight = x > innerWidth / 2;
  const isLow = y > innerHeight / 2;
  return (
    <div
      class="tip"
      role="presentation"
      style={{
        ...(isRight ? { right: innerWidth - x + 14 } : { left: x + 14 }),
        ...(isLow ? { bottom: innerHeight - y + 14 } : { top: y + 14 }),
      }}
    >
      <strong>{seconds(time, bin)}</strong> {track.label}
      {value === undefined ? <div class="soft">no samples</div> : (
        <>
          <div>
            {value.thread === track.label ? "" : `${value.thread}, `}
            {kind !== "cpu" && value.cpu >= 0 ? `CPU ${value.cpu}, ` : ""}
            {grouped(value.count)} {value.count === 1 ? "sample" : "samples"}
            {weight === "period" && `, ${amount(value.weight, unit)}`}
          </div>
          <ol class="tip-stack">
            {value.stack.slice(0, POINTED).map((fn, at) => (
              <li key={at}>{shortName(nameOf(facts, fn), 60)}</li>
            ))}
            {value.stack.length > POINTED && (
              <li class="soft">{value.stack.length - POINTED} more</li>
            )}
          </ol>
        </>
      )}
      {marksIn(props, [from, from + bin]).map((text) => <div key={text}>{text}</div>)}
    </div>
  );
}

/** Marks at the pointer that are shown. */
const POINTED_MARKS = 3;

/** The marks of a track in a range of time, as lines. */
function marksIn(
  { marks, marked = [] }: TracksProps & { readonly marked: readonly number[] | undefined },
  [from, to]: Range,
): readonly string[] {
  if (marks === undefined) return [];
  const { time, name, names, text } = marks.marks;
  const within = marked.filter((row) => floatAt(time, row) >= from && floatAt(time, row) < to);
  const lines = within.slice(0, POINTED_MARKS).map((row) =>
    `${seconds(floatAt(time, row))} ${names[intAt(name, row)]} ${shortName(text[row] ?? "", 80)}`
  );
  const more = within.length - lines.length;
  return more > 0 ? [...lines, `${grouped(more)} more events`] : lines;
}

function chosenTracks({ store }: TracksProps): {
  readonly isChosen: (track: Track) => boolean;
  /** Selects or deselects a track; `more` keeps the other selected ones. */
  readonly choose: (track: Track, more: boolean) => void;
} {
  const nameOf = ({ kind }: Track) =>
    kind === "cpu" ? "cpus" : kind === "process" ? "pids" : "tids";
  const isChosen = (track: Track) => store.state[nameOf(track)]?.includes(track.id) === true;
  return {
    isChosen,
    choose(track, more) {
      const name = nameOf(track);
      const before = store.state[name] ?? [];
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
  /** The weight of a bin in which something had a CPU all the time. */
  readonly full: number | undefined;
  /** Of the levels of its bins. */
  readonly colors: readonly string[];
  readonly window: Range;
  readonly range: Range | undefined;
  /** Ranges with a CPU, if known. */
  readonly ran: Ran | undefined;
  readonly traced: readonly PtGrowth[] | undefined;
  readonly marks: Marks | undefined;
  /** Marks of the track, in order of time. */
  readonly marked: readonly number[] | undefined;
  /** Time of the mark that is chosen. */
  readonly markedAt: number | undefined;
  readonly brush: Brush;
  /** Called with the place of the pointer, or when it leaves. */
  readonly point: (at: Pick<Pointed, "time" | "x" | "y"> | undefined) => void;
}

function TrackLine(
  props: TrackProps & {
    readonly text: string;
    readonly isChosen: boolean;
    readonly choose: (more: boolean) => void;
    /** Whether the tracks of its threads are shown. */
    readonly isOpen: boolean;
    /** Shows them, or no longer. */
    readonly turn: () => void;
    readonly isPinned: boolean;
    readonly arrange: (how: "hide" | "pin") => void;
  },
): JSX.Element {
  const { track, text, isChosen, choose, isOpen, turn, isPinned, arrange } = props;
  return (
    <div
      class={`track${isChosen ? " chosen" : ""}${track.isNested ? " nested" : ""}`}
      role="listitem"
    >
      <div class="track-head">
        {track.threads > 1 && (
          <button
            type="button"
            class="twist"
            aria-expanded={isOpen}
            aria-label={`Threads of ${track.label}`}
            title={`${track.threads} threads`}
            onClick={turn}
          >
            {isOpen ? "▾" : "▸"}
          </button>
        )}
        <button
          type="button"
          class="track-label"
          aria-pressed={isChosen}
          title={[
            `${track.label}: ${text}`,
            alsoCalled(track.others),
            "click to select, with Ctrl another one",
          ].filter((text) => text !== "").join("; ")}
          onClick={(event) => choose(event.ctrlKey || event.metaKey)}
        >
          <TrackName {...track} />
          <small class="soft">{text}</small>
        </button>
        <span class="track-buttons">
          {!track.isNested && (
            <button
              type="button"
              aria-pressed={isPinned}
              aria-label={`Pin ${track.label}`}
              title="Keep it first"
              onClick={() => arrange("pin")}
            >
              ↑
            </button>
          )}
          <button
            type="button"
            aria-label={`Hide ${track.label}`}
            title="Hide it"
            onClick={() => arrange("hide")}
          >
            ×
          </button>
        </span>
      </div>
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
  props: TrackProps,
): JSX.Element {
  const { track, most, full, colors: levels, window, range, ran, traced, brush, point } = props;
  const { marks, marked, markedAt } = props;
  const known = useRef(window);
  known.current = window;
  const draw = useMemo<Draw>(() => (context, width, height, colors) => {
    const below = ran === undefined ? 0 : RAN;
    const room = below + (traced === undefined ? 0 : TRACED);
    drawBins(context, track.bins, most, width, height - room, levels);
    if (full !== undefined && most > full * 1.01) {
      context.fillStyle = colors.line;
      context.fillRect(0, height - room - full / most * (height - room - 2), width, 1);
    }
    if (ran !== undefined) drawRan(context, ran, known.current, width, height, colors);
    if (traced !== undefined) {
      drawTraced(context, traced, known.current, width, height - below, colors);
    }
    if (marks !== undefined && marked !== undefined) {
      drawMarks(context, marks, { rows: marked, color: markColor }, known.current, width);
    }
    if (range !== undefined) drawRange(context, range, known.current, width, height, colors);
    for (const [at, color] of [[brush.at, colors.soft], [markedAt, colors.mark]] as const) {
      if (at === undefined) continue;
      const [from, to] = known.current;
      context.fillStyle = color;
      context.fillRect((at - from) / (to - from) * width, 0, 1, height);
    }
  }, [track, most, full, ran, traced, marks, marked, markedAt, range?.[0], range?.[1], brush.at]);
  const pointed = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [from, to] = known.current;
    const share = (event.clientX - left) / Math.max(1, width);
    point({ time: from + share * (to - from), x: event.clientX, y: event.clientY });
  };
  return (
    <Canvas
      draw={draw}
      aria-hidden="true"
      {...brush.handlers}
      onPointerMove={(event) => {
        brush.handlers.onPointerMove?.(event);
        pointed(event);
      }}
      onPointerLeave={(event) => {
        brush.handlers.onPointerLeave?.(event);
        point(undefined);
      }}
    />
  );
}
