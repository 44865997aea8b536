import { enlarge, intAt } from "@perfdata/format/bytes";
import type { Engine } from "@perfdata/session";
import { ContentHash, SEED } from "./content_ids.ts";
import { objectKey } from "./object_key.ts";

function unmappedKey(mode: number): string {
  return `none:${mode}`;
}

/**
 * Ids of the frames and stacks of a recording, by index of place and stack.
 *
 * A frame is an object and an offset in it. Objects are identified by build id. An object without one is
 * identified within its recording only, since objects with the same path may differ.
 */
export class PlaceIds {
  readonly #engine: Engine;
  readonly #recording: string;
  readonly #hash = new ContentHash();
  /** Words of the hash of each object. */
  readonly #objects: (Int32Array | undefined)[] = [];
  readonly #unmapped = new Map<number, Int32Array>();
  #frames = new Int32Array(1 << 10);
  #frameCount = 0;
  #stacks = new Int32Array(1 << 10);
  #stackCount = 0;
  #depths = new Int32Array(1 << 9);
  #used = new Uint8Array(1 << 10);

  /**
   * Creates an empty set of ids.
   *
   * @param recording Id of the recording in hex.
   */
  constructor(engine: Engine, recording: string) {
    this.#engine = engine;
    this.#recording = recording;
  }

  update(): void {
    const { places, stacks } = this.#engine;
    const hash = this.#hash;
    if (2 * places.count > this.#frames.length) {
      this.#frames = enlarge(this.#frames, 2 * places.count);
    }
    for (let place = this.#frameCount; place < places.count; place++) {
      const object = this.#object(place);
      hash.block(
        intAt(object, 0),
        intAt(object, 1),
        places.lo(place),
        places.hi(place),
        SEED.FRAME,
      );
      this.#frames[2 * place] = hash.lo;
      this.#frames[2 * place + 1] = hash.hi;
    }
    this.#frameCount = places.count;
    if (2 * stacks.count > this.#stacks.length) {
      this.#stacks = enlarge(this.#stacks, 2 * stacks.count);
      this.#depths = enlarge(this.#depths, stacks.count);
    }
    for (let stack = this.#stackCount; stack < stacks.count; stack++) {
      const parent = intAt(stacks.parent, stack);
      const place = intAt(stacks.place, stack);
      this.use(place);
      hash.block(
        parent < 0 ? 0 : intAt(this.#stacks, 2 * parent),
        parent < 0 ? 0 : intAt(this.#stacks, 2 * parent + 1),
        intAt(this.#frames, 2 * place),
        intAt(this.#frames, 2 * place + 1),
        SEED.STACK,
      );
      this.#stacks[2 * stack] = hash.lo;
      this.#stacks[2 * stack + 1] = hash.hi;
      this.#depths[stack] = parent < 0 ? 0 : intAt(this.#depths, parent) + 1;
    }
    this.#stackCount = stacks.count;
  }

  /** Marks a frame as used in a table. */
  use(place: number): void {
    if (place >= this.#used.length) this.#used = enlarge(this.#used, place + 1);
    this.#used[place] = 1;
  }

  isUsed(place: number): boolean {
    return this.#used[place] === 1;
  }

  /** Words of the frames' ids, by place. */
  get frames(): Int32Array {
    return this.#frames;
  }

  /** Words of the stacks' ids, by index. */
  get stacks(): Int32Array {
    return this.#stacks;
  }

  /** The count of callers of each stack, by index of the stack. */
  get depths(): Int32Array {
    return this.#depths;
  }

  #object(place: number): Int32Array {
    const { places } = this.#engine;
    const number = places.object(place);
    if (number < 0) {
      const mode = places.cpumode(place);
      let words = this.#unmapped.get(mode);
      if (words === undefined) this.#unmapped.set(mode, words = this.#hashOf(unmappedKey(mode)));
      return words;
    }
    return this.#objects[number] ??= this.#hashOf(this.#key(number));
  }

  #key(number: number): string {
    const { places, recorded } = this.#engine;
    const object = places.objects[number];
    if (object === undefined) throw new RangeError(`places have no object ${number}`);
    return objectKey(recorded.complete(object), this.#recording);
  }

  #hashOf(key: string): Int32Array {
    this.#hash.text(key, SEED.OBJECT);
    return Int32Array.of(this.#hash.lo, this.#hash.hi);
  }
}
