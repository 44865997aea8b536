/** Contended cache lines, compared with `perf c2c report`. */
import type { Feature } from "@perfdata/format/features";
import {
  HEADER_MEM_TOPOLOGY,
  HEADER_NRCPUS,
  HEADER_NUMA_TOPOLOGY,
} from "@perfdata/format/constants";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Numbers } from "../../fixtures/synthesize/recording.ts";
import { ignored } from "../support/ignored.ts";
import {
  type Access,
  dataSource,
  type Mapping,
  memoryRecording,
} from "../support/memory_recording.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Size of a block of memory; each node has one. */
const BLOCK = 1n << 27n;
const NUMA_NODES = [{ node: 0, cpus: "0-1" }, { node: 1, cpus: "2-3" }];

const FEATURES = [
  { id: HEADER_NRCPUS, name: "NRCPUS", value: { nr_cpus_avail: 4, nr_cpus_online: 4 } },
  {
    id: HEADER_NUMA_TOPOLOGY,
    name: "NUMA_TOPOLOGY",
    value: {
      nodes: NUMA_NODES.map((node) => ({ ...node, mem_total: 1000n, mem_free: 10n })),
    },
  },
  {
    id: HEADER_MEM_TOPOLOGY,
    name: "MEM_TOPOLOGY",
    value: {
      version: 1n,
      block_size_bytes: BLOCK,
      nodes: [0n, 1n].map((node) => ({ node, size: 2n, nbits: 2n, set: [1n << node] })),
    },
  },
] as unknown as Feature[];

/** Physical address of a line: in either node, one line in both, some unknown. */
function physicalOf(addr: number, isFirst: boolean): bigint {
  const line = addr & -64;
  if (line === 0 || line === 0x800040) return 0n;
  const node = line === 0x700000 ? isFirst : (line >> 8 & 1) === 1;
  return BigInt(line) + (node ? BLOCK : 0n);
}

/** Files are mapped at their offsets, since perf prints addresses of the process. */
const MAPPINGS: readonly Mapping[] = [7, 8].flatMap((pid) => [
  { pid, addr: 0x400000, size: 0x4000, offset: 0x400000, path: "/nowhere/work" },
  {
    ...{ pid, addr: 0x700000, size: 0x4000, offset: 0x700000, path: "/nowhere/data" },
    ...{ data: true, shared: true },
  },
  { pid, addr: 0x800000, size: 0x4000, offset: 0, path: "[heap]", data: true },
]);

const HIT = 2, MISS = 4;
const LOADS = [
  { lvl: HIT | 8 },
  { lvl: HIT | 16 },
  { lvl: HIT | 32 },
  { lvl: HIT | 64 },
  { lvl: MISS | 64 },
  { lvl: HIT | 128 },
  { lvl: HIT | 256 },
  { lvl: HIT | 1024 },
  { lvl: HIT | 2048, remote: 1 },
  { lvl: HIT | 64, remote: 1, hops: 1 },
  { lvl: HIT | 4096 },
  { lvl: HIT | 8192 },
  { lvl: 1 },
];
const STORES = [{ lvl: HIT | 8 }, { lvl: MISS | 8 }, { lvl: 1 }, { lvl: HIT | 8192 }];

function accesses(count: number, snoops: readonly object[]): Access[] {
  const numbers = new Numbers(6);
  const any = <T>(list: readonly T[]): T => list[numbers.below(list.length)] as T;
  return Array.from({ length: count }, (): Access => {
    const pid = any([7, 8]);
    const op = any([2, 2, 2, 4, 4, 8]);
    const weight = numbers.below(500);
    // Unmapped addresses belong to one process here, since perf merges them.
    const addr = any([
      ...[0x700010, 0x700018, 0x700018, 0x700050, 0x700100, 0x800010, 0x800048, 0],
      ...(pid === 7 ? [0x900000] : []),
    ]);
    return {
      ...{ pid, tid: pid + 10 * numbers.below(2), cpu: numbers.below(4), addr: BigInt(addr) },
      ip: BigInt(any([0x401000, 0x401010, 0x401100])),
      weight: BigInt(weight),
      weight_struct: { var1_dw: weight, var2_w: 1, var3_w: 2 },
      data_src: dataSource({
        ...{ op, lock: any([0, 0, 2]), blk: any([0, 1, 2, 4]) },
        ...(op === 4 ? any(STORES) : { ...any(LOADS), ...any(snoops) }),
      }),
      ...{ phys_addr: physicalOf(addr, pid === 7), data_page_size: 4096n, code_page_size: 4096n },
    };
  });
}

