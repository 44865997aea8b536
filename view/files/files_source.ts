import { x86Disassembler } from "@perfdata/export/code";
import type { InsnMode } from "@perfdata/intel-pt";
import {
  type ImportedKind,
  importProfile,
  profileColumns,
  type ProfileOptions,
  type ProfileWeight,
  recordedProfile,
  SampleCollector,
  shownEvents,
} from "@perfdata/profile";
import { PerfDataReader } from "@perfdata/format/records";
import { EventLoopTurns } from "@perfdata/format/bytes";
import { collect } from "@perfdata/perfdata/collect";
import { missingSwitches, type Workers } from "@perfdata/session";
import { serveBlocks } from "@perfdata/session/workers";
import { bundledCode } from "@perfdata/pt/code";
import { type CodeFiles, ObjectCodeReader } from "@perfdata/session/code";
import type { RecordedMachine } from "@perfdata/symbols/resolver";
import { SymbolResolver } from "@perfdata/symbols";
import { type ViewProfile, viewProfile } from "@perfdata/export/tree";
import { CodeService, recordedCode } from "../recording/code_service.ts";
import { PtService } from "../recording/pt_service.ts";
import { ProgressSteps } from "../recording/progress_steps.ts";
import { RecordingService } from "../recording/recording_service.ts";
import type { FilesOpening, ProgressState } from "../worker/protocol.ts";
import { type ViewSource, withoutRecords } from "../worker/worker_source.ts";
import {
  type Dropped,
  droppedCode,
  openBundle,
  recordingSource,
  sourceLines,
  symbolFiles,
  takeFiles,
} from "./dropped_files.ts";
import { readAhead } from "./read_ahead.ts";

/** Time in ms between two turns of the event loop, which take 4 ms each in a browser. */
const HELD_MS = 100;
/** Minimum number of bytes for which more threads are started. */
const WORTH_THREADS = 1 << 25;
/** Maximum number of threads, each of which has its own tables. */
const MOST_THREADS = 4;

const OPTIONS: ProfileOptions = { timed: true, lines: true };

/** Creates the symbol resolver for the dropped files. */
function resolverOf(
  dropped: Dropped,
  { recorded }: { readonly recorded: RecordedMachine | undefined },
  turn?: EventLoopTurns["turn"],
): SymbolResolver {
  const bundle = openBundle(dropped);
  const has = (name: string) => dropped.others.some((other) => other.name === name);
  return new SymbolResolver(symbolFiles(dropped), {
    machine: recorded,
    parameters: false,
    ...(turn === undefined ? {} : { turn }),
    ...(bundle === undefined ? {} : { bundle }),
    ...(has("kallsyms") ? { kallsyms: "kallsyms" } : {}),
    ...(dropped.elves.some(({ name }) => name === "vmlinux") ? { vmlinux: "vmlinux" } : {}),
  });
}

/**
 * Starts other threads if the recording is large enough and the browser allows it.
 *
 * @param script Text of this worker. A page on disk may load a script from a blob, but not
 * from its own file.
 */
function threads(dropped: Dropped, script: string): Workers | undefined {
  const jobs = Math.min(MOST_THREADS, navigator.hardwareConcurrency || 1);
  if (jobs < 2 || dropped.recording.size < WORTH_THREADS) return undefined;
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  try {
    new Worker(url, { name: "try" }).terminate();
  } catch {
    return undefined;
  }
  return {
    jobs,
    path: dropped.name,
    about: dropped,
    make: () => new SampleCollector(profileColumns(OPTIONS)),
    // The same script; the name tells it to serve blocks.
    start: () => new Worker(url, { name: BLOCKS }),
  };
}

/** Name of a thread that processes blocks of samples. */
export const BLOCKS = "blocks";

/** Runs a thread that processes blocks of samples. */
export function serveSamples(): void {
  serveBlocks<Dropped>({
    open: (_, dropped) => recordingSource(dropped),
    make: () => new SampleCollector(profileColumns(OPTIONS)),
    unwind: (dropped, engine) => resolverOf(dropped, engine),
  });
}

