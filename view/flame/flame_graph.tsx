import { PLAIN_COLOR } from "@perfdata/export/flame-colors";
import type { FlameBoxes } from "../data/flame_boxes.ts";
import { Canvas, type Draw } from "../ui/canvas.tsx";
import { shortName } from "@perfdata/profile/short-names";
import { amount, grouped, percent } from "../ui/format.ts";
import { type JSX, useEffect, useMemo, useRef, useState } from "../ui/preact.ts";

/** Height of a row in pixels. */
const ROW = 19;
const FONT = "12px ui-monospace, Menlo, Consolas, monospace";

/** What a flame graph is drawn from. */
export interface FlameGraphProps {
  readonly boxes: FlameBoxes;
  readonly names: readonly string[];
  /** By function: the object that it is in. */
  readonly objectOf: (fn: number) => string;
  readonly colors: readonly string[];
  /** By box, where it is not its function that decides. */
  readonly boxColor?: (box: number) => string;
  /** What else is said of a box. */
  readonly note?: (box: number) => string;
  /** By function, whether it is marked. */
  readonly matched: Uint8Array | undefined;
  /** Whether the first row is below. */
  readonly isUpward: boolean;
  readonly unit: "nanoseconds" | "count";
  /** What is counted: samples, or an event. */
  readonly counted: string;
  /** Said by a screen reader. */
  readonly label: string;
  /** What a click on a box does where that is no zoom; -1 shows everything. */
  readonly zoomToBox?: (box: number) => void;
  /** The functions that lead to a box fill the width. */
  readonly zoomTo: (path: readonly number[]) => void;
  /** A function is wanted in the sandwich. */
  readonly pick: (fn: number) => void;
  readonly onWidth: (width: number) => void;
}

/** The functions that lead to a box, and the box. */
export function pathOf({ parent, item }: FlameBoxes, box: number): number[] {
  const path: number[] = [];
  for (let at = box; at >= 0; at = parent[at] as number) path.unshift(item[at] as number);
  return path;
}

