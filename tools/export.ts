/** `export`: writes the samples of a recording in a format that other tools read. */
import { type Command, command, main } from "./shared/command.ts";
import {
  FOCUS_FLAG,
  FORCE_FLAG,
  ITRACE_FLAG,
  PROFILE_FLAGS,
  TRANSFORM_FLAGS,
  WEIGHT_FLAG,
} from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "writes the samples of a recording in a format that other tools read",
  usage: ["[flags] FORMAT [FILE]", "[flags] parquet|arrow -o DIR FILE..."],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data), or a profile of another
tool (docs/imports.md). FORMAT is one of

      folded       a line for each stack, for flame-graph scripts
      speedscope   for https://www.speedscope.app
      pprof        for go tool pprof, and others that read its files
      otlp         OpenTelemetry profiles, as a collector takes them
      firefox      for https://profiler.firefox.com
      chrome       trace events, for https://ui.perfetto.dev
      perfetto     Perfetto's own format, for https://ui.perfetto.dev
      callgrind    for KCachegrind and callgrind_annotate
      bolt         branches of --binary, for perf2bolt -pa
      profgen      branches of --binary, for llvm-profgen, which makes profiles for clang
      autofdo      a profile by functions and lines, for clang -fprofile-sample-use
      lcov         coverage of --binary by lines, functions and branches, for genhtml and codecov
      parquet      tables in a directory, for DuckDB, Spark, Arrow, Polars; of any number of files
      arrow        the same as Arrow streams, not compressed: larger, and quicker to read

docs/exports.md says what each keeps and loses, and how to open it; docs/tables.md
describes the tables.
`,
  examples: [
    "perfdata export folded perf.data | inferno-flamegraph > flame.svg",
    "perfdata export pprof perf.data && go tool pprof -http=: perf.pb.gz",
    "perfdata export parquet -o tables --names --partition date,service=web night/*.data",
    "perf record -g -o - -- ./program | perfdata export speedscope -o program.speedscope.json -",
  ],
  exit: "0 done; 1 the recording is damaged (what can be read is written), or has no samples",
};

export const FLAGS = {
  "-o, --output FILE": `where it goes; - is standard output (default: the name of the recording
    with the format's extension; folded: standard output)`,
  ...FORCE_FLAG,
  "--event NAME": "folded: the samples of this event (default: that with most)",
  "--samples": "folded: count samples instead of adding up periods",
  "--inline": "folded: inlined functions are frames of their own, marked _[i]",
  "--kernel": "folded: mark functions of the kernel _[k]",
  "--all": "folded: the same, and JIT-compiled ones _[j]",
  "--with-pid": "folded: the first frame is command-pid",
  "--with-tid": "folded: the first frame is command-pid/tid",
  "--without-comm": "folded: the first frame is a function; stacks of all commands are one",
  "--merge-cpus": "folded: kernel threads of all CPUs are one: kworker/3:1-events is kworker/*",
  "--pt": `what ran, by time, from Intel PT instead of samples; the default if there are no
    samples. firefox, chrome and perfetto have each call; bolt, profgen, autofdo and lcov count all
    branches`,
  "--no-inline": "the others: leave inlined functions out",
  "--binary FILE":
    "bolt, profgen, autofdo, lcov: the program or library whose branches are written",
  "--form WORD": `autofdo: text (default), or extbinary, which clang reads faster; bolt: branches
    (default), or samples, for llvm-bolt -data without perf2bolt`,
  "--names": "tables: frames get their functions and lines, if these are found",
  "--pt-calls": "tables: each call in the Intel PT of a recording is a row of pt_calls",
  "--partition LIST": "tables: folders below each table: date, or KEY=VALUE such as service=web",
  ...FOCUS_FLAG,
  ...TRANSFORM_FLAGS,
  ...WEIGHT_FLAG,
  ...ITRACE_FLAG,
  ...PROFILE_FLAGS,
} as const;

export const tool: Command = command({
  name: "export",
  help: HELP,
  flags: FLAGS,
  verbs: [
    "folded",
    "speedscope",
    "pprof",
    "otlp",
    "firefox",
    "chrome",
    "perfetto",
    "callgrind",
    "bolt",
    "profgen",
    "autofdo",
    "lcov",
    "parquet",
    "arrow",
  ],
  rules: [{ flag: "without-comm", excludes: ["with-pid", "with-tid", "merge-cpus"] }, {
    flag: "itrace",
    excludes: ["pt"],
  }],
  job: () => import("./run/export.ts"),
});

if (import.meta.main) await main(tool);
