import type { AnyRecord } from "@perfdata/format";
import {
  type CpuMapData,
  cpusOf,
  PERF_AUXTRACE_ARM_SPE,
  PERF_AUXTRACE_CS_ETM,
  PERF_AUXTRACE_HISI_PTT,
  PERF_AUXTRACE_INTEL_BTS,
  PERF_AUXTRACE_INTEL_PT,
  type USER_RECORDS,
} from "@perfdata/user-records";

/** A decoded record of perf's own. */
export type UserRecord = AnyRecord<typeof USER_RECORDS[number]>;

/** What `perf report` does with a record that nothing in it looks at. */
const UNHANDLED = ": unhandled!\n";

/** The record types of which `perf report -D` prints nothing but the name. */
const SILENT: ReadonlySet<string> = new Set([
  "HEADER_ATTR",
  "HEADER_EVENT_TYPE",
  "HEADER_TRACING_DATA",
  "HEADER_BUILD_ID",
  "HEADER_FEATURE",
]);

/**
 * What `perf report -D` prints of one of perf's own records after its name.
 *
 * @param ordered Whether records are brought into an order of time: without one a FINISHED_ROUND
 * means nothing.
 */
export function userText(record: UserRecord, ordered: boolean): string {
  if (SILENT.has(record.name)) return "";
  switch (record.name) {
    case "FINISHED_ROUND":
      return ordered ? "\n" : UNHANDLED;
    case "FINISHED_INIT":
    case "AUXTRACE_ERROR":
      return UNHANDLED;
    case "ID_INDEX": {
      const { entries, entries_2 } = record.body;
      const lines = entries.map(({ id, idx, cpu, tid }, i) => {
        const guest = entries_2?.[i];
        return ` ... id: ${id}  idx: ${idx}  cpu: ${cpu}  tid: ${tid}` +
          (guest === undefined
            ? "\n"
            : `  machine_pid: ${guest.machine_pid}  vcpu: ${BigInt.asUintN(64, guest.vcpu)}\n`);
      });
      return ` nr: ${entries.length}\n${lines.join("")}`;
    }
    case "AUXTRACE_INFO":
      return ` type: ${record.body.type}\n${auxtraceInfoText(record.body.type, record.body.priv)}`;
    case "AUXTRACE": {
      const { size, offset, reference, idx, tid, cpu } = record.body;
      return ` size: ${hex(size)}  offset: ${hex(offset)}  ref: ${hex(reference)}` +
        `  idx: ${idx}  tid: ${tid}  cpu: ${cpu}\n`;
    }
    case "THREAD_MAP": {
      const { entries } = record.body;
      const pids = entries.map(({ pid }) => BigInt.asIntN(32, pid)).join(", ");
      return ` nr: ${entries.length} thread${entries.length > 1 ? "s" : ""}: ${pids}\n${UNHANDLED}`;
    }
    case "CPU_MAP":
      return `: ${cpuMapText(record.body) ?? "failed to get cpumap from event"}\n${UNHANDLED}`;
    case "STAT_CONFIG": {
      const value = (tag: bigint): bigint =>
        BigInt.asUintN(32, record.body.data.findLast((entry) => entry.tag === tag)?.val ?? 0n);
      return `\n... aggr_mode ${value(0n)}\n... scale     ${value(2n)}\n` +
        `... interval  ${value(1n)}\n${UNHANDLED}`;
    }
    case "STAT": {
      const { id, cpu, thread, val, ena, run } = record.body;
      return `\n... id ${id}, cpu ${cpu}, thread ${thread}\n` +
        `... value ${val}, enabled ${ena}, running ${run}\n${UNHANDLED}`;
    }
    case "STAT_ROUND": {
      const { time, type } = record.body;
      return `\n... time ${time}, type ${type === 1n ? "FINAL" : "INTERVAL"}\n${UNHANDLED}`;
    }
    case "EVENT_UPDATE": {
      const { id, unit, scale, name, cpus } = record.body;
      const told = unit !== undefined
        ? `unit:  ${unit}`
        : scale !== undefined
        ? `scale: ${scale.toFixed(6)}`
        : name !== undefined
        ? `name:  ${name}`
        : cpus !== undefined
        ? cpuMapText(cpus) ?? "failed to get cpus"
        : "unknown type";
      return `\n... id:    ${id}\n... ${told}\n`;
    }
    case "TIME_CONV": {
      const { body } = record;
      const { time_cycles, time_mask } = body;
      return `\n... Time Shift      ${body.time_shift}\n... Time Muliplier  ${body.time_mult}\n` +
        `... Time Zero       ${body.time_zero}\n` +
        (time_cycles === undefined || time_mask === undefined
          ? ""
          : `... Time Cycles     ${time_cycles}\n... Time Mask       ${hex(time_mask)}\n` +
            `... Cap Time Zero   ${body.cap_user_time_zero}\n` +
            `... Cap Time Short  ${body.cap_user_time_short}\n`) +
        UNHANDLED;
    }
    default:
      return "\n";
  }
}

