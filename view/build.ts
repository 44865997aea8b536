// Uses Deno
/**
 * Bundles this folder into `packages/page/page_asset.ts`: the parts of the page that
 * `perfdata view` serves and `view -o`, `flame` and `diff` write. `--check` exits with 1 if that file is not up to
 * date. `--page FOLDER` writes the page that opens files by itself: `index.html`, to be put on a web
 * server with the files of its worker, and `perfdata.html`, one file that can be opened from disk.
 *
 * usage: deno run -A view/build.ts [--check | --page FOLDER]
 */
import { createRequire } from "node:module";
import { deflate, type PageParts, pageText, toBase64 } from "@perfdata/export/tree";
import { AARCH64_DISASSEMBLER_FILE, DISASSEMBLER_FILE } from "./code/disassembler_script.ts";
import { sideEffectsOf } from "../publish/side_effects.ts";
import { directImports, type Doors, exportsOf } from "./direct_imports.ts";

const root = new URL("../", import.meta.url);
const TARGET = new URL("packages/page/page_asset.ts", root);

/** Returns the modules behind the doors of all packages. */
function doorsOf(): Doors {
  const doors = new Map<string, Map<string, string>>();
  for (const { name } of Deno.readDirSync(new URL("packages/", root))) {
    const { exports } = JSON.parse(
      Deno.readTextFileSync(new URL(`packages/${name}/deno.json`, root)),
    ) as { readonly exports: Readonly<Record<string, string>> };
    for (const [door, file] of Object.entries(exports)) {
      const path = `packages/${name}/${file.slice(2)}`;
      const exported = exportsOf(path, (of) => Deno.readTextFileSync(new URL(of, root)));
      doors.set(`@perfdata/${name}${door.slice(1)}`, exported);
    }
  }
  return doors;
}

/**
 * Copies the modules into a folder where each package says what a bundler may leave out: all modules of which nothing
 * is used. It says so in `package.json`, and none is in the repository.
 */
function copied(folder: string): void {
  const doors = doorsOf();
  const copy = (path: string) => {
    Deno.mkdirSync(`${folder}/${path}`, { recursive: true });
    for (const { name, isDirectory } of Deno.readDirSync(new URL(path, root))) {
      if (isDirectory && name !== "testing") copy(`${path}/${name}`);
      if (!/\.(tsx?|json)$/.test(name) || /(_test|testing)\.tsx?$/.test(name)) continue;
      const text = Deno.readTextFileSync(new URL(`${path}/${name}`, root));
      const made = name.endsWith(".json") ? text : directImports(text, `${path}/${name}`, doors);
      Deno.writeTextFileSync(`${folder}/${path}/${name}`, made);
    }
  };
  for (const path of ["packages", "view"]) copy(path);
  const { workspace, imports } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", root)));
  const config = { workspace, imports, nodeModulesDir: "none" };
  Deno.writeTextFileSync(`${folder}/deno.json`, JSON.stringify(config));
  Deno.copyFileSync(new URL("deno.dev.lock", root), `${folder}/deno.lock`);
  for (const { name } of Deno.readDirSync(new URL("packages/", root))) {
    const sideEffects = sideEffectsOf(new URL(`packages/${name}/`, root));
    const manifest = { name: `@perfdata/${name}`, type: "module", sideEffects };
    Deno.writeTextFileSync(`${folder}/packages/${name}/package.json`, JSON.stringify(manifest));
  }
}

/**
 * Bundles a module, or one with the given text, with its imports; returns `undefined` and prints the reason if this machine cannot.
 *
 * @param to Folder for the bundle and for files of code that is loaded on demand; by default, all is one text.
 */
async function bundled(
  module: string,
  { content, to }: { readonly content?: string; readonly to?: string } = {},
): Promise<string | undefined> {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-page-" });
  using _removed = { [Symbol.dispose]: () => Deno.removeSync(folder, { recursive: true }) };
  copied(folder);
  if (content !== undefined) Deno.writeTextFileSync(`${folder}/${module}`, content);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--platform", "browser", "--minify"],
      ...(to === undefined ? [] : ["--code-splitting", "--outdir", to]),
      module,
    ],
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder();
  if (success) return text.decode(stdout).trim();
  console.log(`deno bundle: ${text.decode(stderr).trim().split("\n")[0]}`);
  return undefined;
}

const read = (path: string) => Deno.readTextFileSync(new URL(path, import.meta.url));

const MADE = "// Made by view/build.ts: do not edit.\n" +
  "// deno-fmt-ignore-file\n// deno-lint-ignore-file\n";

/** Builds the parts of the page, with one of its workers. */
export async function viewParts(worker: "report" | "files"): Promise<PageParts | undefined> {
  const script = await bundled("view/app/main.tsx");
  const text = await bundled(`view/worker/${worker}_worker.ts`);
  if (script === undefined || text === undefined) return undefined;
  return { page: read("app/page.html"), style: read("app/style.css"), script, worker: text };
}

