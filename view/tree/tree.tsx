import type { TreeRow, TreeRows } from "../data/view_engine.ts";
import {
  countedOf,
  isInlined,
  isUnverified,
  nameOf,
  objectOf,
  type ProfileViewProps,
  unitOf,
} from "../ui/context.ts";
import { amount, percent } from "../ui/format.ts";
import { type JSX, useEffect, useRef, useState } from "../ui/preact.ts";
import { Share } from "../table/functions.tsx";
import { lineOfKey, VirtualList } from "../ui/virtual_list.tsx";

/** A line that is in view, or would be. */
interface Line {
  readonly row: TreeRow;
  readonly path: readonly number[];
  readonly key: string;
}

/** What is known of a tree: lines by the path that they are below. */
interface Known {
  readonly key: string;
  readonly below: ReadonlyMap<string, readonly TreeRow[]>;
  readonly sum: number;
}

/** Callers and callees as a tree. */
export function TreeView(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { shown, state, matched } = store;
  const direction = state.callers ? "up" : "down";
  const key = JSON.stringify([shown, direction]);
  const [known, setKnown] = useState<Known | undefined>();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState(0);
  const newest = useRef(key);
  newest.current = key;
  const ask = async (paths: readonly (readonly number[])[], fresh: boolean) => {
    const below = new Map<string, readonly TreeRow[]>();
    let sum = 0;
    for (const path of paths) {
      const answer = await open.client.call("children", shown, direction, path);
      if (newest.current !== key) return;
      below.set(path.join(), answer.rows);
      sum = answer.sum;
    }
    setKnown((before) => ({
      key,
      sum,
      below: fresh || before?.key !== key ? below : new Map([...before.below, ...below]),
    }));
  };
  useEffect(() => {
    // What was open stays open, where it is still there.
    const paths = [...opened].map((path) => path.split(",").map(Number));
    ask([[], ...paths], true);
  }, [key]);
  /** Opens a line, and what has a single line below it with that. */
  const expand = async (path: readonly number[]) => {
    const paths: number[][] = [];
    let next: number[] | undefined = [...path];
    while (next !== undefined && paths.length < 100) {
      paths.push(next);
      const { rows }: TreeRows = await open.client.call("children", shown, direction, next);
      const [only] = rows;
      next = rows.length === 1 && only?.hasMore === true ? [...next, only.item] : undefined;
    }
    await ask(paths, false);
    setOpened((before) => new Set([...before, ...paths.map((of) => of.join())]));
  };
  const collapse = (path: string) =>
    setOpened((before) => new Set([...before].filter((of) => of !== path)));
  const lines: Line[] = [];
  const visit = (path: readonly number[]) => {
    for (const row of known?.below.get(path.join()) ?? []) {
      const own = [...path, row.item];
      const name = own.join();
      lines.push({ row, path: own, key: name });
      if (opened.has(name)) visit(own);
    }
  };
  visit([]);
  const unit = unitOf(props);
  const sum = known?.sum ?? 0;
  const keyed = (event: KeyboardEvent) => {
    const line = lines[at];
    const to = lineOfKey(event.key, at, lines.length);
    if (to !== undefined) setAt(to);
    else if (event.key === "ArrowRight" && line !== undefined) {
      if (line.row.hasMore && !opened.has(line.key)) expand(line.path);
      else if (line.row.hasMore) setAt(at + 1);
    } else if (event.key === "ArrowLeft" && line !== undefined) {
      if (opened.has(line.key)) collapse(line.key);
      else {
        const above = line.path.slice(0, -1).join();
        const caller = lines.findIndex(({ key }) => key === above);
        if (caller >= 0) setAt(caller);
      }
    } else if (event.key === "Enter" && line !== undefined) {
      store.set({ view: "sandwich", fn: nameOf(facts, line.row.item) });
    } else return;
    event.preventDefault();
  };
  return (
    <section class="fill" aria-label="Tree">
      <div class="bar">
        <label>
          First lines{" "}
          <select
            value={direction}
            onChange={(event) => store.set({ callers: event.currentTarget.value === "up" })}
          >
            <option value="down">outermost callers</option>
            <option value="up">sampled functions</option>
          </select>
        </label>
        <button type="button" disabled={opened.size === 0} onClick={() => setOpened(new Set())}>
          Close all
        </button>
        <span class="soft">{countedOf(props)}</span>
      </div>
      {known !== undefined && (
        <VirtualList
          class="grid tree"
          role="treegrid"
          aria-label="Callers and callees"
          aria-rowcount={lines.length + 1}
          aria-activedescendant={lines.length > 0 ? `line-${at}` : undefined}
          tabIndex={0}
          onKeyDown={keyed}
          head={
            <div class="row head" role="row" aria-rowindex={1}>
              <div class="total" role="columnheader">Total</div>
              <div class="self" role="columnheader">Self</div>
              <div class="name" role="columnheader">Function</div>
              <div class="object" role="columnheader">Object</div>
            </div>
          }
          count={lines.length}
          height={24}
          chosen={at}
          render={(number) => {
            const line = lines[number];
            if (line === undefined) return null;
            const { row, path, key: name } = line;
            const isOpen = opened.has(name);
            const found = matched?.[row.item] === 1;
            return (
              <div
                class={`row${number === at ? " chosen" : ""}${found ? " found" : ""}`}
                role="row"
                id={`line-${number}`}
                aria-rowindex={number + 2}
                aria-level={path.length}
                aria-expanded={row.hasMore ? isOpen : undefined}
                data-path={path.map((fn) => nameOf(facts, fn)).join("\n")}
                data-self={row.self}
                data-total={row.total}
                onClick={() => setAt(number)}
              >
                <Share name="total" part={row.total} all={sum} text={amount(row.total, unit)} />
                <div class="self number" role="gridcell" title={amount(row.self, unit)}>
                  {row.self === 0 ? "" : percent(row.self, sum)}
                </div>
                <div class="name" role="gridcell" title={nameOf(facts, row.item)}>
                  <span style={{ paddingLeft: `${Math.min(60, path.length - 1) * 12}px` }} />
                  <button
                    type="button"
                    class="twist"
                    tabIndex={-1}
                    aria-hidden="true"
                    onClick={() => isOpen ? collapse(name) : expand(path)}
                  >
                    {row.hasMore ? isOpen ? "▾" : "▸" : ""}
                  </button>
                  <button
                    type="button"
                    class="link"
                    tabIndex={-1}
                    onClick={() => store.set({ view: "sandwich", fn: nameOf(facts, row.item) })}
                  >
                    {nameOf(facts, row.item)}
                  </button>
                  {isInlined(facts, row.item) && <span class="tag">inlined</span>}
                  {isUnverified(facts, row.item) && (
                    <span
                      class="tag"
                      title="The recording has no build id of the file that the name is from"
                    >
                      unverified
                    </span>
                  )}
                </div>
                <div class="object soft" role="gridcell">{objectOf(facts, row.item)}</div>
              </div>
            );
          }}
        />
      )}
    </section>
  );
}
