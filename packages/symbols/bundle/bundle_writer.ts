import type { Address } from "../resolver/address.ts";
import type { LoadSegment } from "../resolver/address_map.ts";
import {
  align8,
  BUILD_ID_BYTES,
  BUNDLE_MAGIC,
  BUNDLE_VERSION,
  bundleChecksum,
  CAUSES,
  HEADER,
  KINDS,
  SECTIONS,
  SYMBOL_IS_DATA,
} from "./bundle_format.ts";
import { type BundledFile, encodeBundleCode } from "./bundle_code.ts";
import type { Resolution, ResolvedFrame, SymbolObject } from "../resolver/resolution.ts";
import type { SymbolInfo } from "../table/symbol_table.ts";

/** Call frame information for unwinding through an object without its file. */
export interface BundleUnwinding {
  /** `e_machine` of the ELF header. */
  readonly machine: number;
  /**
   * An `.eh_frame` section at address 0, as `FrameSectionWriter` makes it. Its addresses are those
   * of the object. Empty if the object has no call frame information.
   */
  readonly section: Uint8Array;
}

/** Identity and load data of an object in a bundle. */
export interface BundleObjectInfo extends SymbolObject {
  /** The file that the symbols were read from. */
  readonly origin?: string;
  /** Load segments of an ELF file, which translate file offsets to virtual addresses. */
  readonly segments?: readonly LoadSegment[];
}

interface Entry {
  readonly info: BundleObjectInfo;
  readonly ranges: Map<Address, Resolution>;
  unwinding?: BundleUnwinding;
}

/**
 * Makes a symbol bundle: the file that carries the symbols of a recording's addresses without the
 * binaries (docs/symbol-bundle.md).
 *
 * The order in which entries are added does not change the bytes.
 *
 * @example
 * ```ts
 * import { resolution } from "@perfdata/symbols/resolver";
 * import { SymbolBundle } from "@perfdata/symbols";
 * import { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
 * import { assertEquals } from "@std/assert";
 *
 * const writer = new SymbolBundleWriter();
 * const object = { path: "/usr/bin/true", kind: "elf", buildId: "ab".repeat(20) } as const;
 * const main = { name: "main", start: 0x1000, end: 0x1040 };
 * writer.add(object, 0x1010, resolution(main, [], (name) => name));
 * const bundle = SymbolBundle.open(writer.finish());
 * assertEquals(bundle.object(object)?.find(0x1010)?.symbol, main);
 * ```
 */
export class SymbolBundleWriter {
  readonly #entries = new Map<string, Entry>();
  readonly #code: BundledFile[] = [];
  readonly #demangle: (name: string) => string;

  /**
   * Creates an empty bundle.
   *
   * @param options `demangle`: returns the readable name, which is stored beside the mangled one
   */
  constructor(options: { readonly demangle?: (name: string) => string } = {}) {
    this.#demangle = options.demangle ?? ((name) => name);
  }

  /**
   * Adds an object. If an object with the same path, kind and build id was added before, that one
   * is kept.
   *
   * @throws {RangeError} If the build id is not hex, or longer than 20 bytes
   */
  addObject(info: BundleObjectInfo): void {
    this.#entry(info);
  }

  /**
   * Adds the symbol and frames of one address, and replaces earlier ones of that address.
   *
   * @throws {RangeError} as {@linkcode SymbolBundleWriter.addObject}, or if the address is not a
   * safe integer
   */
  add(object: BundleObjectInfo, address: Address, resolution: Resolution): void {
    if (!Number.isSafeInteger(address)) {
      throw new RangeError(`Cannot add address ${address} of ${object.path}: not an exact integer`);
    }
    this.#entry(object).ranges.set(address, resolution);
  }

  /** Adds byte ranges of a file with code. */
  addCode(file: BundledFile): void {
    this.#code.push(file);
  }

  /** Adds an object's call frame information. */
  addUnwinding(object: BundleObjectInfo, unwinding: BundleUnwinding): void {
    this.#entry(object).unwinding = unwinding;
  }

