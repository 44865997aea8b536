import { enlarge } from "@perfdata/format/enlarge";
import type { PerfDataReader } from "@perfdata/format";
import { byteAt, floatAt, intAt } from "@perfdata/format/elements";
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
import { lookUpPlaces, ShownNames } from "@perfdata/session/look-up";
import type { RecordedMachine, SymbolResolver } from "@perfdata/symbols";

/** Conditions on the names of a sample: all that are given must hold. */
export interface NameConditions {
  /** On the name of its command. */
  readonly comm?: ((name: string) => boolean) | undefined;
  /** On the name of an object, as perf shows it. */
  readonly dso?: ((name: string) => boolean) | undefined;
  /** On the name of a function. */
  readonly symbol?: ((name: string) => boolean) | undefined;
  /** Whether object and function may be anywhere in the stack, and not only where it was sampled. */
  readonly anywhere?: boolean | undefined;
}

/** Opens what finds functions: which files may be those that were recorded, the machine says. */
export type ResolverOf = (
  machine: RecordedMachine,
) => SymbolResolver | Promise<SymbolResolver>;

/** Samples that were chosen by name. */
export interface ChosenSamples {
  /** File offsets of the samples. */
  readonly records: { has(offset: number): boolean };
  /** How many there are. */
  readonly count: number;
}

/** File offsets of records: a bit for each eight bytes, in pages, of which only those with a bit are there. */
class OffsetSet {
  /** How many there are. */
  count = 0;
  readonly #pages: (Uint8Array | undefined)[] = [];

  add(offset: number): void {
    const page = this.#pages[Math.floor(offset / PAGE)] ??= new Uint8Array(PAGE / 64);
    // A record has eight bytes or more: no two of them begin in the same eight.
    const bit = (offset % PAGE) >>> 3;
    page[bit >> 3] = byteAt(page, bit >> 3) | 1 << (bit & 7);
    this.count++;
  }

  has(offset: number): boolean {
    const page = this.#pages[Math.floor(offset / PAGE)];
    const bit = (offset % PAGE) >>> 3;
    return page !== undefined && (byteAt(page, bit >> 3) >> (bit & 7) & 1) === 1;
  }
}

/** Bytes of a recording that a page stands for. */
const PAGE = 1 << 19;

/**
 * Whether samples alone are looked at, so that only those parts of a file are read that a time meets: not where
 * commands count, since what a thread did before it got its name counts under that name. It is so for both
 * passes, which number places alike then.
 */
function samplesOnly({ comm }: NameConditions): boolean {
  return comm === undefined;
}

/** Notes which places samples have. */
class UsedPlaces implements Consumer {
  readonly needs: Needs;
  readonly uses = new PlaceUses();
  readonly #anywhere: boolean;

  constructor(conditions: NameConditions) {
    const { anywhere = false } = conditions;
    this.#anywhere = anywhere;
    const samples = samplesOnly(conditions);
    this.needs = { samples, places: true, stacks: anywhere, unmapped: false };
  }

  rows(run: Run): void {
    // Of stacks all places count.
    if (this.#anywhere) return;
    for (let i = 0; i < run.count; i++) {
      const place = intAt(run.place, i);
      if (run.type[i] !== PERF_RECORD_SAMPLE || run.chosen[i] !== CHOSEN.YES || place < 0) continue;
      this.uses.use(place, ADDRESS_USE.IP, 1, 0);
    }
  }
}

/** Notes the offsets of the samples whose names are those that are asked for. */
class Chosen implements Consumer {
  readonly needs: Needs;
  readonly offsets = new OffsetSet();
  readonly #conditions: NameConditions;
  /** By place: 1 if its function is one that is asked for. */
  readonly #named: Uint8Array | undefined;
  readonly #byPlace: boolean;
  #engine: Engine | undefined;
  #names: SampleComms | undefined;
  /** By number of a comm. */
  readonly #comms: (boolean | undefined)[] = [];
  /** By place, and by stack where any of its places counts: whether it is one that is asked for. */
  readonly #places: (boolean | undefined)[] = [];
  readonly #stacks: boolean[] = [];
  /** By object. */
  readonly #objects: (boolean | undefined)[] = [];
  // Samples of threads that have no name yet: comms, and offsets.
  #waitingComms = new Int32Array(256);
  #waitingOffsets = new Float64Array(256);
  #waiting = 0;

