/**
 * `dump` compared with the installed perf: the whole output of `perf report -D`, for all fixtures
 * and the corpus.
 */
import { assert } from "@std/assert";
import { dump } from "@perfdata/dump";
import { PerfDataError } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { fileSource } from "@perfdata/format/files";
import { corpusFiles } from "../support/corpus.ts";
import { perfVersion } from "../support/perf.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Differences that `docs/dump.md` explains, by file. Each has a section there with this title. */
type Deviation =
  | "Big-endian files"
  | "CoreSight"
  | "Event names"
  | "The old dialect of Chrome OS"
  | "Where perf stops"
  | "Truncated files";

const DEVIATIONS: readonly (readonly [RegExp, Deviation])[] = [
  [/-be\.perf\.data$/, "Big-endian files"],
  [/corpus\/poc-95cc7524/, "Big-endian files"],
  [/simpleperf\/testdata\/etm\//, "CoreSight"],
  [/fuzztest\/resource\/testdata\/report_test/, "Truncated files"],
  [/hiperf\/.*testdata\/(dwarf|fp|perfnew|report_test)/, "Event names"],
  [/perf\.data\.piped\.host-3\.2@/, "The old dialect of Chrome OS"],
];

interface Outcome {
  readonly name: string;
  readonly verdict: string;
  readonly wrong?: string;
}

/** Lines of raw bytes, which perf swaps in big-endian files. */
const HEX_LINE = /^\. {2}[0-9a-f]{4}: .*\n/gm;
/** Other fields that perf does not swap in big-endian files: `prot` and `flags` of MMAP2. */
const UPDATE = /(PERF_RECORD_EVENT_UPDATE\n\.\.\. id: .*\n).*\n/g;
/** CoreSight packets, and the records that perf synthesizes from them. */
const CORESIGHT = /^\tIdx:.*\n|^\. \.\.\. CoreSight.*\n/gm;
const MADE_UP = /\n0@\(null\)[^]*?PERF_RECORD_ATTR/g;

async function ours(path: string, name: string): Promise<string> {
  using source = fileSource(path);
  const decoder = new TextDecoder("latin1");
  const blocks: string[] = [];
  const write = (text: Uint8Array): void => void blocks.push(decoder.decode(text));
  try {
    const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
    await dump(reader, { path: name, write });
  } catch (error) {
    if (!(error instanceof PerfDataError)) throw error;
    blocks.push(`\nerror: ${error.located()}\n`);
  }
  return blocks.join("");
}

/**
 * perf looks up kernel symbols in the running kernel, which changes the end of the kernel's maps;
 * without kallsyms it uses the file. The name of its own vdso is random.
 */
async function perfs(path: string, name: string): Promise<{ text: string; stderr: string }> {
  // For a pipe's stream in a regular file, perf looks for AUX data at the wrong offset.
  const from = isPipe(path) ? 'cat "$1" | timeout 300 $perf -i -' : 'timeout 300 $perf -i "$1"';
  const cache = Deno.makeTempDirSync({ prefix: "perfdata-buildids-" });
  try {
    const { stdout, stderr } = await new Deno.Command("sh", {
      args: [
        "-c",
        `ulimit -v 8000000; perf="perf report -D --no-children -g none --kallsyms=/dev/null"; ${from}`,
        "perf",
        name,
      ],
      cwd: path.slice(0, path.lastIndexOf("/") + 1),
      env: { LC_ALL: "C", PERF_BUILDID_DIR: cache, PAGER: "cat" },
      stdin: "null",
    }).output();
    const decoder = new TextDecoder("latin1");
    return {
      text: decoder.decode(stdout).replace(/\/tmp\/perf-vdso\.so-\w{6}/g, "[vdso]"),
      stderr: decoder.decode(stderr),
    };
  } finally {
    Deno.removeSync(cache, { recursive: true });
  }
}

function isPipe(path: string): boolean {
  using file = Deno.openSync(path);
  const head = new Uint8Array(16);
  file.readSync(head);
  const view = new DataView(head.buffer);
  return view.getBigUint64(8, true) === 16n || view.getBigUint64(8, false) === 16n;
}

function firstDifference(a: string, b: string): string {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const show = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 60), at + 60));
  return `differs at ${at}\n    perf: ${show(a)}\n    ours: ${show(b)}`;
}

