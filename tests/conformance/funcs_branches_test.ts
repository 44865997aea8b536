/**
 * Branches of branch stacks, counted by function and flags, compared with `perf report
 * --branch-stack`.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import {
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { asFile, asPipe, type Item } from "../../fixtures/synthesize/recording.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { branchRecording, found } from "../support/branch_recording.ts";
import { corpusFiles } from "../support/corpus.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { ignored } from "../support/ignored.ts";
import { inFolder, tool } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;
const SEPARATOR = "\x01";

/** A file that a process maps over another one. */
function mapped(filename: string, time: bigint): Item {
  const body = { pid: 7, tid: 7, addr: 0x400000n, len: 0x4000n, pgoff: 0n, filename };
  const sample_id = { pid: 7, tid: 7, time };
  return { record: { type: 1, name: "MMAP", misc: 2, body, sample_id } } as Item;
}

/** All keys of branches. */
const ALL_KEYS = "comm,tid,dso_from,symbol_from,dso_to,symbol_to,mispredict,cycles,in_tx,abort";
/** Combinations of keys, in `--sort` of both tools. */
const KEYS = [
  ALL_KEYS,
  "symbol_from,symbol_to",
  "mispredict,in_tx,abort",
  "dso_to,symbol_to",
  "addr_from,addr_to",
  "addr_to,mispredict",
  // perf prints an unnamed `sym` as an address in the process here, elsewhere as one in the object.
  "comm,dso",
];
/** Keys of functions, whose text begins with their level. */
const FUNCTIONS = new Map([
  ["symbol_from", "level_from"],
  ["symbol_to", "level_to"],
  ["addr_from", "level_addr_from"],
  ["addr_to", "level_addr_to"],
]);

/**
 * Adds up rows with the same text: perf has a row per address, even if the offset in the object is
 * equal.
 */
class Rows {
  readonly sums = new Map<string, number>();

  add(cells: readonly string[], samples: number): void {
    // The recording machine's vdso: perf looks up its functions in its own.
    if (cells.includes("[vdso]")) return;
    const key = cells.join("\t");
    this.sums.set(key, (this.sums.get(key) ?? 0) + samples);
  }

  sorted(): string[] {
    return [...this.sums].map(([key, samples]) => `${samples}\t${key}`).sort();
  }
}

/**
 * An address without a function. If it is unmapped, perf prints it as a guest's, without `0x`; here
 * it is a process's or the kernel's.
 */
const byItself = (cell: string) =>
  cell.replace(/^\[.\] (?:0x)?([0-9a-f]{16})$/, "$1")
    // The PLT of a static program, whose stubs have no names: perf uses the function before.
    .replace(/^\[.\] (?:\*ABS\*.*@plt|_init)$/, "[.] PLT");

async function perfRows(
  path: string,
  keys: string,
  kallsyms: string,
  ...more: string[]
): Promise<string[]> {
  const output = await perfText([
    ...[
      "report",
      "-b",
      ...more,
      "--stdio",
      "-F",
      `overhead,sample,${keys.replace("tid", "pid")}`,
      "-t",
      SEPARATOR,
    ],
    // perf truncates names of objects to the width of the column's title, unless a width is given.
    ...["-w", Array(2 + keys.split(",").length).fill(200).join(), "--kallsyms", kallsyms],
  ], path);
  assertEquals(output?.code, 0, `${path}: ${output?.stderr}`);
  const rows = new Rows();
  // One character per byte, since names may be UTF-8.
  const bytes = Uint8Array.from(output?.stdout ?? "", (letter) => letter.charCodeAt(0));
  for (const line of new TextDecoder().decode(bytes).split("\n")) {
    if (line.startsWith("#") || !line.includes(SEPARATOR)) continue;
    const [, samples = "", ...cells] = line.split(SEPARATOR).map((cell) => cell.trim());
    rows.add(
      cells.map((cell, i) => {
        const key = keys.split(",")[i];
        // perf does not print a distance of 0.
        if (key === "addr_from" || key === "addr_to") {
          return cell.replace(/^(\[.\] \w+)$/, "$1+0x0");
        }
        // perf's `pid` is TID:COMM.
        if (key === "tid") return cell.replace(/:.*/, "");
        if (key !== "cycles") return byItself(cell);
        // "-" for unknown cycles; from 2^15 on perf prints them as negative.
        return cell === "-" ? "0" : String(Number(cell) & 0xffff);
      }),
      Number(samples),
    );
  }
  return rows.sorted();
}

