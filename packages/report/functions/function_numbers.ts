import { byteAt, floatAt, intAt } from "@perfdata/format/elements";
import {
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_GUEST_USER,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
} from "@perfdata/format/perf-event";
import type { Resolution, ResolvedFrame } from "@perfdata/symbols";
import type { SymbolInfo } from "@perfdata/symbols/symbol-table";
import { enlarge } from "@perfdata/format/enlarge";
import { addressToHex } from "@perfdata/symbols/address";
import { textRanks } from "../numbered_texts.ts";

/** The level of a function, as the character code of perf's letter. */
export const LEVEL = {
  /** In the kernel. */
  KERNEL: 0x6b,
  /** In a process. */
  USER: 0x2e,
  /** In the kernel of a guest. */
  GUEST_KERNEL: 0x67,
  /** In a process of a guest. */
  GUEST_USER: 0x75,
  /** In a hypervisor, or elsewhere. */
  OTHER: 0x48,
} as const;

/** The level of code that runs in a CPU mode. */
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

/** A function that is inlined where it was met. */
const INLINED = 1;
/** What has a name. */
const NAMED = 2;

/**
 * Functions, and addresses without one, by number. A name is made readable when it is printed or
 * compared.
 */
export class FunctionNumbers {
  readonly #show: (name: string) => string;
  #count = 0;
  /** Address of each: of a function, the first that was met. */
  #addresses = new Float64Array(1 << 10);
  #levels = new Uint8Array(1 << 10);
  #flags = new Uint8Array(1 << 10);
  /** What a symbol is called in its file. */
  readonly #names: string[] = [];
  /** Where it begins, and in which object. */
  readonly #starts: number[] = [];
  readonly #dsos: number[] = [];
  /** Of data: the distance of the address. */
  readonly #offsets = new Map<number, number>();
  /** What they are shown as; those of addresses are not kept. */
  readonly #texts: (string | undefined)[] = [];
  /** By object: addresses that have no function. */
  readonly #byAddress: Map<number, number>[] = [];
  readonly #byKey = new Map<string, number>();
  /** Addresses of a symbol mostly share what was found. */
  readonly #byFound = new Map<Resolution, number>();
  #lastFound: Resolution | undefined;
  #lastNumber = -1;

  /** Shows names of symbols by `show`. */
  constructor(show: (name: string) => string) {
    this.#show = show;
  }

  /** How many there are. */
  get count(): number {
    return this.#count;
  }

  /** The function of a symbol. */
  symbol(dso: number, found: Resolution, address: number, level: number): number {
    let number = found === this.#lastFound ? this.#lastNumber : this.#byFound.get(found);
    if (number === undefined) {
      const { start, end, name, data } = found.symbol as SymbolInfo;
      // Code of JIT compilers has other names at other times.
      const key = `${dso} ${start} ${end} ${name}`;
      number = this.#byKey.get(key);
      if (number === undefined) {
        number = this.#add(address, level, NAMED);
        this.#names[number] = name;
        this.#starts[number] = start;
        this.#dsos[number] = dso;
        if (data) this.#offsets.set(number, address - start);
        this.#byKey.set(key, number);
      }
      this.#byFound.set(found, number);
    }
    this.#lastFound = found;
    this.#lastNumber = number;
    return this.#lower(number, level);
  }

  /** An address in a variable, or in a function: each is one by itself. */
  datum(dso: number, found: Resolution, address: number, level: number): number {
    const { start, end, name, data } = found.symbol as SymbolInfo;
    const key = `${dso} ${start} ${end} ${data ? address : "code"} ${name} data`;
    let number = this.#byKey.get(key);
    if (number === undefined) {
      number = this.#add(address, level, NAMED);
      this.#names[number] = name;
      if (data) this.#offsets.set(number, address - start);
      this.#byKey.set(key, number);
    }
    return this.#lower(number, level);
  }

  /** An address in a function or a variable: each is one by itself. */
  point(dso: number, found: Resolution, address: number, level: number): number {
    const { start, end, name } = found.symbol as SymbolInfo;
    const key = `${dso} ${start} ${end} ${address} ${name} point`;
    let number = this.#byKey.get(key);
    if (number === undefined) {
      number = this.#add(address, level, NAMED);
      this.#names[number] = name;
      // Where a function begins is not known of all that has a name.
      if (!Number.isNaN(start)) this.#offsets.set(number, address - start);
      this.#byKey.set(key, number);
    }
    return this.#lower(number, level);
  }

  /** A function that is inlined at an address: known by its name, wherever it is inlined. */
  inlined(dso: number, { name }: ResolvedFrame, address: number, level: number): number {
    const key = `${dso} ${name} inlined`;
    let number = this.#byKey.get(key);
    if (number === undefined) {
      number = this.#add(address, level, NAMED | INLINED);
      this.#texts[number] = name;
      this.#byKey.set(key, number);
    }
    return this.#lower(number, level);
  }

  /**
   * An address without a function.
   *
   * @param dso Its object; -1 for one that is known to be asked for once.
   * @param exact Its digits, where a double does not hold them.
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

  /** An address by the function that it is in. */
  offsetText({ symbol }: Partial<Resolution> = {}, address: number): string {
    if (symbol === undefined) return addressToHex(address);
    // Where a function begins is not known of all that has a name.
    const offset = Number.isNaN(symbol.start) ? "" : `+${address - symbol.start}`;
    return this.#show(symbol.name) + offset;
  }

  /** What it is called. */
  text(number: number): string {
    const known = this.#texts[number];
    if (known !== undefined) return known;
    const isNamed = (byteAt(this.#flags, number) & NAMED) !== 0;
    if (!isNamed) return paddedHex(this.#addresses[number] ?? 0);
    const shown = this.#show(this.#names[number] as string);
    const offset = this.#offsets.get(number);
    return this.#texts[number] = offset === undefined ? shown : `${shown}+0x${offset.toString(16)}`;
  }

  /** What tells a symbol from others that are called the same; `undefined` of what is no symbol. */
  origin(number: number): { readonly dso: number; readonly mark: string } | undefined {
    const dso = this.#dsos[number];
    if (dso === undefined) return undefined;
    // Types that a name of Rust does not say are in its hash.
    const hash = /17h([0-9a-f]{16})E/.exec(this.#names[number] ?? "")?.[1];
    const start = addressToHex(this.#starts[number] ?? 0).slice(2);
    return { dso, mark: hash === undefined ? ` @${start}` : `::h${hash}` };
  }

  /** Where it runs: {@link LEVEL}. */
  level(number: number): number {
    return this.#levels[number] ?? LEVEL.USER;
  }

  /** Whether it is inlined. */
  isInlined(number: number): boolean {
    return (byteAt(this.#flags, number) & INLINED) !== 0;
  }

  /**
   * Columns by number that say where its text stands among others, the first decides first: those of
   * addresses are in the order of the addresses, which saves their texts. Code without frame pointers
   * has millions of them.
   *
   * @param numbers Those that occur; others have no place.
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
      // A name that looks like an address may stand between two of them.
      isMixed ||= this.text(number).startsWith("0x");
    }
    for (let number = 0; number < this.#count; number++) {
      if (used[number] === 0 || (byteAt(this.#flags, number) & NAMED) !== 0) continue;
      if (isMixed) {
        named.push(number);
        continue;
      }
      const address = floatAt(this.#addresses, number);
      // Addresses of the kernel are negative numbers.
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

/** An address as 16 digits or more, as perf shows what has no function. */
function paddedHex(address: number): string {
  return `0x${addressToHex(address).slice(2).padStart(16, "0")}`;
}
