import {
  countedOf,
  isInlined,
  isUnverified,
  nameOf,
  objectOf,
  type ProfileViewProps,
  unitOf,
} from "../ui/context.ts";
import { amount, grouped, percent } from "../ui/format.ts";
import { save } from "../ui/save.ts";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";
import { lineOfKey, VirtualList } from "../ui/virtual_list.tsx";

type Column = "self" | "total" | "name" | "object";

const COLUMNS: readonly { readonly name: Column; readonly title: string; readonly hint: string }[] =
  [
    { name: "self", title: "Self", hint: "in the function itself" },
    { name: "total", title: "Total", hint: "in the function and in what it called" },
    { name: "name", title: "Function", hint: "" },
    { name: "object", title: "Object", hint: "the program, library or kernel that it is in" },
  ];

/** All functions, with what is selected of them. */
export function FunctionsView(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { shown, matched } = store;
  const [sort, setSort] = useState<{ by: Column; up: boolean }>({ by: "self", up: false });
  const [line, setLine] = useState(-1);
  const { value } = useQuery(JSON.stringify(shown), () => open.client.call("table", shown));
  const order = useMemo(() => {
    if (value === undefined) return [];
    const { item, self, total } = value;
    const rows = [...item.keys()].filter((row) =>
      matched === undefined || matched[item[row] as number] === 1
    );
    const text = (row: number) =>
      sort.by === "name"
        ? nameOf(facts, item[row] as number)
        : objectOf(facts, item[row] as number);
    const other = sort.by === "self" ? total : self;
    const column = sort.by === "self" ? self : total;
    const by = sort.by === "name" || sort.by === "object"
      ? (a: number, b: number) => text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0
      : (a: number, b: number) =>
        (column[a] as number) - (column[b] as number) ||
        (other[a] as number) - (other[b] as number);
    rows.sort((a, b) => (sort.up ? by(a, b) : by(b, a)) || a - b);
    return rows;
  }, [value, sort, matched, facts]);
  const sorted = (by: Column) =>
    setSort((before) => ({ by, up: before.by === by ? !before.up : by === "name" }));
  const picked = (at: number) => {
    const row = order[at];
    if (row === undefined || value === undefined) return;
    store.set({ view: "sandwich", fn: nameOf(facts, value.item[row] as number) });
  };
  const unit = unitOf(props);
  const counted = countedOf(props);
  return (
    <section class="fill" aria-label="Functions">
      {value !== undefined && (
        <VirtualList
          class="grid functions"
          role="grid"
          aria-label={`${grouped(order.length)} functions, by ${sort.by}`}
          aria-rowcount={order.length + 1}
          aria-activedescendant={line < 0 ? undefined : `function-${line}`}
          tabIndex={0}
          onKeyDown={(event) => {
            const to = lineOfKey(event.key, line, order.length);
            if (to !== undefined) setLine(to);
            else if (event.key === "Enter") picked(line);
            else return;
            event.preventDefault();
          }}
          head={
            <div class="row head" role="row" aria-rowindex={1}>
              {COLUMNS.map(({ name, title, hint }) => (
                <div
                  key={name}
                  class={name}
                  role="columnheader"
                  aria-sort={sort.by === name ? sort.up ? "ascending" : "descending" : "none"}
                >
                  <button type="button" title={hint} onClick={() => sorted(name)}>
                    {title}
                    {name === "self" || name === "total" ? <small>{counted}</small> : ""}
                    <span aria-hidden="true">{sort.by === name ? sort.up ? " ▲" : " ▼" : ""}</span>
                  </button>
                </div>
              ))}
            </div>
          }
          count={order.length}
          height={24}
          chosen={line}
          render={(at) => {
            const row = order[at] as number;
            const fn = value.item[row] as number;
            const [self, total] = [value.self[row] as number, value.total[row] as number];
            return (
              <div
                class={`row${at === line ? " chosen" : ""}`}
                role="row"
                id={`function-${at}`}
                aria-rowindex={at + 2}
                aria-selected={at === line}
                data-fn={nameOf(facts, fn)}
                data-self={self}
                data-total={total}
                onClick={() => setLine(at)}
                onDblClick={() => picked(at)}
              >
                <Share name="self" part={self} all={value.sum} text={amount(self, unit)} />
                <Share name="total" part={total} all={value.sum} text={amount(total, unit)} />
                <div class="name" role="gridcell" title={nameOf(facts, fn)}>
                  <button type="button" class="link" tabIndex={-1} onClick={() => picked(at)}>
                    {nameOf(facts, fn)}
                  </button>
                  {isInlined(facts, fn) && <span class="tag">inlined</span>}
                  {isUnverified(facts, fn) && (
                    <span
                      class="tag"
                      title="The recording has no build id of the file that the name is from"
                    >
                      unverified
                    </span>
                  )}
                </div>
                <div class="object soft" role="gridcell">{objectOf(facts, fn)}</div>
              </div>
            );
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
            ·{" "}
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

/** A share with a bar behind it. */
export function Share(
  { name, part, all, text }: {
    readonly name: string;
    readonly part: number;
    readonly all: number;
    readonly text: string;
  },
): JSX.Element {
  return (
    <div class={`${name} share`} role="gridcell" title={text}>
      <span
        class="share-bar"
        style={{ width: `${all === 0 ? 0 : 100 * part / all}%` }}
        aria-hidden="true"
      />
      <span class="share-text">{percent(part, all)}</span>
    </div>
  );
}

/** A cell of CSV: what a spreadsheet would take for a formula gets an apostrophe in front. */
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
    const [own, all] = [self[row] as number, total[row] as number];
    const fn = item[row] as number;
    const texts = [nameOf(facts, fn), objectOf(facts, fn)].map(cell);
    lines.push([own, own / sum, all, all / sum, ...texts].join(","));
  }
  save(`${facts.title}.functions.csv`, new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
}
