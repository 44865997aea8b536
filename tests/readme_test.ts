import { assert, assertEquals } from "@std/assert";

const root = new URL("../", import.meta.url).pathname;

/** Set in the run of the README's commands: there this test would run itself. */
const NESTED = "PERFDATA_README_TEST";
const nested = Deno.env.get(NESTED) !== undefined;

function available(command: string): boolean {
  try {
    return new Deno.Command(command, { args: ["--version"], stdout: "null", stderr: "null" })
      .outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

const reason = nested
  ? "this is the run that the README's test started"
  : ["git", "npx"].some((command) => !available(command))
  ? "git or npx is not installed"
  : undefined;
if (reason !== undefined) console.log(`skipped: the README's commands: ${reason}`);

Deno.test({
  name: "README: its two commands do what it says, on a clean clone",
  ignore: reason !== undefined,
  async fn() {
    const readme = Deno.readTextFileSync(`${root}README.md`);
    const commands = [...readme.matchAll(/^```sh\n(.*)\n```$/gm)].map(([, command]) => command);
    assertEquals(commands.length, 2, "the README has two commands");

    const folder = Deno.makeTempDirSync({ prefix: "perfdata-clone-" });
    try {
      // What is committed, and nothing else: neither the corpus nor files that git ignores.
      await run(`git clone -q "${root}" clone`, folder);
      for (const command of commands) {
        const { code, output } = await run(command ?? "", `${folder}/clone`);
        console.log(`${command}\n${output.split("\n").slice(-4).join("\n")}`);
        assertEquals(code, 0, whatFailed(output));
      }
      const made = [...Deno.readDirSync(`${folder}/clone`)].map(({ name }) => name)
        .filter((name) => name.endsWith(".pt"));
      assert(made.length > 1, `extract-pt wrote ${made}`);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

/** The lines on failed tests and their errors, which stand far above the end of a long run. */
function whatFailed(output: string): string {
  const lines = output.split("\n");
  const errors = lines.findIndex((line) => line.trim() === "ERRORS");
  return [
    ...lines.filter((line) => line.includes("FAILED")),
    ...(errors < 0 ? lines.slice(-40) : lines.slice(errors, errors + 200)),
  ].join("\n");
}

async function run(command: string, cwd: string): Promise<{ code: number; output: string }> {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", command],
    cwd,
    // INIT_CWD is npm's and Deno's word for the folder that the user is in.
    env: { [NESTED]: "1", NO_COLOR: "1", INIT_CWD: cwd, PERFDATA_CORPUS: `${cwd}/no-corpus` },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  return { code, output: `${decoder.decode(stdout)}${decoder.decode(stderr)}`.trimEnd() };
}
