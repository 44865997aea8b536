import { PLAIN_COLOR } from "@perfdata/export/tree";
import { floatAt, intAt } from "@perfdata/format/bytes";
import { NO_STACK } from "../data/call_graph.ts";
import { NO_STACK_TEXT } from "../ui/context.ts";
import type { FlameBoxes } from "../data/flame_boxes.ts";
import { amount, grouped, percent } from "../ui/format.ts";
import {
  type JSX,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "../ui/preact.ts";
import { findsIn } from "../ui/name.tsx";
import { Graph, neighbour } from "./graph.ts";
import { foundName } from "./search.ts";

/** Input of a flame graph. */
export interface FlameGraphProps {
  readonly boxes: FlameBoxes;
  readonly names: readonly string[];
  /** By function: name of its object. */
  readonly objectOf: (fn: number) => string;
  readonly colors: readonly string[];
  /** By box: color, if it does not depend on the function. */
  readonly boxColor?: (box: number) => string;
  /** By box: additional text. */
  readonly note?: (box: number) => string;
  /** By function: whether it is marked. */
  readonly matched: Uint8Array | undefined;
  readonly search: string;
  /** Whether the first row is at the bottom. */
  readonly isUpward: boolean;
  readonly unit: "nanoseconds" | "count";
  /** Name of the weight: samples, or an event. */
  readonly counted: string;
  /** Label for screen readers. */
  readonly label: string;
  /** Handles a click on a box, if it is not a zoom; -1 selects all. */
  readonly zoomToBox?: (box: number) => void;
  /** Zooms to a path of functions, which then fills the width. */
  readonly zoomTo: (path: readonly number[]) => void;
  /** Opens the sandwich view of a function. */
  readonly pick: (fn: number) => void;
  /** Called with the function of a chosen box. */
  readonly look?: (fn: number) => void;
  /** Further actions for the function of a box. `path`: the functions from the root to the box. */
  readonly onFunction?: {
    /** Opens a menu at a point of the page. */
    readonly menu: (path: readonly number[], x: number, y: number) => void;
    /** Handles a key; returns whether it has a meaning. */
    readonly key: (path: readonly number[], key: string) => boolean;
  } | undefined;
  readonly onWidth: (width: number) => void;
}

export function pathOf({ parent, item }: FlameBoxes, box: number): number[] {
  const path: number[] = [];
  for (let at = box; at >= 0; at = intAt(parent, at)) path.unshift(intAt(item, at));
  return path;
}

/** Returns the next box whose function matches; -1 without one. */
function nextMatch(
  { length, item }: FlameBoxes,
  matched: Uint8Array | undefined,
  from: number,
  step: number,
): number {
  for (let i = 1; i <= length && matched !== undefined; i++) {
    const box = (from + step * i + length * 2) % length;
    if (matched[intAt(item, box)] === 1) return box;
  }
  return -1;
}

/** The elements of a flame graph, and its drawing. */
interface DrawnGraph {
  readonly scroll: RefObject<HTMLDivElement>;
  readonly space: RefObject<HTMLDivElement>;
  readonly canvas: RefObject<HTMLCanvasElement>;
  readonly drawing: { readonly current: Graph | undefined };
}

/** Draws a flame graph, and redraws it on every change. */
function useGraph(
  { boxes, names, colors, boxColor, matched, search, isUpward, onWidth }: FlameGraphProps,
  focus: number,
  hover: number | undefined,
): DrawnGraph {
  const scroll = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<Graph>();
  const sized = useRef(onWidth);
  sized.current = onWidth;
  useLayoutEffect(() => {
    const graph = new Graph(
      canvas.current as HTMLCanvasElement,
      scroll.current as HTMLDivElement,
      space.current as HTMLDivElement,
      (width) => sized.current(width),
    );
    drawing.current = graph;
    return () => graph.end();
  }, []);
  useLayoutEffect(() => {
    const find = findsIn(search);
    const item = (box: number) => intAt(boxes.item, box);
    drawing.current?.show({
      boxes,
      textOf: (box, room) => foundName(names[item(box)] ?? "[no stack]", room, find),
      colorOf: (box) => boxColor?.(box) ?? colors[item(box)] ?? PLAIN_COLOR,
      isMatch: matched && ((box) => matched[item(box)] === 1),
      zoom: -1,
      marked: [focus, hover ?? -1],
      isUpward,
    });
  }, [boxes, names, colors, boxColor, matched, search, isUpward, focus, hover]);
  return { scroll, space, canvas, drawing };
}

/** A flame graph with pointer and keyboard control. */
export function FlameGraph(props: FlameGraphProps): JSX.Element {
  const { boxes, matched, isUpward, label, pick, onFunction } = props;
  const zoomBox = props.zoomToBox ??
    ((box: number) => props.zoomTo(box < 0 ? [] : pathOf(boxes, box)));
  const [focus, setFocus] = useState(-1);
  const [hover, setHover] = useState<{ box: number; x: number; y: number } | undefined>();
  const { scroll, space, canvas, drawing } = useGraph(props, focus, hover?.box);
  useEffect(() => {
    setFocus(-1);
    setHover(undefined);
  }, [boxes.rows, isUpward]);
  const choose = (box: number) => {
    setFocus(box);
    if (box >= 0) props.look?.(intAt(boxes.item, box));
  };
  const boxAt = (event: MouseEvent): number => drawing.current?.at(event) ?? -1;
  const keyed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^Arrow/.test(event.key)) {
      const box = neighbour(boxes, boxes.total, focus, event.key, isUpward);
      choose(box);
      if (box >= 0) drawing.current?.reveal(box);
    } else if (event.key === "Enter" && focus >= 0) zoomBox(focus);
    else if (event.key === "0" || event.key === "Escape" || event.key === "Backspace") zoomBox(-1);
    else if (event.key === "n" || event.key === "N") {
      const box = nextMatch(boxes, matched, focus, event.key === "n" ? 1 : -1);
      if (box >= 0) {
        choose(box);
        drawing.current?.reveal(box);
      }
    } else if (focus < 0 || !(onFunction?.key(pathOf(boxes, focus), event.key) ?? false)) {
      if (event.key !== "s" || focus < 0) return;
      pick(intAt(boxes.item, focus));
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const shown = hover?.box ?? focus;
  return (
    <div class="flame">
      <div class="flame-scroll" ref={scroll}>
        <div class="flame-space" ref={space} />
        <canvas
          class="flame-canvas"
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={`${label}; arrow keys move, Enter zooms, 0 shows everything, s opens the sandwich, the menu key a menu`}
          onKeyDown={keyed}
          onMouseMove={(event: MouseEvent) => {
            const box = boxAt(event);
            setHover(box < 0 ? undefined : { box, x: event.clientX, y: event.clientY });
          }}
          onMouseLeave={() => setHover(undefined)}
          onClick={(event: MouseEvent) => {
            const box = boxAt(event);
            if (box < 0) return;
            choose(box);
            zoomBox(box);
          }}
          onContextMenu={(event: MouseEvent) => {
            // That of a key has no place: the menu is of the box that keys are at.
            const isKey = event.button !== 2;
            const box = isKey ? focus : boxAt(event);
            if (box < 0) return;
            event.preventDefault();
            choose(box);
            setHover(undefined);
            const { left, top } = (event.target as HTMLElement).getBoundingClientRect();
            const [x, y] = isKey ? [left + 40, top + 40] : [event.clientX, event.clientY];
            if (onFunction === undefined) pick(intAt(boxes.item, box));
            else onFunction.menu(pathOf(boxes, box), x, y);
          }}
        />
      </div>
      <p class="flame-facts" aria-live="polite">
        {shown >= 0 && shown < boxes.length ? <Facts {...props} box={shown} /> : (
          <span class="soft">
            {boxes.length === 0
              ? "Nothing is selected."
              : `Point at a box for its numbers; click to zoom; right click for ${
                onFunction === undefined ? "the sandwich" : "a menu"
              }.`}
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
  const fn = intAt(boxes.item, box);
  const total = floatAt(boxes.total, box);
  const self = floatAt(boxes.self, box);
  const up = intAt(boxes.parent, box);
  const said = note?.(box) ?? "";
  return (
    <>
      <strong>{names[fn] ?? "[no stack]"}</strong> <span class="soft">{objectOf(fn)}</span>{" "}
      {percent(total, boxes.sum)} of all
      {up >= 0 && `, ${percent(total, floatAt(boxes.total, up))} of its parent`},{" "}
      {percent(self, boxes.sum)} self; {counted}{" "}
      {counted === "samples" ? grouped(total) : amount(total, unit)}
      {said !== "" && `; ${said}`}
      {fn === NO_STACK && `; ${NO_STACK_TEXT}`}
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
