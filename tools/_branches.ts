/** `export bolt` and `export profgen`: branches of one binary, for the optimisers of LLVM. */
import {
  binaryBranches,
  bolt,
  BranchCounts,
  type BranchPlaces,
  profgen,
} from "@perfdata/export/branches";
import { PERF_SAMPLE_BRANCH_STACK } from "@perfdata/format/perf-event";
import { openSource } from "@perfdata/format/file-source";
import { PerfDataReader } from "@perfdata/format/reader";
import { runEngine } from "@perfdata/session/engine";
import { ElfFile, type SymbolObject, SymbolsError } from "@perfdata/symbols";
import { openFileSource } from "@perfdata/symbols/file-source";
import {
  about,
  complain,
  Complaints,
  type Flags,
  InputError,
  Progress,
  UsageError,
} from "./_cli.ts";
import { hasIntelPt, type PROFILE_FLAGS, writeChunks } from "./_profile.ts";
import { sampleJobs } from "./_record_flags.ts";
import { sampleFilter } from "./_sample_flags.ts";

/** The formats, and the programs that read them. */
export const BRANCH_FORMATS: Readonly<Record<string, string>> = {
  bolt: "branches of --binary, for perf2bolt -pa",
  profgen: "branches of --binary, for llvm-profgen, which makes profiles for clang",
};

/** Names the branches of a recording that are of one binary, and writes them. */
export async function exportBranches(
  format: string,
  name: string,
  flags: Flags<
    typeof PROFILE_FLAGS.boolean[number] | "force" | "pt",
    typeof PROFILE_FLAGS.string[number] | "binary"
  >,
  output: string,
): Promise<number> {
  const { on, value } = flags;
  const { binary } = value;
  if (binary === undefined) throw new UsageError(`export ${format}: --binary FILE is missing`);
  using source = about(binary, () => openFileSource(binary));
  const elf = about(binary, () => {
    try {
      return ElfFile.open(source);
    } catch (error) {
      throw error instanceof SymbolsError ? new InputError(error.message) : error;
    }
  });
  const { counts, places, of, report } = await countedBranches(name, flags);
  const ids = places.objects.map((object) => isOfFile(object, elf, binary));
  const isUnverified = ids.includes("name") && !ids.includes("build id");
  const wanted = isUnverified ? "name" : "build id";
  const found = binaryBranches(counts, places, elf, (object) => ids[object] === wanted);
  if (found.branches.length === 0) {
    const same = places.objects.find(({ path }) => baseName(path) === baseName(binary));
    const why = same?.buildId === undefined
      ? ""
      : `; ${same.path} there has build id ${same.buildId}`;
    throw new InputError(`${name}: no branches of ${binary}${why}`);
  }
  const bytes = await writeChunks(
    output,
    on.force,
    format === "bolt" ? bolt(found) : profgen(found),
  );
  complain(
    `export: ${name}: ${of}; ${(100 * found.share).toFixed(1)}% of their branches ` +
      `are of ${binary}${isUnverified ? ", known by its name only: no build id was recorded" : ""}`,
  );
  if (output !== "-") complain(`export: ${output}: ${bytes} bytes, ${BRANCH_FORMATS[format]}`);
  return report();
}

/** What was counted, what it is of, and what says at the end what could not be read. */
interface Counted {
  readonly counts: BranchCounts;
  readonly places: BranchPlaces;
  readonly of: string;
  readonly report: () => number;
}

/** Whether samples of a recording may have branches. */
export function hasBranches(reader: PerfDataReader): boolean {
  return reader.events.all.some(({ layout }) =>
    (layout.sampleType & PERF_SAMPLE_BRANCH_STACK) !== 0
  );
}

/** The branches of branch stacks; of a recording that has Intel PT instead, or with `--pt`, those of the trace. */
async function countedBranches(
  name: string,
  flags: Parameters<typeof exportBranches>[2],
): Promise<Counted> {
  const isTraced = flags.on.pt || (name !== "-" && await hasIntelPt(name) &&
    !hasBranches(await PerfDataReader.open(openSource(name), { diagnostics: () => {} })));
  if (isTraced) {
    const { traceBranches } = await import("./_branches_pt.ts");
    return { ...await traceBranches(name, flags), of: "all of its Intel PT" };
  }
  const complaints = new Complaints(`export: ${name}`);
  const counted = await countStacks(name, flags, complaints, "export", flags.value.jobs);
  if (counted.counts.samples === 0) {
    counted.report();
    throw new InputError(`${name}: no samples with branches; perf record -b records them`);
  }
  return counted;
}

/**
 * Counts the branches of branch stacks.
 *
 * @param complaints Takes what cannot be read.
 * @param tool The command, whose progress is shown; without it nothing is shown.
 * @param jobs What the user said of threads.
 */
export async function countStacks(
  name: string,
  flags: Parameters<typeof sampleFilter>[0],
  complaints: Complaints,
  tool?: string,
  jobs?: string,
): Promise<Counted> {
  const reader = await PerfDataReader.open(openSource(name), { diagnostics: complaints.take });
  const counts = new BranchCounts();
  const progress = tool === undefined ? undefined : new Progress(tool, reader.fileSize);
  const threads = await sampleJobs(jobs, reader);
  const { places } = await runEngine(reader, [counts], {
    workers: threads === 1
      ? undefined
      : (await import("@perfdata/export/branch-workers")).branchWorkers(name, threads),
    filter: await sampleFilter(flags, reader),
    ...(progress === undefined ? {} : { progress: progress.add }),
    diagnostics: complaints.take,
  });
  progress?.finish();
  return {
    counts,
    places,
    of: `${counts.samples} samples`,
    report: () => {
      complaints.finish();
      return complaints.count === 0 ? 0 : 1;
    },
  };
}

/** By what an object is the file: its build id, or where one of both has none its name. */
function isOfFile(
  { kind, path, buildId }: SymbolObject,
  elf: ElfFile,
  file: string,
): "build id" | "name" | undefined {
  if (kind !== "elf") return undefined;
  const own = elf.buildId();
  if (buildId !== undefined && own !== undefined) return buildId === own ? "build id" : undefined;
  return baseName(path) === baseName(file) ? "name" : undefined;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
