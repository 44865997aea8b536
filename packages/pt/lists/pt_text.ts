import { visible } from "@perfdata/format/bytes";
import { FLOW_ERROR_TEXT, FlowEvent } from "@perfdata/intel-pt";
import type { CallRows } from "../calls/pt_call_log.ts";
import { type CallStats, latencyOf } from "../calls/pt_latency.ts";
import type { PtCalls } from "../calls/pt_calls.ts";
import type { FlowRows } from "./pt_list.ts";
import { ROW } from "./pt_list.ts";
import type { PtFunction, PtNames } from "../code/pt_names.ts";
import type { PtCounts } from "../decode/pt_counts.ts";
import type { TimeOrigin } from "../decode/pt_time.ts";

/** Names of the kinds of branches: those of `perf script -F flags`, if it has one. */
const BRANCH_NAMES: readonly string[] = [
  "",
  "jcc",
  "jmp",
  "jmp",
  "call",
  "call",
  "return",
  "syscall",
  "sysret",
  "int",
  "iret",
  "call far",
  "jmp far",
  "return far",
  "vm entry",
  "vm call",
];

const EVENT_NAMES: readonly string[] = Object.entries(FlowEvent).reduce((names, [name, kind]) => {
  names[kind] = name.toLowerCase().replaceAll("_", " ");
  return names;
}, [] as string[]);

/** A value as JSON; numbers above 2^53 are bigints, which `JSON.stringify` does not write. */
function jsonText(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  let text = "";
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) text += `${text && ","}"${name}":${jsonText(member)}`;
  }
  return `{${text}}`;
}

