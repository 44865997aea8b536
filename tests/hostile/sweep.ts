/**
 * Runs tools on recordings, whole, truncated at many places and through a pipe, and prints how each
 * ended: exit code, lines on standard error, peak of memory, time.
 *
 * deno run -A tests/hostile/sweep.ts [--corpus] [--cuts 13] [--rows] [--in-process] [--counts]
 * [FILE ...]
 *
 * By default each run is a process, which covers permissions, exit code and peak. With
 * `--in-process` all run in this one, which is 50 times as fast: output and exit code are the same,
 * but memory is the total, and there is no pipe.
 *
 * `--counts` runs the tools that print counts and shares in this process, and finds impossible
 * numbers.
 *
 * Without files it uses `fixtures/`, with `--corpus` the corpus. `--rows` prints a line for each
 * run in addition to the table by tool and the errors.
 */
import { parseArgs } from "@std/cli";
import { corpusFiles } from "../support/corpus.ts";
import { isExpected } from "../fuzz/commands.ts";
import { tool, toolArguments } from "../support/tool.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;

/**
 * The tools with their arguments: `OUT` is an output folder, `SYMFS` one with the demo, `FILE` the
 * recording, which comes last if it is not named.
 */
export const SWEPT: readonly (readonly [string, ...string[]])[] = [
  ["info"],
  ["header"],
  ["dump", "--no-hex"],
  ["records"],
  ["hex"],
  ["funcs", "--symfs", "OUT"],
  ["tree", "--symfs", "OUT"],
  ["rate"],
  ["readperf", "-f", "-o", "OUT", "--symfs", "OUT"],
  ["extract-pt", "--list"],
  ["symbols", "trust", "--symfs", "OUT"],
  ["repair", "-f", "-o", "OUT/repaired.data"],
];

/** Only the demo's symbols. */
const SYMFS = ["--symfs", "SYMFS"] as const;

/** Tools that print counts and shares: as a table, at the starts of lines, or as JSON. */
export const COUNTING: readonly (readonly [string, ...string[]])[] = [
  ["info"],
  ["info", "--json"],
  ["report", "--stdio", ...SYMFS],
  ["funcs", "--children", ...SYMFS],
  ["funcs", "--weight", "off-cpu", ...SYMFS],
  ["funcs", "--json", ...SYMFS],
  ["funcs", "--csv", "--children", "-g", "caller", ...SYMFS],
  ["funcs", "--json", "-b", ...SYMFS],
  ["funcs", "--json", "--mem", ...SYMFS],
  ["funcs", "--json", "--latency", ...SYMFS],
  ["funcs", "--json", "--weight", "wall", ...SYMFS],
  ["funcs", "--json", "--sort", "machine,cpu,time", ...SYMFS],
  ["tree", ...SYMFS],
  ["tree", "--callers", ...SYMFS],
  ["tree", "--json", "--callers", ...SYMFS],
  ["export", "folded", ...SYMFS],
  ["rate", "--json"],
  ["stat", "--json"],
  ["sched", "latency"],
  ["sched", "latency", "--threads", "--json"],
  ["sched", "timehist", "--json"],
  ["sched", "wakeups", "--json"],
  ["lock", "--json", ...SYMFS],
  ["c2c", "--json", "--percent-limit", "0", ...SYMFS],
  ["annotate", "--lines", ...SYMFS, "FILE", "/./"],
  ["annotate", "--lines", "--json", ...SYMFS, "FILE", "/./"],
  ["diff", "--all", ...SYMFS, "FILE", "FILE"],
  ["diff", "--json", "--by", "time", ...SYMFS, "FILE", "FILE"],
  ["readperf", "-f", "-o", "OUT", ...SYMFS],
];

/**
 * The first line that begins with a negative number, or with a share above 100 %.
 *
 * @param text Tables, whose first columns are numbers.
 */
export function impossibleLine(text: string): string | undefined {
  return text.split("\n").find((line) => {
    const words = line.trim().split(/\s+/);
    const numbers = words.slice(0, words.findIndex((word) => !/^-?\d+(?:\.\d+)?%?$/.test(word)));
    return / -\d+$/.test(line) ||
      numbers.some((word) => word.startsWith("-") || word.endsWith("%") && parseFloat(word) > 100);
  });
}

/**
 * Numbers in JSON that may be negative: missing identifiers, changes, and values from the command
 * line.
 */
const SIGNED = new Set(["cpu", "pid", "tid", "ptid", "change", "interval", "command"]);

/** Largest possible share, with rounding errors. */
const MOST_SHARE = 1 + 1e-9;

/** An impossible value in JSON: a negative number, a share above 100 %, or a name with a mark. */
function impossibleValue(value: unknown, key: string): string | undefined {
  if (typeof value === "number") {
    const share = key === "overhead" || key === "children" ? value / 100 : value;
    const isShare = share !== value || /(?:^|_)share$/.test(key);
    return value < 0 || isShare && share > MOST_SHARE ? `${key} ${value}` : undefined;
  }
  if (typeof value === "string") return MARKED.test(value) ? `${key} ${value}` : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const own = Array.isArray(value) ? key : name;
    const found = SIGNED.has(own) ? undefined : impossibleValue(inner, own);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** An unverified name as marked in tables. */
const MARKED = /[\w)>\]]\?$/;

