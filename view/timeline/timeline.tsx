import type { ProfileFacts } from "../data/view_engine.ts";
import type { ProfileViewProps } from "../ui/context.ts";
import { type JSX, useState } from "../ui/preact.ts";
import { trackSort, type ViewState } from "../ui/state.ts";
import { type Range, useBrush } from "./brush.ts";
import { HeatMap } from "./heat_map.tsx";
import { LEVEL_COLORS, LEVEL_NAMES, THREAD_COLORS } from "./time_canvas.ts";
import { MarkTable, useMarks } from "./mark_table.tsx";
import { Rates } from "./rates.tsx";
import { around, panned, zoomed } from "./time_window.ts";
import { type Kind, Tracks } from "./tracks.tsx";

/** Returns the available kinds of tracks: CPUs only if the event's samples have one. */
function kindsOf({ cpus }: ProfileFacts, event: number): readonly Kind[] {
  return (cpus[event]?.length ?? 0) > 0 ? ["process", "thread", "cpu"] : ["process", "thread"];
}

/** Samples over time: a track for each process, thread or CPU. */
export function TimelineView(props: ProfileViewProps): JSX.Element {
  const { store, open: { pt, index }, facts } = props;
  const { state } = store;
  const last = Math.max(1, facts.duration);
  const [window, setWindow] = useState<Range>([0, last]);
  // Sums by time slice do not have fractions of seconds.
  const hasHeat = facts.step === undefined;
  const isHeat = hasHeat && state.by === "heat";
  const isRates = state.by === "rates";
  const shownMarks = useMarks(props);
  const [mark, setMark] = useState(-1);
  const markedAt = shownMarks?.marks.time[mark];
  const by = kindsOf(facts, state.event).find((kind) => kind === state.by) ?? "process";
  const [colored, setColored] = useState<readonly string[] | undefined>();
  const brush = useBrush(window, (range) => {
    store.set({ from: range?.[0], to: range?.[1], zoom: [] });
  });
  const range = brush.range ??
    (state.from === undefined && state.to === undefined
      ? undefined
      : [state.from ?? 0, state.to ?? last] as const);
  const zoom = (by: number, middle?: number) => setWindow(zoomed(window, by, last, 1000, middle));
  const pan = (by: number) => setWindow(panned(window, by, last));
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
    else if (event.key === "e") {
      store.set({ marks: state.marks === undefined ? "" : undefined });
    } else if (event.key === "0") setWindow([0, last]);
    else if (event.key === "z" && range !== undefined) setWindow(range);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
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
        <KindChoice {...props} by={isHeat ? "heat" : isRates ? "rates" : by} hasHeat={hasHeat} />
        {!isHeat && (
          <>
            {!isRates && <SortChoice {...props} by={by} />}
            {index !== undefined && !isRates && <MarksButton {...props} />}
            <ZoomButtons zoom={zoom} range={range} last={last} show={setWindow} />
            {!isRates && <LevelLegend threads={colored} />}
          </>
        )}
      </div>
      {isHeat
        ? <HeatMap {...props} />
        : isRates
        ? <Rates {...props} window={window} range={range} brush={brush} />
        : (
          <Tracks
            {...props}
            by={by}
            window={window}
            range={range}
            brush={brush}
            marks={shownMarks}
            markedAt={markedAt}
            onColored={setColored}
          />
        )}
      {!isHeat && !isRates && state.marks !== undefined && (
        <MarkTable
          {...props}
          shown={shownMarks}
          at={mark}
          choose={setMark}
          show={(row) => {
            const at = shownMarks?.marks.time[row];
            if (at !== undefined) setWindow(around(window, at, last));
          }}
        />
      )}
    </section>
  );
}

function KindChoice(
  { store, facts, by, hasHeat }: ProfileViewProps & {
    readonly by: ViewState["by"];
    /** Whether the heat map is available. */
    readonly hasHeat: boolean;
  },
): JSX.Element {
  return (
    <label>
      Tracks{" "}
      <select
        value={by}
        onChange={(event) => store.set({ by: event.currentTarget.value as ViewState["by"] })}
      >
        {kindsOf(facts, store.state.event).map((kind) => (
          <option key={kind} value={kind}>
            {kind === "cpu" ? "CPUs" : kind === "process" ? "processes" : "threads"}
          </option>
        ))}
        <option value="rates">none: rates of events</option>
        {hasHeat && <option value="heat">none: heat map of seconds</option>}
      </select>
    </label>
  );
}

/** Shows tracepoints and other events, or no longer. */
function MarksButton({ store }: ProfileViewProps): JSX.Element {
  const { marks } = store.state;
  return (
    <button
      type="button"
      aria-pressed={marks !== undefined}
      title="Tracepoints, breakpoints, and records of processes and lost data, as marks and as a table (e)"
      onClick={() => store.set({ marks: marks === undefined ? "" : undefined })}
    >
      Events
    </button>
  );
}

/** The choice of the order of tracks. */
function SortChoice(
  { store, by }: ProfileViewProps & { readonly by: Kind },
): JSX.Element {
  const usual = by === "cpu" ? "name" : "weight";
  return (
    <label>
      Sort{" "}
      <select
        value={store.state.sort ?? usual}
        onChange={(event) => store.set({ sort: trackSort(event.currentTarget.value) })}
      >
        <option value="weight">by weight</option>
        <option value="name">{by === "cpu" ? "by number" : "by name"}</option>
        <option value="start">by first sample</option>
      </select>
    </label>
  );
}

function ZoomButtons(
  { zoom, range, last, show }: {
    readonly zoom: (by: number) => void;
    readonly range: Range | undefined;
    readonly last: number;
    readonly show: (range: Range) => void;
  },
): JSX.Element {
  return (
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
        onClick={() => range !== undefined && show(range)}
      >
        Selection
      </button>
      <button
        type="button"
        title="Show everything (0)"
        onClick={() => show([0, last])}
      >
        All
      </button>
    </span>
  );
}

function LevelLegend(
  { threads }: {
    /** The threads that have colors, if colors show threads. */
    readonly threads: readonly string[] | undefined;
  },
): JSX.Element {
  const names = threads === undefined ? LEVEL_NAMES : [...threads, "other threads"];
  const colors = threads === undefined
    ? LEVEL_COLORS
    : [...THREAD_COLORS.slice(0, threads.length), THREAD_COLORS.at(-1)];
  return (
    <ul class="legend" aria-label="Colors">
      {names.map((name, level) => (
        <li key={name}>
          <span
            class="swatch"
            style={{ background: colors[level] }}
            aria-hidden="true"
          />
          {name}
        </li>
      ))}
    </ul>
  );
}
