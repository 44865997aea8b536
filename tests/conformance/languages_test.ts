/**
 * Seven languages: a program of each is recorded, and names of functions, their callers and inlined
 * functions are compared with perf and a reader of debug information.
 */
import { assert, assertEquals } from "@std/assert";
import { ignored, notInstalled, skipped } from "../support/ignored.ts";
import { perfRecords, perfText } from "../support/perf.ts";
import { runIn } from "../support/recorded_program.ts";
import { inFolder, tool } from "../support/tool.ts";
import { withoutOrigin } from "../support/v8_names.ts";

const SOURCES = new URL("../support/walk/", import.meta.url).pathname;
/** Functions that each program calls, the innermost first. */
const CALLS: readonly string[] = ["inner", "middle", "outer"];

interface Language {
  readonly name: string;
  readonly source: string;
  /** Command that builds the program. */
  readonly compile?: readonly string[];
  readonly run: readonly string[];
  /** Kind of stacks: frame pointers or copies. */
  readonly stacks: readonly string[];
  /** The language's name of one of the three functions. */
  readonly called: (name: string) => RegExp;
  /** Functions that share a stack; by default all. */
  readonly calls?: readonly string[];
  /** Function inlined in `inner`, if the debug information has it. */
  readonly inlined?: string;
  /** Whether code is JIT-compiled, with names in a map or jitdump. */
  readonly jit?: "map" | "dump";
  /** Reason why it cannot be tested here. */
  readonly missing: string | undefined;
}

const COPIES = ["--call-graph", "dwarf,4096"];
const POINTERS = ["-g"];
/** An unchanged name. */
const exactly = (name: string): RegExp => new RegExp(`^${name.replace(/[^\w\s]/g, "\\$&")}(?: |$)`);
const COMPILED = ["-O2", "-g", "-fno-optimize-sibling-calls", "-no-pie", "-o", "program"];

/** A Python that writes perf maps; `undefined` without Python 3.12 or later. */
function pythonWithMap(): string | undefined {
  const named = Deno.env.get("PERFDATA_PYTHON");
  const names = ["python3", "python3.14", "python3.13", "python3.12"];
  for (const program of named === undefined ? names : [named]) {
    if (notInstalled(program) !== undefined) continue;
    const code =
      "import os, sys; print(os.getpid()); sys.exit(not sys.is_stack_trampoline_active())";
    const { success, stdout } = new Deno.Command(program, { args: ["-X", "perf", "-c", code] })
      .outputSync();
    removeMaps(new Set(new TextDecoder().decode(stdout).match(/\d+/g)));
    if (success) return program;
  }
  return undefined;
}

const python = pythonWithMap();

const LANGUAGES: readonly Language[] = [
  {
    name: "C",
    source: "walk.c",
    compile: ["gcc", ...COMPILED, "walk.c"],
    run: ["./program"],
    stacks: COPIES,
    called: exactly,
    inlined: "small",
    missing: notInstalled("gcc"),
  },
  {
    name: "C++",
    source: "walk.cc",
    compile: ["g++", ...COMPILED, "walk.cc"],
    run: ["./program"],
    stacks: COPIES,
    called: (name) => exactly(`shop::${name === "inner" ? "Till<unsigned long>::inner" : name}`),
    inlined: "shop::Till<unsigned long>::small",
    missing: notInstalled("g++"),
  },
  {
    name: "Rust",
    source: "walk.rs",
    compile: [
      ...["rustc", "-O", "-g", "-C", "relocation-model=static"],
      ...["-o", "program", "walk.rs"],
    ],
    run: ["./program"],
    stacks: COPIES,
    called: (name) =>
      exactly(name === "inner" ? "<walk::Till<T> as walk::Work>::inner" : `walk::${name}`),
    inlined: "walk::small",
    missing: notInstalled("rustc"),
  },
  {
    name: "Go",
    source: "walk.go",
    compile: ["go", "build", "-o", "program", "walk.go"],
    run: ["./program"],
    stacks: POINTERS,
    called: (name) =>
      exactly(name === "inner" ? "main.(*Till[go.shape.int]).inner" : `main.${name}`),
    // A function that calls nothing has no frame that would identify its caller.
    calls: ["inner", "outer"],
    inlined: "main.small",
    missing: notInstalled("go"),
  },
  {
    name: "JavaScript",
    source: "walk.js",
    run: ["node", "--perf-basic-prof", "--interpreted-frames-native-stack", "walk.js"],
    stacks: POINTERS,
    called: (name) => new RegExp(`^JS:[*~^]${name} `),
    jit: "map",
    missing: notInstalled("node"),
  },
  {
    name: "JavaScript with a jitdump",
    source: "walk.js",
    run: ["node", "--perf-prof", "--interpreted-frames-native-stack", "walk.js"],
    stacks: POINTERS,
    called: (name) => new RegExp(`^JS:[*~^]${name} `),
    jit: "dump",
    missing: notInstalled("node"),
  },
  {
    name: "Java",
    source: "Walk.java",
    compile: ["javac", "Walk.java"],
    run: [
      ...["java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"],
      ...["-XX:+PreserveFramePointer", "-XX:-Inline", "Walk"],
    ],
    stacks: POINTERS,
    called: (name) => exactly(`void Walk.${name}(long)`),
    jit: "map",
    missing: notInstalled("javac", "java"),
  },
  {
    name: "Python",
    source: "walk.py",
    run: [python ?? "", "-X", "perf", "walk.py"],
    stacks: COPIES,
    called: (name) => new RegExp(`^py::${name}:`),
    // Before 3.13, the code that calls functions has no unwind tables.
    calls: ["inner"],
    jit: "map",
    missing: python === undefined ? "no Python of 3.12 or later (PERFDATA_PYTHON)" : undefined,
  },
];

