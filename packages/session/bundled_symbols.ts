import { buildIdText, type Diagnostics, type PerfDataReader } from "@perfdata/format";
import {
  type Address,
  addressFromHalves,
  type BundleObject,
  Demangler,
  type Resolution,
  resolution,
  type SymbolBundle,
  type SymbolObject,
} from "@perfdata/symbols";
import { AddressTable } from "./address_table.ts";
import { Machine } from "./machine.ts";
import { RecordedObjects } from "./recorded_objects.ts";

const MISC_KERNEL = 1;
/** The number of an object for addresses where nothing is mapped. */
const UNMAPPED = -1;
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
  readonly #table = new AddressTable();
  readonly #symbols: (BundledSymbol | undefined)[] = [];
  readonly #objects: {
    readonly object: SymbolObject;
    readonly bundled: BundleObject | undefined;
  }[] = [];
  readonly #numbers = new Map<string, number>();
  /** Number of the object of each source of a map; -1 before it is asked for. */
  readonly #ofSource: number[] = [];

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
    const { machine } = this;
    const map = machine.map(thread, cpumode, hi, lo);
    const address = addressFromHalves(hi, lo);
    if (map < 0) return this.#table.row(UNMAPPED, address);
    const { spaces } = machine;
    const source = spaces.source[map] as number;
    const number = this.#ofSource[source] ??= this.#object(map, cpumode === MISC_KERNEL);
    return this.#table.row(number, address - this.#base(map, number));
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

  /** What has to be subtracted from an address to count it as its object does. */
  #base(map: number, number: number): Address {
    const { spaces } = this.machine;
    const { kind } = (this.#objects[number] as { object: SymbolObject }).object;
    if (kind === "jit") return 0;
    if (kind === "kernel") return this.objects.kernel?.address ?? 0;
    const start = addressFromHalves(
      spaces.startHi[map] as number,
      spaces.startLo[map] as number,
    );
    if (kind !== "elf" && kind !== "vdso") return start;
    return start -
      addressFromHalves(spaces.pgoffHi[map] as number, spaces.pgoffLo[map] as number);
  }

  #object(map: number, kernel: boolean): number {
    const { spaces, names } = this.machine;
    const buildId = this.machine.mapBuildId(map);
    const bytes = buildId < 0 ? undefined : names.get(buildId);
    const object = this.objects.describe({
      name: names.text(this.machine.mapName(map)),
      kernel,
      buildId: bytes && buildIdText({ build_id: bytes, build_id_size: bytes.length }),
      start: addressFromHalves(spaces.startHi[map] as number, spaces.startLo[map] as number),
      end: addressFromHalves(spaces.endHi[map] as number, spaces.endLo[map] as number),
    });
    const { path, kind, loadAddress } = object;
    const key = [path, kind, object.buildId ?? "", loadAddress ?? ""].join("\0");
    let number = this.#numbers.get(key);
    if (number === undefined) {
      const bundled = this.#bundle.object(object);
      if (this.#bundle.otherBuilds(object).length > 0) this.otherBuilds.add(path);
      number = this.#objects.push({ object, bundled }) - 1;
      this.#numbers.set(key, number);
    }
    return number;
  }

  #find(row: number, distance: number): BundledSymbol {
    const known = this.#objects[this.#table.object[row] as number];
    const address = (this.#table.address[row] as number) + distance;
    const entry = known?.bundled?.find(address);
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
      dso: known?.object.path,
      // Not always that of the debug information: `f.cold` is part of `f` there.
      name: symbol === undefined ? function_?.name : this.#show(symbol.name),
      offset: symbol === undefined ? undefined : address - symbol.start,
      srcline: function_?.srcline,
      inlined: frames.slice(0, -1),
    };
  }
}
