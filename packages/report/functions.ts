import { addressFromHalves, addressToHex } from "@perfdata/symbols";
import type { Aggregate, MappedBinary } from "./aggregate.ts";
import { Histogram } from "./histogram.ts";

/** A symbol that an address belongs to. */
export interface FoundSymbol {
  /** Name as it is shown. */
  readonly name: string;
  /** First address, in the terms of the binary. */
  readonly start: number;
  /** First address after it. */
  readonly end: number;
  /** Whether it is data: then the distance from its start is part of what is shown. */
  readonly object: boolean;
}

/** The symbols of a binary. */
export interface BinarySymbols {
  /**
   * The symbol of an address, or `undefined`.
   *
   * @param address Offset in a file; address in the kernel or in memory without a file.
   */
  find(address: number): FoundSymbol | undefined;
  /**
   * Where in the source an address is, or `undefined` where that is not known.
   *
   * @param address As that of {@link BinarySymbols.find}.
   */
  source?(address: number): SourcePlace | undefined;
}

/** A place in the source. */
export interface SourcePlace {
  /** Path of the file; of code that was inlined, where it was written. */
  readonly file: string;
  /** Line, from 1; 0 where it is not known. */
  readonly line: number;
  /** Path of the file of the function that the code is part of. */
  readonly functionFile: string;
}

