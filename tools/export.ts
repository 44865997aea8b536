/** `export`: writes the samples of a recording in a format that other tools read. */
import type { Profile } from "@perfdata/profile/profile";
import { newFile } from "@perfdata/format/file-sink";
import {
  about,
  aboutAsync,
  type Command,
  command,
  complain,
  type FlagsOf,
  giveUpWriting,
  listed,
  main,
  oneFile,
  UsageError,
  writeOut,
} from "./_cli.ts";
import { BRANCH_FORMATS, exportBranches } from "./_branches.ts";
import type { CallFormat } from "./_pt_profile.ts";
import { parseJobs } from "./_record_flags.ts";
import {
  eventNumber,
  hasOnlyPt,
  PROFILE_FLAGS,
  PROFILE_HELP,
  readProfile,
  reportOtherEvents,
  titleOf,
  writeChunks,
} from "./_profile.ts";
import { parseWeight, WEIGHT_HELP } from "./_weight.ts";

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** What a format needs, and how it is written. */
interface Format {
  /** The programs that read it. */
  readonly about: string;
  /** Ends the name of the file where none is given. */
  readonly extension: string;
  /** Whether each sample is kept with its time. */
  readonly timed?: boolean;
  /** Whether it has lines and inlined calls without being asked. */
  readonly lines?: boolean;
  /** Whether it has the addresses of code that nothing is known of. */
  readonly unmapped?: boolean;
  /** Whether it has threads, as `folded` if it is asked for them. */
  readonly threads?: boolean;
  /** Loads and runs it. */
  write(profile: Profile, flags: FlagsOf<typeof FLAGS>, isPt: boolean): Promise<Chunks>;
}

const FLAGS = {
  boolean: [
    "inline",
    "no-inline",
    "kernel",
    "all",
    "with-pid",
    "with-tid",
    "samples",
    "force",
    "pt",
    "names",
    "pt-calls",
    ...PROFILE_FLAGS.boolean,
  ],
  string: ["output", "event", "binary", "form", "partition", "weight", ...PROFILE_FLAGS.string],
  alias: { o: "output", f: "force" },
} as const;

const FORMATS: Readonly<Record<string, Format>> = {
  folded: {
    about: "a line a stack, for flame-graph scripts",
    extension: "folded",
    threads: false,
    async write(profile, { on, value }) {
      const { folded } = await import("@perfdata/export/folded");
      const event = eventNumber(profile, value.event);
      return folded(profile, {
        event,
        weight: on.samples ? "samples" : "period",
        inline: on.inline,
        kernel: on.kernel || on.all,
        jit: on.all,
        pid: on["with-pid"],
        tid: on["with-tid"],
      });
    },
  },
  speedscope: {
    about: "for https://www.speedscope.app",
    extension: "speedscope.json",
    timed: true,
    lines: true,
    async write(profile, { on }) {
      const { speedscope } = await import("@perfdata/export/speedscope");
      return speedscope(profile, { inline: !on["no-inline"] });
    },
  },
  pprof: {
    about: "for go tool pprof, and others that read its files",
    extension: "pb.gz",
    lines: true,
    unmapped: true,
    async write(profile, { on }) {
      const { pprof } = await import("@perfdata/export/pprof");
      const { gzipped } = await import("@perfdata/export/byte-text");
      return gzipped(pprof(profile, { inline: !on["no-inline"] }));
    },
  },
  firefox: {
    about: "for https://profiler.firefox.com",
    extension: "firefox.json.gz",
    timed: true,
    lines: true,
    async write(profile, { on }, isPt) {
      const { firefox } = await import("@perfdata/export/firefox");
      const { gzipped } = await import("@perfdata/export/byte-text");
      return gzipped(firefox(profile, { inline: !on["no-inline"], durations: isPt }));
    },
  },
  chrome: {
    about: "trace events, for https://ui.perfetto.dev",
    extension: "trace.json",
    timed: true,
    lines: true,
    async write(profile, { on }) {
      const { chrome } = await import("@perfdata/export/chrome");
      return chrome(profile, { inline: !on["no-inline"] });
    },
  },
  perfetto: {
    about: "Perfetto's own format, for https://ui.perfetto.dev",
    extension: "pftrace",
    timed: true,
    lines: true,
    async write(profile, { on }) {
      const { perfetto } = await import("@perfdata/export/perfetto");
      return perfetto(profile, { inline: !on["no-inline"] });
    },
  },
  callgrind: {
    about: "for KCachegrind and callgrind_annotate",
    extension: "callgrind.out",
    lines: true,
    threads: false,
    async write(profile, { on }) {
      const { callgrind } = await import("@perfdata/export/callgrind");
      return callgrind(profile, { inline: !on["no-inline"] });
    },
  },
};

