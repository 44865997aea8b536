import {
  ADDRESS_USE,
  AddressTable,
  KERNEL_HIDDEN,
  UNMAPPED,
} from "@perfdata/session/address-table";
import type { RecordedObjects } from "@perfdata/session/recorded-objects";
import { shortName } from "@perfdata/session/short-name";
import { type SymbolTrust, symbolTrust } from "@perfdata/session/symbolize";
import type {
  Resolution,
  ResolvedFrame,
  SymbolInfo,
  SymbolObject,
  SymbolResolver,
} from "@perfdata/symbols";
import { addressFromHalves, addressToHex } from "@perfdata/symbols/address";
import type { Aggregate } from "./aggregate.ts";
import { ADDRESS_WORDS, CONTEXT_WORDS } from "./call_tree.ts";
import { Histogram } from "./histogram.ts";

/** Where the names of functions come from. */
export interface FunctionSymbols {
  /** What the recording tells of the binaries. */
  readonly objects: RecordedObjects;
  /**
   * Finds their symbols: with `parameters: false`, as perf shows names; with
   * `debugInformation: false`, which saves time, where neither source lines nor inlined functions
   * are asked for.
   */
  readonly resolver: SymbolResolver;
}

/** What {@link functionRows} found. */
export interface FunctionReport {
  /** The rows, by event, then by period, samples and names. */
  readonly rows: FunctionRow[];
  /** Which addresses have names and why others have none; `undefined` where names are not needed. */
  readonly trust: SymbolTrust | undefined;
}

/** What a row of the statistics is about. */
export interface FunctionRow {
  /** Number of the event. */
  readonly event: number;
  /** Share of the event's period, 0 to 1. */
  readonly overhead: number;
  /** Samples. */
  readonly samples: number;
  /** Sum of their periods. */
  readonly period: number;
  /** With call chains: the same of samples in what the row is about and in all that it called. */
  readonly children?: {
    /** Share of the event's period, 0 to 1. */
    readonly overhead: number;
    /** Samples. */
    readonly samples: number;
    /** Sum of their periods. */
    readonly period: number;
  };
  /** Command, where rows are told apart by it; `:tid` where it is not known. */
  readonly comm?: string;
  /** Object, where rows are told apart by it: the last part of its path. */
  readonly dso?: string;
  /** Function, or address where there is none. */
  readonly sym?: string;
  /** Whether the function is inlined where it was sampled; only there if inlined ones are rows. */
  readonly inlined?: boolean;
  /** Where the function runs: `k` in the kernel, `.` in a process, `H` elsewhere. */
  readonly level?: string;
  /** File name and line; function and offset where they are not known. */
  readonly srcline?: string;
  /** Source file's name; empty where it is not known. */
  readonly srcfile?: string;
  /** Process, where rows are told apart by it. */
  readonly pid?: number;
  /** Thread, where rows are told apart by it. */
  readonly tid?: number;
  /** CPU, where rows are told apart by it; -1 where samples do not say. */
  readonly cpu?: number;
}

/** What rows can be told apart by. */
export const SORT_KEYS = [
  "comm",
  "dso",
  "sym",
  "srcline",
  "srcfile",
  "pid",
  "tid",
  "cpu",
] as const;

/** One of {@link SORT_KEYS}. */
export type SortKey = typeof SORT_KEYS[number];

/** Which rows to make. */
export interface FunctionOptions {
  /** What rows are told apart by. */
  readonly sort?: readonly SortKey[];
  /**
   * Whether a sample counts for the function that was inlined at its address, the innermost one,
   * instead of that which it was inlined into.
   */
  readonly inline?: boolean;
  /**
   * Which file `srcfile` is: that of the line, as with perf, which may be a header that was inlined,
   * or that of the function.
   */
  readonly srcfile?: "line" | "function";
  /** Whether to keep what is of this command, object, function. */
  readonly keep?: (
    row: { readonly comm: string; readonly dso: string; readonly sym: string },
  ) => boolean;
}

const KERNEL = 1;
const USER = 2;

