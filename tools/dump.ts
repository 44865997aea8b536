/**
 * `dump`: prints each record of a recording as `perf report -D` does.
 */
// Not the whole of the package, which would take its time to load.
import type { DumpOptions } from "@perfdata/dump";
import { dumpFile } from "@perfdata/dump/parallel";
import { recordTypeOfName } from "@perfdata/dump/record-names";
import { PerfDataReader } from "@perfdata/format";
import { openSource } from "@perfdata/format/file-source";
import { bundledSymbols, tellUnnamed } from "./_bundle_flag.ts";
import {
  about,
  aboutAsync,
  complain,
  Complaints,
  main,
  oneFile,
  parseFlags,
  parseNumbers,
  UsageError,
  writeOut,
} from "./_cli.ts";

const HELP = `dump: prints each record of a perf.data file as \`perf report -D\` does

usage: dump [flags] [FILE]            FILE is a perf.data file, or - for a pipe; default: perf.data

  --type LIST      these record types only: SAMPLE,MMAP2 or 9,10
  --cpu LIST       records of these CPUs only: 0,3 or 0-3
  --pid LIST       records of these processes only
  --tid LIST       records of these threads only
  --time A,B       records between these times only, in seconds: 12.5,13 or 12.5, or ,13
  --from OFFSET    begin at the record at this file offset: 4096 or 0x1000
  --limit N        stop after N records
  --no-hex         without the bytes of the records
  --no-aux         without AUX data, such as the packets of Intel PT
  --order ORDER    time (default): as perf delivers them; file: as they stand in the file
  --symbols FILE   with the symbols of addresses, from a bundle that "symbols bundle" made; with
                   one thread
  --no-demangle    names of C++ and Rust functions as the files have them
  --jobs N         threads to use (default: 2 from 128 MB on): one goes through the file, the others
                   make the text; with filters, symbols, AUX data or a stream there is one
  --debug          with errors, print where in the program they come from
  -h, --help       print this

examples:
  dump perf.data | less
  dump --type MMAP2,COMM --no-hex perf.data
  dump --time 12.5,12.6 --cpu 3 perf.data
  perf record -o - -- ./program | dump -

Exit codes: 0 done; 1 the file is damaged (what is whole is printed); 2 wrong usage.
`;

const MOST_JOBS = 64;
/** Bytes of a file from which on a second thread pays even where there are but two processors. */
const LARGE = 1 << 27;

/** What the user asked for. */
interface Wish extends Omit<DumpOptions, "path" | "write"> {
  readonly file: string;
  readonly jobs: number | undefined;
  /** The symbol bundle. */
  readonly bundle: string | undefined;
  readonly demangle: boolean;
}

function wishOf(args: readonly string[]): Wish | undefined {
  const { on, value, operands } = parseFlags(args, {
    boolean: ["no-hex", "no-aux", "no-demangle"],
    string: ["type", "cpu", "pid", "tid", "time", "from", "limit", "order", "jobs", "symbols"],
  });
  if (on.help) return undefined;
  const file = oneFile(operands);
  const { order } = value;
  if (order !== undefined && order !== "time" && order !== "file") {
    throw new UsageError(`--order is ${order}, expected time or file`);
  }
  const jobs = value.jobs === undefined ? undefined : parseNumber("jobs", value.jobs);
  if (jobs !== undefined && (jobs === 0 || jobs > MOST_JOBS)) {
    throw new UsageError(`--jobs is ${jobs}, expected 1 to ${MOST_JOBS}`);
  }
  return {
    file,
    jobs,
    bundle: value.symbols,
    demangle: !on["no-demangle"],
    hex: !on["no-hex"],
    aux: !on["no-aux"],
    ...(order === undefined ? {} : { order }),
    ...(value.type === undefined ? {} : { types: parseTypes(value.type) }),
    ...(value.cpu === undefined ? {} : { cpus: parseNumbers("cpu", value.cpu) }),
    ...(value.pid === undefined ? {} : { pids: parseNumbers("pid", value.pid) }),
    ...(value.tid === undefined ? {} : { tids: parseNumbers("tid", value.tid) }),
    ...(value.time === undefined ? {} : { time: parseTimes(value.time) }),
    ...(value.from === undefined ? {} : { from: parseNumber("from", value.from) }),
    ...(value.limit === undefined ? {} : { limit: parseNumber("limit", value.limit) }),
  };
}

function parseTypes(text: string): Set<number> {
  return new Set(
    text.split(",").map((name) => {
      const type = /^\d+$/.test(name) ? Number(name) : recordTypeOfName(name);
      if (type === undefined) throw new UsageError(`--type: ${name} is no record type`);
      return type;
    }),
  );
}

function parseNumber(flag: string, text: string): number {
  if (!/^(0x[0-9a-f]+|\d+)$/i.test(text)) {
    throw new UsageError(`--${flag} is ${text}, expected a number such as 4096 or 0x1000`);
  }
  return Number(text);
}

function usualJobs({ fileSize = 0 }: PerfDataReader): number {
  return fileSize >= LARGE && navigator.hardwareConcurrency > 1 ? 2 : 1;
}

function parseTimes(text: string): [bigint, bigint] {
  const match = /^(?:(\d+)(?:\.(\d{1,9}))?)?,(?:(\d+)(?:\.(\d{1,9}))?)?$/.exec(text);
  if (match === null) throw new UsageError(`--time is ${text}, expected seconds such as 12.5,13`);
  const ns = (seconds: string | undefined, fraction: string | undefined, other: bigint): bigint =>
    seconds === undefined
      ? other
      : BigInt(seconds) * 1_000_000_000n + BigInt((fraction ?? "").padEnd(9, "0"));
  return [ns(match[1], match[2], 0n), ns(match[3], match[4], 0xffff_ffff_ffff_ffffn)];
}

await main("dump", async (args) => {
  const wish = wishOf(args);
  if (wish === undefined) {
    writeOut(HELP);
    return 0;
  }
  const { file, jobs, bundle, demangle, ...options } = wish;
  const complaints = new Complaints(`dump: ${file}`);
  const source = about(file, () => openSource(file));
  try {
    const stats = await aboutAsync(file, async () => {
      const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
      const threads = jobs ?? usualJobs(reader);
      if (bundle === undefined) return await dumpFile(reader, file, threads, options);
      const symbols = await bundledSymbols(bundle, reader, demangle, complaints.take);
      const stats = await dumpFile(reader, file, threads, { ...options, symbols });
      tellUnnamed("dump", bundle, symbols);
      return stats;
    });
    complaints.finish();
    const tell = (n: number, what: string): void => {
      if (n > 0) complain(`dump: ${file}: ${n} ${what}`);
    };
    tell(stats.violations, "records were older than one that had been delivered before them");
    tell(stats.unknownEvents, "records belong to events that the file does not name");
    tell(stats.badSamples, "samples have lengths that do not fit into them");
    tell(stats.undecodedAux, "AUXTRACE records hold data of a format that is not decoded");
    return complaints.count > 0 || stats.badSamples > 0 || stats.unknownEvents > 0 ? 1 : 0;
  } finally {
    source.close?.();
  }
});
