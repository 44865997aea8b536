/**
 * `annotate`: prints a function by source line or by instruction, with the share of the samples of
 * each.
 */
import { type Command, command, main } from "./shared/command.ts";
import { COLOR_FLAG, ITRACE_FLAG, PROFILE_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints a function with the shares of its instructions and source lines",
  usage: ["[flags] [FILE] FUNCTION", "--data-type [flags] [FILE] [TYPE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data). FUNCTION is a name, an
expression between slashes, an address (0x401136) or a place in the source (parse.c:120).

A row has an instruction with its share of the samples, and the share including the functions that
it called. Source lines come before the instructions that were made from them, inlined code is
indented at its place, and lines lead from jumps to their targets. The code (x86, AArch64) is read
from the files that ran, that of the kernel from a copy of its memory or from vmlinux. Without code,
source lines are printed, as with --lines. docs/annotate.md says more.
`,
  examples: [
    "perfdata annotate perf.data parse_number",
    "perfdata annotate perf.data parse.c:120",
    "perfdata annotate --lines --source ~/src/server perf.data '/^Server::/'",
    "perfdata annotate --data-type perf.data 'struct page'",
    "perfdata annotate --json perf.data main | jq 'select(.self.samples > 100)'",
  ],
  exit: "0 done; 1 the recording is damaged, or has no samples in such a function",
};

export const FLAGS = {
  "--lines": `source lines alone, with the functions that each calls or inlines; each begins with
    path:line, so that editors can jump to it`,
  "--insns": "instructions, or an error if they cannot be read",
  "--data-type": `fields of structures that were accessed at the instructions, by the debug
    information of x86 and AArch64 programs, of TYPE or of all`,
  "--pt": `count each instruction that ran, by Intel PT, instead of samples; the default if there
    are no samples`,
  "--event NAME": "the event (default: that with most samples)",
  "--source DIR": "look for source files there, by all or the last parts of their path",
  "--context N": "print N instructions (default: 8) or lines (default: 2) around sampled ones",
  "--full-names": "do not shorten names of called and inlined functions",
  "--json": "lines of JSON: a source line each, with --insns an instruction",
  ...COLOR_FLAG,
  ...ITRACE_FLAG,
  ...PROFILE_FLAGS,
} as const;

export const tool: Command = command({
  name: "annotate",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "itrace", excludes: ["pt"] }, { flag: "insns", excludes: ["lines"] }, {
    flag: "data-type",
    excludes: ["insns", "lines", "pt"],
  }],
  job: () => import("./run/annotate.ts"),
});

if (import.meta.main) await main(tool);
