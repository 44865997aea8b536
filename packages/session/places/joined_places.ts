import { enlarge } from "@perfdata/format/bytes";
import type { Places, PlacesPart } from "./places.ts";

/** Indices in this thread of the places and objects that another thread sends in parts. */
export class JoinedPlaces {
  /** Index in this thread of each place of the other thread. */
  place: Int32Array<ArrayBuffer> = new Int32Array(1 << 10);
  /** Index in this thread of each object of the other thread. */
  objects: Int32Array<ArrayBuffer> = new Int32Array(64);
  #count = 0;

  /** Adds the next part of the other thread's places. */
  join(places: Places, part: PlacesPart): void {
    const object = part.firstObject + part.objects.length;
    if (object > this.objects.length) this.objects = enlarge(this.objects, object);
    const first = this.#count;
    this.#count += part.object.length;
    if (this.#count > this.place.length) this.place = enlarge(this.place, this.#count);
    places.join(part, first, this.place, this.objects);
  }
}
