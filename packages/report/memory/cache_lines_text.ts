import { markedName } from "@perfdata/profile";
import { alignedRows, visible } from "@perfdata/format/bytes";
import { percentText } from "../functions/function_text.ts";
import type { ACCESS_WEIGHTS, AccessCounter } from "./access_stats.ts";
import {
  type AccessSums,
  type CacheLine,
  type CacheLineReport,
  CONTENTION,
  type LineAccess,
} from "./cache_lines.ts";

const LINE_COLUMNS: readonly (readonly [title: string, counter: AccessCounter])[] = [
  ["LOCAL", "local_hitm"],
  ["REMOTE", "remote_hitm"],
  ["PEER", "local_peer"],
  ["RMTPEER", "remote_peer"],
  ["RECORDS", "records"],
  ["LOADS", "loads"],
  ["STORES", "stores"],
  ["L1HIT", "stores_l1_hit"],
  ["L1MISS", "stores_l1_miss"],
];

/** Columns of an access: shares of the line's counters. */
const SHARES: readonly (readonly [title: string, counter: AccessCounter])[] = [
  ["REMOTE%", "remote_hitm"],
  ["LOCAL%", "local_hitm"],
  ["PEER%", "local_peer"],
  ["RMTPEER%", "remote_peer"],
  ["L1HIT%", "stores_l1_hit"],
  ["L1MISS%", "stores_l1_miss"],
];

/** Columns of an access: mean weights. */
const WEIGHTS: readonly (readonly [title: string, counter: typeof ACCESS_WEIGHTS[number]])[] = [
  ["RMTCYC", "remote_hitm"],
  ["LCLCYC", "local_hitm"],
  ["RPRCYC", "remote_peer"],
  ["LPRCYC", "local_peer"],
  ["LOADCYC", "loads"],
];

function contention(counts: AccessSums, by: keyof typeof CONTENTION): number {
  return CONTENTION[by].reduce((sum, name) => sum + counts[name], 0);
}

/**
 * Formats a report of cache lines: a summary of all accesses, the lines, and the accesses of each
 * line.
 *
 * @param by Kind of contention.
 *
 * @example
 * ```ts
 * import { ACCESS_COUNTERS, type AccessSums, cacheLineText } from "@perfdata/report/contention";
 * import { assertEquals } from "@std/assert";
 *
 * const total = Object.fromEntries(ACCESS_COUNTERS.map((name) => [name, 0])) as AccessSums;
 * const [first] = cacheLineText({ total, lines: [], lineCount: 0, trust: undefined }, "hitm");
 * assertEquals(first, "0 accesses: 0 loads, 0 stores, 0 locked");
 * ```
 */
