import type { Column, ColumnType, Table } from "./column_types.ts";

/** Version of these tables. Files of different versions cannot be read together. */
export const TABLES_VERSION = 1;

type Declared = readonly [name: string, type: ColumnType, about: string];

function table(
  name: string,
  about: string,
  required: readonly Declared[],
  optional: readonly Declared[],
): Table {
  const columns = (declared: readonly Declared[], isRequired: boolean): Column[] =>
    declared.map(([name, type, about]) => ({ name, type, required: isRequired, about }));
  return { name, about, columns: [...columns(required, true), ...columns(optional, false)] };
}

const RECORDING: Declared = [
  "recording_id",
  "int64",
  "Id of the recording: a hash of its contents.",
];
const TS: Declared = ["ts", "int64", "Time in ns, by the clock of the recording."];

/** The table with a row for each recording. */
export const RECORDINGS: Table = table("recordings", "A recording.", [
  RECORDING,
  ["version", "int32", "Version of these tables."],
  ["name", "string", "Name of the file."],
  ["events", "string", "JSON: an array of the events with their attrs."],
  ["samples", "int64", "Rows in samples."],
  ["lost", "int64", "Records lost because buffers were full, and samples lost by the hardware."],
  ["throttled", "int64", "How often an event was throttled because it interrupted too often."],
  ["left_out", "int64", "Samples that are damaged or of an unknown event."],
], [
  ["host", "string", "Name of the machine."],
  ["os_release", "string", "Release of the kernel."],
  ["arch", "string", "Architecture, as uname -m prints it."],
  ["cpu_desc", "string", "Description of the processor."],
  ["cpus", "int32", "How many processors were online."],
  ["perf_version", "string", "Version of the perf that recorded."],
  ["command", "string", "JSON: the command line of perf, an array."],
  ["clock", "string", "Clock of the times, such as CLOCK_MONOTONIC."],
  ["first_ts", "int64", "Time of the first sample."],
  ["last_ts", "int64", "Time of the last sample."],
  ["time", "timestamp", "Time of day of the first sample, if the clock gives it."],
]);

/** The table with a row for each sample. */
export const SAMPLES: Table = table(
  "samples",
  "A sample; for a group of events, one row for each event that counted something.",
  [
    RECORDING,
    ["event", "string", "Name of the event."],
    ["period", "int64", "Events that the sample stands for."],
    [
      "mode",
      "string",
      "CPU mode: user, kernel, hypervisor, guest_user, guest_kernel or unknown.",
    ],
  ],
  [
    TS,
    ["time", "timestamp", "Time of day, if the clock of the recording gives it."],
    [
      "machine",
      "string",
      "The guest that ran: guest and the process id of its hypervisor; null for the host.",
    ],
    ["cpu", "int32", "Processor."],
    ["pid", "int32", "Process."],
    ["tid", "int32", "Thread."],
    ["comm", "string", "Name of the thread at that time."],
    ["stack_id", "int64", "The stack: a row of stacks."],
    ["frame_id", "int64", "Its innermost frame: a row of frames."],
    ["ip", "int64", "Address of the instruction; addresses of the kernel are negative."],
    ["addr", "int64", "Address of the data that was accessed."],
    ["data_src", "int64", "Where the data came from: perf_mem_data_src."],
    ["weight", "int64", "How long the access took, in the unit of the event."],
    ["off_cpu_ns", "int64", "How long the thread waited, in ns (perf record --off-cpu)."],
    ["cgroup", "int64", "Id of the control group."],
    ["branch_from", "int64[]", "Frames that the last branches came from, the latest first."],
    ["branch_to", "int64[]", "Frames that they went to."],
    ["branch_flags", "int64[]", "Their flags, as perf_branch_entry has them."],
  ],
);

/** The table with a row for each frame with its callers. */
export const STACKS: Table = table(
  "stacks",
  "A frame with its callers, which are found by following parent_id.",
  [
    ["stack_id", "int64", "Hash of parent_id and frame_id."],
    ["frame_id", "int64", "A row of frames."],
    ["depth", "int32", "Number of callers."],
  ],
  [["parent_id", "int64", "The stack without its innermost frame; null for the outermost frame."]],
);

