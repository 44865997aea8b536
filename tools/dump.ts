/**
 * `dump`: prints each record of a recording as `perf report -D` does.
 */
// The entry point of the whole package would make startup slower.
import { type DumpOptions, recordNames, recordTypeOfName } from "@perfdata/dump";
import { dumpFile } from "@perfdata/dump/workers";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { bundledSymbols, reportUnnamed } from "./shared/bundle_flag.ts";
import {
  about,
  aboutAsync,
  complain,
  Complaints,
  oneFile,
  parseWord,
  progressOf,
  UsageError,
} from "./shared/cli.ts";
import { parseNumbers } from "./shared/sample_flags.ts";
import { type Command, command, main } from "./shared/command.ts";
import { TEMP_FLAG } from "./shared/flag_sets.ts";
import type { FlagsOf, Help } from "./shared/flag_table.ts";
import { whyNothing } from "./shared/nothing.ts";
import { given, parseCount, parseJobs, parseOffset } from "./shared/record_flags.ts";
import { resolveTime, textJobs, type TimeRange } from "@perfdata/session";
import { parseTime, sampleSpan } from "./shared/time_flag.ts";

const HELP: Help = {
  about: `prints each record of a perf.data file as \`perf report -D\` does`,
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).
`,
  examples: [
    "perfdata dump perf.data | less",
    "perfdata dump --type MMAP2,COMM --no-hex perf.data",
    "perfdata dump --time 12.5,12.6 --cpu 3 perf.data",
    "perf record -o - -- ./program | perfdata dump -",
  ],
  exit: "0 done; 1 the file is damaged (undamaged records are printed)",
};

/** The parsed flags. */
interface Request extends Omit<DumpOptions, "path" | "write" | "time"> {
  readonly file: string;
  readonly jobs: number | undefined;
  /** The path of the symbol bundle. */
  readonly bundle: string | undefined;
  readonly demangle: boolean;
  /** The time range, which may be relative to the first sample. */
  readonly range?: TimeRange;
}

const FLAGS = {
  "--type LIST": "only records of these types: SAMPLE,MMAP2 or 9,10",
  "--cpu LIST": "only records of these CPUs: 0,3 or 0-3",
  "--pid LIST": "only records of these processes",
  "--tid LIST": "only records of these threads",
  "--time RANGE": `only records of this time: 1.5s-2s or 500ms- after the first sample, 10%-20% of
    the recording, or 12.5,13 in seconds of its clock`,
  "--from OFFSET": "begin with the record that this byte of the file belongs to: 4096 or 0x1000",
  "--limit N": "stop after N records",
  "--no-hex": "omit the bytes of the records",
  "--no-aux": "omit AUX data, such as the packets of Intel PT",
  "--file-offsets": "print offsets of packets in the file, not in their AUXTRACE record",
  "--order ORDER": "time (default): as perf delivers them; file: as they are in the file",
  "--symbols FILE": `print the symbols of addresses from a bundle that "perfdata symbols bundle"
    made; uses one thread`,
  "--no-demangle": "leave C++ and Rust names mangled",
  "--jobs N": `number of threads (default: one a processor, 8 at most, for files of 256 MB or
    more); --limit, symbols, counters, AUX data and pipes use one`,
  ...TEMP_FLAG,
} as const;

function requestOf({ on, value, operands }: FlagsOf<typeof FLAGS>): Request {
  const file = oneFile(operands);
  return {
    file,
    jobs: parseJobs(value.jobs),
    bundle: value.symbols,
    demangle: !on["no-demangle"],
    hex: !on["no-hex"],
    aux: !on["no-aux"],
    fileOffsets: on["file-offsets"],
    ...given({
      order: parseWord("order", value.order, ["time", "file"]),
      types: value.type === undefined ? undefined : parseTypes(value.type),
      cpus: value.cpu === undefined ? undefined : parseNumbers("cpu", value.cpu),
      pids: value.pid === undefined ? undefined : parseNumbers("pid", value.pid),
      tids: value.tid === undefined ? undefined : parseNumbers("tid", value.tid),
      range: value.time === undefined ? undefined : parseTime(value.time),
      from: parseOffset("from", value.from),
      limit: parseCount("limit", value.limit),
    }),
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

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { file, jobs, bundle, demangle, range, ...options } = requestOf(flags);
  const complaints = new Complaints(`dump: ${file}`);
  const source = about(file, () => openSource(file));
  try {
    const stats = await aboutAsync(file, async () => {
      const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
      const { add, finish } = progressOf("dump", reader.fileSize);
      const time = range && await resolveTime(range, () => sampleSpan(reader));
      const wish = { ...options, time, progress: add };
      const threads = textJobs(jobs, reader);
      if (bundle === undefined) {
        return await dumpFile(reader, file, threads, wish).finally(finish);
      }
      const symbols = await bundledSymbols(bundle, demangle);
      const stats = await dumpFile(reader, file, threads, { ...wish, symbols }).finally(finish);
      reportUnnamed("dump", bundle, symbols);
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
  } finally {
    source.close?.();
  }
}

export const tool: Command = command({ name: "dump", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
