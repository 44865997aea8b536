import { floatAt, intAt } from "@perfdata/format/bytes";
import { NO_STACK } from "../data/call_graph.ts";
import type { Shown, ViewEngine } from "../data/view_engine.ts";

/** A row of the list: a function, or one of its callers or callees. */
export interface Row {
  /** The function, or `NO_STACK`. */
  readonly item: number;
  readonly total: number;
  readonly self: number;
  /** Depth below a row of the first level. */
  readonly depth: number;
  readonly path: readonly number[];
  readonly hasMore: boolean;
  /** Whether the rows below it are shown. */
  isOpen: boolean;
}

export interface ListQuery {
  readonly shown: Shown;
  /** All functions, or the tree of calls. */
  readonly view: "functions" | "tree";
  /** Order of functions. */
  readonly sort: "total" | "self";
  /** Whether callers are below a row instead of callees. */
  readonly callers: boolean;
  /** By function: 1 if it is shown. */
  readonly matched: Uint8Array | undefined;
  /** Rows with a smaller share of the selection are left out, from 0 to 1. */
  readonly least: number;
}

/** Maximum number of rows opened at once, if each has a single row below it. */
const MOST_OPENED = 64;

/** Maximum number of rows that are opened by one key. */
const MOST_ROWS = 20_000;

/** The rows of a list: functions, and the rows below open ones. */
export class RowList {
  readonly query: ListQuery;
  /** The rows, in order. */
  rows: Row[];
  /** Weight of the whole selection. */
  readonly sum: number;
  readonly samples: number;
  readonly #engine: ViewEngine;

  constructor(engine: ViewEngine, query: ListQuery) {
    this.#engine = engine;
    this.query = query;
    const { shown, view, sort, matched } = query;
    const table = engine.table(shown);
    this.sum = table.sum;
    this.samples = table.samples;
    if (view === "tree") {
      this.rows = this.#below([], -1);
      return;
    }
    const by = table[sort];
    const other = sort === "self" ? table.total : table.self;
    const order = [...table.item.keys()].filter((row) => {
      const item = intAt(table.item, row);
      if (sort === "self" && by[row] === 0) return false;
      if (floatAt(by, row) < query.least * this.sum) return false;
      return matched === undefined || (item >= 0 && matched[item] === 1);
    });
    order.sort((a, b) =>
      floatAt(by, b) - floatAt(by, a) || floatAt(other, b) - floatAt(other, a) || a - b
    );
    this.rows = order.map((row) => {
      const item = intAt(table.item, row);
      const [total, self] = [floatAt(table.total, row), floatAt(table.self, row)];
      const hasMore = item !== NO_STACK;
      return { item, total, self, depth: 0, path: [item], hasMore, isOpen: false };
    });
  }

  /**
   * Opens a row, and as long as an opened row has one child only, that child; or closes the row.
   *
   * @returns Whether the row can be opened or closed.
   */
  toggle(at: number): boolean {
    const row = this.rows[at];
    if (row === undefined || !row.hasMore) return false;
    if (row.isOpen) {
      row.isOpen = false;
      let end = at + 1;
      while ((this.rows[end]?.depth ?? -1) > row.depth) end++;
      this.rows.splice(at + 1, end - at - 1);
      return true;
    }
    const below = this.#below(row.path, row.depth);
    if (below.length === 0) return false;
    row.isOpen = true;
    for (let last = below; last.length === 1 && below.length < MOST_OPENED;) {
      const [only] = last;
      if (only === undefined || !only.hasMore) break;
      only.isOpen = true;
      last = this.#below(only.path, only.depth);
      below.push(...last);
    }
    this.rows.splice(at + 1, 0, ...below);
    return true;
  }

  /** Opens rows that are open in an earlier list, if they are here. */
  openAs(before: RowList): void {
    for (const { path, isOpen } of before.rows) {
      const at = isOpen ? this.find(path) : -1;
      if (this.rows[at]?.isOpen === false) this.toggle(at);
    }
  }

  /** Returns the row with a path of functions; -1 if there is none. */
  find(path: readonly number[]): number {
    const key = path.join();
    return this.rows.findIndex((row) =>
      row.path.length === path.length && row.item === path.at(-1) && row.path.join() === key
    );
  }

  /**
   * Opens a row and all rows below it that have at least a share of the selection; or closes it.
   *
   * @returns Whether the row can be opened or closed.
   */
  toggleAll(at: number, share: number): boolean {
    const row = this.rows[at];
    if (row === undefined || !row.hasMore) return false;
    if (row.isOpen) return this.toggle(at);
    this.rows.splice(at + 1, 0, ...this.#allBelow(row, share * this.sum, { left: MOST_ROWS }));
    return row.isOpen;
  }

  /**
   * Opens all rows that have at least a share of the selection.
   *
   * @returns Whether all of them are open; a list has a limited number of rows.
   */
  openAll(share: number): boolean {
    this.closeAll();
    const room = { left: MOST_ROWS };
    const least = share * this.sum;
    const all: Row[] = [];
    for (const row of this.rows) {
      all.push(row);
      if (row.hasMore && row.total >= least && room.left > 0) {
        all.push(...this.#allBelow(row, least, room));
      }
    }
    this.rows = all;
    return room.left > 0;
  }

  closeAll(): void {
    this.rows = this.rows.filter(({ depth }) => depth === 0);
    for (const row of this.rows) row.isOpen = false;
  }

  /** Opens a row, and rows below it of at least a weight while there is room; returns those rows. */
  #allBelow(row: Row, least: number, room: { left: number }): Row[] {
    const below = this.#below(row.path, row.depth);
    row.isOpen = below.length > 0;
    room.left -= below.length;
    return below.flatMap((own) =>
      own.hasMore && own.total >= least && room.left > 0
        ? [own, ...this.#allBelow(own, least, room)]
        : [own]
    );
  }

  /** Returns the parent of a row; the row itself if it is on the first level. */
  above(at: number): number {
    const depth = this.rows[at]?.depth ?? 0;
    if (depth === 0) return at;
    let up = at - 1;
    while (up > 0 && (this.rows[up]?.depth ?? 0) >= depth) up--;
    return up;
  }

  #below(path: readonly number[], depth: number): Row[] {
    const { shown, view, sort, callers } = this.query;
    // Functions are expanded with all their callers, or, sorted by self, with the callers of their own samples.
    const focus = view === "functions" && !(callers && sort === "self") ? path[0] : undefined;
    const { rows } = this.#engine.children(shown, callers ? "up" : "down", path, focus);
    const least = this.query.least * this.sum;
    return rows.filter(({ total }) => total >= least).map(({ item, total, self, hasMore }) => ({
      item,
      total,
      self,
      depth: depth + 1,
      path: [...path, item],
      hasMore,
      isOpen: false,
    }));
  }
}