export function cacheLineText(
  { total, lines, lineCount }: CacheLineReport,
  by: keyof typeof CONTENTION,
): string[] {
  const all = contention(total, by);
  const misses = total.local_dram + total.remote_dram + total.remote_hit + total.remote_hitm;
  const share = (part: number, of: number) => percentText(of === 0 ? 0 : part / of);
  const text = [
    `${total.records} accesses: ${total.loads} loads, ${total.stores} stores, ${total.locked} locked`,
    `loads: ${total.fill_buffer} fill buffer, ${total.l1} L1, ${total.l2} L2, ${total.llc} last level, ` +
    `${total.remote_hit} remote cache, ${total.local_dram} local memory, ${total.remote_dram} remote memory`,
    `loads of lines that another core had modified: ${total.local_hitm} local, ${total.remote_hitm} remote ` +
    `(${share(total.remote_hitm, misses)}% of ${misses} misses of the last level)`,
    `stores: ${total.stores_l1_hit} hit L1, ${total.stores_l1_miss} missed it`,
  ];
  const without = total.loads_without_address + total.stores_without_address;
  if (without + total.unmapped + total.unknown > 0) {
    text.push(
      `${without} without an address, ${total.unmapped} where nothing is mapped, ${total.unknown} of no known kind`,
    );
  }
  // Without peers, their columns are dropped.
  const isKept = ([, name]: readonly [string, AccessCounter]) =>
    !name.endsWith("_peer") || total[name] > 0;
  const lineColumns = LINE_COLUMNS.filter(isKept);
  const shares = SHARES.filter(isKept);
  const weights = WEIGHTS.filter(isKept);
  const hasPhysical = lines.some(({ physicalLines }) => physicalLines > 0);
  text.push("", `${lines.length} of ${lineCount} cache lines`);
  if (lines.length === 0) return text;
  text.push(...alignedRows([
    [
      ...["#", "SHARE", "TOTAL", ...lineColumns.map(([title]) => title)],
      ...(hasPhysical ? ["PHYS", "NODE"] : []),
      ...["ADDRESS", "DSO", "DATA"],
    ],
    ...lines.map((line, i) => [
      String(i),
      `${share(contention(line.counts, by), all)}%`,
      String(contention(line.counts, by)),
      ...lineColumns.map(([, name]) => String(line.counts[name])),
      ...(hasPhysical ? [String(line.physicalLines), line.memoryNodes.join(",") || "-"] : []),
      line.address,
      lineObject(line),
      visible(dataOf(line)),
    ]),
  ], (column) => column >= 3 + lineColumns.length + (hasPhysical ? 1 : 0)));
  for (const [i, line] of lines.entries()) {
    text.push("", `line ${i}: ${line.address} ${lineObject(line)}`);
    const hasCode = line.accesses.some(({ sym }) => sym !== undefined);
    text.push(...alignedRows([
      [
        ...shares.map(([title]) => title),
        ...weights.map(([title]) => title),
        ...["RECORDS", "CPUS", "OFFSET", "NODES", "DATA"],
        ...(hasCode ? ["ADDRESS", "SYM"] : []),
        ...["DSO", "SRCLINE", "PID", "TID"].filter((title) => isShown(line, title)),
      ],
      ...line.accesses.map((access) => [
        ...shares.map(([, name]) => share(access.counts[name], line.counts[name])),
        ...weights.map(([, name]) => access.weights[name].toFixed(0)),
        String(access.counts.records),
        String(access.cpus.length),
        `0x${access.offset.toString(16)}`,
        access.nodes.join(",") || "-",
        visible(dataText(access)),
        ...(hasCode ? [access.address ?? "", visible(symText(access))] : []),
        ...[access.dso, access.srcline, access.pid, access.tid].flatMap((value) =>
          value === undefined ? [] : [visible(String(value))]
        ),
      ]),
    ], (column) => column >= shares.length + weights.length + 3));
  }
  return text;
}

function isShown({ accesses: [first] }: CacheLine, title: string): boolean {
  const values = { DSO: first?.dso, SRCLINE: first?.srcline, PID: first?.pid, TID: first?.tid };
  return values[title as keyof typeof values] !== undefined;
}

function lineObject({ dso, pid }: CacheLine): string {
  return visible(pid === undefined ? dso : `${dso} of process ${pid}`);
}

function dataOf({ accesses }: CacheLine): string {
  let most: LineAccess | undefined;
  for (const access of accesses) {
    if (most === undefined || access.counts.records > most.counts.records) most = access;
  }
  return most === undefined ? "" : dataText(most);
}

function dataText({ data, verified_data: verified }: LineAccess): string {
  return markedName(verified === false ? { name: data, verified } : { name: data });
}

function symText({ sym, verified }: LineAccess): string {
  if (sym === undefined) return "";
  return markedName(verified === false ? { name: sym, verified } : { name: sym });
}

/** A line as a JSON value. */
export function cacheLineJson(line: CacheLine, number: number): Record<string, unknown> {
  return {
    line: number,
    ...{ dso: line.dso, address: line.address, pid: line.pid },
    ...{ memory_nodes: line.memoryNodes, physical_lines: line.physicalLines, counts: line.counts },
    accesses: line.accesses,
  };
}
