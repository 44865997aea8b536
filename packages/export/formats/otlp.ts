import { byteAt, checkMemory, floatAt, intAt } from "@perfdata/format/bytes";
import {
  FloatColumn,
  FUNCTION_KIND,
  functionName,
  NodeTable,
  type Profile,
} from "@perfdata/profile";
import { oneFunctionEach } from "../tree/one_function.ts";
import { MessageBytes } from "./message_bytes.ts";
import { functionFiles, objectRanges } from "./object_ranges.ts";

/** Options of {@linkcode otlp}. */
export interface OtlpOptions {
  /** Whether inlined functions are lines of a location; default true. */
  readonly inline?: boolean;
}

/** Fields of `profiles.proto`, version `v1development` of 2026. */
const DATA = { RESOURCE_PROFILES: 1, DICTIONARY: 2 } as const;
const RESOURCE_PROFILES = { SCOPE_PROFILES: 2 } as const;
const SCOPE_PROFILES = { SCOPE: 1, PROFILES: 2 } as const;
const SCOPE = { NAME: 1 } as const;
const PROFILE = { SAMPLE_TYPE: 1, SAMPLES: 2, DURATION: 4, ATTRIBUTES: 11 } as const;
const VALUE_TYPE = { TYPE: 1, UNIT: 2 } as const;
const SAMPLE = { STACK: 1, ATTRIBUTES: 2, VALUES: 4 } as const;
const DICTIONARY = {
  MAPPINGS: 1,
  LOCATIONS: 2,
  FUNCTIONS: 3,
  LINKS: 4,
  STRINGS: 5,
  ATTRIBUTES: 6,
  STACKS: 7,
} as const;
const MAPPING = { START: 1, LIMIT: 2, FILENAME: 4, ATTRIBUTES: 5 } as const;
const LOCATION = { MAPPING: 1, ADDRESS: 2, LINES: 3, ATTRIBUTES: 4 } as const;
const LINE = { FUNCTION: 1, LINE: 2 } as const;
const FUNCTION = { NAME: 1, SYSTEM_NAME: 2, FILENAME: 3 } as const;
const LINK = { TRACE_ID: 1, SPAN_ID: 2 } as const;
const STACK = { LOCATIONS: 1 } as const;
const ATTRIBUTE = { KEY: 1, VALUE: 2 } as const;
/** Fields of `AnyValue` and `ArrayValue` of `common.proto`. */
const ANY = { STRING: 1, INT: 3, ARRAY: 5 } as const;
const ARRAY_VALUES = 1;

type AttributeValue = string | number | readonly string[];

/** Numbers distinct values from 1. Number 0 of each table is the zero value. */
class Numbers<T> {
  readonly list: T[] = [];
  readonly #numbers = new Map<string, number>();

  number(key: string, value: T): number {
    let number = this.#numbers.get(key);
    if (number === undefined) this.#numbers.set(key, number = this.list.push(value));
    return number;
  }
}

/** The tables that a profile refers to, filled on first use. */
class Dictionary {
  readonly #profile: Profile;
  readonly #inline: boolean;
  readonly #strings = new Numbers<string>();
  readonly #attributes = new Numbers<{ key: number; value: AttributeValue }>();
  /** Index of each stack, place, function and object in the tables; 0 if it is not added yet. */
  readonly #stackOf: Int32Array;
  readonly #locationOf: Int32Array;
  readonly #functionOf: Int32Array;
  readonly #mappingOf: Int32Array;
  /** Numbered stacks, places, functions and objects, in the order of their numbers. */
  readonly #stacks: number[] = [];
  readonly #locations: number[] = [];
  readonly #functions: number[] = [];
  readonly #mappings: number[] = [];

  constructor(profile: Profile, inline: boolean) {
    this.#profile = profile;
    this.#inline = inline;
    this.#stackOf = new Int32Array(profile.stacks.place.length);
    this.#locationOf = new Int32Array(profile.places.object.length);
    this.#functionOf = new Int32Array(profile.functions.name.length);
    this.#mappingOf = new Int32Array(profile.objects.length);
  }

  text(value: string): number {
    return value === "" ? 0 : this.#strings.number(value, value);
  }

  attribute(name: string, value: AttributeValue): number {
    return this.#attributes.number(JSON.stringify([name, value]), { key: this.text(name), value });
  }

