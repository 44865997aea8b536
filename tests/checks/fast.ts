/**
 * Checks the files that differ from the last commit, in seconds: format, lint and types of the
 * changed files, and the unit tests in their folders. `.githooks/pre-commit` runs it; `deno task
 * ok` is the complete check.
 *     deno task fast            what differs from HEAD
 *     deno task fast main       what differs from main
 */
const DENO = Deno.execPath();

/** Lines that git prints. */
async function git(...args: string[]): Promise<string[]> {
  const { success, stdout, stderr } = await new Deno.Command("git", { args }).output();
  if (!success) throw new Error(`git ${args[0]}: ${new TextDecoder().decode(stderr).trim()}`);
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
}

/** Runs a step over files, unless there are none. */
async function step(
  name: string,
  args: readonly string[],
  files: readonly string[],
): Promise<void> {
  if (files.length === 0) return;
  const start = performance.now();
  const { code } = await new Deno.Command(DENO, { args: [...args, ...files], stdout: "inherit" })
    .spawn().status;
  console.error(
    `${name}: ${files.length} files, ${((performance.now() - start) / 1000).toFixed(1)} s`,
  );
  if (code !== 0) Deno.exit(1);
}

const base = Deno.args[0] ?? "HEAD";
Deno.chdir(new URL("../../", import.meta.url));
const changed = [
  ...await git("diff", "--name-only", "--diff-filter=d", base),
  ...await git("ls-files", "--others", "--exclude-standard"),
];
const code = changed.filter((path) => /\.tsx?$/.test(path));
const folders = new Set(code.map((path) => path.replace(/\/[^/]*$/, "")));
const tests = (await git("ls-files", "--cached", "--others", "--exclude-standard", "*_test.ts"))
  .filter((path) => /^(packages|view)\//.test(path))
  .filter((path) => folders.has(path.replace(/\/[^/]*$/, "")));
await step(
  "format",
  ["fmt", "--check", "-q"],
  changed.filter((path) => /\.(tsx?|md|json)$/.test(path)),
);
await step("lint", ["lint", "-q"], code);
await step("types", ["check", "-q", "--lock=deno.dev.lock"], code);
await step(
  "tests",
  ["test", "-q", "--no-check", "--lock=deno.dev.lock", "-A", "--parallel"],
  tests,
);
