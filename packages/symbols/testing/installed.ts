// Used by tests only: which programs they can compare with.

/**
 * Why a program cannot be used, or nothing where it is installed.
 *
 * @param program Name of its file.
 * @param remedy How it is installed.
 */
export function notInstalled(program: string, remedy?: string): string | undefined {
  try {
    // Any exit code will do, since some programs do not know the flag; but a proxy of rustup may have no compiler.
    const { success, stderr } = new Deno.Command(program, {
      args: ["--version"],
      stdout: "null",
      stderr: "piped",
      stdin: "null",
    }).outputSync();
    const said = success ? "" : new TextDecoder().decode(stderr);
    return said.includes("toolchain") ? `${program} has no toolchain` : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      return `${program} is not installed${remedy === undefined ? "" : ` (${remedy})`}`;
    }
    throw error;
  }
}
