import { floatAt } from "@perfdata/format/bytes";
import type { Heat } from "../data/heat.ts";
import { Canvas, type Draw } from "../ui/canvas.tsx";
import { type ProfileViewProps, unitOf } from "../ui/context.ts";
import { amount, duration, seconds } from "../ui/format.ts";
import type { PageColors } from "../ui/page_colors.ts";
import { type JSX, useMemo, useRef, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";
import type { Range } from "./brush.ts";

/** Number of cells in a column. */
const ROWS = 50;
/** Width in pixels of the labels next to the cells. */
const MARGIN = 64;
/** Maximum width of a column in pixels. */
const WIDEST = 28;

/**
 * Samples by second, a column each, and by fraction of a second, a row each. It shows bursts within a second and
 * recurring patterns. Dragging selects a range of time.
 */
export function HeatMap(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { event, weight, pids, tids, cpus, from, to } = store.state;
  const query = { event, weight, pids, tids, cpus, rows: ROWS };
  const { value } = useQuery(JSON.stringify(query), () => open.client.call("heat", query));
  const start = useRef<number | undefined>(undefined);
  const [cell, setCell] = useState(-1);
  const [dragged, setDragged] = useState<Range | undefined>();
  const step = value === undefined ? 1 : value.column / value.rows;
  const chosen = dragged ??
    (from === undefined && to === undefined
      ? undefined
      : [from ?? 0, to ?? facts.duration + 1] as const);
  const draw = useMemo<Draw>(() => (context, width, height, colors) => {
    if (value !== undefined) drawHeat(context, value, [width, height], colors, { cell, chosen });
  }, [value, cell, chosen?.[0], chosen?.[1]]);
  if (value === undefined) return <div class="fill" />;
  const count = value.columns * value.rows;
  const cellAt = (event: PointerEvent): number =>
    cellUnder(event, value, start.current === undefined);
  /** Returns the range from the earlier cell to the end of the later one. */
  const between = (a: number, b: number): Range => [
    Math.floor(Math.min(a, b) * step),
    Math.ceil((Math.max(a, b) + 1) * step),
  ];
  const select = (range: Range | undefined) => {
    start.current = undefined;
    setDragged(undefined);
    store.set({ from: range?.[0], to: range?.[1], zoom: [] });
  };
  const keyed = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowUp: 1,
      ArrowDown: -1,
      ArrowRight: value.rows,
      ArrowLeft: -value.rows,
    };
    const by = steps[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (by !== undefined) {
      const next = cell < 0 ? 0 : cell + by;
      if (next < 0 || next >= count) return;
      setCell(next);
      if (start.current !== undefined) setDragged(between(start.current, next));
    } else if ((event.key === "Enter" || event.key === " ") && cell >= 0) {
      if (start.current === undefined) {
        start.current = cell;
        setDragged(between(cell, cell));
      } else select(between(start.current, cell));
    } else if (event.key === "Escape") select(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <Canvas
        class="heat"
        draw={draw}
        tabIndex={0}
        role="application"
        aria-label="Samples by second and fraction of a second; arrow keys move, Enter begins and ends a selection, Escape shows everything"
        onKeyDown={keyed}
        onPointerDown={(event: PointerEvent) => {
          const at = cellAt(event);
          if (event.button !== 0 || at < 0) return;
          start.current = at;
          (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event: PointerEvent) => {
          const at = cellAt(event);
          setCell(at);
          if (start.current !== undefined && at >= 0 && at !== start.current) {
            setDragged(between(start.current, at));
          }
        }}
        onPointerUp={(event: PointerEvent) => {
          const at = cellAt(event);
          if (start.current === undefined) return;
          select(at < 0 || at === start.current ? dragged : between(start.current, at));
        }}
        onPointerLeave={() => setCell(-1)}
      />
      <p class="foot soft" aria-live="polite">
        {cell < 0
          ? `A column is ${duration(value.column)}, a cell ${
            duration(step)
          }. Drag from the first to the last cell that you want; a click shows everything.`
          : `${seconds(cell * step, step)}: ${amount(floatAt(value.cells, cell), unitOf(props))}`}
      </p>
    </>
  );
}

function cellSize({ columns, rows }: Heat, width: number, height: number): [number, number] {
  return [
    Math.min(WIDEST, Math.max(0.2, (width - MARGIN - 8) / columns)),
    Math.max(1, Math.floor((height - 30) / rows)),
  ];
}

/** Returns the cell under the pointer. Outside of the cells, returns the nearest one, or -1 with `isInside`. */
function cellUnder(event: PointerEvent, heat: Heat, isInside: boolean): number {
  const canvas = event.currentTarget as HTMLCanvasElement;
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const [wide, tall] = cellSize(heat, width, height);
  const column = Math.floor((event.clientX - left - MARGIN) / wide);
  const row = heat.rows - 1 - Math.floor((event.clientY - top - 8) / tall);
  const isIn = column >= 0 && column < heat.columns && row >= 0 && row < heat.rows;
  // A drag may end outside of the cells; then the nearest one counts.
  if (!isIn && isInside) return -1;
  const clamp = (of: number, count: number) => Math.max(0, Math.min(count - 1, of));
  return clamp(column, heat.columns) * heat.rows + clamp(row, heat.rows);
}

/** Draws the cells with their times, and marks one. */
function drawHeat(
  context: CanvasRenderingContext2D,
  heat: Heat,
  [width, height]: readonly [number, number],
  colors: PageColors,
  { cell, chosen }: {
    /** The marked cell; -1 for none. */
    readonly cell: number;
    /** The selected range of time. */
    readonly chosen: Range | undefined;
  },
): void {
  const { columns, rows, cells, most, column } = heat;
  const step = column / rows;
  const [wide, tall] = cellSize(heat, width, height);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillStyle = colors.soft;
  for (let part = 0; part <= 4; part++) {
    const y = 8 + (rows * tall) * (1 - part / 4);
    context.fillText(`${column * part / 4e6} ms`, 4, Math.min(height - 26, y));
  }
  for (let at = 0; at < columns * rows; at++) {
    const share = floatAt(cells, at) / most;
    const x = MARGIN + Math.floor(at / rows) * wide;
    const y = 8 + (rows - 1 - at % rows) * tall;
    const isChosen = chosen === undefined ||
      ((at + 1) * step > chosen[0] && at * step < chosen[1]);
    // A single sample stays visible.
    context.globalAlpha = share === 0 ? 0.06 : 0.14 + 0.86 * share;
    context.fillStyle = share === 0 ? colors.soft : isChosen ? colors.heat : colors.soft;
    context.fillRect(x, y, Math.max(0.6, wide - (wide > 4 ? 1 : 0)), tall - (tall > 4 ? 1 : 0));
  }
  context.globalAlpha = 1;
  if (cell >= 0) {
    context.strokeStyle = colors.text;
    context.lineWidth = 2;
    context.strokeRect(
      MARGIN + Math.floor(cell / rows) * wide,
      8 + (rows - 1 - cell % rows) * tall,
      Math.max(3, wide),
      Math.max(3, tall),
    );
  }
  context.fillStyle = colors.soft;
  const each = Math.max(1, Math.ceil(90 / wide));
  for (let at = 0; at < columns; at += each) {
    context.fillText(seconds(at * column, column), MARGIN + at * wide, 8 + rows * tall + 10);
  }
}
