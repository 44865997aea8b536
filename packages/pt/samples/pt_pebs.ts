import type { CounterEvent } from "../code/pt_sideband.ts";

/** Types of blocks of a PEBS record (SDM, "PEBS record fields in BIP packets"), and their items. */
const PEBS_BASIC = 4;
const PEBS_MEMORY = 5;
const BASIC_IP = 0;
const BASIC_COUNTERS = 1;
const BASIC_TSC = 2;
const MEMORY_ADDRESS = 0;

/** Counters that a record can name: a bit each. */
const COUNTERS = 64;

/** The events whose samples are the PEBS records of a trace. */
export interface PebsEvents {
  /** The number of the event, if only one writes records of PEBS. */
  readonly single?: number | undefined;
  /** The events of counters, with the time from which each holds, in order of time. */
  readonly counters: readonly CounterEvent[];
}

/**
 * What blocks of items say of a record of PEBS, which the packet at the end of the last block completes; and
 * which events the counters have that it names.
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
  /** Bits of the counters that have written it. */
  #countersLow = 0;
  #countersHigh = 0;
  readonly #single: number;
  readonly #changes: readonly CounterEvent[];
  #nextChange = 0;
  /** Number of the event, by counter; -1 if it is not known. */
  readonly #eventOf = new Int32Array(COUNTERS).fill(-1);
  readonly #events: number[] = [];

  /** Takes the events; of their counters, those of the CPU or thread whose trace this is. */
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
   * The numbers of the events that it is a sample of, one for each of its counters; -1 for one whose event
   * is not known. The list is valid until the next call.
   *
   * @param ns When the trace has it; times never go back. Infinity where there are no times.
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
      // As in perf, which is content with one sample of the event that writes all of them.
      if (event < 0 && this.#single >= 0) break;
      events.push(event);
    }
    if (events.length === 0) events.push(this.#single);
    return events;
  }
}