/** The first JSON line with an {@link impossibleValue}. */
export function impossibleRow(text: string): string | undefined {
  for (const line of text.split("\n")) {
    // The last line of a tool whose pipe was closed is truncated.
    if (!line.startsWith("{") || !line.endsWith("}")) continue;
    const found = impossibleValue(JSON.parse(line), "");
    if (found !== undefined) return `${found} in ${line.slice(0, 300)}`;
  }
  return undefined;
}

/** The first frame of folded stacks, or CSV cell, that is negative or has the mark of tables. */
export function impossibleWord(text: string): string | undefined {
  return text.split("\n").flatMap((line) => line.replace(/ (?=-?\d+$)/, ";").split(/[;,]/))
    .find((word) => MARKED.test(word) || /^-\d+(?:\.\d+)?$/.test(word));
}

/** Impossible values in a tool's output. */
function impossibleOutput(
  [name, ...flags]: readonly string[],
  text: string,
): string | undefined {
  if (flags.includes("--json")) return impossibleRow(text);
  if (flags.includes("--csv") || name === "export" && flags.includes("folded")) {
    return impossibleWord(text);
  }
  return impossibleLine(text);
}

/** Result of a tool's run. */
export interface SweepRow {
  /** The recording. */
  readonly file: string;
  /** `whole`, `pipe`, or `cut at` an offset. */
  readonly form: string;
  /** The tool. */
  readonly tool: string;
  /** Its exit code. */
  readonly code: number;
  /** Lines on standard error. */
  readonly lines: number;
  /** Peak of resident memory in MB; `undefined` without GNU time. */
  readonly peak: number | undefined;
  /** Milliseconds. */
  readonly time: number;
  /** Errors. */
  readonly wrong: string | undefined;
}

/** Selection of the runs. */
export interface SweepOptions {
  readonly files: readonly string[];
  /** Number of truncations of each recording. */
  readonly cuts: number;
  /** Whether to run the tools in this process. */
  readonly inProcess?: boolean;
  readonly tools?: readonly (readonly [string, ...string[]])[];
}

