/**
 * `pt`: prints functions over time, calls, branches or instructions that the Intel PT data of a
 * recording shows.
 */
import { type Command, command, main } from "./shared/command.ts";
import { COLOR_FLAG, SYMBOL_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints what ran, from the Intel PT data of a perf.data file",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe, which is held in memory or, with --temp DIR,
in a file there (default: perf.data).

Without a flag: functions with the time spent in them, their calls and instructions. The code is
read from the files that were mapped, if their build ids are those of the recording.
`,
  examples: [
    "perfdata pt perf.data",
    "perfdata pt --calls --function main perf.data | less",
    "perfdata pt --latency malloc perf.data",
    "perfdata pt --insns --tid 4711 --time 12.5,12.6 perf.data",
    "perfdata pt --replay perf.data",
    "perfdata pt --packets perf.data",
    "perfdata pt --calls --last 10ms perf.data",
    "perfdata flame --pt -o flame.html perf.data",
    "perfdata export --pt firefox perf.data",
    "perfdata pt --calls --json perf.data | jq 'select(.duration > 1e6)'",
  ],
  exit: "0 done; 1 there is no Intel PT, or a part was not decoded (the rest is printed)",
};

export const FLAGS = {
  "--calls": "all calls, with depth, duration and thread",
  "--branches": "all branches that were taken",
  "--insns": "all instructions, with their text",
  "--events": "power, PTWRITE, interrupts and other events of the trace",
  "--errors": "errors of the decoder, with their reasons",
  "--replay": `the steps of a thread backwards from the end, in the terminal: instructions, source
    lines, calls around; ? lists the keys. Without a terminal, the last steps as lines`,
  "--packets": `from packets alone, without code: time by thread and object, and the addresses in
    packets; with --branches and --events, each of them. The default if there is no code at all`,
  "--latency NAME": "how long calls of a function took: a histogram, and the slowest",
  "--source": "with --insns, source file and line",
  "--at MOMENT": `with --replay, where to begin: end (the default), a time as for --around, the last
    sample of an event, or a snapshot (snapshot:2)`,
  "--sources DIR":
    "with --replay, look for source files there, by all or the last parts of their path",
  "--function NAMES": "only these functions: a,b; with --calls, and what they call",
  "--tid LIST": "only these threads: 12 or 12,14-16",
  "--cpu LIST": "only the buffers of these CPUs",
  "--time RANGE": `only this time: 12.5,13 in seconds of the recording's clock, 1.5s-2s after the
    start of the trace, or 10%-20% of it`,
  "--last LENGTH": `only the last of the trace: 10ms, 1.5s; the rest is not decoded. With --replay
    and without a terminal, the number of steps (default: 100)`,
  "--around WHAT[±LENGTH]": `only 5ms (or LENGTH) before and after a time (12.5, or 1.5s after the
    start), the last sample of an event (sched:sched_process_exit±1ms), or a snapshot (snapshot:2)`,
  "--limit N": "at most N rows of the table of functions",
  "--jobs N": "threads that decode (default: all processors for large traces)",
  "--image FILE[@ADDR]": `code at an address: memory in FILE from ADDR on, or an ELF file with its
    segments (a core file, kcore; ADDR is added). Several: separated by commas`,
  "--guest-image FILE[@ADDR]": `the same for the guest of a virtual machine: its kcore, or its
    vmlinux`,
  "--json": "lines of JSON",
  ...SYMBOL_FLAGS,
  "--temp DIR": "hold a pipe in a file there instead of in memory",
  ...COLOR_FLAG,
} as const;

export const tool: Command = command({
  name: "pt",
  help: HELP,
  flags: FLAGS,
  repeated: { image: ",", "guest-image": "," },
  rules: [
    { flag: "calls", excludes: ["branches", "insns", "events", "errors", "latency"] },
    { flag: "latency", excludes: ["branches", "insns", "events", "errors", "function"] },
    {
      flag: "packets",
      excludes: ["calls", "insns", "errors", "latency", "function"],
      why: "packets alone have no code",
    },
    {
      flag: "replay",
      excludes: [
        ...["calls", "branches", "insns", "events", "errors", "latency", "packets"] as const,
        ...["function", "time", "around", "limit"] as const,
      ],
      why: "it shows all steps of one thread",
    },
    { flag: "at", needs: ["replay"] },
    { flag: "sources", needs: ["replay"] },
    { flag: "source", needs: ["insns"] },
    {
      flag: "limit",
      excludes: ["calls", "branches", "insns", "events", "errors", "latency"],
      why: "it is for the table of functions",
    },
    { flag: "time", excludes: ["last", "around"] },
    { flag: "last", excludes: ["around"] },
  ],
  job: () => import("./run/pt.ts"),
});

if (import.meta.main) await main(tool);
