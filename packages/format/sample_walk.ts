import { PERF_EVENT_HEADER_SIZE } from "./record_types.ts";
import { sampleBody, sampleDeclaration, type SampleShape } from "./sample.ts";
import type { Codec } from "./struct/codec.ts";
import type { Count, Test } from "./struct/condition.ts";

// The steps of a walk, each STEP words: what to do, the slot that it concerns, and a number.
const STEP = 3;
/** The field of `slot` is here and takes up `number` bytes. */
const FIELD = 0;
/** A u64 that counts the elements of the field of `slot`. */
const COUNT64 = 1;
/** A u32 that does. */
const COUNT32 = 2;
/** The elements that were counted for `slot`, of `number` bytes each. */
const ELEMENTS = 3;
/** Elements of 8 bytes in the field of `slot`, as many as were counted for the slot `number`. */
const AS_MANY = 4;
/** Where the u64 in the field of `slot` is 0: go on after `number` steps. */
const UNLESS_ZERO = 5;
/** Where nothing was counted for `slot`: go on after `number` steps. */
const UNLESS_NONE = 6;
/** The field of `slot` is not there (yet). */
const ABSENT = 7;

/** The numbers of all fields that a sample may have, by path. */
const slots = new Map<string, number>();

function number(codec: Codec<unknown>, path: string): void {
  const { shape } = codec;
  switch (shape?.kind) {
    case "when":
    case "gathered":
    case "ofEvent":
      return number(shape.of, path);
    case "either":
      number(shape.yes, path);
      return number(shape.no, path);
  }
  if (path !== "" && !slots.has(path)) slots.set(path, slots.size);
  if (shape?.kind !== "struct") return;
  for (const [name, part] of Object.entries(codec.parts ?? {})) {
    number(part, path === "" ? name : `${path}.${name}`);
  }
}
number(sampleDeclaration as Codec<unknown>, "");

/** The fields before the first whose length depends on the data, whatever the event. */
const PREFIX = new Set<string>();
for (const [name, { shape }] of Object.entries(sampleDeclaration.parts ?? {})) {
  if (shape?.kind !== "when" || shape.of.size === undefined) break;
  PREFIX.add(name);
}

/**
 * Bytes of the fields that are at the same place in all samples of an event, and whose places
 * `layoutOf` gives: those up to `period`.
 *
 * @param body The declaration of the event's samples.
 */
export function samplePrefixSize(body: Pick<Codec<unknown>, "parts">): number {
  let size = 0;
  for (const name of PREFIX) size += body.parts?.[name]?.size ?? 0;
  return size;
}

/** The steps through the declaration of the samples of one event. */
class Steps {
  readonly words: number[] = [];
  /** How many elements fields have in all samples: registers. */
  readonly fixedCounts: [slot: number, count: number][] = [];
  /** The field whose elements a count counts. */
  readonly #counted = new Map<string, number>();

  /** Adds the steps through a field; `path` ends in its name. */
  add(codec: Codec<unknown>, path: string): void {
    const { shape } = codec;
    const parent = path.slice(0, path.lastIndexOf(".") + 1);
    switch (shape?.kind) {
      case "struct": {
        const fields = Object.entries(codec.parts ?? {});
        const paths = fields.map(([name]) => `${path}.${name}`);
        // Registers have names that depend on the event: they are found by their number.
        if (codec.size !== undefined && !paths.every((each) => slots.has(each))) {
          this.fixedCounts.push([SampleWalk.slot(path), fields.length]);
          return this.#put(FIELD, path, codec.size);
        }
        this.#put(FIELD, path, 0);
        fields.forEach(([, part], i) => this.add(part, paths[i] as string));
        return;
      }
      case "gathered":
        return this.add(shape.of, path);
      case "counter": {
        const of = parent + shape.of;
        this.#counted.set(path, SampleWalk.slot(of));
        return this.#put(codec.size === 8 ? COUNT64 : COUNT32, of, 0);
      }
      case "array":
        return this.#elements(path, parent, shape.count, shape.element.size);
      case "bytes":
        if (codec.size !== undefined) return this.#put(FIELD, path, codec.size);
        return this.#elements(path, parent, shape.count, 1);
      case "when":
        return this.#when(shape.test, shape.of, path, parent);
      default:
        if (codec.size === undefined) throw new TypeError(`${path}: no step through ${codec.type}`);
        return this.#put(FIELD, path, codec.size);
    }
  }

