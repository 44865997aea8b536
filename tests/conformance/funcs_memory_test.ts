/** Memory accesses counted by data, compared with `perf report --mem-mode`. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Numbers } from "../../fixtures/synthesize/recording.ts";
import { found, run, segments } from "../support/branch_recording.ts";
import { corpusFiles } from "../support/corpus.ts";
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
const SEPARATOR = "\x01";

const ALL = "mem,snoop,tlb,locked,blocked";
const KEYS = [
  ALL,
  "local_weight",
  "mem,symbol_daddr,dso_daddr",
  "sym,dso_daddr,snoop",
  "comm,dso,mem",
  "symbol_daddr",
  "symbol_iaddr,mem",
  "dso_daddr,dcacheline",
  "local_ins_lat,mem",
  "phys_daddr,data_page_size",
  "code_page_size,locked",
];

/** Adds up rows with the same text: perf has a row per address in a process. */
function sums(rows: readonly { key: string; samples: number; overhead: string }[]): string[] {
  const all = new Map<string, number>();
  for (const { key, samples } of rows) all.set(key, (all.get(key) ?? 0) + samples);
  return [...all].map(([key, samples]) => `${samples}\t${key}`).sort();
}

/** The object's address for a process's address, which perf prints for unnamed data. */
type ToObject = (address: string) => string;

async function perfRows(path: string, keys: string, kallsyms: string, toObject: ToObject) {
  const names = keys.split(",");
  const output = await perfText([
    ...["report", "--mem-mode", "--stdio", "-F", `overhead,sample,${names.join()}`],
    ...["-t", SEPARATOR, "-w", Array(2 + names.length).fill(200).join(), "--kallsyms", kallsyms],
  ], path);
  assertEquals(output?.code, 0, `${path}: ${output?.stderr}`);
  const rows = [];
  for (const line of (output?.stdout ?? "").split("\n")) {
    if (line.startsWith("#") || !line.includes(SEPARATOR)) continue;
    const [overhead = "", samples = "", ...cells] = line.split(SEPARATOR);
    const key = cells.map((cell, i) => {
      // Level of the accessing code, not of the data.
      const text = cell.trim().replace(/^\[.\] /, "");
      if (!/daddr|iaddr|dcacheline/.test(names[i] ?? "") || names[i] === "dso_daddr") return text;
      const hex = text.replace(/^([0-9a-f]{16})$/, "0x$1");
      return names[i]?.startsWith("symbol_") ? toObject(hex) : hex;
    }).join("\t");
    rows.push({ key, samples: Number(samples), overhead: overhead.trim() });
  }
  return rows;
}

async function ownRows(path: string, keys: string, kallsyms: string, ...more: string[]) {
  const { code, out, err } = await tool("funcs", [
    ...["--mem", "--sort", keys, "--json", "--kallsyms", kallsyms, ...more, path],
  ]);
  assertEquals(code, 0, err);
  return out.trimEnd().split("\n").map((line) => {
    const row = JSON.parse(line);
    const key = keys.split(",").map((key) => String(row[key]).trim()).join("\t");
    return { key, samples: Number(row.samples), overhead: `${Number(row.overhead).toFixed(2)}%` };
  });
}

/**
 * Memory levels as processors report them. perf merges those that differ only in their number, and
 * shows one.
 */
const LEVELS = [
  { lvl: 1 | 0 },
  { lvl: 2 | 8, num: 1 },
  { lvl: 2 | 16, num: 12 },
  { lvl: 2 | 32, num: 2 },
  { lvl: 2 | 64, num: 3 },
  { lvl: 4 | 64 },
  { lvl: 2 | 128, num: 13 },
  { lvl: 2 | 256, num: 13, remote: 1 },
  { lvl: 2 | 1024, remote: 1, num: 4, hops: 1 },
  { lvl: 4096 },
];

function accesses(numbers: Numbers, data: readonly number[], code: readonly number[]): Access[] {
  const sizes = [0n, 4096n, 2n << 20n, 1n << 30n];
  const any = <T>(list: readonly T[]): T => list[numbers.below(list.length)] as T;
  return Array.from({ length: 500 }, (): Access => {
    const pid = any([7, 8]);
    return {
      ...{ pid, tid: pid, ip: BigInt(any(code)), cpu: numbers.below(4) },
      addr: BigInt(any(data)),
      weight: BigInt(numbers.below(5) * 100),
      weight_struct: {
        ...{ var1_dw: numbers.below(5) * 100, var2_w: numbers.below(3), var3_w: numbers.below(3) },
      },
      data_src: dataSource({
        ...{ op: any([2, 4]), ...any(LEVELS), snoop: any([1, 2, 4, 8, 16]), lock: any([1, 0, 2]) },
        ...{ tlb: any([1, 2 | 8, 2 | 16, 4 | 32]), blk: any([0, 1, 2, 4, 6]) },
      }),
      phys_addr: BigInt(numbers.below(5)) << 33n,
      data_page_size: any(sizes),
      code_page_size: any(sizes),
    };
  });
}

