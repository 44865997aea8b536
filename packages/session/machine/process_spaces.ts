import { enlarge } from "@perfdata/format/bytes";
import type { MachineLog } from "../history/machine_log.ts";
import type { AddressSpaces, MapRange } from "./machine_maps.ts";

/**
 * The address spaces of processes, by index. A space has the root of a tree of
 * {@link AddressSpaces}. It exists as long as a thread uses it.
 */
export class ProcessSpaces {
  readonly #trees: AddressSpaces;
  #roots = new Int32Array(256);
  #owners = new Int32Array(256);
  #users = new Int32Array(256);
  /** The map of the last look-up in each space, or -1. */
  #lastMaps = new Int32Array(256).fill(-1);
  /** Version of the maps of each space: see {@link ProcessSpaces.version}. */
  #versions = new Int32Array(256);
  /** Whether another space has the same version. */
  #sharedVersion = new Uint8Array(256);
  #nextVersion = 1;
  #count = 0;
  #free: number[] = [];
  #nextOwner = 1;
  /** Log of changes, for spaces whose history is kept. */
  log: MachineLog | undefined;
  /** Whether the history of each space is kept. */
  #isKept = new Uint8Array(256);

  /** Begins without spaces. */
  constructor(trees: AddressSpaces) {
    this.#trees = trees;
  }

  /**
   * Adds a space without maps and users.
   *
   * @param pid Its process, or -1 if unknown.
   */
  add(pid: number): number {
    const space = this.#free.pop() ?? this.#count++;
    if (space >= this.#roots.length) {
      this.#roots = enlarge(this.#roots, space + 1);
      this.#owners = enlarge(this.#owners, space + 1);
      this.#users = enlarge(this.#users, space + 1);
      this.#versions = enlarge(this.#versions, space + 1);
      this.#sharedVersion = enlarge(this.#sharedVersion, space + 1);
      this.#lastMaps = enlarge(this.#lastMaps, space + 1);
      this.#isKept = enlarge(this.#isKept, space + 1);
    }
    this.#isKept[space] = this.log?.keepsSpaceOf(pid) ? 1 : 0;
    this.#users[space] = 0;
    this.#setRoot(space, 0);
    this.#newVersion(space);
    this.#owners[space] = this.#nextOwner++;
    return space;
  }

  use(space: number): void {
    this.#users[space] = (this.#users[space] as number) + 1;
  }

  /** Removes a user from a space; the number of a space without users is free. */
  drop(space: number): void {
    const users = (this.#users[space] as number) - 1;
    this.#users[space] = users;
    if (users === 0) {
      this.#roots[space] = 0;
      this.#free.push(space);
    }
  }

  /** The map of a space at an address, or -1. */
  map(space: number, hi: number, lo: number): number {
    const trees = this.#trees;
    // Consecutive samples of a thread are often in the same map.
    const last = this.#lastMaps[space] as number;
    const h = hi >>> 0;
    const l = lo >>> 0;
    if (last >= 0) {
      const startHi = trees.startHi[last] as number;
      const endHi = trees.endHi[last] as number;
      if (
        (h > startHi || (h === startHi && l >= (trees.startLo[last] as number))) &&
        (h < endHi || (h === endHi && l < (trees.endLo[last] as number)))
      ) return last;
    }
    const map = trees.find(this.#roots[space] as number, hi, lo);
    this.#lastMaps[space] = map;
    return map;
  }

  /**
   * Version of the maps of a space. As long as it stays the same, and in all spaces with the same
   * version, a mapped address has the same map. Mapping unmapped addresses does not change it.
   */
  version(space: number): number {
    return this.#versions[space] as number;
  }

  insert(space: number, range: MapRange, source: number): void {
    const trees = this.#trees;
    // A tree that is in the log is not altered: a new owner makes the insertion copy nodes.
    if (this.#isKept[space] === 1 && this.log?.isNoted(space)) {
      this.#owners[space] = this.#nextOwner++;
    }
    const root = trees.insert(
      this.#roots[space] as number,
      this.#owners[space] as number,
      range,
      source,
    );
    this.#setRoot(space, root);
    if (trees.replaced || this.#sharedVersion[space] === 1) this.#newVersion(space);
  }

  copy(from: number, to: number): void {
    if (this.#roots[to] !== 0) {
      const trees = this.#trees;
      for (const map of trees.maps(this.#roots[from] as number)) {
        this.insert(to, trees.rangeOf(map), trees.source[map] as number);
      }
      return;
    }
    this.#setRoot(to, this.#roots[from] as number);
    this.#versions[to] = this.#versions[from] as number;
    this.#sharedVersion[to] = this.#sharedVersion[from] = 1;
    this.#owners[to] = this.#nextOwner++;
    this.#owners[from] = this.#nextOwner++;
  }

  /** Roots of the trees, to keep when the trees are compacted. */
  get roots(): Int32Array {
    return this.#roots.subarray(0, this.#count);
  }

  moved(roots: Int32Array): void {
    this.#roots.set(roots);
    this.#lastMaps.fill(-1);
  }

  #newVersion(space: number): void {
    this.#versions[space] = this.#nextVersion++;
    this.#sharedVersion[space] = 0;
  }

  #setRoot(space: number, root: number): void {
    this.#roots[space] = root;
    // A tree that is altered in place may keep its root.
    this.#lastMaps[space] = -1;
    if (this.#isKept[space] === 1) this.log?.space(space, root);
  }
}
