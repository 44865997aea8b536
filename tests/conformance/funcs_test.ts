import { assert, assertEquals } from "@std/assert";
import { SampleCollector } from "@perfdata/profile";
import { PerfDataReader } from "@perfdata/format/records";
import { fileSource } from "@perfdata/format/files";
import {
  type FunctionOptions,
  type FunctionRow,
  functionTable,
  percentText,
  type SortKey,
} from "@perfdata/report";
import { runEngine } from "@perfdata/session";
import { openResolver } from "@perfdata/symbols/files";
import { corpusFiles } from "../support/corpus.ts";
import { perfRecords, perfText, perfVersion } from "../support/perf.ts";
import { tool } from "../support/tool.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { noRecording } from "../support/recorded_program.ts";

const root = new URL("../../", import.meta.url).pathname;
const SEPARATOR = "\x01";

/** A row in a form in which both sides can be compared. */
interface Row {
  /** Event, samples, period, share, object, symbol. */
  readonly key: string;
  readonly comm: string;
}

/** Fields printed by `perf report`, by event, without events without samples. */
function perfRows(text: string): Row[] {
  const rows: Row[] = [];
  let event = -1;
  for (const line of text.split("\n")) {
    if (line.startsWith("# Samples:")) event++;
    if (line.startsWith("#")) continue;
    const [overhead, samples, period, comm, dso, sym] = line.split(SEPARATOR)
      .map((cell) => cell.trim());
    if (sym === undefined) continue;
    // A mapping of the recording machine's vdso: perf looks up its functions in its own vdso.
    if (dso === "[vdso]") continue;
    rows.push({ key: [event, samples, period, overhead, dso, sym].join("\t"), comm: comm ?? "" });
  }
  return rows;
}

function ownRows(rows: readonly FunctionRow[]): Row[] {
  const events = new Map<number, number>();
  const latin1 = (text = "") => String.fromCharCode(...new TextEncoder().encode(text)).trim();
  const own: Row[] = [];
  for (const row of rows) {
    if (!events.has(row.event)) events.set(row.event, events.size);
    if (row.dso === "[vdso]") continue;
    const overhead = `${percentText(row.overhead)}%`;
    const sym = `[${row.level}] ${latin1(row.sym)}`;
    own.push({
      key: [
        events.get(row.event),
        row.samples,
        row.period,
        overhead,
        latin1(row.dso),
        sym,
      ].join("\t"),
      comm: latin1(row.comm),
    });
  }
  return own;
}

/** Whether two rows are equal apart from known differences in wording. */
function sameInOtherWords(perf: Row, own: Row): boolean {
  const [perfSym = "", ownSym = ""] = [perf.key, own.key].map((key) =>
    key.slice(key.lastIndexOf("\t") + 1)
  );
  const rest = (row: Row, sym: string) => row.key.slice(0, row.key.length - sym.length);
  if (rest(perf, perfSym) !== rest(own, ownSym)) return false;
  // perf truncates a command that became longer after the column's width was determined.
  if (perf.comm !== own.comm && !own.comm.startsWith(perf.comm)) return false;
  if (perfSym === ownSym) return true;
  // PLT stubs: perf has no names for local IFUNCs, and for none in some sections.
  return ownSym.endsWith("@plt") && /@plt$| 0x[0-9a-f]+$/.test(perfSym);
}

interface Comparison {
  readonly rows: number;
  /** A row in normalized wording. */
  readonly worded: number;
  readonly missing: Row[];
  readonly extra: Row[];
}

function compare(perf: readonly Row[], own: readonly Row[]): Comparison {
  const waiting = new Map<string, Row[]>();
  const text = (row: Row) => `${row.key}\t${row.comm}`;
  for (const row of own) {
    const same = waiting.get(text(row));
    if (same === undefined) waiting.set(text(row), [row]);
    else same.push(row);
  }
  const unmatched = perf.filter((row) => waiting.get(text(row))?.pop() === undefined);
  const extra = [...waiting.values()].flat();
  const missing = unmatched.filter((row) => {
    const at = extra.findIndex((other) => sameInOtherWords(row, other));
    if (at >= 0) extra.splice(at, 1);
    return at < 0;
  });
  return { rows: perf.length, worded: unmatched.length - missing.length, missing, extra };
}