/** perf's counters of all accesses, with ours. */
const TOTALS: Readonly<Record<string, readonly string[]>> = {
  "Total records": ["records"],
  "Locked Load/Store Operations": ["locked"],
  "Load Operations": ["loads"],
  "Loads - uncacheable": ["loads_uncached"],
  "Loads - IO": ["loads_io"],
  "Loads - Miss": ["loads_miss"],
  "Loads - no mapping": ["loads_without_address"],
  "Load Fill Buffer Hit": ["fill_buffer"],
  "Load L1D hit": ["l1"],
  "Load L2D hit": ["l2"],
  "Load LLC hit": ["llc", "local_hitm"],
  "Load Local HITM": ["local_hitm"],
  "Load Remote HITM": ["remote_hitm"],
  "Load Remote HIT": ["remote_hit"],
  "Load Local DRAM": ["local_dram"],
  "Load Remote DRAM": ["remote_dram"],
  "Load MESI State Exclusive": ["exclusive"],
  "Load MESI State Shared": ["shared"],
  "Load access blocked by data": ["blocked_data"],
  "Load access blocked by address": ["blocked_address"],
  "Load HIT Local Peer": ["local_peer"],
  "Load HIT Remote Peer": ["remote_peer"],
  "Store Operations": ["stores"],
  "Store - uncacheable": ["stores_uncached"],
  "Store - no mapping": ["stores_without_address"],
  "Store L1D Hit": ["stores_l1_hit"],
  "Store L1D Miss": ["stores_l1_miss"],
  "Store No available memory level": ["stores_no_level"],
  "No Page Map Rejects": ["unmapped"],
  "Unable to parse data source": ["unknown"],
};

/** Columns of a line that perf prints after its shares. */
const COLUMNS = [
  ...["stores", "stores_l1_hit", "stores_l1_miss", "stores_no_level"],
  ...["fill_buffer", "l1", "l2", "llc", "local_hitm", "remote_hit", "remote_hitm"],
  ...["local_dram", "remote_dram"],
];

/** Levels of loads in perf; a load may have two. */
const LOADS_OF_PERF = [
  ...["local_dram", "remote_dram", "remote_hitm", "remote_hit", "fill_buffer", "l1", "l2", "llc"],
  "local_hitm",
];
/** The same, for a line's total. */
const RECORDS_OF_PERF = [
  ...LOADS_OF_PERF,
  ...["stores_l1_hit", "stores_l1_miss", "stores_no_level"],
];

/** Rounds as C does: ties to even. */
function rounded(value: number, digits: number): string {
  const scaled = value * 10 ** digits;
  const isMiddle = scaled % 1 === 0.5;
  const whole = isMiddle ? 2 * Math.round(scaled / 2) : Math.round(scaled);
  return (whole / 10 ** digits).toFixed(digits);
}

interface Line {
  /** Numbers of the line. */
  readonly line: string;
  /** Accesses to the line. */
  readonly accesses: readonly string[];
}

interface Report {
  readonly totals: Readonly<Record<string, number>>;
  readonly lines: readonly Line[];
}

/**
 * perf counts changes of accesses' physical addresses; numbers above one are not the number of
 * addresses.
 */
function few(count: unknown): string {
  return Number(count) > 1 ? "several" : String(count);
}

