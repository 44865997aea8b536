import { floatAt, intAt } from "@perfdata/format/bytes";
import type { PtFacts, PtInsns, PtPart } from "../recording/pt_service.ts";
import { FlameGraph } from "../flame/flame_graph.tsx";
import type { ProfileFacts } from "../data/view_engine.ts";
import { type Range, useBrush } from "../timeline/brush.ts";
import { drawAxis, drawRange, LEVEL_COLORS, stepOf } from "../timeline/time_canvas.ts";
import { panned, zoomed } from "../timeline/time_window.ts";
import { Canvas, type Draw } from "../ui/canvas.tsx";
import type { ViewProps } from "../ui/context.ts";
import { byteSize, duration, grouped, percent, seconds } from "../ui/format.ts";
import { Grid, type GridColumn, Share } from "../ui/grid.tsx";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { matches } from "../ui/matches.ts";
import { colorsOf } from "../ui/store.ts";
import { useQuery } from "../ui/use_query.ts";
import { bytesUpTo } from "./growth.ts";

/** Number of trace bytes that are decoded without a request; a byte has several branches. */
const MOST_BYTES = 1 << 20;
/** Maximum number of buffers with their own lane. */
const MOST_LANES = 8;

interface PtProps extends ViewProps {
  readonly facts: PtFacts;
}

/** Functions and calls over time of an Intel PT trace. Only the visible part is decoded. */
export function PtView(props: PtProps): JSX.Element {
  const { store, open, facts } = props;
  const { state } = store;
  const [width, setWidth] = useState(1200);
  const [wanted, setWanted] = useState("");
  const last = Math.max(1, facts.duration);
  const window: Range = state.window === undefined
    ? [0, last]
    : [Math.min(state.window[0], last - 1), Math.min(last, state.window[1])];
  const bytes = facts.buffers.reduce(
    (sum, buffer) => sum + bytesUpTo(buffer, window[1]) - bytesUpTo(buffer, window[0]),
    0,
  );
  const isDecoded = bytes <= MOST_BYTES || wanted === window.join();
  const query = { from: window[0], to: window[1], tid: state.thread, least: 0.4 / width };
  const { value, error, key } = useQuery(
    isDecoded ? JSON.stringify(query) : undefined,
    () => open.client.call("ptPart", query),
  );
  const part = isDecoded ? value : undefined;
  const show = (range: Range | undefined) => {
    const isAll = range === undefined || (range[0] <= 0 && range[1] >= last);
    store.set({ window: isAll ? undefined : [Math.floor(range[0]), Math.ceil(range[1])] });
  };
  const zoom = (by: number) => show(zoomed(window, by, last, 20));
  const pan = (by: number) => show(panned(window, by, last));
  const keyed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if ((event.target as HTMLElement).tagName === "SELECT") return;
    if (event.key === "+" || event.key === "w") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "a" || event.key === "ArrowLeft") pan(-0.25);
    else if (event.key === "d" || event.key === "ArrowRight") pan(0.25);
    else if (event.key === "0") show(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const matched = useMemo(() => matches(part?.names ?? [], state.search), [part, state.search]);
  if (facts.untimed !== undefined) {
    return (
      <p class="empty">
        The trace has no times ({facts.untimed}): perfdata pt shows what ran.
      </p>
    );
  }
  const isStale = key !== JSON.stringify(query);
  return (
    <section class="fill pt" aria-label="Intel PT" onKeyDown={keyed}>
      <PtBar
        {...props}
        window={window}
        part={part}
        bytes={bytes}
        last={last}
        show={show}
        zoom={zoom}
      />
      <Histogram
        facts={facts}
        span={[0, last]}
        shown={window}
        show={show}
        name="All of the trace"
      />
      {!isDecoded && (
        <>
          <Histogram facts={facts} span={window} show={show} name="What is in view" isTall />
          <p class="empty">
            Drag over a part of it, or use + : up to {byteSize(MOST_BYTES)}{" "}
            of the trace is decoded when it comes into view.{" "}
            <button type="button" onClick={() => setWanted(window.join())}>
              Decode about {byteSize(bytes)}
            </button>
          </p>
        </>
      )}
      {isDecoded && error !== undefined && <p class="empty wrong" role="alert">{error}</p>}
      {isDecoded && error === undefined && part === undefined && (
        <p class="empty" role="status">Decoding…</p>
      )}
      {part !== undefined && error === undefined && (
        <div class={`pt-parts${isStale ? " stale" : ""}`}>
          <div class="half">
            <Axis window={window} />
            <PtCalls {...props} part={part} matched={matched} show={show} onWidth={setWidth} />
          </div>
          <Lists {...props} part={part} matched={matched} window={window} />
        </div>
      )}
    </section>
  );
}

