/**
 * The packages as others get them: built for npm, installed into an empty directory, looked at by publint
 * and attw, type-checked by the oldest TypeScript that is promised, run in Node, bundled, and run in a
 * browser, on a page and in a worker; and the commands, as `npx perfdata` runs them.
 */
import { assert, assertEquals } from "@std/assert";
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import ts from "npm:typescript@5.7.3";
import { noBrowser, withPage } from "../packages/export/browser_testing.ts";
import { cannotStep, encodeProgram, stepProgram } from "../fixtures/stepped/program.ts";
import { steppedFile } from "../fixtures/stepped/recording.ts";
import { buildNpm } from "../publish/npm.ts";
import type { Decoded } from "./npm/decode.ts";
import { front } from "./npm/front.ts";
import { type Summary, summary } from "./npm/summary.ts";
import { tool } from "./tool.ts";
import { ignored, notInstalled, skipped } from "./ignored.ts";

const root = new URL("../", import.meta.url).pathname;
const INPUTS = [
  `${root}fixtures/recorded/callchain.perf.data`,
  `${root}fixtures/synthesized/pt-cpus.perf.data`,
  `${root}fixtures/demo/demo`,
] as const;
/** What a user has written: modules in npm/. */
const MODULES = ["summary", "decode", "front"] as const;

/** Runs a program; `undefined` where it is not installed. */
async function run(command: string, args: readonly string[], cwd: string) {
  try {
    const { success, stdout, stderr } = await new Deno.Command(command, {
      args: [...args],
      cwd,
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    return { success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return undefined;
  }
}

/** Whether npm failed for the network or its registry. */
function isRegistryAway(error: string): boolean {
  const away = /ENOTFOUND|EAI_AGAIN|ECONN|TIMEDOUT|SOCKET|\bE(?:408|429|5\d\d)\b|network/.test(
    error,
  );
  return away;
}

/** Builds the tarballs and installs them; `undefined` where that cannot be done here. */
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
    ...["esbuild@0.25.12", "publint@0.3.25", "@arethetypeswrong/core@0.18.5", ...tarballs],
  ], user);
  if (installed?.success === false && isRegistryAway(installed.stderr)) return undefined;
  assert(installed?.success, installed?.stderr);
  for (const name of MODULES) {
    const text = Deno.readTextFileSync(`${root}tests/npm/${name}.ts`);
    Deno.writeTextFileSync(`${user}/${name}.ts`, text.replace("@perfdata/perfdata", "perfdata"));
  }
  return { user, tarballs };
}

/** What the manifest of a tarball says. */
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

/** A trace with a bundle of its code, and what ran, as ptrace and nm say. */
interface Stepped {
  /** The recording and the bundle. */
  readonly paths: readonly string[];
  /** Instructions in all, and those of each function. */
  readonly insns: number;
  readonly functions: ReadonlyMap<string, number>;
}

/** Steps through a program, and bundles its code; then its file is gone. */
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

/** Compares what was decoded with what ran. */
function assertDecoded(text: string, { insns, functions }: Stepped): void {
  const decoded: Decoded = JSON.parse(text);
  assertEquals(decoded.errors, 0);
  assertEquals(decoded.insns, insns);
  for (const [name, own] of functions) {
    assertEquals(decoded.functions.find(([found]) => found === name)?.[1], own, name);
  }
}

/** What TypeScript says of a program that uses the installed packages. */
function typeErrors(user: string): string[] {
  const program = ts.createProgram(MODULES.map((name) => `${user}/${name}.ts`), {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
    types: [],
    strict: true,
    noEmit: true,
  });
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) =>
    `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`
  );
}

const NODE = `import { openAsBlob, readFileSync } from "node:fs";
import { front } from "./front.js";
import { decode } from "./decode.js";
import { summary } from "./summary.js";
const [recording, traced, binary, stepped, bundle] = process.argv.slice(2);
const found = await summary(
  await openAsBlob(recording),
  await openAsBlob(traced),
  readFileSync(binary),
);
console.log(JSON.stringify(found));
console.log(JSON.stringify(await front(recording)));
if (bundle !== undefined) {
  console.log(JSON.stringify(await decode(await openAsBlob(stepped), readFileSync(bundle))));
}
`;

