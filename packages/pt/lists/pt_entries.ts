import { type FlowDecoder, FlowEvent } from "@perfdata/intel-pt";
import { enlarge } from "@perfdata/format/bytes";
import type { CallFilter } from "../calls/pt_calls.ts";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";
import type { PtTrace } from "../code/pt_trace.ts";
import type { PtClock } from "../decode/pt_clock.ts";
import type { PtBuffer, PtSink } from "../decode/pt_sink.ts";

/** Time of a thread in an object, from packets alone. */
export interface ObjectTime {
  /** The thread. */
  readonly tid: number;
  /** Index of the object in `PtCode.places`; negative for unmapped code. */
  readonly object: number;
  /** Sum of the ns from addresses in it to the next address. */
  time: number;
  /** Number of entries: addresses in it after an address in another object. */
  entries: number;
  /** Number of packets with an address in it. */
  seen: number;
}

/** Position of a thread. */
class Whereabouts {
  readonly objects = new Map<number, ObjectTime>();
  /** The last place; -1 if tracing is off, or if it is unknown. */
  place = -1;
  /** Its object, also while tracing is off. */
  object = NaN;
  /** Time in ns since which it is there; -1 if unknown. */
  since = -1;
  /** The kind of the last event other than TIME. */
  before = -1;
}

/**
 * Execution from packets alone: the addresses in packets with their objects, their times, and the
 * time to the next address. For `decodePt` with `quick: 1`.
 *
 * Packets have addresses of indirect branches, of returns that are not compressed, of interrupts,
 * and of starts of tracing. Conditional and direct branches have no address.
 */
export class PtEntries implements PtSink {
  /** Time in ns from an address to the next one, by place. */
  timeOf: Float64Array = new Float64Array(1024);
  /** Number of packets with the address, by place. */
  seenOf: Float64Array = new Float64Array(1024);
  /** Number of times that the address was the first in its object, by place. */
  entriesOf: Float64Array = new Float64Array(1024);

  readonly #code: PtCode;
  readonly #clock: PtClock;
  readonly #filter: CallFilter;
  readonly #threads = new Map<number, Whereabouts>();
  /** The thread of each buffer. */
  readonly #running = new Map<number, Whereabouts>();
  /** The last time of each buffer in ns. */
  readonly #now = new Map<number, number>();

  /** Creates a sink for `decodePt`. */
  constructor({ code, clock }: Pick<PtTrace, "code" | "clock">, filter: CallFilter = {}) {
    this.#code = code;
    this.#clock = clock;
    this.#filter = filter;
  }