  #entry(info: BundleObjectInfo): Entry {
    const buildId = info.buildId ?? "";
    if (!/^(?:[0-9a-f]{2}){0,20}$/.test(buildId)) {
      throw new RangeError(`Cannot add ${info.path}: its build id is ${buildId}`);
    }
    const key = [info.path, info.kind, buildId, info.reference ?? ""].join("\0");
    let entry = this.#entries.get(key);
    if (entry === undefined) this.#entries.set(key, entry = { info, ranges: new Map() });
    return entry;
  }

  /** Encodes the bundle. */
  finish(): Uint8Array<ArrayBuffer> {
    const out = new Tables(this.#demangle);
    const sorted = [...this.#entries].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
    for (const [, entry] of sorted) out.object(entry);
    return out.finish(this.#code);
  }
}

/** The sections while they grow, as rows of numbers. */
class Tables {
  readonly #objects: (readonly [Entry, ...number[]])[] = [];
  readonly #segments: LoadSegment[] = [];
  readonly #symbols: (readonly [Address, number, number, number])[] = [];
  readonly #ranges: {
    start: Address;
    size: number;
    symbol: number;
    frame: number;
    cause: number;
  }[] = [];
  readonly #frames: (readonly number[])[] = [];
  readonly #frameIds = new Map<string, number>();
  readonly #functions: (readonly number[])[] = [];
  readonly #functionIds = new Map<string, number>();
  readonly #unwinding: Uint8Array[] = [];
  #unwindingBytes = 0;
  readonly #strings: Uint8Array[] = [];
  readonly #stringIds = new Map<string, number>();
  readonly #encoder = new TextEncoder();
  readonly #demangle: (name: string) => string;

  constructor(demangle: (name: string) => string) {
    this.#demangle = demangle;
    this.#string("");
  }

  object(entry: Entry): void {
    const { info, ranges, unwinding } = entry;
    const strings = [info.path, info.reference ?? "", info.origin ?? ""].map((text) =>
      this.#string(text)
    );
    const firstSegment = this.#segments.length;
    this.#segments.push(...info.segments ?? []);
    const firstRange = this.#ranges.length;
    const firstSymbol = this.#symbols.length;
    const symbols = new Map<string, number>();
    for (const [address, resolution] of [...ranges].sort(([a], [b]) => a - b)) {
      const { symbol, frames } = resolution;
      const range = {
        start: address,
        size: 1,
        symbol: symbol === undefined ? 0 : this.#symbol(symbol, symbols),
        frame: frames.reduceRight((caller, frame) => this.#frame(frame, caller), 0),
        cause: Math.max(CAUSES.indexOf(resolution.cause), 0),
      };
      const last = this.#ranges.length > firstRange ? this.#ranges.at(-1) : undefined;
      const continues = last !== undefined && last.start + last.size === address &&
        last.symbol === range.symbol && last.frame === range.frame && last.cause === range.cause;
      if (continues) last.size++;
      else this.#ranges.push(range);
    }
    if (unwinding !== undefined) this.#unwinding.push(unwinding.section);
    const unwindingBytes = unwinding?.section.length ?? 0;
    this.#unwindingBytes += unwindingBytes;
    this.#objects.push([
      entry,
      ...strings,
      firstSegment,
      this.#segments.length - firstSegment,
      firstRange,
      this.#ranges.length - firstRange,
      firstSymbol,
      this.#symbols.length - firstSymbol,
      unwindingBytes,
    ]);
  }

  #symbol({ name, start, end, data }: SymbolInfo, ofObject: Map<string, number>): number {
    const key = `${start} ${end} ${data} ${name}`;
    let id = ofObject.get(key);
    if (id === undefined) {
      const kind = data ? SYMBOL_IS_DATA : 0;
      id = this.#symbols.push([start, end - start, this.#function(name, undefined), kind]);
      ofObject.set(key, id);
    }
    return id;
  }

  #frame(frame: ResolvedFrame, caller: number): number {
    const named = frame.function !== undefined || frame.linkageName !== undefined;
    const row = [
      named ? this.#function(frame.function, frame.linkageName) : 0,
      frame.file === undefined ? 0 : this.#string(frame.file),
      frame.line,
      frame.column,
      frame.discriminator,
      caller,
    ];
    return idOf(this.#frames, this.#frameIds, row);
  }

  #function(name: string | undefined, linkageName: string | undefined): number {
    const mangled = linkageName ?? name ?? "";
    return idOf(this.#functions, this.#functionIds, [
      this.#string(name ?? ""),
      this.#string(linkageName ?? ""),
      this.#string(this.#demangle(mangled)),
    ]);
  }

  #string(text: string): number {
    let id = this.#stringIds.get(text);
    if (id === undefined) {
      id = this.#strings.push(this.#encoder.encode(text)) - 1;
      this.#stringIds.set(text, id);
    }
    return id;
  }

  /** Encodes header and sections, in the order of docs/symbol-bundle.md. */
  finish(files: readonly BundledFile[]): Uint8Array<ArrayBuffer> {
    const code = files.length === 0
      ? new Uint8Array(0)
      : encodeBundleCode(files, (text) => this.#string(text));
    const counts = [
      this.#objects.length,
      this.#segments.length,
      this.#symbols.length,
      this.#ranges.length,
      this.#frames.length,
      this.#functions.length,
      this.#unwindingBytes,
      this.#strings.length,
    ];
    const offsets: number[] = [];
    let size: number = HEADER.END;
    SECTIONS.forEach((section, i) => {
      size = align8(size);
      offsets.push(size);
      size += section.size * (counts[i] ?? 0);
    });
    for (const text of this.#strings) size += text.length;
    const codeAt = code.length === 0 ? 0 : align8(size);
    if (codeAt > 0) size = codeAt + code.length;
    if (size > 0xffff_ffff) {
      throw new RangeError(`Cannot make a bundle of ${size} bytes: too large`);
    }
    const bytes = new Uint8Array(size);
    const view = new DataView(bytes.buffer);
    bytes.set(BUNDLE_MAGIC);
    view.setUint32(HEADER.VERSION, BUNDLE_VERSION, true);
    view.setUint32(HEADER.SIZE, size, true);
    view.setUint32(HEADER.CODE, codeAt, true);
    bytes.set(code, codeAt);
    offsets.forEach((offset, i) => {
      view.setUint32(HEADER.SECTIONS + 8 * i, offset, true);
      view.setUint32(HEADER.SECTIONS + 8 * i + 4, counts[i] ?? 0, true);
    });
    const [objects, segments, symbols, ranges, frames, functions, unwinding, strings] = offsets as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const words = (at: number, values: readonly number[]): void =>
      values.forEach((value, i) => view.setUint32(at + 4 * i, value, true));
    const long = (at: number, value: number): void => {
      view.setUint32(at, value - Math.floor(value / 2 ** 32) * 2 ** 32, true);
      view.setInt32(at + 4, Math.floor(value / 2 ** 32), true);
    };
    this.#objects.forEach(([entry, ...numbers], i) => {
      const { info } = entry;
      const at = objects + 64 * i;
      const buildId = info.buildId ?? "";
      for (let b = 0; b < buildId.length / 2; b++) {
        bytes[at + b] = parseInt(buildId.slice(2 * b, 2 * b + 2), 16);
      }
      bytes[at + BUILD_ID_BYTES] = buildId.length / 2;
      bytes[at + BUILD_ID_BYTES + 1] = KINDS.indexOf(info.kind) + 1;
      view.setUint16(at + BUILD_ID_BYTES + 2, entry.unwinding?.machine ?? 0, true);
      words(at + 24, numbers);
    });
    this.#segments.forEach(({ offset, size, address }, i) => {
      long(segments + 24 * i, offset);
      long(segments + 24 * i + 8, size);
      long(segments + 24 * i + 16, address);
    });
    this.#symbols.forEach(([start, size, ...numbers], i) => {
      long(symbols + 24 * i, start);
      long(symbols + 24 * i + 8, size);
      words(symbols + 24 * i + 16, numbers);
    });
    this.#ranges.forEach(({ start, size, symbol, frame, cause }, i) => {
      long(ranges + 24 * i, start);
      words(ranges + 24 * i + 8, [size, symbol, frame, cause]);
    });
    this.#frames.forEach((row, i) => words(frames + 24 * i, row));
    this.#functions.forEach((row, i) => words(functions + 12 * i, row));
    let section = unwinding;
    for (const part of this.#unwinding) {
      bytes.set(part, section);
      section += part.length;
    }
    let at = strings + 4 * this.#strings.length;
    let end = 0;
    this.#strings.forEach((text, i) => {
      bytes.set(text, at);
      at += text.length;
      end += text.length;
      view.setUint32(strings + 4 * i, end, true);
    });
    view.setUint32(HEADER.CRC, bundleChecksum(bytes), true);
    return bytes;
  }
}

/** Index of a row, from 1. Equal rows share an index. */
function idOf(
  rows: (readonly number[])[],
  ids: Map<string, number>,
  row: readonly number[],
): number {
  const key = row.join(" ");
  let id = ids.get(key);
  if (id === undefined) {
    id = rows.push(row);
    ids.set(key, id);
  }
  return id;
}