/** What publint and attw say of tarballs: problems, then how many entry points were looked at. */
const LINT = `import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";

/** How packages without CommonJS are not imported. */
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

/** The script of the page, which is that of a worker as well. */
const PAGE = `import { decode } from "./decode.ts";
import { summary } from "./summary.ts";
const blobOf = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
globalThis.summarize = async (inputs) => {
  const [recording, traced, binary] = inputs.map(blobOf);
  return JSON.stringify(await summary(new Blob([recording]), new Blob([traced]), binary));
};
globalThis.decode = async (inputs) => {
  const [stepped, bundle] = inputs.map(blobOf);
  return JSON.stringify(await decode(new Blob([stepped]), bundle));
};
if (typeof document === "undefined") {
  globalThis.onmessage = async ({ data }) => postMessage(await summarize(data));
}
`;

const HTML = `<!doctype html><meta charset="utf-8"><script src="page.js"></script>
<script>
globalThis.inWorker = (inputs) => new Promise((resolve, reject) => {
  const script = new Blob([document.querySelector("#worker").textContent]);
  const worker = new Worker(URL.createObjectURL(script));
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = ({ message }) => reject(new Error(message));
  worker.postMessage(inputs);
});
</script>
`;

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
      // The demo burns its time in two functions; the trace has three CPUs (fixtures/README.md).
      assertEquals(expected.functions.map(([name]) => name), ["spin", "fib"]);
      assertEquals(expected.buffers.map(([cpu]) => cpu), [0, 1, 3]);
      const found = (text: string): Summary => JSON.parse(text);

      await t.step("manifests", async () => {
        for (const tarball of tarballs) {
          const { name, description, license, repository, sideEffects, dependencies, exports } =
            await manifestOf(tarball);
          assert(description?.length > 20 && description.endsWith("."), `${name}: ${description}`);
          assertEquals([license, sideEffects], ["MIT", false], name);
          assert(/^git\+https:\S+\.git$/.test(repository.url), name);
          assert(Object.keys(exports).length > 0, name);
          // Packages of npm that repeat those of another registry are for the commands alone.
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

      await t.step("the commands, as npx runs them", async () => {
        const perfdata = (...args: string[]) => run("npx", ["perfdata", ...args], user);
        const own = await tool("funcs", ["--json", INPUTS[0]]);
        const npx = await perfdata("funcs", "--json", INPUTS[0]);
        assertEquals([npx?.success, npx?.stdout], [true, own.out], npx?.stderr);
        const wrong = await perfdata("funcs", "--wrong");
        assert(wrong?.success === false && wrong.stderr.includes("--wrong"), wrong?.stderr);
        assertEquals((await perfdata("flame", "-o", "flame.html", INPUTS[0]))?.success, true);
        assert(Deno.statSync(`${user}/flame.html`).size > 10_000);
      });

      await t.step("types of a consumer", () => assertEquals(typeErrors(user), []));

      const trace = await stepped(folder);
      const untraced = cannotStep();
      if (untraced !== undefined) await skipped(t, `Intel PT with a bundle: ${untraced}`);

      await t.step("Node", async () => {
        for (const name of MODULES) {
          const { outputText } = ts.transpileModule(Deno.readTextFileSync(`${user}/${name}.ts`), {
            compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
          });
          Deno.writeTextFileSync(`${user}/${name}.js`, outputText);
        }
        Deno.writeTextFileSync(`${user}/main.js`, NODE);
        const out = await run("node", ["main.js", ...INPUTS, ...trace?.paths ?? []], user);
        assert(out?.success, out?.stderr);
        const [summed = "", fronted = "", decoded = ""] = out.stdout.split("\n");
        assertEquals(found(summed), expected);
        const text: string = JSON.parse(fronted);
        assertEquals(text, await front(INPUTS[0]));
        assert(text.length > 1000 && /^\d+ demo\b/m.test(text), text);
        if (trace !== undefined) assertDecoded(decoded, trace);
      });

      await t.step({
        name: "browser: a page and a worker",
        ...ignored(await noBrowser()),
        async fn() {
          Deno.writeTextFileSync(`${user}/page.ts`, PAGE);
          const bundled = await run("npx", [
            ...["esbuild", "page.ts", "--bundle", "--format=iife", "--platform=browser"],
            ...["--target=es2022", "--outfile=page.js", "--log-level=error"],
          ], user);
          assert(bundled?.success, bundled?.stderr);
          const script = Deno.readTextFileSync(`${user}/page.js`).replaceAll(
            "</script",
            "<\\/script",
          );
          Deno.writeTextFileSync(
            `${user}/page.html`,
            `${HTML}<script id="worker" type="text/plain">${script}</script>`,
          );
          const inputs = [recording, traced, binary].map((bytes) => bytes.toBase64());
          await withPage(`${user}/page.html`, async (page, report) => {
            const call = (name: string, of = inputs) =>
              page.evaluate<string, [string, string[]]>(
                ([name, inputs]) =>
                  (globalThis as unknown as Record<string, (inputs: string[]) => Promise<string>>)
                    [name]?.(inputs) ?? Promise.reject(new Error(`no ${name}`)),
                [name, of],
              );
            assertEquals(found(await call("summarize")), expected);
            assertEquals(found(await call("inWorker")), expected);
            if (trace !== undefined) {
              const files = trace.paths.map((path) => Deno.readFileSync(path).toBase64());
              assertDecoded(await call("decode", files), trace);
            }
            assertEquals(report.errors, []);
          });
        },
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);
