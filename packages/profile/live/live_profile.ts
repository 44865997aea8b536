import { intAt } from "@perfdata/format/bytes";
import { type Engine, LargestPeriods, type SymbolTrust } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import { NodeTable } from "../columns/node_table.ts";
import { type Profile, type SampleColumns, totals } from "../columns/profile.ts";
import { ThreadTable } from "../columns/thread_table.ts";
import { callersOf, epochOf, trustLine } from "../collecting/recorded_profile.ts";
import type { SampleCollector } from "../collecting/sample_collector.ts";
import { samplesOf, threadsOf } from "../collecting/sampled_code.ts";
import { LiveNames } from "./live_names.ts";
import { type LiveLimits, LiveRows } from "./live_rows.ts";

/** Default limits: a live profile needs at most a few hundred MB. */
export const LIVE_LIMITS: LiveLimits = {
  recent: 60e9,
  step: 1e9,
  rows: 1 << 18,
  stacks: 1 << 20,
  threads: 1 << 14,
};

/**
 * A profile that grows while a recording is made, in bounded memory: see `LiveRows`. Samples are
 * moved to it from collectors, and it can return a {@linkcode Profile} at any time. Functions keep
 * their indices from one profile to the next.
 */
export class LiveProfile {
  readonly #limits: LiveLimits;
  readonly #rows: LiveRows;
  #threads = new ThreadTable();
  #stacks = new NodeTable();
  /** The first collector. Places of later collectors are added to its engine. */
  #first: SampleCollector | undefined;
  #names: LiveNames | undefined;
  #epoch = 0n;
  #span: [number, number] | undefined;
  readonly #largest = new LargestPeriods();

  /** Starts without samples. */
  constructor(limits: LiveLimits = LIVE_LIMITS) {
    this.#limits = limits;
    this.#rows = new LiveRows(limits);
  }

  /** Whether there are samples. */
  get hasSamples(): boolean {
    return this.#span !== undefined;
  }

  /** Moves the timed samples of a collector here. It can collect more afterwards. */
  add(collector: SampleCollector): void {
    const { engine, span: { first, last } } = collector;
    this.#first ??= collector;
    if (collector.waiting === 0) return;
    if (this.#span === undefined) this.#epoch = epochOf(first);
    const { threads, threadOf } = threadsOf(collector);
    const { length, stack, event, thread, count, period, time, cpu } = samplesOf(
      collector,
      threadOf,
      this.#epoch,
    );
    collector.resume();
    const begin = Number((first ?? 0n) - this.#epoch);
    const end = Number(last - this.#epoch);
    const [from = begin, to = end] = this.#span ?? [];
    this.#span = [Math.min(from, begin), Math.max(to, end)];
    const ofThread = threads.numbers(({ pid, tid, comm }) => this.#threads.add(pid, tid, comm));
    const stackOf = this.#stackNumbers(engine);
    this.#rows.add({
      stack: Int32Array.from(stack, (of) => of < 0 ? -1 : stackOf(of)),
      event: Int32Array.from(event),
      thread: Int32Array.from(thread, (of) => intAt(ofThread, of)),
      cpu: cpu ?? new Int32Array(length).fill(-1),
      count: Float64Array.from(count),
      period,
      time: time ?? new Float64Array(length),
    });
    this.#largest.join(collector.largest.periods);
    this.#bound();
  }

  /** Index in the live profile of each stack of an engine. */
  #stackNumbers({ stacks, places }: Engine): (stack: number) => number {
    const placeOf = this.#placeNumbers(places);
    const numbers = new Int32Array(stacks.count).fill(-1);
    const path: number[] = [];
    return (stack) => {
      let at = stack;
      while (at >= 0 && intAt(numbers, at) < 0) {
        path.push(at);
        at = intAt(stacks.parent, at);
      }
      let number = at < 0 ? -1 : intAt(numbers, at);
      for (let node = path.pop(); node !== undefined; node = path.pop()) {
        number = this.#stacks.node(number, placeOf(intAt(stacks.place, node)));
        numbers[node] = number;
      }
      return number;
    };
  }

  /** Index in the live profile of each place of an engine; unchanged for the first engine. */
  #placeNumbers(places: Engine["places"]): (place: number) => number {
    const own = (this.#first as SampleCollector).engine.places;
    if (places === own) return (place) => place;
    const numbers = new Int32Array(places.count);
    const objects = new Int32Array(places.objects.length).fill(-1);
    own.join(places.part(0, 0), 0, numbers, objects);
    return (place) => intAt(numbers, place);
  }

  /** If there are too many stacks or threads, drops those without samples. */
  #bound(): void {
    const { stacks, threads } = this.#limits;
    if (this.#threads.length > threads) this.#joinThreads();
    if (this.#stacks.length <= stacks) return;
    do this.#dropStacks(); while (this.#stacks.length > stacks * 3 / 4 && this.#rows.forget());
  }

  #dropStacks(): void {
    const [parents, places] = [this.#stacks.parents(), this.#stacks.items()];
    const numbers = new Int32Array(parents.length).fill(-1);
    this.#rows.eachPart(({ stack }) => {
      for (const of of stack) {
        for (let at = of; at >= 0 && intAt(numbers, at) < 0; at = intAt(parents, at)) {
          numbers[at] = 0;
        }
      }
    });
    const kept = new NodeTable();
    for (let node = 0; node < parents.length; node++) {
      if (intAt(numbers, node) < 0) continue;
      const parent = intAt(parents, node);
      numbers[node] = kept.node(parent < 0 ? -1 : intAt(numbers, parent), intAt(places, node));
    }
    this.#stacks = kept;
    this.#rows.eachPart(({ stack }) => renumber(stack, (of) => of < 0 ? -1 : intAt(numbers, of)));
  }

