// Uses Deno
/**
 * Makes what is bundled of this folder: `packages/export/flame/flame_asset.ts`, the page of `flame`, and
 * `view/server/asset.ts`, the parts of the page that `perfdata view` serves and writes. `--check` ends with
 * 1 where one of them is not what would be made. `--page FOLDER` makes the page that opens files by itself,
 * to be put on a web server or opened from disk.
 *
 * usage: deno run -A view/build.ts [--check | --page FOLDER]
 */
import { type PageParts, pageText } from "./server/page.ts";

const root = new URL("../", import.meta.url);
const FLAME_TARGET = new URL("packages/export/flame/flame_asset.ts", root);
const VIEW_TARGET = new URL("view/server/asset.ts", root);

/** A module with all that it imports; `undefined` where this machine cannot bundle, with the reason. */
async function bundled(module: string): Promise<string | undefined> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--lock=deno.dev.lock", "--platform", "browser", "--minify"],
      module,
    ],
    cwd: root,
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

/** The module of the flame page as it is to be. */
export async function flameAsset(): Promise<string | undefined> {
  const bundle = await bundled("view/flame_page/main.ts");
  if (bundle === undefined) return undefined;
  // The script ends at the first `</script`, wherever it stands.
  const script = bundle.replaceAll("</script", "<\\/script");
  const page = read("flame_page/page.html")
    .replace("/*STYLE*/", () => read("flame_page/style.css").trim())
    .replace("/*SCRIPT*/", () => script);
  const hashed = page.replace("SCRIPT_HASH", await scriptHash(page));
  return `${MADE}/** The page of a flame graph; its data goes where the comment DATA is. */\n` +
    `export const FLAME_PAGE: string = ${JSON.stringify(hashed)};\n`;
}

/** The hash of the page's script as its Content-Security-Policy has it: no other one runs. */
export async function scriptHash(page: string): Promise<string> {
  const [, script = ""] = /<script type="module">([^]*?)<\/script>/.exec(page) ?? [];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(script));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
}

/** The parts of the page, with one of its workers. */
export async function viewParts(worker: "report" | "files"): Promise<PageParts | undefined> {
  const script = await bundled("view/app/main.tsx");
  const text = await bundled(`view/worker/${worker}_worker.ts`);
  if (script === undefined || text === undefined) return undefined;
  return { page: read("app/page.html"), style: read("app/style.css"), script, worker: text };
}

/** The module with the parts of the page as it is to be. */
export async function viewAsset(): Promise<string | undefined> {
  const parts = await viewParts("report");
  if (parts === undefined) return undefined;
  return `${MADE}import type { PageParts } from "./page.ts";\n\n` +
    `/** The parts of the page, with the worker that reads no recording by itself. */\n` +
    `export const VIEW_PARTS: PageParts = ${JSON.stringify(parts, undefined, 2)};\n`;
}

if (import.meta.main) {
  const [flag, folder] = Deno.args;
  if (flag === "--page" && folder !== undefined) {
    const parts = await viewParts("files");
    if (parts === undefined) Deno.exit(1);
    const text = await pageText(parts, "files");
    Deno.mkdirSync(folder, { recursive: true });
    Deno.writeTextFileSync(`${folder}/index.html`, text);
    console.log(`${folder}/index.html: ${text.length} characters`);
  } else {
    let failed = false;
    for (const [target, make] of [[FLAME_TARGET, flameAsset], [VIEW_TARGET, viewAsset]] as const) {
      const made = await make();
      if (made === undefined) Deno.exit(1);
      const name = target.pathname.slice(root.pathname.length);
      if (flag === "--check") {
        const isSame = Deno.readTextFileSync(target) === made;
        failed ||= !isSame;
        console.log(`${name} is ${isSame ? "" : "not "}up to date`);
      } else {
        Deno.writeTextFileSync(target, made);
        console.log(`${name}: ${made.length} characters`);
      }
    }
    if (failed) Deno.exit(1);
  }
}
