/** The canvas: draws boxes, and finds the one at a point. */
import { shortName } from "@perfdata/profile/short-names";
import { changeColor, PLAIN_COLOR, shareChange } from "../../packages/export/flame/flame_colors.ts";
import type { FlameData } from "../../packages/export/flame/flame_data.ts";
import { boxName } from "../../packages/export/flame/flame_text.ts";
import type { FlameTree } from "../../packages/export/flame/flame_tree.ts";

/** Height of a row in pixels. */
export const ROW = 18;
/** Average width of a character of the labels. */
const FONT = "12px ui-monospace, Menlo, Consolas, monospace";

/** What is drawn. */
export interface Scene {
  readonly data: FlameData;
  readonly tree: FlameTree;
  /** Color by function, or `undefined` for the change. */
  readonly colors: readonly string[] | undefined;
  /** Boxes that match the search, or `undefined` without one. */
  readonly matched: Uint8Array | undefined;
  /** Box that fills the width, -1 for none. */
  readonly zoom: number;
  /** Box that the keyboard is at, -1 for none. */
  readonly focus: number;
  readonly icicle: boolean;
}

/** Draws scenes on a canvas in a scrolling element. */
export class Graph {
  readonly canvas: HTMLCanvasElement;
  readonly #scroll: HTMLElement;
  readonly #space: HTMLElement;
  readonly #context: CanvasRenderingContext2D;
  #scene: Scene | undefined;
  #asked = false;
  #character = 0;
  /** Share of the whole at the left edge, and the share that the width is. */
  #left = 0;
  #span = 1;
  /** What was drawn last, and how long it took: for tests. */
  drawn = 0;
  took = 0;

  constructor(canvas: HTMLCanvasElement, scroll: HTMLElement, space: HTMLElement) {
    this.canvas = canvas;
    this.#scroll = scroll;
    this.#space = space;
    this.#context = canvas.getContext("2d") as CanvasRenderingContext2D;
    scroll.addEventListener("scroll", () => this.#ask());
    new ResizeObserver(() => this.#ask()).observe(scroll);
  }

  /** Shows a scene; it is drawn with the next frame. */
  show(scene: Scene): void {
    const grew = this.#scene?.tree !== scene.tree || this.#scene.icicle !== scene.icicle;
    this.#scene = scene;
    const { tree, zoom } = scene;
    this.#left = zoom < 0 ? 0 : tree.x[zoom] as number;
    this.#span = zoom < 0 ? 1 : tree.width[zoom] as number;
    this.#space.style.height = `${tree.rows * ROW}px`;
    if (grew) this.#scroll.scrollTop = scene.icicle ? 0 : tree.rows * ROW;
    this.#ask();
  }

  #ask(): void {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      const start = performance.now();
      this.#draw();
      this.took = performance.now() - start;
    });
  }

  /** Top of a row in the canvas. */
  #top(row: number): number {
    const { icicle } = this.#scene as Scene;
    return icicle ? row * ROW - this.#scroll.scrollTop : this.#bottom() - (row + 1) * ROW;
  }

  /** Where the outermost row of a flame graph ends in the canvas. */
  #bottom(): number {
    const { tree } = this.#scene as Scene;
    return Math.max(this.#scroll.clientHeight, tree.rows * ROW) - this.#scroll.scrollTop;
  }

  /** Left edge and width of a box in pixels; those that the zoomed one is in fill the width. */
  #extent(box: number, width: number): readonly [number, number] {
    const { tree } = this.#scene as Scene;
    const left = ((tree.x[box] as number) - this.#left) / this.#span * width;
    const right = left + (tree.width[box] as number) / this.#span * width;
    return [Math.max(0, left), Math.min(width, right)];
  }

  #draw(): void {
    const scene = this.#scene;
    if (scene === undefined) return;
    const { data, tree, colors, matched, focus } = scene;
    const { clientWidth: width, clientHeight: height } = this.#scroll;
    const ratio = devicePixelRatio || 1;
    const context = this.#context;
    if (
      this.canvas.width !== Math.round(width * ratio) ||
      this.canvas.height !== Math.round(height * ratio)
    ) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const style = getComputedStyle(document.documentElement);
    const mark = style.getPropertyValue("--mark").trim();
    // What does not match lets the page's background through.
    const onPage = style.getPropertyValue("--text").trim();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = "middle";
    this.#character ||= context.measureText("mmmmmmmmmm").width / 10;
    // Right edge of what is drawn in each row: narrow boxes there are joined.
    const filled = new Float64Array(tree.rows).fill(-1);
    // The page is asked once a row, not once a box.
    const tops = Float64Array.from(filled, (_, row) => this.#top(row));
    let drawn = 0;
    for (let box = 0; box < tree.length; box++) {
      const row = tree.depth[box] as number;
      const y = tops[row] as number;
      if (y > height || y < -ROW) continue;
      const [x, end] = this.#extent(box, width);
      const w = end - x;
      if (w <= 0) continue;
      const found = matched?.[box] === 1;
      if (w < 0.5) {
        // Half a pixel in a row is enough to show that there is something.
        if (!found && x - (filled[row] as number) < 0.5) continue;
      }
      filled[row] = end;
      drawn++;
      const item = tree.item[box] as number;
      const color = item < 0
        ? PLAIN_COLOR
        : colors === undefined
        ? changeColor(shareChange(tree, box))
        : colors[item] ?? PLAIN_COLOR;
      context.globalAlpha = matched === undefined || found ? 1 : 0.35;
      context.fillStyle = color;
      const gap = w > 3 ? 1 : 0;
      context.fillRect(x, y, Math.max(0.5, w - gap), ROW - 1);
      if (found) {
        context.fillStyle = mark;
        context.fillRect(x, y + ROW - 4, Math.max(1, w - gap), 3);
      }
      const room = Math.floor((w - 6) / this.#character);
      if (room >= 2) {
        const name = boxName(data, tree, box);
        context.fillStyle = matched === undefined || found ? "#111" : onPage;
        context.globalAlpha = 1;
        context.fillText(shortName(name, room), x + 3, y + ROW / 2);
      }
      if (box === focus) {
        context.globalAlpha = 1;
        context.lineWidth = 2;
        context.strokeStyle = mark;
        context.strokeRect(x + 1, y + 1, Math.max(2, w - 2), ROW - 3);
      }
    }
    context.globalAlpha = 1;
    this.drawn = drawn;
  }

  /** The box at a point of the canvas, -1 for none. */
  at(x: number, y: number): number {
    const scene = this.#scene;
    if (scene === undefined) return -1;
    const { tree, icicle } = scene;
    const width = this.#scroll.clientWidth;
    const row = icicle
      ? Math.floor((y + this.#scroll.scrollTop) / ROW)
      : Math.ceil((this.#bottom() - y) / ROW) - 1;
    for (let box = 0; box < tree.length; box++) {
      if (tree.depth[box] !== row) continue;
      const [left, right] = this.#extent(box, width);
      if (x >= left && x < right) return box;
    }
    return -1;
  }

  /** The middle of a box in the canvas, scrolled into sight. */
  reveal(box: number): { readonly x: number; readonly y: number } {
    const scene = this.#scene as Scene;
    const row = scene.tree.depth[box] as number;
    const height = this.#scroll.clientHeight;
    const top = this.#top(row);
    if (top < 0) this.#scroll.scrollTop += top - ROW;
    else if (top + ROW > height) this.#scroll.scrollTop += top + 2 * ROW - height;
    const [left, right] = this.#extent(box, this.#scroll.clientWidth);
    return { x: (left + right) / 2, y: this.#top(row) + ROW / 2 };
  }
}
