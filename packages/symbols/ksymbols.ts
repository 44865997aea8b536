import type { Address } from "./address.ts";
import type { SymbolInfo } from "./symbol_table.ts";

/**
 * Kernel code that comes and goes while a recording runs: BPF programs, trampolines, ftrace and
 * kprobe pages, as `PERF_RECORD_KSYMBOL` announces them. A program that replays the records in time order
 * keeps this table as it was at each time.
 *
 * @example
 * ```ts
 * import { addressFromBigInt, Ksymbols } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const ksymbols = new Ksymbols();
 * const address = addressFromBigInt(0xffffffffc0200000n);
 * ksymbols.register(address, 0x80, "bpf_prog_6deef7357e7b4530_drop");
 * assertEquals(ksymbols.lookup(address + 0x10)?.name, "bpf_prog_6deef7357e7b4530_drop");
 * ksymbols.unregister(address);
 * assertEquals(ksymbols.lookup(address + 0x10), undefined);
 * ```
 */
export class Ksymbols {
  /** Sorted by start; no two overlap. */
  readonly #symbols: SymbolInfo[] = [];

  /** Number of symbols registered now. */
  get size(): number {
    return this.#symbols.length;
  }

  /** Index of the first symbol that starts after `address`. */
  #after(address: Address): number {
    let low = 0;
    let high = this.#symbols.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#symbols[middle]?.start ?? 0) <= address) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Adds a symbol; those that lay in its range are gone. */
  register(start: Address, length: number, name: string): void {
    const end = start + Math.max(length, 1);
    let from = this.#after(start);
    if ((this.#symbols[from - 1]?.end ?? -Infinity) > start) from--;
    let to = from;
    while ((this.#symbols[to]?.start ?? Infinity) < end) to++;
    this.#symbols.splice(from, to - from, { name, start, end });
  }

  /** Removes the symbol that starts at an address, if there is one. */
  unregister(start: Address): void {
    const at = this.#after(start) - 1;
    if (this.#symbols[at]?.start === start) this.#symbols.splice(at, 1);
  }

  /** The symbol at an address. */
  lookup(address: Address): SymbolInfo | undefined {
    const found = this.#symbols[this.#after(address) - 1];
    return found !== undefined && address < found.end ? found : undefined;
  }
}
