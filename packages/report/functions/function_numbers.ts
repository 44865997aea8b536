import { byteAt, enlarge, floatAt, intAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_GUEST_USER,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
} from "@perfdata/format/constants";
import { addressToHex } from "@perfdata/symbols/resolver";
import type { SymbolInfo } from "@perfdata/symbols";
import { textRanks } from "../numbered_texts.ts";

/** Level of a function: the character code of perf's letter. */
export const LEVEL = {
  /** Kernel. */
  KERNEL: 0x6b,
  /** Process. */
  USER: 0x2e,
  /** Kernel of a guest. */
  GUEST_KERNEL: 0x67,
  /** Process of a guest. */
  GUEST_USER: 0x75,
  /** Hypervisor, or other code. */
  OTHER: 0x48,
} as const;

/** Level of a CPU mode. */
export function levelOf(cpumode: number): number {
  switch (cpumode) {
    case PERF_RECORD_MISC_KERNEL:
      return LEVEL.KERNEL;
    case PERF_RECORD_MISC_USER:
      return LEVEL.USER;
    case PERF_RECORD_MISC_GUEST_KERNEL:
      return LEVEL.GUEST_KERNEL;
    case PERF_RECORD_MISC_GUEST_USER:
      return LEVEL.GUEST_USER;
    default:
      return LEVEL.OTHER;
  }
}

/** Above all levels: the first level of a function replaces it. */
const UNKNOWN_LEVEL = 0xff;

/** A function. Those of a profile, and of debug information alone, have names, but no ranges. */
export type NamedFunction = Pick<SymbolInfo, "name" | "data"> & Partial<SymbolInfo>;

/** Flag: inlined function. */
const INLINED = 1;
/** Flag: has a name. */
const NAMED = 2;

/**
 * Functions, and addresses without a function, by index. Names are demangled when they are printed
 * or compared.
 */
export class FunctionNumbers {
  readonly #show: (name: string) => string;
  #count = 0;
  /** Address; of a function, the first one that occurred. */
  #addresses = new Float64Array(1 << 10);
  #levels = new Uint8Array(1 << 10);
  #flags = new Uint8Array(1 << 10);
  /** Mangled name. */
  readonly #names: string[] = [];
  /** Start of the symbol. Its object is in `#dsos`. */
  readonly #starts: number[] = [];
  readonly #dsos: number[] = [];
  /** For data and instructions: distance from the start. */
  readonly #offsets = new Map<number, number>();
  /** Display text; not cached for addresses. */
  readonly #texts: (string | undefined)[] = [];
  /** Addresses without a function, by object. */
  readonly #byAddress: Map<number, number>[] = [];
  readonly #byKey = new Map<string, number>();
  /** Functions, plus one, by index of the function in its source. */
  #bySource = new Int32Array(1 << 10);

  /** Creates an empty table. `show` demangles names. */
  constructor(show: (name: string) => string) {
    this.#show = show;
  }

  /** Number of functions. */
  get count(): number {
    return this.#count;
  }

