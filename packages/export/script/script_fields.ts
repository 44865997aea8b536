import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_ANY,
  PERF_SAMPLE_BRANCH_COUNTERS,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_RAW,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from "@perfdata/format/constants";
import type { PerfEvent } from "@perfdata/format/records";

/** The supported fields of `perf script -F`. */
export const SCRIPT_FIELDS = [
  "comm",
  "tid",
  "pid",
  "time",
  "cpu",
  "event",
  "trace",
  "ip",
  "sym",
  "symoff",
  "dso",
  "addr",
  "srcline",
  "period",
  "flags",
  "iregs",
  "uregs",
  "brstack",
  "brstacksym",
  "brstackoff",
  "brstackinsn",
  "brstackinsnlen",
  "brcntr",
  "data_src",
  "weight",
  "ins_lat",
  "retire_lat",
  "phys_addr",
  "data_page_size",
  "code_page_size",
  "bpf-output",
  "misc",
  "tod",
  "insn",
  "callindent",
  "ipc",
  "synth",
] as const;

/** One of {@linkcode SCRIPT_FIELDS}. */
export type ScriptField = typeof SCRIPT_FIELDS[number];

/** Unsupported fields of `perf script`, with the reason. */
const REFUSED: Readonly<Record<string, string>> = {
  insnlen: "instructions are not read from objects: see annotate and pt --insns",
  metric: "metrics need the events of the CPU that perf knows",
  srccode: "source is not read: srcline has file and line, annotate the lines of a function",
};

/** Fields that need the whole record. */
const OF_RECORD: ReadonlySet<string> = new Set<ScriptField>([
  "trace",
  "iregs",
  "uregs",
  "brstack",
  "brstacksym",
  "brstackoff",
  "brstackinsn",
  "brstackinsnlen",
  "data_src",
  "weight",
  "ins_lat",
  "retire_lat",
  "phys_addr",
  "data_page_size",
  "code_page_size",
  "bpf-output",
]);

/** Fields that need the places of the branch stack. */
const BRANCH_PLACES: readonly ScriptField[] = [
  ...["brstack", "brstacksym", "brstackoff"] as const,
  ...["brstackinsn", "brstackinsnlen"] as const,
];

/** Fields that need the code of objects. */
export const CODE_FIELDS: readonly ScriptField[] = ["brstackinsn", "brstackinsnlen"];

/** Fields of samples that are decoded from AUX data. */
const OF_TRACES: readonly ScriptField[] = ["insn", "callindent", "ipc", "synth"];

/** Requested fields: a list, or changes of the default list. */
export interface FieldWish {
  /** Whether the fields change the defaults. */
  readonly isChange: boolean;
  /** Fields to add, or the whole list. */
  readonly add: ReadonlySet<ScriptField>;
  /** Fields to remove. */
  readonly remove: ReadonlySet<ScriptField>;
  /** Lists for events of one type (`attr.type`), such as `sw:comm,ip`. */
  readonly types?: ReadonlyMap<number, FieldWish>;
}

/** Whether a field is requested for any event. */
export function asksFor(wish: FieldWish | undefined, field: ScriptField): boolean {
  if (wish === undefined) return false;
  return wish.add.has(field) || [...wish.types?.values() ?? []].some(({ add }) => add.has(field));
}

/** Prefixes of lists for events of one type, as in `perf script`. */
const EVENT_TYPES: Readonly<Record<string, number>> = {
  hw: PERF_TYPE_HARDWARE,
  sw: PERF_TYPE_SOFTWARE,
  trace: PERF_TYPE_TRACEPOINT,
  raw: PERF_TYPE_RAW,
  break: PERF_TYPE_BREAKPOINT,
};

/** The default fields. */
const NO_CHANGE: FieldWish = { isChange: true, add: new Set(), remove: new Set() };

/** An invalid list of fields. The message names the invalid word and the valid ones. */
export class FieldError extends Error {
  /** The word that is not a field. */
  readonly word: string;

  /** Creates an error for a word. */
  constructor(word: string, message: string) {
    super(message);
    this.word = word;
  }
}

/**
 * Parses a list of fields: `comm,tid,ip`, or `+addr,-period` as a change of the defaults. Several
 * lists are separated by spaces. A list for events of one type, `trace:time,trace`, replaces
 * earlier ones for that type.
 *
 * @throws {FieldError} If a word is not a field, or both kinds are mixed.
 *
 * @example
 * ```ts
 * import { parseFields } from "@perfdata/export/script";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([...parseFields("+addr,-period").remove], ["period"]);
 * ```
 */
