import { type ProfileWeight, profileWeight } from "@perfdata/profile";
import type { DiffMeasure } from "@perfdata/export/tree";
import type { FlameRoot } from "../data/flame_roots.ts";
import type { Side } from "../data/comparison.ts";
import type { TrackSort } from "../data/tracks.ts";
import type { Shown } from "../data/view_engine.ts";

/** The views, in the order of their tabs and of {@linkcode viewKey}. */
export const VIEWS = [
  "overview",
  "timeline",
  "flame",
  "functions",
  "sandwich",
  "source",
  "tree",
  "compare",
  "records",
  "pt",
] as const;

/** Views that can have the code of the chosen function beside them. */
export const BESIDE: ReadonlySet<ViewName> = new Set(["flame", "functions", "sandwich", "tree"]);

/** The key of each view. Views that a recording does not have keep their keys. */
const VIEW_KEYS = "123456789p";

/** Measures of a comparison. */
const MEASURES: readonly DiffMeasure[] = ["total", "samples", "time", "period"];

export type ViewName = typeof VIEWS[number];

export function viewKey(view: ViewName): string {
  return VIEW_KEYS[VIEWS.indexOf(view)] as string;
}

/** State of the page, which its address contains completely. */
export interface ViewState extends Shown {
  readonly view: ViewName;
  /** Kind of samples: those of the recording, or times in which threads had no CPU. */
  readonly counts: ProfileWeight;
  /** Seconds at the end of the recording that are shown, instead of a fixed start. */
  readonly last: number | undefined;
  /** Transforms of stacks, applied in this order. */
  readonly transforms: readonly string[];
  /** Part of a name, or an expression between slashes. */
  readonly search: string;
  /** The function of the sandwich and source views. */
  readonly fn: string;
  /** Whether the code of the function is shown beside other views. */
  readonly beside: boolean;
  /** The total of which lines and instructions show shares. */
  readonly share: "all" | "function";
  /** Path of functions to the box that fills the width of the flame graph. */
  readonly zoom: readonly number[];
  /** Whether the flame graph and the tree begin with the sampled functions. */
  readonly callers: boolean;
  /** Whether a comparison shows flame graphs instead of functions. */
  readonly graph: boolean;
  readonly measure: DiffMeasure;
  /** Whether a compared function includes its callees. */
  readonly children: boolean;
  /** The recording that determines the width of boxes. */
  readonly side: Side;
  /** Kind of tracks in the timeline. */
  readonly by: "cpu" | "process" | "thread" | "heat" | "rates";
  /** Name of the events that the timeline marks, `""` for all; `undefined` for none. */
  readonly marks: string | undefined;
  /** Order of the tracks; `undefined` for the usual one. */
  readonly sort: TrackSort | undefined;
  /** The visible part of the Intel PT, in ns from its start; `undefined` for all of it. */
  readonly window: readonly [number, number] | undefined;
  /** The thread whose calls are shown; -1 for the one that ran longest. */
  readonly thread: number;
  /** Kind of list for that part. */
  readonly list: "functions" | "calls" | "insns";
  /** Whether the flame graph is in order of time. */
  readonly timed: boolean;
  /** Content of the first row of the flame graph. */
  readonly root: FlameRoot;
  /** Meaning of the flame graph's colors. */
  readonly coloring: Coloring;
  /** Whether the flame graph is upside down. */
  readonly flipped: boolean;
  /** Number of the shown record; -1 for none. */
  readonly record: number;
  /** Types of the listed records; all if empty. */
  readonly types: readonly string[];
}

/** Meaning of the flame graph's colors. `pmu` is available for events of several PMUs. */
export type Coloring = "object" | "kind" | "pmu";

const COLORINGS = ["object", "kind", "pmu"] as const;

/** Returns the available colorings of an event. */
export function coloringsOf(pmus: readonly string[] | undefined): readonly Coloring[] {
  return pmus === undefined ? ["object", "kind"] : COLORINGS;
}

/** The initial state. */
export const FIRST: ViewState = {
  view: "overview",
  counts: "period",
  event: 0,
  weight: "period",
  inline: true,
  last: undefined,
  transforms: [],
  search: "",
  fn: "",
  beside: false,
  share: "all",
  zoom: [],
  callers: false,
  graph: false,
  measure: "total",
  children: false,
  side: "now",
  by: "process",
  sort: undefined,
  marks: undefined,
  timed: false,
  root: "function",
  coloring: "object",
  flipped: false,
  window: undefined,
  thread: -1,
  list: "functions",
  record: -1,
  types: [],
};

const numbers = (text: string | null): readonly number[] | undefined => {
  const list = (text ?? "").split(",").filter((part) => /^-?\d+$/.test(part)).map(Number);
  return list.length === 0 ? undefined : list;
};

const nanoseconds = (text: string | null): number | undefined =>
  text !== null && /^\d+$/.test(text) ? Number(text) : undefined;

function windowOf(of: readonly number[] | undefined): ViewState["window"] {
  const [from = -1, to = -1] = of ?? [];
  return from >= 0 && to > from ? [from, to] : undefined;
}

