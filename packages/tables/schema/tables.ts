import type { Column, ColumnType, Table } from "./column_types.ts";

/** The version of these tables: files of different versions are not read together. */
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

const RECORDING: Declared = ["recording_id", "int64", "The recording: a hash of what it is."];
const TS: Declared = ["ts", "int64", "Time in ns, by the clock of the recording."];

/** A row a recording. */
export const RECORDINGS: Table = table("recordings", "A recording.", [
  RECORDING,
  ["version", "int32", "Version of these tables."],
  ["name", "string", "Name of the file."],
  ["events", "string", "JSON: an array of the events with their attrs."],
  ["samples", "int64", "Rows in samples."],
  ["lost", "int64", "Records for which there was no room, and samples that the hardware lost."],
  ["throttled", "int64", "How often an event paused since it interrupted too often."],
  ["left_out", "int64", "Samples of no known event, or damaged."],
], [
  ["host", "string", "Name of the machine."],
  ["os_release", "string", "Release of its kernel."],
  ["arch", "string", "Its architecture, as uname -m prints it."],
  ["cpu_desc", "string", "Its processor."],
  ["cpus", "int32", "How many processors were online."],
  ["perf_version", "string", "Version of perf that recorded."],
  ["command", "string", "JSON: the command line of perf, an array."],
  ["clock", "string", "The clock of times, such as CLOCK_MONOTONIC."],
  ["first_ts", "int64", "Time of the first sample."],
  ["last_ts", "int64", "Time of the last sample."],
  ["time", "timestamp", "Time of day of the first sample, where the clock gives it."],
]);

/** A row a sample. */
export const SAMPLES: Table = table(
  "samples",
  "A sample; of a group of events, one for each that counted something.",
  [
    RECORDING,
    ["event", "string", "Name of the event."],
    ["period", "int64", "Events that it stands for."],
    [
      "mode",
      "string",
      "What was executed: user, kernel, hypervisor, guest_user, guest_kernel or unknown.",
    ],
  ],
  [
    TS,
    ["time", "timestamp", "Time of day, where the clock of the recording gives it."],
    ["cpu", "int32", "Processor."],
    ["pid", "int32", "Process."],
    ["tid", "int32", "Thread."],
    ["comm", "string", "Name of the thread at that time."],
    ["stack_id", "int64", "The stack: a row of stacks."],
    ["frame_id", "int64", "Its innermost frame: a row of frames."],
    ["ip", "int64", "Address that was executed; those of the kernel are negative."],
    ["addr", "int64", "Address of the data that was accessed."],
    ["data_src", "int64", "Where that data came from: perf_mem_data_src."],
    ["weight", "int64", "How long it took, in the unit of the event."],
    ["off_cpu_ns", "int64", "Of perf record --off-cpu: how long the thread waited, in ns."],
    ["cgroup", "int64", "Id of the control group."],
    ["branch_from", "int64[]", "Frames that the last branches left from, the last one first."],
    ["branch_to", "int64[]", "Frames that they went to."],
    ["branch_flags", "int64[]", "Their flags, as perf_branch_entry has them."],
  ],
);

/** A row for each frame with its callers. */
export const STACKS: Table = table(
  "stacks",
  "A frame with its callers: those of a sample are found by following parent_id.",
  [
    ["stack_id", "int64", "Hash of parent_id and frame_id."],
    ["frame_id", "int64", "A row of frames."],
    ["depth", "int32", "How many callers it has."],
  ],
  [["parent_id", "int64", "The stack without its innermost frame; none for the outermost one."]],
);