function hex(word: bigint): string {
  return word === 0n ? "0" : `0x${word.toString(16)}`;
}

/** CPUs as a list of ranges: `0-3,8`. */
function cpuMapText(data: CpuMapData): string | undefined {
  if (data.cpus_data === undefined && data.mask_data === undefined && !data.range_cpu_data) {
    return undefined;
  }
  const cpus = cpusOf(data);
  const ranges: string[] = [];
  for (let i = 0; i < cpus.length;) {
    const first = cpus[i] as number;
    let last = i;
    while (last + 1 < cpus.length && cpus[last + 1] === first + last + 1 - i) last++;
    ranges.push(last === i ? `${first}` : `${first}-${cpus[last]}`);
    i = last + 1;
  }
  return ranges.join(",");
}

/** How a word is printed: decimal, signed, or hexadecimal with a prefix. */
type Shown = "u" | "d" | "x";

/** The words of Intel PT, by position; the lines come in groups that are there or not. */
const INTEL_PT: readonly (readonly [string, Shown])[] = [
  ["PMU Type            ", "d"],
  ["Time Shift          ", "u"],
  ["Time Muliplier      ", "u"],
  ["Time Zero           ", "u"],
  ["Cap Time Zero       ", "d"],
  ["TSC bit             ", "x"],
  ["NoRETComp bit       ", "x"],
  ["Have sched_switch   ", "d"],
  ["Snapshot mode       ", "d"],
  ["Per-cpu maps        ", "d"],
  ["MTC bit             ", "x"],
  ["MTC freq bits       ", "x"],
  ["TSC:CTC numerator   ", "u"],
  ["TSC:CTC denominator ", "u"],
  ["CYC bit             ", "x"],
  ["Max non-turbo ratio ", "u"],
  ["Filter string len.  ", "u"],
];
const INTEL_BTS: readonly (readonly [string, Shown])[] = [
  ["PMU Type           ", "d"],
  ["Time Shift         ", "u"],
  ["Time Muliplier     ", "u"],
  ["Time Zero          ", "u"],
  ["Cap Time Zero      ", "d"],
  ["Snapshot mode      ", "d"],
];
const PMU_TYPE: readonly (readonly [string, Shown])[] = [["PMU Type           ", "d"]];

const CS_ETM_V3 = [
  "Magic number\t\t       ",
  "CPU\t\t\t       ",
  "NR_TRC_PARAMS\t\t       ",
  "ETMCR\t\t\t       ",
  "ETMTRACEIDR\t\t       ",
  "ETMCCER\t\t\t       ",
  "ETMIDR\t\t\t       ",
];
const CS_ETM_V4 = [
  ...CS_ETM_V3.slice(0, 3),
  "TRCCONFIGR\t\t       ",
  "TRCTRACEIDR\t\t       ",
  "TRCIDR0\t\t\t       ",
  "TRCIDR1\t\t\t       ",
  "TRCIDR2\t\t\t       ",
  "TRCIDR8\t\t\t       ",
  "TRCAUTHSTATUS\t\t       ",
  "TRCDEVARCH                     ",
];
const CS_ETM_V3_MAGIC = 0x3030303030303030n;
const CS_ETM_V4_MAGIC = 0x4040404040404040n;
const CS_ETE_MAGIC = 0x5050505050505050n;