/** Compares all lists of keys. Returns the number of rows. */
async function compare(path: string, kallsyms: string, toObject: ToObject): Promise<number> {
  let rows = 0;
  for (const keys of KEYS) {
    const ours = await ownRows(path, keys, kallsyms);
    const theirs = await perfRows(path, keys, kallsyms, toObject);
    assertEquals(sums(ours), sums(theirs), keys);
    if (ours.length === theirs.length) {
      // Shares are shares of weights.
      const shares = (all: typeof ours) =>
        all.map(({ key, overhead }) => `${key}\t${overhead}`).sort();
      assertEquals(shares(ours), shares(theirs), keys);
    }
    assertEquals(await ownRows(path, keys, kallsyms, "--jobs", "2"), ours, "two threads");
    rows += ours.length;
  }
  return rows;
}

Deno.test({
  name: "funcs --mem: accesses are counted as in perf report --mem-mode",
  ...ignored(noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      const kallsyms = `${folder}/kallsyms`;
      Deno.writeTextFileSync(kallsyms, "");
      const mappings: Mapping[] = [7, 8].flatMap((pid) => [
        { pid, addr: 0x400000, size: 0x4000, offset: 0, path: "/nowhere/work" },
        { pid, addr: 0x700000, size: 0x4000, offset: 0x1000, path: "/nowhere/data", data: true },
        { pid, addr: 0x800000, size: 0x4000, offset: 0, path: "[heap]", data: true },
      ]);
      const data = [0, 0x700010, 0x700018, 0x700050, 0x800010, 0x800048, 0x900000];
      const toObject = (text: string) =>
        text.replace(/^0x00000000007000/, "0x00000000000010")
          .replace(/^0x0000000000401/, "0x0000000000001");
      let rows = 0;
      for (const isStruct of [true, false]) {
        const list = accesses(new Numbers(4), data, [0x401000, 0x401010]);
        const path = `${folder}/${isStruct}.data`;
        Deno.writeFileSync(path, await memoryRecording({ mappings, accesses: list, isStruct }));
        rows += await compare(path, kallsyms, toObject);
        if (!isStruct) continue;
        // The same for a machine of the other byte order.
        const big = `${folder}/${isStruct}-be.data`;
        Deno.writeFileSync(
          big,
          await memoryRecording({ mappings, accesses: list, isStruct, littleEndian: false }),
        );
        for (const keys of KEYS) {
          assertEquals(
            await ownRows(big, keys, kallsyms),
            await ownRows(path, keys, kallsyms),
            `${keys}, big-endian`,
          );
        }
      }
      console.log(`funcs --mem: ${rows} rows are those of perf`);
      assert(rows > 500, `${rows} rows`);
    }),
});

const SOURCE = `
int first[40] = { 1 }, second[40] = { 2 };
__attribute__((noinline)) int get(int i) { return first[i]; }
__attribute__((noinline)) int put(int i) { return second[i]++; }
int main(int n, char **v) { return get(n) + put(n); }
`;
const missing = ["gcc", "readelf", "nm"].find((program) => found(program) === undefined);

