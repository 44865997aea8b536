/** `view`: shows a recording in a web browser, or writes it as one page. */
import { type Command, command, main } from "./shared/command.ts";
import { FORCE_FLAG, PROFILE_FLAGS, WEIGHT_FLAG } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "shows a recording in a browser: timeline, flame graph, functions, tree, records",
  usage: ["[flags] [FILE]", "[flags] BASE FILE"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data). With two of them, the
second one is shown, and compared with the first one as diff does it. FILE may also be a profile of
another tool: text of perf script, folded stacks, pprof, .cpuprofile (docs/imports.md).

The page is served on 127.0.0.1, below a path that nobody can guess; its address is printed. It
runs until Ctrl-C. A recording in a pipe is shown while it is made, and grows each second. With -o,
one file is written that needs no server and no network: it has everything except the records. ? in
the page lists the keys. docs/view.md says more.
`,
  examples: [
    "perfdata view perf.data",
    "perfdata view -o report.html perf.data",
    "perfdata view yesterday.data today.data",
    "perf record -g -o - -- ./program | perfdata view -o report.html -",
    "perf record -a -g -F 99 --no-buffering -o - | perfdata view -",
    "perf record -a -g -F 99 --switch-output=10s -o rec/perf.data & perfdata view --follow rec",
  ],
  exit: "0 done, or ended with Ctrl-C; 1 the recording cannot be read, or part of it is damaged",
};

export const FLAGS = {
  "-o, --output FILE": "write a page instead of serving one; - is standard output",
  ...FORCE_FLAG,
  "--open": "open a browser (xdg-open)",
  "--save FILE": "write what arrives through a pipe into FILE, so that slices of it can be saved",
  "--follow": `FILE is the folder of perf record --switch-output: show its files, each when perf has
    finished it`,
  "--port N": "the port of the server (default: a free one)",
  "--source DIR": "look for source files there, by all or the last parts of their path",
  "--no-code": "leave instructions and source lines out of the page that -o writes",
  "--no-inline": "do not look for lines and inlined functions, which is quicker",
  "--pt": "what ran, from Intel PT instead of samples; the default if there are no samples",
  ...WEIGHT_FLAG,
  ...PROFILE_FLAGS,
} as const;

export const tool: Command = command({
  name: "view",
  help: HELP,
  flags: FLAGS,
  rules: [
    {
      flag: "output",
      excludes: ["open", "port", "save", "follow"],
      why: "a page that is written is not served",
    },
    { flag: "no-code", needs: ["output"] },
    { flag: "follow", excludes: ["save", "pt"] },
  ],
  job: () => import("./run/view.ts"),
});

if (import.meta.main) await main(tool);