/** Opens the dropped files. */
export async function openFiles(
  { files, script, swapped, counts = "period" }: FilesOpening,
): Promise<ViewSource> {
  const dropped = await takeFiles(files, swapped);
  const { base, ...others } = dropped;
  let code: CodeService | undefined;
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
  const pt = new PtService({
    source: recordingSource(dropped),
    code: () => ({ files: codeFilesOf(dropped) }),
    resolver: (recorded) => Promise.resolve(resolverOf(dropped, { recorded })),
    // The library that formats instructions is several times as large as the page, so it is left out.
    text: () => Promise.resolve(undefined),
  });
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
      const made = await profileOf(dropped, script, counts, progress);
      code = made.code;
      return made.profile;
    },
    base: ofBase,
    async code(fn, selection) {
      if (code === undefined) throw new Error("the samples are not read yet");
      return await code.code(fn, selection);
    },
    hasCode: true,
    sourceText: (file) => Promise.resolve(code?.text(file)),
    records: (query, from, count) => service.records(query, from, count),
    position: (query, number) => service.position(query, number),
    record: (number) => service.record(number),
    pt: () => pt.facts(),
    ptPart: (query) => pt.part(query),
    ptInsns: (query) => pt.insns(query),
    slice: async (query) => new Blob([await service.slice(query)]),
  };
}

/** Returns the code of objects: from a bundle, or from programs. */
function codeFilesOf(dropped: Dropped): CodeFiles {
  const bundle = openBundle(dropped);
  const code = droppedCode(dropped);
  return bundle === undefined ? code : bundledCode(bundle, code);
}

async function profileOf(
  dropped: Dropped,
  script: string,
  weight: ProfileWeight,
  progress: (state: ProgressState) => void,
): Promise<{ readonly profile: ViewProfile; readonly code: CodeService | undefined }> {
  if (dropped.imported !== undefined) {
    return {
      profile: await importedOf(dropped, dropped.imported, weight, progress),
      code: undefined,
    };
  }
  const turns = new EventLoopTurns(undefined, HELD_MS);
  const source = turns.source(recordingSource(dropped));
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const consumer = new SampleCollector(profileColumns({ ...OPTIONS, weight }));
  const steps = new ProgressSteps(progress);
  const { engine, symbols } = await collect(reader, consumer, {
    symbols: (engine) => resolverOf(dropped, engine, turns.turn),
    // Times of threads require records in order, so that other threads cannot help.
    workers: weight === "period" ? threads(dropped, script) : undefined,
    diagnostics: () => {},
    progress: (bytes, more) => steps.read("Reading the samples", bytes, source.size, more),
  });
  const { none } = missingSwitches(consumer);
  if (none !== undefined) throw new Error(`${dropped.name}: ${none}`);
  if (consumer.samples === 0) throw new Error(`${dropped.name}: no samples`);
  const names = await symbols();
  const named = await recordedProfile(consumer, {
    resolver: names,
    title: dropped.name,
    progress: (done, all) => steps.named("Naming functions", done, all),
  });
  const profile = shownEvents(named.profile);
  const view = viewProfile(profile);
  const mode = x86Mode(engine.reader.arch);
  const from = recordedCode({
    engine,
    resolver: names,
    code: new ObjectCodeReader(codeFilesOf(dropped)),
    // The page formats instructions, if someone looks at them, with a library as large as itself.
    disassembler: () => Promise.resolve(mode && x86Disassembler(mode)),
    mode,
    source: (path) => sourceLines(dropped, path),
  });
  return { profile: view, code: new CodeService(profile, view, from) };
}

/** Reads the profile of another tool. */
async function importedOf(
  { name, recording }: Dropped,
  kind: ImportedKind,
  weight: ProfileWeight,
  progress: (state: ProgressState) => void,
): Promise<ViewProfile> {
  if (weight !== "period") throw new Error(`${name} is a profile of another tool: only samples`);
  const source = new EventLoopTurns(undefined, HELD_MS).source(readAhead(recording));
  const steps = new ProgressSteps(progress);
  const profile = await importProfile(kind, source, {
    title: name,
    timed: true,
    progress: (bytes) => steps.read("Reading the samples", bytes, source.size, 0),
  });
  if (profile.samples.length === 0) throw new Error(`${name}: no samples`);
  return viewProfile(shownEvents(profile));
}

/** Returns the mode of the code of an x86 machine; `undefined` for other machines. */
function x86Mode(arch: string | undefined): InsnMode | undefined {
  if (arch === undefined || arch === "x86_64") return 64;
  return /^i[3-6]86$|^x86$/.test(arch) ? 32 : undefined;
}
