// Measures all rows of the tables beside peers in docs/performance.md, and prints it as Markdown: whole processes in
// turns on the recordings of `bench/recordings.sh FOLDER`. On an idle machine with two cores, it takes
// five minutes. Its progress goes to standard error.
//
//   deno run -A bench/table.ts FOLDER [--only NAME] [--cpu] [--runs N]
//
// `--only` measures only groups whose name begins with NAME. `--cpu` compares processor time, for a
// busy machine; ratios are then marked. `--runs` replaces the number of
// runs, which is 1 to 3. A row whose recording or peer is missing is skipped and reported.

import { parseArgs } from "@std/cli";
import { type Contestant, median, ratio, type Run, takeTurns } from "./_turns.ts";
import { makePt } from "./make_pt.ts";

const flags = parseArgs(Deno.args, { string: ["only", "runs"], boolean: ["cpu"] });
const [folder] = flags._.map(String);
const only = flags.only === undefined ? "" : String(flags.only);
if (folder === undefined) {
  console.error("table: which folder has the recordings?");
  Deno.exit(2);
}
const root = new URL("../", import.meta.url).pathname;
const scratch = Deno.makeTempDirSync({ prefix: "perfdata-bench-" });

/** A row: a command of ours, to be compared with a peer. */
interface Row {
  readonly job: string;
  readonly command: readonly string[];
  /** Name of its peer, if it is not that of the group. */
  readonly peer?: string;
}

/** Rows measured in turns on one file. */
interface Group {
  /** Commands of the peers, by their name in the table. */
  readonly peers: Readonly<Record<string, readonly string[]>>;
  readonly rows: readonly Row[];
  /** The measured file in the folder. */
  readonly file: string;
  readonly about: string;
  readonly runs: number;
  readonly input?: string;
  /** Output file, which is removed before each run. */
  readonly made?: string;
  /** Whether the file is damaged, so that commands report it. */
  readonly damaged?: boolean;
}

function tool(name: string, ...args: string[]): string[] {
  const path = `${root}tools/${name}.ts`;
  return [
    Deno.execPath(),
    "run",
    "-A",
    "--no-check",
    "--config",
    `${root}deno.json`,
    path,
    ...args,
  ];
}

const at = (name: string): string => `${folder}/${name}`;
const report = (...args: string[]) => ["perf", "report", "--stdio", ...args, "-i"];

/** Compares `funcs` with the fastest form of `perf report` on a recording. */
function functions(name: string, about: string, runs: number, limited = false): Group {
  const file = at(`${name}.data`);
  return {
    peers: {
      "`perf report --no-children -g none`": [...report("--no-children", "-g", "none"), file],
    },
    rows: [
      { job: "`funcs`", command: tool("funcs", "--no-inline", file) },
      ...(limited
        ? [{
          job: "`funcs --limit 20`",
          command: tool("funcs", "--no-inline", "--limit", "20", file),
        }]
        : []),
    ],
    file,
    about,
    runs,
  };
}

/** Compares commands that show stacks, on a recording with call chains. */
function stacks(file: string, about: string, runs: number): Group {
  return {
    peers: { "`perf report -g folded`": [...report("--no-children", "-g", "folded"), file] },
    rows: [
      { job: "`tree`", command: tool("tree", "--no-inline", file) },
      { job: "`export folded`", command: tool("export", "folded", "-o", "-", file) },
      { job: "`flame`", command: tool("flame", "-o", "-", file) },
    ],
    file,
    about,
    runs,
  };
}

const [small, compile, dwarf] = ["compile-s", "compile", "dwarf"].map((name) =>
  at(`${name}.data`)
) as [
  string,
  string,
  string,
];
const copy = (name: string): string => `${scratch}/${name}`;

