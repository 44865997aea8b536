/**
 * `convert`: rewrites a recording in another form, such as compressed, byte-swapped or for an older
 * perf.
 */
import { type Command, command, main } from "./shared/command.ts";
import { ITRACE_FLAG, OUTPUT_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "writes a recording in another form",
  usage: ["[flags] -o OUTPUT [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

A file becomes a pipe stream and a pipe stream a file; a directory that perf record --threads or
--kcore made becomes one file; compressed records are inflated. docs/convert.md says what is lost.
`,
  examples: [
    "perfdata convert perf.data -o - | ssh host 'perf report -i -'",
    "perf record -o - -- ./program | perfdata convert -o perf.data -",
  ],
  exit: "0 done; 1 the recording is damaged (what can be read is written)",
};

export const FLAGS = {
  "--keep-compressed": "leave compressed records as they are",
  "--compress": "put the kernel's records into compressed ones, as perf record -z does",
  "--for-perf VERSION": `write a recording for the perf of Linux VERSION (such as 4.14): attrs of
    its size, no records and features of later versions or other tools`,
  "--byte-order ORDER": "write in this byte order: little or big",
  "--jit": `make ELF files of the code in jitdump files (node --perf-prof, Java, …), beside these,
    and map them, as perf inject --jit does`,
  "--spe": `make samples of the loads and stores in AUX data of Arm SPE, for funcs --mem and c2c,
    as perf inject --itrace does`,
  ...ITRACE_FLAG,
  "--build-ids": "add the build ids that mapped files have on this machine now",
  ...OUTPUT_FLAGS,
} as const;

/** The reason why two kinds of conversion exclude each other. */
const TWO = "one after the other, in two conversions";

export const tool: Command = command({
  name: "convert",
  help: HELP,
  flags: FLAGS,
  rules: [
    { flag: "compress", excludes: ["keep-compressed"] },
    { flag: "byte-order", excludes: ["for-perf", "keep-compressed"], why: TWO },
    { flag: "build-ids", excludes: ["for-perf", "byte-order"], why: TWO },
    { flag: "jit", excludes: ["build-ids", "byte-order", "for-perf", "spe"], why: TWO },
    { flag: "itrace", excludes: ["byte-order", "for-perf", "keep-compressed"], why: TWO },
    { flag: "itrace", excludes: ["build-ids", "jit", "spe"], why: TWO },
    { flag: "spe", excludes: ["build-ids", "byte-order", "for-perf", "keep-compressed"], why: TWO },
  ],
  job: () => import("./run/convert.ts"),
});

if (import.meta.main) await main(tool);