async function perfReport(path: string, by: string, coalesce: string): Promise<Report> {
  const output = await perfText(
    ["c2c", "report", "--stdio", "--no-source", "-d", by, "-c", coalesce],
    path,
  );
  assertEquals(output?.code, 0, output?.stderr);
  const text = (output?.stdout ?? "").split("\n");
  const totals: Record<string, number> = {};
  const lines: { line: string; accesses: string[] }[] = [];
  let current = -1;
  for (const line of text) {
    const [, name, value] = /^ {2}(\S.*?) +: +(\d+)$/.exec(line) ?? [];
    if (name !== undefined && name in TOTALS) totals[name] = Number(value);
    if (line.includes("Distribution Pareto")) current = 0;
    const cells = line.trim().split(/ +/);
    if (current < 0 && /^ +\d+ +0x/.test(line)) {
      // Index, address, node, PA count, share, then numbers, the first three of the contention.
      const [, address, node, physical] = cells;
      lines.push({
        line: `${address} ${node} ${few(physical)} ${cells.slice(8).join(" ")}`,
        accesses: [],
      });
    } else if (/^ +\d+ .* 0x\w+$/.test(line)) current = Number(cells[0]);
    else if (/^ +[\d.]+% /.test(line)) {
      const shares = cells.filter((cell) => cell.endsWith("%"));
      const rest = cells.slice(shares.length);
      const [offset, , , ...more] = rest;
      const [code = "", ...after] = more.filter((cell) => cell.startsWith("0x"));
      void after;
      const from = more.indexOf(code);
      const pid = from > 0 ? more.slice(0, from).join(" ") : "";
      const at = more.findIndex((cell) => /^\[.\]$/.test(cell));
      const numbers = more.slice(from + 1, at).join(" ");
      const [, dso, ...nodes] = more.slice(at + 1);
      lines[current]?.accesses.push(
        [shares.join(" "), offset, pid, code, numbers, dso, nodes.join(",")].join(" | "),
      );
    }
  }
  return { totals, lines };
}

const CONTENTION: Readonly<Record<string, readonly string[]>> = {
  tot: ["local_hitm", "remote_hitm"],
  lcl: ["local_hitm"],
  rmt: ["remote_hitm"],
  peer: ["local_peer", "remote_peer"],
};
const OWN_WORDS: Readonly<Record<string, string>> = {
  ...{ tot: "hitm", lcl: "local", rmt: "remote", peer: "peer" },
};

async function ownReport(
  path: string,
  by: string,
  coalesce: string,
  ...more: string[]
): Promise<Report> {
  const { code, out, err } = await tool("c2c", [
    ...["--json", "--display", OWN_WORDS[by] ?? "", "--coalesce", coalesce, ...more, path],
  ]);
  assertEquals(code, 0, err);
  const [first, ...rest] = out.trimEnd().split("\n").map((line) => JSON.parse(line));
  const sum = (counts: Record<string, number>, names: readonly string[]) =>
    names.reduce((all, name) => all + (counts[name] ?? NaN), 0);
  const totals = Object.fromEntries(
    Object.entries(TOTALS).map(([name, parts]) => [name, sum(first.total, parts)]),
  );
  const lines = rest.map(({ address, counts, accesses, memory_nodes, physical_lines }): Line => {
    const percent = (part: number, of: number) => `${rounded(of === 0 ? 0 : 100 * part / of, 2)}%`;
    const shares = by === "peer" ? ["remote_peer", "local_peer"] : ["remote_hitm", "local_hitm"];
    const stores = ["stores_l1_hit", "stores_l1_miss", "stores_no_level"];
    const kept = accesses.filter(({ counts }: { counts: Record<string, number> }) =>
      sum(counts, CONTENTION[by] ?? []) > 0 || (counts["stores"] ?? 0) > 0
    );
    return {
      line: [
        `0x${BigInt(address).toString(16)}`,
        ...[memory_nodes.join("-") || "N/A", few(physical_lines)],
        ...[sum(counts, RECORDS_OF_PERF), sum(counts, LOADS_OF_PERF)],
        ...COLUMNS.map((name) => counts[name]),
      ].join(" "),
      accesses: kept.map((row: Record<string, unknown>) => {
        const own = row["counts"] as Record<string, number>;
        const weights = row["weights"] as Record<string, number>;
        const cpus = row["cpus"] as number[];
        return [
          [...shares, ...stores].map((name) => percent(own[name] ?? 0, counts[name])).join(" "),
          `0x${(row["offset"] as number).toString(16)}`,
          [row["pid"], row["tid"]].filter((id) => id !== null).join(" "),
          row["address"],
          [...shares, "loads"].map((name) => rounded(weights[name] ?? NaN, 0)).concat(
            String(sum(own, RECORDS_OF_PERF)),
            String(cpus.length),
          ).join(" "),
          row["dso"],
          (row["nodes"] as number[]).join(","),
        ].join(" | ");
      }),
    };
  });
  return { totals, lines };
}