const groups: Readonly<Record<string, () => Promise<Group | string> | Group>> = {
  "funcs-s": () => functions("compile-s", "a parallel compile", 3, true),
  funcs: () => functions("compile", "a longer one", 2, true),
  "funcs-l": () => functions("compile-l", "a still longer one", 1, true),
  faults: () => functions("faults", "page faults with call chains", 3),
  server: () => functions("server", "a server under load", 3),
  node: () => functions("node", "Node, with names of compiled code", 3),
  database: () => functions("database", "a database", 3),
  forks: () => functions("forks", "short processes", 3),
  dump: () => ({
    peers: {
      "`perf report -D`, its fast form": [
        ..."perf report -D --no-children -g none --kallsyms=/dev/null -i".split(" "),
        small,
      ],
    },
    rows: [
      { job: "`dump`, with one thread", command: tool("dump", "--jobs", "1", small) },
      { job: "`dump`, with two threads", command: tool("dump", "--jobs", "2", small) },
    ],
    file: small,
    about: "a parallel compile",
    runs: 1,
  }),
  records: () => ({
    peers: { "`perf script`": ["perf", "script", "-i", small] },
    rows: [
      { job: "`records`", command: tool("records", small) },
      { job: "`script`", command: tool("script", small) },
    ],
    file: small,
    about: "a parallel compile",
    runs: 2,
  }),
  children: () => ({
    peers: { "`perf report --children -g none`": [...report("--children", "-g", "none"), small] },
    rows: [{
      job: "`funcs --children`",
      command: tool("funcs", "--no-inline", "--children", small),
    }],
    file: small,
    about: "a parallel compile",
    runs: 2,
  }),
  tree: () => stacks(small, "a parallel compile", 2),
  "tree-l": () => stacks(compile, "a longer one", 1),
  unwound: () => ({
    peers: { "`perf script --no-inline`": ["perf", "script", "--no-inline", "-i", dwarf] },
    rows: [{
      job: "`export folded`, copied stacks unwound",
      command: tool("export", "folded", "-o", "-", dwarf),
    }],
    file: dwarf,
    about: "one compile",
    runs: 3,
  }),
  edit: () => ({
    peers: { "`perf inject`": ["perf", "inject", "-i", compile, "-o", copy("injected")] },
    rows: [
      { job: "`convert`", command: tool("convert", "--force", "-o", copy("converted"), compile) },
      {
        job: "`slice --time`",
        command: tool("slice", "--force", "--time", "20%-60%", "-o", copy("slice"), compile),
      },
    ],
    file: compile,
    about: "a longer compile",
    runs: 3,
  }),
  pt: realTrace,
  "addr2line-10": () => addresses(10_000),
  "addr2line-100": () => addresses(100_000),
  payloads,
};

/** Compares on a real Intel PT trace of the corpus. */
async function realTrace(): Promise<Group | string> {
  const { corpusTrace, joined } = await import("../tests/support/pt_corpus.ts");
  const { wrapTrace } = await import("../fixtures/stepped/wrap.ts");
  const trace = corpusTrace("qemu");
  if (trace === undefined) return "pt: no corpus";
  const file = await wrapTrace(scratch, trace.bytes, joined(trace.runs));
  return {
    peers: {
      "`perf script --itrace=i0ns -F ip`": [
        ..."perf script --itrace=i0ns -F ip -i".split(" "),
        file,
      ],
    },
    rows: [{ job: "`pt`, functions", command: tool("pt", file) }],
    file,
    about: "Intel PT",
    // The processor lost packets once.
    damaged: true,
    runs: 2,
  };
}

/** Compares on addresses spread evenly over the code of a large binary: `bench/addr2line_program.ts`. */
function addresses(count: number): Group {
  const file = at("program");
  const { stdout } = new Deno.Command("readelf", { args: ["-SW", file] }).outputSync();
  const text = /\] \.text\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)/.exec(
    new TextDecoder().decode(stdout),
  );
  const [, start = "0", size = "0"] = text ?? [];
  const input = `${scratch}/addresses-${count}`;
  const step = parseInt(size, 16) / count;
  Deno.writeTextFileSync(
    input,
    Array.from(
      { length: count },
      (_, i) => `0x${(parseInt(start, 16) + Math.floor((i + 0.5) * step)).toString(16)}\n`,
    ).join(""),
  );
  const job = `\`addr2line -i -f\`, ${count / 1000},000 addresses`;
  const command = tool("addr2line", "-i", "-f", "-e", file);
  const llvm = "`llvm-symbolizer`";
  return {
    peers: {
      "binutils' `addr2line`": ["addr2line", "-i", "-f", "-e", file],
      [llvm]: `llvm-symbolizer --obj=${file} --inlines --functions=linkage --no-demangle`.split(
        " ",
      ),
    },
    rows: [{ job, command }, { job, command, peer: llvm }],
    file,
    about: "C++",
    runs: 1,
    input,
  };
}