/** Properties of the toolbar. */
interface PtBarProps extends PtProps {
  readonly window: Range;
  /** The decoded part of the window. */
  readonly part: PtPart | undefined;
  /** Bytes of the trace in the window. */
  readonly bytes: number;
  readonly last: number;
  readonly show: (range: Range | undefined) => void;
  readonly zoom: (by: number) => void;
}

function PtBar(props: PtBarProps): JSX.Element {
  const { store, open: { facts: profile }, window, part, bytes, show, zoom } = props;
  const { state } = store;
  return (
    <div class="bar">
      <span class="group" role="group" aria-label="Zoom">
        <button type="button" title="Zoom in (+)" aria-label="Zoom in" onClick={() => zoom(0.5)}>
          +
        </button>
        <button type="button" title="Zoom out (-)" aria-label="Zoom out" onClick={() => zoom(2)}>
          −
        </button>
        <button
          type="button"
          title="Show everything (0)"
          disabled={state.window === undefined}
          onClick={() => show(undefined)}
        >
          All
        </button>
      </span>
      {profile?.timed === true && <SharedSelection {...props} profile={profile} />}
      {part !== undefined && part.threads.length > 0 && (
        <label>
          Thread{" "}
          <select
            value={part.tid}
            onChange={(event) => store.set({ thread: Number(event.currentTarget.value) })}
          >
            {part.threads.map(({ tid, name, time }) => (
              <option key={tid} value={tid}>{name} {tid} ({duration(time)})</option>
            ))}
          </select>
        </label>
      )}
      <span class="soft" aria-live="polite">
        {seconds(window[0], stepOf(window[1] - window[0], 2000))} –{" "}
        {seconds(window[1], stepOf(window[1] - window[0], 2000))} (
        {duration(window[1] - window[0])}),{" "}
        {part === undefined ? `about ${byteSize(bytes)} of the trace` : ""}
        {part !== undefined && `${byteSize(part.bytes)} of the trace decoded`}
      </span>
    </div>
  );
}

/** Buttons that copy the time range from or to the other views. */
function SharedSelection(
  { store, facts, profile, window, last, show }: PtBarProps & { readonly profile: ProfileFacts },
): JSX.Element {
  const { state } = store;
  // The other views count from the first sample.
  const apart = Number(BigInt(facts.start) - BigInt(profile.start));
  return (
    <span class="group" role="group" aria-label="Selection of the other views">
      <button
        type="button"
        disabled={state.from === undefined && state.to === undefined}
        title="Show the time that is selected in the other views"
        onClick={() =>
          show([
            Math.max(0, (state.from ?? 0) - apart),
            Math.min(last, (state.to ?? Infinity) - apart),
          ])}
      >
        Selection
      </button>
      <button
        type="button"
        title="Select the time that is in view, for the other views"
        onClick={() =>
          store.set({
            from: Math.max(0, Math.round(window[0] + apart)),
            to: Math.max(0, Math.round(window[1] + apart)) + 1,
          })}
      >
        Select
      </button>
    </span>
  );
}

