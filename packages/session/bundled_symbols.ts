import type { Diagnostics, PerfDataReader } from "@perfdata/format";
import {
  type BundleObject,
  Demangler,
  type Resolution,
  resolution,
  type SymbolBundle,
  type SymbolObject,
} from "@perfdata/symbols";
import { Machine } from "./machine.ts";
import { Places } from "./places.ts";
import { RecordedObjects } from "./recorded_objects.ts";

const LITTLE_ENDIAN = { littleEndian: true, isGoogleDialect: false };

/** What a bundle says of an address of a recording. */
export interface BundledSymbol {
  /** Path or name of the object that is mapped there; `undefined` where nothing is. */
  readonly dso: string | undefined;
  /** The function that is there, as `perf` names it; `undefined` where the bundle knows none. */
  readonly name: string | undefined;
  /** Distance from the start of the symbol, where the symbol table has one. */
  readonly offset: number | undefined;
  /** File and line of that function at the address: `main.c:12`. */
  readonly srcline: string | undefined;
  /** The functions that are inlined there, innermost first. */
  readonly inlined: readonly { readonly name: string; readonly srcline: string | undefined }[];
}

/** How to show what a bundle knows. */
export interface BundledSymbolsOptions {
  /** `false`: names of C++ and Rust functions as the files have them. */
  readonly demangle?: boolean;
  /** Is told of parts of the recording that cannot be read; without it they are thrown. */
  readonly diagnostics?: Diagnostics;
}

/**
 * The symbols of addresses while a recording goes by in the order of time: each address is looked up
 * in what is mapped at that moment, and then in a bundle.
 *
 * @example
 * ```ts
 * import { BundledSymbols } from "@perfdata/session/symbols";
 * import { demangle, SymbolBundle, SymbolBundleWriter } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const bundle = SymbolBundle.open(new SymbolBundleWriter({ demangle }).finish());
 * const symbols = new BundledSymbols(bundle);
 * const thread = symbols.machine.thread(7, 7);
 * const row = symbols.row(thread, 2, 0, 0x401136);
 * assertEquals(symbols.symbol(row).dso, undefined);
 * ```
 */
export class BundledSymbols {
  /** The machine, to which the records are to be applied. */
  readonly machine: Machine;
  /** What the recording tells of its objects. */
  readonly objects: RecordedObjects;
  /** How many addresses were asked for. */
  addresses: number = 0;
  /** How many of them the bundle has no function for. */
  unnamed: number = 0;
  /** Paths of objects of which the bundle has another build only. */
  readonly otherBuilds: Set<string> = new Set();
  readonly #bundle: SymbolBundle;
  readonly #show: (name: string) => string;
  readonly #places: Places;
  readonly #symbols: (BundledSymbol | undefined)[] = [];
  /** By number of an object: what the bundle has of it. */
  readonly #bundled: (BundleObject | undefined)[] = [];

  /**
   * Knows the names of a bundle, and of the recording nothing yet.
   *
   * @param recording How its records are to be read; as those of a little-endian file by default.
   */
  constructor(
    bundle: SymbolBundle,
    recording: Pick<PerfDataReader, "littleEndian" | "isGoogleDialect"> = LITTLE_ENDIAN,
    options: BundledSymbolsOptions = {},
  ) {
    const { demangle = true } = options;
    this.#bundle = bundle;
    this.machine = new Machine(recording.littleEndian);
    this.objects = new RecordedObjects(recording, options.diagnostics);
    this.#places = new Places(this.machine, this.objects);
    const demangler = new Demangler({ params: false });
    this.#show = demangle ? (name) => demangler.demangle(name) : (name) => name;
  }

  /**
   * Takes the features of a file: the build ids of its objects.
   *
   * @throws {PerfDataError} Where they cannot be read and there are no diagnostics.
   */
  async begin(reader: PerfDataReader): Promise<void> {
    this.machine.arch = reader.arch;
    await this.objects.readFeatures(reader);
    this.machine.setKnownBinaries(this.objects.known);
  }

  /** Applies the record in `[start, end)` of `bytes` to the machine; samples change nothing. */
  apply(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    this.objects.record(bytes, view, start, end);
    this.machine.apply(bytes, view, start, end);
  }

  /**
   * The number of an address as a thread sees it now: the same one whenever it is the same place of
   * the same object.
   *
   * @param thread A number of the machine.
   * @param cpumode The CPU mode that it was executed in.
   */
  row(thread: number, cpumode: number, hi: number, lo: number): number {
    return this.#places.find(thread, cpumode, hi, lo);
  }

  /** What the bundle says of the address of a row. */
  symbol(row: number): BundledSymbol {
    let symbol = this.#symbols[row];
    if (symbol === undefined) {
      this.#symbols[row] = symbol = this.#find(row, 0);
      this.addresses++;
      if (symbol.name === undefined) this.unnamed++;
    }
    return symbol;
  }

  /**
   * What the bundle says of the byte before: a return address is behind the call whose line it is to
   * be shown with.
   */
  caller(row: number): BundledSymbol {
    return this.#find(row, -1);
  }

  #object(number: number): SymbolObject | undefined {
    const { objects } = this.#places;
    for (let i = this.#bundled.length; i <= number; i++) {
      const object = objects[i] as SymbolObject;
      this.#bundled.push(this.#bundle.object(object));
      if (this.#bundle.otherBuilds(object).length > 0) this.otherBuilds.add(object.path);
    }
    return objects[number];
  }

  #find(row: number, distance: number): BundledSymbol {
    const number = this.#places.object(row);
    const object = number < 0 ? undefined : this.#object(number);
    const address = this.#places.address(row) + distance;
    const entry = this.#bundled[number]?.find(address);
    const found: Resolution | undefined = entry === undefined || entry.cause !== undefined
      ? undefined
      : resolution(entry.symbol, entry.frames, this.#show);
    const frames = found?.frames.map(({ name, file, line }) => ({
      name,
      srcline: file === undefined || line <= 0 ? undefined : `${file}:${line}`,
    })) ?? [];
    const function_ = frames.at(-1);
    const symbol = found?.symbol;
    return {
      dso: object?.path,
      // Not always that of the debug information: `f.cold` is part of `f` there.
      name: symbol === undefined ? function_?.name : this.#show(symbol.name),
      offset: symbol === undefined ? undefined : address - symbol.start,
      srcline: function_?.srcline,
      inlined: frames.slice(0, -1),
    };
  }
}
