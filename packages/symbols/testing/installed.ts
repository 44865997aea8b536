// For tests: the programs to compare with.

/** Instructions for installing programs whose package has another name. */
const REMEDIES: Readonly<Record<string, string>> = {
  "callgrind_annotate": "Debian: apt-get install valgrind",
  "go": "https://go.dev/dl",
  "inferno-flamegraph": "cargo install inferno",
};

/** Returns why one of these programs cannot be used; `undefined` if all can. */
export function notInstalled(...programs: readonly string[]): string | undefined {
  for (const program of programs) {
    const reason = notUsable(program);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function notUsable(program: string): string | undefined {
  try {
    // Any exit code is accepted, since some programs do not know the flag. But a rustup proxy may
    // have no compiler.
    const { success, stderr } = new Deno.Command(program, {
      args: ["--version"],
      stdout: "null",
      stderr: "piped",
      stdin: "null",
    }).outputSync();
    const said = success ? "" : new TextDecoder().decode(stderr);
    return said.includes("toolchain") ? `${program} has no toolchain` : undefined;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const remedy = REMEDIES[program];
    return `${program} is not installed${remedy === undefined ? "" : ` (${remedy})`}`;
  }
}
