import { enlarge } from "@perfdata/format/bytes";
import type { Places, PlacesPart } from "./places.ts";

/** Numbers here of the places and objects of another thread, which sends them in parts. */
export class JoinedPlaces {
  /** Number here of each of the thread's places. */
  place: Int32Array<ArrayBuffer> = new Int32Array(1 << 10);
  /** Number here of each of the thread's objects. */
  objects: Int32Array<ArrayBuffer> = new Int32Array(64);
  #count = 0;

  /** Adds the thread's next places. */
  join(places: Places, part: PlacesPart): void {
    const object = part.firstObject + part.objects.length;
    if (object > this.objects.length) this.objects = enlarge(this.objects, object);
    const first = this.#count;
    this.#count += part.object.length;
    if (this.#count > this.place.length) this.place = enlarge(this.place, this.#count);
    places.join(part, first, this.place, this.objects);
  }
}
