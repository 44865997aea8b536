import type { PerfDataReader } from "@perfdata/format/records";
import {
  isTimeWeight,
  profileColumns,
  type ProfileNames,
  recordedProfile,
  SampleCollector,
} from "@perfdata/profile";
import type { EngineOptions } from "@perfdata/session";
import { collect, type Collected } from "./collect.ts";
import type {
  OpenSymbols,
  ProfileAnswer,
  ProfileQuestion,
  SampleReading,
  ShareWork,
} from "./profile_question.ts";

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

/** Reads the samples of a recording into a collector, in several threads if there are any. */
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
  return await collect(reader, collector, {
    filter,
    stitchLbr,
    live,
    index,
    beside,
    workers,
    progress,
    diagnostics,
    symbols: ({ recorded }) => symbols({ machine: recorded, lines }),
  });
}

/**
 * Reads the samples of a recording, and names them: the profile of commands, of the page and of
 * {@linkcode Recording.ask}.
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
  { title, naming, ...host }: ProfileHost,
): Promise<ProfileAnswer> {
  const { lines = true, weight = "period", filter } = question;
  const collector = new SampleCollector(
    profileColumns({ ...question, lines, filter: isTimeWeight(weight) ? filter : undefined }),
  );
  const { engine, symbols } = await collectSamples(reader, collector, question, host);
  const resolver = await symbols();
  const { profile, trust } = await recordedProfile(collector, {
    resolver,
    title,
    progress: naming,
  });
  return { profile, trust, engine, resolver, collector };
}
