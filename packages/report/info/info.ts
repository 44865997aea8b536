import {
  type Consumer,
  type Engine,
  type EngineOptions,
  recordedFeatures,
  rulingPeriodText,
  runEngine,
  type Shareable,
  sharedBuildIdTexts,
} from "@perfdata/session";
import {
  FEATURE_NAMES,
  HEADER_CLOCK_DATA,
  HEADER_CMDLINE,
  HEADER_DIR_FORMAT,
} from "@perfdata/format/constants";
import type { PerfDataReader } from "@perfdata/format/records";
import { PERF_AUXTRACE_NAMES } from "@perfdata/user-records";
import { emptyInfo, type EventInfo, InfoCounts, type StackInfo } from "./info_counts.ts";

export type { EventInfo, StackInfo } from "./info_counts.ts";

/** Samples by whether their objects can be identified. */
export interface ObjectInfo {
  /** Number of sampled objects. */
  readonly count: number;
  /** Samples in objects with a build id. */
  readonly identified: number;
  /** Samples in objects without a build id, whose names cannot be verified. */
  readonly unidentified: number;
  /** Samples at unmapped addresses. */
  readonly unmapped: number;
}

/** Facts in a recording's header. No record is read for them. */
export interface RecordingHead {
  /** Form of the recording. */
  readonly form: "file" | "pipe";
  /** Whether it is the file `data` of a directory, whose other files have most of the records. */
  readonly partOfDirectory: boolean;
  /** Size in bytes, if known. */
  readonly bytes: number | undefined;
  /** Byte order. */
  readonly littleEndian: boolean;
  /** Text features, such as HOSTNAME, by name. */
  readonly machine: Readonly<Record<string, string>>;
  /** The command line of the recorder. */
  readonly command: readonly string[] | undefined;
}

/** Summary of a recording. */
export interface RecordingInfo extends RecordingHead {
  /** Time of day of the first sample in ns since 1970, if the recording's clock allows it. */
  readonly startedAt: bigint | undefined;
  /** First and last time of a sample in ns; without sample times, of other kernel records. */
  readonly span: readonly [bigint, bigint] | undefined;
  /** Whether any sample has a time. */
  readonly timed: boolean;
  /** Number of records, including those in compressed records. */
  readonly records: number;
  /** The events. */
  readonly events: readonly EventInfo[];
  /** Number of samples. */
  readonly samples: number;
  /** Samples that are damaged or have an unknown event. */
  readonly leftOut: number;
  /** Records lost for lack of room in the ring buffer, and samples lost by the hardware. */
  readonly lost: number;
  /** Number of throttlings. */
  readonly throttled: number;
  /** Number of sampled processes. */
  readonly processes: number;
  /** Number of sampled threads. */
  readonly threads: number;
  /** Number of sampled CPUs. */
  readonly cpus: number;
  /** Guests of `perf kvm record`: number of sampled ones, and their samples. */
  readonly guests: { readonly count: number; readonly samples: number };
  /** Statistics of stacks. */
  readonly stacks: StackInfo;
  /** Source and size of AUX data. */
  readonly aux: { readonly type: string; readonly bytes: number } | undefined;
  /** Statistics of objects. */
  readonly objects: ObjectInfo;
  /** Warnings about impossible values, with their consequences. */
  readonly impossible: readonly string[];
}

/** Features that are a single text. */
const TEXTS: ReadonlySet<string> = new Set([
  "HOSTNAME",
  "OSRELEASE",
  "VERSION",
  "ARCH",
  "CPUDESC",
  "CPUID",
]);

/** Ids of the features that are read. */
const WANTED: ReadonlySet<number> = new Set([
  ...Object.entries(FEATURE_NAMES).filter(([, name]) => TEXTS.has(name)).map(([id]) => Number(id)),
  HEADER_CLOCK_DATA,
  HEADER_CMDLINE,
]);

/**
 * Summarizes a recording: recorder, time, size and completeness.
 *
 * @param reader The recording.
 * @param options Read options; the workers are those of `infoWorkers`.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { recordingInfo } from "@perfdata/report/figures";
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
  const { counts, info } = infoCounter(reader);
  return await info(await runEngine(reader, [counts], options));
}

/** Counts for the summary of a recording, in a pass that another consumer needs anyway. */
export interface InfoCounter {
  /** A consumer of the pass. */
  readonly counts: Consumer & Shareable;
  /** Returns the summary after the pass, with its engine. */
  info(engine: Engine): Promise<RecordingInfo>;
}

/**
 * Creates a consumer that counts for the summary of a recording.
 *
 * @param reader The recording; not needed in other threads.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { infoCounter } from "@perfdata/report/figures";
 * import { runEngine } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const file = bytesSource(await Deno.readFile("fixtures/recorded/two-events.perf.data"));
 * const reader = await PerfDataReader.open(file);
 * const { counts, info } = infoCounter(reader);
 * const { samples } = await info(await runEngine(reader, [counts]));
 * assertEquals(samples, 42);
 * ```
 */
export function infoCounter(reader?: PerfDataReader): InfoCounter {
  const counts = new InfoCounts(reader);
  return { counts, info: (engine) => countedInfo(counts, engine) };
}

async function countedInfo(counts: InfoCounts, engine: Engine): Promise<RecordingInfo> {
  const { reader } = engine;
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
 * Facts in a recording's header.
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
    // If a directory was opened as a whole, the source has the seams of its files.
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
  for (const [at, samples] of counts.byObject.entries()) {
    if (samples === 0) continue;
    const object = at === 0 ? undefined : places.objects[at - 1];
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
