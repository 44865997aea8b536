// Uses Deno
/**
 * Makes `packages/export/flame_asset.ts`: the page of a flame graph, with its script and style in
 * one text. `--check` ends with 1 where the module is not what would be made.
 *
 * usage: deno run -A view/build.ts [--check]
 */

const root = new URL("../", import.meta.url);
const TARGET = new URL("packages/export/flame_asset.ts", root);

/** The module as it is to be; `undefined` where this machine cannot bundle, with the reason. */
export async function flameAsset(): Promise<string | undefined> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "browser", "--minify", "view/main.ts"],
    cwd: root,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder();
  if (!success) {
    console.log(`deno bundle: ${text.decode(stderr).trim().split("\n")[0]}`);
    return undefined;
  }
  // The script ends at the first `</script`, wherever it stands.
  const script = text.decode(stdout).trim().replaceAll("</script", "<\\/script");
  const style = Deno.readTextFileSync(new URL("style.css", import.meta.url)).trim();
  const page = Deno.readTextFileSync(new URL("page.html", import.meta.url))
    .replace("/*STYLE*/", () => style)
    .replace("/*SCRIPT*/", () => script);
  const hashed = page.replace("SCRIPT_HASH", await scriptHash(page));
  return `// Made by view/build.ts: do not edit.\n` +
    `// deno-fmt-ignore-file\n// deno-lint-ignore-file\n` +
    `/** The page of a flame graph; its data goes where the comment DATA is. */\n` +
    `export const FLAME_PAGE: string = ${JSON.stringify(hashed)};\n`;
}

/** The hash of the page's script as its Content-Security-Policy has it: no other one runs. */
export async function scriptHash(page: string): Promise<string> {
  const [, script = ""] = /<script type="module">([^]*?)<\/script>/.exec(page) ?? [];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(script));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
}

if (import.meta.main) {
  const made = await flameAsset();
  if (made === undefined) Deno.exit(1);
  if (Deno.args.includes("--check")) {
    const same = Deno.readTextFileSync(TARGET) === made;
    console.log(same ? "flame_asset.ts is up to date" : "flame_asset.ts is not up to date");
    Deno.exit(same ? 0 : 1);
  }
  Deno.writeTextFileSync(TARGET, made);
  console.log(`${made.length} characters`);
}
