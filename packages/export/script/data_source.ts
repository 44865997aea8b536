// Bits of `perf_mem_data_src` (include/uapi/linux/perf_event.h) and the words that perf has for them
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
  9: "CXL",
  10: "I/O",
  11: "Any cache",
  12: "LFB/MAB",
  13: "RAM",
  14: "PMEM",
  15: "N/A",
};
const HOPS = ["N/A", "core, same node", "node, same socket", "socket, same board", "board"];
const SNOOPS = ["N/A", "None", "Hit", "Miss", "HitM"];
const SNOOPS_X = ["Fwd", "Peer"];
const TLBS = ["N/A", "HIT", "MISS", "L1", "L2", "Walker", "Fault"];
/** Bits of a level and of a TLB that say how it went. */
const HIT = 2;
const MISS = 4;

/**
 * Where the data of a sampled access came from, as `perf script -F data_src` says it.
 *
 * @example
 * ```ts
 * import { dataSourceText } from "./data_source.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   dataSourceText(0x68100142n),
 *   "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A",
 * );
 * ```
 */
export function dataSourceText(source: bigint): string {
  const bits = (from: number, count: number) =>
    Number(source >> BigInt(from) & (1n << BigInt(count)) - 1n);
  const snoops = [...names(bits(19, 5), SNOOPS), ...names(bits(38, 2), SNOOPS_X)];
  const lock = bits(24, 2);
  const blocked = bits(40, 3);
  const block = blocked === 0 || (blocked & 1) !== 0
    ? " N/A"
    : `${blocked & 2 ? " Data" : ""}${blocked & 4 ? " Addr" : ""}`;
  const [op = "No"] = names(bits(0, 5), OPS);
  return `|OP ${op}` +
    `|LVL ${levelText(bits(5, 14), bits(33, 4), bits(37, 1), bits(43, 3))}` +
    `|SNP ${snoops.join(" or ") || "N/A"}` +
    `|TLB ${tlbText(bits(26, 7))}` +
    `|LCK ${lock & 1 ? "N/A" : lock & 2 ? "Yes" : "No"}` +
    `|BLK ${block}`;
}

function names(bits: number, of: readonly string[]): string[] {
  return of.filter((_, i) => (bits >> i & 1) !== 0);
}

function howItWent(bits: number): string {
  return `${bits & HIT ? " hit" : ""}${bits & MISS ? " miss" : ""}`;
}

function levelText(level: number, number: number, remote: number, hops: number): string {
  const words = hops > 0 ? [] : names(level & ~(HIT | MISS), LEVELS);
  if (number > 0) words.push(LEVEL_NUMBERS[number] ?? `L${number}`);
  const before = `${remote > 0 ? "Remote " : ""}${hops > 0 ? `${HOPS[hops] ?? "(null)"} ` : ""}`;
  const text = before + words.join(" or ");
  return (text === "" ? "N/A" : text) + howItWent(level);
}

function tlbText(tlb: number): string {
  return (names(tlb & ~(HIT | MISS), TLBS).join(" or ") || "N/A") + howItWent(tlb);
}