  /**
   * Index of a function.
   *
   * @param source The function's index among the names of all places.
   */
  symbol(
    dso: number,
    source: number,
    symbol: NamedFunction,
    { address, level }: { readonly address: number; readonly level: number },
  ): number {
    if (source >= this.#bySource.length) this.#bySource = enlarge(this.#bySource, source + 1);
    let number = intAt(this.#bySource, source) - 1;
    if (number < 0) {
      const { start, end, data } = symbol;
      const before = this.#count;
      // JIT-compiled code has different names over time.
      number = this.#named(`${dso} ${start} ${end}`, symbol, address, data === true);
      if (number === before && start !== undefined) {
        this.#starts[number] = start;
        this.#dsos[number] = dso;
      }
      this.#bySource[source] = number + 1;
    }
    return this.#lower(number, level);
  }

  /** Index of an address in a variable. Each address has its own index. */
  datum(dso: number, symbol: NamedFunction, address: number, level: number): number {
    const { start, end, data } = symbol;
    const key = `data ${dso} ${start} ${end} ${data ? address : "code"}`;
    return this.#lower(this.#named(key, symbol, address, data === true), level);
  }

  /** Index of an address in a function or variable. Each address has its own index. */
  point(dso: number, symbol: NamedFunction, address: number, level: number): number {
    const key = `point ${dso} ${symbol.start} ${symbol.end} ${address}`;
    return this.#lower(this.#named(key, symbol, address, true), level);
  }

  /** Index of an inlined function, identified by its name wherever it is inlined. */
  inlined(dso: number, name: string, address: number, level: number): number {
    const key = `inlined ${dso} ${name}`;
    let number = this.#byKey.get(key);
    if (number === undefined) {
      number = this.#add(address, UNKNOWN_LEVEL, NAMED | INLINED);
      this.#texts[number] = name;
      this.#byKey.set(key, number);
    }
    return this.#lower(number, level);
  }

  /** Index of a key and a symbol's name, with the offset from the symbol's start if that is known. */
  #named(key: string, { name, start }: NamedFunction, address: number, hasOffset: boolean): number {
    const full = `${key} ${name}`;
    let number = this.#byKey.get(full);
    if (number === undefined) {
      number = this.#add(address, UNKNOWN_LEVEL, NAMED);
      this.#names[number] = name;
      if (hasOffset && start !== undefined) this.#offsets.set(number, address - start);
      this.#byKey.set(full, number);
    }
    return number;
  }

  /**
   * Index of an address without a function.
   *
   * @param dso The object; -1 for an address that is looked up only once.
   * @param exact All digits, if a double cannot represent the address.
   */
  address(dso: number, address: number, exact: string | undefined, level: number): number {
    if (dso < 0) {
      const number = this.#add(address, level, 0);
      if (exact !== undefined) this.#texts[number] = exact;
      return number;
    }
    const known = this.#byAddress[dso] ??= new Map();
    let number = exact === undefined ? known.get(address) : this.#byKey.get(`${dso} ${exact}`);
    if (number === undefined) {
      number = this.#add(address, level, 0);
      if (exact === undefined) known.set(address, number);
      else {
        this.#byKey.set(`${dso} ${exact}`, number);
        this.#texts[number] = exact;
      }
    }
    return number;
  }

  /** Text of an address relative to its function. */
  offsetText(symbol: NamedFunction | undefined, address: number): string {
    if (symbol === undefined) return addressToHex(address);
    const offset = symbol.start === undefined ? "" : `+${address - symbol.start}`;
    return this.#show(symbol.name) + offset;
  }

  /** Display text. */
  text(number: number): string {
    const known = this.#texts[number];
    if (known !== undefined) return known;
    const isNamed = (byteAt(this.#flags, number) & NAMED) !== 0;
    if (!isNamed) return paddedHex(this.#addresses[number] ?? 0);
    const shown = this.#show(this.#names[number] as string);
    const offset = this.#offsets.get(number);
    return this.#texts[number] = offset === undefined ? shown : `${shown}+0x${offset.toString(16)}`;
  }

  /** Properties that distinguish symbols with equal names; `undefined` for addresses. */
  origin(number: number): { readonly dso: number; readonly mark: string } | undefined {
    const dso = this.#dsos[number];
    if (dso === undefined) return undefined;
    // The hash distinguishes types that a Rust name omits.
    const hash = /17h([0-9a-f]{16})E/.exec(this.#names[number] ?? "")?.[1];
    const start = addressToHex(this.#starts[number] ?? 0).slice(2);
    return { dso, mark: hash === undefined ? ` @${start}` : `::h${hash}` };
  }

  /** Level: {@link LEVEL}. */
  level(number: number): number {
    return this.#levels[number] ?? LEVEL.USER;
  }

  /** Whether the function is inlined. */
  isInlined(number: number): boolean {
    return (byteAt(this.#flags, number) & INLINED) !== 0;
  }

  /**
   * Columns, most significant first, that order functions by text. Addresses are ordered by value,
   * which saves their texts: code without frame pointers has millions of them.
   *
   * @param numbers The used functions; others have no rank.
   */
  ranks(
    numbers: Int32Array,
  ): [kinds: Uint8Array, values: Float64Array, rests: Float64Array, levels: Uint8Array] {
    const used = new Uint8Array(this.#count);
    for (let i = 0; i < numbers.length; i++) used[intAt(numbers, i)] = 1;
    const kinds = new Uint8Array(this.#count);
    const values = new Float64Array(this.#count);
    const rests = new Float64Array(this.#count);
    const named: number[] = [];
    let isMixed = false;
    for (let number = 0; number < this.#count; number++) {
      if (used[number] === 0 || (byteAt(this.#flags, number) & NAMED) === 0) continue;
      named.push(number);
      // A name that looks like an address may sort between addresses.
      isMixed ||= this.text(number).startsWith("0x");
    }
    for (let number = 0; number < this.#count; number++) {
      if (used[number] === 0 || (byteAt(this.#flags, number) & NAMED) !== 0) continue;
      if (isMixed) {
        named.push(number);
        continue;
      }
      const address = floatAt(this.#addresses, number);
      // Kernel addresses are negative.
      kinds[number] = address < 0 ? 2 : 1;
      values[number] = address;
      if (Number.isSafeInteger(address)) continue;
      rests[number] = Number(BigInt.asIntN(64, BigInt(this.text(number))) - BigInt(address));
    }
    const ranks = textRanks(Int32Array.from(named), (number) => this.text(number));
    for (const number of named) {
      kinds[number] = isMixed || this.text(number) < "0x" ? 0 : 3;
      values[number] = floatAt(ranks, number);
    }
    return [kinds, values, rests, this.#levels];
  }

  #lower(number: number, level: number): number {
    if (level < byteAt(this.#levels, number)) this.#levels[number] = level;
    return number;
  }

  #add(address: number, level: number, flags: number): number {
    const number = this.#count++;
    if (number >= this.#addresses.length) {
      this.#addresses = enlarge(this.#addresses, number + 1);
      this.#levels = enlarge(this.#levels, number + 1);
      this.#flags = enlarge(this.#flags, number + 1);
    }
    this.#addresses[number] = address;
    this.#levels[number] = level;
    this.#flags[number] = flags;
    return number;
  }
}

/** Formats an address with at least 16 digits, as perf does without a function. */
function paddedHex(address: number): string {
  return `0x${addressToHex(address).slice(2).padStart(16, "0")}`;
}