/** A flame graph. */
export function FlameGraph(props: FlameGraphProps): JSX.Element {
  const { boxes, names, colors, boxColor, matched, isUpward, label, pick } = props;
  const zoomBox = props.zoomToBox ??
    ((box: number) => props.zoomTo(box < 0 ? [] : pathOf(boxes, box)));
  const scroll = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [focus, setFocus] = useState(-1);
  const [hover, setHover] = useState<{ box: number; x: number; y: number } | undefined>();
  const height = boxes.rows * ROW;
  const nameOf = (box: number): string => names[boxes.item[box] as number] ?? "[no stack]";
  useEffect(() => {
    setFocus(-1);
    setHover(undefined);
    const element = scroll.current;
    if (element !== null) element.scrollTop = isUpward ? element.scrollHeight : 0;
  }, [boxes.rows, isUpward]);
  // Where the canvas is shorter than the graph, rows are drawn from here on.
  const rowTop = (row: number, room: number): number =>
    isUpward ? Math.max(room, height) - (row + 1) * ROW - top : row * ROW - top;
  const draw = useMemo<Draw>(() => (context, width, room, page) => {
    context.font = FONT;
    context.textBaseline = "middle";
    const character = context.measureText("mmmmmmmmmm").width / 10;
    const { item, x, width: wide, depth } = boxes;
    for (let box = 0; box < boxes.length; box++) {
      const y = rowTop(depth[box] as number, room);
      if (y > room || y < -ROW) continue;
      const left = (x[box] as number) * width;
      const w = (wide[box] as number) * width;
      const fn = item[box] as number;
      const found = matched?.[fn] === 1;
      context.globalAlpha = matched === undefined || found ? 1 : 0.3;
      context.fillStyle = boxColor?.(box) ?? colors[fn] ?? PLAIN_COLOR;
      const gap = w > 3 ? 1 : 0;
      context.fillRect(left, y, Math.max(0.5, w - gap), ROW - 1);
      if (found) {
        context.fillStyle = page.mark;
        context.fillRect(left, y + ROW - 4, Math.max(1, w - gap), 3);
      }
      const letters = Math.floor((w - 7) / character);
      if (letters >= 3) {
        context.fillStyle = matched === undefined || found ? "#111" : page.text;
        context.fillText(shortName(nameOf(box), letters), left + 4, y + ROW / 2);
      }
      context.globalAlpha = 1;
      if (box === focus || box === hover?.box) {
        context.lineWidth = 2;
        context.strokeStyle = page.text;
        context.strokeRect(left + 1, y + 1, Math.max(1, w - 2), ROW - 3);
      }
    }
  }, [boxes, colors, boxColor, matched, isUpward, top, focus, hover?.box]);
  const boxAt = (event: { readonly offsetX: number; readonly offsetY: number }): number => {
    const element = scroll.current as HTMLDivElement;
    const share = event.offsetX / element.clientWidth;
    const room = element.clientHeight;
    const row = isUpward
      ? Math.floor((Math.max(room, height) - top - event.offsetY) / ROW)
      : Math.floor((event.offsetY + top) / ROW);
    for (let box = 0; box < boxes.length; box++) {
      if (boxes.depth[box] !== row) continue;
      const left = boxes.x[box] as number;
      if (share >= left && share < left + (boxes.width[box] as number)) return box;
    }
    return -1;
  };
  /** The box beside, above or below the one in focus. */
  const neighbour = (key: string): number => {
    if (focus < 0) return boxes.length > 0 ? 0 : -1;
    const outward = isUpward ? "ArrowDown" : "ArrowUp";
    if (key === outward) return Math.max(0, boxes.parent[focus] as number);
    if (key === (isUpward ? "ArrowUp" : "ArrowDown")) {
      let widest = focus;
      for (let box = focus + 1; box < boxes.length; box++) {
        if (boxes.parent[box] !== focus) continue;
        if (widest === focus || (boxes.total[box] as number) > (boxes.total[widest] as number)) {
          widest = box;
        }
      }
      return widest;
    }
    const step = key === "ArrowRight" ? 1 : -1;
    let best = focus;
    for (let box = 0; box < boxes.length; box++) {
      if (boxes.depth[box] !== boxes.depth[focus]) continue;
      const by = ((boxes.x[box] as number) - (boxes.x[focus] as number)) * step;
      const known = ((boxes.x[best] as number) - (boxes.x[focus] as number)) * step;
      if (by > 0 && (best === focus || by < known)) best = box;
    }
    return best;
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^Arrow/.test(event.key)) {
      const box = neighbour(event.key);
      setFocus(box);
      const element = scroll.current as HTMLDivElement;
      if (box >= 0) {
        const y = rowTop(boxes.depth[box] as number, element.clientHeight);
        if (y < 0) element.scrollTop += y;
        else if (y + ROW > element.clientHeight) {
          element.scrollTop += y + ROW - element.clientHeight;
        }
      }
    } else if (event.key === "Enter" && focus >= 0) zoomBox(focus);
    else if (event.key === "0" || event.key === "Escape" || event.key === "Backspace") zoomBox(-1);
    else if (event.key === "s" && focus >= 0) pick(boxes.item[focus] as number);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shown = hover?.box ?? focus;
  return (
    <div class="flame">
      <div
        class="flame-scroll"
        ref={scroll}
        onScroll={() => setTop((scroll.current as HTMLDivElement).scrollTop)}
      >
        <div class="flame-space" style={{ height }} />
        <Canvas
          draw={draw}
          class="flame-canvas"
          tabIndex={0}
          role="application"
          aria-label={`${label}; arrow keys move, Enter zooms, 0 shows everything, s opens the sandwich`}
          onSize={props.onWidth}
          onKeyDown={keyed}
          onMouseMove={(event: MouseEvent) => {
            const box = boxAt(event);
            setHover(box < 0 ? undefined : { box, x: event.clientX, y: event.clientY });
          }}
          onMouseLeave={() => setHover(undefined)}
          onClick={(event: MouseEvent) => {
            const box = boxAt(event);
            if (box < 0) return;
            setFocus(box);
            zoomBox(box);
          }}
          onContextMenu={(event: MouseEvent) => {
            const box = boxAt(event);
            if (box < 0) return;
            event.preventDefault();
            pick(boxes.item[box] as number);
          }}
        />
      </div>
      <p class="flame-facts" aria-live="polite">
        {shown >= 0 && shown < boxes.length ? <Facts {...props} box={shown} /> : (
          <span class="soft">
            {boxes.length === 0
              ? "Nothing is selected."
              : "Point at a box for its numbers; click to zoom; right click for the sandwich."}
          </span>
        )}
      </p>
      {hover !== undefined && hover.box < boxes.length && <Tip {...props} {...hover} />}
    </div>
  );
}

function Facts(
  { boxes, names, objectOf, unit, counted, note, box }: FlameGraphProps & { readonly box: number },
): JSX.Element {
  const fn = boxes.item[box] as number;
  const total = boxes.total[box] as number;
  const self = boxes.self[box] as number;
  return (
    <>
      <strong>{names[fn] ?? "[no stack]"}</strong> <span class="soft">{objectOf(fn)}</span>{" "}
      {percent(total, boxes.sum)} of all, {percent(self, boxes.sum)} itself; {counted}{" "}
      {counted === "samples" ? grouped(total) : amount(total, unit)}
      {note !== undefined && `; ${note(box)}`}
    </>
  );
}

function Tip(
  props: FlameGraphProps & { readonly box: number; readonly x: number; readonly y: number },
): JSX.Element {
  const isRight = props.x > innerWidth / 2;
  const isLow = props.y > innerHeight / 2;
  return (
    <div
      class="tip"
      role="presentation"
      style={{
        ...(isRight ? { right: innerWidth - props.x + 12 } : { left: props.x + 12 }),
        ...(isLow ? { bottom: innerHeight - props.y + 12 } : { top: props.y + 12 }),
      }}
    >
      <Facts {...props} />
    </div>
  );
}
