import type { PerfDataReader } from "@perfdata/format/records";
import {
  isTimeWeight,
  type NameLookUp,
  profileColumns,
  type ProfileNames,
  recordedProfile,
  SampleCollector,
} from "@perfdata/profile";
import { type Engine, type EngineOptions, runEngine, SharedConsumers } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import type {
  Collected,
  OpenSymbols,
  ProfileAnswer,
  ProfileQuestion,
  SampleReading,
  ShareWork,
} from "./profile_question.ts";

export { isTimeWeight };

/** The surroundings of a reading of samples: symbols, threads, progress and errors. */
export interface ReadingHost extends Pick<EngineOptions, "progress" | "diagnostics"> {
  /** Opens the symbols. */
  readonly symbols: OpenSymbols;
  /** Starts other threads. */
  readonly threads?: ShareWork | undefined;
}

/** A {@linkcode ReadingHost} for profiles. */
export interface ProfileHost extends ReadingHost {
  /** The title of the profile. */
  readonly title: string;
  /** Called while names are looked up. */
  readonly naming?: ProfileNames["progress"];
}

/**
 * Reads the samples of a recording into a collector, in several threads if there are any. Names are
 * looked up afterwards.
 */
export async function collectSamples(
  reader: PerfDataReader,
  collector: SampleCollector,
  { lines = true, filter, stitchLbr, live, index, beside }: SampleReading,
  { symbols, threads, progress, diagnostics }: ReadingHost,
): Promise<Collected> {
  const workers = await threads?.({
    collect: collector.options,
    reader,
    isScanned: index !== undefined,
    isShared: beside !== undefined,
  });
  let opened: SymbolResolver | Promise<SymbolResolver> | undefined;
  const open = ({ recorded }: Engine) => opened ??= symbols({ machine: recorded, lines });
  const consumers = beside === undefined
    ? [collector]
    : workers === undefined
    ? [collector, beside]
    : [new SharedConsumers([collector, beside])];
  const engine = await runEngine(reader, consumers, {
    // An off-CPU time has a start and an end, so the collector applies the filter itself.
    filter: isTimeWeight(collector.weight) ? undefined : filter,
    stitchLbr,
    live,
    index,
    workers,
    progress,
    diagnostics,
    unwind: open,
  });
  return { engine, symbols: async () => await open(engine) };
}

/** The collector for the samples of a profile. */
export function profileCollector(question: ProfileQuestion): SampleCollector {
  const { lines = true, weight = "period", filter } = question;
  return new SampleCollector(
    profileColumns({ ...question, lines, filter: isTimeWeight(weight) ? filter : undefined }),
  );
}

/** Names the samples of a {@linkcode profileCollector}. */
export async function namedProfile(
  collector: SampleCollector,
  { engine, symbols }: Collected,
  { title, naming, ranges }: Pick<ProfileHost, "title" | "naming"> & Pick<NameLookUp, "ranges">,
): Promise<ProfileAnswer> {
  const resolver = await symbols();
  const names = { resolver, title, progress: naming, ranges };
  return { ...await recordedProfile(collector, names), engine, resolver, collector };
}

/**
 * Reads the samples of a recording, and names them: {@linkcode Recording.ask} for a reader, without
 * the modules of the front door.
 *
 * @example
 * ```ts
 * import { PerfDataReader } from "@perfdata/format";
 * import { samplesProfile } from "@perfdata/perfdata/collect";
 * import { pathSource } from "@perfdata/perfdata/files";
 * import { SymbolResolver } from "@perfdata/symbols";
 * import { assert } from "@std/assert";
 *
 * const source = pathSource("fixtures/recorded/callchain.perf.data");
 * const { profile } = await samplesProfile(await PerfDataReader.open(source), { timed: true }, {
 *   title: "callchain",
 *   symbols: () => new SymbolResolver({ open: () => undefined, read: () => undefined }),
 * });
 * assert(profile.samples.length > 0);
 * source.close();
 * ```
 */
export async function samplesProfile(
  reader: PerfDataReader,
  question: ProfileQuestion,
  host: ProfileHost,
): Promise<ProfileAnswer> {
  const collector = profileCollector(question);
  const collected = await collectSamples(reader, collector, question, host);
  return await namedProfile(collector, collected, { ...host, ranges: question.ranges });
}
