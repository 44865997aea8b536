/** The commands of the README, unchanged, in a clean clone. */
import { assert, assertEquals, assertMatch } from "@std/assert";

const root = new URL("../../", import.meta.url).pathname;

/** The command blocks of the README. */
const commands = [...Deno.readTextFileSync(`${root}README.md`).matchAll(/^```sh\n(.*)\n```$/gm)]
  .map(([, command]) => command ?? "");
const [extract = "", ok = "", install = ""] = commands;

function available(command: string): boolean {
  try {
    return new Deno.Command(command, { args: ["--version"], stdout: "null", stderr: "null" })
      .outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

const missing = ["git", "npx"].filter((command) => !available(command)).join(", ");
if (missing !== "") console.log(`ignored: the README's commands: no ${missing} here`);

/** Runs a command in a directory, as a user with Deno on the PATH does. */
async function run(
  command: string,
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; out: string; err: string }> {
  const deno = Deno.execPath().replace(/\/[^/]*$/, "");
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", command],
    cwd,
    // npm and Deno put the user's directory into INIT_CWD.
    env: { NO_COLOR: "1", INIT_CWD: cwd, PATH: `${Deno.env.get("PATH")}:${deno}`, ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

Deno.test("README: has three commands, and .ci/run runs the second one", () => {
  assertEquals(commands.length, 3);
  assertMatch(ok, /^npx -y deno@[\d.]+ task ok$/);
  // A test that ran the command would run itself.
  assert(Deno.readTextFileSync(`${root}.ci/run`).includes(ok), `.ci/run does not run ${ok}`);
});

Deno.test({
  name: "README: extract-pt and the installation work in a clean clone",
  ignore: missing !== "",
  async fn() {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-clone-" });
    try {
      // Committed files only.
      const cloned = await run(`git clone -q "${root}" clone`, folder);
      assertEquals(cloned.code, 0, cloned.err);
      const clone = `${folder}/clone`;

      const extracted = await run(extract, clone);
      assertEquals(extracted.code, 0, extracted.err);
      const made = [...Deno.readDirSync(clone)].map(({ name }) => name)
        .filter((name) => name.endsWith(".pt"));
      assert(made.length > 1, `extract-pt wrote ${made}`);
      const status = await run("git status --porcelain", clone);
      assertEquals(status.out, "", "git ignores what extract-pt writes");

      const installed = await run(install, clone, { DENO_INSTALL_ROOT: `${folder}/root` });
      assertEquals(installed.code, 0, installed.err);
      // From a directory with its own configuration, which the command must ignore.
      Deno.mkdirSync(`${folder}/elsewhere`);
      Deno.writeTextFileSync(
        `${folder}/elsewhere/deno.json`,
        '{ "imports": { "@std/cli": "./x.ts" } }',
      );
      const perfdata = (args: string) => run(`../root/bin/perfdata ${args}`, `${folder}/elsewhere`);
      const fixture = `${clone}/fixtures/synthesized/pt-cpus.perf.data`;
      assertEquals((await perfdata(`extract-pt -o pt ${fixture}`)).err, "");
      assertEquals(
        Deno.readFileSync(`${folder}/elsewhere/pt/${made[0]}`),
        Deno.readFileSync(`${clone}/${made[0]}`),
      );
      const piped = await perfdata(`records --type COMM - < ${fixture} | head -n 1`);
      assertMatch(piped.out, /^\{"type":"COMM",.*\}\n$/);
      assertEquals(await perfdata("recrods"), {
        code: 2,
        out: "",
        err: "perfdata: unknown command recrods; did you mean records? see perfdata --help\n",
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
