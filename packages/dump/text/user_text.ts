import type { AnyRecord } from "@perfdata/format/records";
import { numberAt } from "@perfdata/format/bytes";
import { type CpuMapData, cpusOf } from "@perfdata/user-records/metadata";
import type { USER_RECORDS } from "@perfdata/user-records";
import { auxtraceInfoText, hex } from "../aux_text/auxtrace_info_text.ts";

/** A decoded user record. */
export type UserRecord = AnyRecord<typeof USER_RECORDS[number]>;

/** Text of `perf report -D` for a record that it ignores. */
const UNHANDLED = ": unhandled!\n";

/** Record types by name. */
type ByName = { readonly [R in UserRecord as R["name"]]: R };

/** Functions that format a record's body, by record name. */
type Texts = {
  readonly [N in keyof ByName]?: ByName[N] extends { readonly body: infer B } ? (body: B) => string
    : never;
};

const nothing = (): string => "";
const unhandled = (): string => UNHANDLED;

/**
 * The text of `perf report -D` (6.1) after the name of each record type; other types have only a
 * newline.
 */
const TEXTS: Texts = {
  HEADER_ATTR: nothing,
  HEADER_EVENT_TYPE: nothing,
  HEADER_TRACING_DATA: nothing,
  HEADER_BUILD_ID: nothing,
  HEADER_FEATURE: nothing,
  FINISHED_INIT: unhandled,
  AUXTRACE_ERROR: unhandled,
  ID_INDEX: ({ entries, entries_2 }) => {
    const lines = entries.map(({ id, idx, cpu, tid }, i) => {
      const guest = entries_2?.[i];
      const more = guest === undefined
        ? ""
        : `  machine_pid: ${guest.machine_pid}  vcpu: ${BigInt.asUintN(64, guest.vcpu)}`;
      return ` ... id: ${id}  idx: ${idx}  cpu: ${cpu}  tid: ${tid}${more}\n`;
    });
    return ` nr: ${entries.length}\n${lines.join("")}`;
  },
  AUXTRACE_INFO: ({ type, priv }) => ` type: ${type}\n${auxtraceInfoText(type, priv)}`,
  AUXTRACE: ({ size, offset, reference, idx, tid, cpu }) =>
    ` size: ${hex(size)}  offset: ${hex(offset)}  ref: ${hex(reference)}` +
    `  idx: ${idx}  tid: ${tid}  cpu: ${cpu}\n`,
  THREAD_MAP: ({ entries }) => {
    const pids = entries.map(({ pid }) => BigInt.asIntN(32, pid)).join(", ");
    return ` nr: ${entries.length} thread${entries.length > 1 ? "s" : ""}: ${pids}\n${UNHANDLED}`;
  },
  CPU_MAP: (body) => `: ${cpuMapText(body) ?? "failed to get cpumap from event"}\n${UNHANDLED}`,
  STAT_CONFIG: ({ data }) => {
    const value = (tag: bigint): bigint =>
      BigInt.asUintN(32, data.findLast((entry) => entry.tag === tag)?.val ?? 0n);
    return `\n... aggr_mode ${value(0n)}\n... scale     ${value(2n)}\n` +
      `... interval  ${value(1n)}\n${UNHANDLED}`;
  },
  STAT: ({ id, cpu, thread, val, ena, run }) =>
    `\n... id ${id}, cpu ${cpu}, thread ${thread}\n` +
    `... value ${val}, enabled ${ena}, running ${run}\n${UNHANDLED}`,
  STAT_ROUND: ({ time, type }) =>
    `\n... time ${time}, type ${type === 1n ? "FINAL" : "INTERVAL"}\n${UNHANDLED}`,
  EVENT_UPDATE: ({ id, unit, scale, name, cpus }) => {
    const update = unit !== undefined
      ? `unit:  ${unit}`
      : scale !== undefined
      ? `scale: ${scale.toFixed(6)}`
      : name !== undefined
      ? `name:  ${name}`
      : cpus !== undefined
      ? cpuMapText(cpus) ?? "failed to get cpus"
      : "unknown type";
    return `\n... id:    ${id}\n... ${update}\n`;
  },
  TIME_CONV: (body) => {
    const { time_cycles, time_mask } = body;
    const later = time_cycles === undefined || time_mask === undefined
      ? ""
      : `... Time Cycles     ${time_cycles}\n... Time Mask       ${hex(time_mask)}\n` +
        `... Cap Time Zero   ${body.cap_user_time_zero}\n` +
        `... Cap Time Short  ${body.cap_user_time_short}\n`;
    return `\n... Time Shift      ${body.time_shift}\n... Time Muliplier  ${body.time_mult}\n` +
      `... Time Zero       ${body.time_zero}\n${later}${UNHANDLED}`;
  },
};

/**
 * The text of `perf report -D` for a user record, after its name.
 *
 * @param ordered Whether records are sorted by time. Without sorting, FINISHED_ROUND is ignored.
 */
export function userText(record: UserRecord, ordered: boolean): string {
  if ("raw" in record || (record.name === "FINISHED_ROUND" && ordered)) return "\n";
  if (record.name === "FINISHED_ROUND") return UNHANDLED;
  const { name, body } = record as { readonly name: keyof ByName; readonly body: unknown };
  const text = TEXTS[name] as ((body: unknown) => string) | undefined;
  return text?.(body) ?? "\n";
}

/** Formats CPUs as ranges: `0-3,8`. */
function cpuMapText(data: CpuMapData): string | undefined {
  if (data.cpus_data === undefined && data.mask_data === undefined && !data.range_cpu_data) {
    return undefined;
  }
  const cpus = cpusOf(data);
  const ranges: string[] = [];
  for (let i = 0; i < cpus.length;) {
    const first = numberAt(cpus, i);
    let last = i;
    while (last + 1 < cpus.length && cpus[last + 1] === first + last + 1 - i) last++;
    ranges.push(last === i ? `${first}` : `${first}-${cpus[last]}`);
    i = last + 1;
  }
  return ranges.join(",");
}
