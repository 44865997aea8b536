import type { TreeRow, TreeRows } from "../data/view_engine.ts";
import { countedOf, nameOf, objectOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { amount, percent } from "../ui/format.ts";
import { functionKey } from "../app/function_menu.tsx";
import { FunctionCell } from "../ui/function_cell.tsx";
import { InvertChoice } from "../ui/invert_choice.tsx";
import { Grid, Share } from "../ui/grid.tsx";
import { type JSX, useEffect, useRef, useState } from "../ui/preact.ts";
import { useGeneration } from "../ui/use_query.ts";

const COLUMNS = [
  { title: "Total", class: "total" },
  { title: "Self", class: "self" },
  { title: "Function", class: "name" },
  { title: "Object", class: "object" },
];

/** Most lines that a search opens. */
const DEEPEST = 500;

/** A line of the expanded tree. */
interface Line {
  readonly row: TreeRow;
  readonly path: readonly number[];
  readonly key: string;
}

/** The lines known so far, by the path of their parent. */
interface Known {
  readonly key: string;
  readonly below: ReadonlyMap<string, readonly TreeRow[]>;
  readonly sum: number;
}

/** State of a tree. */
interface ShownTree {
  /** `undefined` before the first answer. */
  readonly known: Known | undefined;
  /** Expanded lines, by path. */
  readonly opened: ReadonlySet<string>;
  /** The line that a search found, by its path. */
  readonly wanted: string;
  /** Expands a line, and single lines below it. */
  readonly expand: (path: readonly number[]) => Promise<void>;
  readonly collapse: (path: string) => void;
  readonly collapseAll: () => void;
}

/** Returns the lines of a tree, requested as they are expanded. */
function useTree({ store, open }: ProfileViewProps, direction: "up" | "down"): ShownTree {
  const { matched, state: { search } } = store;
  // A search shows only stacks with a match.
  const isSearched = matched !== undefined;
  const shown = isSearched
    ? { ...store.shown, transforms: [...store.shown.transforms ?? [], `having:${search}`] }
    : store.shown;
  const key = JSON.stringify([shown, direction, useGeneration()]);
  const [known, setKnown] = useState<Known | undefined>();
  const [wanted, setWanted] = useState("");
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
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
    // Expanded lines stay expanded if they still exist.
    const paths = [...opened].map((path) => path.split(",").map(Number));
    ask([[], ...paths], true).then(() => isSearched ? openHottest() : undefined);
  }, [key]);
  /** Opens the path of most weight up to its first match. */
  const openHottest = async () => {
    const path: number[] = [];
    const paths: number[][] = [];
    while (path.length < DEEPEST) {
      const { rows }: TreeRows = await open.client.call("children", shown, direction, path);
      const [first] = rows;
      if (newest.current !== key || first === undefined) break;
      path.push(first.item);
      if (matched?.[first.item] === 1 || !first.hasMore) break;
      paths.push([...path]);
    }
    if (newest.current !== key || path.length === 0) return;
    await ask(paths, false);
    setOpened((before) => new Set([...before, ...paths.map((of) => of.join())]));
    setWanted(path.join());
  };
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
  return {
    known,
    opened,
    wanted,
    expand,
    collapse: (path) => setOpened((before) => new Set([...before].filter((of) => of !== path))),
    collapseAll: () => setOpened(new Set()),
  };
}

function linesOf({ known, opened }: ShownTree): Line[] {
  const lines: Line[] = [];
  const visit = (path: readonly number[]) => {
    for (const row of known?.below.get(path.join()) ?? []) {
      const own = [...path, row.item];
      const key = own.join();
      lines.push({ row, path: own, key });
      if (opened.has(key)) visit(own);
    }
  };
  visit([]);
  return lines;
}

