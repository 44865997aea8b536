import { rulingPeriodText } from "@perfdata/session/ruling-period";
import { sharedBuildIdTexts } from "@perfdata/session/shared-build-ids";
import {
  FEATURE_NAMES,
  HEADER_CLOCK_DATA,
  HEADER_CMDLINE,
  HEADER_DIR_FORMAT,
} from "@perfdata/format/feature-names";
import { type PerfDataReader } from "@perfdata/format";
import { type Engine, type EngineOptions, runEngine } from "@perfdata/session/engine";
import { recordedFeatures } from "@perfdata/session/recorded-features";
import { PERF_AUXTRACE_NAMES } from "@perfdata/user-records/auxtrace-info";
import { emptyInfo, type EventInfo, InfoCounts, type StackInfo } from "./info_counts.ts";

export type { EventInfo, StackInfo } from "./info_counts.ts";

/** How many samples fell into objects that can be recognized. */
export interface ObjectInfo {
  /** Distinct objects that were sampled. */
  readonly count: number;
  /** Samples in objects whose build id the recording has. */
  readonly identified: number;
  /** Samples in objects without a build id: names of theirs cannot be verified. */
  readonly unidentified: number;
  /** Samples at addresses where nothing is known to be mapped. */
  readonly unmapped: number;
}

/** Facts about a recording that are in its header: no record is read for them. */
export interface RecordingHead {
  /** The form it has. */
  readonly form: "file" | "pipe";
  /** Whether it is the file `data` of a directory, most of whose records are in the files beside it. */
  readonly partOfDirectory: boolean;
  /** Bytes, where that is known. */
  readonly bytes: number | undefined;
  /** Byte order. */
  readonly littleEndian: boolean;
  /** Features that are a text each, such as HOSTNAME, by their names. */
  readonly machine: Readonly<Record<string, string>>;
  /** The command that recorded. */
  readonly command: readonly string[] | undefined;
}

/** A recording in short. */
export interface RecordingInfo extends RecordingHead {
  /** Time of day of the first sample, ns since 1970, if the chosen clock gives it. */
  readonly startedAt: bigint | undefined;
  /** First and last time of a sample, ns; where none has a time, of the kernel's other records. */
  readonly span: readonly [bigint, bigint] | undefined;
  /** Whether any sample has a time. */
  readonly timed: boolean;
  /** Records, those that came out of compressed ones included. */
  readonly records: number;
  /** The events. */
  readonly events: readonly EventInfo[];
  /** Samples. */
  readonly samples: number;
  /** Samples of no known event, or damaged. */
  readonly leftOut: number;
  /** Records for which the ring buffer had no room, and samples that the hardware lost. */
  readonly lost: number;
  /** How often an event paused since it interrupted too often. */
  readonly throttled: number;
  /** Distinct processes that were sampled. */
  readonly processes: number;
  /** Distinct threads. */
  readonly threads: number;
  /** Distinct CPUs. */
  readonly cpus: number;
  /** Guests of `perf kvm record`: how many were sampled, and their samples. */
  readonly guests: { readonly count: number; readonly samples: number };
  /** Stacks. */
  readonly stacks: StackInfo;
  /** What made the AUX data, and how many bytes there are. */
  readonly aux: { readonly type: string; readonly bytes: number } | undefined;
  /** Objects. */
  readonly objects: ObjectInfo;
  /** Values that cannot be, and what they make wrong. */
  readonly impossible: readonly string[];
}

/** Features that are one text each. */
const TEXTS: ReadonlySet<string> = new Set([
  "HOSTNAME",
  "OSRELEASE",
  "VERSION",
  "ARCH",
  "CPUDESC",
  "CPUID",
]);

/** The numbers of features that are read. */
const WANTED: ReadonlySet<number> = new Set([
  ...Object.entries(FEATURE_NAMES).filter(([, name]) => TEXTS.has(name)).map(([id]) => Number(id)),
  HEADER_CLOCK_DATA,
  HEADER_CMDLINE,
]);

/**
 * A recording in short: who recorded what, when, how much of it, and how complete it will be.
 *
 * @param reader The recording.
 * @param options How to read it; the workers are those of `infoWorkers`.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { recordingInfo } from "@perfdata/report/info";
 * import { assertEquals } from "@std/assert";
 *
 * const file = bytesSource(await Deno.readFile("fixtures/recorded/two-events.perf.data"));
 * const info = await recordingInfo(await PerfDataReader.open(file));
 * assertEquals([info.samples, info.machine["HOSTNAME"]], [42, "fixture-host"]);
 * ```
 */
