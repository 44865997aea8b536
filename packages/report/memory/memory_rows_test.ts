/** Reports of a few memory accesses laid out by hand. */
import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { SymbolResolver } from "@perfdata/symbols";
import { assertEquals } from "@std/assert";
import {
  type Access,
  dataSource,
  type Mapping,
  memoryRecording,
} from "../../../tests/support/memory_recording.ts";
import type { FunctionOptions } from "../functions/function_options.ts";
import { functions } from "../functions/testing.ts";
import {
  type CacheLineOptions,
  type CacheLineReport,
  CacheLines,
  type COALESCED,
} from "./cache_lines.ts";
import { cacheLineJson, cacheLineText } from "./cache_lines_text.ts";

/** Processes 7 and 8 map the same data file; each has its own heap. */
const MAPPINGS: readonly Mapping[] = [7, 8].flatMap((pid): Mapping[] => [
  { pid, addr: 0x400000, size: 0x1000, offset: 0, path: "/nowhere/work" },
  { pid, addr: 0x700000, size: 0x1000, offset: 0, path: "/nowhere/data", data: true, shared: true },
  { pid, addr: 0x800000, size: 0x1000, offset: 0, path: "[heap]", data: true },
]);

/**
 * A load of a line that another core modified (in the last level), one from L1, and a store to L1.
 */
const HITM = dataSource({ op: 2, lvl: 2 | 64, snoop: 16 });
const LOAD = dataSource({ op: 2, lvl: 2 | 8 });
const STORE = dataSource({ op: 4, lvl: 2 | 8 });
const REMOTE = dataSource({ op: 2, lvl: 2 | 1024, snoop: 16 });

function access(
  pid: number,
  cpu: number,
  ip: number,
  addr: number,
  data_src: bigint,
  weight: number,
  more: Partial<Access> = {},
): Access {
  const parts = { var1_dw: weight, var2_w: 3, var3_w: 4 };
  return {
    ...{ pid, tid: pid + 10 * cpu, cpu, ip: BigInt(ip), addr: BigInt(addr), data_src },
    ...{ weight_struct: parts, phys_addr: 0n, data_page_size: 4096n },
    ...{ code_page_size: 2n ** 21n, ...more },
  };
}

/**
 * Four accesses to line 0x40 of the file, one to line 0x80, one to line 0x0 of each heap, and one
 * without an address.
 */
const ACCESSES: readonly Access[] = [
  access(7, 0, 0x400010, 0x700040, HITM, 100),
  access(8, 1, 0x400010, 0x700040, HITM, 300),
  access(7, 0, 0x400020, 0x70007f, STORE, 5),
  access(8, 1, 0x400010, 0x700048, REMOTE, 50),
  access(7, 0, 0x400010, 0x700080, HITM, 10),
  access(7, 0, 0x400010, 0x800004, LOAD, 7),
  access(8, 0, 0x400010, 0x800004, LOAD, 9),
  access(8, 0, 0x400010, 0, LOAD, 9),
];

const noFiles = { open: () => undefined, read: () => undefined };

async function opened(accesses = ACCESSES, littleEndian = true): Promise<PerfDataReader> {
  const bytes = await memoryRecording({ mappings: MAPPINGS, accesses, littleEndian });
  return await PerfDataReader.open(bytesSource(bytes as Uint8Array<ArrayBuffer>));
}

async function reportOf(
  options: Partial<CacheLineOptions> = {},
  by?: readonly (typeof COALESCED)[number][],
  littleEndian = true,
  accesses = ACCESSES,
): Promise<{ report: CacheLineReport; counts: CacheLines }> {
  const reader = await opened(accesses, littleEndian);
  const counts = new CacheLines(by);
  await runEngine(reader, [counts]);
  const resolver = new SymbolResolver(noFiles, { machine: {}, parameters: false });
  const report = await counts.report(resolver, {
    ...{ by: "hitm", least: 0, limit: 10, lines: false, ...options },
  });
  return { report, counts };
}

/** Removes leading zeros: code and data without a symbol have 16 digits. */
const short = (text: string): string => text.replace(/0x0+(?=[0-9a-f])/g, "0x");

/** Lines as `address object pid: records loads stores local remote`. */
function linesOf({ lines }: CacheLineReport): string[] {
  return lines.map(({ address, dso, pid, counts: c }) =>
    `${
      short(address)
    } ${dso} ${pid}: ${c.records} ${c.loads} ${c.stores} ${c.local_hitm} ${c.remote_hitm}`
  );
}

