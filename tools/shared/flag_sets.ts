/** Sets of flags that several commands spread into their flag tables. */

/** Sample filters by thread, CPU and time. */
export const NUMBER_FLAGS = {
  "--pid LIST": "of these processes: 12 or 12,14-16",
  "--tid LIST": "of these threads",
  "--cpu LIST": "of these CPUs",
  "--time RANGE": `1.5s-2s or 500ms- after the first sample, 10%-20% of the recording, or 12.5,13 in
    seconds of its clock`,
} as const;

/** Sample filters by number and by name. */
export const SAMPLE_FLAGS = {
  "--comm NAMES": "only samples of these commands: a,b or /expression/",
  ...NUMBER_FLAGS,
  "--dso NAMES": "in these objects: libc.so.6,/lib.*pthread/",
  "--symbol NAMES": "in these functions: main,std::map<int, int>::find,/^mem/",
} as const;

/** Locations of files with symbols, except bundles. */
export const SYMBOL_FILE_FLAGS = {
  "--symfs DIR":
    `search the files of the recorded machine in DIR, by path and by build id; or in the
    archive that "perf archive" made`,
  "--vmlinux FILE": "the kernel's ELF file",
  "--kallsyms FILE": "a copy of /proc/kallsyms",
  "--guest-vmlinux FILE": "the ELF file of the kernel of guests (perf kvm record)",
  "--guest-kallsyms FILE": "a copy of /proc/kallsyms of the guest",
  "--guestmount DIR": "a folder with the root of each guest, by the process id of its hypervisor",
  "--no-demangle": "leave C++ and Rust names mangled",
} as const;

/** Symbol sources, and the form of names. */
export const SYMBOL_FLAGS = {
  "--symbols FILE": 'read symbols from this bundle first: see "perfdata symbols bundle"',
  ...SYMBOL_FILE_FLAGS,
} as const;

/** Completion of call stacks from last branch records. */
export const STITCH_FLAG = {
  "--stitch-lbr":
    `continue call stacks from branch records (perf record --call-graph lbr) with those
    of the previous sample, as perf report --stitch-lbr does`,
} as const;

/** Samples synthesized from Intel PT. */
export const ITRACE_FLAG = {
  "--itrace LETTERS": `make samples from Intel PT, as in perf-report(1): i100us (instructions), y
    (core clocks), b, c, r (branches, calls, returns), x (transactions); with g, call chains, and
    with l, branch stacks: i100usg`,
} as const;

export const JOBS_FLAG = {
  "--jobs N": "threads that read samples (default: all processors for large files)",
} as const;

/** Details about symbols. */
export const VERBOSE_FLAG = {
  "--verbose": "say which addresses have no function, and which files were not used",
} as const;

export const TEMP_FLAG = {
  "--temp DIR": "sort data that does not fit into memory in a file there (for a pipe)",
} as const;

/** The flags of commands that read a profile. */
export const PROFILE_FLAGS = {
  ...SAMPLE_FLAGS,
  ...SYMBOL_FLAGS,
  ...STITCH_FLAG,
  ...JOBS_FLAG,
  ...VERBOSE_FLAG,
  ...TEMP_FLAG,
} as const;

export const WEIGHT_FLAG = {
  "--weight WORD":
    `what counts: period (default) of samples; latency: that, divided by the number of
    threads that had a CPU; off-cpu: the time that threads waited, from context switches; wall: that
    and the time that they ran`,
} as const;

export const TRANSFORM_FLAGS = {
  "--drop NAMES": "leave out samples with one of these functions in their stack",
  "--merge NAMES": "leave these functions out: their samples are those of their callers",
  "--collapse NAMES": "functions of one of these objects that call each other are one: libc.so.6",
  "--collapse-recursion":
    "a function is in a stack once: what is between two calls of it is left out",
  "--only WORD": "leave out functions of the others: kernel or user",
} as const;

export const FOCUS_FLAG = {
  "--focus NAMES": "only stacks with one of these functions, from its outermost call on",
} as const;

/** The names of all flags that transform stacks. */
export const TRANSFORMS = [
  "focus",
  "drop",
  "merge",
  "collapse",
  "collapse-recursion",
  "only",
] as const;

export const COLOR_FLAG = {
  "--color WHEN": "color tables: auto, on a terminal (default), always, never",
} as const;

export const FORCE_FLAG = {
  "-f, --force": "overwrite the file if it exists",
} as const;

/** The flags of commands that write recordings. */
export const OUTPUT_FLAGS = {
  "-o, --output FILE": "where the recording goes; - is standard output, in pipe format",
  "--pipe": "write pipe format into the file as well",
  ...FORCE_FLAG,
} as const;

/** Flags of the commands that show the browser. */
export const BROWSER_FLAGS = {
  "--event NAME": "the event that is shown first (default: the first that has samples)",
  "--full-names": "do not shorten names: they are cut at the end of the line",
  "--no-inline": "do not look for lines and inlined functions, which is quicker",
  "--source DIR": "look for source files there, by all or the last parts of their path",
  "--percent-limit P": "only rows of at least P percent",
  ...FOCUS_FLAG,
  ...TRANSFORM_FLAGS,
} as const;