async function ownRows(
  path: string,
  keys: string,
  kallsyms: string,
  jobs = "1",
): Promise<string[]> {
  const { code, out, err } = await tool("funcs", [
    ...["-b", "--sort", keys, "--json", "--kallsyms", kallsyms, "--jobs", jobs, path],
  ]);
  assertEquals(code, 0, err);
  const rows = new Rows();
  for (const line of out.trimEnd().split("\n")) {
    const row = JSON.parse(line);
    rows.add(
      keys.split(",").map((key) => {
        const level = FUNCTIONS.get(key);
        const text = String(row[key]);
        return byItself(level === undefined ? text.trim() : `[${row[level]}] ${text}`);
      }),
      row.samples,
    );
  }
  return rows.sorted();
}

/** Recordings that both read, without those that take perf seconds. */
const files = (): string[] => [
  ...corpusFiles().filter(({ row, sound }) =>
    row["lbr"] === "1" && sound && row["report_rc"] === "0" && Number(row["bytes"]) < 1e6
  )
    .map(({ path }) => path),
  `${root}fixtures/synthesized/records.perf.data`,
];

Deno.test({
  name: "funcs: branches are counted as in perf report -b, on all files with branches",
  ...ignored(noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      // The recordings are of other kernels, for which perf would use this kernel's symbols.
      const kallsyms = `${folder}/kallsyms`;
      Deno.writeTextFileSync(kallsyms, "");
      let [compared, rows] = [0, 0];
      for (const path of files()) {
        const ours = await ownRows(path, ALL_KEYS, kallsyms);
        assertEquals(ours, await perfRows(path, ALL_KEYS, kallsyms), path);
        rows += ours.length;
        compared++;
      }
      console.log(`${compared} files, ${rows} rows compared`);
      if (corpusFiles().length > 0) {
        assert(compared >= 6 && rows > 5000, `${compared} files, ${rows} rows`);
      }
    }),
});

const canMake = found("gcc") !== undefined && found("objdump") !== undefined;

Deno.test({
  name: "funcs: branches between named functions equal those of perf report -b",
  ...ignored(noPerf() ?? (canMake ? undefined : "gcc or objdump is not installed")),
  fn: () =>
    inFolder(async (folder) => {
      const { data } = await branchRecording(folder, true);
      const kallsyms = `${folder}/kallsyms`;
      Deno.writeTextFileSync(kallsyms, "");
      let rows = 0;
      for (const keys of KEYS) {
        // No build id was recorded. Text has a mark for that; names in JSON have none.
        const ours = await ownRows(data, keys, kallsyms);
        assertEquals(ours, await perfRows(data, keys, kallsyms), keys);
        assertEquals(await ownRows(data, keys, kallsyms, "2"), ours, "two threads");
        rows += ours.length;
      }
      assert(rows >= 30, `${rows} rows`);
      const { out, err } = await tool("funcs", ["--sort", "symbol_from,symbol_to", data]);
      assertStringIncludes(err, "(100.00% of ends of branches) are not verified");
      assertStringIncludes(out, "6400 branches");
      assertStringIncludes(out, "[.] work");
      // Lines are at the exact addresses of both ends.
      const lines = await tool("funcs", ["--sort", "srcline_from,srcline_to", "--json", data]);
      assertStringIncludes(lines.out, "work.c:");
      // A filter keeps branches from and to the named functions.
      const kept = await tool("funcs", [
        "--sort",
        "symbol_from,symbol_to",
        "--symbol",
        "rare",
        "--json",
        data,
      ]);
      const pairs = kept.out.trimEnd().split("\n").map((line) => JSON.parse(line));
      assert(pairs.length >= 4, kept.out);
      assert(
        pairs.every(({ symbol_from, symbol_to }) => symbol_from === "rare" || symbol_to === "rare"),
      );
    }),
});

