/**
 * Makes `docs/flame/flame.svg`, the picture of the README: compiles and records `demo.c`, and draws it.
 *
 * usage: deno run -A docs/flame/make.ts            (needs gcc and perf)
 */
const here = new URL("./", import.meta.url).pathname;
const root = new URL("../../", import.meta.url).pathname;
const folder = Deno.makeTempDirSync({ prefix: "perfdata-flame-" });

function run(program: string, ...args: string[]): void {
  const { success, stderr } = new Deno.Command(program, { args, cwd: folder }).outputSync();
  if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
}

try {
  run("gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", "demo", `${here}demo.c`);
  // Unwound, since the C library keeps no frame pointers.
  run(
    "perf",
    ..."record -q -F 4000 -e cpu-clock:u --call-graph dwarf,16384 -o demo.data ./demo".split(" "),
  );
  const config = ["run", "-A", "--config", `${root}deno.json`, `${root}tools/flame.ts`];
  run(
    Deno.execPath(),
    ...config,
    "-f",
    "--icicle",
    "--width",
    "1000",
    "-o",
    `${here}flame.svg`,
    "demo.data",
  );
  // Names of files are those of the repository, wherever it is.
  const picture = Deno.readTextFileSync(`${here}flame.svg`);
  Deno.writeTextFileSync(`${here}flame.svg`, picture.replaceAll(here, "docs/flame/"));
} finally {
  Deno.removeSync(folder, { recursive: true });
}
