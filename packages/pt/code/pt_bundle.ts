import type { BinarySource, SymbolObject } from "@perfdata/symbols/resolver";
import {
  type BundledFile,
  partsSource,
  type SymbolBundle,
  type SymbolResolver,
} from "@perfdata/symbols";
import type { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import type { CodeFiles } from "@perfdata/session/code";
import type { PtCode } from "./pt_code.ts";

/** The ranges of a file that were read. */
class Read {
  readonly path: string;
  readonly buildId: string;
  readonly source: BinarySource;
  readonly ranges: (readonly [from: number, to: number])[] = [];

  constructor(path: string, buildId: string, source: BinarySource) {
    this.path = path;
    this.buildId = buildId;
    this.source = source;
  }

  /** A source that adds the ranges that are read from it. */
  noting(): BinarySource {
    const { source } = this;
    return {
      size: source.size,
      read: (offset, length) => {
        this.ranges.push([offset, offset + length]);
        return source.read(offset, length);
      },
    };
  }

  bundled(): BundledFile {
    const parts: { offset: number; bytes: Uint8Array }[] = [];
    const { path, buildId, source } = this;
    let open: [number, number] | undefined;
    const close = () => {
      if (open === undefined) return;
      const [from, to] = open;
      parts.push({ offset: from, bytes: source.read(from, to - from).slice() });
    };
    for (const [from, to] of this.ranges.sort(([a], [b]) => a - b)) {
      if (open !== undefined && from <= open[1]) open[1] = Math.max(open[1], to);
      else {
        close();
        open = [from, to];
      }
    }
    close();
    return { path, buildId, size: source.size, parts };
  }
}

/** Opens code files, and records the parts that a trace ran through. */
export class CodeRecorder implements CodeFiles {
  readonly #files: CodeFiles;
  readonly #read = new Map<string, Read>();

  /** Opens files with another {@linkcode CodeFiles}. */
  constructor(files: CodeFiles) {
    this.#files = files;
  }

  /** As {@linkcode CodeFiles.open}. */
  open(object: SymbolObject): { readonly source: BinarySource } | { readonly missing: string } {
    const found = this.#files.open(object);
    if ("missing" in found) return found;
    return { source: this.note(object.path, object.buildId ?? "", found.source) };
  }

  /** As {@linkcode CodeFiles.file}. */
  file(path: string): BinarySource | undefined {
    const found = this.#files.file(path);
    return found && this.note(path, "", found);
  }

  /** A source that records the ranges read from it, under a name. */
  note(path: string, buildId: string, source: BinarySource): BinarySource {
    const key = `${path}\0${buildId}`;
    let read = this.#read.get(key);
    if (read === undefined) this.#read.set(key, read = new Read(path, buildId, source));
    return read.noting();
  }

  /** The ranges that were read. */
  *bundled(): Generator<BundledFile> {
    for (const read of this.#read.values()) if (read.ranges.length > 0) yield read.bundled();
  }
}

/**
 * Opens code from a symbol bundle that was made with `--code`. Code that the bundle lacks comes
 * from `otherwise`.
 *
 * @example
 * ```ts
 * import { bundledCode } from "@perfdata/pt/decode";
 * import { SymbolBundle } from "@perfdata/symbols";
 * import { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
 * import { assertEquals } from "@std/assert";
 *
 * const writer = new SymbolBundleWriter();
 * const parts = [{ offset: 0, bytes: Uint8Array.of(0xc3) }];
 * writer.addCode({ path: "/bin/a", buildId: "", size: 1, parts });
 * const files = bundledCode(SymbolBundle.open(writer.finish()));
 * assertEquals("source" in files.open({ path: "/bin/a", kind: "elf" }), true);
 * ```
 */
export function bundledCode({ code }: SymbolBundle, otherwise?: CodeFiles): CodeFiles {
  const byKey = new Map(code.map((file) => [`${file.path}\0${file.buildId}`, file]));
  return {
    open: (object) => {
      const file = byKey.get(`${object.path}\0${object.buildId ?? ""}`);
      if (file !== undefined) return { source: partsSource(file) };
      return otherwise?.open(object) ?? { missing: "not in the bundle" };
    },
    file: (path) => {
      const file = byKey.get(`${path}\0`);
      return file === undefined ? otherwise?.file(path) : partsSource(file);
    },
  };
}

/** Adds the symbols of all places of a decoded trace to a bundle; returns the number of places. */
export async function bundlePlaces(
  { places: all }: PtCode,
  resolver: SymbolResolver,
  writer: SymbolBundleWriter,
): Promise<number> {
  const byObject = new Map<number, number[]>();
  for (let place = 0; place < all.count; place++) {
    const object = all.object(place);
    if (object < 0) continue;
    const places = byObject.get(object);
    if (places === undefined) byObject.set(object, [place]);
    else places.push(place);
  }
  let added = 0;
  for (const [number, places] of byObject) {
    const symbols = await resolver.open(all.objects[number] as SymbolObject);
    const { object, origin, segments } = symbols;
    const info = { ...object, segments, origin };
    writer.addObject(info);
    const addresses = Float64Array.from(places, (place) => all.address(place));
    const times = Float64Array.from(places, (place) => all.times?.[place] ?? Infinity);
    const found = await symbols.find(addresses, times);
    for (const [i, address] of addresses.entries()) {
      const resolution = found[i];
      if (resolution === undefined || !Number.isSafeInteger(address)) continue;
      writer.add(info, address, resolution);
      added++;
    }
    symbols.close();
  }
  return added;
}
