/** `script`: prints samples as `perf script` does. */
import { type Command, command, main } from "./shared/command.ts";
import { PROFILE_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

/** The fields of samples. */
const FIELDS =
  "comm,tid,pid,time,cpu,event,trace,ip,sym,symoff,dso,addr,srcline,period,flags,iregs," +
  "uregs,brstack,brstacksym,brstackoff,brstackinsn,brstackinsnlen,brcntr,data_src,weight," +
  "ins_lat,retire_lat,phys_addr,data_page_size,code_page_size,bpf-output,misc,tod,insn," +
  "callindent,ipc,synth";

const HELP: Help = {
  about: "prints samples as perf script does, for programs that read its text",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data). The text is that of
perf 6.1, byte for byte where perf is right; docs/script.md says what differs.
`,
  examples: [
    "perfdata script perf.data | stackcollapse-perf.pl | flamegraph.pl > flame.svg",
    "perfdata script -F comm,tid,time,ip,sym perf.data",
    "perf record -g -o - -- ./program | perfdata script -",
  ],
  exit: "0 done; 1 the recording is damaged (what can be read is printed)",
};

export const FLAGS = {
  "-F, --fields LIST": `the fields to print, or +field,-field to add to or remove from the default
    ones, out of ${FIELDS}; several times: sw:comm,ip is for software events
    alone (hw, sw, trace, raw, break)`,
  "-G, --hide-call-graph": "print no call chains",
  "--ns": "print times with nanoseconds",
  "--no-inline": "print no inlined functions in unwound stacks",
  "--show-mmap-events": "print mappings as well, among the samples",
  "--show-task-events": "the same for names, forks and exits of threads",
  "--show-switch-events": "the same for context switches",
  "--show-namespace-events": "the same for namespaces",
  "--show-cgroup-events": "the same for control groups",
  "--show-lost-events": "the same for lost records",
  "--show-bpf-events": "the same for BPF programs and new kernel symbols",
  "--itrace LETTERS": `make samples from Intel PT, as in perf-script(1): i (instructions, with a
    period: i1000i, i100us), y (core clocks, with the same), b (branches), c (calls), r (returns),
    x (transactions), w (PTWRITE), p (power), o (PEBS), I (interrupts), e (errors), g16 (with call
    chains of up to 16), l64 (with the last 64 branches), G16, L64 (the same for recorded samples
    without), sN (skip), Z (no times), q, qq (from packets alone, without code)`,
  "--insn-trace": "each instruction with its bytes: --itrace=i0ns -F +insn,-event,-period",
  "--call-trace": "calls, indented: --itrace=cewp -F -ip,-addr,-event,-period,+callindent",
  "--call-ret-trace": "the same with returns and flags",
  ...PROFILE_FLAGS,
} as const;

export const tool: Command = command({
  name: "script",
  help: HELP,
  flags: FLAGS,
  repeated: { fields: " " },
  job: () => import("./run/script.ts"),
});

if (import.meta.main) await main(tool);