/** The table with a row for each place in code. */
export const FRAMES: Table = table(
  "frames",
  "An address in an object with its names, or a function that is inlined there.",
  [[
    "frame_id",
    "int64",
    "Hash of object and offset; for an inlined function, of these and inline_depth.",
  ]],
  [
    ["build_id", "string", "Build id of the object."],
    [
      "object",
      "string",
      "Path of the object, or its name in brackets; null if nothing is mapped.",
    ],
    ["kind", "string", "Kind of object: elf, kernel, module, vdso, jit or bpf."],
    [
      "offset",
      "int64",
      "Offset in the object: in bytes of the file, or from the reference symbol or the start.",
    ],
    ["function", "string", "Function, if known."],
    ["file", "string", "Source file."],
    ["line", "int32", "Line in the source file."],
    ["inline_of", "int64", "For an inlined function: the frame of the code that contains it."],
    [
      "inline_depth",
      "int32",
      "For an inlined function: 1 if its caller is not inlined, 2 if that one's depth is 1, …",
    ],
    ["verified", "boolean", "Whether the names come from a file with the recorded build id."],
  ],
);

/** The table with a row for each mapping. */
export const MAPPINGS: Table = table("mappings", "Code that a process, or the kernel, mapped.", [
  RECORDING,
  ["pid", "int32", "Process; -1 for the kernel."],
  ["tid", "int32", "Thread that mapped it."],
  ["start", "int64", "First address; addresses of the kernel are negative."],
  ["end", "int64", "Address after the last one."],
  ["pgoff", "int64", "Offset of the start in the object."],
  ["object", "string", "Path of the object, or its name in brackets."],
], [
  TS,
  ["build_id", "string", "Build id of the object, if the record has it."],
]);

/** The table with a row for each thread. */
export const THREADS: Table = table("threads", "A thread, from its first record to its last.", [
  RECORDING,
  ["pid", "int32", "Process."],
  ["tid", "int32", "Thread."],
], [
  ["ppid", "int32", "Process that started it."],
  ["comm", "string", "Its last name."],
  ["start_ts", "int64", "When it began; null if before the recording."],
  ["end_ts", "int64", "When it ended; null if after the recording."],
]);

/** The table with a row for each context switch. */
export const SWITCHES: Table = table(
  "switches",
  "A context switch (perf record --switch-events).",
  [
    RECORDING,
    ["is_out", "boolean", "Whether the thread was switched out; otherwise, it was switched in."],
    ["is_preempted", "boolean", "Whether it was preempted: it could have continued."],
  ],
  [
    TS,
    ["cpu", "int32", "Processor."],
    ["pid", "int32", "Process."],
    ["tid", "int32", "Thread."],
    ["other_pid", "int32", "Process of the previous or next thread."],
    ["other_tid", "int32", "The previous or next thread."],
  ],
);

/** The table with a row for each event of a tracepoint. */
export const TRACEPOINTS: Table = table("tracepoints", "An event of a tracepoint.", [
  RECORDING,
  ["event", "string", "Name of the tracepoint."],
  ["fields", "string", "JSON: fields by name, 64-bit numbers exact."],
], [
  TS,
  ["cpu", "int32", "Processor."],
  ["pid", "int32", "Process."],
  ["tid", "int32", "Thread."],
  ["comm", "string", "Name of the thread at that time."],
]);

/** The table with a row for each call in the Intel PT. */
export const PT_CALLS: Table = table(
  "pt_calls",
  "A call in the Intel PT of a recording. Only export --pt-calls writes this table.",
  [
    RECORDING,
    ["tid", "int32", "Thread."],
    ["depth", "int32", "Number of its callers, as far as the trace shows."],
    ["insns", "int64", "Instructions of the call and of its callees."],
    ["is_returned", "boolean", "Whether it returned in the trace."],
  ],
  [
    ["ts", "int64", "When it began, in ns by the clock of the recording."],
    ["duration", "int64", "How long it took, in ns."],
    ["cpu", "int32", "Processor on which it ended."],
    ["pid", "int32", "Process."],
    ["cycles", "int64", "Core clocks in which the thread ran, if the trace counts them."],
    ["function", "string", "Function that is called."],
    ["object", "string", "Path of the object, or its name in brackets."],
  ],
);

/** Tables that are written only on request. */
export const ASKED_TABLES: readonly Table[] = [PT_CALLS];

/** Tables that are always written, in the order of their documentation. */
export const TABLES: readonly Table[] = [
  RECORDINGS,
  SAMPLES,
  STACKS,
  FRAMES,
  MAPPINGS,
  THREADS,
  SWITCHES,
  TRACEPOINTS,
];
