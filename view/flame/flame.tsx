import { floatAt, intAt } from "@perfdata/format/bytes";
import {
  countedOf,
  lineOf,
  nameOf,
  objectOf,
  type ProfileViewProps,
  unitOf,
} from "../ui/context.ts";
import { duration, percent, seconds } from "../ui/format.ts";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import type { FlameBoxes } from "../data/flame_boxes.ts";
import type { TimeBoxes } from "../data/open_boxes.ts";
import { type FlameRoot, flameRoots } from "../data/flame_roots.ts";
import { functionKey } from "../app/function_menu.tsx";
import type { ProfileFacts } from "../data/view_engine.ts";
import { colorsOf, type Store } from "../ui/store.ts";
import { InvertChoice } from "../ui/invert_choice.tsx";
import { useQuery } from "../ui/use_query.ts";
import { FlameGraph, type FlameGraphProps } from "./flame_graph.tsx";
import { type PmuBoxes, pmuColor, pmuNote } from "../data/pmu_boxes.ts";
import { type Coloring, coloringsOf } from "../ui/state.ts";
import { Legend } from "./legend.tsx";

/** The flame graph of the selection. */
export function FlameView(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { shown, state, matched } = store;
  const [width, setWidth] = useState(1200);
  const isTimed = state.timed && facts.timed && !state.callers;
  const root = state.callers || isTimed ? "function" : state.root;
  const pmus = isTimed ? undefined : facts.events[state.event]?.pmus;
  const coloring = coloringsOf(pmus).includes(state.coloring) ? state.coloring : "object";
  const isByPmu = coloring === "pmu";
  const query = {
    direction: state.callers ? "up" : "down",
    root,
    zoom: state.zoom,
    least: 0.4 / width,
    ...(isByPmu ? { pmus: true } : {}),
  } as const;
  const { value } = useQuery<FlameBoxes & PmuBoxes | TimeBoxes | undefined>(
    JSON.stringify(isTimed ? [shown, query.least] : [shown, query]),
    () =>
      isTimed
        ? open.client.call("timeFlame", shown, query.least)
        : open.client.call("flame", shown, query),
  );
  const names = useMemo(
    () =>
      root === "function"
        ? facts.functions.name
        : [...facts.functions.name, ...flameRoots(facts.threads, root).names],
    [facts, root],
  );
  const colors = useMemo(
    () => coloring === "kind" ? colorsOf(facts.functions, coloring) : open.colors,
    [facts, open.colors, coloring],
  );
  const byPmu = isByPmu && value !== undefined && "ofPmus" in value ? value : undefined;
  const boxColor = useMemo(() => byPmu && ((box: number) => pmuColor(byPmu, box)), [byPmu]);
  const isUpward = state.flipped === (state.callers || isTimed);
  const times = value !== undefined && "from" in value ? value : undefined;
  return (
    <section class="fill" aria-label="Flame graph">
      <FlameBar
        {...props}
        root={root}
        isTimed={isTimed}
        isUpward={isUpward}
        pmus={pmus}
        coloring={coloring}
      />
      {value !== undefined && (
        <FlameGraph
          boxes={value}
          names={names}
          objectOf={(fn) => objectOf(facts, fn)}
          colors={colors}
          {...(boxColor === undefined ? {} : { boxColor })}
          matched={matched}
          search={state.search}
          isUpward={isUpward}
          unit={unitOf(props)}
          counted={countedOf(props)}
          label={isTimed ? "Flame graph in order of time" : "Flame graph"}
          {...(times === undefined
            ? {
              note: (box: number) =>
                [
                  lineOf(facts, intAt(value.item, box)),
                  byPmu === undefined ? "" : pmuNote(byPmu, pmus ?? [], box),
                ].filter((text) => text !== "").join("; "),
            }
            : {
              note: (box: number) => {
                const [from, to] = [floatAt(times.from, box), floatAt(times.to, box)];
                return `from ${seconds(from, 1000)}, for ${duration(to - from)}`;
              },
              // In order of time, a box selects its range of time.
              zoomToBox: (box: number) =>
                store.set(
                  box < 0
                    ? { from: undefined, to: undefined }
                    : { from: times.from[box], to: floatAt(times.to, box) + 1 },
                ),
            })}
          zoomTo={(zoom) => store.set({ zoom })}
          pick={(fn) => {
            // A process or thread has no sandwich view.
            if (fn < facts.functions.name.length) {
              store.set({ view: "sandwich", fn: nameOf(facts, fn) });
            }
          }}
          look={(fn) => store.look(fn)}
          onFunction={boxActions(store, facts, state.callers)}
          onWidth={setWidth}
        />
      )}
    </section>
  );
}

