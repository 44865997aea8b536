import { checkMemory, floatAt, intAt } from "@perfdata/format/bytes";
import { oneFunctionEach } from "../tree/one_function.ts";
import {
  emptyTableToken,
  Function as PprofFunction,
  Mapping,
  Profile as PprofProfile,
  type ProfileInput,
  StringTable,
  ValueType,
} from "pprof-format";
import { MessageBytes } from "./message_bytes.ts";
import { functionFiles, objectRanges } from "./object_ranges.ts";
import { functionName, type Profile } from "@perfdata/profile";

/** Functions per message: adjacent messages of a repeated field are merged. */
const AT_ONCE = 4096;

/** Options of {@linkcode pprof}. */
export interface PprofOptions {
  /** Whether inlined functions are lines of a location; default true. */
  readonly inline?: boolean;
}

/**
 * A profile for pprof (`profile.proto` of github.com/google/pprof), not yet compressed: see
 * `gzipped`.
 *
 * Each event has two values: number of samples, and sum of their periods. A place is a location,
 * its object a mapping with the build id, an inlined function a line of the location. comm, pid,
 * tid and, if recorded, cpu are labels.
 */
export function* pprof(
  apart: Profile,
  { inline = true }: PprofOptions = {},
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const profile = oneFunctionEach(apart);
  const { events, threads, functions, files, places, samples } = profile;
  const strings = new StringTable();
  const text = (value: string) => strings.dedup(value);
  const part = (input: ProfileInput) =>
    new PprofProfile({ stringTable: new StringTable(emptyTableToken), ...input })
      .encode() as Uint8Array<ArrayBuffer>;
  yield part({
    sampleType: events.flatMap(({ name, unit }) => [
      new ValueType({
        type: text(events.length > 1 ? `${name}_samples` : "samples"),
        unit: text("count"),
      }),
      new ValueType({ type: text(name), unit: text(unit) }),
    ]),
    mapping: mappings(profile, text),
  });
  const firstLines = files.length > 0 ? functionFiles(profile) : new Int32Array();
  for (let from = 0; from < functions.name.length; from += AT_ONCE) {
    const to = Math.min(from + AT_ONCE, functions.name.length);
    yield part({
      function: range(from, to, (number) => {
        return new PprofFunction({
          id: number + 1,
          name: text(functionName(profile, number)),
          systemName: text(functionName(profile, number)),
          filename: text(files[firstLines[number] ?? -1] ?? ""),
        });
      }),
    });
  }
  const bytes = new MessageBytes();
  for (let place = 0; place < places.object.length; place++) {
    addLocation(bytes, profile, place, inline);
    if (bytes.isFull) yield bytes.take();
  }
  yield bytes.take();
  const keys = { comm: text("comm"), pid: text("pid"), tid: text("tid"), cpu: text("cpu") };
  const labelsOf = (thread: number): Label[] => {
    const { comm = "", pid = -1, tid = -1 } = threads.at(thread) ?? {};
    return [
      { key: keys.comm, str: text(comm) },
      // A negative number was not recorded.
      ...(pid < 0 ? [] : [{ key: keys.pid, num: pid }]),
      ...(tid < 0 ? [] : [{ key: keys.tid, num: tid }]),
    ];
  };
  let labelled = -1;
  let label: Label[] = [];
  for (let row = 0; row < samples.length; row++) {
    if ((row & 0xfff) === 0) checkMemory();
    const cpu = samples.cpu?.[row] ?? -1;
    const thread = intAt(samples.thread, row);
    if (thread !== labelled) label = labelsOf(labelled = thread);
    // As text, since pprof treats the number 0 as a missing label.
    const labels = cpu < 0 ? label : [...label, { key: keys.cpu, str: text(String(cpu)) }];
    addSample(bytes, profile, row, labels);
    if (bytes.isFull) yield bytes.take();
  }
  yield bytes.take();
  const { time } = samples;
  const last = samples.length - 1;
  yield new PprofProfile({
    stringTable: strings,
    comment: [text(profile.title), text(profile.trust)].filter((number) => number > 0),
    ...(time === undefined || last < 0
      ? {}
      : { durationNanos: Math.max(0, floatAt(time, last) - floatAt(time, 0)) }),
    defaultSampleType: text(events[0]?.name ?? ""),
  }).encode() as Uint8Array<ArrayBuffer>;
}

