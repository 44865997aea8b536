import type { PerfDataReader } from "@perfdata/format";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/record-types";
import { ADDRESS_USE, PlaceUses } from "@perfdata/session/address-table";
import {
  type Consumer,
  type Engine,
  type EngineOptions,
  type Needs,
  runEngine,
} from "@perfdata/session/engine";
import { CHOSEN, type Run } from "@perfdata/session/run";
import { SampleComms } from "@perfdata/session/sample-comms";
import { shortName } from "@perfdata/session/short-name";
import { symbolTrust } from "@perfdata/session/symbolize";
import type { SymbolResolver } from "@perfdata/symbols";

/** Conditions on the names that a sample has: those that are there must all hold. */
export interface NameConditions {
  /** On the name of its command. */
  readonly comm?: ((name: string) => boolean) | undefined;
  /** On the name of an object, as perf shows it, or its path. */
  readonly dso?: ((name: string) => boolean) | undefined;
  /** On the name of a function. */
  readonly symbol?: ((name: string) => boolean) | undefined;
  /** Whether object and function may be anywhere in the stack, and not only where it was sampled. */
  readonly anywhere?: boolean | undefined;
}

/** Samples that were chosen by name. */
export interface ChosenSamples {
  /** File offsets of the samples. */
  readonly records: { has(offset: number): boolean };
  /** How many there are. */
  readonly count: number;
}

/** Grows as numbers come. */
class Numbers {
  length = 0;
  #values = new Float64Array(1 << 12);

  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Float64Array(this.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length++] = value;
  }

  get values(): Float64Array {
    return this.#values.subarray(0, this.length);
  }
}

/** Notes offset, comm and place, or stack, of each sample. */
class SampleNotes implements Consumer {
  readonly needs: Needs;
  readonly offsets = new Numbers();
  readonly comms = new Numbers();
  readonly where = new Numbers();
  readonly #anywhere: boolean;
  #names: SampleComms | undefined;

  constructor(anywhere: boolean) {
    this.#anywhere = anywhere;
    this.needs = { places: true, stacks: anywhere };
  }

  /** Comms by number. */
  get names(): readonly string[] {
    return this.#names?.texts ?? [];
  }

  start(engine: Engine): void {
    this.#names = new SampleComms(engine);
  }

  rows(run: Run): void {
    const names = this.#names as SampleComms;
    for (let i = 0; i < run.count; i++) {
      if (run.type[i] !== PERF_RECORD_SAMPLE) {
        names.record(run, i);
        continue;
      }
      if (run.chosen[i] !== CHOSEN.YES) continue;
      this.offsets.push(run.offset[i] as number);
      this.comms.push(names.of(run.comm[i] as number, run.tid[i] as number));
      this.where.push((this.#anywhere ? run.stack : run.place)[i] as number);
    }
  }
}

/**
 * Finds the samples of commands, objects or functions, for {@link Slice}: one pass over the recording.
 *
 * @param reader The recording: a file whose records are not compressed, since a sample is known by its
 *   place in it.
 * @param conditions What its names have to be.
 * @param resolver Finds functions; needed for `symbol` only.
 * @param options Which samples are looked at.
 * @returns 8 bytes of memory for each sample that was chosen.
 * @throws {PerfDataError} In strict mode, where the recording is damaged.
 */
export async function chooseSamples(
  reader: PerfDataReader,
  conditions: NameConditions,
  resolver: SymbolResolver | undefined,
  options: EngineOptions = {},
): Promise<ChosenSamples> {
  const { comm, anywhere = false } = conditions;
  const notes = new SampleNotes(anywhere);
  const engine = await runEngine(reader, [notes], options);
  const hits = await placeHits(engine, notes, conditions, resolver);
  const { parent, place, count } = engine.stacks;
  const inStack = new Uint8Array(anywhere ? count : 0);
  // A caller comes before what it calls.
  for (let node = 0; node < inStack.length; node++) {
    const caller = parent[node] as number;
    inStack[node] = hits[place[node] as number] || (caller >= 0 && inStack[caller]) ? 1 : 0;
  }
  const isHit = anywhere ? inStack : hits;
  const commHits = notes.names.map((name) => comm?.(name) ?? true);
  const chosen = new Numbers();
  const { offsets, comms, where } = notes;
  for (let i = 0; i < offsets.length; i++) {
    if (isHit[where.values[i] as number] !== 1 || !commHits[comms.values[i] as number]) continue;
    chosen.push(offsets.values[i] as number);
  }
  return { records: new OffsetSet(chosen.values.slice().sort()), count: chosen.length };
}

/** By place: 1 where its object and function are those that are asked for. */
async function placeHits(
  engine: Engine,
  { where }: SampleNotes,
  { dso, symbol, anywhere }: NameConditions,
  resolver: SymbolResolver | undefined,
): Promise<Uint8Array> {
  const { places } = engine;
  const hits = new Uint8Array(places.count).fill(1);
  if (dso !== undefined) {
    const byObject = places.mapped.map((mapped) => dso(shortName(mapped)) || dso(mapped.name));
    const unknown = dso("[unknown]");
    for (let place = 0; place < places.count; place++) {
      const object = places.object(place);
      hits[place] = (object < 0 ? unknown : byObject[object]) ? 1 : 0;
    }
  }
  if (symbol === undefined || resolver === undefined) return hits;
  const uses = new PlaceUses();
  if (anywhere) {
    for (let p = 0; p < places.count; p++) uses.use(p, ADDRESS_USE.CALLCHAIN, 0, 0);
  } else {
    for (const place of where.values) if (place >= 0) uses.use(place, ADDRESS_USE.IP, 1, 0);
  }
  const named = new Uint8Array(places.count);
  const table = uses.table(places);
  // Of code that a compiler made, what was there last: as in `funcs`.
  table.times.fill(Infinity);
  const recorded = { objects: places.objects, table };
  await symbolTrust(recorded, resolver, ({ rows, resolutions }) => {
    for (let i = 0; i < rows.length; i++) {
      // The function itself, as rows of `funcs` have it, and not one that is inlined there.
      const found = resolutions[i]?.symbol;
      if (found !== undefined && symbol(resolver.show(found.name))) named[rows[i] as number] = 1;
    }
  });
  return hits.map((hit, place) => hit & (named[place] as number));
}

/** Offsets in ascending order, which are asked for in about that order. */
class OffsetSet {
  readonly #sorted: Float64Array;
  #next = 0;

  constructor(sorted: Float64Array) {
    this.#sorted = sorted;
  }

  has(offset: number): boolean {
    const sorted = this.#sorted;
    if (this.#next > 0 && (sorted[this.#next - 1] as number) >= offset) this.#next = 0;
    while (this.#next < sorted.length && (sorted[this.#next] as number) < offset) this.#next++;
    return sorted[this.#next] === offset;
  }
}