/** Callers or callees as a tree. */
export function TreeView(props: ProfileViewProps): JSX.Element {
  const { store, facts } = props;
  const { state, matched } = store;
  const direction = state.callers ? "up" : "down";
  const [at, setAt] = useState(0);
  const tree = useTree(props, direction);
  const { known, opened, expand, collapse, collapseAll } = tree;
  const lines = linesOf(tree);
  useEffect(() => {
    const found = lines.findIndex(({ key }) => key === tree.wanted);
    if (found >= 0) setAt(found);
  }, [tree.wanted]);
  const sum = known?.sum ?? 0;
  const picked = (number: number) => {
    const line = lines[number];
    if (line !== undefined) store.set({ view: "sandwich", fn: nameOf(facts, line.row.item) });
  };
  const keyed = (key: string): boolean => {
    const line = lines[at];
    if (line === undefined) return false;
    if (key === "ArrowRight") {
      if (line.row.hasMore && !opened.has(line.key)) expand(line.path);
      else if (line.row.hasMore) setAt(at + 1);
    } else if (key === "ArrowLeft") {
      if (opened.has(line.key)) collapse(line.key);
      else {
        const above = line.path.slice(0, -1).join();
        const caller = lines.findIndex(({ key }) => key === above);
        if (caller >= 0) setAt(caller);
      }
    } else return functionKey(store, key, line.row.item, stackOf(line));
    return true;
  };
  /** The stack of a line, outermost first. */
  const stackOf = ({ path }: Line) => direction === "up" ? path.slice().reverse() : path;
  return (
    <section class="fill" aria-label="Tree">
      <div class="bar">
        <InvertChoice store={store} />
        <button type="button" disabled={opened.size === 0} onClick={collapseAll}>
          Close all
        </button>
        <span class="soft">
          {countedOf(props)}
          {matched !== undefined && " of stacks with a match"}
        </span>
      </div>
      {known !== undefined && (
        <Grid
          id="line"
          class="tree"
          role="treegrid"
          label="Callers and callees"
          columns={COLUMNS}
          count={lines.length}
          height={24}
          at={at}
          choose={(number) => {
            setAt(number);
            store.look(lines[number]?.row.item ?? -1);
          }}
          pick={picked}
          onKey={keyed}
          menu={(number, x, y) => {
            const line = lines[number];
            if (line === undefined || line.row.item < 0) return;
            // Towards callers, the line's function is the outermost of its stack.
            store.openMenu({ fn: line.row.item, stack: stackOf(line), x, y });
          }}
          line={(number) => {
            const line = lines[number];
            if (line === undefined) return undefined;
            const { row: { item, self, total, hasMore }, path, key } = line;
            const isOpen = opened.has(key);
            return {
              class: matched?.[item] === 1 ? "found" : "",
              "aria-level": path.length,
              ...(hasMore ? { "aria-expanded": isOpen } : {}),
              data: { path: path.map((fn) => nameOf(facts, fn)).join("\n"), self, total },
              cells: (
                <TreeCells
                  {...props}
                  line={line}
                  sum={sum}
                  isOpen={isOpen}
                  turn={() => isOpen ? collapse(key) : expand(path)}
                />
              ),
            };
          }}
        />
      )}
    </section>
  );
}

function TreeCells(
  props: ProfileViewProps & {
    readonly line: Line;
    /** Weight of the whole tree. */
    readonly sum: number;
    readonly isOpen: boolean;
    /** Expands or collapses the line. */
    readonly turn: () => void;
  },
): JSX.Element {
  const { facts, line: { row: { item, self, total, hasMore }, path }, sum, isOpen, turn } = props;
  const unit = unitOf(props);
  return (
    <>
      <Share name="total" part={total} all={sum} text={amount(total, unit)} />
      <div class="self number" role="gridcell" title={amount(self, unit)}>
        {self === 0 ? "" : percent(self, sum)}
      </div>
      <FunctionCell {...props} fn={item}>
        <span style={{ paddingLeft: `${Math.min(60, path.length - 1) * 12}px` }} />
        <button type="button" class="twist" tabIndex={-1} aria-hidden="true" onClick={turn}>
          {hasMore ? isOpen ? "▾" : "▸" : ""}
        </button>
      </FunctionCell>
      <div class="object soft" role="gridcell">{objectOf(facts, item)}</div>
    </>
  );
}