/** Samples in the text of `script`: line and frames, without our mark of unverified names. */
function samplesOf(text: string): Map<string, string[]> {
  return new Map(
    text.split("\n\n").filter((block) => block.trim() !== "").map((block) => {
      const [head = "", ...frames] = block.trim().split("\n");
      return [head.trim(), frames.map((frame) => frame.trim().replace(/\?(?= \(|$)/, ""))] as const;
    }),
  );
}

/** A function's name without types, parameters and compilers' suffixes, for comparisons. */
function plain(name: string): string {
  const short = name.replace(/ (?:\[clone [^\]]*\]|\(\.[^()]*\))$/, "").replace(
    /::h[0-9a-f]{16}$/,
    "",
  ).replace(
    /\([^()]*\)(?: const)?$/,
    "",
  );
  return /\w+$/.exec(short)?.[0] ?? short;
}

interface Frame {
  readonly name: string;
  readonly line: string | undefined;
}

/** Frames at addresses, innermost first, by LLVM. */
function readByLlvm(folder: string, addresses: readonly string[]): Map<string, Frame[]> {
  const text = runIn(folder, "llvm-addr2line", "-a", "-fiC", "-e", "program", ...addresses);
  const frames = new Map<string, Frame[]>();
  let own: Frame[] = [];
  const lines = text.trim().split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    if (/^0x[0-9a-f]+$/.test(line)) frames.set(line, own = []);
    else own.push({ name: plain(line), line: lineOf(lines[++i] ?? "") });
  }
  return frames;
}

/** The end of `FILE:LINE`; empty for an unknown line. */
function lineOf(place: string | undefined): string | undefined {
  const [, file, line] = /([^/]*):(\d+)(?: .*)?$/.exec(place ?? "") ?? [];
  return file === undefined || line === "0" ? undefined : `${file}:${line}`;
}

interface SampledFrame {
  readonly sym?: string;
  readonly srcline?: string;
  readonly inlined?: readonly SampledFrame[];
}

const noWalk = perfRecords() ? undefined : "perf cannot record here";

for (const language of LANGUAGES) {
  Deno.test({
    name: `${language.name}: names, callers and inlined functions equal those of other readers`,
    ...ignored(noWalk ?? language.missing),
    fn: (t) =>
      inFolder(async (folder) => {
        const { source, compile, run, jit, stacks } = language;
        Deno.copyFileSync(SOURCES + source, `${folder}/${source}`);
        if (compile !== undefined) runIn(folder, compile[0] as string, ...compile.slice(1));
        runIn(
          folder,
          ...["perf", "--buildid-dir", `${folder}/debug`, "record", "-q", "-k", "mono"] as const,
          ...["-e", "cpu-clock:u", "-F", "499", ...stacks, "-o", "data", ...run],
        );
        const data = `${folder}/data`;
        try {
          await compareStacks(folder, language);
          if (language.inlined !== undefined) {
            const missing = notInstalled("llvm-addr2line");
            if (missing === undefined) await compareInlined(folder, language.inlined);
            else await skipped(t, missing);
          }
        } finally {
          if (jit === "map") removeMaps(await pidsOf(data));
        }
      }),
  });
}