Deno.test({
  name: "funcs --mem: variables and functions with names equal those of perf report --mem-mode",
  ...ignored(noPerf() ?? (missing === undefined ? undefined : `${missing} is not installed`)),
  fn: () =>
    inFolder(async (folder) => {
      const kallsyms = `${folder}/kallsyms`;
      Deno.writeTextFileSync(kallsyms, "");
      const program = `${folder}/work`;
      Deno.writeTextFileSync(`${folder}/work.c`, SOURCE);
      run("gcc", "-O1", "-fno-pie", "-no-pie", "-o", program, `${folder}/work.c`);
      const mappings = [7, 8].flatMap((pid) =>
        (["R E", "RW "] as const).flatMap((flags) =>
          segments(program, flags).map(({ offset, vaddr, size }): Mapping => ({
            ...{ pid, addr: vaddr, size, offset, path: program, data: flags === "RW " },
          }))
        )
      );
      const address = new Map(
        run("nm", program).trim().split("\n").map((line) => {
          const [value = "", , name = ""] = line.split(" ");
          return [name, parseInt(value, 16)];
        }),
      );
      const at = (name: string, offset: number) => (address.get(name) ?? NaN) + offset;
      const list = accesses(
        new Numbers(5),
        [at("first", 0), at("first", 4), at("second", 100), at("put", 0), 0x900000],
        [at("get", 2), at("put", 1), at("put", 3)],
      );
      const path = `${folder}/work.data`;
      Deno.writeFileSync(path, await memoryRecording({ mappings, accesses: list }));
      let rows = 0;
      // perf adds the mapping's address of a line to the symbol's address in the file.
      for (const keys of KEYS.filter((keys) => !keys.includes("dcacheline"))) {
        const ours = await ownRows(path, keys, kallsyms);
        assertEquals(sums(ours), sums(await perfRows(path, keys, kallsyms, (text) => text)), keys);
        rows += ours.length;
      }
      assert(rows > 100, `${rows} rows`);
      const { out, err } = await tool("funcs", ["--mem", path]);
      for (const text of ["500 accesses, weight ", "[.] first+0x4?", "[.] get?", "L1 hit"]) {
        assertStringIncludes(out, text);
      }
      assertStringIncludes(err, "are not verified");
      // A filter applies to the code.
      const kept = await tool(
        "funcs",
        ["--mem", "--sort", "sym,symbol_daddr", "--symbol", "get"]
          .concat("--json", path),
      );
      const names = kept.out.trimEnd().split("\n").map((line) => JSON.parse(line).sym);
      assertEquals([...new Set(names)], ["get"]);
      // perf 6.1 does not read this on x86.
      const latencies = new Map<string, number>();
      for (const { weight_struct } of list) {
        const key = String(weight_struct?.var3_w);
        latencies.set(key, (latencies.get(key) ?? 0) + 1);
      }
      const retired = await ownRows(path, "local_retire_lat", kallsyms);
      assertEquals(
        sums(retired),
        sums([...latencies].map(([key, samples]) => ({ key, samples, overhead: "" }))),
      );
      // Cache lines are those of the object: 64 bytes each.
      const lines = await ownRows(path, "dcacheline,dso_daddr", kallsyms);
      assert(lines.every(({ key }) => /^0x[0-9a-f]{14}[048c]0\t/.test(key)), lines[0]?.key);
    }),
});

Deno.test({
  name: "funcs --mem: recordings of other machines equal perf report --mem-mode",
  ...ignored(noPerf() ?? (corpusFiles().length === 0 ? "no corpus" : undefined)),
  fn: () =>
    inFolder(async (folder) => {
      const kallsyms = `${folder}/kallsyms`;
      Deno.writeTextFileSync(kallsyms, "");
      let [files, rows] = [0, 0];
      for (const { path, row, sound } of corpusFiles()) {
        if (!(row["sample_type"] ?? "").includes("DATA_SRC") || !sound) continue;
        if (row["report_rc"] !== "0") continue;
        const keys = `${ALL},local_weight,dso_daddr`;
        const ours = await ownRows(path, keys, kallsyms);
        const theirs = await perfRows(path, keys, kallsyms, (text) => text);
        assertEquals(sums(ours), sums(theirs), path);
        rows += ours.length;
        files++;
      }
      console.log(`funcs --mem: ${files} files, ${rows} rows are those of perf`);
      assert(files >= 2 && rows >= 4, `${files} files, ${rows} rows`);
    }),
});

Deno.test("funcs --mem: excludes branches, call chains and times, and needs data sources", async () => {
  const data = `${root}fixtures/recorded/callchain.perf.data`;
  for (const flag of ["--children", "--call-graph=caller", "--weight=off-cpu"]) {
    const { code, err } = await tool("funcs", ["--mem", flag, data]);
    assertEquals(code, 2);
    assertStringIncludes(err, "accesses to memory are counted by themselves");
  }
  const both = await tool("funcs", ["--mem", "-b", data]);
  assertEquals(both.code, 2);
  assertStringIncludes(both.err, "exclude each other");
  for (const args of [["--mem"], ["--sort", "tlb"]]) {
    const { code, out, err } = await tool("funcs", [...args, data]);
    assertEquals([code, out], [1, ""]);
    assertStringIncludes(err, "no samples with data sources; perf mem record records them");
  }
});
