import {
  profileColumns,
  type ProfileOptions,
  type ProfileWeight,
  SampleCollector,
  shownEvents,
} from "@perfdata/profile";
import { PerfDataReader } from "@perfdata/format/records";
import { EventLoopTurns } from "@perfdata/format/bytes";
import { samplesProfile } from "@perfdata/perfdata/collect";
import {
  type Consumer,
  missingSwitches,
  type Shareable,
  SharedConsumers,
  type Workers,
} from "@perfdata/session";
import { infoCounter } from "@perfdata/report/figures";
import { serveBlocks } from "@perfdata/session/workers";
import { type ViewProfile, viewProfile } from "@perfdata/export/tree";
import type { CodeService } from "../recording/code_service.ts";
import type { PtService } from "../recording/pt_service.ts";
import { ProgressSteps } from "../recording/progress_steps.ts";
import { RecordingService, type SharedPass } from "../recording/recording_service.ts";
import {
  type FilesOpening,
  type ProgressState,
  startWorker,
  type WorkerScript,
} from "../worker/protocol.ts";
import { type ViewSource, withoutRecords } from "../worker/worker_source.ts";
import { type Dropped, HELD_MS, recordingSource, resolverOf, takeFiles } from "./dropped_files.ts";

/** Minimum number of bytes for which more threads are started. */
const WORTH_THREADS = 1 << 25;
/** Maximum number of threads, each of which has its own tables. */
const MOST_THREADS = 4;

const OPTIONS: ProfileOptions = { timed: true, lines: true };

/** Task of the other threads. */
interface ThreadAbout {
  readonly dropped: Dropped;
  /** Whether they also count for the output of `info`. */
  readonly counts: boolean;
}

function consumerOf({ counts }: ThreadAbout): Consumer & Shareable {
  const collector = new SampleCollector(profileColumns(OPTIONS));
  return counts ? new SharedConsumers([collector, infoCounter().counts]) : collector;
}

/**
 * Starts other threads if the recording is large enough and the browser allows it.
 *
 * @param script This worker.
 */
function threads(about: ThreadAbout, script: WorkerScript): Workers | undefined {
  const { dropped } = about;
  const jobs = Math.min(MOST_THREADS, navigator.hardwareConcurrency || 1);
  if (jobs < 2 || dropped.recording.size < WORTH_THREADS) return undefined;
  try {
    startWorker(script, "try").terminate();
  } catch {
    return undefined;
  }
  return {
    jobs,
    path: dropped.name,
    about,
    make: consumerOf,
    // The same script; the name tells it to serve blocks.
    start: () => startWorker(script, BLOCKS),
  };
}

/** Name of a thread that processes blocks of samples. */
export const BLOCKS = "blocks";

/** Runs a thread that processes blocks of samples. */
export function serveSamples(): void {
  serveBlocks<ThreadAbout>({
    open: (_, { dropped }) => recordingSource(dropped),
    make: consumerOf,
    unwind: ({ dropped }, engine) => resolverOf(dropped, engine),
  });
}

export async function openFiles(
  { files, script, swapped, counts = "period" }: FilesOpening,
): Promise<ViewSource> {
  const dropped = await takeFiles(files, swapped);
  const { base, ...others } = dropped;
  let code: MadeProfile["code"];
  const ofBase: ViewSource["base"] = base === undefined ? undefined : async (progress) => {
    // The directory's other files belong to the shown recording.
    const { blob: recording, name, imported } = base;
    const dropped = { ...others, recording, name, imported, parts: [] };
    return (await profileOf(dropped, script, counts, progress)).profile;
  };
  if (dropped.imported !== undefined) {
    return {
      ...withoutRecords("a profile of another tool", "its recording has them"),
      profile: async (progress) => (await profileOf(dropped, script, counts, progress)).profile,
      base: ofBase,
    };
  }
  const turns = new EventLoopTurns(undefined, HELD_MS);
  const service = new RecordingService(turns.source(recordingSource(dropped)), dropped.name);
  let opened: Promise<PtService> | undefined;
  const pt = () =>
    opened ??= import("./dropped_code.ts").then(({ ptServiceOf }) => ptServiceOf(dropped));
  return {
    head: () => service.head(),
    index: () => service.index(),
    async info() {
      const { info: _, ...shown } = await service.info();
      return shown;
    },
    switched: () => service.switched(),
    marks: () => service.marks(),
    counts: () => service.counts(),
    async profile(progress) {
      // The page draws the index while samples are read.
      await service.index();
      const read = (shared?: SharedPass) => profileOf(dropped, script, counts, progress, shared);
      // Times of threads are counted in order, and not of all samples.
      const made = await (counts === "period" ? service.pass(read) : read());
      code = made.code;
      return made.profile;
    },
    base: ofBase,
    async code(fn, selection) {
      if (code === undefined) throw new Error("the samples are not read yet");
      return await (await code()).code(fn, selection);
    },
    hasCode: true,
    sourceText: async (file) => (await code?.())?.text(file),
    records: (query, from, count) => service.records(query, from, count),
    position: (query, number) => service.position(query, number),
    record: (number) => service.record(number),
    pt: async () => await (await pt()).facts(),
    ptPart: async (query) => await (await pt()).part(query),
    ptInsns: async (query) => await (await pt()).insns(query),
    slice: async (query) => new Blob([await service.slice(query)]),
  };
}

/** A profile in the page's format. */
interface MadeProfile {
  readonly profile: ViewProfile;
  /** Returns the service of its code; `undefined` without a recording. */
  readonly code: (() => Promise<CodeService>) | undefined;
}

async function profileOf(
  dropped: Dropped,
  script: WorkerScript,
  weight: ProfileWeight,
  progress: (state: ProgressState) => void,
  shared?: SharedPass,
): Promise<MadeProfile> {
  if (dropped.imported !== undefined) {
    const { importedOf } = await import("./dropped_profile.ts");
    return {
      profile: await importedOf(dropped, dropped.imported, weight, progress),
      code: undefined,
    };
  }
  const steps = new ProgressSteps(progress);
  const { beside, index, counted } = shared ?? {};
  const turns = new EventLoopTurns(undefined, HELD_MS);
  const source = turns.source(recordingSource(dropped));
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const made = await samplesProfile(reader, { ...OPTIONS, weight, index, beside }, {
    title: dropped.name,
    symbols: ({ machine }) => resolverOf(dropped, { recorded: machine }, turns.turn),
    // Times of threads require records in order, so that other threads cannot help.
    threads: () =>
      weight === "period" ? threads({ dropped, counts: beside !== undefined }, script) : undefined,
    diagnostics: () => {},
    progress: (bytes, more) => steps.read("Reading the samples", bytes, source.size, more),
    naming: (done, all) => steps.named("Naming functions", done, all),
  });
  const { engine, resolver, collector } = made;
  counted?.(engine);
  const { none } = missingSwitches(collector);
  if (none !== undefined) throw new Error(`${dropped.name}: ${none}`);
  if (collector.samples === 0) throw new Error(`${dropped.name}: no samples`);
  const profile = shownEvents(made.profile);
  const view = viewProfile(profile);
  let service: Promise<CodeService> | undefined;
  const code = () =>
    service ??= import("./dropped_code.ts").then(({ codeServiceOf }) =>
      codeServiceOf(dropped, profile, view, { engine, resolver })
    );
  return { profile: view, code };
}
