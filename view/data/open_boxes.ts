import { numberAt } from "@perfdata/format/bytes";
import type { FlameBoxes } from "./flame_boxes.ts";

/** Boxes in order of time. */
export interface TimeBoxes extends FlameBoxes {
  /** By box: time of its first sample, in nanoseconds since the first sample of the recording. */
  readonly from: Float64Array;
  /** By box: time of its last sample. */
  readonly to: Float64Array;
}

/** Boxes of a layout in order of time, which are opened and closed like calls. */
export class OpenBoxes {
  readonly x: number[] = [];
  readonly from: number[] = [];
  readonly to: number[] = [];
  /** Open boxes, outermost first: key of the caller's choice and number of the box. */
  readonly open: { readonly key: number; readonly box: number }[] = [];
  readonly #parent: number[] = [];
  readonly #item: number[] = [];
  readonly #depth: number[] = [];
  readonly #width: number[] = [];
  readonly #total: number[] = [];
  readonly #self: number[] = [];
  readonly #columns: readonly number[][] = [
    ...[this.x, this.from, this.to, this.#parent, this.#item],
    ...[this.#depth, this.#width, this.#total, this.#self],
  ];
  readonly #least: number;
  #narrow = 0;

  /** @param least Minimum share of the width for a box. */
  constructor(least: number) {
    this.#least = least;
  }

  /** Opens a box within the innermost open one. */
  begin(key: number, item: number, x: number, time: number): void {
    this.#parent.push(this.open.at(-1)?.box ?? -1);
    this.#item.push(item);
    this.#depth.push(this.open.length);
    this.x.push(x);
    this.#width.push(0);
    this.#total.push(0);
    this.#self.push(0);
    this.from.push(time);
    this.open.push({ key, box: this.to.push(time) - 1 });
  }

  /** Closes all but the outermost `depth` boxes, and removes the narrow ones. */
  close(depth: number, widthOf: (box: number) => number): void {
    while (this.open.length > depth) {
      const { box } = this.open.pop() as { box: number };
      const wide = this.#width[box] = widthOf(box);
      // Boxes inside a narrow box are narrow, too, and already removed, so this box is the last one.
      if (wide >= this.#least) continue;
      this.#narrow++;
      for (const column of this.#columns) column.length = box;
    }
  }

  /** Adds a weight to all open boxes, and to the function itself at `depth`. */
  add(weight: number, depth: number): void {
    for (const { box } of this.open) this.#total[box] = numberAt(this.#total, box) + weight;
    const inner = this.open[depth]?.box;
    if (inner !== undefined) this.#self[inner] = numberAt(this.#self, inner) + weight;
  }

  /** @param sum Weight of all. */
  boxes(sum: number): TimeBoxes {
    return {
      direction: "down",
      length: this.#item.length,
      parent: Int32Array.from(this.#parent),
      item: Int32Array.from(this.#item),
      depth: Int32Array.from(this.#depth),
      x: Float64Array.from(this.x),
      width: Float64Array.from(this.#width),
      total: Float64Array.from(this.#total),
      self: Float64Array.from(this.#self),
      from: Float64Array.from(this.from),
      to: Float64Array.from(this.to),
      rows: this.#depth.reduce((most, deep) => Math.max(most, deep + 1), 0),
      sum,
      narrow: this.#narrow,
    };
  }
}
