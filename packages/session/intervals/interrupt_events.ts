import type { Engine } from "../engine/engine.ts";
import { Tracepoints } from "../events/tracepoints.ts";
import type { Run } from "../order/run.ts";

/** The object of the frames of interrupt handlers. Its addresses are numbers of handlers. */
const INTERRUPTS = "[interrupts]";

/** Vectors of x86 that have handlers of their own: `irq_vectors:NAME_entry` and `NAME_exit`. */
const VECTORS = [
  ...["local_timer", "reschedule", "call_function", "call_function_single", "irq_work"],
  ...["x86_platform_ipi", "error_apic", "spurious_apic", "thermal_apic", "threshold_apic"],
  "deferred_error_apic",
] as const;

/** Softirqs by number (`softirq_to_name` of kernel/softirq.c). */
const SOFTIRQS = [
  ...["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER"],
  "RCU",
] as const;

/** Limits for damaged recordings: names of one interrupt, and all names. Others are `[irq N]`, `[irq]`. */
const MOST_SHARING = 16;
const MOST_NAMES = 4096;

/** First keys of softirqs and of vectors. Keys below are numbers of interrupts. */
const SOFTIRQ = 2 ** 33;
const VECTOR = 2 ** 34;

/** A tracepoint at the entry or exit of handlers. */
interface HandlerTracepoint {
  readonly isEntry: boolean;
  /** First key of its handlers; their number is added, except for a vector. */
  readonly first: number;
  readonly vector?: string;
}

const TRACEPOINTS: ReadonlyMap<string, HandlerTracepoint> = new Map([
  ...pair("irq:irq_handler", { first: 0 }),
  ...pair("irq:softirq", { first: SOFTIRQ }),
  ...VECTORS.flatMap((vector, k) => pair(`irq_vectors:${vector}`, { first: VECTOR + k, vector })),
]);

/** The fields to read of each tracepoint; the entry of an interrupt has the handler's name. */
const FIELDS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Array.from(TRACEPOINTS, ([name, { isEntry, first }]) => [
    name,
    first === SOFTIRQ
      ? ["vec"]
      : first >= VECTOR
      ? ["vector"]
      : isEntry
      ? ["irq", "name"]
      : ["irq"],
  ]),
);

function pair(
  name: string,
  handler: Omit<HandlerTracepoint, "isEntry">,
): [string, HandlerTracepoint][] {
  return [[`${name}_entry`, { ...handler, isEntry: true }], [`${name}_exit`, {
    ...handler,
    isEntry: false,
  }]];
}

/** An entry into an interrupt handler, or an exit from it. */
export interface InterruptEvent {
  readonly isEntry: boolean;
  /** The handler: an exit has the key of its entry. */
  readonly key: number;
  /** Whether the handler is a softirq, which interrupts may interrupt. */
  readonly isSoftirq: boolean;
  /** Place of the handler's frame; -1 for an exit. */
  readonly place: number;
}

/** A named handler of an interrupt, which several devices may share. */
interface NamedHandler {
  readonly name: Uint8Array;
  readonly place: number;
}

/**
 * Decodes the tracepoints at the entry and exit of interrupt handlers by the recorded formats. Each
 * handler is a place: the address of its name in the object `[interrupts]`.
 */
export class InterruptEvents {
  readonly #engine: Engine;
  readonly #tracepoints: Tracepoints;
  readonly #littleEndian: boolean;
  /** The reused result. */
  readonly #event = { isEntry: false, key: 0, isSoftirq: false, place: -1 };
  /** Names by address in the object. */
  readonly #names: string[] = [];
  #object = -1;
  /** Places of softirqs and vectors, by key. */
  readonly #places = new Map<number, number>();
  readonly #named = new Map<number, NamedHandler[]>();

  private constructor(engine: Engine, tracepoints: Tracepoints) {
    this.#engine = engine;
    this.#tracepoints = tracepoints;
    this.#littleEndian = engine.reader.littleEndian;
  }

