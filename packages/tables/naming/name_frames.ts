import {
  ADDRESS_USE,
  type AddressTable,
  LookUpOutcomes,
  ShownNames,
  symbolizeWith,
  type SymbolTrust,
} from "@perfdata/session";
import type { ObjectKind, ObjectSymbols, SymbolObject } from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";
import { FrameRows } from "../collecting/frame_rows.ts";
import { ContentHash, SEED } from "../ids/content_ids.ts";
import { objectKey } from "../ids/object_key.ts";
import { readRows, type TableFile } from "../reading/table_columns.ts";
import type { RowSink } from "../schema/column_types.ts";

/** Symbols to which addresses of a kernel may be relative. Tables lack the symbol, but ids depend on it. */
const REFERENCES: readonly (string | undefined)[] = [undefined, "_text", "_stext"];
const OF_KERNEL: ReadonlySet<string> = new Set(["kernel", "module"]);

/** An object with a build id, in any recording. */
export interface Build {
  /** Kind of the object. */
  readonly kind: ObjectKind;
  /** Build id of the object. */
  readonly buildId: string;
  /** The symbol to which addresses of a kernel are relative. */
  readonly reference: string | undefined;
  /** Paths of the object in the recordings. */
  readonly paths: Set<string>;
}

type FrameColumns = readonly [
  ids: ArrayLike<bigint>,
  buildIds: ArrayLike<string | null>,
  paths: ArrayLike<string | null>,
  kinds: ArrayLike<string | null>,
  offsets: ArrayLike<bigint | null>,
  functions: ArrayLike<string | null>,
  inlineOf: ArrayLike<bigint | null>,
];

/** Frames in tables that have a build id and no name. */
export interface UnnamedFrames {
  /** The count of these frames. */
  readonly count: number;
  /** Number of frames that already have names. */
  readonly named: number;
  /** Number of frames without name and build id, which cannot be looked up on another machine. */
  readonly withoutBuildId: number;
  /** Number of frames whose id does not match their content, so that no other table can refer to them. */
  readonly foreign: number;
  /** Hash of the frames' ids, independent of the order of files: 16 hex digits. */
  readonly id: string;
  /** The objects of the frames. */
  readonly builds: readonly Build[];
  /** Object and address of each frame, by row. */
  readonly table: AddressTable;
  /** Words of the frames' ids. */
  readonly ids: Int32Array;
  /** Words of the frames' offsets. */
  readonly offsets: Int32Array;
}

/**
 * Finds the frames for which none of the files has a name.
 *
 * @param files Files of `frames`.
 * @throws {PerfDataError} If a file is damaged or another table.
 *
 * @example
 * ```ts
 * import { memorySink } from "@perfdata/format";
 * import { FRAMES, ParquetFile, unnamedFrames } from "@perfdata/tables";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const file = new ParquetFile(sink, FRAMES);
 * const text = (is: string) => ({ kind: "texts", texts: [is] }) as const;
 * // Of an object in which it is not: its id is made up.
 * file.rows(1, {
 *   frame_id: { kind: "words", words: Int32Array.of(1, 0) },
 *   build_id: text("c0ffee"),
 *   object: text("/usr/bin/a"),
 *   kind: text("elf"),
 *   offset: { kind: "words", words: Int32Array.of(0x1136, 0) },
 * });
 * file.finish();
 * const bytes = sink.bytes();
 * const frames = await unnamedFrames([{
 *   name: "frames",
 *   byteLength: bytes.length,
 *   slice: (start, end) => bytes.slice(start, end).buffer,
 * }]);
 * assertEquals([frames.count, frames.foreign], [0, 1]);
 * ```
 */
export async function unnamedFrames(files: readonly TableFile[]): Promise<UnnamedFrames> {
  const named = new Set<bigint>();
  const frames = new Map<bigint, { readonly build: number; readonly offset: bigint }>();
  const [without, foreign] = [new Set<bigint>(), new Set<bigint>()];
  const builds = new Builds();
  const names = ["frame_id", "build_id", "object", "kind", "offset", "function", "inline_of"];
  for (const file of files) {
    for await (const rows of readRows(file, names)) {
      const [ids, buildIds, paths, kinds, offsets, functions, inlineOf] = names.map((name) =>
        rows.column(name)
      ) as unknown as FrameColumns;
      for (let i = 0; i < rows.count; i++) {
        const [id, path] = [ids[i] as bigint, paths[i] ?? undefined];
        if ((inlineOf[i] ?? undefined) !== undefined || path === undefined) continue;
        const [kind, buildId, offset] = [kinds[i], buildIds[i], offsets[i]].map((value) =>
          value ?? undefined
        ) as [ObjectKind?, string?, bigint?];
        if ((functions[i] ?? undefined) !== undefined) named.add(id);
        else if (kind === undefined || buildId === undefined || offset === undefined) {
          without.add(id);
        } else {
          const build = builds.numberOf({ kind, buildId, path }, id, offset);
          if (build === undefined) foreign.add(id);
          else frames.set(id, { build, offset });
        }
      }
    }
  }
  for (const id of named) for (const others of [frames, without, foreign]) others.delete(id);
  const sorted = BigInt64Array.from(frames.keys()).sort();
  const ids = new Int32Array(sorted.buffer);
  const offsets = new BigInt64Array(sorted.length);
  const count = sorted.length;
  const table: AddressTable = {
    count,
    object: new Int32Array(count),
    address: new Float64Array(count),
    uses: new Uint8Array(count).fill(ADDRESS_USE.IP),
    samples: new Float64Array(count),
    periods: new Float64Array(count),
    times: new Float64Array(count).fill(Infinity),
  };
  const hash = new ContentHash();
  hash.bytes(new Uint8Array(sorted.buffer), 0, 8 * count, SEED.FRAME);
  for (let row = 0; row < count; row++) {
    const { build, offset } = frames.get(sorted[row] as bigint) as {
      build: number;
      offset: bigint;
    };
    table.object[row] = build;
    table.address[row] = Number(offset);
    offsets[row] = offset;
  }
  return {
    ...{ count, named: named.size, withoutBuildId: without.size, foreign: foreign.size },
    id: [hash.hi, hash.lo].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join(""),
    ...{ builds: builds.all, table, ids, offsets: new Int32Array(offsets.buffer) },
  };
}