  /** The index of a stack; 0 for a sample without a stack. */
  stack(stack: number): number {
    return stack < 0 ? 0 : met(this.#stackOf, this.#stacks, stack);
  }

  /**
   * Writes the tables. A table follows those that refer to it, since writing them numbers its
   * entries.
   */
  write(bytes: MessageBytes): void {
    const { stacks } = this.#profile;
    const empty = (table: number) => bytes.close(bytes.open(table));
    empty(DICTIONARY.STACKS);
    for (const stack of this.#stacks) {
      const message = bytes.open(DICTIONARY.STACKS);
      const locations = bytes.open(STACK.LOCATIONS);
      for (let at = stack; at >= 0; at = intAt(stacks.parent, at)) {
        bytes.number(met(this.#locationOf, this.#locations, intAt(stacks.place, at)));
      }
      bytes.close(locations);
      bytes.close(message);
    }
    empty(DICTIONARY.LOCATIONS);
    for (const place of this.#locations) this.#location(bytes, place);
    empty(DICTIONARY.FUNCTIONS);
    const files = functionFiles(this.#profile);
    for (const number of this.#functions) {
      const message = bytes.open(DICTIONARY.FUNCTIONS);
      const name = this.text(functionName(this.#profile, number));
      bytes.field(FUNCTION.NAME, name);
      bytes.field(FUNCTION.SYSTEM_NAME, name);
      bytes.field(FUNCTION.FILENAME, this.text(this.#profile.files[intAt(files, number)] ?? ""));
      bytes.close(message);
    }
    empty(DICTIONARY.MAPPINGS);
    const { start, limit } = objectRanges(this.#profile);
    for (const object of this.#mappings) {
      const { path = "", buildId } = this.#profile.objects[object] ?? {};
      const message = bytes.open(DICTIONARY.MAPPINGS);
      bytes.field(MAPPING.START, floatAt(start, object));
      bytes.field(MAPPING.LIMIT, floatAt(limit, object));
      bytes.field(MAPPING.FILENAME, this.text(path));
      if (buildId !== undefined) {
        packed(bytes, MAPPING.ATTRIBUTES, [
          this.attribute("process.executable.build_id.gnu", buildId),
        ]);
      }
      bytes.close(message);
    }
    const link = bytes.open(DICTIONARY.LINKS);
    bytes.bytes(LINK.TRACE_ID, new Uint8Array(16));
    bytes.bytes(LINK.SPAN_ID, new Uint8Array(8));
    bytes.close(link);
    empty(DICTIONARY.ATTRIBUTES);
    for (const { key, value } of this.#attributes.list) {
      const message = bytes.open(DICTIONARY.ATTRIBUTES);
      bytes.field(ATTRIBUTE.KEY, key);
      const any = bytes.open(ATTRIBUTE.VALUE);
      anyValue(bytes, value);
      bytes.close(any);
      bytes.close(message);
    }
    bytes.text(DICTIONARY.STRINGS, "");
    for (const text of this.#strings.list) bytes.text(DICTIONARY.STRINGS, text);
  }

  #location(bytes: MessageBytes, place: number): void {
    const { places, frames, functions } = this.#profile;
    const object = intAt(places.object, place);
    const first = intAt(places.start, place);
    const end = intAt(places.start, place + 1);
    const message = bytes.open(DICTIONARY.LOCATIONS);
    if (object >= 0) bytes.field(LOCATION.MAPPING, met(this.#mappingOf, this.#mappings, object));
    bytes.field(LOCATION.ADDRESS, Math.max(0, floatAt(places.address, place)));
    for (let i = this.#inline ? first : Math.max(first, end - 1); i < end; i++) {
      const frame = intAt(places.frames, i);
      const line = bytes.open(LOCATION.LINES);
      const number = intAt(frames.function, frame);
      bytes.field(LINE.FUNCTION, met(this.#functionOf, this.#functions, number));
      bytes.field(LINE.LINE, intAt(frames.line, frame));
      bytes.close(line);
    }
    if (end > first) {
      const outer = intAt(frames.function, intAt(places.frames, end - 1));
      const level = byteAt(functions.kind, outer) & FUNCTION_KIND.LEVEL;
      const type = level === FUNCTION_KIND.KERNEL
        ? "kernel"
        : level === FUNCTION_KIND.USER
        ? "native"
        : undefined;
      if (type !== undefined) {
        packed(bytes, LOCATION.ATTRIBUTES, [this.attribute("profile.frame.type", type)]);
      }
    }
    bytes.close(message);
  }
}

/** The index of an entry, assigned on first use from 1. */
function met(numbers: Int32Array, list: number[], thing: number): number {
  return numbers[thing] ||= list.push(thing);
}

function packed(bytes: MessageBytes, field: number, numbers: readonly number[]): void {
  if (numbers.length === 0) return;
  const message = bytes.open(field);
  for (const number of numbers) bytes.number(number);
  bytes.close(message);
}

function anyValue(bytes: MessageBytes, value: AttributeValue): void {
  if (typeof value === "string") return bytes.text(ANY.STRING, value);
  if (typeof value === "number") return bytes.present(ANY.INT, value);
  const array = bytes.open(ANY.ARRAY);
  for (const text of value) {
    const any = bytes.open(ARRAY_VALUES);
    bytes.text(ANY.STRING, text);
    bytes.close(any);
  }
  bytes.close(array);
}

/**
 * Writes a profile for OpenTelemetry (`ProfilesData`, which is also the body of a request to a
 * collector).
 *
 * Each event has two profiles: the number of samples, and the sum of their periods. A place is a
 * location, its object a mapping with the build id. comm, pid and tid are attributes of samples.
 * Times are omitted, because the recording's clock is not the one that OpenTelemetry requires.
 */
export function* otlp(
  apart: Profile,
  { inline = true }: OtlpOptions = {},
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const profile = oneFunctionEach(apart);
  const { events, title, trust, span } = profile;
  const dictionary = new Dictionary(profile, inline);
  const comments = [title, trust].filter((text) => text !== "");
  const bytes = new MessageBytes();
  const resource = bytes.open(DATA.RESOURCE_PROFILES);
  const scope = bytes.open(RESOURCE_PROFILES.SCOPE_PROFILES);
  const about = bytes.open(SCOPE_PROFILES.SCOPE);
  bytes.text(SCOPE.NAME, "perfdata");
  bytes.close(about);
  const sampled = events.map((about, event) => ({ ...about, sums: sumsOf(profile, event) }))
    .filter(({ sums }) => sums.pairs.length > 0);
  for (const { name, unit, sums } of sampled) {
    const samples = sampled.length > 1 ? `${name}_samples` : "samples";
    for (
      const [type, of, values] of [[samples, "count", sums.counts], [
        name,
        unit,
        sums.periods,
      ]] as const
    ) {
      const message = bytes.open(SCOPE_PROFILES.PROFILES);
      const valueType = bytes.open(PROFILE.SAMPLE_TYPE);
      bytes.field(VALUE_TYPE.TYPE, dictionary.text(type));
      bytes.field(VALUE_TYPE.UNIT, dictionary.text(of));
      bytes.close(valueType);
      addSamples(bytes, profile, dictionary, sums.pairs, values);
      if (span !== undefined) bytes.field(PROFILE.DURATION, span[1] - span[0]);
      if (comments.length > 0) {
        packed(bytes, PROFILE.ATTRIBUTES, [
          dictionary.attribute("pprof.profile.comment", comments),
        ]);
      }
      bytes.close(message);
    }
  }
  bytes.close(scope);
  bytes.close(resource);
  yield bytes.take();
  const tables = bytes.open(DATA.DICTIONARY);
  dictionary.write(bytes);
  bytes.close(tables);
  yield bytes.take();
}

/** Sums of an event's samples. A node is a pair of stack and thread. */
function sumsOf(
  { samples }: Profile,
  event: number,
): { readonly pairs: NodeTable; readonly counts: Float64Array; readonly periods: Float64Array } {
  const pairs = new NodeTable();
  const [counts, periods] = [new FloatColumn(), new FloatColumn()];
  for (let row = 0; row < samples.length; row++) {
    if (samples.event[row] !== event) continue;
    const pair = pairs.node(intAt(samples.stack, row), intAt(samples.thread, row));
    if (pair === counts.length) {
      counts.push(0);
      periods.push(0);
    }
    counts.add(pair, samples.count[row] ?? 0);
    periods.add(pair, floatAt(samples.period, row));
  }
  return { pairs, counts: counts.array(), periods: periods.array() };
}

/** Writes the samples of an event with one of their values. */
function addSamples(
  bytes: MessageBytes,
  { threads }: Profile,
  dictionary: Dictionary,
  pairs: NodeTable,
  values: Float64Array,
): void {
  const attributes: (readonly number[] | undefined)[] = [];
  const stacks = pairs.parents();
  for (let pair = 0; pair < pairs.length; pair++) {
    if ((pair & 0xfff) === 0) checkMemory();
    const thread = pairs.item(pair);
    const { comm = "", pid = -1, tid = -1 } = attributes[thread] === undefined
      ? threads.at(thread) ?? {}
      : {};
    attributes[thread] ??= [
      dictionary.attribute("thread.name", comm),
      // A negative id was not recorded.
      ...(tid < 0 ? [] : [dictionary.attribute("thread.id", tid)]),
      ...(pid < 0 ? [] : [dictionary.attribute("process.pid", pid)]),
    ];
    const message = bytes.open(PROFILE.SAMPLES);
    bytes.field(SAMPLE.STACK, dictionary.stack(intAt(stacks, pair)));
    packed(bytes, SAMPLE.ATTRIBUTES, attributes[thread]);
    packed(bytes, SAMPLE.VALUES, [Math.round(floatAt(values, pair))]);
    bytes.close(message);
  }
}