/**
 * Differences after adding up PLT stubs by object: in some sections, such as .plt.got, perf has no
 * names and a row per address, or one name for several.
 */
function withoutStubs({ missing, extra }: Comparison): [Row[], Row[]] {
  const isStub = ({ key }: Row) => /@plt$| 0x[0-9a-f]+$/.test(key);
  const sums = (rows: readonly Row[]) => {
    const found: Record<string, [number, number]> = {};
    for (const { key } of rows.filter(isStub)) {
      const [event, samples, period, , dso] = key.split("\t");
      const sum = found[`${event} ${dso}`] ??= [0, 0];
      sum[0] += Number(samples);
      sum[1] += Number(period);
    }
    return JSON.stringify(Object.entries(found).sort());
  };
  if (sums(missing) !== sums(extra)) return [missing, extra];
  return [missing.filter((row) => !isStub(row)), extra.filter((row) => !isStub(row))];
}

/** A row of `perf report --children`, or one of ours in its wording. */
interface ChildrenRow {
  readonly event: number;
  readonly children: string;
  readonly overhead: string;
  readonly samples: number;
  readonly period: number;
  readonly comm: string;
  readonly dso: string;
  readonly sym: string;
}

function perfChildrenRows(text: string): ChildrenRow[] {
  const rows: ChildrenRow[] = [];
  let event = -1;
  for (const line of text.split("\n")) {
    if (line.startsWith("# Samples:")) event++;
    if (line.startsWith("#")) continue;
    const [children = "", overhead = "", samples, period, comm = "", dso = "", sym] = line
      .split(SEPARATOR).map((cell) => cell.trim());
    if (sym === undefined) continue;
    rows.push({
      ...{ event, children, overhead, comm, dso, sym },
      ...{ samples: Number(samples), period: Number(period) },
    });
  }
  return rows;
}

function ownChildrenRows(rows: readonly FunctionRow[]): ChildrenRow[] {
  const events = new Map<number, number>();
  const latin1 = (text = "") => String.fromCharCode(...new TextEncoder().encode(text)).trim();
  return rows.map((row) => {
    if (!events.has(row.event)) events.set(row.event, events.size);
    return {
      event: events.get(row.event) ?? 0,
      children: `${percentText(row.children?.overhead ?? NaN)}%`,
      overhead: `${percentText(row.overhead)}%`,
      samples: row.samples,
      period: row.period,
      comm: latin1(row.comm),
      dso: latin1(row.dso),
      sym: `[${row.level}] ${latin1(row.sym)}`,
    };
  });
}

/**
 * The compared rows: those with a symbol one by one; of others, the sum of their own samples by
 * command and object, since perf distinguishes callers by their address in the process.
 */
function comparable(rows: readonly ChildrenRow[]): Row[] {
  const found: Row[] = [];
  const unnamed = new Map<string, Omit<ChildrenRow, "children" | "overhead" | "sym">>();
  for (const row of rows) {
    const { event, children, overhead, samples, period, comm, dso, sym } = row;
    // A mapping of the recording machine's vdso: perf looks up its functions in its own vdso.
    if (dso === "[vdso]") continue;
    if (!/^\[.\] (0x)?[0-9a-f]{8,}$/.test(sym)) {
      found.push({ key: [event, children, overhead, samples, period, dso, sym].join("\t"), comm });
      continue;
    }
    const key = [event, comm, dso].join("\t");
    const sum = unnamed.get(key);
    unnamed.set(key, {
      ...{ event, comm, dso },
      samples: samples + (sum?.samples ?? 0),
      period: period + (sum?.period ?? 0),
    });
  }
  for (const { event, comm, dso, samples, period } of unnamed.values()) {
    if (samples > 0) found.push({ key: [event, dso, samples, period, "none"].join("\t"), comm });
  }
  return found;
}

