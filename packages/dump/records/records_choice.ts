import { intAt } from "@perfdata/format/bytes";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { type Engine, type NameTest, type Run, shortName } from "@perfdata/session";
import type { PlaceSymbol } from "@perfdata/session/symbols";
import { isFiltered, isWanted, type RecordFilter } from "./record_filter.ts";

/**
 * Selects records by members of their lines. A record without the member fails the condition. Only
 * samples have the names.
 */
export interface RecordsFilter extends Omit<RecordFilter, "types"> {
  /** Name of the event. */
  readonly event?: NameTest | undefined;
  /** Name of the thread at that time; sets the order to time. */
  readonly comm?: NameTest | undefined;
  /** The object at `ip` (perf's name or its path); sets the order to time. */
  readonly dso?: NameTest | undefined;
  /** The function at `ip`, or one inlined there. Needs symbols. */
  readonly symbol?: NameTest | undefined;
}

/** What the names are of that other threads can test. */
export type SentName = "event" | "comm" | "dso";

/** Whether a filter needs the thread's name or the mapping at a place. */
export function asksMachine({ comm, dso, symbol }: RecordsFilter): boolean {
  return (comm ?? dso ?? symbol) !== undefined;
}

/** Tests records. The result for each name is cached. */
export class RecordChoice {
  /** Whether objects are filtered, so that places are needed. */
  readonly byPlace: boolean;
  /** Whether functions are filtered, which lines that wait for names lack. */
  readonly bySymbol: boolean;
  readonly #filter: RecordsFilter;
  readonly #byNumber: boolean;
  readonly #byName: boolean;
  readonly #byMachine: boolean;
  readonly #le: boolean;
  #engine: Engine | undefined;
  // Cached results by index of an event, thread name, object or place.
  readonly #events: (boolean | undefined)[] = [];
  readonly #comms: (boolean | undefined)[] = [];
  readonly #objects: (boolean | undefined)[] = [];
  readonly #places: (boolean | undefined)[] = [];

  constructor(filter: RecordsFilter, littleEndian: boolean) {
    this.#filter = filter;
    this.#le = littleEndian;
    this.#byNumber = isFiltered(filter);
    this.#byMachine = asksMachine(filter);
    this.#byName = filter.event !== undefined || this.#byMachine;
    this.byPlace = (filter.dso ?? filter.symbol) !== undefined;
    this.bySymbol = filter.symbol !== undefined;
  }

  start(engine: Engine): void {
    this.#engine = engine;
  }

  /** Clears the results for event names, which changed. */
  renamed(): void {
    this.#events.length = 0;
  }

  /**
   * Whether a row passes all filters except that by function.
   *
   * @param eventName Returns the name of an event.
   */
  passes(run: Run, row: number, eventName: (event: number) => string): boolean {
    if (this.#byNumber && !isWanted(this.#filter, run, row, this.#le)) return false;
    if (!this.#byName) return true;
    if (run.type[row] !== PERF_RECORD_SAMPLE) return false;
    const { event: isEvent } = this.#filter;
    if (isEvent !== undefined) {
      const event = intAt(run.event, row);
      if (event < 0 || !(this.#events[event] ??= isEvent(eventName(event)))) return false;
    }
    return !this.#byMachine || this.#passesMachine(run, row);
  }

  #passesMachine(run: Run, row: number): boolean {
    // Damaged samples have no thread or place.
    if (intAt(run.thread, row) < 0) return false;
    const { comm: isComm, dso: isDso } = this.#filter;
    const { names, places } = this.#engine as Engine;
    if (isComm !== undefined) {
      const comm = intAt(run.comm, row);
      if (comm < 0 || !(this.#comms[comm] ??= isComm(names.text(comm)))) return false;
    }
    if (!this.byPlace) return true;
    const place = intAt(run.place, row);
    if (place < 0 || isDso === undefined) return place >= 0;
    const object = places.object(place);
    if (object < 0) return isDso("[unknown]");
    return this.#objects[object] ??= (() => {
      const mapped = places.mapped[object];
      return mapped !== undefined && (isDso(shortName(mapped)) || isDso(mapped.name));
    })();
  }

  /**
   * Whether the function at a sample's place, or one inlined there, passes the filter.
   *
   * @param symbolOf Returns the symbol of a place.
   */
  isFunction(place: number, symbolOf: (place: number) => PlaceSymbol): boolean {
    const { symbol: isSymbol } = this.#filter;
    if (isSymbol === undefined) return true;
    return this.#places[place] ??= (() => {
      const { name, inlined } = symbolOf(place);
      return isSymbol(name ?? "[unknown]") || inlined.some((frame) => isSymbol(frame.name));
    })();
  }
}
