/**
 * Makes the pictures of `docs/view.md`: compiles `docs/flame/demo.c`, records it with less optimization and
 * with more, and opens both with `view`.
 *
 * usage: deno run -A --lock=deno.dev.lock docs/view/make.ts     (needs gcc, perf and Chromium)
 */
import { withPage } from "../../packages/export/browser_testing.ts";

const here = new URL("./", import.meta.url).pathname;
const root = new URL("../../", import.meta.url).pathname;
const folder = Deno.makeTempDirSync({ prefix: "perfdata-view-" });

/** The pictures, by what stands after `#` in the address. */
const PICTURES = [
  ["flame", "#view=flame"],
  ["records", "#view=records&record=60"],
  ["source", "#view=functions&beside=1&fn=hash_word"],
  ["compare", "#view=compare&graph=1"],
] as const;

function run(program: string, ...args: string[]): void {
  const { success, stderr } = new Deno.Command(program, { args, cwd: folder }).outputSync();
  if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
}

try {
  for (const [level, name] of [["-O0", "base"], ["-O1", "demo"]] as const) {
    const options = [level, "-g", "-fno-omit-frame-pointer", `-ffile-prefix-map=${root}docs=/src`];
    run("gcc", ...options, "-o", "demo", `${root}docs/flame/demo.c`);
    const flags =
      `record -q -F 4000 -e cpu-clock:u --call-graph dwarf,16384 -o ${name}.data ./demo`;
    run("perf", ...flags.split(" "));
  }
  const server = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--config",
      `${root}deno.json`,
      `${root}tools/view.ts`,
      "--source",
      `${root}docs`,
      "base.data",
      "demo.data",
    ],
    cwd: folder,
    stdout: "piped",
  }).spawn();
  const reader = server.stdout.getReader();
  const { value } = await reader.read();
  const address = new TextDecoder().decode(value).trim();
  for (const [name, hash] of PICTURES) {
    await withPage(`${address}${hash}`, async (page) => {
      await page.waitForFunction(() =>
        (globalThis as unknown as { perfdata: { open?: { comparison?: object } } }).perfdata.open
          ?.comparison !== undefined
      );
      await page.waitForTimeout(1000);
      // What the pointer is at is marked.
      if (name === "records") await page.locator("#field-8").hover();
      await page.waitForTimeout(500);
      await page.screenshot({ path: `${here}${name}.png` });
    }, { viewport: { width: 1200, height: 640 } });
  }
  server.kill("SIGINT");
  await reader.cancel();
  await server.status;
} finally {
  Deno.removeSync(folder, { recursive: true });
}