Deno.test("CacheLines: accesses to 64 bytes are one line, on a heap one line per process", async () => {
  for (const littleEndian of [true, false]) {
    const { report, counts } = await reportOf({}, undefined, littleEndian);
    assertEquals(linesOf(report), [
      "0x40 data undefined: 4 3 1 2 1",
      "0x80 data undefined: 1 1 0 1 0",
      "0x800000 [heap] 7: 1 1 0 0 0",
      "0x800000 [heap] 8: 1 1 0 0 0",
    ]);
    const { records, loads, stores, loads_without_address, l1, unmapped } = report.total;
    // The load without an address counts only in the total.
    assertEquals([records, loads, stores, loads_without_address, l1, unmapped], [8, 7, 1, 1, 2, 0]);
    assertEquals([report.lineCount, counts.hasAccesses, counts.leftOut], [4, true, 0]);
    assertEquals(
      [counts.contended("hitm"), counts.contended("local"), counts.contended("remote")],
      [
        ...[4, 3, 1],
      ],
    );
  }
});

Deno.test("CacheLines: a line's accesses are separated by offset and code, with CPUs and mean weights", async () => {
  const { report } = await reportOf();
  assertEquals(
    report.lines[0]?.accesses.map(({ offset, address, data, cpus, counts, weights, pid, tid }) => [
      ...[offset, address, short(data), cpus, counts.records],
      ...[weights.local_hitm, weights.remote_hitm, weights.loads, pid, tid],
    ]),
    [
      [0, "0x10", "0x40", [0, 1], 2, (100 + 300) / 2, 0, 0, undefined, undefined],
      [8, "0x10", "0x48", [1], 1, 0, 50, 0, undefined, undefined],
      [63, "0x20", "0x7f", [0], 1, 0, 0, 0, undefined, undefined],
    ],
  );
});

Deno.test("CacheLines: a line of the file has one physical line per 64 bytes of physical addresses", async () => {
  // The second is in the first one's line; the others differ in the upper or the lower half.
  const physical = [0x5_0000_0040n, 0x5_0000_007fn, 0x6_0000_0040n, 0x5_0000_0080n, 0n];
  const accesses = physical.map((phys_addr) =>
    access(7, 0, 0x400010, 0x700040, HITM, 1, { phys_addr })
  );
  for (const littleEndian of [true, false]) {
    const { report } = await reportOf({}, undefined, littleEndian, accesses);
    assertEquals(report.lines.map(({ physicalLines, counts }) => [physicalLines, counts.records]), [
      [3, 5],
    ]);
    // No topology tells the node of the memory.
    assertEquals(report.lines[0]?.memoryNodes, []);
  }
});

Deno.test("CacheLines: by process and thread, accesses to one offset are separated", async () => {
  const { report } = await reportOf({}, ["pid", "tid"]);
  assertEquals(
    report.lines[0]?.accesses.map(({ offset, address, dso, pid, tid, counts }) => [
      ...[offset, address, dso, pid, tid, counts.records],
    ]),
    [
      [0, undefined, undefined, 7, 7, 1],
      [0, undefined, undefined, 8, 18, 1],
      [8, undefined, undefined, 8, 18, 1],
      [63, undefined, undefined, 7, 7, 1],
    ],
  );
});

Deno.test("CacheLines: a least share, a limit and the kind of contention select the lines", async () => {
  // Of four contended loads, 0x40 has three and 0x80 one.
  assertEquals((await reportOf({ least: 0.25 })).report.lines.length, 2);
  assertEquals((await reportOf({ least: 0.26 })).report.lines.length, 1);
  const { report } = await reportOf({ limit: 1 });
  assertEquals([report.lines.length, report.lineCount], [1, 4]);
  assertEquals(linesOf((await reportOf({ by: "remote", least: 0.01 })).report), [
    "0x40 data undefined: 4 3 1 2 1",
  ]);
});

