import type { Resolution, ResolvedFrame, SymbolInfo } from "@perfdata/symbols";
import { addressToHex } from "@perfdata/symbols/address";
import { distinct } from "./texts.ts";

/** A function or an address, by number. */
interface Entry {
  /** What it is called, where that is known; of a symbol, as the file has it. */
  readonly name: string | undefined;
  readonly address: number;
  /** Of data: the distance of the address. */
  readonly offset: number | undefined;
  readonly inlined: boolean;
}

/**
 * Functions, and addresses without one, by number. A name is made readable when it is printed or
 * compared.
 */
export class FunctionNumbers {
  readonly #show: (name: string) => string;
  readonly #entries: Entry[] = [];
  readonly #texts: (string | undefined)[] = [];
  readonly #levels: string[] = [];
  /** By object: addresses that have no function. */
  readonly #byAddress: Map<number, number>[] = [];
  readonly #byKey = new Map<string, number>();
  /** Addresses of a symbol mostly share what was found. */
  readonly #byFound = new Map<Resolution, number>();

  /** Shows names of symbols by `show`. */
  constructor(show: (name: string) => string) {
    this.#show = show;
  }

  /** How many there are. */
  get count(): number {
    return this.#entries.length;
  }

  /** The function of a symbol. */
  symbol(dso: number, found: Resolution, address: number, level: string): number {
    let number = this.#byFound.get(found);
    if (number === undefined) {
      const { start, end, name, data } = found.symbol as SymbolInfo;
      const key = `${dso} ${start} ${end}`;
      number = this.#byKey.get(key) ?? this.#add({
        name,
        address,
        offset: data ? address - start : undefined,
        inlined: false,
      }, level);
      this.#byKey.set(key, number);
      this.#byFound.set(found, number);
    }
    return this.#lower(number, level);
  }

  /** A function that is inlined at an address: known by its name, wherever it is inlined. */
  inlined(dso: number, { name }: ResolvedFrame, address: number, level: string): number {
    const key = `${dso} ${name} inlined`;
    let number = this.#byKey.get(key);
    if (number === undefined) {
      number = this.#add({ name, address, offset: undefined, inlined: true }, level);
      this.#texts[number] = name;
      this.#byKey.set(key, number);
    }
    return this.#lower(number, level);
  }

  /**
   * An address without a function.
   *
   * @param exact Its digits, where a double does not hold them.
   */
  address(dso: number, address: number, exact: string | undefined, level: string): number {
    const known = this.#byAddress[dso] ??= new Map();
    let number = exact === undefined ? known.get(address) : this.#byKey.get(`${dso} ${exact}`);
    if (number === undefined) {
      number = this.#add({ name: undefined, address, offset: undefined, inlined: false }, level);
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
    return symbol === undefined
      ? addressToHex(address)
      : `${this.#show(symbol.name)}+${address - symbol.start}`;
  }

  /** What it is called. */
  text(number: number): string {
    return this.#texts[number] ??= this.#textOf(this.#entries[number]);
  }

  /** Where it runs: `k` in the kernel, `.` in a process, `H` elsewhere. */
  level(number: number): string {
    return this.#levels[number] ?? ".";
  }

  /** Whether it is inlined. */
  isInlined(number: number): boolean {
    return this.#entries[number]?.inlined === true;
  }

  /**
   * By number, what the place of its text among others depends on, `kinds` first: those of addresses
   * are in the order of the addresses, which saves their texts.
   *
   * @param numbers Those that occur; others have no place.
   */
  ranks(numbers: Iterable<number>): { kinds: Float64Array; values: Float64Array } {
    const kinds = new Float64Array(this.count);
    const values = new Float64Array(this.count);
    const used = distinct(numbers, this.count);
    const isAddress = (number: number): boolean => {
      const { name, address } = this.#entries[number] as Entry;
      return name === undefined && Number.isSafeInteger(address);
    };
    const named = used.filter((number) => !isAddress(number)).map((number) => this.text(number));
    // A name that looks like an address may stand between two of them.
    const mixed = named.some((text) => text.startsWith("0x"));
    const texts = mixed ? used.map((number) => this.text(number)) : named;
    const ranks = new Map([...new Set(texts)].sort().map((text, i) => [text, i]));
    for (const number of used) {
      if (mixed || !isAddress(number)) {
        const text = this.text(number);
        kinds[number] = mixed || text < "0x" ? 0 : 3;
        values[number] = ranks.get(text) as number;
      } else {
        const { address } = this.#entries[number] as Entry;
        // Addresses of the kernel are negative numbers.
        kinds[number] = address < 0 ? 2 : 1;
        values[number] = address;
      }
    }
    return { kinds, values };
  }

  #lower(number: number, level: string): number {
    if (level < (this.#levels[number] as string)) this.#levels[number] = level;
    return number;
  }

  #add(entry: Entry, level: string): number {
    this.#levels.push(level);
    this.#texts.push(undefined);
    return this.#entries.push(entry) - 1;
  }

  #textOf(entry: Entry | undefined): string {
    if (entry?.name === undefined) {
      const digits = addressToHex(entry?.address ?? 0).replace(/^0x/, "");
      return `0x${digits.padStart(16, "0")}`;
    }
    const shown = this.#show(entry.name);
    return entry.offset === undefined ? shown : `${shown}+0x${entry.offset.toString(16)}`;
  }
}
