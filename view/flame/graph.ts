/**
 * A flame graph on a canvas: draws boxes, and finds the box at a point or next to another one. Used by
 * the page that explores recordings and by the page of `flame`.
 *
 * @module
 */
import type { FlameTree } from "@perfdata/export/tree";
import { floatAt, intAt } from "@perfdata/format/bytes";

/** Height of a row in pixels. */
export const ROW = 19;
const FONT = "12px ui-monospace, Menlo, Consolas, monospace";

/** Boxes with positions. */
export type PlacedBoxes = Pick<FlameTree, "length" | "parent" | "depth" | "x" | "width" | "rows">;

/** Content of a drawing. */
export interface Scene {
  readonly boxes: PlacedBoxes;
  /** Returns the name of a box, shortened to a number of characters. */
  readonly textOf: (box: number, room: number) => string;
  readonly colorOf: (box: number) => string;
  /** Whether a box matches the search; `undefined` without a search. */
  readonly isMatch?: ((box: number) => boolean) | undefined;
  /** Box that fills the width; -1 for none. */
  readonly zoom: number;
  /** Boxes with a frame: of the keyboard and of the pointer; -1 for none. */
  readonly marked: readonly number[];
  /** Whether the first row is at the bottom. */
  readonly isUpward: boolean;
}

/** Draws scenes on a canvas that stays visible in a scrolling element. */
export class Graph {
  readonly canvas: HTMLCanvasElement;
  readonly #scroll: HTMLElement;
  readonly #space: HTMLElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #end: () => void;
  #scene: Scene | undefined;
  #frame = 0;
  #character = 0;
  /** Visible part: its left edge and width, as shares of the whole. */
  #left = 0;
  #span = 1;
  /** Number of boxes drawn last, for tests. */
  drawn = 0;

  /**
   * Creates a drawing.
   *
   * @param space Element in `scroll` with the height of the graph.
   * @param sized Called with the width when it changes.
   */
  constructor(
    canvas: HTMLCanvasElement,
    scroll: HTMLElement,
    space: HTMLElement,
    sized: (width: number) => void = () => {},
  ) {
    this.canvas = canvas;
    this.#scroll = scroll;
    this.#space = space;
    this.#context = canvas.getContext("2d") as CanvasRenderingContext2D;
    const ask = () => this.#ask();
    let width = 0;
    const observer = new ResizeObserver(() => {
      if (width !== scroll.clientWidth) sized(width = scroll.clientWidth);
      ask();
    });
    observer.observe(scroll);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    scroll.addEventListener("scroll", ask);
    dark.addEventListener("change", ask);
    addEventListener("perfdata-scheme", ask);
    this.#end = () => {
      observer.disconnect();
      scroll.removeEventListener("scroll", ask);
      dark.removeEventListener("change", ask);
      removeEventListener("perfdata-scheme", ask);
      cancelAnimationFrame(this.#frame);
    };
  }

  /** Stops listening to the page. */
  end(): void {
    this.#end();
  }

  show(scene: Scene): void {
    const before = this.#scene;
    const { boxes, zoom, isUpward } = scene;
    this.#scene = scene;
    this.#left = zoom < 0 ? 0 : floatAt(boxes.x, zoom);
    this.#span = zoom < 0 ? 1 : floatAt(boxes.width, zoom);
    if (before?.boxes.rows !== boxes.rows || before.isUpward !== isUpward) {
      this.#space.style.height = `${boxes.rows * ROW}px`;
      this.#scroll.scrollTop = isUpward ? this.#scroll.scrollHeight : 0;
    }
    this.#ask();
  }

  #ask(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  /** Returns the canvas position at which the first row of an upward graph ends. */
  #bottom({ boxes }: Scene): number {
    return Math.max(this.#scroll.clientHeight, boxes.rows * ROW) - this.#scroll.scrollTop;
  }

  /** Returns the left and right edge of a box in pixels. The boxes below the zoomed one fill the width. */
  #extent({ x, width }: PlacedBoxes, box: number, room: number): readonly [number, number] {
    const left = (floatAt(x, box) - this.#left) / this.#span * room;
    const right = left + floatAt(width, box) / this.#span * room;
    return [Math.max(0, left), Math.min(room, right)];
  }

