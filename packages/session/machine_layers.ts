import { AddressSpaces } from "./machine_maps.ts";
import { enlarge, ownRoom, type Room } from "./machine_names.ts";

/** So many layers are looked through one by one; what is below them is looked up in a tree. */
const DEEP = 32;

/** The ranges of maps, by number of the map. */
export interface MapRanges {
  /** First address, high half. */
  readonly startHi: Uint32Array;
  /** First address, low half. */
  readonly startLo: Uint32Array;
  /** First address after it, high half. */
  readonly endHi: Uint32Array;
  /** First address after it, low half. */
  readonly endLo: Uint32Array;
}

/**
 * Address spaces of all times as layers of maps: each map lies on what was there before, and what
 * lies on top is what is mapped.
 *
 * A layer is the number of its map plus one, and 0 is the space where nothing is mapped. It is never
 * changed, so that a fork is a number that is copied, and a map costs two numbers whatever it covers.
 *
 * @example
 * ```ts
 * import { MapLayers } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * // Map 1 lies on the middle of map 0.
 * const ranges = {
 *   startHi: Uint32Array.of(0, 0),
 *   startLo: Uint32Array.of(0x1000, 0x2000),
 *   endHi: Uint32Array.of(0, 0),
 *   endLo: Uint32Array.of(0x4000, 0x3000),
 * };
 * const layers = new MapLayers();
 * const parent = layers.push(0, 0);
 * const child = layers.push(parent, 1);
 * const found = [0x1800, 0x2800, 0x3800, 0x4800].map((lo) => layers.find(child, 0, lo, ranges));
 * assertEquals(found, [0, 1, 0, -1]);
 * assertEquals(layers.find(parent, 0, 0x2800, ranges), 0);
 * ```
 */
export class MapLayers {
  /** By map: the layer below. */
  below: Int32Array;
  /** By map: layers below. */
  depths: Int32Array;
  /** Of the addresses that have the map that was found last, or none as well: the first, high half. */
  fromHi: number = 0;
  /** The first, low half. */
  fromLo: number = 0;
  /** That after the last, high half. */
  toHi: number = 0;
  /** That after the last, low half. */
  toLo: number = 0;
  /** Trees of what is deep, whose maps have the number of the map here as their source. */
  readonly #trees = new AddressSpaces();
  /** By layer: its tree. */
  readonly #roots = new Map<number, number>([[0, 0]]);

  /**
   * Makes a space where nothing is mapped.
   *
   * @param maps Maps that there is room for at first.
   * @param room Makes that room.
   */
  constructor(maps: number = 0, room: Room = ownRoom) {
    this.below = new Int32Array(room(4 * maps));
    this.depths = new Int32Array(room(4 * maps));
  }

  /** Puts a map on top of a layer; returns the new layer. */
  push(layer: number, map: number): number {
    if (map >= this.below.length) {
      this.below = enlarge(this.below as Int32Array<ArrayBuffer>, map + 1);
      this.depths = enlarge(this.depths as Int32Array<ArrayBuffer>, map + 1);
    }
    this.below[map] = layer;
    this.depths[map] = layer === 0 ? 0 : (this.depths[layer - 1] as number) + 1;
    return map + 1;
  }

  /**
   * The map of a layer and of those below it that holds an address, or -1. Leaves in
   * {@link MapLayers.fromHi} and so on between which addresses the answer is the same.
   */
  find(layer: number, hi: number, lo: number, ranges: MapRanges): number {
    const { below, depths } = this;
    const { startHi, startLo, endHi, endLo } = ranges;
    hi >>>= 0;
    lo >>>= 0;
    let fromHi = 0;
    let fromLo = 0;
    let toHi = 0xffff_ffff;
    let toLo = 0xffff_ffff;
    let found = -1;
    while (layer !== 0) {
      const map = layer - 1;
      const depth = depths[map] as number;
      if (depth >= DEEP && depth % DEEP === 0) {
        found = this.#findDeep(layer, hi, lo, ranges);
        if (found < 0) {
          this.fromHi =
            this.toHi =
            this.fromLo =
            this.toLo =
              0;
          return -1;
        }
        const { startHi, startLo, endHi, endLo, source } = this.#trees;
        if (isBelow(fromHi, fromLo, startHi[found] as number, startLo[found] as number)) {
          fromHi = startHi[found] as number;
          fromLo = startLo[found] as number;
        }
        if (isBelow(endHi[found] as number, endLo[found] as number, toHi, toLo)) {
          toHi = endHi[found] as number;
          toLo = endLo[found] as number;
        }
        found = source[found] as number;
        break;
      }
      const hi0 = startHi[map] as number;
      const lo0 = startLo[map] as number;
      if (isBelow(hi, lo, hi0, lo0)) {
        if (isBelow(hi0, lo0, toHi, toLo)) {
          toHi = hi0;
          toLo = lo0;
        }
      } else {
        const hi1 = endHi[map] as number;
        const lo1 = endLo[map] as number;
        if (isBelow(hi, lo, hi1, lo1)) {
          if (isBelow(fromHi, fromLo, hi0, lo0)) {
            fromHi = hi0;
            fromLo = lo0;
          }
          if (isBelow(hi1, lo1, toHi, toLo)) {
            toHi = hi1;
            toLo = lo1;
          }
          found = map;
          break;
        }
        if (isBelow(fromHi, fromLo, hi1, lo1)) {
          fromHi = hi1;
          fromLo = lo1;
        }
      }
      layer = below[map] as number;
    }
    this.fromHi = fromHi;
    this.fromLo = fromLo;
    this.toHi = toHi;
    this.toLo = toLo;
    return found;
  }

  /** The maps of a layer and of those below it, the lowest first. */
  maps(layer: number): number[] {
    const maps: number[] = [];
    for (; layer !== 0; layer = this.below[layer - 1] as number) maps.push(layer - 1);
    return maps.reverse();
  }

  /** The map of the trees that holds an address, or -1. */
  #findDeep(layer: number, hi: number, lo: number, ranges: MapRanges): number {
    const trees = this.#trees;
    let root = this.#roots.get(layer);
    if (root === undefined) {
      const maps: number[] = [];
      let known = layer;
      for (; !this.#roots.has(known); known = this.below[known - 1] as number) maps.push(known - 1);
      root = this.#roots.get(known) as number;
      for (const map of maps.reverse()) {
        root = trees.insert(
          root,
          layer,
          ranges.startHi[map] as number,
          ranges.startLo[map] as number,
          ranges.endHi[map] as number,
          ranges.endLo[map] as number,
          0,
          0,
          map,
        );
      }
      this.#roots.set(layer, root);
    }
    return trees.find(root, hi, lo);
  }
}

function isBelow(hi: number, lo: number, otherHi: number, otherLo: number): boolean {
  return hi < otherHi || (hi === otherHi && lo < otherLo);
}
