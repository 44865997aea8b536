/** `export bolt`, `profgen`, `autofdo` and `lcov`: branches of one binary, for optimisers and coverage. */
import {
  autofdoBinary,
  autofdoText,
  type BinaryBranches,
  binaryBranches,
  binarySamples,
  bolt,
  boltSamples,
  type BranchPlaces,
  hasBranches,
  lcov,
  lineCoverage,
  profgen,
  recordedBinary,
  sampleProfile,
} from "@perfdata/export";
import { BranchCounts } from "@perfdata/export/code";
import { openSource } from "@perfdata/format/files";
import { PerfDataReader } from "@perfdata/format/records";
import type { Recording, ShareWork } from "@perfdata/perfdata";
import { SampleCollector } from "@perfdata/profile";
import { sampleJobs } from "@perfdata/session";
import { ElfFile } from "@perfdata/symbols";
import { SymbolsError } from "@perfdata/symbols/resolver";
import { openBinaryFile, openDwarf } from "@perfdata/symbols/files";
import { BRANCH_FORMATS } from "./branch_formats.ts";
import { about, complain, InputError, parseWord, UsageError } from "./cli.ts";
import type { PROFILE_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { hasIntelPt, writeChunks } from "./open_profile.ts";
import { openRecording } from "./open_recording.ts";
import { sampleFilter } from "./sample_flags.ts";
import { sampleThreads } from "./sample_threads.ts";
import { symbolOptions } from "./symbol_flags.ts";
import { parseJobs } from "./record_flags.ts";

/** The values of `--form` by format. The first is the default. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  bolt: ["branches", "samples"],
  autofdo: ["text", "extbinary"],
};

/** The flags that select branches and the binary. */
type BranchExportFlags = FlagsOf<
  & typeof PROFILE_FLAGS
  & Record<"--force" | "--pt" | "--binary FILE" | "--form WORD", string>
>;

/** Writes the branches of a recording that are in one binary. */
export async function exportBranches(
  format: string,
  name: string,
  flags: BranchExportFlags,
  output: string,
): Promise<number> {
  const { on, value } = flags;
  const { binary } = value;
  const forms = FORMS[format];
  if (value.form !== undefined && forms === undefined) {
    throw new UsageError(`--form is not for ${format}, which has one`);
  }
  const form = forms === undefined ? undefined : parseWord("form", value.form, forms) ?? forms[0];
  if (binary === undefined) throw new UsageError(`export ${format}: --binary FILE is missing`);
  using source = about(binary, () => openBinaryFile(binary));
  const elf = about(binary, () => {
    try {
      return ElfFile.open(source);
    } catch (error) {
      throw error instanceof SymbolsError ? new InputError(error.message) : error;
    }
  });
  if (form === "samples") return await exportSamples(name, flags, binary, elf, output);
  const { counts, places, of, report } = await countedBranches(format, name, flags);
  const { isBinary, how, why } = recordedBinary(places, elf, binary);
  const found = binaryBranches(counts, places, elf, isBinary);
  if (found.branches.length === 0) throw new InputError(`${name}: no branches of ${binary}${why}`);
  const chunks = format === "bolt"
    ? bolt(found)
    : format === "profgen"
    ? profgen(found)
    : ofDebugInformation(binary, (opened) =>
      format === "lcov"
        ? coverage(binary, found, opened)
        : compilerProfile(binary, found, opened, form === "extbinary"));
  const bytes = await writeChunks(output, on.force, chunks);
  complain(
    `export: ${name}: ${of}; ${(100 * found.share).toFixed(1)}% of their branches ` +
      `are of ${binary}${how}`,
  );
  if (output !== "-") complain(`export: ${output}: ${bytes} bytes, ${BRANCH_FORMATS[format]}`);
  return report();
}

/** Writes the sample addresses of a binary, without branches (`--form samples`). */
async function exportSamples(
  name: string,
  flags: BranchExportFlags,
  binary: string,
  elf: ElfFile,
  output: string,
): Promise<number> {
  const { recording, complaints, progress } = await openRecording("export", name, {
    threads: sampleThreads(name, flags.value.jobs, symbolOptions(flags)),
  });
  const counts = new SampleCollector();
  const filter = await sampleFilter(flags, recording);
  const { engine: { places, eventNames } } = await recording.collect(counts, { filter });
  progress.finish();
  const { histogram, totals } = counts;
  const all = totals.reduce((sum, { samples }) => sum + samples, 0);
  if (all === 0) throw new InputError(`${name}: no samples`);
  const { isBinary, how, why } = recordedBinary(places, elf, binary);
  const found = binarySamples(
    (function* () {
      for (let i = 0; i < histogram.size; i++) {
        yield { place: histogram.node(i), samples: histogram.samples(i) };
      }
    })(),
    places,
    elf,
    isBinary,
  );
  if (found.functions.length === 0) {
    throw new InputError(`${name}: no samples in functions of ${binary}${why}`);
  }
  const events = eventNames.filter((_, event) => (totals[event]?.samples ?? 0) > 0);
  const bytes = await writeChunks(output, flags.on.force, boltSamples(found, events));
  complain(
    `export: ${name}: ${all} samples; ${(100 * found.share).toFixed(1)}% of them are in ` +
      `functions of ${binary}${how}`,
  );
  if (output !== "-") complain(`export: ${output}: ${bytes} bytes, samples for llvm-bolt`);
  complaints.finish();
  return complaints.count === 0 ? 0 : 1;
}

type OpenedDwarf = Awaited<ReturnType<typeof openDwarf>>;

async function* ofDebugInformation(
  binary: string,
  generate: (opened: OpenedDwarf) => Generator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let faults = 0;
  using opened = await openDwarf(binary, {
    diagnostics: (error) => {
      if (faults++ === 0) complain(`export: ${binary}: ${error.message}`);
    },
  });
  if (opened.debug.debugSection(".debug_info") === undefined) {
    throw new InputError(`${binary}: no debug information; compile it with -g`);
  }
  yield* generate(opened);
  if (faults > 1) complain(`export: ${binary}: and ${faults - 1} more faults in it`);
}

const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;

/** Generates an AutoFDO profile. */
function* compilerProfile(
  binary: string,
  found: BinaryBranches,
  opened: OpenedDwarf,
  isBinary: boolean,
): Generator<Uint8Array> {
  const profile = sampleProfile(found, opened.elf, opened.dwarf, opened.debug);
  if (profile.functions.length === 0) {
    throw new InputError(`${binary}: no debug information of what ran; compile all of it with -g`);
  }
  yield* isBinary ? autofdoBinary(profile) : autofdoText(profile);
  const functions = profile.functions.length;
  complain(
    `export: ${binary}: ${functions} functions; ${percent(profile.named)} of what ran there has ` +
      "debug information",
  );
  if (profile.impossible > 0) {
    complain(
      `export: ${binary}: ${percent(profile.impossible)} of what ran goes over a jump, a call or ` +
        "a return, and is left out",
    );
  }
}

function* coverage(
  binary: string,
  found: BinaryBranches,
  { elf, dwarf }: OpenedDwarf,
): Generator<Uint8Array> {
  const covered = lineCoverage(found, elf, dwarf);
  yield* lcov(covered);
  const lines = [...covered.files.values()].flatMap(({ lines }) => [...lines.values()]);
  const ran = lines.filter((count) => count > 0).length;
  complain(
    `export: ${binary}: ${ran} of ${lines.length} lines ran (${percent(ran / lines.length)}); ` +
      `${percent(covered.withLine)} of the executed instructions have a line`,
  );
}

/**
 * Branch counts, the source they come from, and `report`, which prints read errors and returns the
 * exit code.
 */
interface Counted {
  readonly counts: BranchCounts;
  readonly places: BranchPlaces;
  readonly of: string;
  readonly report: () => number;
}

/** Whether a file has Intel PT and no branch stacks. */
export async function hasOnlyTracedBranches(name: string): Promise<boolean> {
  return name !== "-" && await hasIntelPt(name) &&
    !hasBranches(await PerfDataReader.open(openSource(name), { diagnostics: () => {} }));
}

/**
 * Counts branch stacks, or the branches of Intel PT if `--pt` is given or the recording has only
 * that.
 */
async function countedBranches(
  format: string,
  name: string,
  flags: BranchExportFlags,
): Promise<Counted> {
  if (flags.on.pt || await hasOnlyTracedBranches(name)) {
    const { traceBranches } = await import("./branches_pt.ts");
    return { ...await traceBranches("export", name, flags), of: "all of its Intel PT" };
  }
  const { recording, complaints, progress } = await openRecording("export", name, {
    threads: branchThreads(name, parseJobs(flags.value.jobs)),
  });
  const counted = await countStacks(recording, flags);
  progress.finish();
  const report = () => {
    complaints.finish();
    return complaints.count === 0 ? 0 : 1;
  };
  if (counted.counts.samples === 0) {
    report();
    const instead = format === "bolt" ? "; --form samples does without" : "";
    throw new InputError(
      `${name}: no samples with branches; perf record -b records them${instead}`,
    );
  }
  return { ...counted, of: `${counted.counts.samples} samples`, report };
}

/** Starts threads that count branches. */
export function branchThreads(name: string, jobs?: number): ShareWork {
  return async ({ reader }) => {
    const threads = await sampleJobs(jobs, reader);
    if (threads === 1) return undefined;
    return await (await import("@perfdata/perfdata/workers")).branchWorkers(name, threads);
  };
}

/** Counts the branches of branch stacks. The recording has {@link branchThreads}. */
export async function countStacks(
  recording: Recording,
  flags: Parameters<typeof sampleFilter>[0],
): Promise<Pick<Counted, "counts" | "places">> {
  const counts = new BranchCounts();
  const filter = await sampleFilter(flags, recording);
  const { places } = await recording.read([counts], { filter });
  return { counts, places };
}
