/**
 * The packages as users get them: built for npm, installed into an empty directory, checked with
 * publint and attw, type-checked with the oldest promised TypeScript, run in Node and Bun, built
 * with Vite, and run in a browser, on a page and in a worker. Also the commands, as `npx perfdata`
 * runs them.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import ts from "npm:typescript@5.7.3";
import { noBrowser, withPage } from "../../packages/export/browser_testing.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { buildNpm } from "../../publish/npm.ts";
import type { Decoded } from "./npm/decode.ts";
import { front } from "./npm/front.ts";
import type { More } from "./npm/more.ts";
import { type Summary, summary } from "./npm/summary.ts";
import { tool } from "../support/tool.ts";
import { ignored, notInstalled, skipped } from "../support/ignored.ts";

const root = new URL("../../", import.meta.url).pathname;
const BROWSERLESS = await noBrowser();
const INPUTS = [
  `${root}fixtures/recorded/callchain.perf.data`,
  `${root}fixtures/synthesized/pt-cpus.perf.data`,
  `${root}fixtures/demo/demo`,
] as const;
/** Sample programs of a user, modules in npm/. */
const MODULES = ["summary", "decode", "front", "more"] as const;

/** C++ source with names that need the scopes of its DWARF. */
const CXX = `#include <cstdio>
namespace outer { namespace inner {
template <typename T> struct Box { T value; __attribute__((noinline)) T twice() const { return value + value; } };
} }
static inline __attribute__((always_inline)) int added(int a) { return a * 3 + 1; }
__attribute__((noinline)) int work(int n) { return added(n) + outer::inner::Box<int>{n}.twice(); }
int main(int argc, char **) { std::printf("%d\\n", work(argc)); }
`;

/** A C++ program, addresses in it, and the functions that binutils names there. */
interface Cxx {
  readonly path: string;
  readonly addresses: readonly number[];
  readonly functions: readonly string[];
}

/** Compiles the C++ program; `undefined` if that is impossible here. */
async function cxxProgram(folder: string): Promise<Cxx | undefined> {
  const needed = ["g++", "nm", "addr2line"];
  if (needed.some((name) => notInstalled(name) !== undefined)) return undefined;
  const path = `${folder}/cxx`;
  Deno.writeTextFileSync(`${path}.cpp`, CXX);
  // In a position-independent program, code addresses equal offsets in the file.
  const built = await run("g++", ["-g", "-O1", "-pie", "-fPIE", "-o", path, `${path}.cpp`], folder);
  assert(built?.success, built?.stderr);
  const nm = await run("nm", ["-S", path], folder);
  const addresses = [
    ...nm?.stdout.matchAll(/^(\w+) \w+ [TtWw] (?:_Z4worki|_ZNK5outer\S+|main)$/gm) ?? [],
  ]
    .map(([, start = ""]) => parseInt(start, 16) + 1);
  assertEquals(addresses.length, 3);
  const hex = addresses.map((address) => address.toString(16));
  const named = await run("addr2line", ["-f", "-C", "-e", path, ...hex], folder);
  const functions = named?.stdout.split("\n").filter((_, i) => i % 2 === 0).slice(0, 3) ?? [];
  return { path, addresses, functions };
}

