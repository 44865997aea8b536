import { enlarge } from "@perfdata/format/bytes";
import type { Places } from "./places.ts";

/** Bits of {@link AddressTable.uses}: the kinds of occurrence of an address. */
export const ADDRESS_USE = {
  /** The `ip` of a sample. */
  IP: 1,
  /** A call chain. */
  CALLCHAIN: 2,
  /** A branch stack. */
  BRANCH: 4,
  /**
   * The byte before an address of a call chain. A return address belongs to the line after the
   * call, and a return address at the end of a function to the next function, so many tools look up
   * the byte before.
   */
  BEFORE_RETURN: 8,
} as const;

/** Distinct addresses of objects, with the samples there: columns of `count` rows. */
export interface AddressTable {
  /** Number of rows. */
  readonly count: number;
  /** Index of the object; negative for an unmapped address: `UNMAPPED`, `KERNEL_HIDDEN`, … */
  readonly object: Int32Array;
  /** Address in the object; signed, as `Address` of `@perfdata/symbols`. */
  readonly address: Float64Array;
  /** Uses of the address: `ADDRESS_USE` bits. Rows without a use do not count. */
  readonly uses: Uint8Array;
  /** Number of samples whose `ip` is the address. */
  readonly samples: Float64Array;
  /** Sum of the periods of these samples; exact up to 2⁵³. */
  readonly periods: Float64Array;
  /**
   * Time of the first record with the address in ns, for generated code whose object has no
   * version; infinite to get the newest code.
   */
  readonly times: Float64Array;
}

/** Places to look up, of an engine or of a trace. */
export type AddressedPlaces = Pick<Places, "count" | "objects" | "object" | "address"> & {
  /** Time of the first use of each place, in traces. */
  readonly times?: Float64Array | undefined;
  /** Called with a place that is found in another object than its own: see {@link Places.move}. */
  move?(place: number, object: number, address: number): void;
};

/**
 * Counts the uses of an engine's places.
 *
 * @example
 * ```ts
 * import { ADDRESS_USE, Machine, Places, PlaceUses, RecordedObjects } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const stream = { littleEndian: true, isGoogleDialect: false };
 * const places = new Places(new Machine(), new RecordedObjects(stream));
 * const uses = new PlaceUses();
 * const place = places.row(0, 0, 0x1136);
 * uses.use(place, ADDRESS_USE.IP, 1, 250000);
 * const { count, address, samples } = uses.table(places);
 * assertEquals([count, address[0], samples[0]], [1, 0x1136, 1]);
 * ```
 */
export class PlaceUses {
  /** `ADDRESS_USE` bits of each place. */
  uses: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 10);
  /** Number of samples whose `ip` is the place. */
  samples: Float64Array<ArrayBuffer> = new Float64Array(1 << 10);
  /** Sum of the periods of these samples. */
  periods: Float64Array<ArrayBuffer> = new Float64Array(1 << 10);

  /** Adds a use of a place. */
  use(place: number, use: number, samples: number, period: number): void {
    if (place >= this.uses.length) {
      this.uses = enlarge(this.uses, place + 1);
      this.samples = enlarge(this.samples, place + 1);
      this.periods = enlarge(this.periods, place + 1);
    }
    this.uses[place] = (this.uses[place] as number) | use;
    this.samples[place] = (this.samples[place] as number) + samples;
    this.periods[place] = (this.periods[place] as number) + period;
  }

  /** The counts with the addresses: a row per place, including unused ones. */
  table(places: AddressedPlaces): AddressTable {
    const { count } = places;
    if (count > 0) this.use(count - 1, 0, 0, 0);
    const object = new Int32Array(count);
    const address = new Float64Array(count);
    for (let place = 0; place < count; place++) {
      object[place] = places.object(place);
      address[place] = places.address(place);
    }
    const { uses, samples, periods } = this;
    const { times = new Float64Array(count).fill(Infinity) } = places;
    return { count, object, address, uses, samples, periods, times };
  }
}
