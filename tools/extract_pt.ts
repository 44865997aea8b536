/**
 * `extract-pt`: writes the AUX data of a recording, such as Intel PT, to one file for each CPU or
 * thread.
 */
import { type Command, command, main } from "./shared/command.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "writes the raw Intel PT data of a perf.data file, a file for each CPU",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

It writes, for a FILE named perf.data,
  perf.data.cpu0.pt, …   the data of CPU 0, … as the processor wrote it, for libipt and others
  perf.data.tid42.pt, …  the data of thread 42, … if threads were traced instead of CPUs
  perf.data.pt.json      where each piece came from, what was lost, what a decoder needs to know
`,
  notes: `
docs/extract-pt.md describes the .json file and how to continue with libipt.
`,
  examples: [
    "perfdata extract-pt perf.data",
    "perfdata extract-pt --list --json perf.data | jq '.outputs[].bytes'",
    "perfdata extract-pt --cpu 0 -o - perf.data | ptdump -",
    "perfdata extract-pt --ptxed perf.data && ptxed $(cat perf.data.cpu0.opts) --pt perf.data.cpu0.pt",
    "perf record -e intel_pt//u -o - -- ./program | perfdata extract-pt -o traces -",
  ],
  exit: "0 done; 1 there is no such data, or part of it is missing (the rest is written)",
};

export const FLAGS = {
  "-o, --output DIR": `write to DIR, which is created if missing (default: the current directory);
    - is standard output: the data of one CPU or thread, and no file`,
  "--cpu LIST": "only these CPUs: 0,3 or 0-3",
  "--tid LIST": "only these threads",
  "--list": "print what there is; write nothing",
  "--json": "print the content of the .json file instead of a table",
  "-f, --force": "overwrite files that exist",
  "--raw": "keep the bytes that snapshots have in common (default: written once)",
  "--ptxed": `also write what libipt's ptxed and ptdump need: .opts, the options for each CPU or
    thread, and .pevent, the sideband of each CPU`,
  "--symfs DIR": "with --ptxed: directory with the files of the recorded machine",
  "--all-aux": `also extract AUX data other than Intel PT: .bts Intel BTS, .etm CoreSight, .spe Arm
    SPE, .cpumsf s390, .ptt HiSilicon, .dtl PowerPC, .aux unknown`,
} as const;

export const tool: Command = command({
  name: "extract-pt",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "symfs", needs: ["ptxed"] }, { flag: "ptxed", excludes: ["list"] }],
  job: () => import("./run/extract_pt.ts"),
});

if (import.meta.main) await main(tool);
