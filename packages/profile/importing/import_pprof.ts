import { type ByteSource, intAt, PerfDataError } from "@perfdata/format/bytes";
import { addressFromHalves } from "@perfdata/symbols/resolver";
import { type BuilderFrame, ProfileBuilder } from "../collecting/profile_builder.ts";
import { CollectedRows } from "../collecting/collected_rows.ts";
import { IntColumn } from "../columns/columns.ts";
import {
  FUNCTION_KIND,
  type Profile,
  type ProfileEvent,
  type ProfileObject,
  unnamedCode,
} from "../columns/profile.ts";
import { ImportedTrust, type ImportOptions, isChosen, objectOf } from "./imported.ts";
import { MessageReader } from "./message_reader.ts";
import { wholeInput } from "./whole_input.ts";

/** Fields of the messages of `profile.proto`. */
const PROFILE = { sampleType: 1, sample: 2, mapping: 3, location: 4, function: 5, string: 6 };
const VALUE_TYPE = { type: 1, unit: 2 };
const SAMPLE = { location: 1, value: 2, label: 3 };
const LABEL = { key: 1, str: 2, num: 3 };
const MAPPING = { id: 1, filename: 5, buildId: 6 };
const LOCATION = { id: 1, mapping: 2, address: 3, line: 4 };
const LINE = { function: 1, line: 2 };
const FUNCTION = { id: 1, name: 2, systemName: 3, filename: 4 };

/** Keys of labels for the number or name of a thread, by tool. */
const LABELS: Readonly<Record<string, "pid" | "tid" | "cpu" | "comm">> = {
  pid: "pid",
  "process id": "pid",
  process_id: "pid",
  tid: "tid",
  "thread id": "tid",
  thread_id: "tid",
  cpu: "cpu",
  comm: "comm",
  thread: "comm",
  "thread name": "comm",
  thread_name: "comm",
};

/** Positions of an event among the values of samples: the number of samples, and the sum. */
interface EventValues {
  /** Position of the number; -1 if the event has only a sum. */
  readonly count: number;
  /** Position of the sum. */
  readonly period: number;
}

export function valueEvents(
  types: readonly { readonly type: string; readonly unit: string }[],
): { readonly events: ProfileEvent[]; readonly values: EventValues[] } {
  const events: ProfileEvent[] = [];
  const values: EventValues[] = [];
  for (let i = 0; i < types.length; i++) {
    const [here, next] = [types[i], types[i + 1]];
    if (here === undefined) continue;
    // A number of samples or objects is followed by its sum: `samples` and `cpu`.
    const isCount = here.unit === "count" && next !== undefined &&
      (here.type === "samples" || here.type === `${next.type}_samples` || next.unit !== "count");
    const { type, unit } = isCount ? next : here;
    const period = isCount ? ++i : i;
    const isPlain = unit === "count" || unit === "nanoseconds" || unit === "";
    events.push({
      name: isPlain ? type : `${type} (${unit})`,
      unit: unit === "nanoseconds" ? "nanoseconds" : "count",
    });
    values.push({ count: isCount ? period - 1 : unit === "count" ? period : -1, period });
  }
  return { events, values };
}

/** Maximum number of types; a heap profile of Go has four. */
const MOST_TYPES = 256;

/** An object, with its index in the profile, and the level of its functions. */
interface PprofObject {
  readonly object: ProfileObject | undefined;
  readonly number: number;
  readonly kind: number;
}

/** The bytes of a message in the profile. */
interface Part {
  readonly start: number;
  readonly end: number;
}

/** Reads a profile: first the tables that samples refer to, then the samples. */
class PprofReader {
  readonly #bytes: Uint8Array;
  readonly #options: ImportOptions;
  readonly #strings: Part[] = [];
  readonly #decoder = new TextDecoder();
  readonly #types: Part[] = [];
  readonly #sampleStart = new IntColumn();
  readonly #sampleEnd = new IntColumn();
  readonly #mappings = new Map<string, Part>();
  readonly #locations = new Map<string, Part>();
  readonly #functions = new Map<string, Part>();
  #program: Part | undefined;
  /** Cache of decoded texts, objects and places, which millions of samples may refer to. */
  readonly #texts: (string | undefined)[] = [];
  readonly #objects = new Map<string, PprofObject>();
  readonly #called = new Map<string, { readonly name: string; readonly file: string }>();
  #programName: string | undefined;
  readonly #places = new Map<string, number>();
  readonly #isNamed: boolean[] = [];
  readonly #trust = new ImportedTrust();