export async function recordingInfo(
  reader: PerfDataReader,
  options: Pick<EngineOptions, "progress" | "workers" | "blockBytes"> = {},
): Promise<RecordingInfo> {
  const counts = new InfoCounts(reader);
  const engine = await runEngine(reader, [counts], options);
  const features = await recordedFeatures(reader, WANTED, counts.features);
  const timed = counts.ofSamples.first !== undefined;
  const { first, last } = timed ? counts.ofSamples : counts.ofOthers;
  const clock = features.get(HEADER_CLOCK_DATA) as
    | { readonly wall_clock_ns: bigint; readonly clockid_time_ns: bigint }
    | undefined;
  const events = reader.events.all.map((_, number) =>
    counts.events[number] ?? emptyInfo(reader, number)
  );
  const impossible: string[] = [];
  for (const [number, event] of events.entries()) {
    const { samples, period, largestPeriod, weight, largestWeight } = event;
    const of = { name: engine.eventNames[number] ?? event.name, samples };
    for (
      const sums of [
        { ...of, period, largest: largestPeriod },
        { ...of, period: weight, largest: largestWeight, what: "weight" as const },
      ]
    ) {
      const ruling = rulingPeriodText(sums, reader.events.all[number]);
      if (ruling !== undefined) impossible.push(ruling);
    }
  }
  events.forEach((event, number) => event.name = engine.eventNames[number] ?? "");
  return {
    ...headOf(reader, features),
    startedAt: clock === undefined || first === undefined
      ? undefined
      : clock.wall_clock_ns - clock.clockid_time_ns + first,
    span: first === undefined ? undefined : [first, last],
    timed,
    records: reader.stats.records,
    events,
    samples: counts.samples,
    leftOut: engine.leftOut,
    lost: counts.lost,
    throttled: counts.throttled,
    processes: counts.processes.size,
    threads: counts.threads.size,
    cpus: counts.cpus.size,
    guests: {
      count: counts.guests.size,
      samples: [...counts.guests.values()].reduce((sum, samples) => sum + samples, 0),
    },
    stacks: counts.stacks,
    aux: counts.auxType === undefined && counts.auxBytes === 0 ? undefined : {
      type: PERF_AUXTRACE_NAMES[counts.auxType ?? 0] ?? `type ${counts.auxType}`,
      bytes: counts.auxBytes,
    },
    objects: objectInfo(counts, engine),
    impossible: [
      ...impossible,
      ...[counts.farTimes.text() ?? []].flat(),
      ...sharedBuildIdTexts(engine.places.objects),
    ],
  };
}

/**
 * Facts about a recording that are in its header.
 *
 * @returns `undefined` for a pipe, whose features are among its records.
 */
export async function recordingHead(reader: PerfDataReader): Promise<RecordingHead | undefined> {
  return reader.isPipe ? undefined : headOf(reader, await recordedFeatures(reader, WANTED));
}

function headOf(reader: PerfDataReader, features: ReadonlyMap<number, unknown>): RecordingHead {
  const machine: Record<string, string> = {};
  for (const [id, value] of features) {
    const name = FEATURE_NAMES[id] ?? "";
    if (TEXTS.has(name) && typeof value === "string") machine[name] = value;
  }
  const commandLine = features.get(HEADER_CMDLINE) as
    | { readonly argv?: readonly string[]; readonly line?: string }
    | undefined;
  return {
    form: reader.isPipe ? "pipe" : "file",
    // Of a directory that was opened as such, the source says where its files are joined.
    partOfDirectory: reader.seams === undefined &&
      reader.features.some(({ id }) => id === HEADER_DIR_FORMAT),
    bytes: reader.fileSize,
    littleEndian: reader.littleEndian,
    machine,
    command: commandLine?.argv ??
      (commandLine?.line === undefined ? undefined : [commandLine.line]),
  };
}

function objectInfo(counts: InfoCounts, { places }: Engine): ObjectInfo {
  let [identified, unidentified, unmapped, count] = [0, 0, 0, 0];
  for (const [at, samples] of counts.byPlace.entries()) {
    if (samples === 0) continue;
    const object = at === 0 ? undefined : places.objects[places.object(at - 1)];
    if (object === undefined) {
      unmapped += samples;
      continue;
    }
    count++;
    if (object.buildId === undefined) unidentified += samples;
    else identified += samples;
  }
  return { count, identified, unidentified, unmapped };
}
