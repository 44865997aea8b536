import { enlarge } from "./machine_names.ts";

/** The object of addresses where nothing was mapped. */
export const UNMAPPED: number = -1;
/** The object of kernel addresses in a recording that does not tell where the kernel was. */
export const KERNEL_HIDDEN: number = -2;

/** Bits of {@link AddressTable.uses}: where an address occurs. */
export const ADDRESS_USE = {
  /** The `ip` of a sample. */
  IP: 1,
  /** A call chain. */
  CALLCHAIN: 2,
  /** A branch stack. */
  BRANCH: 4,
  /**
   * The byte before an address of a call chain: a return address belongs to the line after the
   * call, and one that ends a function to the next function, so that many tools look up that.
   */
  BEFORE_RETURN: 8,
} as const;

/**
 * Distinct addresses of objects, with what was sampled there: rows of columns, found through a hash
 * table over them. Nothing is allocated for an address that is there already.
 *
 * @example
 * ```ts
 * import { ADDRESS_USE, AddressTable } from "@perfdata/session/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const table = new AddressTable();
 * const row = table.row(0, 0x1136);
 * table.use(row, ADDRESS_USE.IP, 1, 250000, 1e9);
 * assertEquals(table.row(0, 0x1136), row);
 * assertEquals([table.count, table.samples[row], table.periods[row]], [1, 1, 250000]);
 * ```
 */
export class AddressTable {
  /** Number of rows. */
  count: number = 0;
  /** Number of the object. */
  object: Int32Array<ArrayBuffer> = new Int32Array(1 << 10);
  /** Address, as the object's kind counts; signed, as `Address` of `@perfdata/symbols`. */
  address: Float64Array<ArrayBuffer> = new Float64Array(1 << 10);
  /** Where the address occurs: `ADDRESS_USE` bits. */
  uses: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 10);
  /** Samples whose `ip` it is. */
  samples: Float64Array<ArrayBuffer> = new Float64Array(1 << 10);
  /** The sum of their periods; exact up to 2⁵³. */
  periods: Float64Array<ArrayBuffer> = new Float64Array(1 << 10);
  /** Time of the first sample that has it, nanoseconds; 0 where samples have no time. */
  times: Float64Array<ArrayBuffer> = new Float64Array(1 << 10);
  #slots = new Int32Array(1 << 12).fill(-1);

  /** The row of an address; it is added where it is new. */
  row(object: number, address: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash(object, address) & mask;
    for (;;) {
      const row = this.#slots[slot] as number;
      if (row < 0) break;
      if (this.address[row] === address && this.object[row] === object) return row;
      slot = (slot + 1) & mask;
    }
    const row = this.count++;
    if (row >= this.object.length) {
      this.object = enlarge(this.object, row + 1);
      this.address = enlarge(this.address, row + 1);
      this.uses = enlarge(this.uses, row + 1);
      this.samples = enlarge(this.samples, row + 1);
      this.periods = enlarge(this.periods, row + 1);
      this.times = enlarge(this.times, row + 1);
    }
    this.object[row] = object;
    this.address[row] = address;
    this.#slots[slot] = row;
    if (this.count * 2 > this.#slots.length) this.#rehash();
    return row;
  }

  /** Notes that an address occurs once more. */
  use(row: number, use: number, samples: number, period: number, time: number): void {
    if (this.uses[row] === 0) this.times[row] = time;
    this.uses[row] = (this.uses[row] as number) | use;
    this.samples[row] = (this.samples[row] as number) + samples;
    this.periods[row] = (this.periods[row] as number) + period;
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1);
    const mask = slots.length - 1;
    for (let row = 0; row < this.count; row++) {
      let slot = hash(this.object[row] as number, this.address[row] as number) & mask;
      while ((slots[slot] as number) >= 0) slot = (slot + 1) & mask;
      slots[slot] = row;
    }
    this.#slots = slots;
  }
}

function hash(object: number, address: number): number {
  const high = Math.floor(address / 4294967296);
  let h = Math.imul(address - high * 4294967296, 0x9e3779b1) ^ Math.imul(high + 1, 0x85ebca6b) ^
    Math.imul(object + 1, 0xc2b2ae35);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  return h ^ h >>> 13;
}