/** The formats that are no file, but tables in a directory. */
const TABLES = ["parquet", "arrow"] as const;

/** Whether a format is one of these. */
function isOfTables(format: string): format is typeof TABLES[number] {
  return (TABLES as readonly string[]).includes(format);
}

const HELP = `export: writes the samples of a recording in a format that other tools read

usage: perfdata export [flags] FORMAT [FILE]
       perfdata export [flags] parquet|arrow -o DIR FILE...

FILE is a perf.data file or directory, or - for a pipe (default: perf.data). FORMAT is one of

${
  [
    ...Object.entries(FORMATS).map(([name, { about }]): [string, string] => [name, about]),
    ...Object.entries(BRANCH_FORMATS),
  ].map(([name, about]) => `      ${name.padEnd(12)} ${about}`).join("\n")
}
      parquet      tables in a directory, for DuckDB, Spark, Arrow, Polars; of any number of files
      arrow        the same as Arrow streams, not compressed: larger, and quicker to read

docs/exports.md says what each keeps and loses, and how to open it; docs/tables.md
describes the tables.

  -o, --output FILE      where it goes; - is standard output (default: the name of the recording
                         with the format's extension; folded: standard output)
  -f, --force            overwrite the file if it exists
      --event NAME       folded: the samples of this event (default: the first)
      --samples          folded: count samples instead of adding up periods
      --inline           folded: inlined functions are frames of their own, marked _[i]
      --kernel           folded: mark functions of the kernel _[k]
      --all              folded: the same, and JIT-compiled ones _[j]
      --with-pid         folded: the first frame is command-pid
      --with-tid         folded: the first frame is command-pid/tid
      --pt               what ran, by time, from the Intel PT of the recording instead of samples;
                         the default where it has none. firefox, chrome and perfetto have each call;
                         bolt, profgen and autofdo count all branches
      --no-inline        the others: leave inlined functions out
      --binary FILE      bolt, profgen, autofdo: the program or library whose branches are written
      --form WORD        autofdo: text (default), or extbinary, which clang reads faster; bolt:
                         branches (default), or samples, for llvm-bolt -data without perf2bolt
      --names            tables: frames get their functions and lines, as far as they are found
      --pt-calls         tables: each call in the Intel PT of a recording is a row of pt_calls
      --partition LIST   tables: folders below each table: date, or KEY=VALUE as service=web
${WEIGHT_HELP}${PROFILE_HELP}
examples:
  perfdata export folded perf.data | inferno-flamegraph > flame.svg
  perfdata export pprof perf.data && go tool pprof -http=: perf.pb.gz
  perfdata export parquet -o tables --names --partition date,service=web night/*.data
  perf record -g -o - -- ./program | perfdata export speedscope -o program.speedscope.json -

Exit codes: 0 done; 1 the recording is damaged (what can be read is written), or has no samples;
2 wrong usage.
`;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const [format = "", ...rest] = operands;
  if (isOfTables(format)) return await writeTables(format, flags, rest);
  for (const flag of ["names", "pt-calls", "partition"] as const) {
    if (flag === "partition" ? value.partition !== undefined : on[flag]) {
      throw new UsageError(`--${flag} is for the formats ${listed(TABLES)}`);
    }
  }
  const chosen = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (Object.hasOwn(BRANCH_FORMATS, format)) {
    const name = oneFile(rest);
    const output = value.output ?? "-";
    giveUpWriting(output, value.temp);
    return await aboutAsync(name, () => exportBranches(format, name, flags, output));
  }
  for (const flag of ["binary", "form"] as const) {
    if (value[flag] === undefined) continue;
    throw new UsageError(`--${flag} is for ${listed(Object.keys(BRANCH_FORMATS))}`);
  }
  if (chosen === undefined) {
    const known = [...Object.keys(FORMATS), ...Object.keys(BRANCH_FORMATS), ...TABLES];
    throw new UsageError(
      format === ""
        ? `no format: ${listed(known)}`
        : `${format} is no format, expected ${listed(known)}`,
      { word: format, known },
    );
  }
  const name = oneFile(rest);
  const output = value.output ??
    (format === "folded" || name === "-"
      ? "-"
      : `${name.slice(name.lastIndexOf("/") + 1).replace(/\.data$/, "")}.${chosen.extension}`);
  if (output === "-" && format !== "folded" && Deno.stdout.isTerminal()) {
    throw new UsageError("standard output is a terminal: -o FILE");
  }
  giveUpWriting(output, value.temp);
  const isFolded = format === "folded";
  if (value.event !== undefined && !isFolded) {
    throw new UsageError("--event chooses what folded shows; the other formats have all events");
  }
  return await aboutAsync(name, async () => {
    const calls = (["chrome", "perfetto"] as const).find((of) => of === format);
    if (calls !== undefined && (on.pt || await hasOnlyPt(name))) {
      return await writeCalls(name, flags, output, calls);
    }
    const { profile, isWhole, isPt } = await readProfile("export", name, flags, {
      weight: parseWeight(value.weight),
      timed: chosen.timed ?? false,
      unmapped: chosen.unmapped ?? false,
      threads: (chosen.threads ?? true) || on["with-pid"] || on["with-tid"],
      switches: format === "firefox" || format === "chrome",
      debugInformation: isFolded ? on.inline : true,
      pt: on.pt,
      timeline: format === "firefox",
    });
    if (isFolded) {
      const event = eventNumber(profile, value.event);
      reportOtherEvents("export", name, profile, event, value.event);
    }
    const bytes = await writeChunks(output, on.force, await chosen.write(profile, flags, isPt));
    if (output !== "-") complain(`export: ${output}: ${bytes} bytes, ${chosen.about}`);
    return isWhole ? 0 : 1;
  });
}