/** Returns the menu and the keys for the function of a box. */
export function boxActions(
  store: Store,
  { functions }: ProfileFacts,
  isInverted: boolean,
): FlameGraphProps["onFunction"] {
  // A process or thread is no function.
  const functionOf = (path: readonly number[]) => {
    const fn = path.at(-1) ?? -1;
    return fn < functions.name.length ? fn : -1;
  };
  const stackOf = (path: readonly number[]) => {
    const stack = path.filter((fn) => fn >= 0 && fn < functions.name.length);
    return isInverted ? stack.reverse() : stack;
  };
  return {
    menu(path, x, y) {
      const fn = functionOf(path);
      if (fn >= 0) store.openMenu({ fn, stack: stackOf(path), x, y });
    },
    key: (path, key) => functionKey(store, key, functionOf(path), stackOf(path)),
  };
}

/** Options of the flame graph. */
function FlameBar(
  props: ProfileViewProps & {
    readonly root: FlameRoot;
    /** Whether boxes are in order of time. */
    readonly isTimed: boolean;
    /** Whether the first row is at the bottom. */
    readonly isUpward: boolean;
    /** PMUs of the event, if there are several. */
    readonly pmus: readonly string[] | undefined;
    readonly coloring: Coloring;
  },
): JSX.Element {
  const { store, facts, root, isTimed, isUpward, pmus, coloring } = props;
  const { state } = store;
  return (
    <div class="bar">
      <InvertChoice store={store} />
      <label title="The first row">
        Root{" "}
        <select
          value={root}
          disabled={state.callers || isTimed}
          onChange={(event) =>
            store.set({ root: event.currentTarget.value as FlameRoot, zoom: [] })}
        >
          <option value="function">none</option>
          <option value="process">process</option>
          <option value="thread">thread</option>
        </select>
      </label>
      {facts.timed && (
        <label title="Whether stacks that are alike are one box, wherever they were">
          Order{" "}
          <select
            value={isTimed ? "time" : "merged"}
            onChange={(event) =>
              store.set({
                timed: event.currentTarget.value === "time",
                callers: false,
                zoom: [],
              })}
          >
            <option value="merged">merged</option>
            <option value="time">time</option>
          </select>
        </label>
      )}
      {state.zoom.length > 0 && !isTimed && (
        <button
          type="button"
          onClick={() => store.set({ zoom: [] })}
        >
          Reset zoom
        </button>
      )}
      {isTimed && (state.from !== undefined || state.to !== undefined) && (
        <button
          type="button"
          onClick={() => store.set({ from: undefined, to: undefined })}
        >
          Reset zoom
        </button>
      )}
      <label title="The first row at the top (i)">
        <input
          type="checkbox"
          checked={!isUpward}
          onChange={() => store.set({ flipped: !state.flipped })}
        />{" "}
        Icicle
      </label>
      <label>
        Color{" "}
        <select
          value={coloring}
          onChange={(event) => store.set({ coloring: event.currentTarget.value as Coloring })}
        >
          <option value="object">object</option>
          <option value="kind">kind of code</option>
          {pmus !== undefined && <option value="pmu">PMU</option>}
        </select>
      </label>
      <Matched {...props} />
      <Legend {...props} />
    </div>
  );
}

/** The share of the selection that matches the search. */
function Matched({ store, open }: ProfileViewProps): JSX.Element | null {
  const { shown, state, matched } = store;
  const { value } = useQuery(
    matched === undefined ? undefined : JSON.stringify([shown, state.search]),
    async () => matched && await open.client.call("matchedShare", shown, matched),
  );
  if (matched === undefined || value === undefined) return null;
  return (
    <output class="matched">
      {value === 0 ? "nothing matches" : `${percent(value, 1)} with a match in their stack`}
    </output>
  );
}