Deno.test({
  name: "c2c: totals, cache lines and their accesses equal those of perf c2c report",
  ...ignored(noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      let [lines, rows] = [0, 0];
      const peers = [{ snoop: 2 }, { snoop: 4 }, { snoop: 16 }, { snoop: 0, snoopx: 2 }];
      const path = `${folder}/c2c.data`;
      Deno.writeFileSync(
        path,
        await memoryRecording({
          ...{ mappings: MAPPINGS, accesses: accesses(2500, peers), features: FEATURES },
        }),
      );
      for (
        const [by, coalesce] of [["tot", "iaddr"], ["lcl", "iaddr"], ["rmt", "iaddr"]]
          .concat([["peer", "iaddr"], ["tot", "pid,iaddr"]])
      ) {
        const ours = await ownReport(path, by ?? "", coalesce ?? "");
        const theirs = await perfReport(path, by ?? "", coalesce ?? "");
        assertEquals(ours?.totals, theirs?.totals, by);
        const two = await ownReport(path, by ?? "", coalesce ?? "", "--jobs", "2");
        assertEquals(two, ours, "two threads");
        // Equally contended lines may be in any order.
        const sorted = (report: Report | undefined) =>
          report?.lines.map(({ line, accesses }) => ({ line, accesses: [...accesses].sort() }))
            .sort((a, b) => a.line < b.line ? -1 : 1);
        assertEquals(sorted(ours), sorted(theirs), `${by} ${coalesce}`);
        lines += ours?.lines.length ?? 0;
        rows += ours?.lines.reduce((sum, { accesses }) => sum + accesses.length, 0) ?? 0;
      }
      console.log(`c2c: ${lines} cache lines and ${rows} accesses are those of perf`);
      assert(lines >= 30 && rows >= 100, `${lines} lines, ${rows} accesses`);
    }),
});

Deno.test("c2c: lines of a file are shared, those of a heap are not; text, pipes and wrong words", () =>
  inFolder(async (folder) => {
    const load = (pid: number, addr: bigint, cpu: number): Access => ({
      ...{ pid, tid: pid, ip: 0x401000n, cpu, addr, phys_addr: 0n },
      ...{ weight_struct: { var1_dw: 100, var2_w: 0, var3_w: 0 } },
      ...{ data_page_size: 0n, code_page_size: 0n },
      data_src: dataSource({ op: 2, lvl: HIT | 64, snoop: 16 }),
    });
    const recording = await memoryRecording({
      mappings: MAPPINGS,
      accesses: [
        ...[load(7, 0x700010n, 0), load(8, 0x700018n, 2), load(8, 0x700018n, 3)],
        ...[load(7, 0x800010n, 0), load(8, 0x800010n, 2)],
      ],
      features: FEATURES,
    });
    for (const endian of ["little", "big"]) {
      const path = `${folder}/${endian}.data`;
      Deno.writeFileSync(path, recording);
      if (endian === "big") {
        const { code, err } = await tool("convert", [
          ...["--byte-order", "big", `${folder}/little.data`, "-o", path, "--force"],
        ]);
        assertEquals(code, 0, err);
      }
      const { code, out } = await tool("c2c", ["--json", path]);
      assertEquals(code, 0);
      const [, ...lines] = out.trimEnd().split("\n").map((line) => JSON.parse(line));
      assertEquals(
        lines.map(({ dso, pid, counts }) => [dso, pid, counts.local_hitm]),
        [["data", null, 3], ["[heap]", 7, 1], ["[heap]", 8, 1]],
        endian,
      );
      assertEquals(
        lines[0].accesses.map((row: Record<string, unknown>) => [
          ...[row["offset"], row["cpus"], row["nodes"]],
          (row["weights"] as Record<string, number>)["local_hitm"],
        ]),
        [[0x10, [0], [0], 100], [0x18, [2, 3], [1], 100]],
      );
    }
    const path = `${folder}/little.data`;
    const { out } = await tool("c2c", ["--limit", "1", path]);
    assertStringIncludes(out, "5 local, 0 remote");
    assertStringIncludes(out, "1 of 3 cache lines");
    const one = await tool("c2c", ["--pid", "8", "--percent-limit", "0", "--json", path]);
    assertEquals(one.out.trimEnd().split("\n").length, 3);
    for (const args of [["--display", "x"], ["--coalesce", "iaddr,x"], ["--percent-limit", "-1"]]) {
      const { code, err } = await tool("c2c", [...args, path]);
      assertEquals(code, 2, args.join(" "));
      assertEquals(err.trim().split("\n").length, 1, err);
    }
    const without = await tool("c2c", [`${root}fixtures/recorded/callchain.perf.data`]);
    assertEquals([without.code, without.out], [1, ""]);
    assertStringIncludes(without.err, "perf c2c record records them");
  }));