/** The rows of a file; without this machine's kernel if `kallsyms` is a file without symbols. */
async function functionsOf(
  path: string,
  kallsyms?: string,
  options: FunctionOptions = {},
  calls = false,
): Promise<FunctionRow[]> {
  using source = fileSource(path);
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const counts = new SampleCollector({ stacks: calls });
  const engine = await runEngine(reader, [counts], { diagnostics: () => {} });
  const resolver = openResolver({
    parameters: false,
    debugInformation: options.inline === true || options.sort?.includes("srcline") === true,
    ...(kallsyms === undefined ? {} : { kallsyms }),
    // Without the names in recordings of simpleperf and hiperf, which perf does not know.
    machine: { release: engine.recorded.release, arch: engine.recorded.arch },
  });
  const table = await functionTable(counts, resolver, options);
  return Array.from(table.rows, (row) => table.row(row));
}

/** perf's rows of a file. */
async function perfReport(path: string, kallsyms?: string): Promise<Row[] | undefined> {
  const text = await perfReportText(path, kallsyms, [
    ...["-F", "overhead,sample,period,comm,dso,sym", "--no-children"],
  ]);
  return text === undefined ? undefined : perfRows(text);
}

/** perf's rows of a file, with callees. */
async function perfChildren(path: string, kallsyms?: string): Promise<ChildrenRow[] | undefined> {
  const text = await perfReportText(path, kallsyms, [
    ...["-F", "overhead_children,overhead,sample,period,comm,dso,sym", "--children", "--no-inline"],
  ]);
  return text === undefined ? undefined : perfChildrenRows(text);
}

async function perfReportText(
  path: string,
  kallsyms: string | undefined,
  flags: readonly string[],
): Promise<string | undefined> {
  const output = await perfText([
    "report",
    "--stdio",
    "-g",
    "none",
    ...flags,
    "--no-group",
    "--no-branch-stack",
    "--no-itrace",
    "-t",
    SEPARATOR,
    ...(kallsyms === undefined ? [] : ["--kallsyms", kallsyms]),
  ], path);
  if (output === undefined || output.code !== 0 || /^Error:/m.test(output.stderr)) return undefined;
  return output.stdout;
}

/**
 * Fixtures in which samples of a guest have the address of others. Here they are only in totals; in
 * perf too, unless a row with their address exists before: then perf counts them in it.
 */
const GUESTS_AMONG_OTHERS = ["edges.perf.data", "edges-be.perf.data"];

function* fixtures(): Generator<{ name: string; path: string }, void, void> {
  for (const folder of ["recorded", "synthesized"]) {
    for (const { name, isFile } of Deno.readDirSync(`${root}fixtures/${folder}`)) {
      if (!isFile || !name.endsWith(".data") || GUESTS_AMONG_OTHERS.includes(name)) continue;
      yield { name: `fixtures/${folder}/${name}`, path: `${root}fixtures/${folder}/${name}` };
    }
  }
}

const corpus = corpusFiles().filter(({ row }) => row["report_rc"] === "0");
const noPerf = perfVersion() === undefined;