/** Number of recordings of each program per side of a comparison. */
const TURNS = 3;

for (const language of LANGUAGES) {
  Deno.test({
    name:
      `${language.name}: diff marks nothing between equal programs, and a function that is 30 % slower`,
    ...ignored(noWalk ?? language.missing),
    fn: () =>
      inFolder(async (folder) => {
        const { source, compile, run, jit } = language;
        Deno.copyFileSync(SOURCES + source, `${folder}/${source}`);
        if (compile !== undefined) runIn(folder, compile[0] as string, ...compile.slice(1));
        const sides = { base: "100", same: "100", slower: "130" };
        const of = (side: keyof typeof sides): string[] =>
          Array.from({ length: TURNS }, (_, turn) => `${folder}/${side}-${turn}.data`);
        try {
          // Recorded alternately, so that all sides have the same conditions, and with many
          // samples, which reduces chance.
          for (let turn = 0; turn < TURNS; turn++) {
            for (const [side, percent] of Object.entries(sides)) {
              runIn(
                folder,
                ...[
                  "perf",
                  "--buildid-dir",
                  `${folder}/debug`,
                  "record",
                  "-q",
                  "-k",
                  "mono",
                ] as const,
                ...["-e", "cpu-clock:u", "-F", "3999", "-o", `${side}-${turn}.data`],
                ...[...run, percent],
              );
            }
          }
          await compareSame(language, of("base"), of("same"));
          await compareSlower(language, of("base"), of("slower"));
        } finally {
          if (jit === "map") {
            for (const data of [...of("base"), ...of("same"), ...of("slower")]) {
              removeMaps(await pidsOf(data));
            }
          }
        }
      }),
  });
}

/** A line of `diff --json` about a function. */
interface Changed {
  readonly name: string;
  readonly change: number;
  readonly significant: boolean;
  readonly note?: string;
}

/** The changes of functions, and the exit code with `--fail-above 5%`. */
async function changes(
  before: readonly string[],
  after: readonly string[],
): Promise<{ rows: readonly Changed[]; code: number }> {
  const flags = ["--json", "--all", "--fail-above", "5%"];
  const { out, err, code } = await tool("diff", [...flags, ...before, "vs", ...after]);
  const [, ...rows] = out.trim().split("\n").map((line): Changed => JSON.parse(line));
  assert(rows.length > 0, err);
  return { rows, code };
}

/** Whether a row is one of the program's functions, with or without parameters. */
function isCalled({ called }: Language, name: string, row: Changed): boolean {
  const wanted = called(name);
  return wanted.test(row.name) || wanted.test(row.name.replace(/\([^()]*\)$/, ""));
}

/** Between equal programs, 5 % of comparisons may have a mark, but only for a small change. */
async function compareSame(
  language: Language,
  before: readonly string[],
  after: readonly string[],
): Promise<void> {
  const { rows, code } = await changes(before, after);
  const marked = rows.filter(({ significant }) => significant);
  console.log(`${language.name}: ${marked.length} of ${rows.length} functions marked: same`);
  assertEquals(marked.filter(({ change }) => Math.abs(change) > 0.05), []);
  assertEquals(code, 0, "--fail-above 5%");
  const [inner] = rows.filter((row) => isCalled(language, "inner", row));
  assertEquals(inner?.note ?? "", "", `${language.name}: ${JSON.stringify(rows.slice(0, 5))}`);
}

/** The slower function is marked with a larger share; no other function is. */
async function compareSlower(
  language: Language,
  before: readonly string[],
  after: readonly string[],
): Promise<void> {
  const { rows } = await changes(before, after);
  const slower = rows.filter(({ significant, change }) => significant && change > 0);
  const inner = slower.filter((row) => isCalled(language, "inner", row));
  console.log(`${language.name}: ${slower.length} of ${rows.length} functions marked: slower`);
  const text = `${language.name}: ${JSON.stringify(rows.slice(0, 5))}`;
  assert(inner.length > 0, text);
  // A share of one half grows to 56.5 %, so all others shrink.
  assert(inner.reduce((sum, { change }) => sum + change, 0) > 0.02, text);
  const others = slower.filter((row) => !inner.includes(row));
  assertEquals(others.filter(({ change }) => change > 0.02), [], text);
}