/** Writes tables of recordings. */
async function writeTables(
  format: typeof TABLES[number],
  flags: FlagsOf<typeof FLAGS>,
  files: readonly string[],
): Promise<number> {
  const { on, value } = flags;
  const folder = value.output;
  if (folder === undefined) throw new UsageError(`${format} needs a directory: -o DIR`);
  if (folder === "-") throw new UsageError(`${format} is a directory: -o DIR`);
  for (const flag of ["comm", "dso", "symbol", "event", "binary", "weight"] as const) {
    if (value[flag] === undefined) continue;
    throw new UsageError(`--${flag} is not for ${format}: its tables are asked by name`);
  }
  if (on.pt) throw new UsageError(`--pt is not for ${format}: --pt-calls`);
  const partition = value.partition?.split(",") ?? [];
  for (const part of partition) {
    if (part === "date" || /^[A-Za-z_][A-Za-z0-9_]*=[^/=]+$/.test(part)) continue;
    throw new UsageError(`--partition has ${part}, expected date or KEY=VALUE`);
  }
  const names = files.length > 1 ? files : [oneFile(files)];
  const { writeAllTables } = await import("./_tables.ts");
  const done = await writeAllTables(
    names.map((name) => ({
      ...{ tool: "export", name, folder, format, partition, flags },
      ...{ names: on.names, force: on.force, ptCalls: on["pt-calls"] },
    })),
    parseJobs(value.jobs) ?? 1,
  );
  const of = names.length === 1 ? "" : ` of ${names.length - done.failed} recordings`;
  complain(`export: ${folder}: ${done.samples} samples${of}, ${done.bytes} bytes`);
  if (done.failed > 0) complain(`export: ${done.failed} of ${names.length} files were left out`);
  return done.failed === 0 && done.isWhole ? 0 : 1;
}

/** Writes the calls of a trace as they are decoded. */
async function writeCalls(
  name: string,
  flags: FlagsOf<typeof FLAGS>,
  output: string,
  format: CallFormat,
): Promise<number> {
  const { writeCallSlices } = await import("./_pt_profile.ts");
  let bytes = 0;
  using file = output === "-"
    ? undefined
    : about(output, () => newFile(output, { force: flags.on.force }));
  const isWhole = await writeCallSlices(
    "export",
    name,
    flags,
    { title: titleOf(name), format },
    (chunk) => {
      bytes += chunk.length;
      if (file === undefined) writeOut(chunk);
      else file.write(chunk);
    },
  );
  about(output, () => file?.commit());
  if (output !== "-") complain(`export: ${output}: ${bytes} bytes, ${FORMATS[format]?.about}`);
  return isWhole ? 0 : 1;
}

/** The command. */
export const tool: Command = command({ name: "export", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
