import {
  CS_ETE_MAGIC,
  CS_ETMV3_MAGIC,
  CS_ETMV4_MAGIC,
  PERF_AUXTRACE_ARM_SPE,
  PERF_AUXTRACE_CS_ETM,
  PERF_AUXTRACE_HISI_PTT,
  PERF_AUXTRACE_INTEL_BTS,
  PERF_AUXTRACE_INTEL_PT,
} from "@perfdata/user-records";

/** Formats a word as `%#lx`. */
export function hex(word: bigint): string {
  return word === 0n ? "0" : `0x${word.toString(16)}`;
}

/** Format of a word: unsigned, signed, or hexadecimal with `0x`. */
type Shown = "u" | "d" | "x";

/** The words of Intel PT, in order. Older versions end after a group of words. */
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

function words(table: readonly (readonly [string, Shown])[], priv: readonly bigint[]): string {
  return priv.slice(0, table.length).map((word, i) => {
    const [label, shown] = table[i] as readonly [string, Shown];
    const value = shown === "x" ? hex(word) : shown === "d" ? BigInt.asIntN(64, word) : word;
    return `  ${label}${value}\n`;
  }).join("");
}

/** The text of `perf report -D` for an AUXTRACE_INFO record. */
export function auxtraceInfoText(type: number, priv: readonly bigint[]): string {
  switch (type) {
    case PERF_AUXTRACE_INTEL_PT: {
      // The groups: PMU type to per-cpu maps; MTC and CYC; then single words.
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
    const labels = magic === CS_ETMV3_MAGIC
      ? CS_ETM_V3
      : magic === CS_ETMV4_MAGIC || (magic === CS_ETE_MAGIC && version === 1n)
      ? CS_ETM_V4
      : undefined;
    if (labels === undefined) {
      return `${text}\tMagic number Unknown\t       ${magic.toString(16)}\n`;
    }
    // In version 0 the word with the number of parameters is missing.
    const numbered = version === 1n;
    const count = numbered ? 3 + Number(priv[at + 2] ?? 0n) : magic === CS_ETMV3_MAGIC ? 7 : 10;
    const known = magic === CS_ETMV3_MAGIC ? 7 : 11;
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