/** Returns the order of tracks with a name; `undefined` if there is none. */
export function trackSort(name: string | null): TrackSort | undefined {
  return (["weight", "name", "start"] as const).find((sort) => sort === name);
}

/** Returns the start of the selected time: fixed, or some seconds before the end. */
export function startOf(
  { duration }: { readonly duration: number },
  { from, last }: Pick<ViewState, "from" | "last">,
): number | undefined {
  return last === undefined ? from : Math.max(0, duration - last * 1e9);
}

/** Encodes the state as the part of the address after `#`. */
export function toHash(state: ViewState): string {
  const text = new URLSearchParams();
  text.set("view", state.view);
  if (state.event !== FIRST.event) text.set("event", `${state.event}`);
  if (state.weight !== FIRST.weight) text.set("weight", state.weight);
  if (state.counts !== FIRST.counts) text.set("counts", state.counts);
  if (!state.inline) text.set("inline", "0");
  if (state.from !== undefined && state.last === undefined) {
    text.set("from", `${Math.round(state.from)}`);
  }
  if (state.to !== undefined) text.set("to", `${Math.round(state.to)}`);
  if (state.last !== undefined) text.set("last", `${state.last}`);
  for (const name of ["pids", "tids", "cpus"] as const) {
    const list = state[name];
    if (list !== undefined) text.set(name, list.join(","));
  }
  for (const transform of state.transforms) text.append("do", transform);
  if (state.search !== "") text.set("search", state.search);
  if (state.fn !== "") text.set("fn", state.fn);
  if (state.beside) text.set("beside", "1");
  if (state.share !== FIRST.share) text.set("share", state.share);
  if (state.zoom.length > 0) text.set("zoom", state.zoom.join(","));
  if (state.callers) text.set("callers", "1");
  if (state.graph) text.set("graph", "1");
  if (state.measure !== FIRST.measure) text.set("measure", state.measure);
  if (state.children) text.set("children", "1");
  if (state.side !== FIRST.side) text.set("side", state.side);
  if (state.timed) text.set("timed", "1");
  if (state.root !== FIRST.root) text.set("root", state.root);
  if (state.coloring !== FIRST.coloring) text.set("coloring", state.coloring);
  if (state.flipped) text.set("flipped", "1");
  if (state.window !== undefined) text.set("window", state.window.map(Math.round).join(","));
  if (state.thread >= 0) text.set("thread", `${state.thread}`);
  if (state.list !== FIRST.list) text.set("list", state.list);
  if (state.by !== FIRST.by) text.set("by", state.by);
  if (state.marks !== undefined) text.set("marks", state.marks);
  if (state.sort !== undefined) text.set("sort", state.sort);
  if (state.record >= 0) text.set("record", `${state.record}`);
  if (state.types.length > 0) text.set("types", state.types.join(","));
  return `#${text}`;
}

/** Decodes the state from {@linkcode toHash}; invalid parts get their initial values. */
export function fromHash(hash: string): ViewState {
  const text = new URLSearchParams(hash.replace(/^#/, ""));
  const view = VIEWS.find((name) => name === text.get("view")) ?? FIRST.view;
  const by = (["cpu", "process", "thread", "heat", "rates"] as const).find((name) =>
    name === text.get("by")
  );
  return {
    view,
    event: nanoseconds(text.get("event")) ?? 0,
    weight: text.get("weight") === "samples" ? "samples" : "period",
    counts: profileWeight(text.get("counts")) ?? "period",
    inline: text.get("inline") !== "0",
    from: nanoseconds(text.get("from")),
    to: nanoseconds(text.get("to")),
    last: nanoseconds(text.get("last")),
    pids: numbers(text.get("pids")),
    tids: numbers(text.get("tids")),
    cpus: numbers(text.get("cpus")),
    transforms: text.getAll("do").filter((of) => /^[a-z-]+:/.test(of)),
    search: text.get("search") ?? "",
    fn: text.get("fn") ?? "",
    beside: text.get("beside") === "1",
    share: text.get("share") === "function" ? "function" : "all",
    zoom: numbers(text.get("zoom")) ?? [],
    callers: text.get("callers") === "1",
    graph: text.get("graph") === "1",
    measure: MEASURES.find((name) => name === text.get("measure")) ?? FIRST.measure,
    children: text.get("children") === "1",
    side: text.get("side") === "base" ? "base" : "now",
    by: by ?? FIRST.by,
    marks: text.get("marks") ?? undefined,
    sort: trackSort(text.get("sort")),
    window: windowOf(numbers(text.get("window"))),
    thread: nanoseconds(text.get("thread")) ?? -1,
    list: (["calls", "insns"] as const).find((name) => name === text.get("list")) ?? FIRST.list,
    timed: text.get("timed") === "1",
    root: (["process", "thread"] as const).find((name) => name === text.get("root")) ?? FIRST.root,
    coloring: COLORINGS.find((name) => name === text.get("coloring")) ?? FIRST.coloring,
    flipped: text.get("flipped") === "1",
    record: nanoseconds(text.get("record")) ?? -1,
    types: (text.get("types") ?? "").split(",").filter((name) => /^\w+$/.test(name)),
  };
}
