import { percent } from "./format.ts";
import type { ComponentChildren, JSX } from "./preact.ts";
import { lineOfKey, VirtualList } from "./virtual_list.tsx";

export interface GridColumn<Name extends string = string> {
  /** Sort key of the column, if it can be sorted. */
  readonly name?: Name;
  readonly title: ComponentChildren;
  readonly class?: string;
  readonly hint?: string;
}

/** Order of the lines of a grid. */
export interface GridSort<Name extends string = string> {
  readonly by: Name;
  readonly up: boolean;
  /** Called with the column of a clicked header. */
  readonly change: (by: Name) => void;
}

export interface GridLine extends Omit<JSX.HTMLAttributes<HTMLDivElement>, "class" | "role"> {
  readonly class?: string;
  readonly cells: ComponentChildren;
  /** Values of `data-…` attributes, for tests and styles. */
  readonly data?: Readonly<Record<string, string | number | boolean>>;
}

/** A table with any number of lines, one of which is chosen by pointer or keys. */
export function Grid<Name extends string>(
  {
    id,
    class: name,
    label,
    role = "grid",
    columns,
    sort,
    count,
    height,
    at,
    start = at,
    chosen = start,
    ...by
  }: {
    /** Prefix of the ids of lines. */
    readonly id: string;
    readonly class: string;
    /** Label for screen readers. */
    readonly label: string;
    readonly role?: "grid" | "treegrid";
    readonly columns: readonly GridColumn<Name>[];
    readonly sort?: GridSort<Name>;
    readonly count: number;
    /** Height of a line in pixels. */
    readonly height: number;
    /** The chosen line; -1 for none. */
    readonly at: number;
    /** The line at which keys begin if none is chosen. */
    readonly start?: number;
    /** The line to scroll into view. */
    readonly chosen?: number;
    readonly choose: (line: number) => void;
    /** Handles Enter and a double click. */
    readonly pick?: (line: number) => void;
    /** Handles other keys; returns whether it handled the key. */
    readonly onKey?: (key: string) => boolean;
    /** Opens a menu of a line, at a point of the page. */
    readonly menu?: ((line: number, x: number, y: number) => void) | undefined;
    /** Called with the visible lines. */
    readonly onRange?: (from: number, to: number) => void;
    /** Returns a line; `undefined` if it is not known yet. */
    readonly line: (line: number) => GridLine | undefined;
  },
): JSX.Element {
  const keyed = (event: KeyboardEvent) => {
    const to = lineOfKey(event.key, start, count);
    if (to !== undefined) by.choose(to);
    else if (by.onKey?.(event.key) !== true) {
      if (event.key !== "Enter" || by.pick === undefined || at < 0) return;
      by.pick(at);
    }
    event.preventDefault();
  };
  return (
    <VirtualList
      class={`grid ${name}`}
      role={role}
      aria-label={label}
      aria-rowcount={count + 1}
      aria-activedescendant={at < 0 || at >= count ? undefined : `${id}-${at}`}
      tabIndex={0}
      onKeyDown={keyed}
      onContextMenu={(event: MouseEvent) => {
        if (by.menu === undefined) return;
        // That of a key has no place: the menu is at the line that is chosen.
        const target = event.target as HTMLElement;
        const row = target.closest(`[id^="${id}-"]`) ?? document.getElementById(`${id}-${at}`);
        if (row === null) return;
        event.preventDefault();
        const line = Number(row.id.slice(id.length + 1));
        const { left, bottom } = row.getBoundingClientRect();
        const isOn = target.closest(".row") !== null;
        by.choose(line);
        by.menu(line, isOn ? event.clientX : left + 40, isOn ? event.clientY : bottom);
      }}
      head={
        <div class="row head" role="row" aria-rowindex={1}>
          {columns.map((column, i) => <Head key={i} column={column} sort={sort} />)}
        </div>
      }
      count={count}
      height={height}
      chosen={chosen}
      {...(by.onRange === undefined ? {} : { onRange: by.onRange })}
      render={(number) => {
        const line = by.line(number);
        if (line === undefined) {
          return <div class="row soft" role="row" aria-rowindex={number + 2} />;
        }
        const { class: own = "", cells, data = {}, ...others } = line;
        return (
          <div
            aria-selected={number === at}
            onClick={() => by.choose(number)}
            onDblClick={() => by.pick?.(number)}
            {...others}
            {...Object.fromEntries(Object.entries(data).map(([key, of]) => [`data-${key}`, of]))}
            class={`row${number === at ? " chosen" : ""} ${own}`}
            role="row"
            id={`${id}-${number}`}
            aria-rowindex={number + 2}
          >
            {cells}
          </div>
        );
      }}
    />
  );
}

function Head<Name extends string>(
  { column: { name, title, class: kind = name, hint }, sort }: {
    readonly column: GridColumn<Name>;
    readonly sort: GridSort<Name> | undefined;
  },
): JSX.Element {
  if (sort === undefined || name === undefined) {
    return <div class={kind} role="columnheader" title={hint}>{title}</div>;
  }
  const direction = sort.by !== name ? "none" : sort.up ? "ascending" : "descending";
  return (
    <div class={kind} role="columnheader" aria-sort={direction}>
      <button type="button" title={hint} onClick={() => sort.change(name)}>
        {title}
        <span aria-hidden="true">{sort.by === name ? sort.up ? " ▲" : " ▼" : ""}</span>
      </button>
    </div>
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
