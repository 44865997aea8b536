import type { Codec } from "./codec.ts";
import type { Count, Test } from "./condition.ts";

// A walk's steps, STEP words each: an opcode, the slot of a field, and a number.
const STEP = 3;
/** The field of `slot` starts here and has `number` bytes. */
const FIELD = 0;
/** A u64 with the number of elements of `slot`. */
const COUNT64 = 1;
/** A u32 with the number of elements of `slot`. */
const COUNT32 = 2;
/** The counted elements of `slot`, of `number` bytes each. */
const ELEMENTS = 3;
/** The elements of `slot`, 8 bytes each; their count is that of the slot `number`. */
const AS_MANY = 4;
/** If the u64 in the field of `slot` is 0, skip `number` steps. */
const UNLESS_ZERO = 5;
/** If the count of `slot` is 0, skip `number` steps. */
const UNLESS_NONE = 6;
/** Marks the field of `slot` as absent; a later step may find it. */
const ABSENT = 7;
/** The field of `slot` has all remaining bytes; its count is in units of `number` bytes. */
const REST = 8;

/** Error for a declaration that no walk supports: its values have to be decoded. */
export class NoWalk extends TypeError {}

/**
 * Numbers all fields of a declaration, by path: `branch_stack.entries` is a nested field.
 *
 * @param codec The declaration.
 */
export function slotsOf(codec: Codec<unknown>): Map<string, number> {
  const slots = new Map<string, number>();
  number(codec, "", slots);
  return slots;
}

function number(codec: Codec<unknown>, path: string, slots: Map<string, number>): void {
  const { shape } = codec;
  switch (shape?.kind) {
    case "when":
    case "gathered":
    case "ofEvent":
      return number(shape.of, path, slots);
    case "either":
      number(shape.yes, path, slots);
      return number(shape.no, path, slots);
  }
  if (path !== "" && !slots.has(path)) slots.set(path, slots.size);
  if (shape?.kind !== "struct") return;
  for (const [name, part] of Object.entries(codec.parts ?? {})) {
    number(part, path === "" ? name : `${path}.${name}`, slots);
  }
}

/** Compiles fields to the steps of a walk. */
class Steps {
  readonly words: number[] = [];
  /** Element counts that are the same in all records: of registers. */
  readonly fixedCounts: [slot: number, count: number][] = [];
  readonly #slots: ReadonlyMap<string, number>;
  /** Slot of the counted field, by the path of the count. */
  readonly #counted = new Map<string, number>();

  constructor(slots: ReadonlyMap<string, number>) {
    this.#slots = slots;
  }