export function parseFields(text: string): FieldWish {
  let wish: FieldWish | undefined;
  for (const list of text.split(" ")) {
    const [, name, fields = list] = /^(\w+):(.*)$/.exec(list) ?? [];
    if (name === undefined) {
      wish = parseList(fields);
      continue;
    }
    const type = Object.hasOwn(EVENT_TYPES, name) ? EVENT_TYPES[name] : undefined;
    if (type === undefined) {
      const known = Object.keys(EVENT_TYPES).join(", ");
      throw new FieldError(list, `${name} is no type of events with fields of its own: ${known}`);
    }
    wish ??= NO_CHANGE;
    wish = { ...wish, types: new Map([...wish.types ?? [], [type, parseList(fields)]]) };
  }
  return wish ?? NO_CHANGE;
}

function parseList(text: string): FieldWish {
  const add = new Set<ScriptField>();
  const remove = new Set<ScriptField>();
  let changes = 0;
  let plain = 0;
  for (const word of text === "" ? [] : text.split(",")) {
    const [, sign = "", name = ""] = /^([+-]?)(.*)$/.exec(word) ?? [];
    const field = SCRIPT_FIELDS.find((known) => known === name);
    const why = Object.hasOwn(REFUSED, name) ? REFUSED[name] : undefined;
    if (why !== undefined && sign === "-") continue;
    if (why !== undefined) throw new FieldError(name, `${name} is not printed: ${why}`);
    if (field === undefined) {
      throw new FieldError(
        name,
        `${name} is no field, expected some of ${SCRIPT_FIELDS.join(",")}`,
      );
    }
    if (sign === "") plain++;
    else changes++;
    (sign === "-" ? remove : add).add(field);
    // The last mention counts.
    (sign === "-" ? add : remove).delete(field);
  }
  if (changes > 0 && plain > 0) {
    throw new FieldError(text, `${text} mixes fields with and without + or -`);
  }
  return { isChange: changes > 0, add, remove };
}

/** `perf_sw_ids` of include/uapi/linux/perf_event.h. */
const PERF_COUNT_SW_BPF_OUTPUT = 10n;

/** Fields that need a bit of `sample_type`. */
const NEEDED: readonly (readonly [ScriptField, number])[] = [
  ["tid", PERF_SAMPLE_TID],
  ["pid", PERF_SAMPLE_TID],
  ["time", PERF_SAMPLE_TIME],
  ["cpu", PERF_SAMPLE_CPU],
  ["ip", PERF_SAMPLE_IP],
  ["addr", PERF_SAMPLE_ADDR],
  ["brstack", PERF_SAMPLE_BRANCH_STACK],
  ["brstacksym", PERF_SAMPLE_BRANCH_STACK],
  ["brstackoff", PERF_SAMPLE_BRANCH_STACK],
  ["brstackinsn", PERF_SAMPLE_BRANCH_STACK],
  ["brstackinsnlen", PERF_SAMPLE_BRANCH_STACK],
  ["iregs", PERF_SAMPLE_REGS_INTR],
  ["uregs", PERF_SAMPLE_REGS_USER],
  ["data_src", PERF_SAMPLE_DATA_SRC],
  ["weight", PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT],
  ["ins_lat", PERF_SAMPLE_WEIGHT_STRUCT],
  ["retire_lat", PERF_SAMPLE_WEIGHT_STRUCT],
  ["phys_addr", PERF_SAMPLE_PHYS_ADDR],
  ["data_page_size", PERF_SAMPLE_DATA_PAGE_SIZE],
  ["code_page_size", PERF_SAMPLE_CODE_PAGE_SIZE],
];

/** Fields that perf adds to samples of raw events, which often have them. */
const OF_RAW_EVENTS = [
  "addr",
  "data_src",
  "weight",
  "phys_addr",
  "data_page_size",
  "code_page_size",
  "ins_lat",
] as const;

/** Data of samples that is needed besides the common fields. */
export interface RowNeeds {
  /** Stacks, if samples have them. */
  readonly stacks: boolean;
  /** Data addresses. */
  readonly addresses: boolean;
  /** Places of the branch stack. */
  readonly branches: boolean;
  /** Selects events whose samples are stored whole. */
  readonly records: (event: PerfEvent) => boolean;
}

/** The data of samples that the requested fields need. */
export function rowNeeds(
  events: readonly PerfEvent[],
  wish: FieldWish | undefined,
  stacks: boolean,
): RowNeeds {
  const asked = (field: ScriptField) => asksFor(wish, field);
  const isRaw = ({ attr }: PerfEvent) => attr.type === PERF_TYPE_RAW;
  return {
    stacks,
    addresses: asked("addr") || events.some(isRaw),
    branches: BRANCH_PLACES.some(asked),
    records: (event) => {
      if (SCRIPT_FIELDS.some((field) => OF_RECORD.has(field) && asked(field))) return true;
      const { attr } = event;
      if ((wish?.types?.get(attr.type) ?? wish)?.isChange === false) return false;
      return attr.type === PERF_TYPE_TRACEPOINT || isRaw(event) || isBpfOutput(event);
    },
  };
}