/** The decoded calls, in order of time. */
function PtCalls(
  { store, part, matched, show, onWidth }: PtProps & {
    readonly part: PtPart;
    readonly matched: Uint8Array | undefined;
    readonly show: (range: Range | undefined) => void;
    readonly onWidth: (width: number) => void;
  },
): JSX.Element {
  const colors = useMemo(() => {
    const objects = [...new Set(part.objects)];
    return colorsOf({
      name: part.names,
      object: Int32Array.from(part.objects, (object) => objects.indexOf(object)),
      kind: new Uint8Array(part.names.length),
    });
  }, [part]);
  return (
    <FlameGraph
      boxes={part.boxes}
      names={part.names}
      objectOf={(fn) => fileName(part.objects[fn] ?? "")}
      colors={colors}
      matched={matched}
      search={store.state.search}
      isUpward={false}
      unit="nanoseconds"
      counted="time"
      label="Calls over time"
      note={(box) => {
        const from = floatAt(part.boxes.from, box);
        return `from ${seconds(from, 1)}, for ${duration(floatAt(part.boxes.to, box) - from)}`;
      }}
      zoomToBox={(box) =>
        show(
          box < 0 ? undefined : [floatAt(part.boxes.from, box), floatAt(part.boxes.to, box)],
        )}
      zoomTo={() => {}}
      pick={(fn) => store.set({ view: "sandwich", fn: part.names[fn] ?? "" })}
      onWidth={onWidth}
    />
  );
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function Axis({ window }: { readonly window: Range }): JSX.Element {
  const draw = useMemo<Draw>(() => (context, wide, high, colors) => {
    drawAxis(context, { span: window, width: wide, height: high, text: seconds }, colors);
  }, [window[0], window[1]]);
  return <Canvas class="pt-axis" draw={draw} aria-hidden="true" />;
}

/** Bytes of the trace over time by buffer, which shows how much was executed. */
function Histogram(
  { facts, span, shown, show, name, isTall = false }: {
    readonly facts: PtFacts;
    readonly span: Range;
    readonly shown?: Range;
    readonly show: (range: Range | undefined) => void;
    readonly name: string;
    readonly isTall?: boolean;
  },
): JSX.Element {
  const brush = useBrush(span, show);
  const { buffers } = facts;
  const lanes = buffers.length <= MOST_LANES ? buffers.map((buffer) => [buffer]) : [buffers];
  const range = brush.range ?? (shown?.[0] === span[0] && shown[1] === span[1] ? undefined : shown);
  const draw = useMemo<Draw>(() => (context, width, height, colors) => {
    const axis = 16;
    const tall = (height - axis) / lanes.length;
    const bins = Math.max(1, Math.floor(width / 2));
    const sums = lanes.map((lane) =>
      Float64Array.from({ length: bins }, (_, bin) => {
        const at = (of: number) => span[0] + (span[1] - span[0]) * of / bins;
        return lane.reduce(
          (sum, buffer) => sum + bytesUpTo(buffer, at(bin + 1)) - bytesUpTo(buffer, at(bin)),
          0,
        );
      })
    );
    const most = Math.max(1e-9, ...sums.map((lane) => lane.reduce((a, b) => Math.max(a, b), 0)));
    context.font = "11px system-ui, sans-serif";
    const labels: [string, number][] = [];
    for (const [number, lane] of sums.entries()) {
      const bottom = axis + (number + 1) * tall;
      context.fillStyle = LEVEL_COLORS[0];
      for (const [bin, sum] of lane.entries()) {
        if (sum === 0) continue;
        const high = Math.max(0.6, sum / most * (tall - 2));
        context.fillRect(bin * width / bins, bottom - high, width / bins, high);
      }
      const label = lanes.length === 1 && buffers.length > 1
        ? `${buffers.length} buffers`
        : buffers[number]?.label ?? "";
      labels.push([label, bottom - tall + 2]);
    }
    drawAxis(context, { span, width, height: axis, text: seconds }, colors);
    if (range !== undefined) drawRange(context, range, span, width, height, colors);
    context.textBaseline = "top";
    for (const [label, y] of tall >= 16 ? labels : []) {
      context.globalAlpha = 0.85;
      context.fillStyle = colors.back;
      context.fillRect(2, y, context.measureText(label).width + 6, 13);
      context.globalAlpha = 1;
      context.fillStyle = colors.text;
      context.fillText(label, 5, y + 1);
    }
    if (brush.at !== undefined) {
      context.fillStyle = colors.soft;
      context.fillRect((brush.at - span[0]) / (span[1] - span[0]) * width, 0, 1, height);
    }
  }, [facts, span[0], span[1], range?.[0], range?.[1], brush.at]);
  return (
    <div class={`pt-histogram${isTall ? " tall" : ""}`}>
      <Canvas
        draw={draw}
        tabIndex={0}
        role="application"
        aria-label={`${name}: bytes over time. Drag to choose a part; + and - zoom, arrow keys move, 0 shows everything`}
        {...brush.handlers}
      />
    </div>
  );
}

type FunctionColumn = "share" | "total" | "calls" | "insns" | "name";

const FUNCTION_COLUMNS: readonly GridColumn<FunctionColumn>[] = [
  { name: "share", title: "Self", class: "self", hint: "time in the function itself" },
  { name: "total", title: "Total", class: "number", hint: "from its calls to its returns" },
  { name: "calls", title: "Calls", class: "number" },
  { name: "insns", title: "Instructions", class: "number" },
  { name: "name", title: "Function" },
  { title: "Object", class: "object" },
];
const CALL_COLUMNS: readonly GridColumn[] = [
  { title: "Time", class: "number" },
  { title: "Duration", class: "number" },
  { title: "Thread", class: "number" },
  { title: "Instructions", class: "number" },
  { title: "Function", class: "name" },
];
const INSN_COLUMNS: readonly GridColumn[] = [
  { title: "Time", class: "number" },
  { title: "Thread", class: "number" },
  { title: "Address", class: "number" },
  { title: "Instruction", class: "text" },
  { title: "Function", class: "name" },
];
const LIST_NAMES = { functions: "Functions", calls: "Calls", insns: "Instructions" } as const;

interface ListProps extends PtProps {
  readonly part: PtPart;
  readonly matched: Uint8Array | undefined;
  readonly window: Range;
}

function Lists(props: ListProps): JSX.Element {
  const { store, part } = props;
  const { list } = store.state;
  return (
    <div class="half">
      <div class="bar" role="group" aria-label="What is listed">
        {(["functions", "calls", "insns"] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === list}
            onClick={() => store.set({ list: name })}
          >
            {LIST_NAMES[name]}
            {name === "calls" ? ` (${grouped(part.callCount)})` : ""}
            {name === "functions" ? ` (${grouped(part.functions.length)})` : ""}
          </button>
        ))}
      </div>
      {list === "functions"
        ? <FunctionList {...props} />
        : list === "calls"
        ? <CallList {...props} />
        : <InsnList {...props} />}
      {part.notes.map((note) => <p key={note} class="foot soft">{note}</p>)}
    </div>
  );
}