/** Runs a program; `undefined` if it is not installed. */
async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
) {
  try {
    const { success, stdout, stderr } = await new Deno.Command(command, {
      args: [...args],
      cwd,
      env,
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    return { success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return undefined;
  }
}

/** Whether npm failed because of the network or its registry. */
function isRegistryAway(error: string): boolean {
  const away = /ENOTFOUND|EAI_AGAIN|ECONN|TIMEDOUT|SOCKET|\bE(?:408|429|5\d\d)\b|network/.test(
    error,
  );
  return away;
}

/** Builds the tarballs and installs them; `undefined` if that is impossible here. */
async function install(
  folder: string,
): Promise<{ readonly user: string; readonly tarballs: readonly string[] } | undefined> {
  Deno.mkdirSync(`${folder}/npm`);
  let tarballs;
  try {
    ({ tarballs } = await buildNpm(`${folder}/npm`, "https://example.org/perfdata"));
  } catch (error) {
    if (!isRegistryAway(String(error))) throw error;
    return undefined;
  }
  const user = `${folder}/user`;
  Deno.mkdirSync(user);
  Deno.writeTextFileSync(`${user}/package.json`, '{ "private": true, "type": "module" }\n');
  const installed = await run("npm", [
    ...["install", "--no-audit", "--no-fund", "--prefer-offline"],
    ...[
      "@types/node@20.19.25",
      "vite@7.3.1",
      "publint@0.3.25",
      "@arethetypeswrong/core@0.18.5",
      ...tarballs,
    ],
  ], user);
  if (installed?.success === false && isRegistryAway(installed.stderr)) return undefined;
  assert(installed?.success, installed?.stderr);
  for (const name of MODULES) {
    const text = Deno.readTextFileSync(`${root}tests/library/npm/${name}.ts`);
    Deno.writeTextFileSync(`${user}/${name}.ts`, text.replace("@perfdata/perfdata", "perfdata"));
  }
  Deno.copyFileSync(INPUTS[0], `${user}/perf.data`);
  // Under the build id that `readelf -n` prints.
  const cached = `${user}/cache/.build-id/8b/035e73d518af16372e3cd572f60f18f787551b`;
  Deno.mkdirSync(cached, { recursive: true });
  Deno.copyFileSync(INPUTS[2], `${cached}/elf`);
  return { user, tarballs };
}

/** Reads the manifest of a tarball. */
async function manifestOf(tarball: string) {
  const file = Deno.openSync(tarball);
  const tar = new Uint8Array(
    await new Response(file.readable.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer(),
  );
  const text = (from: number, size: number) =>
    new TextDecoder().decode(tar.subarray(from, from + size)).replace(/\0[^]*$/, "");
  for (let at = 0; at + 512 < tar.length;) {
    const size = parseInt(text(at + 124, 12), 8) || 0;
    if (text(at, 100) === "package/package.json") return JSON.parse(text(at + 512, size));
    at += 512 + 512 * Math.ceil(size / 512);
  }
  throw new Error(`${tarball} has no package.json`);
}

/** A trace with a bundle of its code, and the executed instructions as ptrace and nm give them. */
interface Stepped {
  /** The recording and the bundle. */
  readonly paths: readonly string[];
  /** Number of instructions in total, and of each function. */
  readonly insns: number;
  readonly functions: ReadonlyMap<string, number>;
}

/** Steps through a program, bundles its code, and deletes its file. */
async function stepped(folder: string): Promise<Stepped | undefined> {
  if (cannotStep() !== undefined) return undefined;
  const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
  const variant = { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true };
  const encoded = encodeProgram(program, variant);
  const path = `${folder}/stepped.data`;
  Deno.writeFileSync(path, await steppedFile(program, encoded, variant));
  const bundle = `${folder}/stepped.symbols`;
  const made = await tool("symbols", ["bundle", "--code", path, "-o", bundle]);
  assertEquals(made.code, 0, made.err);
  const nm = await run("nm", ["-S", program.path], folder);
  const ranges = [...nm?.stdout.matchAll(/^(\w+) (\w+) [Tt] (main|fib|deep|choose)$/gm) ?? []]
    .map(([, start, size, name = ""]) => ({ start: BigInt(`0x${start}`), size, name }));
  const functions = new Map<string, number>();
  for (const { start, size, name } of ranges) {
    const end = start + BigInt(`0x${size}`);
    const own = encoded.truth.reduce((n, ip) => ip >= start && ip < end ? n + 1 : n, 0);
    functions.set(name, own);
  }
  assertEquals(functions.size, 4);
  Deno.removeSync(program.path);
  return { paths: [path, bundle], insns: encoded.truth.length, functions };
}

/** Compares the decoded instructions with the executed ones. */
function assertDecoded(text: string, { insns, functions }: Stepped): void {
  const decoded: Decoded = JSON.parse(text);
  assertEquals(decoded.errors, 0);
  assertEquals(decoded.insns, insns);
  for (const [name, own] of functions) {
    assertEquals(decoded.functions.find(([found]) => found === name)?.[1], own, name);
  }
}

/** The import specifiers of a package: its name with each of its export paths. */
function entriesOf({ name, exports }: { name: string; exports: object }): string[] {
  return Object.keys(exports).map((path) => name + path.slice(1));
}

/**
 * TypeScript's errors for programs that use the installed packages. Declarations are checked too,
 * with only the promised parts of the language's library.
 */
function typeErrors(
  user: string,
  entries: readonly string[],
  { lib, types }: { readonly lib: readonly string[]; readonly types: readonly string[] },
): string[] {
  const all = entries.map((entry, i) => `export * as x${i} from "${entry}";\n`).join("");
  Deno.writeTextFileSync(`${user}/all.ts`, all);
  const program = ts.createProgram([...MODULES, "all"].map((name) => `${user}/${name}.ts`), {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ["lib.es2022.d.ts", ...lib],
    skipLibCheck: false,
    types: [...types],
    typeRoots: [`${user}/node_modules/@types`],
    strict: true,
    noEmit: true,
  });
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) =>
    `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`
  );
}

const NODE = `import { copyFileSync, openAsBlob, readFileSync } from "node:fs";
import { front } from "./front.js";
import { decode } from "./decode.js";
import { summary } from "./summary.js";
import { more } from "./more.js";
const [recording, traced, binary, cxx, addresses, stepped, bundle] = process.argv.slice(2);
const found = await summary(
  await openAsBlob(recording),
  await openAsBlob(traced),
  readFileSync(binary),
);
console.log(JSON.stringify(found));
console.log(JSON.stringify(await front(recording)));
const numbers = addresses.split(",").filter(Boolean).map(Number);
console.log(JSON.stringify(await more(await openAsBlob(recording), readFileSync(cxx), numbers)));
// A name that is not UTF-8.
copyFileSync(recording, Buffer.of(0x61, 0xff));
console.log(await front(new URL("a%FF", \`file://\${process.cwd()}/\`)) === await front(recording));
if (bundle !== undefined) {
  console.log(JSON.stringify(await decode(await openAsBlob(stepped), readFileSync(bundle))));
}
`;

/**
 * A program that prints the problems that publint and attw find in tarballs, then the number of
 * entry points checked.
 */
const LINT = `import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";

/** Kinds of resolution that packages without CommonJS do not support. */
const OTHERS = new Set(["node10", "node16-cjs"]);

let entries = 0;
for (const path of process.argv.slice(2)) {
  const tarball = Uint8Array.from(readFileSync(path));
  const { messages } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  const { problems, entrypoints } = await checkPackage(createPackageFromTarballData(tarball));
  entries += Object.keys(entrypoints).length;
  const wrong = [
    ...messages,
    ...problems.filter(({ resolutionKind }) => !OTHERS.has(resolutionKind)),
  ];
  for (const problem of wrong) console.log(path, JSON.stringify(problem));
}
console.log(\`\${entries} entry points\`);
`;

/**
 * Writes the examples of the installed READMEs, unchanged, as modules that `examples.js` imports.
 *
 * @returns Number of examples.
 */
function examplesIn(user: string): number {
  const folders = [
    "perfdata",
    ...Array.from(
      Deno.readDirSync(`${user}/node_modules/@perfdata`),
      ({ name }) => `@perfdata/${name}`,
    ),
  ];
  const lines: string[] = [];
  for (const folder of folders) {
    const readme = Deno.readTextFileSync(`${user}/node_modules/${folder}/README.md`);
    for (const [, example = ""] of readme.matchAll(/^```(?:js|ts)\n([^]*?)^```$/gm)) {
      Deno.writeTextFileSync(`${user}/example-${lines.length}.js`, example);
      lines.push(`await import("./example-${lines.length}.js");\n`);
    }
  }
  Deno.writeTextFileSync(`${user}/examples.js`, lines.join(""));
  return lines.length;
}

/** The script of the page, also used by a worker. */
const PAGE = `import { decode } from "./decode.ts";
import { summary } from "./summary.ts";
const blobOf = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
export const summarize = async (inputs) => {
  const [recording, traced, binary] = inputs.map(blobOf);
  return JSON.stringify(await summary(new Blob([recording]), new Blob([traced]), binary));
};
export const decodeIn = async (inputs) => {
  const [stepped, bundle] = inputs.map(blobOf);
  return JSON.stringify(await decode(new Blob([stepped]), bundle));
};
`;

const WORKER = `import { summarize } from "./page.js";
globalThis.onmessage = async ({ data }) => postMessage(await summarize(data));
`;

const MAIN = `import { open } from "perfdata";
import { decodeIn, summarize } from "./page.js";
Object.assign(globalThis, { summarize, decode: decodeIn });
globalThis.front = async ([recording]) => {
  const bytes = Uint8Array.from(atob(recording), (char) => char.charCodeAt(0));
  const opened = await open(new File([bytes], "perf.data"));
  return JSON.stringify((await opened.functions()).map(({ samples }) => samples));
};
globalThis.inWorker = (inputs) => new Promise((resolve, reject) => {
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = ({ message }) => reject(new Error(message));
  worker.postMessage(inputs);
});
`;

const HTML = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<script type="module" src="./main.js"></script>
`;

/** A page that only imports an error class: packages declare no side effects. */
const SMALL = `import { PerfDataError } from "@perfdata/format";
console.log(new PerfDataError("wrong").code);
`;

/** A page that shows a summary of a recording. */
const INFO = `import { open } from "perfdata";
globalThis.info = async ([recording]) => {
  const bytes = Uint8Array.from(atob(recording), (char) => char.charCodeAt(0));
  const opened = await open(new File([bytes], "perf.data"));
  return String((await opened.info()).samples);
};
`;

/** Vite's configuration: three pages, and workers as modules. */
const VITE = `export default {
  base: "./",
  logLevel: "warn",
  worker: { format: "es" },
  build: { target: "es2022", rollupOptions: { input: ["index.html", "small.html", "info.html"] } },
};
`;

/** Bytes as a server sends them. */
async function gzipped(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Serves the files of a folder. */
function serveFolder(folder: string): {
  readonly address: string;
  /** Scripts that were served. */
  readonly scripts: Uint8Array<ArrayBuffer>[];
  stop(): Promise<void>;
} {
  const scripts: Uint8Array<ArrayBuffer>[] = [];
  const types: Record<string, string> = { html: "text/html", js: "text/javascript" };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    const { pathname } = new URL(url);
    const type = types[pathname.replace(/^.*\./, "")] ?? "application/octet-stream";
    try {
      const bytes = Deno.readFileSync(folder + pathname);
      if (type === "text/javascript") scripts.push(bytes);
      return new Response(bytes, { headers: { "content-type": type } });
    } catch {
      return new Response("", { status: 404 });
    }
  });
  const address = `http://127.0.0.1:${server.addr.port}`;
  return { address, scripts, stop: () => server.shutdown() };
}

Deno.test(
  "npm: the packages install, type-check, and run in Node and in a browser",
  ignored(notInstalled("npm")),
  async (t) => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-npm-" });
    try {
      const installed = await install(folder);
      if (installed === undefined) {
        return await skipped(t, "the dependencies cannot be had from the npm registry");
      }
      const { user, tarballs } = installed;
      const [recording, traced, binary] = INPUTS.map((path) => Deno.readFileSync(path)) as [
        Uint8Array<ArrayBuffer>,
        Uint8Array<ArrayBuffer>,
        Uint8Array<ArrayBuffer>,
      ];
      const expected = await summary(new Blob([recording]), new Blob([traced]), binary);
      // The demo spends its time in two functions; the trace has three CPUs (fixtures/README.md).
      assertEquals(expected.functions.map(([name]) => name), ["spin", "fib"]);
      assertEquals(expected.buffers.map(([cpu]) => cpu), [0, 1, 3]);
      const found = (text: string): Summary => JSON.parse(text);

      const entries: string[] = [];
      await t.step("manifests", async () => {
        for (const tarball of tarballs) {
          const manifest = await manifestOf(tarball);
          entries.push(...entriesOf(manifest));
          const { name, description, license, repository, sideEffects, dependencies, exports } =
            manifest;
          assert(description?.length > 20 && description.endsWith("."), `${name}: ${description}`);
          // Decompressors are there for those who import the package, and no bundler may leave them out.
          const effects = name === "@perfdata/symbols"
            ? ["./elf/plain_decompressors.js", "./mod.js"]
            : false;
          assertEquals([license, sideEffects], ["MIT", effects], name);
          assert(/^git\+https:\S+\.git$/.test(repository.url), name);
          assert(Object.keys(exports).length > 0, name);
          // Only the commands may depend on npm packages that repeat packages of another registry.
          assertEquals(dependencies["deno-std"], undefined, name);
        }
        assert(tarballs.length >= 12, `${tarballs.length} tarballs`);
      });

      await t.step("publint and attw", async () => {
        Deno.writeTextFileSync(`${user}/lint.js`, LINT);
        const out = await run("node", ["lint.js", ...tarballs], user);
        assert(out?.success, out?.stderr);
        const [, entries = "0"] = /^(\d+) entry points\n$/.exec(out.stdout) ?? [];
        assert(Number(entries) >= tarballs.length, out.stdout);
      });

      await t.step("the commands run through npx and deno install", async () => {
        const perfdata = (...args: string[]) => run("npx", ["perfdata", ...args], user);
        const own = await tool("funcs", ["--json", INPUTS[0]]);
        const npx = await perfdata("funcs", "--json", INPUTS[0]);
        assertEquals([npx?.success, npx?.stdout], [true, own.out], npx?.stderr);
        const wrong = await perfdata("funcs", "--wrong");
        assert(wrong?.success === false && wrong.stderr.includes("--wrong"), wrong?.stderr);
        assertEquals((await perfdata("flame", "-o", "flame.html", INPUTS[0]))?.success, true);
        assert(Deno.statSync(`${user}/flame.html`).size > 10_000);
        // As in the README of the package, with the file in place of `npm:perfdata`.
        const bin = `${user}/node_modules/perfdata/bin/perfdata.js`;
        const flags = ["--allow-read", "--allow-env", "--allow-run"];
        const added = await run(Deno.execPath(), [
          ...["install", "-g", "--root", folder, "-n", "perfdata", ...flags, bin],
        ], user);
        assert(added?.success, added?.stderr);
        const deno = Deno.execPath().replace(/\/[^/]*$/, "");
        const PATH = `${Deno.env.get("PATH")}:${deno}`;
        const global = await run(`${folder}/bin/perfdata`, ["funcs", "--json", INPUTS[0]], user, {
          PATH,
        });
        assertEquals([global?.success, global?.stdout], [true, own.out], global?.stderr);
      });

      await t.step(
        "the command runs after npm -g without Deno",
        async () => {
          const bare = `${folder}/bare`;
          Deno.mkdirSync(bare);
          for (const name of ["node", "npm", "npx", "sh", "env"]) {
            const found = await run("sh", ["-c", `command -v ${name}`], folder);
            Deno.symlinkSync(found?.stdout.trim() ?? "", `${bare}/${name}`);
          }
          const prefix = `${folder}/global`;
          const flags = ["--no-audit", "--no-fund", "--prefer-offline"];
          const added = await run("npm", [
            "install",
            "-g",
            "--prefix",
            prefix,
            ...flags,
            ...tarballs,
          ], user);
          assert(added?.success, added?.stderr);
          const own = await tool("funcs", ["--json", INPUTS[0]]);
          const command = await run(
            `${prefix}/bin/perfdata`,
            ["funcs", "--json", INPUTS[0]],
            user,
            {
              PATH: bare,
            },
          );
          assertEquals([command?.success, command?.stdout], [true, own.out], command?.stderr);
        },
      );

      await t.step("types of a consumer in a browser, and in Node without the DOM", () => {
        const lib = ["lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"];
        assertEquals(typeErrors(user, entries, { lib, types: [] }), []);
        assertEquals(typeErrors(user, entries, { lib: [], types: ["node"] }), []);
      });

      const cxx = await cxxProgram(folder);
      if (cxx === undefined) await skipped(t, "names of C++: g++ or binutils is not installed");
      const trace = await stepped(folder);
      const untraced = cannotStep();
      if (untraced !== undefined) await skipped(t, `Intel PT with a bundle: ${untraced}`);

      for (const name of MODULES) {
        const { outputText } = ts.transpileModule(Deno.readTextFileSync(`${user}/${name}.ts`), {
          compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
        });
        Deno.writeTextFileSync(`${user}/${name}.js`, outputText);
      }
      Deno.writeTextFileSync(`${user}/main-node.js`, NODE);
      const examples = examplesIn(user);
      // Each package has a README.
      assertEquals(examples, tarballs.length);
      for (const runtime of ["node", "bun"]) {
        await t.step({
          name: `${runtime}: programs, and the examples of all READMEs`,
          ...ignored(notInstalled(runtime)),
          async fn() {
            const addresses = cxx?.addresses.join() ?? "";
            const own = [cxx?.path ?? INPUTS[2], addresses, ...trace?.paths ?? []];
            const out = await run(runtime, ["main-node.js", ...INPUTS, ...own], user);
            assert(out?.success, out?.stderr);
            const [summed = "", fronted = "", others = "", named = "", decoded = ""] = out.stdout
              .split("\n");
            assertEquals(named, "true");
            const { header, merged, names }: More = JSON.parse(others);
            assertMatch(header.join("\n"), /^# hostname : fixture-host$/m);
            // 13 samples in each of the two inputs.
            assert(merged >= 26, `${merged} records of two recordings in one`);
            const functions = names.map((frames) =>
              frames.split(", ").at(-1)?.replace(/ \S+$/, "")
            );
            assertEquals(functions, [...cxx?.functions ?? []]);
            assertEquals(found(summed), expected);
            const text: string = JSON.parse(fronted);
            assertEquals(text, await front(INPUTS[0]));
            assert(text.length > 1000 && /^\d+ demo\b/m.test(text), text);
            if (trace !== undefined) assertDecoded(decoded, trace);
            const shown = await run(runtime, ["examples.js"], user, {
              PERF_BUILDID_DIR: `${user}/cache`,
            });
            assert(shown?.success, shown?.stderr);
            // The build-id cache has the recorded program, which is no longer at its old path.
            assertMatch(shown.stdout, /% {2}spin {2}demo$/m);
            assertMatch(shown.stdout, /% {2}fib {2}demo$/m);
          },
        });
      }

      await t.step({
        name: "browser: a page and a worker",
        ...ignored(BROWSERLESS),
        async fn() {
          const files = {
            "page.js": PAGE,
            "worker.js": WORKER,
            "main.js": MAIN,
            "index.html": HTML,
            "small.js": SMALL,
            "small.html": HTML.replace("main.js", "small.js"),
            "info.js": INFO,
            "info.html": HTML.replace("main.js", "info.js"),
            "vite.config.js": VITE,
          };
          for (const [name, text] of Object.entries(files)) {
            Deno.writeTextFileSync(`${user}/${name}`, text);
          }
          const built = await run("npx", ["vite", "build"], user);
          assert(built?.success, built?.stderr);
          const small = [...Deno.readDirSync(`${user}/dist/assets`)]
            .filter(({ name }) => /^small-.*\.js$/.test(name));
          assertEquals(small.length, 1);
          const script = Deno.readTextFileSync(`${user}/dist/assets/${small[0]?.name}`);
          assert(script.length < 5000, `${script.length} characters with an error class`);
          const inputs = [recording, traced, binary].map((bytes) => bytes.toBase64());
          await using served = {
            ...serveFolder(`${user}/dist`),
            async [Symbol.asyncDispose]() {
              await this.stop();
            },
          };
          await withPage(`${served.address}/index.html`, async (page, report) => {
            const call = (name: string, of = inputs) =>
              page.evaluate<string, [string, string[]]>(
                ([name, inputs]) =>
                  (globalThis as unknown as Record<string, (inputs: string[]) => Promise<string>>)
                    [name]?.(inputs) ?? Promise.reject(new Error(`no ${name}`)),
                [name, of],
              );
            assertEquals(found(await call("summarize")), expected);
            assertEquals(found(await call("inWorker")), expected);
            const counts: number[] = JSON.parse(await call("front"));
            // perf script prints the same number.
            assertEquals(counts.reduce((sum, n) => sum + n, 0), 13);
            if (trace !== undefined) {
              const files = trace.paths.map((path) => Deno.readFileSync(path).toBase64());
              assertDecoded(await call("decode", files), trace);
            }
            assertEquals(report.errors, []);
          });
          served.scripts.length = 0;
          await withPage(`${served.address}/info.html`, async (page) => {
            const samples = await page.evaluate<string, string[]>(
              (inputs) =>
                (globalThis as unknown as { info(inputs: string[]): Promise<string> }).info(inputs),
              inputs,
            );
            assertEquals(samples, "13");
          });
          let loaded = 0;
          for (const script of served.scripts) loaded += (await gzipped(script)).length;
          console.log(`a page that shows info(): ${loaded} bytes of scripts, compressed`);
          assert(loaded < 114_000, `${loaded} bytes in ${served.scripts.length} scripts`);
        },
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);