  /** Joins all threads of one command whose samples are only kept as sums. */
  #joinThreads(): void {
    const before = this.#threads;
    const kept = new ThreadTable();
    this.#rows.eachPart(({ thread }, isSums) =>
      renumber(thread, (of) => {
        const [tid, comm] = [before.tid(of), before.comm(of)];
        const name = comm === `:${tid}` ? undefined : comm;
        return isSums ? kept.add(-1, -1, name) : kept.add(before.pid(of), tid, name);
      })
    );
    this.#threads = kept;
  }

  /** Looks up the names of places that were added since the last call. */
  async name(resolver: SymbolResolver): Promise<void> {
    if (this.#first === undefined) return;
    this.#names ??= new LiveNames(this.#first.engine.places, resolver);
    await this.#names.next();
  }

  /**
   * Looks up all places again if a new resolver may find more names.
   *
   * @param isEnd Whether the stream has ended. Build ids may come at its end, so all places are
   * looked up again in any case.
   */
  async nameAgain(resolver: SymbolResolver, isEnd: boolean = false): Promise<void> {
    const names = this.#names;
    if (names === undefined) return;
    if (isEnd || await names.canNameMore(resolver)) await names.again(resolver);
  }

  /** Returns a profile of the samples so far, with the names found so far. */
  profile(title: string): Profile | undefined {
    const collector = this.#first;
    const names = this.#names;
    if (collector === undefined || names === undefined || this.#span === undefined) {
      return undefined;
    }
    const columns = this.#rows.columns();
    const samples: SampleColumns = { length: columns.time.length, ...columns };
    const stacks = { parent: this.#stacks.parents(), place: this.#stacks.items() };
    const { trust, ...named } = names.columns(stacks, samples);
    const { events } = collector;
    const { step, until } = this.#rows;
    const [begin, end] = this.#span;
    const { heldFrom } = this.#rows;
    return {
      ...named,
      title,
      trust: this.#trustLine(collector, trust, { events, samples, stacks }),
      events,
      threads: this.#threads,
      stacks,
      samples,
      epoch: this.#epoch,
      span: [Math.max(begin, heldFrom ?? begin), end],
      switches: [],
      slices: until === -Infinity ? undefined : { step, until },
      notes: heldFrom === undefined ? undefined : [this.#forgottenText(heldFrom - begin)],
    };
  }

  #trustLine(
    { engine, leftOut }: SampleCollector,
    trust: SymbolTrust,
    profile: Pick<Profile, "events" | "samples" | "stacks">,
  ): string {
    const { samples, stacks } = profile;
    let counted = 0;
    for (const { samples } of totals(profile)) counted += samples;
    const of = { engine, samples: counted, largest: this.#largest, leftOut };
    return trustLine(of, trust, callersOf(stacks, samples, engine), profile);
  }

  #forgottenText(ns: number): string {
    const { forgotten } = this.#rows;
    return `the first ${Math.round(ns / 1e9)} s are no longer held: ${forgotten} samples`;
  }
}

function renumber(column: Int32Array, of: (number: number) => number): void {
  for (let i = 0; i < column.length; i++) column[i] = of(intAt(column, i));
}

export type { LiveLimits };
