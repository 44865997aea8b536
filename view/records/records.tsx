import type { RecordQuery, RecordRow } from "../recording/record_list.ts";
import type { ViewProps } from "../ui/context.ts";
import { grouped } from "../ui/format.ts";
import { Grid } from "../ui/grid.tsx";
import { type JSX, useEffect, useMemo, useReducer, useRef, useState } from "../ui/preact.ts";
import type { ViewState } from "../ui/state.ts";
import { useQuery } from "../ui/use_query.ts";
import { RecordBytes } from "./record_bytes.tsx";

/** Number of rows per request. */
const PAGE = 200;
/** Number of pages kept. */
const KEPT = 40;

const COLUMNS = [
  { title: "Number", class: "number" },
  { title: "Time", class: "time" },
  { title: "Type", class: "kind" },
  { title: "Pid / tid", class: "tid" },
  { title: "CPU", class: "cpu" },
  { title: "Fields", class: "text" },
];

/** Rows of the list, requested page by page. */
class Pages {
  count: number | undefined;
  error: string | undefined;
  readonly #ask: (from: number) => Promise<{ count: number; rows: readonly RecordRow[] }>;
  readonly #changed: () => void;
  readonly #pages = new Map<number, readonly RecordRow[] | undefined>();

  constructor(
    ask: (from: number) => Promise<{ count: number; rows: readonly RecordRow[] }>,
    changed: () => void,
  ) {
    this.#ask = ask;
    this.#changed = changed;
    this.want(0);
  }

  row(line: number): RecordRow | undefined {
    return this.#pages.get(Math.floor(line / PAGE))?.[line % PAGE];
  }

  /** Requests the page of a line, if it is missing. */
  want(line: number): void {
    const page = Math.floor(line / PAGE);
    if (this.#pages.has(page)) return;
    this.#pages.set(page, undefined);
    for (const old of [...this.#pages.keys()].slice(0, -KEPT)) this.#pages.delete(old);
    this.#ask(page * PAGE).then(({ count, rows }) => {
      this.count = count;
      this.#pages.set(page, rows);
      this.#changed();
    }, (error: Error) => {
      this.error = error.message;
      this.#changed();
    });
  }
}

/** Returns the query of the list: the chosen types and, if it follows the selection, the selection. */
function queryOf(state: ViewState, base: bigint, follows: boolean): RecordQuery {
  const { types, pids, tids, cpus, from, to } = state;
  const time = (at: number | undefined) =>
    at === undefined ? undefined : `${base + BigInt(Math.round(at))}`;
  return {
    types: types.length === 0 ? undefined : types,
    ...(follows ? { pids, tids, cpus, from: time(from), to: time(to) } : {}),
  };
}

function RecordCells({ number, time, type, pid, tid, cpu, text }: RecordRow): JSX.Element {
  return (
    <>
      <div class="number" role="gridcell">{number}</div>
      <div class="time number" role="gridcell">{time}</div>
      <div class="kind" role="gridcell">{type}</div>
      <div class="tid number" role="gridcell">{tid < 0 ? "" : `${pid} / ${tid}`}</div>
      <div class="cpu number" role="gridcell">{cpu < 0 ? "" : cpu}</div>
      <div class="text" role="gridcell">{text}</div>
    </>
  );
}

/** All records of the recording, with the fields and bytes of one of them. */
export function RecordsView({ store, open }: ViewProps): JSX.Element {
  const { state } = store;
  const { index, facts } = open;
  const [follows, setFollows] = useState(false);
  const base = BigInt(facts?.timed ? facts.start : index?.start ?? "0");
  const query = queryOf(state, base, follows);
  const key = JSON.stringify(query);
  const [, changed] = useReducer((n: number) => n + 1, 0);
  const pages = useMemo(
    () => new Pages((from) => open.client.call("records", query, from, PAGE), () => changed(0)),
    [open.client, key],
  );
  const [line, setLine] = useState(-1);
  const wanted = useRef(state.record);
  // Scroll to the record in the address.
  useEffect(() => {
    if (state.record < 0) return;
    open.client.call("position", query, state.record).then((at) => {
      wanted.current = state.record;
      setLine(at);
      pages.want(at);
    }, () => {});
  }, [key]);
  const choose = (at: number) => {
    setLine(at);
    const row = pages.row(at);
    if (row === undefined) return pages.want(at);
    wanted.current = row.number;
    store.set({ record: row.number }, true);
  };
  const detail = useQuery(
    state.record < 0 ? undefined : `${state.record}`,
    () => open.client.call("record", state.record),
  );
  if (index?.unlisted !== undefined) return <p class="empty">{index.unlisted}</p>;
  const selected = [state.pids, state.tids, state.cpus, state.from, state.to]
    .some((part) => part !== undefined);
  return (
    <section class="fill" aria-label="Records">
      <div class="bar">
        <TypeFilter store={store} open={open} />
        <label title="Only records of the selected time, processes, threads and CPUs">
          <input
            type="checkbox"
            checked={follows}
            onChange={(event) => setFollows(event.currentTarget.checked)}
          />{" "}
          only what is selected{follows && !selected ? " (everything is)" : ""}
        </label>
        <span class="soft" aria-live="polite">
          {pages.error ??
            (pages.count === undefined ? "…" : `${grouped(pages.count)} records`)}
          {index?.isInflated === true ? ", inflated: offsets are those of the inflated file" : ""}
        </span>
      </div>
      <div class={`records${state.record >= 0 ? " with-detail" : ""}`}>
        {pages.count !== undefined && (
          <Grid
            id="record"
            class="record-list"
            label="Records"
            columns={COLUMNS}
            count={pages.count}
            height={22}
            at={line}
            choose={choose}
            onRange={(from, to) => {
              pages.want(from);
              pages.want(Math.max(from, to - 1));
            }}
            line={(at) => {
              const row = pages.row(at);
              return row === undefined ? undefined : {
                data: { number: row.number },
                cells: <RecordCells {...row} />,
              };
            }}
          />
        )}
        {state.record >= 0 && detail.value !== undefined && (
          <RecordBytes
            key={detail.value.row.number}
            detail={detail.value}
            close={() => store.set({ record: -1 }, true)}
          />
        )}
      </div>
    </section>
  );
}

function TypeFilter({ store, open }: ViewProps): JSX.Element {
  const { types } = store.state;
  const all = open.index?.types ?? [];
  return (
    <label>
      Type{" "}
      <select
        value={types.length === 1 ? types[0] : types.length === 0 ? "" : "several"}
        onChange={(event) => {
          const { value } = event.currentTarget;
          store.set({ types: value === "" ? [] : [value] });
        }}
      >
        <option value="">all types</option>
        {types.length > 1 && <option value="several">{types.join(", ")}</option>}
        {all.map(({ name, count }) => (
          <option key={name} value={name}>{name} ({grouped(count)})</option>
        ))}
      </select>
    </label>
  );
}
