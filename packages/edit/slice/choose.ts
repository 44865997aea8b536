import { byteAt, enlarge, floatAt, intAt } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import {
  ADDRESS_USE,
  CHOSEN,
  type Consumer,
  type Engine,
  type EngineOptions,
  lookUpPlaces,
  type Needs,
  PlaceUses,
  type Run,
  runEngine,
  SampleComms,
  shortName,
  ShownNames,
} from "@perfdata/session";
import type { RecordedMachine } from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";

/** Conditions on the names of a sample; all given conditions must hold. */
export interface NameConditions {
  /** Condition on the name of the sample's command. */
  readonly comm?: ((name: string) => boolean) | undefined;
  /** Condition on the name of an object, as perf prints it. */
  readonly dso?: ((name: string) => boolean) | undefined;
  /** Condition on the name of a function. */
  readonly symbol?: ((name: string) => boolean) | undefined;
  /** Whether object and function may be anywhere in the stack, instead of only at the sampled address. */
  readonly anywhere?: boolean | undefined;
}

/** Creates the symbol resolver for the recorded machine. */
export type ResolverOf = (
  machine: RecordedMachine,
) => SymbolResolver | Promise<SymbolResolver>;

/** Samples in functions, objects or threads with the names that the user asked for. */
export interface ChosenSamples {
  /** File offsets of the samples. */
  readonly records: { has(offset: number): boolean };
  /** Number of samples. */
  readonly count: number;
}

/** Set of record offsets: one bit for eight bytes, in pages that are allocated on first use. */
class OffsetSet {
  /** Number of offsets. */
  count = 0;
  readonly #pages: (Uint8Array | undefined)[] = [];

  add(offset: number): void {
    const page = this.#pages[Math.floor(offset / PAGE)] ??= new Uint8Array(PAGE / 64);
    // A record has at least eight bytes, so no two records share a bit.
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

/** Number of bytes of the recording in a page. */
const PAGE = 1 << 19;

/**
 * Whether the engine has to read only samples, so that it skips parts of the file outside of the time range. With a
 * condition on commands it has to read all, since samples of a thread before its name count under that name.
 * Both passes use the same mode, so that they number places alike.
 */
function samplesOnly({ comm }: NameConditions): boolean {
  return comm === undefined;
}

/** Collects the places of samples. */
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
    // With `anywhere`, all places of all stacks count.
    if (this.#anywhere) return;
    for (let i = 0; i < run.count; i++) {
      const place = intAt(run.place, i);
      if (run.type[i] !== PERF_RECORD_SAMPLE || run.chosen[i] !== CHOSEN.YES || place < 0) continue;
      this.uses.use(place, ADDRESS_USE.IP, 1, 0);
    }
  }
}

/** Collects the offsets of the samples whose names match. */
class Chosen implements Consumer {
  readonly needs: Needs;
  readonly offsets = new OffsetSet();
  readonly #conditions: NameConditions;
  /** By place: 1 if its function matches. */
  readonly #named: Uint8Array | undefined;
  readonly #byPlace: boolean;
  #engine: Engine | undefined;
  #names: SampleComms | undefined;
  /** Result by index of a comm. */
  readonly #comms: (boolean | undefined)[] = [];
  /** Results by place, and by stack if any place in it counts. */
  readonly #places: (boolean | undefined)[] = [];
  readonly #stacks: boolean[] = [];
  /** Result by object. */
  readonly #objects: (boolean | undefined)[] = [];
  // Samples of threads that have no name yet: comms and offsets.
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
        // A sample before the thread's name counts under that name.
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
    // A caller has a lower number than its callees.
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
 * Finds the samples of commands, objects or functions, for {@link Slice}. This is one pass over the recording;
 * functions require another one before it, to look up names.
 *
 * @param reader The recording: a file without COMPRESSED records, since a sample is identified by its
 * offset.
 * @param conditions Conditions on the names.
 * @param resolver Creates the resolver of functions; called only for `symbol`, when the recorded machine is known.
 * @param options Options of the passes, which select samples.
 * @returns The samples, in one bit of memory per eight bytes around chosen samples.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 */
export async function chooseSamples(
  reader: PerfDataReader,
  conditions: NameConditions,
  resolver: ResolverOf | undefined,
  options: EngineOptions = {},
): Promise<ChosenSamples> {
  const { symbol } = conditions;
  // One resolver for both passes. A stream describes its machine while it is read.
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

/** Returns 1 for each place whose function matches. */
async function namedPlaces(
  reader: PerfDataReader,
  symbol: (name: string) => boolean,
  conditions: NameConditions,
  resolverOf: ResolverOf,
  options: EngineOptions,
): Promise<Uint8Array> {
  const used = new UsedPlaces(conditions);
  // The next pass reports damage, and numbers places in the same way.
  const quiet = { ...options, diagnostics: () => {} };
  const { places, recorded: machine } = await runEngine(reader, [used], quiet);
  const resolver = await resolverOf(machine);
  const { uses } = used;
  if (conditions.anywhere === true) {
    for (let p = 0; p < places.count; p++) uses.use(p, ADDRESS_USE.CALLCHAIN, 0, 0);
  }
  const named = new Uint8Array(places.count);
  const names = new ShownNames(resolver.show);
  // Names are those of the rows of `funcs`.
  await lookUpPlaces(places, uses, resolver, (found) => {
    for (const [i, place] of found.places.entries()) {
      const name = names.of(found.resolutions[i]);
      if (name !== undefined && symbol(name)) named[place] = 1;
    }
  });
  return named;
}
