import { changeColor, type DiffMeasure } from "@perfdata/export/tree";
import { floatAt } from "@perfdata/format/bytes";
import type { ComparedFunctions, ComparisonFacts } from "../data/comparison.ts";
import { FileChoice } from "../app/drop_place.tsx";
import { FlameGraph } from "../flame/flame_graph.tsx";
import { countedOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { amount, grouped, percent } from "../ui/format.ts";
import { InvertChoice } from "../ui/invert_choice.tsx";
import { Grid, type GridColumn } from "../ui/grid.tsx";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { Name } from "../ui/name.tsx";
import { matches } from "../ui/matches.ts";
import { useQuery } from "../ui/use_query.ts";

type ComparedRow = ComparedFunctions["rows"][number];

const MEASURE_NAMES: Readonly<Record<DiffMeasure, string>> = {
  total: "share of the period",
  samples: "share of the samples",
  time: "period per second",
  period: "period per recording",
};

/** The comparison of the selection with another recording. */
export function CompareView(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { state } = store;
  const { comparison, comparisonFailed } = open;
  if (!open.compared) {
    return (
      <section class="drop" aria-label="Compare">
        <p class="large">Drop another recording here</p>
        <p>The older one of the two is the base; they can be swapped.</p>
        <FileChoice store={store} />
      </section>
    );
  }
  if (comparison === undefined) {
    return (
      <section class="empty" aria-label="Compare">
        {comparisonFailed !== undefined
          ? <p class="wrong" role="alert">{comparisonFailed}</p>
          : <p role="status">Reading what it is compared with…</p>}
      </section>
    );
  }
  const isPart = [state.from, state.to, state.pids, state.tids, state.cpus]
    .some((part) => part !== undefined);
  return (
    <section class="fill" aria-label="Compare">
      <div class="bar">
        <label>
          Show{" "}
          <select
            value={state.graph ? "flame" : "functions"}
            onChange={(event) =>
              store.set({ graph: event.currentTarget.value === "flame", zoom: [] })}
          >
            <option value="functions">functions</option>
            <option value="flame">flame graph</option>
          </select>
        </label>
        {state.graph ? <GraphOptions {...props} /> : <TableOptions {...props} />}
        <span class="soft">
          {isPart ? "what is selected of " : ""}
          {facts.title} against {isPart ? "all of " : ""}
          {comparison.title}
        </span>
        {store.takesFiles && <button type="button" onClick={() => store.swap()}>Swap</button>}
      </div>
      {state.graph
        ? <ComparedGraph {...props} comparison={comparison} />
        : <ComparedTable {...props} comparison={comparison} />}
    </section>
  );
}

function TableOptions({ store, facts }: ProfileViewProps): JSX.Element {
  const { state } = store;
  return (
    <>
      <label>
        By{" "}
        <select
          value={state.measure}
          onChange={(event) => store.set({ measure: event.currentTarget.value as DiffMeasure })}
        >
          {Object.entries(MEASURE_NAMES).filter(([name]) => name !== "time" || facts.timed)
            .map(([name, text]) => <option key={name} value={name}>{text}</option>)}
        </select>
      </label>
      <label>
        <input
          type="checkbox"
          checked={state.children}
          onChange={(event) => store.set({ children: event.currentTarget.checked })}
        />{" "}
        total, with callees
      </label>
    </>
  );
}

function GraphOptions({ store }: ProfileViewProps): JSX.Element {
  const { state } = store;
  return (
    <>
      <InvertChoice store={store} />
      <label>
        Width{" "}
        <select
          value={state.side}
          onChange={(event) =>
            store.set({ side: event.currentTarget.value === "base" ? "base" : "now", zoom: [] })}
        >
          <option value="now">now</option>
          <option value="base">base</option>
        </select>
      </label>
      <ul class="legend" aria-label="Colors">
        {[["less", -0.1], ["as before", 0], ["more", 0.1]].map(([name, change]) => (
          <li key={name}>
            <span
              class="swatch"
              style={{ background: changeColor(change as number) }}
              aria-hidden="true"
            />
            {name}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Formats a change with its sign. */
function signed(share: number): string {
  return `${share < 0 ? "−" : "+"}${(Math.abs(share) * 100).toFixed(2)}%`;
}

/** The flame graph of one recording, colored by the difference to the other one. */
function ComparedGraph(
  props: ProfileViewProps & { readonly comparison: ComparisonFacts },
): JSX.Element | null {
  const { store, open, comparison } = props;
  const { shown, state } = store;
  const matched = useMemo(() => matches(comparison.names, state.search), [
    comparison,
    state.search,
  ]);
  const [width, setWidth] = useState(1200);
  const query = {
    direction: state.callers ? "up" : "down",
    zoom: state.zoom,
    least: 0.4 / width,
  } as const;
  const { value } = useQuery(
    JSON.stringify([shown, query, state.side]),
    () => open.client.call("compareFlame", shown, query, state.side),
  );
  const shares = (box: number): readonly [number, number] => {
    if (value === undefined) return [0, 0];
    const own = value.sum === 0 ? 0 : floatAt(value.total, box) / value.sum;
    const other = value.otherSum === 0 ? 0 : floatAt(value.other, box) / value.otherSum;
    return state.side === "now" ? [other, own] : [own, other];
  };
  const boxColor = useMemo(() => {
    const made = Array.from({ length: value?.length ?? 0 }, (_, box) => {
      const [before, now] = shares(box);
      return changeColor(now - before);
    });
    return (box: number) => made[box] ?? "";
  }, [value]);
  if (value === undefined) return null;
  return (
    <FlameGraph
      boxes={value}
      names={comparison.names}
      objectOf={(fn) => comparison.objects[fn] ?? ""}
      colors={[]}
      boxColor={boxColor}
      note={(box) => {
        const [before, now] = shares(box);
        return `${percent(before, 1)} of the base, ${percent(now, 1)} now (${
          signed(now - before)
        })`;
      }}
      matched={matched}
      search={state.search}
      isUpward={!state.callers}
      unit={unitOf(props)}
      counted={countedOf(props)}
      label="Flame graph of the comparison"
      zoomTo={(zoom) => store.set({ zoom })}
      pick={(fn) => store.set({ view: "sandwich", fn: comparison.names[fn] ?? "" })}
      onWidth={setWidth}
    />
  );
}

type Column = "change" | "before" | "after" | "chance" | "name" | "object";

const COLUMNS: readonly GridColumn<Column>[] = [
  { name: "before", class: "number before", title: "Base", hint: "of the base" },
  { name: "after", class: "number after", title: "Now", hint: "of what is shown" },
  { name: "change", class: "number change", title: "Change", hint: "as a part of the whole base" },
  {
    name: "chance",
    class: "number chance",
    title: "Chance",
    hint: "how probable such a change is by chance in any function; * if its interval leaves out 0",
  },
  { name: "name", title: "Function" },
  { name: "object", title: "Object", hint: "the program, library or kernel that it is in" },
];

/** Order of the rows. */
interface Sort {
  readonly by: Column;
  readonly up: boolean;
}

/** Returns the rows whose functions match the search, sorted. */
function sorted(
  rows: readonly ComparedRow[],
  { by, up }: Sort,
  matched: Uint8Array | undefined,
): ComparedRow[] {
  const some = rows.filter(({ fn }) => matched === undefined || matched[fn] === 1);
  const of = ({ name, object, before, after, change, chance }: ComparedRow) => {
    const values = { name, object, before: before.value, after: after.value, chance };
    return by === "change" ? Math.abs(change) : values[by];
  };
  return some.map((row) => ({ row, key: of(row) })).sort((a, b) =>
    (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * (up ? 1 : -1)
  ).map(({ row }) => row);
}

/** The functions of both recordings, with the probability that a change is due to chance. */
function ComparedTable(
  props: ProfileViewProps & { readonly comparison: ComparisonFacts },
): JSX.Element {
  const { store, open, comparison } = props;
  const { shown, state } = store;
  const { measure: by, children } = state;
  // Functions that only the base has are searched, too.
  const matched = useMemo(() => matches(comparison.names, state.search), [
    comparison,
    state.search,
  ]);
  const [sort, setSort] = useState<Sort>({ by: "change", up: false });
  const [line, setLine] = useState(-1);
  const query = { by, children };
  const { value, error } = useQuery(
    JSON.stringify([shown, query]),
    () => open.client.call("compareFunctions", shown, query),
  );
  const isRate = by === "time" || by === "period";
  const measured = (part: number) => isRate ? amount(part, unitOf(props)) : percent(part, 1);
  const rows = useMemo(() => sorted(value?.rows ?? [], sort, matched), [value, sort, matched]);
  const picked = (at: number) => {
    const { fn = -1 } = rows[at] ?? {};
    if (fn >= 0) store.set({ view: "sandwich", fn: comparison.names[fn] ?? "" });
  };
  return (
    <>
      {error !== undefined && <p class="empty wrong" role="alert">{error}</p>}
      {value !== undefined && error === undefined && (
        <Grid
          id="compared"
          class="compared"
          label={`${grouped(rows.length)} functions of both recordings, by ${sort.by}`}
          columns={COLUMNS}
          sort={{
            ...sort,
            change: (by) =>
              setSort((before) => ({
                by,
                up: before.by === by
                  ? !before.up
                  : by === "name" || by === "object" || by === "chance",
              })),
          }}
          count={rows.length}
          height={24}
          at={line}
          choose={setLine}
          pick={picked}
          line={(at) => {
            const row = rows[at];
            if (row === undefined) return undefined;
            const { name: fn, object, change, chance, isSignificant } = row;
            const name = comparison.names[row.fn] ?? row.name;
            return {
              class: isSignificant ? "" : "faded",
              data: { fn, object, change, chance, significant: isSignificant },
              cells: (
                <ComparedCells
                  row={row}
                  name={name}
                  search={state.search}
                  measured={measured}
                  pick={() => picked(at)}
                />
              ),
            };
          }}
        />
      )}
      <ComparedFoot {...props} value={value} measured={measured} />
    </>
  );
}

function ComparedCells(
  { row, name, search, measured, pick }: {
    readonly row: ComparedRow;
    readonly name: string;
    readonly search: string;
    readonly measured: (part: number) => string;
    readonly pick: () => void;
  },
): JSX.Element {
  const [low, high] = row.interval;
  return (
    <>
      <div class="number" role="gridcell">{measured(row.before.value)}</div>
      <div class="number" role="gridcell">{measured(row.after.value)}</div>
      <div
        class={`number change ${row.change < 0 ? "less" : "more"}`}
        role="gridcell"
        title={`with 95% between ${signed(low)} and ${signed(high)}`}
      >
        {signed(row.change)}
      </div>
      <div class="number" role="gridcell">
        {row.chance < 0.0001 ? "<0.0001" : row.chance.toFixed(4)}
        <span class="star">{row.isSignificant ? "*" : ""}</span>
      </div>
      <div class="name" role="gridcell" title={name}>
        <button type="button" class="link" tabIndex={-1} onClick={pick}>
          <Name text={name} search={search} />
        </button>
        {row.note !== "" && <span class="tag">{row.note}</span>}
      </div>
      <div class="object soft" role="gridcell">{row.object}</div>
    </>
  );
}

/** The number of changed functions, and the totals. */
function ComparedFoot(
  { store, facts, comparison, value, measured }: ProfileViewProps & {
    readonly comparison: ComparisonFacts;
    readonly value: ComparedFunctions | undefined;
    readonly measured: (part: number) => string;
  },
): JSX.Element {
  const { measure: by, event } = store.state;
  const isRate = by === "time" || by === "period";
  const counting = value?.rows.filter(({ isSignificant }) => isSignificant).length ?? 0;
  return (
    <p class="foot soft">
      {value !== undefined &&
        `${grouped(counting)} of ${grouped(value.rows.length)} functions changed by more than ` +
          `chance (*); ${grouped(value.before.samples)} → ${
            grouped(value.after.samples)
          } samples, ` +
          (facts.events[event]?.name ?? "") +
          (isRate
            ? `; in all ${measured(value.before.value)} → ${measured(value.after.value)} a ` +
              `${by === "time" ? "second" : "recording"} (${signed(value.change)})`
            : "")}
      {comparison.isSummed &&
        "; chance is estimated from the sums: perfdata diff says how much the recordings of a side differ"}
      {value?.same.map(({ before, after }) => (
        <span key={before}>; {before} and {after} are compared as one</span>
      ))}
    </p>
  );
}