Deno.test({
  name: "funcs: branches of Intel PT equal those of perf report -b --itrace=bl",
  ...ignored(noPerf() ?? cannotStep()),
  fn: () =>
    inFolder(async (folder) => {
      const kallsyms = `${folder}/kallsyms`;
      Deno.writeTextFileSync(kallsyms, "");
      const variant = { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true };
      let [rows, branches] = [0, 0];
      for (const program of ["calls", "processes"]) {
        const flags = ["-O1", "-static"];
        const executes = program === "processes" ? ["calls"] : [];
        const stepped = stepProgram(folder, { program, flags, executes, limit: 60_000 });
        const data = `${folder}/${program}.data`;
        const encoded = encodeProgram(stepped, variant);
        Deno.writeFileSync(data, await steppedFile(stepped, encoded, variant));
        // With long names perf truncates the distance of an address, and it names stubs by the
        // symbol before: compared on branch stacks only.
        for (const keys of KEYS.filter((keys) => !keys.includes("addr_"))) {
          const ours = await ownRows(data, keys, kallsyms);
          assertEquals(ours, await perfRows(data, keys, kallsyms, "--itrace=bl"), keys);
          rows += ours.length;
        }
        const { code, out, err } = await tool("funcs", ["-b", "--pt", data]);
        assertEquals(code, 0, err);
        branches += Number(/branches: (\d+) branches/.exec(out)?.[1]);
        // Branches excluded by --cpu, --time and similar flags are not counted.
        const none = await tool("funcs", ["-b", "--tid", "1", data]);
        assertEquals(none.code, 1);
        assertStringIncludes(none.err, "no branches in its Intel PT");
      }
      console.log(`${rows} rows of ${branches} branches compared`);
      assert(rows > 200 && branches > 5000, `${rows} rows, ${branches} branches`);
      const { code, err } = await tool("funcs", ["--pt", `${folder}/calls.data`]);
      assertEquals(code, 2);
      assertStringIncludes(err, "--pt needs --branches: branches are counted");
    }),
});

Deno.test("funcs: branches exclude call chains and times, and must be recorded", async () => {
  const data = `${root}fixtures/recorded/callchain.perf.data`;
  for (const flag of ["--children", "--call-graph=caller", "--weight=off-cpu"]) {
    const { code, err } = await tool("funcs", ["-b", flag, data]);
    assertEquals(code, 2);
    assertStringIncludes(err, "branches are counted by themselves");
  }
  const { code, err } = await tool("funcs", ["--sort", "mispredict", data]);
  assertEquals(code, 1);
  assertStringIncludes(err, "no samples with branches; perf record -b records them");
});

Deno.test("funcs: branches of a big-endian recording equal those of the little-endian one", () =>
  inFolder(async (folder) => {
    const kallsyms = `${folder}/kallsyms`;
    Deno.writeTextFileSync(kallsyms, "");
    const [little, big] = await Promise.all(
      ["records", "records-be"].map((name) =>
        ownRows(`${root}fixtures/synthesized/${name}.perf.data`, ALL_KEYS, kallsyms)
      ),
    );
    assertEquals(big, little);
    assert((little?.length ?? 0) >= 2);
  }));

Deno.test("funcs: a branch belongs to the mapping at its time, in a file and a pipe", () =>
  inFolder(async (folder) => {
    const flags = { mispred: false, predicted: true, in_tx: false, abort: false, cycles: 0 };
    const rest = { type: 0, spec: 0, new_type: 0, priv: 0 };
    let time = 1000n;
    const sample = (tid: number): Item => ({
      record: {
        type: 9,
        name: "SAMPLE",
        misc: 2,
        body: {
          ...{ ip: 0x400010n, pid: tid, tid, time: time += 1000n },
          branch_stack: {
            entries: [{ from: 0x400020n, to: 0x400010n, flags: { ...flags, ...rest } }],
          },
        },
      },
    } as Item);
    const types = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_BRANCH_STACK;
    const attr = {
      ...emptyAttr(),
      ...{ size: 120, sample_period: 1n, branch_sample_type: 1n },
      flags: { ...emptyAttr().flags, sample_id_all: true },
    };
    const recording = {
      events: [{ attr: { ...attr, sample_type: BigInt(types) }, ids: [1n] }],
      items: [
        ...[mapped("/nowhere/first", time += 1000n), sample(7), sample(7), sample(8)],
        ...[mapped("/nowhere/second", time += 1000n), sample(7), sample(8)],
        ...[
          mapped("/nowhere/first", time += 1000n),
          sample(7),
          mapped("/nowhere/third", time += 1000n),
          sample(7),
        ],
      ],
      features: [],
    };
    const expected = ["[unknown] 2", "first 3", "second 1", "third 1"];
    for (const [name, write] of [["file", asFile], ["pipe", asPipe]] as const) {
      const path = `${folder}/${name}`;
      Deno.writeFileSync(path, await write(recording, true));
      const { code, out, err } = await tool("funcs", ["--sort", "dso_to", "--json", path]);
      assertEquals(code, 0, err);
      const rows = out.trimEnd().split("\n").map((line) => JSON.parse(line));
      assertEquals(
        rows.map(({ dso_to, samples }) => `${dso_to} ${samples}`).sort(),
        expected,
        name,
      );
    }
  }));
