/** The strip of samples over time, in which a range is chosen. */
import type { FlameData } from "../../packages/export/flame/flame_data.ts";

/** Draws the strip, and reports the range of slices that is dragged. */
export class Times {
  readonly #canvas: HTMLCanvasElement;
  readonly #data: FlameData;
  #sums: Float64Array = new Float64Array(1);
  #range: readonly [number, number];

  constructor(
    canvas: HTMLCanvasElement,
    data: FlameData,
    chosen: (range: readonly [number, number]) => void,
  ) {
    this.#canvas = canvas;
    this.#data = data;
    this.#range = [0, data.slices];
    if (data.slices < 2) canvas.hidden = true;
    let start: number | undefined;
    const slice = (event: PointerEvent) => {
      const share = event.offsetX / canvas.clientWidth;
      return Math.max(0, Math.min(data.slices - 1, Math.floor(share * data.slices)));
    };
    const moved = (event: PointerEvent) => {
      if (start === undefined) return;
      const at = slice(event);
      this.#range = [Math.min(start, at), Math.max(start, at) + 1];
      this.draw();
    };
    canvas.addEventListener("pointerdown", (event) => {
      start = slice(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", moved);
    canvas.addEventListener("pointerup", (event) => {
      if (start === undefined) return;
      // A click is no range: it takes the range back.
      if (slice(event) === start) this.#range = [0, data.slices];
      else moved(event);
      start = undefined;
      this.draw();
      chosen(this.#range);
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  /** Takes the range back. */
  reset(): void {
    this.#range = [0, this.#data.slices];
    this.draw();
  }

  /** Shows the samples of an event, of the threads that are chosen. */
  show(event: number, included: (thread: number) => boolean): void {
    const { rows, slices } = this.#data;
    this.#sums = new Float64Array(slices);
    for (let i = 0; i < rows.node.length; i++) {
      if (rows.event[i] !== event || !included(rows.thread[i] as number)) continue;
      (this.#sums[rows.slice[i] as number] as number) += rows.count[i] as number;
    }
    this.draw();
  }

  /** Draws. */
  draw(): void {
    const canvas = this.#canvas;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const most = Math.max(1, ...this.#sums);
    const step = width / this.#sums.length;
    const [from, to] = this.#range;
    for (const [slice, sum] of this.#sums.entries()) {
      context.globalAlpha = slice >= from && slice < to ? 1 : 0.25;
      context.fillStyle = "#6ba6d6";
      const tall = sum / most * (height - 4);
      context.fillRect(slice * step, height - tall, Math.max(0.5, step - 0.5), tall);
    }
    context.globalAlpha = 1;
  }
}