/**
 * Refuses fields of samples decoded from AUX data, for a recording without AUX data.
 *
 * @throws {FieldError} If one is requested.
 */
export function refuseOfTraces(wish: FieldWish | undefined): void {
  const field = OF_TRACES.find((field) => asksFor(wish, field));
  if (field === undefined) return;
  throw new FieldError(field, `${field} is not printed: the recording has no AUX data to decode`);
}

/** Whether samples contain a BPF program's output, and are not off-CPU samples. */
export function isBpfOutput({ attr: { type, config }, meansOffCpu }: PerfEvent): boolean {
  return type === PERF_TYPE_SOFTWARE && config === PERF_COUNT_SW_BPF_OUTPUT && !meansOffCpu;
}

/**
 * The fields of each event, by the rules of `perf script`: events of one type have the fields that
 * the first of them supports (`perf_session__check_output_opt` of tools/perf/builtin-script.c).
 *
 * @throws {FieldError} If events of a type do not support a requested field.
 */
export function eventFields(
  events: readonly PerfEvent[],
  names: readonly string[],
  wish: FieldWish | undefined,
): ReadonlySet<ScriptField>[] {
  const byType = new Map<number, ReadonlySet<ScriptField>>();
  return events.map(({ attr: { type } }) => {
    let fields = byType.get(type);
    if (fields === undefined) {
      const first = events.findIndex(({ attr }) => attr.type === type);
      fields = typeFields(events, first, names[first] ?? "", wish?.types?.get(type) ?? wish);
      byType.set(type, fields);
    }
    return fields;
  });
}

function typeFields(
  events: readonly PerfEvent[],
  first: number,
  name: string,
  wish: FieldWish | undefined,
): Set<ScriptField> {
  const event = events[first] as PerfEvent;
  const { type } = event.attr;
  const { sampleType } = event.layout;
  const isTracepoint = type === PERF_TYPE_TRACEPOINT;
  const fields = new Set<ScriptField>(["comm", "tid", "time", "cpu", "event"]);
  if (isTracepoint) {
    fields.add("trace");
    // Tracepoints have symbols if some of them have call chains.
    const chains = events.some(({ attr, layout }) =>
      attr.type === type && (layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0
    );
    if (chains) { for (const field of ["ip", "sym", "symoff", "dso"] as const) fields.add(field); }
  } else {
    for (const field of ["ip", "sym", "symoff", "dso", "period"] as const) fields.add(field);
    if (type === PERF_TYPE_RAW) { for (const field of OF_RAW_EVENTS) fields.add(field); }
    if (type === PERF_TYPE_SOFTWARE) fields.add("bpf-output");
  }
  if (wish !== undefined) {
    if (!wish.isChange) fields.clear();
    for (const field of wish.add) fields.add(field);
    for (const field of wish.remove) fields.delete(field);
  }
  for (const [field, bit] of NEEDED) {
    if (!fields.has(field) || (sampleType & bit) !== 0) continue;
    if (wish?.add.has(field) && field !== "cpu") {
      throw new FieldError(field, `samples of ${name} have no ${field}`);
    }
    fields.delete(field);
  }
  const code = CODE_FIELDS.find((field) => fields.has(field));
  if (
    code !== undefined && (event.attr.branch_sample_type & BigInt(PERF_SAMPLE_BRANCH_ANY)) === 0n
  ) {
    throw new FieldError(code, `${code} needs all branches, of which ${name} has some: -j any`);
  }
  if (
    fields.has("brcntr") &&
    (event.attr.branch_sample_type & BigInt(PERF_SAMPLE_BRANCH_COUNTERS)) === 0n
  ) {
    throw new FieldError(
      "brcntr",
      `samples of ${name} have no brcntr: -j any,counter records them`,
    );
  }
  if (!isTracepoint) fields.delete("trace");
  // Only one of them is printed, as in perf.
  if (fields.has("brstack")) fields.delete("brstacksym");
  if (fields.has("brstack") || fields.has("brstacksym")) fields.delete("brstackoff");
  if (!fields.has("ip")) fields.delete("sym");
  if (!fields.has("ip")) fields.delete("dso");
  if (!fields.has("sym")) fields.delete("symoff");
  return fields;
}