/** Runs all tools over all forms of all files. */
export async function* sweep(options: SweepOptions): AsyncGenerator<SweepRow, void, void> {
  const { files, cuts, tools = SWEPT, inProcess = false } = options;
  const folder = await Deno.makeTempDir({ prefix: "perfdata-sweep-" });
  try {
    await Deno.mkdir(`${folder}/symfs/tmp/demo`, { recursive: true });
    await Deno.copyFile(`${FIXTURES}demo/demo`, `${folder}/symfs/tmp/demo/demo`);
    for (const file of files) {
      const bytes = await Deno.readFile(file);
      const isPipe = new DataView(bytes.buffer).getUint8(8) === 16;
      const forms: [string, number][] = [["whole", bytes.length]];
      if (!inProcess) forms.push(["pipe", bytes.length]);
      for (let i = 1; i <= cuts; i++) {
        const at = Math.floor(bytes.length * i / (cuts + 1));
        forms.push([`cut at ${at}`, at]);
      }
      for (const [form, size] of forms) {
        const input = `${folder}/input.data`;
        await Deno.writeFile(input, bytes.subarray(0, size));
        for (const tool of tools) {
          const how = inProcess ? runHere : run;
          yield await how(file, form, tool, input, folder, form.startsWith("cut") && !isPipe);
        }
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Output after which the pipe of a tool in this process is closed. */
const MOST_OUTPUT = 1 << 22;

/** Runs a tool in this process. */
async function runHere(
  file: string,
  form: string,
  [name, ...flags]: readonly [string, ...string[]],
  input: string,
  folder: string,
  isCut: boolean,
): Promise<SweepRow> {
  const out = `${folder}/out`;
  await Deno.mkdir(out, { recursive: true });
  const symfs = `${folder}/symfs`;
  const args = flags.map((flag) =>
    flag === "FILE" ? input : flag.replace("OUT", out).replace("SYMFS", symfs)
  );
  if (!flags.includes("FILE")) args.push(input);
  const start = performance.now();
  const { code, err, out: text, thrown } = await tool(name, args, { most: MOST_OUTPUT });
  const time = performance.now() - start;
  const peak = Deno.memoryUsage().rss / 2 ** 20;
  const lines = err.split("\n").filter((line) => line !== "").length;
  const closed = thrown instanceof Deno.errors.BrokenPipe;
  const fault = thrown === undefined || isExpected(thrown)
    ? undefined
    : String(thrown instanceof Error ? thrown.stack : thrown);
  const isCounting = thrown === undefined && COUNTING.some(([counting]) => counting === name);
  const impossible = isCounting ? impossibleOutput([name, ...flags], text) : undefined;
  const says = lines > 0 || name === "repair";
  const wrong = fault ??
    (code !== 0 && code !== 1
      ? `exit code ${code}`
      : impossible !== undefined
      ? `a number that cannot be: ${impossible}`
      : code === 1 && !says
      ? "exit code 1 without a line"
      : isCut && code === 0 && !closed
      ? "a cut file is taken for a whole one"
      : undefined);
  return { file, form, tool: name, code, lines, peak, time, wrong };
}

async function run(
  file: string,
  form: string,
  [tool, ...flags]: readonly [string, ...string[]],
  input: string,
  folder: string,
  isCut: boolean,
): Promise<SweepRow> {
  const out = `${folder}/out`;
  await Deno.mkdir(out, { recursive: true });
  const args = flags.map((flag) => flag.replace("OUT", out));
  // Repair cannot read from a pipe.
  const piped = form === "pipe" && tool !== "repair";
  const start = performance.now();
  const { code, stderr } = await new Deno.Command("sh", {
    args: [
      "-c",
      `exec ${TIMED ? `/usr/bin/time -f %M -o ${folder}/peak` : ""} "$@" >${folder}/text ${
        piped ? `<${input}` : "</dev/null"
      }`,
      "sh",
      Deno.execPath(),
      ...toolArguments(tool),
      ...args,
      piped ? "-" : input,
    ],
    env: { NO_COLOR: "1", PERFDATA_CWD: "" },
  }).output();
  const time = performance.now() - start;
  const lines = new TextDecoder().decode(stderr).split("\n").filter((line) => line !== "");
  const peak = TIMED
    ? Number(/(\d+)\s*$/.exec(await Deno.readTextFile(`${folder}/peak`))?.[1]) / 1024
    : undefined;
  const says = lines.length > 0 || tool === "repair";
  const wrong = code !== 0 && code !== 1
    ? `exit code ${code}`
    : lines.some((line) => /^\s+at /.test(line) || /error.*Uncaught/i.test(line))
    ? "a stack trace"
    : code === 1 && !says
    ? "exit code 1 without a line"
    : isCut && code === 0
    ? "a cut file is taken for a whole one"
    : peak !== undefined && peak > 512
    ? `${peak.toFixed(0)} MB`
    : undefined;
  return { file, form, tool, code, lines: lines.length, peak, time, wrong };
}

const TIMED = (() => {
  try {
    return Deno.statSync("/usr/bin/time").isFile;
  } catch {
    return false;
  }
})();

/** A table by tool: runs, exit codes, most lines, highest peak, longest time. */
export function sweepTable(rows: readonly SweepRow[]): string {
  const text = ["| tool | runs | code 0 | code 1 | most lines | peak, MB | longest, ms |"];
  text.push("| --- | --- | --- | --- | --- | --- | --- |");
  for (const tool of new Set(rows.map((row) => row.tool))) {
    const own = rows.filter((row) => row.tool === tool);
    const most = (value: (row: SweepRow) => number) => Math.round(Math.max(...own.map(value)));
    const codes = [0, 1].map((code) => own.filter((row) => row.code === code).length);
    text.push(
      `| ${tool} | ${own.length} | ${codes.join(" | ")} | ${most((row) => row.lines)} | ${
        most((row) => row.peak ?? 0)
      } | ${most((row) => row.time)} |`,
    );
  }
  return text.join("\n");
}

/** The recordings in `fixtures/`. */
export function fixtureFiles(): string[] {
  const files: string[] = [];
  for (const folder of ["recorded", "synthesized", "cases", "hostile"]) {
    for (const { name, isFile } of Deno.readDirSync(FIXTURES + folder)) {
      if (isFile && name.endsWith(".data")) files.push(`${FIXTURES}${folder}/${name}`);
    }
  }
  return files.sort();
}

if (import.meta.main) {
  const flags = parseArgs(Deno.args, {
    boolean: ["corpus", "rows", "in-process", "counts"],
    string: ["cuts"],
  });
  const named = flags._.map(String);
  const files = named.length > 0
    ? named
    : flags.corpus
    ? corpusFiles().map(({ path }) => path)
    : fixtureFiles();
  const rows: SweepRow[] = [];
  for await (
    const row of sweep({
      files,
      cuts: Number(flags.cuts ?? 13),
      inProcess: flags["in-process"] === true || flags.counts === true,
      tools: flags.counts ? COUNTING : SWEPT,
    })
  ) {
    rows.push(row);
    const { file, form, tool, code, lines, peak, time, wrong } = row;
    if (!flags.rows && wrong === undefined) continue;
    const name = file.slice(file.lastIndexOf("/") + 1);
    const figures = `${lines} lines, ${peak?.toFixed(0) ?? "?"} MB, ${time.toFixed(0)} ms`;
    console.log([name, form, tool, `code ${code}`, figures, wrong ?? ""].join("\t"));
  }
  console.log(sweepTable(rows));
  const wrong = rows.filter((row) => row.wrong !== undefined).length;
  console.log(`\n${files.length} files, ${rows.length} runs, ${wrong} not as they should be`);
}
