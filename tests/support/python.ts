/** Python with the modules that tests compare with. */

/**
 * Command of Python. `PERFDATA_PYTHON` selects another one than `python3`, such as that of a
 * virtual environment.
 */
export const python = Deno.env.get("PERFDATA_PYTHON") ?? "python3";

/** The reason for which modules cannot be used; `undefined` if they can. */
export function noModules(...modules: string[]): string | undefined {
  const reason = `${python} has no ${modules.join(", ")} (pip install, PERFDATA_PYTHON)`;
  try {
    const args = ["-c", `import ${modules.join(", ")}`];
    const quiet = { stdout: "null", stderr: "null" } as const;
    return new Deno.Command(python, { args, ...quiet }).outputSync().success ? undefined : reason;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return reason;
    throw error;
  }
}