  #draw(): void {
    const scene = this.#scene;
    const { clientWidth: width, clientHeight: height, scrollTop } = this.#scroll;
    if (scene === undefined || width === 0) return;
    const { boxes, isMatch, isUpward, marked } = scene;
    const ratio = devicePixelRatio || 1;
    const { canvas } = this;
    const context = this.#context;
    const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide) canvas.width = wide;
    if (canvas.height !== tall) canvas.height = tall;
    const style = getComputedStyle(document.documentElement);
    const mark = style.getPropertyValue("--mark").trim();
    // Boxes without a match are drawn transparently.
    const onPage = style.getPropertyValue("--text").trim();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = "middle";
    this.#character ||= context.measureText("mmmmmmmmmm").width / 10;
    const bottom = this.#bottom(scene);
    // Right edge of the boxes drawn in each row; narrow boxes there are merged.
    const filled = new Float64Array(boxes.rows).fill(-1);
    let drawn = 0;
    for (let box = 0; box < boxes.length; box++) {
      const row = intAt(boxes.depth, box);
      const y = isUpward ? bottom - (row + 1) * ROW : row * ROW - scrollTop;
      if (y > height || y < -ROW) continue;
      const [x, end] = this.#extent(boxes, box, width);
      const w = end - x;
      if (w <= 0) continue;
      const found = isMatch?.(box) === true;
      // Half a pixel per row suffices to show that there are boxes.
      if (w < 0.5 && !found && x - floatAt(filled, row) < 0.5) continue;
      filled[row] = end;
      drawn++;
      context.globalAlpha = isMatch === undefined || found ? 1 : 0.3;
      context.fillStyle = scene.colorOf(box);
      const gap = w > 3 ? 1 : 0;
      context.fillRect(x, y, Math.max(0.5, w - gap), ROW - 1);
      if (found) {
        context.fillStyle = mark;
        context.fillRect(x, y + ROW - 4, Math.max(1, w - gap), 3);
      }
      const letters = Math.floor((w - 7) / this.#character);
      if (letters >= 3) {
        context.fillStyle = isMatch === undefined || found ? "#111" : onPage;
        context.globalAlpha = 1;
        context.fillText(scene.textOf(box, letters), x + 4, y + ROW / 2);
      }
      context.globalAlpha = 1;
      if (marked.includes(box)) {
        context.lineWidth = 2;
        context.strokeStyle = onPage;
        context.strokeRect(x + 1, y + 1, Math.max(1, w - 2), ROW - 3);
      }
    }
    this.drawn = drawn;
  }

  /** Returns the box at a point of the canvas; -1 without one. */
  at({ offsetX, offsetY }: { readonly offsetX: number; readonly offsetY: number }): number {
    const scene = this.#scene;
    if (scene === undefined) return -1;
    const { boxes, isUpward } = scene;
    const row = isUpward
      ? Math.ceil((this.#bottom(scene) - offsetY) / ROW) - 1
      : Math.floor((offsetY + this.#scroll.scrollTop) / ROW);
    for (let box = 0; box < boxes.length; box++) {
      if (boxes.depth[box] !== row) continue;
      const [left, right] = this.#extent(boxes, box, this.#scroll.clientWidth);
      if (offsetX >= left && offsetX < right) return box;
    }
    return -1;
  }

  /** Scrolls a box into view. */
  reveal(box: number): void {
    const scene = this.#scene;
    if (scene === undefined) return;
    const row = intAt(scene.boxes.depth, box);
    const height = this.#scroll.clientHeight;
    const top = scene.isUpward
      ? this.#bottom(scene) - (row + 1) * ROW
      : row * ROW - this.#scroll.scrollTop;
    if (top < 0) this.#scroll.scrollTop += top - ROW;
    else if (top + ROW > height) this.#scroll.scrollTop += top + 2 * ROW - height;
  }
}

/**
 * Returns the box that an arrow key leads to: the box below, the heaviest box above, or the next one in the row;
 * without a current box, the heaviest of the first row; -1 without boxes.
 *
 * @param weight Weight of each box.
 */
export function neighbour(
  { length, parent, depth, x }: PlacedBoxes,
  weight: Float64Array,
  from: number,
  key: string,
  isUpward: boolean,
): number {
  const heaviest = (on: number): number => {
    let best = -1;
    for (let box = 0; box < length; box++) {
      if (parent[box] !== on) continue;
      if (best < 0 || floatAt(weight, box) > floatAt(weight, best)) best = box;
    }
    return best;
  };
  if (from < 0) return heaviest(-1);
  if (key === (isUpward ? "ArrowDown" : "ArrowUp")) {
    const up = intAt(parent, from);
    return up < 0 ? from : up;
  }
  if (key === (isUpward ? "ArrowUp" : "ArrowDown")) {
    const best = heaviest(from);
    return best < 0 ? from : best;
  }
  const step = key === "ArrowRight" ? 1 : -1;
  let best = from;
  for (let box = 0; box < length; box++) {
    if (depth[box] !== depth[from] || !(floatAt(weight, box) > 0)) continue;
    const by = (floatAt(x, box) - floatAt(x, from)) * step;
    const known = (floatAt(x, best) - floatAt(x, from)) * step;
    if (by > 0 && (best === from || by < known)) best = box;
  }
  return best;
}