  constructor(conditions: NameConditions, named: Uint8Array | undefined) {
    const { anywhere = false, dso } = conditions;
    this.#conditions = conditions;
    this.#named = named;
    this.#byPlace = dso !== undefined || named !== undefined;
    const samples = samplesOnly(conditions);
    const stacks = anywhere && this.#byPlace;
    this.needs = { samples, places: this.#byPlace, stacks, unmapped: false };
  }

  start(engine: Engine): void {
    this.#engine = engine;
    this.#names = new SampleComms(engine);
  }

  rows(run: Run): void {
    const names = this.#names as SampleComms;
    const { comm: isComm } = this.#conditions;
    for (let i = 0; i < run.count; i++) {
      if (run.type[i] !== PERF_RECORD_SAMPLE) {
        names.record(run, i);
        continue;
      }
      if (run.chosen[i] !== CHOSEN.YES || !this.#isPlace(run, i)) continue;
      const offset = floatAt(run.offset, i);
      if (isComm === undefined) {
        this.offsets.add(offset);
        continue;
      }
      const name = intAt(run.comm, i);
      const comm = names.of(run, i);
      if (name < 0) {
        // What it did before it got its name counts under that name.
        this.#wait(comm, offset);
        continue;
      }
      const isNamed = this.#comms[comm] ??= isComm(names.text(comm));
      if (isNamed) this.offsets.add(offset);
    }
  }

  #wait(comm: number, offset: number): void {
    const i = this.#waiting++;
    if (i === this.#waitingComms.length) {
      this.#waitingComms = enlarge(this.#waitingComms, i + 1);
      this.#waitingOffsets = enlarge(this.#waitingOffsets, i + 1);
    }
    this.#waitingComms[i] = comm;
    this.#waitingOffsets[i] = offset;
  }

  finish(): void {
    const names = this.#names as SampleComms;
    for (let i = 0; i < this.#waiting; i++) {
      const text = names.text(intAt(this.#waitingComms, i));
      if (this.#conditions.comm?.(text) === true) {
        this.offsets.add(floatAt(this.#waitingOffsets, i));
      }
    }
  }

  #isPlace(run: Run, i: number): boolean {
    if (!this.#byPlace) return true;
    if (!this.needs.stacks) return this.#isHit(intAt(run.place, i));
    const { parent, place } = (this.#engine as Engine).stacks;
    const stack = intAt(run.stack, i);
    // A caller comes before what it calls.
    for (let node = this.#stacks.length; node <= stack; node++) {
      const caller = intAt(parent, node);
      this.#stacks.push(
        (caller >= 0 && this.#stacks[caller] === true) || this.#isHit(intAt(place, node)),
      );
    }
    return this.#stacks[stack] === true;
  }

  #isHit(place: number): boolean {
    if (place < 0) return false;
    return this.#places[place] ??= (this.#named === undefined || this.#named[place] === 1) &&
      this.#isObject(place);
  }

  #isObject(place: number): boolean {
    const { dso } = this.#conditions;
    if (dso === undefined) return true;
    const { places } = this.#engine as Engine;
    const object = places.object(place);
    if (object < 0) return dso("[unknown]");
    return this.#objects[object] ??= (() => {
      const mapped = places.mapped[object];
      return mapped !== undefined && dso(shortName(mapped));
    })();
  }
}

/**
 * Finds the samples of commands, objects or functions, for {@link Slice}: one pass over the recording,
 * and for functions one before it, which finds out what to look for.
 *
 * @param reader The recording: a file whose records are not compressed, since a sample is known by its
 *   place in it.
 * @param conditions What its names have to be.
 * @param resolver Finds functions; called for `symbol` only, when the recorded machine is known.
 * @param options Which samples are looked at.
 * @returns A bit of memory for eight bytes of the recording, where a sample was chosen nearby.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 */
export async function chooseSamples(
  reader: PerfDataReader,
  conditions: NameConditions,
  resolver: ResolverOf | undefined,
  options: EngineOptions = {},
): Promise<ChosenSamples> {
  const { symbol } = conditions;
  // One for both passes. What a stream says of its machine comes while it is read.
  let known: ReturnType<ResolverOf> | undefined;
  const opened = resolver && ((machine: RecordedMachine) => known ??= resolver(machine));
  const jit = opened && (({ recorded }: Engine) => opened(recorded));
  const passes = jit === undefined ? options : { ...options, jit };
  const named = symbol === undefined || opened === undefined
    ? undefined
    : await namedPlaces(reader, symbol, conditions, opened, passes);
  const chosen = new Chosen(conditions, named);
  await runEngine(reader, [chosen], passes);
  const { offsets } = chosen;
  return { records: offsets, count: offsets.count };
}

/** By place: 1 if its function is one that is asked for. */
async function namedPlaces(
  reader: PerfDataReader,
  symbol: (name: string) => boolean,
  conditions: NameConditions,
  resolverOf: ResolverOf,
  options: EngineOptions,
): Promise<Uint8Array> {
  const used = new UsedPlaces(conditions);
  // The pass after it reports what is damaged, and numbers places in the same way.
  const quiet = { ...options, diagnostics: () => {} };
  const { places, recorded: machine } = await runEngine(reader, [used], quiet);
  const resolver = await resolverOf(machine);
  const { uses } = used;
  if (conditions.anywhere === true) {
    for (let p = 0; p < places.count; p++) uses.use(p, ADDRESS_USE.CALLCHAIN, 0, 0);
  }
  const named = new Uint8Array(places.count);
  const names = new ShownNames(resolver.show);
  // Names are those of rows of `funcs`.
  await lookUpPlaces(places, uses, resolver, (found) => {
    for (const [i, place] of found.places.entries()) {
      const name = names.of(found.resolutions[i]);
      if (name !== undefined && symbol(name)) named[place] = 1;
    }
  });
  return named;
}
