import type { BundledFile } from "./bundle_code.ts";
import type { BundleObject } from "./bundle_object.ts";
import { BundleTables } from "./bundle_tables.ts";
import { buildIdsEqual } from "../files/file_search.ts";
import type { SymbolObject } from "../resolver/resolution.ts";

export { BUNDLE_VERSION, BundleError } from "./bundle_format.ts";
export { type BundleEntry, BundleObject } from "./bundle_object.ts";

/**
 * A symbol bundle: the symbols of a recording's addresses. {@linkcode SymbolBundleWriter} makes it
 * on a machine that has the binaries. docs/symbol-bundle.md describes the format.
 *
 * The whole bundle is checked when it is opened, so look-ups do not fail.
 *
 * @example
 * ```ts
 * import { BundleError, SymbolBundle } from "@perfdata/symbols";
 * import { assertThrows } from "@std/assert";
 *
 * assertThrows(() => SymbolBundle.open(new Uint8Array(100)), BundleError, "0: no symbol bundle");
 * ```
 */
export class SymbolBundle {
  /** The objects, sorted by path, kind and build id. */
  readonly objects: readonly BundleObject[];
  /** Byte ranges of files with code; empty if the bundle was made without code. */
  readonly code: readonly BundledFile[];
  readonly #byPath = new Map<string, BundleObject[]>();

  private constructor(bytes: Uint8Array) {
    const tables = new BundleTables(bytes);
    this.objects = tables.objects();
    this.code = tables.code();
    for (const object of this.objects) {
      const same = this.#byPath.get(object.info.path);
      if (same === undefined) this.#byPath.set(object.info.path, [object]);
      else same.push(object);
    }
  }

  /**
   * Reads a bundle.
   *
   * @param bytes the whole file; it is kept and must not be changed
   * @throws {BundleError} if it is not a bundle, of another version, damaged, or cut short
   */
  static open(bytes: Uint8Array): SymbolBundle {
    return new SymbolBundle(bytes);
  }

  /**
   * The bundled object of the same build. It is found by build id if `wanted` has one, whatever the
   * path; otherwise by path.
   *
   * @returns `undefined` if the bundle does not have the object, or has only another build of it
   */
  object(wanted: SymbolObject): BundleObject | undefined {
    const { buildId, kind, path, reference, version } = wanted;
    // A version means that the jitdump file is at hand. A bundle holds only the newest code.
    if (version !== undefined) return undefined;
    const fits = ({ info }: BundleObject): boolean =>
      info.kind === kind && (info.reference ?? "") === (reference ?? "") &&
      (buildId === undefined || info.buildId === undefined
        ? buildId === info.buildId && info.path === path
        : buildIdsEqual(info.buildId, buildId));
    return this.#byPath.get(path)?.find(fits) ??
      (buildId === undefined ? undefined : this.objects.find(fits));
  }

  /** The objects that have the path of `wanted` and are from another build. */
  otherBuilds(wanted: SymbolObject): readonly BundleObject[] {
    const used = this.object(wanted);
    if (used !== undefined || wanted.version !== undefined) return [];
    return (this.#byPath.get(wanted.path) ?? []).filter(({ info }) => info.kind === wanted.kind);
  }
}
