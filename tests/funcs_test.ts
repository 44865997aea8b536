import { assert, assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format";
import { fileSource } from "@perfdata/format/file_source";
import {
  type Aggregate,
  aggregate,
  type FunctionOptions,
  type FunctionRow,
  functionRows,
  knownBinaries,
  percentText,
} from "@perfdata/report";
import { aggregateFile } from "@perfdata/report/parallel";
import { SymbolFiles } from "@perfdata/report/symbol_files";
import { corpusFiles } from "./corpus.ts";
import { perfText, perfVersion } from "./perf.ts";

const root = new URL("../", import.meta.url).pathname;
const SEPARATOR = "\x01";

/** A row in the form in which both sides are compared. */
interface Row {
  /** Event, samples, period, share, object, symbol. */
  readonly key: string;
  readonly comm: string;
}

/** What `perf report` prints as fields, by event; events without samples are not counted. */
function perfRows(text: string): Row[] {
  const rows: Row[] = [];
  let event = -1;
  for (const line of text.split("\n")) {
    if (line.startsWith("# Samples:")) event++;
    if (line.startsWith("#")) continue;
    const [overhead, samples, period, comm, dso, sym] = line.split(SEPARATOR)
      .map((cell) => cell.trim());
    if (sym === undefined) continue;
    // A mapping of the recording machine's vdso: perf looks its functions up in its own vdso.
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

/** Whether two rows say the same, one of them in other words. */
function sameInOtherWords(perf: Row, own: Row): boolean {
  const [perfSym = "", ownSym = ""] = [perf.key, own.key].map((key) =>
    key.slice(key.lastIndexOf("\t") + 1)
  );
  const rest = (row: Row, sym: string) => row.key.slice(0, row.key.length - sym.length);
  if (rest(perf, perfSym) !== rest(own, ownSym)) return false;
  // perf cuts a command that got longer after its column's width was taken.
  if (perf.comm !== own.comm && !own.comm.startsWith(perf.comm)) return false;
  if (perfSym === ownSym) return true;
  // PLT stubs: of local IFUNCs perf knows no name, and none at all in some sections.
  return ownSym.endsWith("@plt") && /@plt$| 0x[0-9a-f]+$/.test(perfSym);
}

interface Comparison {
  readonly rows: number;
  /** The same in other words. */
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

/** The rows of a file; none of this machine's kernel where `kallsyms` is a file without symbols. */
async function functionsOf(
  path: string,
  kallsyms?: string,
  options: FunctionOptions = {},
): Promise<FunctionRow[]> {
  using source = fileSource(path);
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const counts = await aggregateFile(reader, path, 1);
  const buildIds = new Map<string, string>();
  for (const { filename, buildId } of await knownBinaries(reader)) buildIds.set(filename, buildId);
  const symbols = new SymbolFiles({ buildIds, kallsyms, osrelease: Deno.osRelease() });
  const rows = functionRows(counts, symbols, options);
  symbols.close();
  return rows;
}

/** What perf says of a file, in its own words. */
async function perfReport(path: string, kallsyms?: string): Promise<Row[] | undefined> {
  const output = await perfText([
    "report",
    "--stdio",
    "-F",
    "overhead,sample,period,comm,dso,sym",
    "-g",
    "none",
    "--no-children",
    "--no-group",
    "--no-branch-stack",
    "--no-itrace",
    "-t",
    SEPARATOR,
    ...(kallsyms === undefined ? [] : ["--kallsyms", kallsyms]),
  ], path);
  if (output === undefined || output.code !== 0 || /^Error:/m.test(output.stderr)) return undefined;
  return perfRows(output.stdout);
}

function* fixtures(): Generator<{ name: string; path: string }, void, void> {
  for (const folder of ["recorded", "synthesized"]) {
    for (const { name, isFile } of Deno.readDirSync(`${root}fixtures/${folder}`)) {
      if (!isFile || !name.endsWith(".data")) continue;
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
    // The recordings are of other kernels, and perf would take this one's symbols for some.
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
    assert(corpus.length === 0 || rows > 10_000);
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

for (
  const [language, file, source, compiler] of [
    ["C", "spin.c", C, ["gcc", "-O2", "-g"]],
    ["C++", "spin.cpp", CPP, ["g++", "-O2", "-g"]],
    ["Rust", "spin.rs", RUST, ["rustc", "-O", "-g"]],
  ] as const
) {
  const [program = "", ...flags] = compiler;
  let missing = noPerf;
  try {
    new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.log(`skipped: ${program} is not installed`);
    missing = true;
  }
  Deno.test({
    name: `funcs: rows equal those of perf report on a recording of ${language} and the kernel`,
    ignore: missing,
    async fn() {
      const folder = Deno.makeTempDirSync({ prefix: "perfdata-funcs-" });
      try {
        Deno.writeTextFileSync(`${folder}/${file}`, source);
        const run = (command: string, args: string[]) => {
          const { success, stderr } = new Deno.Command(command, { args, cwd: folder }).outputSync();
          assert(success, `${command}: ${new TextDecoder().decode(stderr)}`);
        };
        run(program, [...flags, file, "-o", "spin"]);
        run("perf", ["record", "-B", "-e", "cpu-clock", "-F", "2000", "-o", "data", "./spin"]);
        const perf = await perfReport(`${folder}/data`);
        assert(perf !== undefined && perf.length > 1);
        const own = await functionsOf(`${folder}/data`);
        const found = compare(perf, ownRows(own));
        console.log(
          `${language}: ${found.rows} rows compared, ${found.worded} of them say the same in ` +
            `other words, ${found.missing.length} differ`,
        );
        assertEquals([found.missing, found.extra], [[], []]);
        if (language !== "C") return; // inlined code: perf names the line of the innermost call

        const lines = await perfText([
          ...["report", "--stdio", "-F", "sample,dso,sym,srcline", "--full-source-path"],
          ...["-g", "none", "--no-children", "-t", SEPARATOR],
        ], `${folder}/data`);
        const expected = (lines?.stdout ?? "").split("\n")
          .map((line) => line.split(SEPARATOR).map((cell) => cell.trim()))
          .filter(([, dso]) => dso === "spin")
          .map(([samples, , sym, line = ""]) =>
            [samples, sym, line.slice(line.lastIndexOf("/") + 1)].join("\t")
          );
        const rows = await functionsOf(`${folder}/data`, undefined, {
          sort: ["dso", "sym", "srcline"],
        });
        assertEquals(
          rows.filter(({ dso }) => dso === "spin")
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

Deno.test("funcs: counting ranges one by one gives what one pass gives", async () => {
  const sorted = (rows: FunctionRow[]) => rows.map((row) => JSON.stringify(row)).sort();
  let [compared, threaded] = [0, 0];
  for (const { name, path } of [...corpus, ...fixtures()]) {
    using source = fileSource(path);
    const none = { symbols: () => undefined };
    const open = () => PerfDataReader.open(source, { diagnostics: () => {} });
    const whole = functionRows(await aggregate(await open()), none);
    const ranges = functionRows(await aggregateFile(await open(), path, 1), none);
    assertEquals(sorted(ranges), sorted(whole), name);
    compared += whole.length;
    if (Deno.statSync(path).size < 2 << 20) continue;
    // In threads of their own, too.
    const jobs = functionRows(await aggregateFile(await open(), path, 3, { leastRange: 1 }), none);
    assertEquals(jobs, ranges, name);
    threaded++;
  }
  console.log(`${compared} rows compared, ${threaded} files counted by several threads`);
});

/** Samples by thread, in words that do not depend on the order of counting. */
function threadsOf({ histogram, binaries, comms }: Aggregate): string[] {
  const found: string[] = [];
  histogram.forEach(([event, comm = 0, binary = 0, ...rest], samples, period) => {
    const name = binaries[binary]?.name;
    found.push(`${event} ${comms[comm]} ${name} ${rest.join(" ")}: ${samples} ${period}`);
  });
  return found.sort();
}

Deno.test("funcs: samples of each thread are the same counted in one pass and by ranges", async () => {
  // Told apart by thread, they are looked up one by one.
  const options = { keys: { tid: true } };
  let rows = 0;
  for (const { name, path } of [...corpus, ...fixtures()]) {
    using source = fileSource(path);
    const open = () => PerfDataReader.open(source, { diagnostics: () => {} });
    const expected = threadsOf(await aggregate(await open(), options));
    assertEquals(threadsOf(await aggregateFile(await open(), path, 1, options)), expected, name);
    rows += expected.length;
  }
  assert(rows > 0);
});

/** Chains with what was sampled there, in words that do not depend on the order of counting. */
function chainsOf({ calls, binaries, comms }: Aggregate): string[] {
  if (calls === undefined) throw new Error("no call tree");
  const { parents, nodeAddresses, addresses, contexts, samples, periods } = calls;
  const texts: string[] = [];
  const found: string[] = [];
  for (let node = 0; node < calls.nodeCount; node++) {
    const parent = parents[node] as number;
    const [event = 0, comm = 0] = contexts.subarray((-1 - parent) * 5);
    const [binary = 0, mode, hi, lo] = addresses.subarray((nodeAddresses[node] as number) * 4);
    const from = parent < 0 ? `${event} ${comms[comm]}` : texts[parent];
    const text = texts[node] = `${from} > ${binaries[binary]?.name} ${mode} ${hi} ${lo}`;
    if (samples[node] !== 0) found.push(`${text}: ${samples[node]} ${periods[node]}`);
  }
  return found.sort();
}

Deno.test("funcs: call chains are the same counted in one pass, by ranges and by threads", async () => {
  const options = { calls: true, leastRange: 1 };
  const none = { symbols: () => undefined };
  let [chains, files] = [0, 0];
  for (const { name, path } of [...corpus, ...fixtures()]) {
    using source = fileSource(path);
    const open = () => PerfDataReader.open(source, { diagnostics: () => {} });
    const whole = await aggregate(await open(), options);
    const expected = chainsOf(whole);
    assertEquals(chainsOf(await aggregateFile(await open(), path, 1, options)), expected, name);
    if (whole.leftOut === 0) {
      const plain = await aggregate(await open());
      assertEquals(functionRows(whole, none), functionRows(plain, none), name);
    }
    if (expected.some((text) => text.split(" > ").length > 2)) {
      chains += expected.length;
      files++;
    }
    if (Deno.statSync(path).size < 2 << 20) continue;
    assertEquals(chainsOf(await aggregateFile(await open(), path, 3, options)), expected, name);
  }
  assert(chains > 0);
  console.log(`${chains} distinct chains in ${files} files`);
});
