// Bits of `perf_mem_data_src` (include/uapi/linux/perf_event.h) and perf's names for them
// (tools/perf/util/mem-events.c).

const OPS = ["N/A", "LOAD", "STORE", "PFETCH", "EXEC"];
const LEVELS = [
  "N/A",
  "HIT",
  "MISS",
  "L1",
  "LFB/MAB",
  "L2",
  "L3",
  "Local RAM",
  "Remote RAM (1 hop)",
  "Remote RAM (2 hops)",
  "Remote Cache (1 hop)",
  "Remote Cache (2 hops)",
  "I/O",
  "Uncached",
];
const LEVEL_NUMBERS: Readonly<Record<number, string>> = {
  5: "L2 MHB",
  6: "Memory-side Cache",
  7: "L0",
  8: "Uncached",
  9: "CXL",
  10: "I/O",
  11: "Any cache",
  12: "LFB/MAB",
  13: "RAM",
  14: "PMEM",
  15: "N/A",
};
const HOPS = ["N/A", "core, same node", "node, same socket", "socket, same board", "board"];
/** Names on Intel processors since Diamond Rapids. CA is the caching agent of a part of the chip. */
const REGIONS = [
  "N/A",
  "Reserved",
  "Local CA shared cache",
  "Local CA non-shared cache",
  "Other CA I/O agent",
  "Other CA shared cache",
  "Other CA non-shared cache",
  "MMIO",
];
const SNOOPS = ["N/A", "None", "Hit", "Miss", "HitM"];
const SNOOPS_X = ["Fwd", "Peer"];
const TLBS = ["N/A", "HIT", "MISS", "L1", "L2", "Walker", "Fault"];
/** Result bits of a level and of a TLB. */
const HIT = 2;
const MISS = 4;

/** The parts of a data source that perf prints. */
export type DataSourcePart = "op" | "level" | "snoop" | "tlb" | "locked" | "blocked" | "region";

/** The bits of each part. */
export const DATA_SOURCE_BITS: Readonly<Record<DataSourcePart, bigint>> = {
  op: 0x1fn,
  level: 0x3fffn << 5n | 0x1fn << 33n | 0x7n << 43n,
  snoop: 0x1fn << 19n | 0x3n << 38n,
  tlb: 0x7fn << 26n,
  locked: 0x3n << 24n,
  blocked: 0x7n << 40n,
  region: 0x1fn << 46n,
};

/** perf's value for a sample without a data source: all parts unknown (`PERF_MEM_DATA_SRC_NONE`). */
export const NO_DATA_SOURCE: bigint = 1n | 1n << 5n | 1n << 19n | 1n << 24n | 1n << 26n;

/**
 * Formats the source of a sampled access's data like `perf script -F data_src`, with the region if the kernel
 * (6.19 and later) recorded one.
 *
 * @example
 * ```ts
 * import { dataSourceText } from "@perfdata/format/constants";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   dataSourceText(0x68100142n),
 *   "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A",
 * );
 * ```
 */
export function dataSourceText(source: bigint): string {
  const text = (part: DataSourcePart) => dataSourcePart(source, part);
  return `|OP ${text("op")}|LVL ${text("level")}|SNP ${text("snoop")}|TLB ${text("tlb")}` +
    `|LCK ${text("locked")}|BLK ${text("blocked")}` +
    ((source & DATA_SOURCE_BITS.region) === 0n ? "" : `|RGN ${text("region")}`);
}

/**
 * Formats one part of a data source like `perf report --mem-mode`.
 *
 * @example
 * ```ts
 * import { dataSourcePart } from "@perfdata/format/constants";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(dataSourcePart(0x68100142n, "level"), "L1 hit");
 * ```
 */
export function dataSourcePart(source: bigint, part: DataSourcePart): string {
  const bits = (from: number, count: number) =>
    Number(source >> BigInt(from) & (1n << BigInt(count)) - 1n);
  switch (part) {
    case "op":
      return names(bits(0, 5), OPS)[0] ?? "No";
    case "level":
      return levelText(bits(5, 14), bits(33, 4), bits(37, 1), bits(43, 3));
    case "snoop":
      return [...names(bits(19, 5), SNOOPS), ...names(bits(38, 2), SNOOPS_X)].join(" or ") || "N/A";
    case "tlb":
      return tlbText(bits(26, 7));
    case "locked":
      return bits(24, 1) ? "N/A" : bits(25, 1) ? "Yes" : "No";
    case "blocked":
      return bits(40, 3) === 0 || bits(40, 1)
        ? " N/A"
        : `${bits(41, 1) ? " Data" : ""}${bits(42, 1) ? " Addr" : ""}`;
    case "region":
      return regionText(bits(46, 5));
  }
}

/**
 * Formats the size of a page as perf does.
 *
 * @example
 * ```ts
 * import { pageSizeText } from "@perfdata/format/constants";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([0n, 4096n, 2097152n].map(pageSizeText), ["N/A", "4K", "2M"]);
 * ```
 */
export function pageSizeText(size: bigint): string {
  if (size === 0n) return "N/A";
  let scaled = size;
  let unit = 0;
  for (; scaled / 1024n > 1n && unit < 3; unit++) scaled /= 1024n;
  return `${scaled}${"BKMG"[unit]}`;
}

function names(bits: number, all: readonly string[]): string[] {
  return all.filter((_, i) => (bits >> i & 1) !== 0);
}

function resultText(bits: number): string {
  return `${bits & HIT ? " hit" : ""}${bits & MISS ? " miss" : ""}`;
}

function levelText(level: number, number: number, remote: number, hops: number): string {
  const words = hops > 0 ? [] : names(level & ~(HIT | MISS), LEVELS);
  if (number > 0) words.push(LEVEL_NUMBERS[number] ?? `L${number}`);
  const before = `${remote > 0 ? "Remote " : ""}${hops > 0 ? `${HOPS[hops] ?? "(null)"} ` : ""}`;
  const text = before + words.join(" or ");
  return (text === "" ? "N/A" : text) + resultText(level);
}

function regionText(region: number): string {
  return REGIONS[region] ?? (region < 16 ? `Memory region ${region - 8}` : `Region ${region}`);
}

function tlbText(tlb: number): string {
  return (names(tlb & ~(HIT | MISS), TLBS).join(" or ") || "N/A") + resultText(tlb);
}