  /** Objects by thread, sorted by time; without times, by number of packets. */
  objects(): ObjectTime[] {
    return [...this.#threads.values()].flatMap(({ objects }) => [...objects.values()])
      .sort((a, b) => b.time - a.time || b.seen - a.seen || a.tid - b.tid || a.object - b.object);
  }

  /** Sets the thread that runs on the buffer's CPU. */
  thread(buffer: PtBuffer): void {
    const { tid, index, position } = buffer;
    // The idle task and an unknown thread are separate on each CPU.
    const key = tid > 0 ? tid : -1 - 2 * index - (tid < 0 ? 1 : 0);
    let thread = this.#threads.get(key);
    if (thread === undefined) this.#threads.set(key, thread = new Whereabouts());
    const before = this.#running.get(index);
    if (before === thread) return;
    if (before !== undefined) this.#leave(before, position);
    this.#running.set(index, thread);
  }

  /** Processes events. */
  flow(buffer: PtBuffer, run: FlowDecoder): void {
    const { tids } = this.#filter;
    const thread = this.#running.get(buffer.index) as Whereabouts;
    let now = this.#now.get(buffer.index) ?? -1;
    const isWanted = tids === undefined || tids.has(buffer.tid);
    for (let i = 0; i < run.count; i++) {
      const event = ~(run.entries[i] as number);
      const time = this.#clock.ns(run.time[event] as number);
      if (time >= 0) now = time;
      // Aborts and PSB+ are recognized by the previous event.
      if (isWanted && run.kind[event] !== FlowEvent.TIME) {
        this.#event(buffer, thread, run, event, now);
      }
    }
    this.#now.set(buffer.index, now);
  }

  #event(buffer: PtBuffer, thread: Whereabouts, run: FlowDecoder, event: number, now: number) {
    const { before } = thread;
    thread.before = run.kind[event] as number;
    const ipLow = run.ipLow[event] as number;
    const ipHigh = run.ipHigh[event] as number;
    const low = run.low[event] as number;
    const high = run.high[event] as number;
    const detail = run.detail[event] as number;
    switch (run.kind[event]) {
      case FlowEvent.PSB:
        if (ipLow !== 0 || ipHigh !== 0) this.#see(buffer, thread, buffer.code, ipLow, ipHigh, now);
        break;
      case FlowEvent.SYNC:
        // The PSB+ before it has given this address already.
        if (before !== FlowEvent.PSB) this.#see(buffer, thread, buffer.code, ipLow, ipHigh, now);
        break;
      case FlowEvent.HOP:
      case FlowEvent.ENABLED:
        this.#see(buffer, thread, buffer.toCode, ipLow, ipHigh, now);
        break;
      case FlowEvent.ASYNC:
        if (before !== FlowEvent.TSX) this.#see(buffer, thread, buffer.code, ipLow, ipHigh, now);
        this.#see(buffer, thread, buffer.toCode, low, high, now);
        break;
      case FlowEvent.DISABLED:
        if ((detail & 2) !== 0 && before !== FlowEvent.TSX) {
          this.#see(buffer, thread, buffer.code, ipLow, ipHigh, now);
        }
        if ((detail & 3) === 3) this.#see(buffer, thread, buffer.toCode, low, high, now);
        this.#leave(thread, now);
        break;
      case FlowEvent.ERROR:
        this.#leave(thread, now);
    }
  }

  /** Sets the address of a thread from a packet. */
  #see(
    buffer: PtBuffer,
    thread: Whereabouts,
    code: ThreadCode,
    low: number,
    high: number,
    now: number,
  ): void {
    this.#leave(thread, now);
    const { from = -Infinity, to = Infinity } = this.#filter;
    const place = this.#code.place(code, low, high);
    const number = this.#code.places.object(place);
    const isNew = number !== thread.object;
    thread.place = place;
    thread.object = number;
    thread.since = now;
    if (now >= 0 && (now < from || now > to)) return;
    if (place >= this.seenOf.length) {
      this.timeOf = enlarge(this.timeOf, place + 1);
      this.seenOf = enlarge(this.seenOf, place + 1);
      this.entriesOf = enlarge(this.entriesOf, place + 1);
    }
    const object = this.#objectOf(thread, buffer.tid);
    object.seen++;
    this.seenOf[place] = (this.seenOf[place] as number) + 1;
    if (!isNew) return;
    object.entries++;
    this.entriesOf[place] = (this.entriesOf[place] as number) + 1;
  }

  #objectOf({ objects, object }: Whereabouts, tid: number): ObjectTime {
    let row = objects.get(object);
    if (row === undefined) objects.set(object, row = { tid, object, time: 0, entries: 0, seen: 0 });
    return row;
  }

  /** Ends the time of a thread at its last place. */
  #leave(thread: Whereabouts, now: number): void {
    const { place, since } = thread;
    thread.place = -1;
    if (place < 0 || since < 0 || now < 0) return;
    const { from = -Infinity, to = Infinity } = this.#filter;
    const passed = Math.min(now, to) - Math.max(since, from);
    const row = thread.objects.get(thread.object);
    if (!(passed > 0) || row === undefined) return;
    row.time += passed;
    this.timeOf[place] = (this.timeOf[place] as number) + passed;
  }
}
