/** Runs `dump`. */
import { recordNames, recordTypeOfName } from "@perfdata/dump";
import { writeStdout } from "@perfdata/format/files";
import type { DumpTextOptions } from "@perfdata/perfdata";
import { textThreads } from "@perfdata/perfdata/workers";
import { bundledSymbols, reportUnnamed } from "../shared/bundle_flag.ts";
import { aboutAsync, complain, oneFile, parseWord, UsageError } from "../shared/cli.ts";
import { openRecording } from "../shared/open_recording.ts";
import { parseNumbers } from "../shared/sample_flags.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { whyNothing } from "../shared/nothing.ts";
import { parseCount, parseJobs, parseOffset } from "../shared/record_flags.ts";
import { resolveTime, type TimeRange } from "@perfdata/session";
import { parseTime, sampleSpan } from "../shared/time_flag.ts";
import type { FLAGS } from "../dump.ts";

/** The parsed flags. */
interface Request extends Omit<DumpTextOptions, "time"> {
  readonly path: string;
  readonly jobs: number | undefined;
  /** The path of the symbol bundle. */
  readonly bundle: string | undefined;
  readonly demangle: boolean;
  /** The time range, which may be relative to the first sample. */
  readonly range?: TimeRange;
}

function requestOf({ on, value, operands }: FlagsOf<typeof FLAGS>): Request {
  return {
    path: oneFile(operands),
    jobs: parseJobs(value.jobs),
    bundle: value.symbols,
    demangle: !on["no-demangle"],
    hex: !on["no-hex"],
    aux: !on["no-aux"],
    fileOffsets: on["file-offsets"],
    order: parseWord("order", value.order, ["time", "file"]),
    types: value.type === undefined ? undefined : parseTypes(value.type),
    cpus: value.cpu === undefined ? undefined : parseNumbers("cpu", value.cpu),
    pids: value.pid === undefined ? undefined : parseNumbers("pid", value.pid),
    tids: value.tid === undefined ? undefined : parseNumbers("tid", value.tid),
    range: value.time === undefined ? undefined : parseTime(value.time),
    from: parseOffset("from", value.from),
    limit: parseCount("limit", value.limit),
  };
}

function parseTypes(text: string): Set<number> {
  return new Set(
    text.split(",").map((name) => {
      const type = /^\d+$/.test(name) ? Number(name) : recordTypeOfName(name);
      if (type === undefined) {
        throw new UsageError(`--type: unknown record type ${name === "" ? "''" : name}`, {
          word: name,
          known: recordNames(),
        });
      }
      return type;
    }),
  );
}

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { path: file, jobs, bundle, demangle, range, ...options } = requestOf(flags);
  const { recording, complaints, progress } = await aboutAsync(
    file,
    () => openRecording("dump", file, { textThreads: textThreads(jobs) }),
  );
  using _ = recording;
  const stats = await aboutAsync(file, async () => {
    const time = range && await resolveTime(range, () => sampleSpan(recording));
    const symbols = bundle === undefined ? undefined : await bundledSymbols(bundle, demangle);
    const stats = await recording.dump(writeStdout, { ...options, path: file, time, symbols })
      .finally(() => progress.finish());
    if (symbols !== undefined) reportUnnamed("dump", bundle ?? "", symbols);
    return stats;
  });
  complaints.finish();
  if (stats.from !== undefined) {
    const [asked, begun] = [options.from ?? 0, stats.from].map((at) => `0x${at.toString(16)}`);
    complain(`dump: ${file}: ${asked} is inside of the record at ${begun}: begins with that`);
  }
  const report = (n: number, what: string): void => {
    if (n > 0) complain(`dump: ${file}: ${n} ${what}`);
  };
  report(stats.violations, "records are older than one delivered before them");
  report(stats.unknownEvents, "records belong to events that the file does not name");
  report(stats.badSamples, "samples have lengths beyond their end");
  report(stats.untimedAux, "AUXTRACE records are left out: their data has no time to choose by");
  report(stats.undecodedAux, "AUXTRACE records hold data of a format that is not decoded");
  const { type, cpu, pid, tid, time, from } = flags.value;
  const filters = { type, cpu, pid, tid, time, from };
  if (stats.printed === 0 && Object.values(filters).some((text) => text !== undefined)) {
    complain(`dump: ${file}: no records: ${await whyNothing(file, filters)}`);
  }
  return complaints.count > 0 || stats.badSamples > 0 || stats.unknownEvents > 0 ? 1 : 0;
}