/**
 * Names the addresses of an aggregate and sums them up by function.
 *
 * Rows are those that `perf report --sort comm,dso,sym` makes: an object goes by its short name, a
 * function by its range in the object, an address without a function by itself; an inlined function
 * goes by its name. Where the aggregate has call chains, rows are those of
 * `perf report --children`: there is one for each function that was sampled or that called one.
 * Each distinct address is looked up once, those of one object after the other.
 *
 * @param symbols without them, addresses stay what they are
 */
export async function functionRows(
  aggregate: Aggregate,
  symbols?: FunctionSymbols,
  options: FunctionOptions = {},
): Promise<FunctionReport> {
  const sort = new Set<SortKey>(options.sort ?? ["comm", "dso", "sym"]);
  const { keep } = options;
  const needed = keep !== undefined || sort.has("sym") || sort.has("srcline") ||
    sort.has("srcfile");
  const lookUps = needed ? await lookUp(aggregate, symbols) : NOTHING_FOUND;
  const { rowOf, chainRowOf, resolutions } = lookUps;
  const comms = new Numbers();
  const places = new AddressPlaces(aggregate, symbols, lookUps, sort, options);
  const kept = (comm: number) =>
    keep === undefined ||
    keep({
      comm: comms.text(comm),
      dso: places.dsos.text(places.dso),
      sym: places.functions.text(places.symbol),
    });
  const by = Object.fromEntries(SORT_KEYS.map((key) => [key, sort.has(key)])) as Record<
    SortKey,
    boolean
  >;
  const commOf = Int32Array.from(aggregate.comms, (comm) => comms.of(comm));
  const sums = new Histogram();
  let entry = 0;
  aggregate.histogram.forEach((key, samples, period) => {
    const comm = commOf[key[1] as number] as number;
    places.find(
      key[2] as number,
      key[3] as number,
      key[4] as number,
      key[5] as number,
      resolutions[rowOf[entry++] as number],
      0,
    );
    if (!kept(comm)) return;
    sums.add(
      key[0] as number,
      by.comm ? comm : 0,
      by.dso ? places.dso : 0,
      places.line,
      places.file,
      by.sym ? places.symbol : 0,
      by.pid ? key[6] as number : 0,
      by.tid ? key[7] as number : 0,
      by.cpu ? key[8] as number : 0,
      period,
      samples,
    );
  });
  const { calls } = aggregate;
  const withCallees = new Map<string, { samples: number; period: number }>();
  if (calls !== undefined) {
    const { addresses, contexts } = calls;
    /** By entry: object, line, file and function. */
    const entries: (readonly [number, number, number, number])[] = [];
    const entryNumbers = new Map<string, number>();
    const entriesOf = (address: number): number[] => {
      const at = address * ADDRESS_WORDS;
      const found = resolutions[chainRowOf[address] as number];
      const frames = options.inline ? Math.max(found?.frames.length ?? 0, 1) : 1;
      return Array.from({ length: frames }, (_, frame) => {
        places.find(
          addresses[at] as number,
          addresses[at + 1] as number,
          addresses[at + 2] as number,
          addresses[at + 3] as number,
          found,
          frame,
        );
        const { dso, line, file, symbol } = places;
        const what = [
          by.dso || keep !== undefined ? dso : 0,
          line,
          file,
          by.sym || keep !== undefined ? symbol : 0,
        ] as const;
        const key = what.join(" ");
        let number = entryNumbers.get(key);
        if (number === undefined) {
          number = entries.push(what) - 1;
          entryNumbers.set(key, number);
        }
        return number;
      });
    };
    calls.forEachTotal(entriesOf, (context, entry, samples, period) => {
      const [event = 0, commKey = 0, pid = 0, tid = 0, cpu = 0] = contexts.subarray(
        context * CONTEXT_WORDS,
        (context + 1) * CONTEXT_WORDS,
      );
      const [dso, line, file, symbol] = entries[entry] as typeof entries[number];
      const comm = commOf[commKey] as number;
      places.dso = dso;
      places.symbol = symbol;
      if (!kept(comm)) return;
      const key = [
        event,
        by.comm ? comm : 0,
        by.dso ? dso : 0,
        line,
        file,
        by.sym ? symbol : 0,
        by.pid ? pid : 0,
        by.tid ? tid : 0,
        by.cpu ? cpu : 0,
      ] as const;
      const text = key.join(" ");
      const sum = withCallees.get(text);
      if (sum === undefined) {
        withCallees.set(text, { samples, period });
        // So that there is a row.
        sums.add(...key, 0, 0);
      } else {
        sum.samples += samples;
        sum.period += period;
      }
    });
  }
  const rows: FunctionRow[] = [];
  const ranks = {
    comm: comms.ranks(),
    dso: places.dsos.ranks(),
    text: places.texts.ranks(),
    sym: places.functions.ranks(),
  };
  const order = Array.from({ length: 14 }, () => new Float64Array(sums.size));
  sums.forEach((key, samples, period) => {
    const event = key[0] as number;
    const comm = key[1] as number;
    const dso = key[2] as number;
    const line = key[3] as number;
    const file = key[4] as number;
    const symbol = key[5] as number;
    const pid = key[6] as number;
    const tid = key[7] as number;
    const cpu = key[8] as number;
    const total = aggregate.totals[event]?.period ?? 0;
    const children = calls === undefined ? undefined : withCallees.get(key.join(" "));
    // Properties are set in the same order in all rows, so that they are of one shape.
    const row: Writable<FunctionRow> = {
      event,
      overhead: total > 0 ? period / total : 0,
      samples,
      period,
    };
    if (children !== undefined) {
      row.children = { overhead: total > 0 ? children.period / total : 0, ...children };
    }
    if (by.comm) row.comm = comms.text(comm);
    if (by.dso) row.dso = places.dsos.text(dso);
    if (by.sym) places.functions.describe(row, symbol, options.inline === true);
    if (by.srcline) row.srcline = places.texts.text(line);
    if (by.srcfile) row.srcfile = places.texts.text(file);
    if (by.pid) row.pid = pid;
    if (by.tid) row.tid = tid;
    if (by.cpu) row.cpu = cpu;
    const at = rows.push(row) - 1;
    const put = (column: number, value: number) => (order[column] as Float64Array)[at] = value;
    put(0, event);
    put(1, -(children?.period ?? 0));
    put(2, -period);
    put(3, -samples);
    if (by.comm) put(4, ranks.comm[comm] as number);
    if (by.dso) put(5, ranks.dso[dso] as number);
    if (by.sym) {
      put(6, ranks.sym.kinds[symbol] as number);
      put(7, ranks.sym.values[symbol] as number);
      put(8, row.level?.charCodeAt(0) ?? 0);
    }
    if (by.srcline) put(9, ranks.text[line] as number);
    if (by.srcfile) put(10, ranks.text[file] as number);
    put(11, pid);
    put(12, tid);
    put(13, cpu);
  });
  const sorted = Array.from(stableOrder(order), (row) => rows[row] as FunctionRow);
  return { rows: sorted, trust: lookUps.trust };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * The order of rows by columns of numbers, of which the first decides first; rows that are equal in
 * all stay as they are. Columns of few values are sorted by counting, the last one first.
 */
function stableOrder(columns: readonly Float64Array[]): Uint32Array {
  const count = columns[0]?.length ?? 0;
  let order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  let next = new Uint32Array(count);
  for (const column of columns.toReversed()) {
    const [one] = column;
    if (column.every((value) => value === one)) continue;
    const distinct = column.slice().sort();
    let values = 1;
    for (let i = 1; i < count; i++) {
      const value = distinct[i] as number;
      if (value !== distinct[values - 1]) distinct[values++] = value;
    }
    if (values === 1) continue;
    const rankOf = new Uint32Array(count);
    const places = new Uint32Array(values + 1);
    for (let row = 0; row < count; row++) {
      const rank = placeIn(distinct, values, column[row] as number);
      rankOf[row] = rank;
      places[rank + 1] = (places[rank + 1] as number) + 1;
    }
    for (let i = 1; i < values; i++) {
      places[i] = (places[i] as number) + (places[i - 1] as number);
    }
    for (let i = 0; i < count; i++) {
      const row = order[i] as number;
      const rank = rankOf[row] as number;
      const place = places[rank] as number;
      places[rank] = place + 1;
      next[place] = row;
    }
    [order, next] = [next, order];
  }
  return order;
}

/** Where a number that is among the first `count` sorted ones stands. */
function placeIn(sorted: Float64Array, count: number, value: number): number {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** By number of a text: its place among all of them in the order of their code units. */
function textRanks(texts: readonly string[]): Float64Array {
  const ranks = new Map<string, number>();
  for (const text of texts.toSorted()) if (!ranks.has(text)) ranks.set(text, ranks.size);
  return Float64Array.from(texts, (text) => ranks.get(text) as number);
}

/** What became of the addresses of an aggregate. */
interface LookUps {
  /** By entry, in the order of the histogram: the row of its address. */
  readonly rowOf: Int32Array;
  /** By address of the call tree: its row. */
  readonly chainRowOf: Int32Array;
  /** By row. */
  readonly resolutions: readonly (Resolution | undefined)[];
  /** By binary: what addresses in the symbols of its object are relative to. */
  readonly bases: readonly number[];
  /** The binary that is the kernel, or -1. */
  readonly kernel: number;
  readonly trust: SymbolTrust | undefined;
}

const NOTHING_FOUND: LookUps = {
  rowOf: new Int32Array(0),
  chainRowOf: new Int32Array(0),
  resolutions: [],
  bases: [],
  kernel: -1,
  trust: undefined,
};

async function lookUp(
  aggregate: Aggregate,
  symbols: FunctionSymbols | undefined,
): Promise<LookUps> {
  if (symbols === undefined) return NOTHING_FOUND;
  const { objects: recorded, resolver } = symbols;
  const objects = aggregate.binaries.map((binary) => recorded.complete(recorded.describe(binary)));
  const kernel = objects.findIndex(({ kind }) => kind === "kernel");
  // In a histogram, addresses of the kernel are not relative to it.
  const bases = objects.map(({ kind, referenceAddress = 0 }: SymbolObject) =>
    kind === "kernel" ? referenceAddress : 0
  );
  const table = new AddressTable();
  const rowAt = (binary: number, cpumode: number, hi: number, lo: number): number => {
    const object = binary >= 0
      ? binary
      : cpumode === KERNEL && !recorded.kernelMapped
      ? KERNEL_HIDDEN
      : UNMAPPED;
    return table.row(object, addressFromHalves(hi, lo) - (bases[binary] ?? 0));
  };
  const { histogram, calls } = aggregate;
  const rowOf = new Int32Array(histogram.size);
  let entry = 0;
  histogram.forEach((key, samples, period) => {
    const row = rowAt(key[2] as number, key[3] as number, key[4] as number, key[5] as number);
    // Of code that a compiler made, what was there last.
    table.use(row, ADDRESS_USE.IP, samples, period, Infinity);
    rowOf[entry++] = row;
  });
  const chainRowOf = new Int32Array(calls?.addressCount ?? 0);
  for (let i = 0; calls !== undefined && i < chainRowOf.length; i++) {
    const { addresses } = calls;
    const at = i * ADDRESS_WORDS;
    const binary = addresses[at] as number;
    const cpumode = addresses[at + 1] as number;
    // Code that only runs at boot lies beside what is mapped of the kernel.
    const of = binary < 0 && cpumode === KERNEL ? kernel : binary;
    const row = rowAt(of, cpumode, addresses[at + 2] as number, addresses[at + 3] as number);
    table.use(row, ADDRESS_USE.CALLCHAIN, 0, 0, Infinity);
    chainRowOf[i] = row;
  }
  const resolutions = new Array<Resolution | undefined>(table.count);
  const trust = await symbolTrust({ objects, table }, resolver, (object) => {
    const { rows, resolutions: found } = object;
    for (let i = 0; i < rows.length; i++) resolutions[rows[i] as number] = found[i];
  });
  return { rowOf, chainRowOf, resolutions, bases, kernel, trust };
}

/** What rows can tell of an address, by number. */
class AddressPlaces {
  readonly dsos = new Numbers();
  readonly texts = new Numbers();
  readonly functions: FunctionNumbers;
  /** Of the address that was found last: the object. */
  dso = 0;
  /** The function. */
  symbol = 0;
  /** The source line; 0 where it is not needed. */
  line = 0;
  /** The source file; 0 where it is not needed. */
  file = 0;
  readonly #unknown: number;
  readonly #dsoOf: readonly number[];
  readonly #lookUps: LookUps;
  readonly #options: FunctionOptions;
  readonly #needLine: boolean;
  readonly #needFile: boolean;
  readonly #needSymbol: boolean;

  constructor(
    { binaries }: Aggregate,
    symbols: FunctionSymbols | undefined,
    lookUps: LookUps,
    sort: ReadonlySet<SortKey>,
    options: FunctionOptions,
  ) {
    this.#unknown = this.dsos.of("[unknown]");
    this.#dsoOf = binaries.map((binary) => this.dsos.of(shortName(binary)));
    this.functions = new FunctionNumbers(symbols?.resolver.show ?? ((name) => name));
    this.#lookUps = lookUps;
    this.#options = options;
    this.#needLine = sort.has("srcline");
    this.#needFile = sort.has("srcfile");
    this.#needSymbol = sort.has("sym") || options.keep !== undefined;
  }

  /**
   * Finds an address.
   *
   * @param found what became of it
   * @param number of the frame: 0 is the innermost one
   */
  find(
    binary: number,
    cpumode: number,
    hi: number,
    lo: number,
    found: Resolution | undefined,
    number: number,
  ): void {
    const { inline, srcfile } = this.#options;
    const { bases, kernel } = this.#lookUps;
    if (binary < 0 && found?.symbol !== undefined) binary = kernel;
    const dso = this.dso = this.#dsoOf[binary] ?? this.#unknown;
    const address = addressFromHalves(hi, lo);
    const inObject = address - (bases[binary] ?? 0);
    const frame = found?.frames[number];
    if (this.#needLine) {
      this.line = this.texts.of(placeText(frame) ?? this.functions.offsetText(found, inObject));
    }
    if (this.#needFile) {
      this.file = this.texts.of(
        srcfile === "function"
          ? frame?.file === undefined ? "" : found?.frames.at(-1)?.file ?? frame.file
          : baseName(frame?.file ?? ""),
      );
    }
    if (this.#needSymbol) {
      const level = cpumode === KERNEL ? "k" : cpumode === USER ? "." : "H";
      this.symbol = inline && frame?.inlined
        ? this.functions.inlined(dso, frame, address, level)
        : found?.symbol === undefined
        ? this.functions.address(dso, address, hi, lo, level)
        : this.functions.symbol(dso, found, inObject, level);
    }
  }
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function placeText(frame: ResolvedFrame | undefined): string | undefined {
  return frame?.file === undefined || frame.line === 0
    ? undefined
    : `${baseName(frame.file)}:${frame.line}`;
}

/**
 * A share as percent with two digits, rounded as C rounds it: what lies in the middle, to even.
 *
 * @example
 * ```ts
 * import { percentText } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([1 / 32, 3 / 32, 2 / 3].map(percentText), ["3.12", "9.38", "66.67"]);
 * ```
 */
export function percentText(share: number): string {
  const percent = share * 100;
  // Only these have a binary fraction that ends in the middle.
  const down = percent * 8 % 8;
  return (down === 1 || down === 5 ? percent - 0.001 : percent).toFixed(2);
}

/** Texts by number. */
class Numbers {
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  of(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#texts.push(text) - 1;
      this.#numbers.set(text, number);
    }
    return number;
  }

  text(number: number): string {
    return this.#texts[number] ?? "";
  }

  ranks(): Float64Array {
    return textRanks(this.#texts);
  }
}

/** Functions, and addresses without one, by number. */
class FunctionNumbers {
  readonly #show: (name: string) => string;
  readonly #texts: (string | undefined)[] = [];
  readonly #addresses: number[] = [];
  readonly #levels: string[] = [];
  readonly #inlined: boolean[] = [];
  /** By object: addresses that have no function. */
  readonly #byAddress: Map<number, number>[] = [];
  readonly #byKey = new Map<string, number>();
  /** Addresses of a symbol mostly share what was found. */
  readonly #byFound = new Map<Resolution, number>();

  constructor(show: (name: string) => string) {
    this.#show = show;
  }

  /** The function of a symbol. */
  symbol(dso: number, found: Resolution, address: number, level: string): number {
    let number = this.#byFound.get(found);
    if (number === undefined) {
      const { start, end, name, data } = found.symbol as SymbolInfo;
      const key = `${dso} ${start} ${end}`;
      number = this.#byKey.get(key);
      if (number === undefined) {
        const shown = this.#show(name);
        number = this.#add(
          data ? `${shown}+0x${(address - start).toString(16)}` : shown,
          address,
          level,
        );
        this.#byKey.set(key, number);
      }
      this.#byFound.set(found, number);
    }
    this.#lower(number, level);
    return number;
  }

  /** A function that is inlined at an address: known by its name, wherever it is inlined. */
  inlined(dso: number, { name }: ResolvedFrame, address: number, level: string): number {
    const key = `${dso} ${name} inlined`;
    let number = this.#byKey.get(key);
    if (number === undefined) {
      number = this.#add(name, address, level);
      this.#inlined[number] = true;
      this.#byKey.set(key, number);
    }
    this.#lower(number, level);
    return number;
  }

  address(dso: number, address: number, hi: number, lo: number, level: string): number {
    const known = this.#byAddress[dso] ??= new Map();
    // The halves tell apart what a double of a wild address does not.
    const wild = !Number.isSafeInteger(address);
    const key = wild ? NaN : address;
    let number = wild ? this.#byKey.get(`${dso} ${hi} ${lo} wild`) : known.get(key);
    if (number === undefined) {
      number = this.#add(wild ? hexOf(hi, lo) : undefined, address, level);
      if (wild) this.#byKey.set(`${dso} ${hi} ${lo} wild`, number);
      else known.set(key, number);
    }
    return number;
  }

  /** An address by the function that it is in. */
  offsetText({ symbol }: Partial<Resolution> = {}, address: number): string {
    return symbol === undefined
      ? addressToHex(address)
      : `${this.#show(symbol.name)}+${address - symbol.start}`;
  }

  #lower(number: number, level: string): void {
    if (level < (this.#levels[number] as string)) this.#levels[number] = level;
  }

  #add(text: string | undefined, address: number, level: string): number {
    this.#addresses.push(address);
    this.#levels.push(level);
    return this.#texts.push(text) - 1;
  }

  /** Puts the cells of a function into a row. */
  describe(row: Writable<FunctionRow>, number: number, inline: boolean): void {
    row.sym = this.text(number);
    row.level = this.#levels[number] ?? ".";
    if (inline) row.inlined = this.#inlined[number] === true;
  }

  /**
   * By number, what its text's place among all of them depends on, `kinds` first: those of addresses
   * are in the order of the addresses.
   */
  ranks(): { kinds: Uint8Array; values: Float64Array } {
    const texts = this.#texts;
    const kinds = new Uint8Array(texts.length);
    const named = texts.filter((text) => text !== undefined);
    // A name that looks like an address may stand between two of them.
    if (named.some((text) => text.startsWith("0x"))) {
      return { kinds, values: textRanks(texts.map((_, number) => this.text(number))) };
    }
    const byName = new Map([...new Set(named)].sort().map((text, i) => [text, i]));
    const values = Float64Array.from(texts, (text, number) => {
      const address = this.#addresses[number] as number;
      // Addresses of the kernel are negative numbers.
      kinds[number] = text === undefined ? (address < 0 ? 2 : 1) : text < "0x" ? 0 : 3;
      return text === undefined ? address : byName.get(text) as number;
    });
    return { kinds, values };
  }

  text(number: number): string {
    return this.#texts[number] ??= `0x${
      addressToHex(this.#addresses[number] ?? 0).replace(/^0x/, "").padStart(16, "0")
    }`;
  }
}

function hexOf(hi: number, lo: number): string {
  return `0x${(hi >>> 0).toString(16).padStart(8, "0")}${(lo >>> 0).toString(16).padStart(8, "0")}`;
}