  /** Appends the steps for a field; `path` ends in its name. */
  add(codec: Codec<unknown>, path: string): void {
    const { shape } = codec;
    const parent = path.slice(0, path.lastIndexOf(".") + 1);
    switch (shape?.kind) {
      case "struct": {
        const fields = Object.entries(codec.parts ?? {});
        // Fields inside a structure of fixed size have fixed offsets in it: `layoutOf`.
        this.#put(FIELD, path, codec.size ?? 0);
        if (codec.size !== undefined) this.fixedCounts.push([this.#slot(path), fields.length]);
        else for (const [name, part] of fields) this.add(part, `${path}.${name}`);
        return;
      }
      case "gathered":
        return this.add(shape.of, path);
      case "counter": {
        const counted = parent + shape.of;
        if (codec.size !== 8 && codec.size !== 4) throw new NoWalk(`${path}: ${codec.type} counts`);
        this.#counted.set(path, this.#slot(counted));
        return this.#put(codec.size === 8 ? COUNT64 : COUNT32, counted, 0);
      }
      case "array":
        return this.#elements(path, parent, shape.count, shape.element.size);
      case "bytes":
        if (codec.size !== undefined) return this.#put(FIELD, path, codec.size);
        return this.#elements(path, parent, shape.count, 1);
      case "text":
        return this.#put(REST, path, 1);
      case "when":
        return this.#when(shape.test, shape.of, path, parent);
      default:
        if (shape !== undefined || codec.size === undefined) {
          throw new NoWalk(`${path}: no step through ${codec.type}`);
        }
        return this.#put(FIELD, path, codec.size);
    }
  }

  #slot(path: string): number {
    const slot = this.#slots.get(path);
    if (slot === undefined) throw new NoWalk(`no field ${path}`);
    return slot;
  }

  #put(step: number, path: string, number: number): void {
    this.words.push(step, this.#slot(path), number);
  }

  #elements(path: string, parent: string, count: Count, size: number | undefined): void {
    if (count === "rest" && size !== undefined) return this.#put(REST, path, size);
    if (typeof count !== "object" || !("field" in count) || size === undefined) {
      throw new NoWalk(`${path}: no step through its elements`);
    }
    const counted = this.#counted.get(parent + count.field);
    const isPlain = count.per === undefined && count.where === undefined;
    if (isPlain && counted === this.#slot(path)) return this.#put(ELEMENTS, path, size);
    const other = count.field.replace(/\.length$/, "");
    if (!isPlain || other === count.field || size !== 8) {
      throw new NoWalk(`${path}: no step through its elements`);
    }
    this.#put(AS_MANY, path, this.#slot(parent + other));
  }

  #when(test: Test, of: Codec<unknown>, path: string, parent: string): void {
    if (!("field" in test)) throw new NoWalk(`${path}: no step through its condition`);
    this.#put(ABSENT, path, 0);
    const at = this.words.length;
    if ("not" in test && test.not === 0n) this.#put(UNLESS_ZERO, parent + test.field, 0);
    else if ("least" in test && test.least === 1 && test.field.endsWith(".length")) {
      this.#put(UNLESS_NONE, parent + test.field.replace(/\.length$/, ""), 0);
    } else throw new NoWalk(`${path}: no step through its condition`);
    this.add(of, path);
    this.words[at + 2] = this.words.length - at - STEP;
  }
}

/**
 * Locates the fields of a record without a fixed offset: follows a table of steps, compiled from the declaration,
 * through each record.
 *
 * One object serves any number of records and allocates nothing per record.
 */
export class Walk {
  /** Position of each field by slot: an index into the bytes, or -1 if it is absent. */
  readonly positions: Int32Array<ArrayBuffer>;
  /** Number of elements or bytes of each counted field, by slot. */
  readonly counts: Int32Array<ArrayBuffer>;
  /** Position after the last field. */
  end: number = 0;

  readonly #first: number;
  readonly #steps: Int32Array<ArrayBuffer>;

  /**
   * Creates a walk for records of one declaration.
   *
   * @param fields The fields to locate, by name and in disk order, with their declarations
   * specialized for the records' event and `misc`.
   * @param first Offset of the first of these fields, from the start of the record.
   * @param slots Slots of all fields, by path: {@link slotsOf}.
   * @throws {NoWalk} If the fields can be located only by decoding.
   */
  constructor(
    fields: readonly (readonly [name: string, codec: Codec<unknown>])[],
    first: number,
    slots: ReadonlyMap<string, number>,
  ) {
    const steps = new Steps(slots);
    for (const [name, part] of fields) steps.add(part, name);
    this.#first = first;
    this.#steps = Int32Array.from(steps.words);
    this.positions = new Int32Array(slots.size).fill(-1);
    this.counts = new Int32Array(slots.size);
    for (const [slot, count] of steps.fixedCounts) this.counts[slot] = count;
  }

  /**
   * Locates the fields of the record in `[start, end)` of `view`.
   *
   * @returns `false` if a length in the record exceeds the record.
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
        case REST: {
          if (at > end) return this.#cut(at);
          const count = Math.floor((end - at) / n);
          positions[slot] = at;
          counts[slot] = count;
          at += count * n;
          break;
        }
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
