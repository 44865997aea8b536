import { floatAt, intAt } from "@perfdata/format/bytes";
import type { ProfileViewProps } from "../ui/context.ts";
import { type MarkColumn, type Marks, selectedMarks, sortedMarks } from "../data/marks.ts";
import { grouped, seconds } from "../ui/format.ts";
import { Grid, type GridColumn, type GridLine } from "../ui/grid.tsx";
import { matches } from "../ui/matches.ts";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";
import { THREAD_COLORS } from "./time_canvas.ts";

/** Marks with times since the first sample, and those that match the search and the chosen event. */
export interface ShownMarks {
  readonly marks: Marks;
  /** In order of time, whatever is selected. */
  readonly rows: Int32Array;
}

/** Returns the marks that are shown; `undefined` until they arrive, and if they are not wanted. */
export function useMarks({ store, open, facts }: ProfileViewProps): ShownMarks | undefined {
  const { marks: only, search } = store.state;
  const { index } = open;
  const { value } = useQuery(
    only === undefined ? undefined : "marks",
    () => open.client.call("marks"),
  );
  const marks = useMemo(() => {
    if (value === undefined || index?.start === undefined) return undefined;
    const by = Number(BigInt(index.start) - BigInt(facts.start));
    return { ...value, time: value.time.map((time) => time + by) };
  }, [value, index, facts]);
  return useMemo(() => {
    if (marks === undefined || only === undefined) return undefined;
    const { name, names, text } = marks;
    const lines = text.map((text, row) => `${names[intAt(name, row)]} ${text}`);
    return { marks, rows: selectedMarks(marks, {}, { only, matched: matches(lines, search) }) };
  }, [marks, only, search]);
}

export function markColor(name: number): string {
  return THREAD_COLORS[name % THREAD_COLORS.length] as string;
}

const COLUMNS: readonly GridColumn<MarkColumn>[] = [
  { name: "time", title: "Time" },
  { name: "thread", title: "Thread" },
  { title: "CPU", class: "number" },
  { name: "event", title: "Event" },
  { name: "text", title: "Fields" },
];

export function MarkTable(
  props: ProfileViewProps & {
    readonly shown: ShownMarks | undefined;
    /** The chosen mark; -1 for none. */
    readonly at: number;
    readonly choose: (mark: number) => void;
    /** Shows the time around a mark. */
    readonly show: (mark: number) => void;
  },
): JSX.Element {
  const { store, facts, shown, at, choose, show } = props;
  const { from, to, pids, tids, cpus, marks: only = "" } = store.state;
  const [sort, setSort] = useState<{ by: MarkColumn; up: boolean }>({ by: "time", up: true });
  const threadName = (tid: number) => facts.names.threads.name.get(tid) ?? "";
  const rows = useMemo(() => {
    if (shown === undefined) return new Int32Array();
    const { marks, rows } = shown;
    const isShown = new Uint8Array(marks.time.length);
    for (const row of rows) isShown[row] = 1;
    const selection = { from, to, pids, tids, cpus };
    return sortedMarks(selectedMarks(marks, selection, { matched: isShown }), marks, {
      ...sort,
      threadName,
    });
  }, [shown, from, to, pids, tids, cpus, sort]);
  if (shown === undefined) return <p class="foot soft" role="status">Reading the events…</p>;
  const { marks } = shown;
  return (
    <section class="marks" aria-label="Events">
      <div class="bar">
        <EventChoice {...props} marks={marks} only={only} />
        <span class="soft">
          {grouped(rows.length)} of {grouped(marks.time.length)}
          {marks.left > 0 && `; ${grouped(marks.left)} later ones are left out`}
        </span>
      </div>
      <Grid
        id="mark"
        class="mark-list"
        label={`${grouped(rows.length)} events, by ${sort.by}`}
        columns={COLUMNS}
        sort={{
          ...sort,
          change: (by) => setSort((before) => ({ by, up: before.by !== by || !before.up })),
        }}
        count={rows.length}
        height={22}
        at={rows.indexOf(at)}
        choose={(line) => choose(rows[line] ?? -1)}
        pick={(line) => show(rows[line] ?? -1)}
        line={(line): GridLine | undefined => {
          const row = rows[line];
          if (row === undefined) return undefined;
          const [name, tid, cpu] = [marks.name, marks.tid, marks.cpu].map((of) =>
            intAt(of, row)
          ) as [
            number,
            number,
            number,
          ];
          const time = floatAt(marks.time, row);
          return {
            data: { time, tid, event: marks.names[name] ?? "", text: marks.text[row] ?? "" },
            cells: (
              <>
                <div class="time" role="gridcell">{seconds(time)}</div>
                <div role="gridcell">{tid < 0 ? "" : `${threadName(tid)} ${tid}`}</div>
                <div class="number" role="gridcell">{cpu < 0 ? "" : cpu}</div>
                <div role="gridcell">
                  <span class="swatch" style={{ background: markColor(name) }} aria-hidden="true" />
                  {marks.names[name]}
                </div>
                <div class="text" role="gridcell" title={marks.text[row]}>{marks.text[row]}</div>
              </>
            ),
          };
        }}
      />
    </section>
  );
}

function EventChoice(
  { store, marks: { name, names }, only }: ProfileViewProps & {
    readonly marks: Marks;
    readonly only: string;
  },
): JSX.Element {
  const counts = useMemo(() => {
    const counts = new Float64Array(names.length);
    for (const of of name) counts[of] = floatAt(counts, of) + 1;
    return counts;
  }, [name, names]);
  return (
    <label>
      Events{" "}
      <select
        value={only}
        onChange={(event) => store.set({ marks: event.currentTarget.value })}
      >
        <option value="">all ({grouped(name.length)})</option>
        {names.map((name, number) => (
          <option key={name} value={name}>{name} ({grouped(floatAt(counts, number))})</option>
        ))}
      </select>
    </label>
  );
}