function words(table: readonly (readonly [string, Shown])[], priv: readonly bigint[]): string {
  return priv.slice(0, table.length).map((word, i) => {
    const [label, shown] = table[i] as readonly [string, Shown];
    const value = shown === "x" ? hex(word) : shown === "d" ? BigInt.asIntN(64, word) : word;
    return `  ${label}${value}\n`;
  }).join("");
}

function auxtraceInfoText(type: number, priv: readonly bigint[]): string {
  switch (type) {
    case PERF_AUXTRACE_INTEL_PT: {
      // PMU type to per-cpu maps; MTC and CYC together; the rest one by one.
      const shown = priv.length >= 15 ? Math.min(priv.length, 17) : priv.length >= 10 ? 10 : 0;
      let text = words(INTEL_PT, priv.slice(0, shown));
      if (shown < 17) return text;
      const length = Number(priv[16]);
      const filterWords = length > 0 ? (length + 8) >> 3 : 0;
      const filter = priv.slice(17, 17 + filterWords).map((word) =>
        Array.from(
          { length: 8 },
          (_, i) => String.fromCharCode(Number(word >> BigInt(8 * i) & 255n)),
        ).join("")
      ).join("");
      text += `  Filter string       ${filter.replace(/\0.*$/s, "")}\n`;
      const eventTrace = priv[17 + filterWords];
      return eventTrace === undefined ? text : `${text}  Cap Event Trace     ${eventTrace}\n`;
    }
    case PERF_AUXTRACE_INTEL_BTS:
      return words(INTEL_BTS, priv);
    case PERF_AUXTRACE_ARM_SPE:
    case PERF_AUXTRACE_HISI_PTT:
      return words(PMU_TYPE, priv);
    case PERF_AUXTRACE_CS_ETM:
      return csEtmText(priv);
    default:
      return "";
  }
}

function csEtmText(priv: readonly bigint[]): string {
  const version = priv[0] ?? 0n;
  if (version > 1n) {
    return `\tUnknown Header Version = ${version.toString(16)}, Version supported <= 1\n`;
  }
  const cpus = Number((priv[1] ?? 0n) & 0xffff_ffffn);
  let text = `\tHeader version\t\t       ${version.toString(16)}\n` +
    `\tPMU type/num cpus\t       ${(priv[1] ?? 0n).toString(16)}\n` +
    `\tSnapshot\t\t       ${(priv[2] ?? 0n).toString(16)}\n`;
  for (let at = 3, cpu = 0; cpu < cpus && at < priv.length; cpu++) {
    const magic = priv[at] as bigint;
    const labels = magic === CS_ETM_V3_MAGIC
      ? CS_ETM_V3
      : magic === CS_ETM_V4_MAGIC || (magic === CS_ETE_MAGIC && version === 1n)
      ? CS_ETM_V4
      : undefined;
    if (labels === undefined) {
      return `${text}\tMagic number Unknown\t       ${magic.toString(16)}\n`;
    }
    // Version 0 does not say how many there are: the word that does is not there.
    const numbered = version === 1n;
    const count = numbered ? 3 + Number(priv[at + 2] ?? 0n) : magic === CS_ETM_V3_MAGIC ? 7 : 10;
    const known = magic === CS_ETM_V3_MAGIC ? 7 : 11;
    for (let j = 0; j < count && at < priv.length; j++) {
      if (j === 2 && !numbered) continue;
      const word = priv[at++] as bigint;
      const value = j === 1 ? `${BigInt.asIntN(64, word)}` : word.toString(16);
      text += j < known
        ? `\t${labels[j]}${value}\n`
        : `\tUnknown parameter [${j}]\t       ${word.toString(16)}\n`;
    }
  }
  return text;
}