/**
 * Builds the script that lies beside the page and formats x86 instructions: iced-x86, whose package is made for Node,
 * with its WebAssembly in the text.
 */
export async function disassemblerScript(): Promise<string | undefined> {
  const path = createRequire(import.meta.url).resolve("iced-x86");
  const glue = Deno.readTextFileSync(path);
  const wasm = Deno.readFileSync(path.replace(/\.js$/, "_bg.wasm"));
  const [before, after] = [
    "const { TextDecoder, TextEncoder } = require(`util`);",
    "const path = require(",
  ];
  const end = glue.lastIndexOf(after);
  if (!glue.includes(before) || end < 0) {
    console.log("iced-x86 is not as this build expects it");
    return undefined;
  }
  const packed = toBase64(await deflate(wasm));
  const entry = `
import { icedText } from "./iced_text.ts";
import { fromBase64, inflate } from "@perfdata/export/tree";
const module = { exports: {} };
${glue.slice(0, end).replace(before, "")}
globalThis.perfdataDisassembler = async () => {
  const bytes = await inflate(fromBase64("${packed}"));
  ({ instance: { exports: wasm } } = await WebAssembly.instantiate(bytes, imports));
  return icedText(module.exports);
};
`;
  const text = await bundled("view/code/disassembler_entry.js", { content: entry });
  return text && `(() => {${text}})();`;
}

/**
 * Builds the script that lies beside the page and formats AArch64 instructions: Capstone, with its WebAssembly in the
 * text.
 */
export async function aarch64DisassemblerScript(): Promise<string | undefined> {
  const path = createRequire(import.meta.url).resolve("@alexaltea/capstone-js");
  const packed = toBase64(await deflate(Deno.readFileSync(path.replace(/\.js$/, ".wasm"))));
  const entry = `
import { capstoneText } from "./capstone_text.ts";
import { fromBase64, inflate } from "@perfdata/export/tree";
const module = { exports: {} }, exports = module.exports;
${Deno.readTextFileSync(path)}
globalThis.perfdataAarch64Disassembler = async () =>
  capstoneText(await module.exports({ wasmBinary: await inflate(fromBase64("${packed}")) }));
`;
  const text = await bundled("view/code/disassembler_entry.js", { content: entry });
  return text && `(() => {${text}})();`;
}

/**
 * Writes the page that opens files by itself into a folder.
 *
 * @returns Whether this machine can build it.
 */
export async function writePage(folder: string): Promise<boolean> {
  const parts = await viewParts("files");
  const disassembler = await disassemblerScript();
  const aarch64 = await aarch64DisassemblerScript();
  if (parts === undefined || disassembler === undefined || aarch64 === undefined) return false;
  const workers = `${folder}/worker`;
  Deno.mkdirSync(workers, { recursive: true });
  // Files of an earlier build have other names.
  Deno.removeSync(workers, { recursive: true });
  const to = Deno.realPathSync(folder);
  if (await bundled("view/worker/files_worker.ts", { to: `${to}/worker` }) === undefined) {
    return false;
  }
  const worker = "worker/files_worker.js";
  Deno.writeTextFileSync(`${folder}/index.html`, await pageText(parts, "files", { worker }));
  Deno.writeTextFileSync(`${folder}/perfdata.html`, await pageText(parts, "files"));
  Deno.writeTextFileSync(`${folder}/${DISASSEMBLER_FILE}`, disassembler);
  Deno.writeTextFileSync(`${folder}/${AARCH64_DISASSEMBLER_FILE}`, aarch64);
  return true;
}

/** Returns the up-to-date text of the module with the parts of the page. */
export async function viewAsset(): Promise<string | undefined> {
  const parts = await viewParts("report");
  if (parts === undefined) return undefined;
  return `${MADE}import type { PageParts } from "@perfdata/export/tree";\n\n` +
    `/** The parts of the page, with the worker that reads no recording by itself. */\n` +
    `export const VIEW_PARTS: PageParts = ${JSON.stringify(parts, undefined, 2)};\n`;
}

if (import.meta.main) {
  const [flag, folder] = Deno.args;
  if (flag === "--page" && folder !== undefined) {
    if (!await writePage(folder)) Deno.exit(1);
    for (const file of ["index.html", "worker", "perfdata.html"]) console.log(`${folder}/${file}`);
  } else {
    const made = await viewAsset();
    if (made === undefined) Deno.exit(1);
    const name = TARGET.pathname.slice(root.pathname.length);
    if (flag !== "--check") {
      Deno.writeTextFileSync(TARGET, made);
      console.log(`${name}: ${made.length} characters`);
    } else {
      const isSame = Deno.readTextFileSync(TARGET) === made;
      console.log(`${name} is ${isSame ? "" : "not "}up to date`);
      if (!isSame) Deno.exit(1);
    }
  }
}
