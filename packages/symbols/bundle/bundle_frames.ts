import { numberAt } from "@perfdata/format/bytes";
import type { Address } from "../resolver/address.ts";
import type { BundleObject } from "./bundle.ts";
import type { FrameBatch } from "../dwarf/dwarf_context.ts";
import type { FunctionName } from "../dwarf/entry_names.ts";
import type { FrameFinder, SymbolFinder } from "../dwarf/addr2line_text.ts";

/**
 * Symbol look-ups in one ELF object of a bundle, by virtual address (`st_value`) instead of file
 * offset. It replaces the `DwarfContext` and the `SymbolTable` of the binary.
 *
 * @example
 * ```ts
 * import { BundleFrames, SymbolBundle } from "@perfdata/symbols";
 * import { resolution } from "@perfdata/symbols/resolver";
 * import { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
 * import { assertEquals } from "@std/assert";
 *
 * const writer = new SymbolBundleWriter();
 * const segments = [{ offset: 0x1000, size: 0x500, address: 0x401000 }];
 * const main = { name: "main", start: 0x1100, end: 0x1140 };
 * const object = { path: "/bin/x", kind: "elf", segments } as const;
 * writer.add(object, 0x1110, resolution(main, [], (name) => name));
 * const bundled = SymbolBundle.open(writer.finish()).object(object);
 * const frames = bundled && new BundleFrames(bundled);
 * assertEquals(frames?.name(frames.lookup(0x401110)), "main");
 * ```
 */
export class BundleFrames implements FrameFinder, SymbolFinder {
  readonly #object: BundleObject;
  readonly #functions: FunctionName[] = [];
  readonly #functionIds = new Map<string, number>();
  readonly #files: string[] = [];
  readonly #fileIds = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #nameIds = new Map<string, number>();

  /** Creates the look-ups of one object. */
  constructor(object: BundleObject) {
    this.#object = object;
  }

  /** Every function that a look-up found. The array grows; indices stay valid. */
  get functions(): readonly FunctionName[] {
    return this.#functions;
  }

  /** Every source path that a look-up found. The array grows; indices stay valid. */
  get files(): readonly string[] {
    return this.#files;
  }

  #offset(address: Address): number | undefined {
    for (const segment of this.#object.info.segments ?? []) {
      const distance = address - segment.address;
      if (distance >= 0 && distance < segment.size) return segment.offset + distance;
    }
    return undefined;
  }

  /**
   * Index of the symbol at an address, for {@linkcode BundleFrames.name}; -1 if there is no
   * symbol.
   */
  lookup(address: Address): number {
    const offset = this.#offset(address);
    const symbol = offset === undefined ? undefined : this.#object.find(offset)?.symbol;
    return symbol === undefined ? -1 : idOf(this.#names, this.#nameIds, symbol.name, symbol.name);
  }

  /** The name of a symbol by its index. */
  name(index: number): string {
    return this.#names[index] ?? "";
  }

  /** The frames of many addresses. Only addresses that the bundle was made for have frames. */
  findAll(addresses: Float64Array): FrameBatch {
    const first = new Uint32Array(addresses.length);
    const count = new Uint32Array(addresses.length);
    const rows: number[][] = [];
    addresses.forEach((address, i) => {
      const offset = this.#offset(address);
      const frames = offset === undefined ? [] : this.#object.find(offset)?.frames ?? [];
      first[i] = rows.length;
      count[i] = frames.length;
      for (const { function: name, linkageName, file, line, column, discriminator } of frames) {
        const key = `${linkageName ?? ""} ${name ?? ""}`;
        rows.push([
          name === undefined && linkageName === undefined
            ? -1
            : idOf(this.#functions, this.#functionIds, key, { function: name, linkageName }),
          file === undefined ? -1 : idOf(this.#files, this.#fileIds, file, file),
          line,
          column,
          discriminator,
        ]);
      }
    });
    const column = (index: number): Int32Array =>
      Int32Array.from(rows, (row) => numberAt(row, index));
    return {
      first,
      count,
      function: column(0),
      file: column(1),
      line: column(2),
      column: column(3),
      discriminator: column(4),
      functions: this.#functions,
      files: this.#files,
    };
  }
}

/** Returns the index of the value with this key. A new value is appended. */
function idOf<T>(all: T[], ids: Map<string, number>, key: string, value: T): number {
  let id = ids.get(key);
  if (id === undefined) {
    id = all.push(value) - 1;
    ids.set(key, id);
  }
  return id;
}