/** A label of samples: a text or a number. */
interface Label {
  readonly key: number;
  readonly str?: number;
  readonly num?: number;
}

/** Appends a `Location` as field 4 of the `Profile`. */
function addLocation(
  bytes: MessageBytes,
  { places, frames }: Profile,
  place: number,
  inline: boolean,
): void {
  const first = intAt(places.start, place);
  const end = intAt(places.start, place + 1);
  const start = inline ? first : Math.max(first, end - 1);
  const location = bytes.open(4);
  bytes.field(1, place + 1);
  bytes.field(2, intAt(places.object, place) + 1);
  bytes.field(3, Math.max(0, floatAt(places.address, place)));
  for (let i = start; i < end; i++) {
    const frame = intAt(places.frames, i);
    const line = bytes.open(4);
    bytes.field(1, intAt(frames.function, frame) + 1);
    bytes.field(2, intAt(frames.line, frame));
    bytes.close(line);
  }
  bytes.close(location);
}

/** Appends a `Sample` as field 2 of the `Profile`. */
function addSample(
  bytes: MessageBytes,
  { events, samples, stacks }: Profile,
  row: number,
  labels: readonly Label[],
): void {
  const sample = bytes.open(2);
  let stack = intAt(samples.stack, row);
  if (stack >= 0) {
    const locations = bytes.open(1);
    for (; stack >= 0; stack = intAt(stacks.parent, stack)) {
      bytes.number(intAt(stacks.place, stack) + 1);
    }
    bytes.close(locations);
  }
  const values = bytes.open(2);
  for (let event = 0; event < events.length; event++) {
    const isOf = event === samples.event[row];
    bytes.number(isOf ? samples.count[row] as number : 0);
    bytes.number(isOf ? floatAt(samples.period, row) : 0);
  }
  bytes.close(values);
  for (const { key, str = 0, num = 0 } of labels) {
    const label = bytes.open(3);
    bytes.field(1, key);
    bytes.field(2, str);
    bytes.field(3, num);
    bytes.close(label);
  }
  bytes.close(sample);
}

function range<T>(from: number, to: number, make: (number: number) => T): T[] {
  return Array.from({ length: to - from }, (_, i) => make(from + i));
}

/**
 * Mappings whose ranges cover the used addresses, which pprof checks. The program comes first,
 * since pprof takes the first mapping for it.
 */
function mappings(profile: Profile, text: (value: string) => number): Mapping[] {
  const { objects } = profile;
  const { start, limit, hasFiles } = objectRanges(profile);
  const program = programOf(profile);
  const order = objects.map((_, object) => object)
    .sort((a, b) => Number(b === program) - Number(a === program));
  return order.map((object) => {
    const { path, buildId } = objects[object] as Profile["objects"][number];
    return new Mapping({
      id: object + 1,
      memoryStart: floatAt(start, object),
      memoryLimit: floatAt(limit, object),
      filename: text(path),
      buildId: text(buildId ?? ""),
      // Names are complete: pprof must not look them up again.
      hasFunctions: true,
      hasFilenames: hasFiles[object] === 1,
      hasLineNumbers: hasFiles[object] === 1,
      hasInlineFrames: hasFiles[object] === 1,
    });
  });
}

/** The object with the name of the most frequent command, or -1. */
function programOf({ objects, samples, threads }: Profile): number {
  const counts = new Map<string, number>();
  for (let row = 0; row < samples.length; row++) {
    const comm = threads.comm(intAt(samples.thread, row));
    counts.set(comm, (counts.get(comm) ?? 0) + (samples.count[row] as number));
  }
  const comms = [...counts].sort(([, a], [, b]) => b - a);
  for (const [comm] of comms) {
    // The kernel truncates thread names to 15 bytes.
    const found = objects.findIndex(({ path }) =>
      path.slice(path.lastIndexOf("/") + 1).slice(0, 15) === comm
    );
    if (found >= 0) return found;
  }
  return -1;
}