/** Compares on raw Intel PT in memory, so that the disk does not matter. */
async function payloads(): Promise<Group> {
  const memory = Deno.makeTempDirSync({ prefix: "perfdata-bench-", dir: "/dev/shm" });
  globalThis.addEventListener("unload", () => Deno.removeSync(memory, { recursive: true }));
  const file = `${memory}/perf.data`;
  await makePt(1000, file, `${memory}/payload`);
  return {
    // Into a new file each time; overwriting has another cost.
    peers: { "`cp` of the payload": ["cp", `${memory}/payload`, `${memory}/out`] },
    rows: [{
      job: "`extract-pt`",
      command: tool("extract_pt", "-o", `${memory}/out`, file),
    }],
    file,
    about: "Intel PT, in memory",
    runs: 3,
    made: `${memory}/out`,
  };
}

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Measures a group; returns its lines of the table. */
function measure({ peers, rows, file, about, runs, input, made, damaged }: Group): string[] {
  const contestant = (command: readonly string[]): Contestant => ({
    command,
    warmUp: ["true"],
    ...(input === undefined ? {} : { input }),
    ...(made === undefined ? {} : { made }),
    ...(damaged === undefined ? {} : { mayComplain: damaged }),
  });
  const names = [...Object.keys(peers), ...rows.map(({ job }) => job)];
  const taken = takeTurns(
    Object.fromEntries(
      names.map((name) =>
        [
          name,
          contestant(
            peers[name] ?? rows.find(({ job }) => job === name)?.command ?? [],
          ),
        ] as const
      ),
    ),
    Number(flags.runs ?? runs),
    [file],
  );
  const key = flags.cpu ? "cpu" : "wall";
  const megabytes = (all: readonly Run[]) => median(all.map((run) => run.megabytes)).toFixed(0);
  const size = `${(Deno.statSync(file).size / 1e6).toFixed(0)} MB`;
  return rows.map(({ job, peer = Object.keys(peers)[0] as string }) => {
    const [own = [], other = []] = [taken[job], taken[peer]];
    const times = ratio(other, own, key);
    const seconds = (all: readonly Run[]) => median(all.map((run) => run[key])).toFixed(2);
    console.error(`  ${job} ${seconds(own)} s, ${peer} ${seconds(other)} s`);
    return `| ${job} | ${peer} | ${size}, ${about} | ${times.toFixed(1)}×${
      flags.cpu ? " †" : ""
    } | ${megabytes(own)}, ${megabytes(other)} MB |`;
  });
}

console.log("| job | compared with | file | ratio | memory, ours and theirs |");
console.log("| --- | --- | --- | --- | --- |");
const started = performance.now();
try {
  for (const [name, make] of Object.entries(groups)) {
    if (!name.startsWith(only)) continue;
    const group = await make();
    if (typeof group === "string") {
      console.error(`skipped: ${group}`);
      continue;
    }
    const { file, about } = group;
    if (!isThere(file)) {
      console.error(`skipped: ${file} is missing`);
      continue;
    }
    console.error(`${file}, ${about}`);
    try {
      for (const line of measure(group)) console.log(line);
    } catch (error) {
      console.error(`skipped: ${(error as Error).message}`);
    }
  }
} finally {
  Deno.removeSync(scratch, { recursive: true });
}
if (flags.cpu) console.log("\n† Time of processors, on a machine that had other work to do.");
console.error(`${((performance.now() - started) / 1000).toFixed(0)} s`);