Deno.test("cacheLineText: totals, then lines with their shares, then the accesses of each line", async () => {
  const { report } = await reportOf({ limit: 2 });
  const text = cacheLineText(report, "hitm");
  assertEquals(text.slice(0, 6), [
    "8 accesses: 7 loads, 1 stores, 0 locked",
    "loads: 0 fill buffer, 2 L1, 0 L2, 0 last level, 0 remote cache, 0 local memory, 0 remote memory",
    "loads of lines that another core had modified: 3 local, 1 remote (100.00% of 1 misses of the last level)",
    "stores: 1 hit L1, 0 missed it",
    "1 without an address, 0 where nothing is mapped, 0 of no known kind",
    "",
  ]);
  const cells = text.slice(6).map((line) => short(line).trim().split(/ {2,}/).join("|"));
  assertEquals(cells, [
    "2 of 4 cache lines",
    "#|SHARE|TOTAL|LOCAL|REMOTE|RECORDS|LOADS|STORES|L1HIT|L1MISS|ADDRESS|DSO|DATA",
    "0|75.00%|3|2|1|4|3|1|1|0|0x40|data|0x40",
    "1|25.00%|1|1|0|1|1|0|0|0|0x80|data|0x80",
    "",
    "line 0: 0x40 data",
    "REMOTE%|LOCAL%|L1HIT%|L1MISS%|RMTCYC|LCLCYC|LOADCYC|RECORDS|CPUS|OFFSET|NODES|DATA|ADDRESS|SYM|DSO",
    "0.00|100.00|0.00|0.00|0|200|0|2|2|0x0|-|0x40|0x10|0x10|work",
    "100.00|0.00|0.00|0.00|50|0|0|1|1|0x8|-|0x48|0x10|0x10|work",
    "0.00|0.00|100.00|0.00|0|0|0|1|1|0x3f|-|0x7f|0x20|0x20|work",
    "",
    "line 1: 0x80 data",
    "REMOTE%|LOCAL%|L1HIT%|L1MISS%|RMTCYC|LCLCYC|LOADCYC|RECORDS|CPUS|OFFSET|NODES|DATA|ADDRESS|SYM|DSO",
    "0.00|100.00|0.00|0.00|0|10|0|1|1|0x0|-|0x80|0x10|0x10|work",
  ]);
  const first = report.lines[0];
  if (first === undefined) throw new Error("no line");
  const json = cacheLineJson(first, 3);
  assertEquals([json["line"], json["dso"], json["memory_nodes"]], [3, "data", []]);
});

/** Rows of functions as key, samples and period. */
async function rows(sort: FunctionOptions["sort"], accesses = ACCESSES, littleEndian = true) {
  const found = await functions(await opened(accesses, littleEndian), { sort: sort ?? [] });
  return found.map((row) => [...(sort ?? []).map((key) => row[key]), row.samples]);
}

Deno.test("funcs by memory: keys have the samples' level, snoop, weights, lines and pages", async () => {
  for (const littleEndian of [true, false]) {
    const of = (...sort: NonNullable<FunctionOptions["sort"]>) =>
      rows(sort, ACCESSES, littleEndian);
    const sorted = async (key: "mem" | "snoop" | "tlb" | "locked" | "dcacheline" | "phys_daddr") =>
      (await of(key)).map(([text, count]) => `${short(String(text))}: ${count}`).sort();
    assertEquals(await sorted("mem"), ["L1 hit: 4", "L3 hit: 3", "Remote Cache (1 hop) hit: 1"]);
    assertEquals(await sorted("snoop"), ["HitM: 4", "N/A: 4"]);
    assertEquals(await sorted("tlb"), ["N/A: 8"]);
    assertEquals(await sorted("locked"), ["No: 8"]);
    assertEquals(await sorted("dcacheline"), ["0x0: 1", "0x40: 4", "0x800000: 2", "0x80: 1"]);
    assertEquals(await sorted("phys_daddr"), ["0x0: 8"]);
    // The sum of two samples of weight 9.
    assertEquals((await of("weight")).slice(0, 2), [[18, 2], [5, 1]]);
    assertEquals(await of("local_weight"), [
      ...[[9, 2], [5, 1], [7, 1], [10, 1], [50, 1], [100, 1], [300, 1]],
    ]);
    assertEquals(await of("local_ins_lat", "local_retire_lat"), [[3, 4, 8]]);
    assertEquals(await of("data_page_size"), [["4K", 8]]);
    assertEquals(await of("code_page_size"), [["2M", 8]]);
    assertEquals(await of("addr"), [["0x400010", 7], ["0x400020", 1]]);
    assertEquals(await of("dso_daddr"), [["data", 5], ["[heap]", 2], ["[unknown]", 1]]);
  }
});