function compare(perf: { text: string; stderr: string }, own: string, name: string): Outcome {
  const { text, stderr } = perf;
  if (text === own) return { name, verdict: "same" };
  const reason = stderr.trim().split("\n").find((line) => line !== "" && !/^Warning/.test(line)) ??
    "";
  if (text === "") return { name, verdict: `perf refuses it: ${reason}` };
  const isComplete = text.includes("\nAggregated stats:");
  // If perf stopped midway, its output must be the beginning of ours.
  if (!isComplete && own.startsWith(text)) {
    return { name, verdict: `same up to where perf stops: ${reason}` };
  }
  const deviation = DEVIATIONS.find(([pattern]) => pattern.test(name))?.[1];
  const same = (a: string, b: string, title: Deviation): Outcome =>
    a === b || (!isComplete && b.startsWith(a))
      ? { name, verdict: `same except: ${title}` }
      : { name, verdict: `not the same either, except: ${title}`, wrong: firstDifference(a, b) };
  switch (deviation) {
    case "Event names": {
      const unnamed = (of: string): string => of.replace(/^.* stats:$/gm, "stats:");
      return same(unnamed(text), unnamed(own), deviation);
    }
    case "CoreSight": {
      const plain = (of: string): string =>
        of.replace(CORESIGHT, "").replace(MADE_UP, "").replace(/\n+/g, "\n")
          .replace(/\nAggregated stats[^]*/, "");
      return same(plain(text), plain(own), deviation);
    }
    case "The old dialect of Chrome OS":
    case "Truncated files": {
      // The outputs diverge at perf's last record.
      const before = text.slice(0, text.lastIndexOf("\n0x"));
      const whole = deviation === "Truncated files" ? before : text.replace(/Too big: .*\n$/, "");
      return own.startsWith(whole)
        ? { name, verdict: `same except: ${deviation}` }
        : { name, verdict: `differs before: ${deviation}`, wrong: firstDifference(whole, own) };
    }
    case "Big-endian files": {
      const plain = (of: string): string =>
        of.replace(HEX_LINE, "").replace(/\]: [-r][-w][-x][ps] /g, "]: ").replace(UPDATE, "$1");
      // perf aborts within a line if it does not swap the length of a list.
      const whole = isComplete ? text : text.slice(0, text.lastIndexOf("\n") + 1);
      return same(plain(whole), plain(own), deviation);
    }
    default:
      return { name, verdict: "differs", wrong: firstDifference(text, own) };
  }
}

/** Minimum number of fixtures whose text equals perf's exactly. */
const FIXTURES_EXACT = 32;
/** Minimum share of such files of the corpus: 98 of 149 when this was written. */
const CORPUS_EXACT = 0.6;

/** The fixtures that perf can open: files, not directories. */
function fixtures(): { name: string; path: string }[] {
  const found: { name: string; path: string }[] = [];
  for (const folder of ["recorded", "synthesized"]) {
    let entries: Deno.DirEntry[];
    try {
      entries = [...Deno.readDirSync(`${root}fixtures/${folder}`)];
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      continue;
    }
    for (const { name, isFile } of entries) {
      if (isFile && name.endsWith(".perf.data")) {
        found.push({ name: `${folder}/${name}`, path: `${root}fixtures/${folder}/${name}` });
      }
    }
  }
  return found.sort((a, b) => a.name < b.name ? -1 : 1);
}

/** @param least Minimum number of exactly equal files: a perf that refuses all proves nothing. */
async function run(
  files: readonly { name: string; path: string }[],
  least: number,
): Promise<void> {
  const outcomes: Outcome[] = [];
  const left = [...files];
  const worker = async (): Promise<void> => {
    for (let file = left.shift(); file !== undefined; file = left.shift()) {
      const base = file.path.slice(file.path.lastIndexOf("/") + 1);
      const [perf, own] = await Promise.all([perfs(file.path, base), ours(file.path, base)]);
      outcomes.push(compare(perf, own, file.name));
    }
  };
  await Promise.all([worker(), worker()]);
  outcomes.sort((a, b) => a.name < b.name ? -1 : 1);
  for (const { name, verdict, wrong } of outcomes) {
    console.log(`${name}: ${verdict}${wrong === undefined ? "" : `\n    ${wrong}`}`);
  }
  const exact = outcomes.filter(({ verdict }) => verdict === "same").length;
  const failed = outcomes.filter(({ wrong }) => wrong !== undefined);
  console.log(`${outcomes.length} files: ${exact} the same, ${failed.length} undocumented`);
  assert(exact >= least, `${exact} files are the same, expected ${least} or more`);
  assert(failed.length === 0, `${failed.map(({ name }) => name).join(", ")}: differ from perf`);
}

Deno.test({
  name: "dump: fixtures give the text of perf report -D",
  ignore: perfVersion() === undefined,
  fn: () => run(fixtures(), FIXTURES_EXACT),
});

const corpus = corpusFiles();
Deno.test({
  name: "dump: corpus files give the text of perf report -D",
  ignore: perfVersion() === undefined || corpus.length === 0,
  fn: () => run(corpus, Math.floor(corpus.length * CORPUS_EXACT)),
});