  static async open(engine: Engine): Promise<InterruptEvents> {
    return new InterruptEvents(engine, await Tracepoints.open(engine, FIELDS));
  }

  /** Names of recorded tracepoints that cannot be read, because their formats are missing. */
  get undescribed(): readonly string[] {
    return this.#tracepoints.undescribed;
  }

  /** Whether the recording has only a part of the entries and exits, as with `-F`. */
  get isSampled(): boolean {
    return this.#engine.reader.events.all.some(({ attr }, number) =>
      this.#tracepoints.ofEvent(number) !== undefined &&
      (attr.flags.freq || attr.sample_period > 1n)
    );
  }

  /** Whether the samples of an event are entries into handlers. */
  isEntry(event: number): boolean {
    return TRACEPOINTS.get(this.#tracepoints.ofEvent(event)?.name ?? "")?.isEntry === true;
  }

  /**
   * The entry or exit in a row, which is valid until the next call; `undefined` for other events.
   */
  read(run: Run, i: number): InterruptEvent | undefined {
    const source = this.#tracepoints.of(run, i);
    const handler = source && TRACEPOINTS.get(source.name);
    if (source === undefined || handler === undefined) return undefined;
    const { raw, rawSize } = source.fields;
    const { view } = run.at(i);
    const [first, second] = source.places;
    // A damaged format may have fields of other sizes.
    if (first?.size !== 4 || second !== undefined && second.size !== 4) return undefined;
    const number = view.getInt32(raw + first.offset, this.#littleEndian);
    const event = this.#event;
    const { vector, isEntry } = handler;
    event.isEntry = isEntry;
    event.isSoftirq = handler.first === SOFTIRQ;
    event.key = vector === undefined ? handler.first + number : handler.first;
    if (!isEntry) event.place = -1;
    else if (second === undefined) {
      event.place = this.#places.get(event.key) ?? this.#add(event.key, nameOf(handler, number));
    } else {
      // __data_loc: the offset of a string in the raw data, and its size.
      const where = view.getUint32(raw + second.offset, this.#littleEndian);
      const start = Math.min(where & 0xffff, rawSize);
      const end = Math.min(start + (where >>> 16), rawSize);
      event.place = this.#placeOf(number, view, raw + start, raw + end);
    }
    return event;
  }

  #add(key: number, name: string): number {
    const place = this.#newPlace(name);
    this.#places.set(key, place);
    return place;
  }

  /** The place of the handler of an interrupt, by the bytes of its name. */
  #placeOf(irq: number, view: DataView, start: number, end: number): number {
    const known = this.#named.get(irq);
    for (let k = 0; known !== undefined && k < known.length; k++) {
      const { name, place } = known[k] as NamedHandler;
      if (isAt(view, start, end, name)) return place;
    }
    const name = new Uint8Array(view.buffer, view.byteOffset + start, end - start).slice();
    const [text = ""] = new TextDecoder().decode(name).split("\0", 1);
    const isOne = known === undefined || known.length < MOST_SHARING;
    const place = this.#newPlace(`[irq ${isOne && text !== "" ? text : irq}]`);
    if (isOne) this.#named.set(irq, [...known ?? [], { name, place }]);
    return place;
  }

  /** The place of a name, which several interrupts may have. */
  #newPlace(name: string): number {
    const { places } = this.#engine;
    const names = this.#names;
    if (this.#object < 0) {
      this.#object = places.addObject({ path: INTERRUPTS, kind: "state", names });
    }
    const kept = names.length < MOST_NAMES || names.includes(name) ? name : "[irq]";
    const known = names.indexOf(kept);
    return places.row(this.#object, 0, known < 0 ? names.push(kept) - 1 : known);
  }
}

function nameOf({ first, vector }: HandlerTracepoint, number: number): string {
  return first === SOFTIRQ ? `[softirq ${SOFTIRQS[number] ?? number}]` : `[irq ${vector}]`;
}

function isAt(view: DataView, start: number, end: number, name: Uint8Array): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) {
    if (view.getUint8(start + i) !== name[i]) return false;
  }
  return true;
}
