import { type EventDescs, eventName, type PerfEvent } from "@perfdata/format";

/** The names of a file's events, as they become known. */
export class EventNames {
  readonly #given = new Map<number, string>();
  /** Counts changes: what was prepared for a name has to be made again. */
  version: number = 0;

  /** The name of an event, by its number. */
  nameOf(index: number, event: PerfEvent): string {
    return this.#given.get(index) ?? eventName(event.attr);
  }

  /** Takes the names of a header. */
  take(descs: EventDescs): void {
    descs.events.forEach(({ name }, i) => this.#given.set(i, name));
    this.version++;
  }

  /** Gives an event another name. */
  set(index: number, name: string): void {
    this.#given.set(index, name);
    this.version++;
  }
}