/** Stacks equal perf's, and the three functions call each other in them. */
async function compareStacks(
  folder: string,
  { name, jit, called, calls = CALLS }: Language,
): Promise<void> {
  const fields = ["--no-inline", "-F", "tid,time,ip,sym"];
  const oracle = jit === "dump" ? "injected" : "data";
  if (jit === "dump") runIn(folder, "perf", "inject", "--jit", "-i", "data", "-o", oracle);
  const { out } = await tool("script", [...fields, `${folder}/data`]);
  const perf = await perfText(["script", ...fields], `${folder}/${oracle}`);
  const theirs = samplesOf(perf?.stdout ?? "");
  const ours = samplesOf(out);
  let equal = 0, through = 0, shorter = 0;
  const others: string[] = [];
  // For code in a jitdump perf writes files, in which addresses differ.
  const text = (frames: readonly string[] = []): string =>
    frames.map((frame) => jit === "dump" ? withoutOrigin(nameIn(frame)) : frame).join("\n");
  for (const [head, frames] of ours) {
    const names = frames.map(nameIn);
    let at = -1;
    const isNext = (call: string): boolean =>
      (at = names.findIndex((name, i) => i > at && called(call).test(name))) >= 0;
    // Code before the program's start is not compared.
    if (!calls.every(isNext)) continue;
    through++;
    const other = text(theirs.get(head));
    if (text(frames) === other) equal++;
    else if (jit !== undefined && other !== "" && text(frames).startsWith(other)) shorter++;
    else others.push(`${head}\n${text(frames)}\nperf:\n${other}`);
  }
  console.log(
    `${name}: ${equal} of ${through} stacks through ${calls} are those of perf, ` +
      `in ${shorter} perf stops earlier; ${ours.size} samples`,
  );
  assert(through >= 20, `${name}: ${through} of ${ours.size} stacks`);
  // Of V8's symbols at one address perf chooses another one, and it stops in the dynamic linker.
  assert(equal + shorter >= (jit === undefined ? through : 0.9 * through), others[0]);
  assert(equal > through / 2, `${equal} of ${through}`);
}

/** The name of a frame, after its address. */
function nameIn(frame: string): string {
  return frame.replace(/^\S+ /, "");
}

/** Inlined functions and lines at sampled addresses equal LLVM's. */
async function compareInlined(folder: string, inlined: string): Promise<void> {
  const { out } = await tool("records", ["--inline", "--type", "SAMPLE", `${folder}/data`]);
  const sampled = new Map<string, SampledFrame>();
  for (const line of out.trim().split("\n")) {
    const sample = JSON.parse(line) as SampledFrame & { ip: string; dso?: string };
    if (sample.dso === `${folder}/program`) sampled.set(sample.ip, sample);
  }
  const expected = readByLlvm(folder, [...sampled.keys()]);
  let withInlined = 0, lines = 0;
  for (const [address, sample] of sampled) {
    const frames = [...sample.inlined ?? [], sample];
    const theirs = expected.get(address) ?? [];
    assertEquals(
      frames.map(({ sym }) => plain(sym ?? "")),
      theirs.map(({ name }) => name),
      address,
    );
    for (const [i, { srcline }] of frames.entries()) {
      assertEquals(lineOf(srcline), theirs[i]?.line, `${address}, frame ${i}`);
      if (srcline !== undefined) lines++;
    }
    if (sample.inlined?.some(({ sym }) => sym === inlined)) withInlined++;
  }
  console.log(
    `${sampled.size} addresses, ${withInlined} in ${inlined}, ${lines} lines are those of LLVM`,
  );
  assert(withInlined > 0 && lines > 0, `${inlined} is nowhere inlined`);
}

/** The processes of a recording. */
async function pidsOf(data: string): Promise<Set<string>> {
  const { out } = await tool("script", ["-G", "-F", "pid", data]);
  return new Set(out.match(/\d+/g) ?? []);
}

/** Removes the maps that programs left. */
function removeMaps(pids: ReadonlySet<string>): void {
  for (const pid of pids) {
    try {
      Deno.removeSync(`/tmp/perf-${pid}.map`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}
