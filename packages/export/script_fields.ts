import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_RAW,
  PERF_TYPE_TRACEPOINT,
} from "@perfdata/format/perf-event";
import type { PerfEvent } from "@perfdata/format";

/** The fields of `perf script -F` that are printed. */
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
  "brstack",
  "misc",
  "insn",
  "callindent",
  "synth",
] as const;

/** One of {@linkcode SCRIPT_FIELDS}. */
export type ScriptField = typeof SCRIPT_FIELDS[number];

/** Fields that are asked for: instead of the default ones, or more and fewer than these. */
export interface FieldWish {
  /** Whether the defaults are the start. */
  readonly isChange: boolean;
  /** Fields to add, or all fields. */
  readonly add: ReadonlySet<ScriptField>;
  /** Fields to leave out. */
  readonly remove: ReadonlySet<ScriptField>;
}

/** A list of fields that is none; the message says which word, and which there are. */
export class FieldError extends Error {
  /** The word that is no field. */
  readonly word: string;

  /** Names the word. */
  constructor(word: string, message: string) {
    super(message);
    this.word = word;
  }
}

/**
 * Reads a list of fields: `comm,tid,ip`, or `+addr,-period` as a change of the defaults.
 *
 * @throws {FieldError} Where a word is no field, or both kinds are mixed.
 *
 * @example
 * ```ts
 * import { parseFields } from "@perfdata/export";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([...parseFields("+addr,-period").remove], ["period"]);
 * ```
 */
export function parseFields(text: string): FieldWish {
  const add = new Set<ScriptField>();
  const remove = new Set<ScriptField>();
  let changes = 0;
  let plain = 0;
  for (const word of text.split(",")) {
    const [, sign = "", name = ""] = /^([+-]?)(.*)$/.exec(word) ?? [];
    const field = SCRIPT_FIELDS.find((known) => known === name);
    if (field === undefined) {
      throw new FieldError(
        name,
        `${name} is no field, expected some of ${SCRIPT_FIELDS.join(",")}`,
      );
    }
    if (sign === "") plain++;
    else changes++;
    (sign === "-" ? remove : add).add(field);
  }
  if (changes > 0 && plain > 0) {
    throw new FieldError(text, `${text} mixes fields with and without + or -`);
  }
  return { isChange: changes > 0, add, remove };
}

/** Fields that need a bit of `sample_type`. */
const NEEDED: readonly (readonly [ScriptField, number])[] = [
  ["tid", PERF_SAMPLE_TID],
  ["pid", PERF_SAMPLE_TID],
  ["time", PERF_SAMPLE_TIME],
  ["cpu", PERF_SAMPLE_CPU],
  ["ip", PERF_SAMPLE_IP],
  ["addr", PERF_SAMPLE_ADDR],
  ["brstack", PERF_SAMPLE_BRANCH_STACK],
];

/**
 * The fields of each event, by the rules of `perf script`: events of one type have the fields that
 * the first of them can have (`perf_session__check_output_opt` of tools/perf/builtin-script.c).
 *
 * @throws {FieldError} Where a field was asked for that the events of a type do not have.
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
      fields = typeFields(events, first, names[first] ?? "", wish);
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
    // Symbols of tracepoints are printed where some of them have call chains.
    const chains = events.some(({ attr, layout }) =>
      attr.type === type && (layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0
    );
    if (chains) { for (const field of ["ip", "sym", "symoff", "dso"] as const) fields.add(field); }
  } else {
    for (const field of ["ip", "sym", "symoff", "dso", "period"] as const) fields.add(field);
    // perf adds what raw events often have: addr, and what is not printed here.
    if (type === PERF_TYPE_RAW) fields.add("addr");
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
  if (!fields.has("ip")) fields.delete("sym");
  if (!fields.has("ip")) fields.delete("dso");
  if (!fields.has("sym")) fields.delete("symoff");
  return fields;
}