/**
 * Returns the kernel releases of recordings.
 *
 * @param files Files of `recordings`.
 * @throws {PerfDataError} If a file is damaged or another table.
 */
export async function kernelReleases(files: readonly TableFile[]): Promise<string[]> {
  const found = new Set<string>();
  for (const file of files) {
    for await (const rows of readRows(file, ["os_release"])) {
      const releases = rows.column("os_release") as ArrayLike<string | null | undefined>;
      for (let i = 0; i < rows.count; i++) {
        const release = releases[i] ?? undefined;
        if (release !== undefined) found.add(release);
      }
    }
  }
  return [...found].sort();
}

/** Objects by the key in their frames' ids. */
class Builds {
  readonly all: Build[] = [];
  readonly #numbers = new Map<string, { readonly number: number; readonly hash: ContentHash }>();
  readonly #hash = new ContentHash();

  /** Returns the index of a frame's object; `undefined` if the id does not match object and offset. */
  numberOf(
    object: Required<Pick<SymbolObject, "kind" | "buildId" | "path">>,
    id: bigint,
    offset: bigint,
  ): number | undefined {
    const { kind, buildId, path } = object;
    for (const reference of OF_KERNEL.has(kind) ? REFERENCES : [undefined]) {
      const key = objectKey(reference === undefined ? object : { ...object, reference }, "");
      let known = this.#numbers.get(key);
      const hash = known?.hash ?? new ContentHash();
      if (known === undefined) hash.text(key, SEED.OBJECT);
      const [lo, hi] = [
        Number(BigInt.asIntN(32, offset)),
        Number(BigInt.asIntN(32, offset >> 32n)),
      ];
      this.#hash.block(hash.lo, hash.hi, lo, hi, SEED.FRAME);
      const found = BigInt(this.#hash.hi) << 32n | BigInt(this.#hash.lo >>> 0);
      if (found !== id) continue;
      if (known === undefined) {
        const number = this.all.push({ kind, buildId, reference, paths: new Set() }) - 1;
        this.#numbers.set(key, known = { number, hash });
      }
      this.all[known.number]?.paths.add(path);
      return known.number;
    }
    return undefined;
  }
}

/** Result of {@linkcode nameFrames}. */
export interface NamedFrames {
  /** Number of frames that got a name. */
  readonly frames: number;
  /** Number of rows: frames and the functions inlined in them. */
  readonly rows: number;
  /** Reliability of the names, and reasons for missing ones. */
  readonly trust: SymbolTrust;
}

/**
 * Looks up names of frames by build id, and writes them as rows of `frames`.
 *
 * @param resolvers Look up names. Kernels are searched by all of them, other objects by the first.
 */
export async function nameFrames(
  { builds, table, ids, offsets }: UnnamedFrames,
  resolvers: readonly [SymbolResolver, ...SymbolResolver[]],
  to: RowSink,
): Promise<NamedFrames> {
  const rows = new FrameRows(to, new ShownNames(resolvers[0].show));
  const outcomes = new LookUpOutcomes();
  const objects = builds.map(({ kind, buildId, reference, paths: [path = ""] }): SymbolObject => ({
    ...{ kind, buildId, path },
    reference,
  }));
  let frames = 0;
  const open = (number: number): Promise<ObjectSymbols> =>
    firstFound(objects[number] as SymbolObject, builds[number]?.paths ?? [], resolvers);
  for await (const found of symbolizeWith({ objects, table }, open)) {
    const { symbols } = found;
    outcomes.add(found);
    for (const [i, row] of found.rows.entries()) {
      const resolution = found.resolutions[i];
      if (resolution === undefined || resolution.frames.length === 0) continue;
      frames++;
      const [lo = 0, hi = 0] = ids.subarray(2 * row, 2 * row + 2);
      const [offsetLo = 0, offsetHi = 0] = offsets.subarray(2 * row, 2 * row + 2);
      const { object, verified } = symbols;
      rows.add({ lo, hi, offsetLo, offsetHi, object }, resolution, verified);
    }
    symbols.close();
  }
  rows.finish();
  return { frames, rows: rows.count, trust: outcomes.trust({ objects, table }) };
}

/** Opens the symbols of an object by the first path and machine that have them. */
async function firstFound(
  object: SymbolObject,
  paths: Iterable<string>,
  resolvers: readonly [SymbolResolver, ...SymbolResolver[]],
): Promise<ObjectSymbols> {
  let symbols: ObjectSymbols | undefined;
  for (const path of paths) {
    for (const resolver of OF_KERNEL.has(object.kind) ? resolvers : resolvers.slice(0, 1)) {
      const next = await resolver.open({ ...object, path });
      symbols?.close();
      symbols = next;
      if (symbols.origin !== undefined) return symbols;
    }
  }
  return symbols ?? await resolvers[0].open(object);
}