function FunctionList({ store, part }: ListProps): JSX.Element {
  const [at, setAt] = useState(-1);
  const [sort, setSort] = useState<{ by: FunctionColumn; up: boolean }>({ by: "share", up: false });
  const { search } = store.state;
  const rows = useMemo(() => {
    const names = part.functions.map(({ name }) => name);
    const found = matches(names, search);
    const key = (row: PtPart["functions"][number]) =>
      sort.by === "share" ? row.self : sort.by === "name" ? row.name : row[sort.by];
    return part.functions.filter((_, i) => found === undefined || found[i] === 1)
      .map((row) => ({ row, key: key(row) }))
      .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * (sort.up ? 1 : -1))
      .map(({ row }) => row);
  }, [part, sort, search]);
  const all = part.functions.reduce((sum, { self }) => sum + self, 0);
  const picked = (line: number) => store.set({ view: "sandwich", fn: rows[line]?.name ?? "" });
  return (
    <Grid
      id="pt-function"
      class="pt-functions"
      label={`${grouped(rows.length)} functions`}
      columns={FUNCTION_COLUMNS}
      sort={{
        ...sort,
        change: (by) =>
          setSort((before) => ({ by, up: before.by === by ? !before.up : by === "name" })),
      }}
      count={rows.length}
      height={24}
      at={at}
      choose={setAt}
      pick={picked}
      line={(line) => {
        const row = rows[line];
        if (row === undefined) return undefined;
        const { name, object, self, total, calls, insns, verified } = row;
        return {
          data: { fn: name, object, self, total, calls, insns },
          cells: (
            <>
              <Share name="self" part={self} all={all} text={duration(self)} />
              <div class="number" role="gridcell" title={percent(total, all)}>
                {calls === 0 ? "" : duration(total)}
              </div>
              <div class="number" role="gridcell">{calls === 0 ? "" : grouped(calls)}</div>
              <div class="number" role="gridcell">{grouped(insns)}</div>
              <div class="name" role="gridcell" title={name}>
                <button type="button" class="link" tabIndex={-1} onClick={() => picked(line)}>
                  {name}
                </button>
                {verified === false && <span class="tag">unverified</span>}
              </div>
              <div class="object soft" role="gridcell" title={object}>{fileName(object)}</div>
            </>
          ),
        };
      }}
    />
  );
}

