import type { CounterEvent } from "../code/pt_sideband.ts";

/** Types of blocks of a PEBS record (SDM, "PEBS record fields in BIP packets"), and their items. */
const PEBS_BASIC = 4;
const PEBS_MEMORY = 5;
const BASIC_IP = 0;
const BASIC_COUNTERS = 1;
const BASIC_TSC = 2;
const MEMORY_ADDRESS = 0;

/** Number of counters in a record, a bit each. */
const COUNTERS = 64;

/** Events of the trace's PEBS records. */
export interface PebsEvents {
  /** Index of the event, if only one writes PEBS records. */
  readonly single?: number | undefined;
  /** Events of counters, with the time from which on each is valid, sorted. */
  readonly counters: readonly CounterEvent[];
}

/**
 * A PEBS record, collected from its blocks of items. The packet at the end of the last block
 * completes it. It also maps the counters of the record to events.
 */
export class PebsRecord {
  #block = 0;
  isOpen = false;
  hasIp = false;
  hasTsc = false;
  ipLow = 0;
  ipHigh = 0;
  tscLow = 0;
  tscHigh = 0;
  addressLow = 0;
  addressHigh = 0;
  /** Bits of the counters that wrote the record. */
  #countersLow = 0;
  #countersHigh = 0;
  readonly #single: number;
  readonly #changes: readonly CounterEvent[];
  #nextChange = 0;
  /** Index of the event, by counter; -1 if unknown. */
  readonly #eventOf = new Int32Array(COUNTERS).fill(-1);
  readonly #events: number[] = [];

  /** Keeps the events of counters of this trace's CPU or thread. */
  constructor(
    events: PebsEvents | undefined,
    { cpu, tid }: { readonly cpu: number | undefined; readonly tid: number | undefined },
  ) {
    this.#single = events?.single ?? -1;
    this.#changes = (events?.counters ?? []).filter((change) =>
      cpu === undefined
        ? tid === undefined || change.tid === tid
        : change.cpu < 0 || change.cpu === cpu
    );
  }

  begin(block: number): void {
    if (!this.isOpen) {
      this.hasIp = this.hasTsc = false;
      this.addressLow = this.addressHigh = 0;
      this.#countersLow = this.#countersHigh = 0;
    }
    this.isOpen = true;
    this.#block = block;
  }

  item(id: number, low: number, high: number): void {
    if (this.#block === PEBS_BASIC && id === BASIC_IP) {
      this.hasIp = true;
      this.ipLow = low;
      this.ipHigh = high;
    } else if (this.#block === PEBS_BASIC && id === BASIC_COUNTERS) {
      this.#countersLow = low;
      this.#countersHigh = high;
    } else if (this.#block === PEBS_BASIC && id === BASIC_TSC) {
      this.hasTsc = true;
      this.tscLow = low;
      this.tscHigh = high;
    } else if (this.#block === PEBS_MEMORY && id === MEMORY_ADDRESS) {
      this.addressLow = low;
      this.addressHigh = high;
    }
  }

  /**
   * Indices of the events that the record is a sample of, one for each of its counters; -1 for an
   * unknown event. The list is valid until the next call.
   *
   * @param ns Time of the record in the trace, in ascending order. Infinity without times.
   */
  events(ns: number): readonly number[] {
    for (; this.#nextChange < this.#changes.length; this.#nextChange++) {
      const { time, counter, event } = this.#changes[this.#nextChange] as CounterEvent;
      if (time > ns) break;
      this.#eventOf[counter] = event;
    }
    const events = this.#events;
    events.length = 0;
    for (let counter = 0; counter < COUNTERS; counter++) {
      const bits = counter < 32 ? this.#countersLow : this.#countersHigh;
      if ((bits >>> (counter & 31) & 1) === 0) continue;
      const event = this.#eventOf[counter] ?? -1;
      // As in perf, one sample is enough if one event writes all records.
      if (event < 0 && this.#single >= 0) break;
      events.push(event);
    }
    if (events.length === 0) events.push(this.#single);
    return events;
  }
}
