/** `flame`: writes a flame graph as an HTML page or an SVG image. */
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
  about: "writes a flame graph of a recording: one HTML file that needs no network",
  usage: ["[flags] -o OUTPUT [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data), or a profile of another
tool: text of perf script, folded stacks, pprof, .cpuprofile (docs/imports.md).
A directory of tables, as "export parquet" writes, is read like one recording.

It is the page of perfdata view with sums by slices of time in it: search for text or /expression/,
click to zoom, choose event, processes, threads and a range of time, see functions, callers and the
timeline; ? lists the keys. docs/flame.md says more.
`,
  examples: [
    "perfdata flame -o flame.html perf.data",
    "perfdata flame --svg --time 1s-2s -o second.svg perf.data",
    "perf record -g -o - -- ./program | perfdata flame -o flame.html -",
  ],
  exit: "0 done; 1 the recording is damaged (what can be read is drawn), or has no samples",
};

export const FLAGS = {
  "-o, --output FILE": "where it goes; - is standard output; NAME.svg is a picture",
  ...FORCE_FLAG,
  "--svg": "a picture (SVG); in a browser, a click zooms and Ctrl-F searches",
  "--event NAME": "picture: the samples of this event (default: that with most)",
  "--root WORD": "picture: the first row is the process (default), thread or none",
  "--color WORD": "picture: colors say the object (default) or the kind",
  "--icicle": "picture: callers above",
  "--callers": "picture: the sampled functions first, then their callers",
  "--width N": "picture: its width in pixels (default: 1200)",
  "--pt": `what ran, by time, from the Intel PT of the recording instead of samples; the default if
    there are no samples`,
  "--no-inline": "leave inlined functions out",
  ...FOCUS_FLAG,
  ...TRANSFORM_FLAGS,
  ...WEIGHT_FLAG,
  ...ITRACE_FLAG,
  ...PROFILE_FLAGS,
} as const;

export const tool: Command = command({
  name: "flame",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "itrace", excludes: ["pt"] }],
  job: () => import("./run/flame.ts"),
});

if (import.meta.main) await main(tool);