/** Where symbols come from. */
export interface SymbolSource {
  /** The symbols of a binary, or `undefined` where there are none. */
  symbols(binary: MappedBinary): BinarySymbols | undefined;
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
  /** Command, where rows are told apart by it; `:tid` where it is not known. */
  readonly comm?: string;
  /** Object, where rows are told apart by it: the last part of its path. */
  readonly dso?: string;
  /** Function, or address where there is none. */
  readonly sym?: string;
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
 * The name by which perf shows a binary: the last part of its path, a module in brackets, code of a
 * JIT compiler by its process (`dso__set_basename` and `__kmod_path__parse` of tools/perf/util/dso.c).
 *
 * @example
 * ```ts
 * import { shortName } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(shortName({ name: "/usr/lib/libc.so.6", kernel: false }), "libc.so.6");
 * assertEquals(shortName({ name: "/lib/modules/6.1/snd-seq.ko.xz", kernel: true }), "[snd_seq]");
 * assertEquals(shortName({ name: "/tmp/perf-7.map", kernel: false }), "[JIT] tid 7");
 * ```
 */
export function shortName({ name, kernel }: Pick<MappedBinary, "name" | "kernel">): string {
  const last = name.slice(name.lastIndexOf("/") + 1);
  // machine__process_kernel_mmap_event of tools/perf/util/machine.c
  if (kernel && name.includes("vmlinux")) return "[kernel.vmlinux]";
  const jit = /^perf-(\d+)\.map$/.exec(last)?.[1];
  if (jit !== undefined) return `[JIT] tid ${jit}`;
  const module = kernel ? /^(.+)\.ko(\.(gz|xz))?$/.exec(last)?.[1] : undefined;
  return module === undefined ? last : `[${module.replaceAll("-", "_")}]`;
}

/**
 * Names the addresses of an aggregate and sums them up by function.
 *
 * Rows are those that `perf report --sort comm,dso,sym` makes: an object goes by its short name, a
 * function by its range in the object, an address without a function by itself. Each distinct
 * address is looked up once. Rows are sorted by event, then by period, samples and names.
 */
export function functionRows(
  aggregate: Aggregate,
  source: SymbolSource,
  options: FunctionOptions = {},
): FunctionRow[] {
  const sort = new Set<SortKey>(options.sort ?? ["comm", "dso", "sym"]);
  const keep = options.keep;
  const symbols = new SymbolNumbers();
  const comms = new Numbers();
  const dsos = new Numbers();
  const unknown = dsos.of("[unknown]");
  const binaries = aggregate.binaries.map((binary) => ({
    dso: dsos.of(shortName(binary)),
    symbols: sort.has("sym") || sort.has("srcline") || sort.has("srcfile") || keep !== undefined
      ? source.symbols(binary)
      : undefined,
  }));
  const needSource = sort.has("srcline") || sort.has("srcfile");
  const needSymbol = sort.has("sym") || keep !== undefined || sort.has("srcline");
  const places = new Numbers();
  const sums = new Histogram();
  aggregate.histogram.forEach((key, samples, period) => {
    const [event, commKey, binaryKey, cpumode, hi, lo, pid, tid, cpu] = key as unknown as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const comm = comms.of(aggregate.comms[commKey] ?? "");
    const binary = binaries[binaryKey];
    const dso = binary?.dso ?? unknown;
    let symbol = 0;
    let line = 0;
    let file = 0;
    if (needSource) {
      const address = addressFromHalves(hi, lo >>> 0);
      const place = binary?.symbols?.source?.(address);
      if (sort.has("srcline")) {
        line = places.of(placeText(place) ?? offsetText(binary?.symbols?.find(address), address));
      }
      if (sort.has("srcfile") && place !== undefined) {
        file = places.of(
          options.srcfile === "function" ? place.functionFile : baseName(place.file),
        );
      } else file = places.of("");
    }
    if (needSymbol) {
      const address = addressFromHalves(hi, lo >>> 0);
      const found = binary?.symbols?.find(address);
      const level = cpumode === KERNEL ? "k" : cpumode === USER ? "." : "H";
      symbol = found === undefined
        ? symbols.address(dso, address, hi, lo, level)
        : symbols.symbol(dso, found, address, level);
    }
    if (
      keep !== undefined &&
      !keep({ comm: comms.text(comm), dso: dsos.text(dso), sym: symbols.text(symbol) })
    ) return;
    sums.add(
      event,
      sort.has("comm") ? comm : 0,
      sort.has("dso") ? dso : 0,
      line,
      file,
      sort.has("sym") ? symbol : 0,
      sort.has("pid") ? pid : 0,
      sort.has("tid") ? tid : 0,
      sort.has("cpu") ? cpu : 0,
      period,
      samples,
    );
  });
  const rows: FunctionRow[] = [];
  sums.forEach((key, samples, period) => {
    const [event, comm, dso, line, file, symbol, pid, tid, cpu] = key as unknown as number[];
    const total = aggregate.totals[event as number]?.period ?? 0;
    rows.push({
      event: event as number,
      overhead: total > 0 ? period / total : 0,
      samples,
      period,
      ...(sort.has("comm") ? { comm: comms.text(comm as number) } : {}),
      ...(sort.has("dso") ? { dso: dsos.text(dso as number) } : {}),
      ...(sort.has("sym")
        ? { sym: symbols.text(symbol as number), level: symbols.level(symbol as number) }
        : {}),
      ...(sort.has("srcline") ? { srcline: places.text(line as number) } : {}),
      ...(sort.has("srcfile") ? { srcfile: places.text(file as number) } : {}),
      ...(sort.has("pid") ? { pid: pid as number } : {}),
      ...(sort.has("tid") ? { tid: tid as number } : {}),
      ...(sort.has("cpu") ? { cpu: cpu as number } : {}),
    });
  });
  const text = (a = "", b = "") => a < b ? -1 : a > b ? 1 : 0;
  return rows.sort((a, b) =>
    a.event - b.event || b.period - a.period || b.samples - a.samples || text(a.comm, b.comm) ||
    text(a.dso, b.dso) || text(a.sym, b.sym) || text(a.level, b.level) ||
    text(a.srcline, b.srcline) || text(a.srcfile, b.srcfile) ||
    (a.pid ?? 0) - (b.pid ?? 0) || (a.tid ?? 0) - (b.tid ?? 0) || (a.cpu ?? 0) - (b.cpu ?? 0)
  );
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function placeText(place: SourcePlace | undefined): string | undefined {
  return place === undefined || place.line === 0
    ? undefined
    : `${baseName(place.file)}:${place.line}`;
}

function offsetText(symbol: FoundSymbol | undefined, address: number): string {
  return symbol === undefined ? addressToHex(address) : `${symbol.name}+${address - symbol.start}`;
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
}

/** Functions, and addresses without one, by number. */
class SymbolNumbers {
  readonly #texts: (string | undefined)[] = [];
  readonly #addresses: number[] = [];
  readonly #levels: string[] = [];
  /** By object: addresses that have no function. */
  readonly #byAddress: Map<number, number>[] = [];
  readonly #byRange = new Map<string, number>();

  symbol(dso: number, found: FoundSymbol, address: number, level: string): number {
    const { start, end, name, object } = found;
    const key = `${dso} ${start} ${end}`;
    let number = this.#byRange.get(key);
    if (number === undefined) {
      number = this.#add(
        object ? `${name}+0x${(address - start).toString(16)}` : name,
        address,
        level,
      );
      this.#byRange.set(key, number);
    } else if (level < (this.#levels[number] as string)) {
      this.#levels[number] = level;
    }
    return number;
  }

  address(dso: number, address: number, hi: number, lo: number, level: string): number {
    const known = this.#byAddress[dso] ??= new Map();
    // The halves tell apart what a double of a wild address does not.
    const wild = !Number.isSafeInteger(address);
    const key = wild ? NaN : address;
    let number = wild ? this.#byRange.get(`${dso} ${hi} ${lo} wild`) : known.get(key);
    if (number === undefined) {
      number = this.#add(wild ? hexOf(hi, lo) : undefined, address, level);
      if (wild) this.#byRange.set(`${dso} ${hi} ${lo} wild`, number);
      else known.set(key, number);
    }
    return number;
  }

  #add(text: string | undefined, address: number, level: string): number {
    this.#addresses.push(address);
    this.#levels.push(level);
    return this.#texts.push(text) - 1;
  }

  text(number: number): string {
    return this.#texts[number] ??= `0x${
      addressToHex(this.#addresses[number] ?? 0).replace(/^0x/, "").padStart(16, "0")
    }`;
  }

  level(number: number): string {
    return this.#levels[number] ?? ".";
  }
}

function hexOf(hi: number, lo: number): string {
  return `0x${(hi >>> 0).toString(16).padStart(8, "0")}${(lo >>> 0).toString(16).padStart(8, "0")}`;
}
