import { floatAt, uintAt } from "@perfdata/format/bytes";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import { KERNEL_UNMAPPED } from "../places/places.ts";
import type { AddressTable } from "../places/address_table.ts";

/**
 * Index of the recorded machine's kernel, to which an address beside its mapping may belong; -1
 * without a kernel. The kernels of guests have no such addresses.
 */
export function kernelBeside(objects: readonly SymbolObject[]): number {
  return objects.findIndex(({ kind, guest }) => kind === "kernel" && guest === undefined);
}

/**
 * The rule by which addresses outside of the kernel's mapping belong to the kernel.
 *
 * perf records a mapping of the kernel that ends with its data, so that code which runs only while
 * the machine boots (`start_kernel`, the outermost callers of an idle CPU) is beside it. When perf
 * has read the kernel's symbols, it extends the map from the first symbol to the last. So such an
 * address belongs to the kernel if the kernel has a symbol there, be it sampled, a caller or a
 * branch; otherwise nothing is mapped at it.
 */
export class KernelBeside {
  /** Index of the kernel among the objects; -1 without a kernel. */
  readonly kernel: number;
  readonly #table: AddressTable;
  readonly #base: number;
  readonly #rows = new Set<number>();

  /** Moves addresses beside the mapping into the kernel, until {@linkcode KernelBeside.found}. */
  constructor(table: AddressTable, objects: readonly SymbolObject[]) {
    this.#table = table;
    this.kernel = kernelBeside(objects);
    this.#base = objects[this.kernel]?.referenceAddress ?? 0;
    if (this.kernel < 0) return;
    const { count, object, address, uses } = table;
    for (let row = 0; row < count; row++) {
      if (object[row] !== KERNEL_UNMAPPED || uses[row] === 0) continue;
      this.#rows.add(row);
      object[row] = this.kernel;
      address[row] = floatAt(address, row) - this.#base;
    }
  }

  /**
   * Moves addresses without a symbol back.
   *
   * @param rows The looked-up addresses of the kernel.
   * @param has Whether the address at an index of `rows` has a symbol.
   * @returns The indices of the other rows; `undefined` if these are all.
   */
  found(rows: Uint32Array, has: (index: number) => boolean): Uint32Array | undefined {
    if (this.#rows.size === 0) return undefined;
    const { object, address } = this.#table;
    const kept: number[] = [];
    for (let i = 0; i < rows.length; i++) {
      const row = uintAt(rows, i);
      if (!this.#rows.has(row) || has(i)) {
        kept.push(i);
        continue;
      }
      object[row] = KERNEL_UNMAPPED;
      address[row] = floatAt(address, row) + this.#base;
    }
    return kept.length === rows.length ? undefined : Uint32Array.from(kept);
  }
}
