import { enlarge } from "@perfdata/format/bytes";

/** Numbers for addresses in objects: the places of functions and branches. */
export class PtPlaces {
  /** Number of places. */
  count = 0;
  /** The object of each place; -1 for an unmapped address, -2 in an unknown kernel. */
  object: Int32Array = new Int32Array(1024);
  /** Address of each place in its object. */
  address: Float64Array = new Float64Array(1024);
  /** Time of its first use in ns. */
  time: Float64Array<ArrayBuffer> = new Float64Array(1024);

  readonly #byObject = new Map<number, Map<number, number>>();

  /** The place of an address of an object; it is added if it is new. */
  of(object: number, address: number, time: number): number {
    let places = this.#byObject.get(object);
    if (places === undefined) this.#byObject.set(object, places = new Map());
    const known = places.get(address);
    if (known !== undefined) return known;
    const place = this.count++;
    if (place === this.object.length) {
      this.object = enlarge(this.object, place + 1);
      this.address = enlarge(this.address, place + 1);
      this.time = enlarge(this.time, place + 1);
    }
    this.object[place] = object;
    this.address[place] = address;
    this.time[place] = time;
    places.set(address, place);
    return place;
  }
}
