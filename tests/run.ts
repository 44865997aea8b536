// Uses Deno
/**
 * Runs tests. `deno test` starts an isolate for each file and each example, which loads up to 300
 * modules: 0.2 to 0.3 s of processor time for each of 280 unit test files and 330 examples. So entry
 * modules import several of them, and `deno test` runs the entries. A failure still names its own
 * file and line, and `deno test FILE` runs one file alone.
 *
 * usage: deno run -A tests/run.ts PART…
 *
 *     unit      the tests in packages/ and view/
 *     quick     all tests except those of LONG
 *     long      the tests of LONG
 *     oracles   tests that start other programs than Deno or read the corpus, except those of LONG
 *     examples  the examples in comments and in Markdown
 */
import { withOracles } from "./with_oracles.ts";

const ROOT = new URL("../", import.meta.url);

/** Test files that take the processor for more than 10 s. */
const LONG: readonly string[] = [
  "tests/library/npm_test.ts",
  "tests/fuzz/fixtures_test.ts",
  "tests/hostile/sweep_test.ts",
  "tests/hostile/memory_test.ts",
  "tests/hostile/growth_test.ts",
  "tests/commands/same_answer_test.ts",
  "tests/commands/ways_test.ts",
  "tests/commands/lines_test.ts",
  "tests/commands/workers_test.ts",
  "tests/fuzz/fuzz_test.ts",
];

/** Number of unit test files that share an isolate. More leave a processor idle at the end. */
const SHARING = 10;

/** Test files by their path, and modules to write, by name with their text. */
type Entries = Map<string, string | undefined>;

/** Paths of files below a folder, relative to the repository, in the same order everywhere. */
function* below(folder: string): Generator<string, void, void> {
  const children = Array.from(Deno.readDirSync(new URL(folder, ROOT)));
  for (const { name, isDirectory } of children.sort((a, b) => a.name < b.name ? -1 : 1)) {
    if (!isDirectory) yield folder + name;
    else if (name !== "node_modules") yield* below(`${folder}${name}/`);
  }
}

/** Test files below folders. */
const testsIn = (...folders: readonly string[]): string[] =>
  folders.flatMap((folder) => [...below(folder)]).filter((path) => /_test\.tsx?$/.test(path));

/** The folder `packages/NAME/` or `tests/NAME/` of a path; otherwise the first folder. */
const roomOf = (path: string): string =>
  /^(?:packages|tests)\/[^/]+\/|^[^/]*\//.exec(path)?.[0] ?? "";

/** Entries of test files: up to SHARING files of a package, or one file of `tests/`. */
function sharing(files: readonly string[]): Entries {
  const found: Entries = new Map();
  for (const [room, own] of Map.groupBy(files, roomOf)) {
    if (room.startsWith("tests/")) {
      for (const path of own) found.set(path, undefined);
      continue;
    }
    for (let i = 0; i < own.length; i += SHARING) {
      const imports = own.slice(i, i + SHARING).map((path) => `import "${new URL(path, ROOT)}";\n`);
      found.set(`${room.replaceAll("/", "-")}${i / SHARING + 1}_test.ts`, imports.join(""));
    }
  }
  return found;
}

/** Fenced examples of a file: in the comments of a module, or in Markdown. */
function* examplesIn(path: string): Generator<{ name: string; text: string }, void, void> {
  const margin = path.endsWith(".md") ? /^/ : /^ *\* ?/;
  const file = new URL(path, ROOT);
  const lines = Deno.readTextFileSync(file).split(/\r?\n/);
  for (let i = 0; i < lines.length; i++) {
    const fence = /^( *\* )?```(?:ts|js|typescript|javascript)\b(?!.*ignore)/.exec(
      lines[i] ?? "",
    );
    if (fence === null || (fence[1] === undefined) !== path.endsWith(".md")) continue;
    const start = i + 1;
    const text: string[] = [];
    for (i++; i < lines.length; i++) {
      const line = (lines[i] ?? "").replace(margin, "");
      if (line === "```") break;
      text.push(line.replace(/ from "(\.[^"]*)"/, (_, to) => ` from "${new URL(to, file)}"`));
    }
    // Errors in an example have the line numbers of its file.
    yield { name: `${path}#${start + 1}-${i}`, text: "\n".repeat(start) + text.join("\n") };
  }
}

/** Writes each example as a module into a folder. Entries have a test for each. */
function examples(folder: URL): Entries {
  const files = ["README.md", ...below("docs/"), ...below("packages/"), ...below("view/")]
    .filter((path) => /\.(?:md|tsx?)$/.test(path) && !/_test\.tsx?$/.test(path));
  const found: Entries = new Map();
  for (const [room, own] of Map.groupBy(files, roomOf)) {
    const tests = own.flatMap((path) => [...examplesIn(path)]).map(({ name, text }) => {
      const module = new URL(`examples/${name.replace("#", "-")}.ts`, folder);
      Deno.mkdirSync(new URL("./", module), { recursive: true });
      Deno.writeTextFileSync(module, text);
      return `Deno.test("${name}", async () => {\n  await import("${module}");\n});\n`;
    });
    if (tests.length > 0) {
      found.set(`${room.replaceAll("/", "-")}examples_test.ts`, tests.join(""));
    }
  }
  return found;
}

const FOLDERS = ["tests/", "packages/", "view/"] as const;
const isShort = (path: string): boolean => !LONG.includes(path);

/** Entries of a part. */
function entriesOf(part: string, folder: URL): Entries {
  switch (part) {
    case "unit":
      return sharing(testsIn("packages/", "view/"));
    case "quick":
      return sharing(testsIn(...FOLDERS).filter(isShort));
    case "oracles":
      return sharing(withOracles(testsIn(...FOLDERS).filter(isShort)));
    case "long":
      return new Map(LONG.map((path) => [path, undefined]));
    case "examples":
      return examples(folder);
    default:
      throw new Error(`no part ${part}; see tests/run.ts`);
  }
}

const temporary = await Deno.makeTempDir({ prefix: "perfdata-tests-" });
try {
  const folder = new URL(`file://${temporary.replaceAll("\\", "/")}/`);
  const paths: string[] = [];
  for (const part of Deno.args) {
    for (const [name, text] of entriesOf(part, folder)) {
      paths.push(text === undefined ? name : `${temporary}/${name}`);
      if (text !== undefined) Deno.writeTextFileSync(`${temporary}/${name}`, text);
    }
  }
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["test", "--no-check", "--config", "deno.json", "--lock=deno.dev.lock", "-A"],
      ...["--parallel", ...paths],
    ],
    // Programs that several tests compile are made once (packages/symbols/testing/toolchain.ts).
    env: { PERFDATA_TEST_PROGRAMS: temporary },
    cwd: ROOT,
  }).spawn().status;
  Deno.exitCode = code;
} finally {
  await Deno.remove(temporary, { recursive: true });
}