  constructor(bytes: Uint8Array, options: ImportOptions) {
    this.#bytes = bytes;
    this.#options = options;
    const all = new MessageReader(bytes);
    while (all.next()) {
      if (all.isNumber) continue;
      const { field, start, end } = all;
      const part = { start, end };
      if (field === PROFILE.sampleType) this.#types.push(part);
      else if (field === PROFILE.sample) {
        this.#sampleStart.push(start);
        this.#sampleEnd.push(end);
      } else if (field === PROFILE.mapping) {
        this.#mappings.set(this.#id(part, MAPPING.id), part);
        this.#program ??= part;
      } else if (field === PROFILE.location) this.#locations.set(this.#id(part, LOCATION.id), part);
      else if (field === PROFILE.function) this.#functions.set(this.#id(part, FUNCTION.id), part);
      else if (field === PROFILE.string) this.#strings.push(part);
    }
    if (this.#types.length === 0) throw new PerfDataError("pprof: no type of values");
    if (this.#types.length > MOST_TYPES) {
      throw new PerfDataError(
        `pprof: ${this.#types.length} types of values, expected at most ${MOST_TYPES}`,
      );
    }
  }

  profile(): Profile {
    const { events, values } = valueEvents(this.#types.map((part) => {
      const numbers = this.#numbers(part);
      return {
        type: this.#text(numbers.get(VALUE_TYPE.type)),
        unit: this.#text(numbers.get(VALUE_TYPE.unit)),
      };
    }));
    const builder = new ProfileBuilder({ events, title: this.#options.title });
    const rows = new CollectedRows(builder, false);
    for (let i = 0; i < this.#sampleStart.length; i++) {
      this.#sample(builder, rows, values, {
        start: intAt(this.#sampleStart.array(), i),
        end: intAt(this.#sampleEnd.array(), i),
      });
    }
    rows.finish();
    return {
      ...builder.profile(),
      trust: this.#trust.text("a profile of pprof", ["without times"]),
    };
  }

  #sample(
    builder: ProfileBuilder,
    rows: CollectedRows,
    values: readonly EventValues[],
    { start, end }: Part,
  ): void {
    const reader = new MessageReader(this.#bytes, start, end);
    const locations: string[] = [];
    const sums: number[] = [];
    const thread = { pid: -1, tid: -1, cpu: -1, comm: this.#programName ??= this.#nameOfProgram() };
    while (reader.next()) {
      if (reader.field === SAMPLE.location) reader.numbers(() => locations.push(key(reader)));
      else if (reader.field === SAMPLE.value) reader.numbers(() => sums.push(reader.signed));
      else if (reader.field === SAMPLE.label && !reader.isNumber) this.#label(reader, thread);
    }
    const { pid, tid, cpu, comm } = thread;
    if (!isChosen(this.#options, pid, tid, cpu)) return;
    let [stack, place] = [-1, -1];
    for (let i = locations.length - 1; i >= 0; i--) {
      const id = locations[i] ?? "";
      place = this.#places.get(id) ?? this.#place(builder, id, start);
      stack = builder.stack(stack, place);
    }
    for (const [event, { count, period }] of values.entries()) {
      const number = count < 0 ? 1 : sums[count] ?? 0;
      const sum = sums[period] ?? 0;
      if (sum === 0 && (count < 0 || number === 0)) continue;
      this.#trust.add(Math.abs(number), this.#isNamed[place] === true, locations.length > 1);
      rows.add({
        ...{ stack, event, count: number, period: sum },
        thread: builder.thread(pid, tid, comm),
      });
    }
  }

  #label(
    { start, end }: Part,
    thread: { pid: number; tid: number; cpu: number; comm: string },
  ): void {
    const numbers = this.#numbers({ start, end });
    const label = this.#text(numbers.get(LABEL.key));
    const of = Object.hasOwn(LABELS, label) ? LABELS[label] : undefined;
    const text = this.#text(numbers.get(LABEL.str));
    if (of === undefined) return;
    if (of === "comm") thread.comm = text === "" ? thread.comm : text;
    else {
      const number = text === "" ? numbers.get(LABEL.num) ?? 0 : Number(text);
      if (number >= 0 && number < 2 ** 31 && Number.isInteger(number)) thread[of] = number;
    }
  }

  #place(builder: ProfileBuilder, id: string, offset: number): number {
    const part = this.#locations.get(id);
    if (part === undefined) throw new PerfDataError(`pprof: no location ${id}`, { offset });
    const reader = new MessageReader(this.#bytes, part.start, part.end);
    let [mapping, address] = ["0", 0];
    const lines: Part[] = [];
    while (reader.next()) {
      if (reader.field === LOCATION.mapping) mapping = key(reader);
      else if (reader.field === LOCATION.address) {
        address = addressFromHalves(reader.high, reader.low);
      } else if (reader.field === LOCATION.line && !reader.isNumber) {
        lines.push({ start: reader.start, end: reader.end });
      }
    }
    const { object, number, kind } = this.#object(builder, mapping);
    const frames = lines.map((line, i) => ({
      ...this.#frame(line, object),
      kind: kind | (i < lines.length - 1 ? FUNCTION_KIND.INLINED : 0),
    }));
    const place = builder.place(number, address, frames);
    this.#places.set(id, place);
    this.#isNamed[place] = frames.length > 0 && frames[0]?.name !== "";
    return place;
  }

  #object(builder: ProfileBuilder, id: string): PprofObject {
    const known = this.#objects.get(id);
    if (known !== undefined) return known;
    const part = this.#mappings.get(id);
    const numbers = part === undefined ? undefined : this.#numbers(part);
    const path = this.#text(numbers?.get(MAPPING.filename));
    const { object, kind } = path === ""
      ? { object: undefined, kind: FUNCTION_KIND.USER }
      : objectOf(path, this.#text(numbers?.get(MAPPING.buildId)));
    const found = { object, kind, number: object === undefined ? -1 : builder.object(object) };
    this.#objects.set(id, found);
    return found;
  }

  #frame(part: Part, object: ProfileObject | undefined): BuilderFrame {
    const reader = new MessageReader(this.#bytes, part.start, part.end);
    let [id, line] = ["0", 0];
    while (reader.next()) {
      if (reader.field === LINE.function) id = key(reader);
      else if (reader.field === LINE.line) line = reader.signed;
    }
    const { name, file } = this.#function(id, part.start);
    return {
      name: name === unnamedCode(object) ? "" : name,
      file: file === "" ? undefined : file,
      line: line > 0 && line < 2 ** 31 ? line : 0,
    };
  }

  #function(id: string, offset: number): { readonly name: string; readonly file: string } {
    const known = this.#called.get(id);
    if (known !== undefined) return known;
    const part = this.#functions.get(id);
    if (part === undefined) throw new PerfDataError(`pprof: no function ${id}`, { offset });
    const numbers = this.#numbers(part);
    const found = {
      name: this.#text(numbers.get(FUNCTION.name)) ||
        this.#text(numbers.get(FUNCTION.systemName)),
      file: this.#text(numbers.get(FUNCTION.filename)),
    };
    this.#called.set(id, found);
    return found;
  }

  /** Name of the program: the last part of the path of the first mapping. */
  #nameOfProgram(): string {
    if (this.#program === undefined) return "[unnamed]";
    const path = this.#text(this.#numbers(this.#program).get(MAPPING.filename));
    return path.slice(path.lastIndexOf("/") + 1) || "[unnamed]";
  }

  #id({ start, end }: Part, field: number): string {
    const reader = new MessageReader(this.#bytes, start, end);
    let id = "0";
    while (reader.next()) if (reader.field === field && reader.isNumber) id = key(reader);
    return id;
  }

  #numbers({ start, end }: Part): Map<number, number> {
    const reader = new MessageReader(this.#bytes, start, end);
    const numbers = new Map<number, number>();
    while (reader.next()) if (reader.isNumber) numbers.set(reader.field, reader.signed);
    return numbers;
  }

  #text(number = 0): string {
    if (number === 0) return "";
    const known = this.#texts[number];
    if (known !== undefined) return known;
    const part = this.#strings[number];
    if (part === undefined) {
      throw new PerfDataError(`pprof: no string ${number} of ${this.#strings.length}`);
    }
    return this.#texts[number] = this.#decoder.decode(
      this.#bytes.subarray(part.start, part.end),
    );
  }
}

function key({ high, low, number }: MessageReader): string {
  return high < 0x20_0000 ? String(number) : `${high}:${low}`;
}

/**
 * Imports an uncompressed profile of pprof (`profile.proto` of github.com/google/pprof).
 *
 * Values are events. A number of samples or objects and its sum, which follows it, are one event.
 *
 * @throws {PerfDataError} If the profile is damaged.
 */
export async function importPprof(source: ByteSource, options: ImportOptions): Promise<Profile> {
  return new PprofReader(await wholeInput(source, options.progress), options).profile();
}