/** A row for each place in code. */
export const FRAMES: Table = table(
  "frames",
  "A place in code, and what is known of it; or a function that is inlined there.",
  [[
    "frame_id",
    "int64",
    "Hash of object and offset; of an inlined function, of that and its number.",
  ]],
  [
    ["build_id", "string", "Build id of the object."],
    [
      "object",
      "string",
      "Path of the object, or its name in brackets; none where nothing is mapped.",
    ],
    ["kind", "string", "What it is: elf, kernel, module, vdso, jit or bpf."],
    [
      "offset",
      "int64",
      "Where it is in the object: byte in a file, distance from the reference symbol or start.",
    ],
    ["function", "string", "The function, where it is known."],
    ["file", "string", "Source file."],
    ["line", "int32", "Line in it."],
    ["inline_of", "int64", "Of an inlined function: the frame of the code that it is a part of."],
    ["inline_depth", "int32", "Of an inlined function: 1 is what calls it not inlined, and so on."],
    ["verified", "boolean", "Whether names are of a file whose build id is the recorded one."],
  ],
);

/** A row for each mapping. */
export const MAPPINGS: Table = table("mappings", "Code that a process, or the kernel, mapped.", [
  RECORDING,
  ["pid", "int32", "Process; -1 for the kernel."],
  ["tid", "int32", "Thread that mapped it."],
  ["start", "int64", "First address; those of the kernel are negative."],
  ["end", "int64", "Address after the last one."],
  ["pgoff", "int64", "Offset of the start in the object."],
  ["object", "string", "Path of the object, or its name in brackets."],
], [
  TS,
  ["build_id", "string", "Build id of the object, where this record has it."],
]);

/** A row for each thread. */
export const THREADS: Table = table("threads", "A thread, from its first record to its last.", [
  RECORDING,
  ["pid", "int32", "Process."],
  ["tid", "int32", "Thread."],
], [
  ["ppid", "int32", "Process that started it."],
  ["comm", "string", "Its last name."],
  ["start_ts", "int64", "When it began; none where that was before the recording."],
  ["end_ts", "int64", "When it ended; none where that was after it."],
]);

/** A row for each context switch. */
export const SWITCHES: Table = table(
  "switches",
  "A context switch, of perf record --switch-events.",
  [
    RECORDING,
    ["is_out", "boolean", "Whether the thread lost the processor; else it got it."],
    ["is_preempted", "boolean", "Whether it could have gone on."],
  ],
  [
    TS,
    ["cpu", "int32", "Processor."],
    ["pid", "int32", "Process."],
    ["tid", "int32", "Thread."],
    ["other_pid", "int32", "Process of the thread that came before, or comes next."],
    ["other_tid", "int32", "That thread."],
  ],
);

/** A row for each event of a tracepoint. */
export const TRACEPOINTS: Table = table("tracepoints", "What a tracepoint recorded.", [
  RECORDING,
  ["event", "string", "Name of the tracepoint."],
  ["fields", "string", "JSON: its fields by name, 64-bit numbers exact."],
], [
  TS,
  ["cpu", "int32", "Processor."],
  ["pid", "int32", "Process."],
  ["tid", "int32", "Thread."],
  ["comm", "string", "Name of the thread at that time."],
]);

/** A row for each call that Intel PT has. */
export const PT_CALLS: Table = table(
  "pt_calls",
  "A call in the Intel PT of a recording, of export --pt-calls: the others are there without it.",
  [
    RECORDING,
    ["tid", "int32", "Thread."],
    ["depth", "int32", "How many calls it is in, as far as the trace shows."],
    ["insns", "int64", "Instructions of it and of what it called."],
    ["is_returned", "boolean", "Whether its return was seen; else the trace ends before it."],
  ],
  [
    ["ts", "int64", "When it began, in ns by the clock of the recording."],
    ["duration", "int64", "How long it took, in ns."],
    ["cpu", "int32", "Processor on which it ended."],
    ["pid", "int32", "Process."],
    ["cycles", "int64", "Core clocks in which the thread ran, where the trace counts them."],
    ["function", "string", "The function that is called."],
    ["object", "string", "Path of its object, or its name in brackets."],
  ],
);

/** Tables that are there where they were asked for. */
export const ASKED_TABLES: readonly Table[] = [PT_CALLS];

/** Tables that are always there, in the order in which they are described. */
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