  #put(step: number, path: string, number: number): void {
    this.words.push(step, SampleWalk.slot(path), number);
  }

  #elements(path: string, parent: string, count: Count, size: number | undefined): void {
    if (typeof count !== "object" || !("field" in count) || size === undefined) {
      throw new TypeError(`${path}: no step through its elements`);
    }
    const counted = this.#counted.get(parent + count.field);
    if (counted === SampleWalk.slot(path)) return this.#put(ELEMENTS, path, size);
    const other = count.field.replace(/\.length$/, "");
    if (other === count.field || size !== 8) {
      throw new TypeError(`${path}: no step through its elements`);
    }
    this.#put(AS_MANY, path, SampleWalk.slot(parent + other));
  }

  #when(test: Test, of: Codec<unknown>, path: string, parent: string): void {
    if (!("field" in test)) throw new TypeError(`${path}: no step through its condition`);
    this.#put(ABSENT, path, 0);
    const at = this.words.length;
    if ("not" in test && test.not === 0n) this.#put(UNLESS_ZERO, parent + test.field, 0);
    else if ("least" in test && test.least === 1 && test.field.endsWith(".length")) {
      this.#put(UNLESS_NONE, parent + test.field.replace(/\.length$/, ""), 0);
    } else throw new TypeError(`${path}: no step through its condition`);
    this.add(of, path);
    this.words[at + 2] = this.words.length - at - STEP;
  }
}

/**
 * Finds the fields of samples of one event that have no fixed place: a table of steps, made from the declaration of the
 * samples, is followed through each.
 *
 * One object serves any number of samples, and nothing is allocated for a sample. `SampleFields` has
 * the fields by name.
 */
export class SampleWalk {
  /** Where each field is, by its slot: an index into the bytes, or -1 where it is not there. */
  readonly positions: Int32Array<ArrayBuffer> = new Int32Array(slots.size).fill(-1);
  /** How many elements or bytes each field has that is counted, by its slot. */
  readonly counts: Int32Array<ArrayBuffer> = new Int32Array(slots.size);
  /** First byte after the last field. */
  end: number = 0;

  readonly #first: number;
  readonly #steps: Int32Array<ArrayBuffer>;

  /** Prepares for the samples of one event. */
  constructor(attr: SampleShape) {
    const body = sampleBody(attr) as Codec<unknown>;
    const steps = new Steps();
    for (const [name, part] of Object.entries(body.parts ?? {})) {
      if (!PREFIX.has(name)) steps.add(part, name);
    }
    this.#first = PERF_EVENT_HEADER_SIZE + samplePrefixSize(body);
    this.#steps = Int32Array.from(steps.words);
    for (const [slot, count] of steps.fixedCounts) this.counts[slot] = count;
  }

  /**
   * The slot of a field: a name of the declaration of samples, or a path such as
   * `branch_stack.entries`.
   *
   * @throws {RangeError} Where samples have no such field.
   */
  static slot(path: string): number {
    const slot = slots.get(path);
    if (slot === undefined) throw new RangeError(`samples have no field ${path}`);
    return slot;
  }

  /**
   * Finds the fields of the sample record in `[start, end)` of `view`.
   *
   * @returns `false` where a length in the sample does not fit into the record.
   */
  locate(view: DataView, start: number, end: number, littleEndian: boolean): boolean {
    const { positions, counts } = this;
    const steps = this.#steps;
    const high = littleEndian ? 4 : 0;
    const low = 4 - high;
    let at = start + this.#first;
    for (let i = 0; i < steps.length; i += STEP) {
      const slot = steps[i + 1] as number;
      const n = steps[i + 2] as number;
      switch (steps[i]) {
        case FIELD:
          positions[slot] = at;
          at += n;
          break;
        case COUNT64: {
          if (at + 8 > end) return this.#cut(at);
          const count = view.getInt32(at + low, littleEndian);
          // A count whose high half is set cannot fit into a record of at most 64 KB.
          if (view.getInt32(at + high, littleEndian) !== 0 || count < 0) return this.#cut(at);
          counts[slot] = count;
          at += 8;
          break;
        }
        case COUNT32: {
          if (at + 4 > end) return this.#cut(at);
          const count = view.getInt32(at, littleEndian);
          if (count < 0) return this.#cut(at);
          counts[slot] = count;
          at += 4;
          break;
        }
        case ELEMENTS: {
          const count = counts[slot] as number;
          positions[slot] = at;
          if (count > end - at) return this.#cut(at);
          at += count * n;
          break;
        }
        case AS_MANY: {
          const count = counts[n] as number;
          positions[slot] = at;
          counts[slot] = count;
          at += count * 8;
          break;
        }
        case UNLESS_ZERO: {
          const field = positions[slot] as number;
          if (field + 8 > end) return this.#cut(at);
          if ((view.getInt32(field, true) | view.getInt32(field + 4, true)) === 0) i += n;
          break;
        }
        case UNLESS_NONE:
          if (counts[slot] === 0) i += n;
          break;
        case ABSENT:
          positions[slot] = -1;
          break;
      }
    }
    this.end = at;
    return at <= end;
  }

  #cut(at: number): false {
    this.end = at;
    return false;
  }
}