function CallList({ store, part, matched }: ListProps): JSX.Element {
  const [at, setAt] = useState(-1);
  const { calls, names } = part;
  const order = useMemo(() => {
    const rows = [...Array(calls.length).keys()]
      .filter((row) => matched === undefined || matched[intAt(calls.fn, row)] === 1);
    // Ordered by start, callers first.
    return rows.sort((a, b) =>
      floatAt(calls.time, a) - floatAt(calls.time, b) ||
      intAt(calls.depth, a) - intAt(calls.depth, b) || a - b
    );
  }, [part, matched]);
  return (
    <Grid
      id="pt-call"
      class="pt-calls"
      label={`${grouped(order.length)} calls`}
      columns={CALL_COLUMNS}
      count={order.length}
      height={22}
      at={at}
      choose={setAt}
      pick={(line) => {
        const row = order[line] ?? -1;
        const [time = -1, long = -1] = [calls.time[row], calls.duration[row]];
        if (time >= 0 && long > 0) {
          store.set({ window: [Math.floor(time), Math.ceil(time + long)] });
        }
      }}
      line={(line) => {
        const row = order[line];
        if (row === undefined) return undefined;
        const [time, long] = [floatAt(calls.time, row), floatAt(calls.duration, row)];
        const depth = intAt(calls.depth, row);
        const name = names[intAt(calls.fn, row)] ?? "";
        return {
          data: {
            ...{ fn: name, depth, tid: intAt(calls.tid, row) },
            ...{ time: Math.floor(time), duration: Math.round(long) },
            insns: floatAt(calls.insns, row),
          },
          cells: (
            <>
              <div class="number" role="gridcell">{time < 0 ? "" : seconds(time)}</div>
              <div class="number" role="gridcell">{long < 0 ? "?" : duration(long)}</div>
              <div class="number" role="gridcell">{calls.tid[row]}</div>
              <div class="number" role="gridcell">{grouped(floatAt(calls.insns, row))}</div>
              <div class="name" role="gridcell" title={name}>
                <span style={{ paddingLeft: `${Math.min(40, depth) * 10}px` }} />
                {name}
                {calls.returned[row] === 0 && <span class="tag">no return seen</span>}
              </div>
            </>
          ),
        };
      }}
    />
  );
}

function InsnList({ open, window }: ListProps): JSX.Element {
  const [at, setAt] = useState(-1);
  const query = { from: window[0], to: window[1] };
  const { value, error } = useQuery<PtInsns>(
    JSON.stringify(query),
    () => open.client.call("ptInsns", query),
  );
  if (error !== undefined) return <p class="empty wrong" role="alert">{error}</p>;
  if (value === undefined) return <p class="empty" role="status">Decoding…</p>;
  return (
    <>
      <Grid
        id="pt-insn"
        class="pt-insns"
        label={`${grouped(value.rows.length)} instructions`}
        columns={INSN_COLUMNS}
        count={value.rows.length}
        height={20}
        at={at}
        choose={setAt}
        line={(line) => {
          const row = value.rows[line];
          return row === undefined ? undefined : {
            data: { ip: row.ip, place: row.place, tid: row.tid },
            cells: (
              <>
                <div class="number soft" role="gridcell">
                  {row.time < 0 || row.time === value.rows[line - 1]?.time ? "" : seconds(row.time)}
                </div>
                <div class="number soft" role="gridcell">{row.tid}</div>
                <div class="number soft" role="gridcell">{row.ip}</div>
                <div class="text" role="gridcell" title={row.text}>{row.text}</div>
                <div class="name soft" role="gridcell" title={row.place}>{row.place}</div>
              </>
            ),
          };
        }}
      />
      <p class="foot soft">
        {value.more
          ? `The first ${grouped(value.rows.length)} instructions of this time: zoom in for others.`
          : `${grouped(value.rows.length)} instructions`}
        {value.rows.length > 0 && value.rows.every(({ text }) => text === "")
          ? "; perfdata view FILE shows their texts"
          : ""}
      </p>
    </>
  );
}
