import { floatAt, intAt } from "@perfdata/format/bytes";
import { countedOf, nameOf, objectOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { amount, grouped } from "../ui/format.ts";
import { functionKey } from "../app/function_menu.tsx";
import { FunctionCell } from "../ui/function_cell.tsx";
import { Grid, type GridColumn, Share } from "../ui/grid.tsx";
import { save } from "../ui/download.ts";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";

type Column = "self" | "total" | "name" | "object";

const COLUMNS: readonly GridColumn<Column>[] = [
  { name: "self", title: "Self", hint: "in the function itself" },
  { name: "total", title: "Total", hint: "in the function and in what it called" },
  { name: "name", title: "Function" },
  { name: "object", title: "Object", hint: "the program, library or kernel that it is in" },
];

/** All functions, with their weights in the selection. */
export function FunctionsView(
  props: ProfileViewProps & {
    /** Handles Enter and a click on a name; by default, opens the sandwich view. */
    readonly pick?: (name: string) => void;
  },
): JSX.Element {
  const { store, open, facts, pick } = props;
  const { shown, matched } = store;
  const [sort, setSort] = useState<{ by: Column; up: boolean }>({ by: "self", up: false });
  const [line, setLine] = useState(-1);
  const { value } = useQuery(JSON.stringify(shown), () => open.client.call("table", shown));
  const order = useMemo(() => {
    if (value === undefined) return [];
    const { item, self, total } = value;
    const rows = [...item.keys()].filter((row) =>
      matched === undefined || matched[intAt(item, row)] === 1
    );
    const text = (row: number) =>
      sort.by === "name" ? nameOf(facts, intAt(item, row)) : objectOf(facts, intAt(item, row));
    const other = sort.by === "self" ? total : self;
    const column = sort.by === "self" ? self : total;
    const by = sort.by === "name" || sort.by === "object"
      ? (a: number, b: number) => text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0
      : (a: number, b: number) =>
        floatAt(column, a) - floatAt(column, b) ||
        floatAt(other, a) - floatAt(other, b);
    rows.sort((a, b) => (sort.up ? by(a, b) : by(b, a)) || a - b);
    return rows;
  }, [value, sort, matched, facts]);
  const sorted = (by: Column) =>
    setSort((before) => ({ by, up: before.by === by ? !before.up : by === "name" }));
  const picked = (at: number) => {
    const row = order[at];
    if (row === undefined || value === undefined) return;
    const name = nameOf(facts, intAt(value.item, row));
    if (pick === undefined) store.set({ view: "sandwich", fn: name });
    else pick(name);
  };
  const functionAt = (at: number): number => {
    const row = order[at];
    return row === undefined || value === undefined ? -1 : intAt(value.item, row);
  };
  const unit = unitOf(props);
  const counted = countedOf(props);
  return (
    <section class="fill" aria-label="Functions">
      {value !== undefined && (
        <Grid
          id="function"
          class="functions"
          label={`${grouped(order.length)} functions, by ${sort.by}`}
          columns={COLUMNS.map((column) =>
            column.name === "self" || column.name === "total"
              ? {
                ...column,
                title: (
                  <>
                    {column.title}
                    <small>{counted}</small>
                  </>
                ),
              }
              : column
          )}
          sort={{ ...sort, change: sorted }}
          count={order.length}
          height={24}
          at={line}
          choose={(at) => {
            setLine(at);
            store.look(functionAt(at));
          }}
          pick={picked}
          onKey={(key) => functionKey(store, key, functionAt(line), [functionAt(line)])}
          menu={(at, x, y) => {
            const fn = functionAt(at);
            if (fn >= 0) store.openMenu({ fn, stack: [fn], x, y });
          }}
          line={(at) => {
            const row = order[at] as number;
            const fn = intAt(value.item, row);
            const [self, total] = [floatAt(value.self, row), floatAt(value.total, row)];
            return {
              data: { fn: nameOf(facts, fn), self, total },
              cells: (
                <>
                  <Share name="self" part={self} all={value.sum} text={amount(self, unit)} />
                  <Share name="total" part={total} all={value.sum} text={amount(total, unit)} />
                  <FunctionCell {...props} fn={fn} pick={pick && (() => picked(at))} />
                  <div class="object soft" role="gridcell">{objectOf(facts, fn)}</div>
                </>
              ),
            };
          }}
        />
      )}
      <p class="foot soft">
        {value === undefined
          ? ""
          : `${grouped(order.length)} functions; ${grouped(value.samples)} samples, ` +
            `${facts.events[store.state.event]?.name ?? ""}`}
        {value !== undefined && (
          <>
            {" · "}
            <button
              type="button"
              class="link"
              onClick={() => saveCsv(props, order, value)}
            >
              Save as CSV
            </button>
          </>
        )}
      </p>
    </section>
  );
}

/** Formats a CSV cell; a text that a spreadsheet would evaluate as a formula gets an apostrophe in front. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function saveCsv(
  { facts, store }: ProfileViewProps,
  order: readonly number[],
  { item, self, total, sum }: {
    readonly item: Int32Array;
    readonly self: Float64Array;
    readonly total: Float64Array;
    readonly sum: number;
  },
): void {
  const what = store.state.weight === "samples" ? "samples" : "period";
  const lines = [`self_${what},self_share,total_${what},total_share,function,object`];
  for (const row of order) {
    const [own, all] = [floatAt(self, row), floatAt(total, row)];
    const fn = intAt(item, row);
    const texts = [nameOf(facts, fn), objectOf(facts, fn)].map(cell);
    lines.push([own, own / sum, all, all / sum, ...texts].join(","));
  }
  save(`${facts.title}.functions.csv`, new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
}