Deno.test({
  name: "funcs: rows equal those of perf report on all files that it reads",
  ignore: noPerf,
  async fn() {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-funcs-" });
    // The recordings are of other kernels, for which perf would use this kernel's symbols.
    const kallsyms = `${folder}/kallsyms`;
    Deno.writeTextFileSync(kallsyms, "");
    let [files, rows, worded] = [0, 0, 0];
    const differing: string[] = [];
    try {
      for (const { name, path } of [...corpus, ...fixtures()]) {
        const perf = await perfReport(path, kallsyms);
        if (perf === undefined || perf.length === 0) continue;
        const found = compare(perf, ownRows(await functionsOf(path, kallsyms)));
        files++;
        rows += found.rows;
        worded += found.worded;
        const differ = Math.max(found.missing.length, found.extra.length);
        if (differ > 0) {
          console.log(`${name}: ${found.rows} rows compared, ${differ} differ`);
          console.log(`  perf ${JSON.stringify(found.missing[0])}`);
          console.log(`  ours ${JSON.stringify(found.extra[0])}`);
          differing.push(name);
        }
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    console.log(
      `${files} files: ${rows} rows compared, ${worded} of them say the same in other words, ` +
        `${differing.length} files differ`,
    );
    assertEquals(differing, []);
    const [leastFiles, leastRows] = corpus.length === 0 ? [20, 350] : [100, 65_000];
    assert(files >= leastFiles && rows >= leastRows, `${files} files, ${rows} rows`);
  },
});

const PERF_TYPE_SOFTWARE = 1;
const PERF_COUNT_SW_DUMMY = 9n;
const PERF_SAMPLE_CALLCHAIN = 1n << 5n;
const PERF_SAMPLE_STACK_USER = 1n << 13n;
const PERF_SAMPLE_BRANCH_CALL_STACK = 1n << 11n;

/**
 * Whether all samples of a file have call chains, none of them synthesized. For an event without
 * call chains, perf counts the last chain that it read.
 */
async function hasChains(path: string): Promise<boolean> {
  using source = fileSource(path);
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const attrs = reader.events.all.map(({ attr }) => attr);
  return attrs.some(({ sample_type }) => (sample_type & PERF_SAMPLE_CALLCHAIN) !== 0n) &&
    attrs.every(({ type, config, sample_type, branch_sample_type = 0n }) =>
      type === PERF_TYPE_SOFTWARE && config === PERF_COUNT_SW_DUMMY ||
      (sample_type & PERF_SAMPLE_CALLCHAIN) !== 0n &&
        (sample_type & PERF_SAMPLE_STACK_USER) === 0n &&
        (branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK) === 0n
    );
}

Deno.test({
  name: "funcs: with --children, rows equal those of perf report --children",
  ignore: noPerf,
  async fn() {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-funcs-" });
    const kallsyms = `${folder}/kallsyms`;
    Deno.writeTextFileSync(kallsyms, "");
    let [files, rows, worded] = [0, 0, 0];
    const differing: string[] = [];
    try {
      for (const { name, path } of [...corpus, ...fixtures()]) {
        if (!await hasChains(path)) continue;
        const perf = await perfChildren(path, kallsyms);
        if (perf === undefined || perf.length === 0) continue;
        const own = ownChildrenRows(await functionsOf(path, kallsyms, {}, true));
        const found = compare(comparable(perf), comparable(own));
        files++;
        rows += found.rows;
        worded += found.worded;
        const differ = Math.max(found.missing.length, found.extra.length);
        if (differ > 0) {
          console.log(`${name}: ${found.rows} rows compared, ${differ} differ`);
          console.log(`  perf ${JSON.stringify(found.missing.slice(0, 3))}`);
          console.log(`  ours ${JSON.stringify(found.extra.slice(0, 3))}`);
          differing.push(name);
        }
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    console.log(
      `${files} files with call chains: ${rows} rows compared, ${worded} of them say the same in ` +
        `other words, ${differing.length} files differ`,
    );
    assertEquals(differing, []);
    const [leastFiles, leastRows] = corpus.length === 0 ? [5, 70] : [13, 320];
    assert(files >= leastFiles && rows >= leastRows, `${files} files, ${rows} rows`);
  },
});

Deno.test({
  name: "funcs: with --children, rows equal those of perf report on a recording made here",
  ignore: !perfRecords(),
  async fn() {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-funcs-" });
    try {
      const { success, stderr } = new Deno.Command("perf", {
        args: [
          ...["record", "-B", "-g", "-e", "cpu-clock", "-F", "3000", "-o", `${folder}/data`],
          ...["sh", "-c", "ls -lR /usr/share >/dev/null; find /usr /etc | sort -R | md5sum"],
        ],
      }).outputSync();
      assert(success, new TextDecoder().decode(stderr));
      const perf = await perfChildren(`${folder}/data`);
      assert(perf !== undefined);
      const own = ownChildrenRows(await functionsOf(`${folder}/data`, undefined, {}, true));
      // PLT stubs without a name in perf, such as those of .plt.got, are among its rows without a
      // function.
      const unknown = new Set(
        compare(comparable(perf), comparable(own)).extra
          .filter(({ key }) => key.endsWith("@plt")).map(({ key, comm }) => `${key}\t${comm}`),
      );
      const found = compare(
        comparable(perf),
        comparable(
          own.map((row) =>
            comparable([row]).some(({ key, comm }) => unknown.has(`${key}\t${comm}`))
              ? { ...row, sym: "[.] 0x0000000000000000" }
              : row
          ),
        ),
      );
      console.log(
        `${found.rows} rows compared, ${found.worded} of them say the same in other words, ` +
          `${found.missing.length} differ`,
      );
      assertEquals([found.missing, found.extra], [[], []]);
      assert(perf.some(({ samples, sym }) => samples === 0 && !sym.includes("0x")));
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

const C = `
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) unsigned long spin(unsigned long x) {
  for (int i = 0; i < 1000; i++)
    x = x * 6364136223846793005ul + 1;
  for (int i = 0; i < 500; i++)
    x ^= x << 7 ^ x >> 9;
  return x;
}
int main(void) {
  unsigned long x = 1;
  for (int i = 0; i < 60000; i++) { x = spin(x); void *p = malloc(200000 + x % 300000); memset(p, 1, 4096 * (x % 32)); free(p); }
  return x == 0;
}`;
const CPP = `
#include <map>
#include <string>
#include <vector>
#include <algorithm>
template <typename T> struct Sorter {
  __attribute__((noinline)) static void run(std::vector<T> &v) { std::sort(v.begin(), v.end()); }
};
int main() {
  std::map<std::string, int> counts;
  for (int k = 0; k < 60; k++) {
    std::vector<unsigned> v;
    for (unsigned i = 0; i < 20000; i++) v.push_back(i * 2654435761u);
    Sorter<unsigned>::run(v);
    for (unsigned i = 0; i < 2000; i++) counts[std::to_string(v[i])]++;
  }
  return counts.empty();
}`;
const RUST = `
use std::collections::HashMap;
#[inline(never)]
fn count(words: &mut HashMap<String, u64>, n: u64) {
    for i in 0..n { *words.entry((i % 977).to_string()).or_insert(0) += i; }
}
fn main() {
    let mut words = HashMap::new();
    for _ in 0..40 { count(&mut words, 40_000); }
    assert!(words.len() == 977);
}`;

/** Whether a program is installed. A missing one is printed. */
for (
  const [language, file, source, compiler] of [
    ["C", "spin.c", C, ["gcc", "-O2", "-g"]],
    ["C++", "spin.cpp", CPP, ["g++", "-O2", "-g"]],
    ["Rust", "spin.rs", RUST, ["rustc", "-O", "-g"]],
  ] as const
) {
  const [program = "", ...flags] = compiler;
  Deno.test({
    name: `funcs: rows equal those of perf report on a recording of ${language} and the kernel`,
    ...ignored(noRecording() ?? notInstalled(program)),
    async fn() {
      const folder = Deno.makeTempDirSync({ prefix: "perfdata-funcs-" });
      try {
        // All lines have numbers of two digits, since perf truncates a cell that is wider than an
        // earlier one.
        Deno.writeTextFileSync(`${folder}/${file}`, "\n".repeat(10) + source);
        const run = (command: string, args: string[]) => {
          const { success, stderr } = new Deno.Command(command, { args, cwd: folder }).outputSync();
          assert(success, `${command}: ${new TextDecoder().decode(stderr)}`);
        };
        run(program, [...flags, file, "-o", "spin"]);
        run("perf", ["record", "-B", "-e", "cpu-clock", "-F", "2000", "-o", "data", "./spin"]);
        const perf = await perfReport(`${folder}/data`);
        // Nearly all time is spent in one function; whether others are sampled is chance.
        assert(perf !== undefined && perf.length > 0);
        const own = await functionsOf(`${folder}/data`);
        const found = compare(perf, ownRows(own));
        console.log(
          `${language}: ${found.rows} rows compared, ${found.worded} of them say the same in ` +
            `other words, ${found.missing.length} differ`,
        );
        assertEquals(withoutStubs(found), [[], []]);
        if (language !== "C") return; // inlined code: perf prints the line of the innermost call

        const lines = await perfText([
          ...["report", "--stdio", "-F", "sample,dso,sym,srcline", "--full-source-path"],
          ...["-g", "none", "--no-children", "-t", SEPARATOR],
        ], `${folder}/data`);
        const isOwn = (sym = "") => /(main|spin)$/.test(sym); // functions with debug information
        const expected = (lines?.stdout ?? "").split("\n")
          .map((line) => line.split(SEPARATOR).map((cell) => cell.trim()))
          .filter(([, dso, sym]) => dso === "spin" && isOwn(sym))
          .map(([samples, , sym, line = ""]) =>
            [samples, sym, line.slice(line.lastIndexOf("/") + 1)].join("\t")
          );
        const rows = await functionsOf(`${folder}/data`, undefined, {
          sort: ["dso", "sym", "srcline"],
        });
        assertEquals(
          rows.filter(({ dso, sym }) => dso === "spin" && isOwn(sym))
            .map((row) => [row.samples, `[${row.level}] ${row.sym}`, row.srcline].join("\t"))
            .sort(),
          expected.sort(),
        );
        assert(expected.length > 1);
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
    },
  });
}

const INLINED = `
static unsigned long seed = 1;
static inline __attribute__((always_inline)) unsigned long next(unsigned long x) {
  return x * 6364136223846793005ul + 1;
}
static inline __attribute__((always_inline)) unsigned long twice(unsigned long x) {
  for (int i = 0; i < 500; i++)
    x = next(x);
  for (int i = 0; i < 500; i++)
    x ^= x << 7 ^ x >> 9;
  return x;
}
__attribute__((noinline)) void tick(void) { __asm__ volatile(""); }
__attribute__((noinline)) void first(void) { tick(); seed = twice(seed); }
__attribute__((noinline)) void second(void) { tick(); for (int i = 0; i < 300; i++) seed += next(seed) / 3; }
static inline __attribute__((always_inline)) void both(void) { first(); second(); seed ^= seed >> 3; }
__attribute__((noinline)) void repeat(int n) { for (int i = 0; i < n; i++) both(); }
int main(void) {
  repeat(150000);
  return seed == 0;
}`;

Deno.test({
  name: "funcs --inline: rows are the functions and lines that addr2line finds inlined",
  ...ignored(noRecording() ?? notInstalled("addr2line")),
  async fn() {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-funcs-" });
    try {
      Deno.writeTextFileSync(`${folder}/spin.c`, INLINED);
      const run = (command: string, args: string[]) => {
        const { success, stdout, stderr } = new Deno.Command(command, { args, cwd: folder })
          .outputSync();
        assert(success, `${command}: ${new TextDecoder().decode(stderr)}`);
        return new TextDecoder().decode(stdout);
      };
      const flags = ["-O2", "-g", "-fPIE", "-pie", "-fno-omit-frame-pointer"];
      run("gcc", [...flags, "spin.c", "-o", "spin"]);
      run("perf", ["record", "-g", "-e", "cpu-clock:u", "-F", "2000", "-o", "data", "./spin"]);
      // In a position-independent program, addresses are those in the file.
      const script = await perfText(["script", "-F", "ip,dso"], `${folder}/data`);
      const chains = (script?.stdout ?? "").split("\n\n").map((block) =>
        [...block.matchAll(/([0-9a-f]+) \(\S+\/spin\)/g)].map(([, address = ""]) => address)
      ).filter(({ length }) => length > 0);
      const addresses = [...new Set(chains.flat())];
      const framesOf = new Map(
        run("addr2line", ["-a", "-i", "-f", "-e", "spin", ...addresses])
          .split(/^0x[0-9a-f]+\n/m).slice(1).map((text, i) => {
            const lines = text.trimEnd().split("\n");
            const frames: { name: string; line: string }[] = [];
            for (let k = 0; k + 1 < lines.length; k += 2) {
              const [name = "", place = ""] = lines.slice(k, k + 2);
              const line = place.slice(place.lastIndexOf("/") + 1).replace(/ .*/, "");
              frames.push({ name: `${name} ${k + 2 < lines.length}`, line });
            }
            return [addresses[i], frames];
          }),
      );
      const self = new Map<string, number>();
      const withCallees = new Map<string, number>();
      const count = (counts: Map<string, number>, key: string) =>
        counts.set(key, (counts.get(key) ?? 0) + 1);
      for (const chain of chains) {
        const frames = chain.flatMap((address) => framesOf.get(address) ?? []);
        count(self, `${frames[0]?.name} ${frames[0]?.line}`);
        for (const name of new Set(frames.map(({ name }) => name))) count(withCallees, name);
      }
      const rowsOf = async (sort: readonly SortKey[]) =>
        (await functionsOf(`${folder}/data`, undefined, { sort, inline: true }, true))
          .filter(({ dso }) => dso === "spin");
      const own = await rowsOf(["dso", "sym", "srcline"]);
      console.log(`${chains.length} samples, ${own.length} rows`);
      assertEquals(
        Object.fromEntries(
          own.filter(({ samples }) => samples > 0)
            .map((row) => [`${row.sym} ${row.inlined} ${row.srcline}`, row.samples]),
        ),
        Object.fromEntries(self),
      );
      assertEquals(
        Object.fromEntries(
          (await rowsOf(["dso", "sym"])).filter(({ sym }) => !sym?.startsWith("_"))
            .map((row) => [`${row.sym} ${row.inlined}`, row.children?.samples]),
        ),
        Object.fromEntries([...withCallees].filter(([name]) => !name.startsWith("_"))),
      );
      assert((withCallees.get("both true") ?? 0) > 0);
      assert(own.some(({ inlined }) => inlined) && own.some(({ inlined }) => !inlined));
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test("funcs: damage is reported once, however often the file is read", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const whole = await Deno.readFile(`${root}fixtures/recorded/rounds.perf.data`);
    const path = `${folder}/half.perf.data`;
    await Deno.writeFile(path, whole.subarray(0, whole.length >> 1));
    const { code, err } = await tool("funcs", ["--sort", "tid", path]);
    const reported = err.match(/\d+ bytes left of the data/g) ?? [];
    assertEquals([code, reported.length], [1, 1]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Runs the command. Returns the lines of its output. */
async function funcs(...args: string[]): Promise<{ code: number; lines: string[]; err: string }> {
  const { code, out, err } = await tool("funcs", args);
  return { code, lines: out.trimEnd().split("\n"), err };
}

Deno.test("funcs: CSV and JSON have shares in one unit, and columns outside of a terminal stay columns", async () => {
  const file = `${root}fixtures/recorded/two-events.perf.data`;
  const csv = (await funcs("--csv", file)).lines.slice(1).map((line) => Number(line.split(",")[1]));
  const json = (await funcs("--json", file)).lines.map((line) => JSON.parse(line).overhead);
  assert(csv.length > 5);
  assertEquals(json.map((share) => share.toFixed(1)), csv.map((share) => share.toFixed(1)));

  const { lines } = await funcs("--sort", "sym,comm,dso", file);
  const at = lines[1]?.indexOf("COMM") ?? -1;
  const rows = lines.slice(2, lines.indexOf("") < 0 ? undefined : lines.indexOf(""));
  assert(at > 0 && rows.length > 2);
  for (const line of rows) assert(/\s{2}\S/.test(line.slice(at - 2, at + 1)), line);
});

Deno.test("funcs: filters without a match, and missing events, are reported", async () => {
  const file = `${root}fixtures/recorded/callchain.perf.data`;
  const none = await funcs("--dso", "/^nothing$/", file);
  assertEquals(none.code, 1);
  const said = "none of 13 samples: --dso /^nothing$/ matches nothing; there are demo, [kernel.";
  assert(none.err.includes(said), none.err);
  const event = await funcs("--event", "cycles", file);
  assertEquals(
    [event.code, event.err],
    [1, `funcs: ${file}: no event cycles; there is cpu-clock\n`],
  );
  const time = await funcs("--time", "1000s-", file);
  assertEquals(time.code, 1);
  assert(
    time.err.includes("no samples: --time 1000s- matches nothing; samples are from"),
    time.err,
  );
});
