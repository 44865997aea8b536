import { PERF_EVENT_HEADER_SIZE } from "../records/record_types.ts";
import { opposite, sameTest, type Test } from "./condition.ts";
import type { Codec } from "./codec.ts";

/**
 * Offsets of the fields of a structure by name; -1 if a field has no fixed offset. Includes hidden
 * fields (counts) and fields of nested structures, such as `attr.size`.
 */
export type Layout<T> =
  & { readonly [K in keyof T]-?: number }
  & Readonly<Record<string, number>>;

interface Placed {
  readonly offsets: Readonly<Record<string, number>>;
  /** Offset of the first byte after the fields with a fixed offset. */
  readonly end: number;
  /** Whether all fields have a fixed offset. */
  readonly whole: boolean;
}

const placed = new WeakMap<object, Placed>();

/**
 * Computes the fixed offsets of a structure's fields, for loops over many records. They end after the first field of
 * variable length.
 *
 * Conditional fields that do not move the following fields do not end them: an MMAP2 has either an inode or a
 * build id at the same offset.
 *
 * @param declared The declaration of a record, with offsets from the start of the record including
 * its header, or a codec, with offsets from the start of its value.
 *
 * @example
 * ```ts
 * import { COMM, layoutOf, MMAP2 } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const { pid, ino, build_id, prot, filename } = layoutOf(MMAP2);
 * assertEquals([pid, ino, build_id, prot, filename], [8, 48, 44, 64, 72]);
 * assertEquals(layoutOf(COMM).comm, 16);
 * assertEquals(layoutOf(COMM.body).comm, 8);
 * ```
 */
export function layoutOf<T>(declared: { readonly body: Codec<T> } | Codec<T>): Layout<T> {
  return placesOf(declared).offsets as Layout<T>;
}

/**
 * Returns the size of the fields with fixed offsets: the minimum size of a record for using {@link layoutOf}.
 *
 * @param declared The declaration of a record, including its header, or a codec.
 *
 * @example
 * ```ts
 * import { COMM, FORK, prefixSize } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([prefixSize(FORK), prefixSize(COMM)], [32, 16]);
 * ```
 */
export function prefixSize(declared: { readonly body: Codec<unknown> } | Codec<unknown>): number {
  return placesOf(declared).end;
}

function placesOf(declared: { readonly body: Codec<unknown> } | Codec<unknown>): Placed {
  let known = placed.get(declared);
  if (known === undefined) {
    const offsets: Record<string, number> = {};
    const prefix = "body" in declared
      ? place(declared.body, PERF_EVENT_HEADER_SIZE, offsets, "")
      : place(declared, 0, offsets, "");
    known = { offsets: Object.freeze(offsets), ...prefix };
    placed.set(declared, known);
  }
  return known;
}

/** Shapes whose fields get the prefix of the structure's own field name. */
const NESTED: ReadonlySet<string> = new Set(["struct", "extensible", "gathered"]);

/** Two possible offsets of the next field, depending on an earlier condition. */
interface Fork {
  readonly test: Test;
  yes: number;
  no: number;
}

/** Stores the offsets of the fields of a structure that begins at `base`. */
function place(
  codec: Codec<unknown>,
  base: number,
  offsets: Record<string, number>,
  prefix: string,
): { end: number; whole: boolean } {
  if (codec.shape?.kind === "gathered" || codec.shape?.kind === "ofEvent") {
    return place(codec.shape.of, base, offsets, prefix);
  }
  let at = base;
  let fork: Fork | undefined;
  const growing = codec.shape?.kind === "extensible";
  let ended = codec.shape?.kind !== "struct" && !growing;
  const join = () => {
    if (fork === undefined) return;
    if (fork.yes !== fork.no) ended = true;
    else at = fork.yes;
    fork = undefined;
  };
  for (const [name, part] of Object.entries(codec.parts ?? {})) {
    const path = prefix + name;
    const shape = part.shape;
    if (shape?.kind === "when" && !ended) {
      if (fork !== undefined && sideOf(fork, shape.test) === undefined) join();
      fork ??= { test: shape.test, yes: at, no: at };
      const side = sideOf(fork, shape.test) as "yes" | "no";
      const size = sizeOf(shape.of);
      offsets[path] = ended ? -1 : fork[side];
      if (size === undefined) ended = true;
      else fork[side] += size;
      continue;
    }
    join();
    offsets[path] = ended ? -1 : at;
    const inner = shape?.kind === "optional" ? shape.of : part;
    if (!ended && NESTED.has(inner.shape?.kind ?? "")) {
      const { end, whole } = place(inner, at, offsets, `${path}.`);
      ended = !whole && inner.size === undefined;
      at = inner.size === undefined ? end : at + inner.size;
      continue;
    }
    const size = sizeOf(inner);
    if (size === undefined) ended = true;
    else if (!ended) at += size;
  }
  join();
  return { end: at, whole: !ended && !growing };
}

/** Returns the branch of a fork in which a field with this condition is present. */
function sideOf(fork: Fork, test: Test): "yes" | "no" | undefined {
  if (sameTest(fork.test, test)) return "yes";
  const other = opposite(fork.test);
  return other !== undefined && sameTest(other, test) ? "no" : undefined;
}

/** Returns the size of a value if it is the same for all values. */
function sizeOf(codec: Codec<unknown>): number | undefined {
  if (codec.size !== undefined) return codec.size;
  const { shape } = codec;
  if (shape?.kind !== "either") return undefined;
  const size = sizeOf(shape.yes);
  return size === sizeOf(shape.no) ? size : undefined;
}