/** A duration with its unit: `850 ns`, `12.3 us`, `4.56 ms`, `7.89 s`. */
export function durationText(ns: number): string {
  if (ns < 0) return "?";
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toPrecision(3)} us`;
  if (ns < 1e9) return `${(ns / 1e6).toPrecision(3)} ms`;
  return `${(ns / 1e9).toPrecision(3)} s`;
}

/** Names of the functions to list, or whose calls count; all if undefined. */
export type NameFilter = ReadonlySet<string> | undefined;

/** Options of {@linkcode rowLines}. */
export interface RowTextOptions {
  /** Lines of JSON. */
  readonly json: boolean;
  /** Whether to print source file and line of instructions. */
  readonly source: boolean;
  /** Only rows of these functions. */
  readonly only?: NameFilter;
}

/**
 * Formats branches, instructions and events as text or as lines of JSON: all rows, or those in a
 * range.
 */
export function* rowLines(
  rows: FlowRows,
  names: PtNames,
  texts: readonly string[],
  { json, source, only: filter }: RowTextOptions,
  from = 0,
  to: number = rows.count,
): Generator<string> {
  let prefix = "";
  // The row with this prefix.
  let at = -1;
  for (let i = from; i < to; i++) {
    const a = rows.a[i] as number;
    const b = rows.b[i] as number;
    const kind = rows.kind[i] as number;
    const row = rows.row[i];
    if (filter !== undefined && row !== ROW.EVENT) {
      const from = filter.has(names.names[a] as string);
      if (!from && !(row === ROW.BRANCH && filter.has(names.names[b] as string))) continue;
    }
    if (json) {
      yield jsonRow(rows, i, names, texts);
      continue;
    }
    // Names are made printable once per place; the other texts are printable.
    if (!isAtRow(rows, i, at)) {
      at = i;
      const cpu = rows.cpu[i] as number;
      prefix = `${`${rows.tid[i]}${rows.unsure[i] === 1 ? "?" : ""}`.padStart(7)} ${
        (cpu < 0 ? "" : `[${String(cpu).padStart(3, "0")}]`).padStart(5)
      } ${names.origin.secondsText(rows.time[i] ?? -1).padStart(18)}`;
    }
    if (row === ROW.BRANCH) {
      const kindText = (BRANCH_NAMES[kind] ?? "").padEnd(10);
      const to = hex(rows.payload[i] as bigint);
      yield `${prefix} ${kindText} ${placeText(rows, i, names)} => ${to} ${names.described(b)}`;
    } else if (row === ROW.INSN) {
      const text = texts[b] as string;
      const line = source ? names.line(a) : undefined;
      yield `${prefix} ${placeText(rows, i, names)}${text === "" ? "" : `  ${text}`}${
        line === undefined ? "" : `  ; ${visible(line)}`
      }`;
    } else yield `${prefix} ${eventText(rows, i, names)}`;
  }
}

/** Whether a row has the thread, CPU and time of another one. */
function isAtRow(rows: FlowRows, i: number, other: number): boolean {
  return other >= 0 && rows.time[i] === rows.time[other] && rows.tid[i] === rows.tid[other] &&
    rows.cpu[i] === rows.cpu[other] && rows.unsure[i] === rows.unsure[other];
}

function jsonRow(rows: FlowRows, i: number, names: PtNames, texts: readonly string[]): string {
  const a = rows.a[i] as number;
  const b = rows.b[i] as number;
  const kind = rows.kind[i] as number;
  const time = rows.time[i] as number;
  const cpu = rows.cpu[i] as number;
  const common = `"tid":${rows.tid[i]}${rows.unsure[i] === 1 ? `,"unsure":true` : ""}${
    cpu < 0 ? "" : `,"cpu":${cpu}`
  }${
    time < 0
      ? ""
      : `,"time":${names.origin.exact(time)},"uncertainty":${
        Math.round(rows.uncertainty[i] as number)
      }`
  }`;
  const payload = rows.payload[i] as bigint;
  const from = `"ip":"0x${addressText(rows, i)}",${a < 0 ? "" : names.jsonOf(a)}`;
  switch (rows.row[i]) {
    case ROW.BRANCH: {
      const to = `"ip":"0x${hex(payload)}",${names.jsonOf(b)}`;
      return `{"event":"branch","kind":"${BRANCH_NAMES[kind] ?? ""}",${common},` +
        `"from":{${from}},"to":{${to}}}`;
    }
    case ROW.INSN: {
      const text = texts[b] as string;
      const line = names.line(a);
      return `{"event":"insn",${common},${from}${
        text === "" ? "" : `,"text":${JSON.stringify(text)}`
      }${line === undefined ? "" : `,"source":${JSON.stringify(line)}`}}`;
    }
    default: {
      const what = kind === FlowEvent.ERROR
        ? `"reason":${JSON.stringify(FLOW_ERROR_TEXT[b])}`
        : `"detail":${b},"payload":"0x${hex(payload)}"`;
      return `{"event":${JSON.stringify(EVENT_NAMES[kind])},${common}${
        a < 0 ? "" : `,${from}`
      },${what}}`;
    }
  }
}

/** Position of a row: the address, with its function or object. */
function placeText(rows: FlowRows, i: number, names: PtNames): string {
  return `${addressText(rows, i).padStart(12)} ${names.described(rows.a[i] as number)}`;
}

/** The address of place `a` of a row. */
export function addressText({ high, low }: FlowRows, i: number): string {
  const digits = ((low[i] ?? 0) >>> 0).toString(16);
  const above = (high[i] ?? 0) >>> 0;
  return above === 0 ? digits : above.toString(16) + digits.padStart(8, "0");
}

function hex(value: bigint): string {
  return value.toString(16);
}

/** Text of an event. */
export function eventText(rows: FlowRows, i: number, names: PtNames): string {
  const kind = rows.kind[i] as number;
  const detail = rows.b[i] as number;
  const place = (rows.a[i] as number) < 0 ? "" : ` ${placeText(rows, i, names)}`;
  const payload = `0x${hex(rows.payload[i] as bigint)}`;
  switch (kind) {
    case FlowEvent.ERROR:
      return `error: ${FLOW_ERROR_TEXT[detail]}${place === "" ? "" : ` at${place}`}`;
    case FlowEvent.SYNC:
    case FlowEvent.ENABLED:
      return `tr strt   ${place}`;
    case FlowEvent.DISABLED:
      return `tr end    ${place}${(detail & 1) === 0 ? "" : ` => ${payload}`}`;
    case FlowEvent.ASYNC:
      return `interrupt ${place} => ${payload}`;
    case FlowEvent.HOP:
      return `at        ${place}`;
    case FlowEvent.CBR:
      return `cbr ${detail}`;
    case FlowEvent.MODE:
      return `mode ${detail} bit${place}`;
    case FlowEvent.INTERRUPTS:
      return `interrupts ${detail === 1 ? "on" : "off"}${place}`;
    case FlowEvent.TSX:
      return `tsx ${detail === 0 ? "outside" : detail === 1 ? "inside" : "aborted"}${place}`;
    case FlowEvent.PIP:
      return `pip cr3 ${payload}${detail === 1 ? " non-root" : ""}`;
    case FlowEvent.VMCS:
    case FlowEvent.PTWRITE:
      return `${EVENT_NAMES[kind]} ${payload}${place}`;
    default:
      return `${EVENT_NAMES[kind]}${place} detail ${detail} payload ${payload}`;
  }
}

/** A function of a trace, with its time and instructions. */
export interface FunctionTime extends PtFunction {
  /** Time in ns in it and its callees, counting recursion once. */
  readonly total: number;
  /** Time in ns in the function itself. */
  readonly self: number;
  /** Instructions of the function itself. */
  readonly insns: number;
  /** Core clocks of the function itself, if the trace counts them. */
  readonly cycles?: number;
  /** Number of calls. */
  readonly calls: number;
}

/**
 * Time and instructions by function, sorted by self time (without times, by instructions).
 *
 * @param calls Calls, counted by the rows of {@linkcode functionRows}.
 * @param hasCycles Whether CYC packets counted core clocks.
 */
export function functionTimes(
  { sums, latency }: Pick<PtCalls, "sums" | "latency">,
  names: PtNames,
  hasCycles = true,
): FunctionTime[] {
  const rows = names.functionNames.map(() => ({
    total: 0,
    self: 0,
    insns: 0,
    calls: 0,
    cycles: 0,
  }));
  for (const [place, number] of names.functions.entries()) {
    const row = rows[number];
    if (row === undefined) continue;
    row.self += sums.timeOf[place] ?? 0;
    row.insns += sums.insnsOf[place] ?? 0;
    row.cycles += sums.cyclesOf[place] ?? 0;
  }
  for (const [number, row] of rows.entries()) {
    const called = latency.of(number);
    row.calls = called?.calls ?? 0;
    row.total = called?.time ?? 0;
  }
  return rows.map(({ cycles, ...row }, number) => ({
    ...(names.functionNames[number] as PtFunction),
    ...row,
    ...(hasCycles ? { cycles: Math.round(cycles) } : {}),
  })).filter(({ calls, insns }) => calls > 0 || insns > 0).sort((a, b) =>
    b.self - a.self || b.insns - a.insns || b.total - a.total || inOrder(a.name, b.name) ||
    inOrder(a.object, b.object)
  );
}

function inOrder(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Rows of calls for {@linkcode functionTimes}: one per function. */
export function functionRows(names: PtNames): CallRows {
  const { functions } = names;
  return { resolve: () => names.resolve(), of: (place) => functions[place] };
}

/** Rows for the calls of all functions with a name: row 0. */
export function callRowsOf(name: string, names: PtNames): CallRows {
  const { functions, functionNames } = names;
  return {
    resolve: () => names.resolve(),
    of: (place) => {
      const number = functions[place];
      if (number === undefined) return undefined;
      return functionNames[number]?.name === name ? 0 : -1;
    },
  };
}

/** A histogram of durations with the slowest calls, as text. */
export function* latencyLines(
  name: string,
  stats: CallStats,
  origin: TimeOrigin,
): Generator<string> {
  const { calls, open, histogram, slowest } = stats;
  yield `${name}: ${calls} call${calls === 1 ? "" : "s"}${
    open === 0 ? "" : `, ${open} without a return`
  }`;
  if (histogram === undefined) {
    yield "no durations: the trace has no times";
    return;
  }
  const most = histogram.reduce((a, b) => Math.max(a, b), 0);
  for (const [i, n] of histogram.entries()) {
    if (n === 0) continue;
    const bar = "#".repeat(Math.ceil(40 * n / most));
    yield `${durationText(latencyOf(i)).padStart(10)}  ${String(n).padStart(9)}  ${bar}`.trimEnd();
  }
  yield "slowest:";
  for (const { duration, time, tid } of slowest) {
    yield `${durationText(duration).padStart(10)}  at ${origin.secondsText(time)}  thread ${tid}`;
  }
}

/** The histogram as a line of JSON, with the minimum duration and the calls of each bucket. */
export function latencyJson(
  { name, ...trust }: Pick<PtFunction, "name" | "verified">,
  stats: CallStats,
  origin: TimeOrigin,
): string {
  const { calls, open, time, insns, histogram, slowest } = stats;
  return jsonText({
    function: name,
    ...trust,
    calls,
    open,
    time,
    insns,
    histogram: [...histogram?.entries() ?? []].filter(([, n]) => n > 0)
      .map(([bucket, calls]) => ({ from: latencyOf(bucket), calls })),
    slowest: slowest.map((call) => ({ ...call, time: origin.exact(call.time) })),
  });
}

/** Summary of a decode from packets alone, in one line. */
export function packetsText({ addresses, branches, lostBranches }: PtCounts): string {
  const all = addresses + branches + lostBranches;
  return `from packets: ${
    (100 * addresses / Math.max(1, all)).toFixed(1)
  }% of ${all} branches have an address`;
}

/**
 * A line with the share of instructions that may belong to another thread; `undefined` if there are
 * none.
 */
export function unsureText(
  { unsureThread, insns, insnBranches, branches }: PtCounts,
): string | undefined {
  if (unsureThread === 0) return undefined;
  const all = insnBranches === 0 ? 0 : insns * branches / insnBranches;
  const share = (100 * unsureThread / Math.max(unsureThread, all)).toFixed(2);
  return `${unsureThread} instructions (${share}%) may be of another thread: they ran near a context switch, and the ` +
    "trace has neither MTC nor CYC packets to say when";
}

/** A line about undecoded data; `undefined` if all was decoded. */
export function lossText(counts: PtCounts): string | undefined {
  const { bytes, lostBytes, lostBranches, branches, insns, insnBranches, unsureInsns, errors } =
    counts;
  const reasons = [...errors.entries()].filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1])
    .map(([error, n]) => `${FLOW_ERROR_TEXT[error]} (${n})`);
  if (reasons.length === 0 && lostBytes === 0) return undefined;
  const share = (100 * lostBytes / Math.max(1, bytes)).toFixed(2);
  const ofBranches = (100 * lostBranches / Math.max(1, lostBranches + branches)).toFixed(2);
  // The average number of instructions per branch in the counted part.
  const lost = insnBranches === 0 ? 0 : Math.round(lostBranches * insns / insnBranches);
  const about = lost === 0 ? "" : `, about ${lost} instructions`;
  const unsure = unsureInsns === 0
    ? ""
    : `, and ${unsureInsns} instructions that lead into a loop without an end`;
  // Without code, no branch is followed.
  const followed = insns === 0 && lostBranches === 0
    ? ""
    : `, ${ofBranches}% of the conditional branches`;
  return `not decoded: ${share}% of the bytes${followed}` +
    `${about}${unsure}; ` +
    (reasons.length === 0 ? "before the first PSB" : reasons.join(", "));
}
