/** Runs commands in a terminal of tmux, whose screen can be read. */
import { kernelNames } from "./kernel_names.ts";
import { denoFolder, inFolder, toolArguments } from "./tool.ts";

/** A terminal of tmux that runs a command. */
export class Tmux {
  readonly #socket: string;

  constructor(socket: string) {
    this.#socket = socket;
  }

  async run(...args: readonly string[]): Promise<string> {
    const { stdout } = await new Deno.Command("tmux", {
      args: ["-S", this.#socket, "-f", "/dev/null", ...args],
      env: { LC_ALL: "C.UTF-8" },
      stderr: "null",
    }).output();
    return new TextDecoder().decode(stdout);
  }

  /** The screen, once it satisfies a condition. */
  async screen(fits: RegExp, ...more: readonly string[]): Promise<string> {
    let text = "";
    for (let i = 0; i < 1200; i++) {
      text = await this.run("capture-pane", "-p", ...more);
      if (fits.test(text)) return text;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`no ${fits} on the screen:\n${text}`);
  }

  async keys(...keys: readonly string[]): Promise<void> {
    await this.run("send-keys", ...keys);
  }
}

/** Properties of a terminal. */
export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly term?: string;
  readonly noColor?: boolean;
  /** The command; report by default. */
  readonly command?: string;
  /** Whether an interactive shell runs it, as with job control. */
  readonly shell?: boolean;
  /** A command whose output is the standard input, in the shell's syntax. */
  readonly from?: string;
}

/**
 * Runs a command in a terminal of tmux after a line "before". Its messages go to `err` in the folder.
 */
export async function onTerminal(
  args: readonly string[],
  { columns = 80, rows = 24, term = "tmux-256color", noColor = false, ...options }: TerminalOptions,
  use: (tmux: Tmux, folder: string) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    const tmux = new Tmux(`${folder}/tmux`);
    const names = kernelNames();
    const { command = "report", shell = false, from } = options;
    const deno = [Deno.execPath(), ...toolArguments(command), ...args];
    const words = deno.map((word) => `'${word}'`).join(" ");
    const env = `NO_COLOR=${noColor ? 1 : ""} TERM=${term} HOME='${folder}' PERFDATA_CWD= ` +
      `DENO_DIR='${denoFolder()}' PERF_BUILDID_DIR='${names.PERF_BUILDID_DIR}'`;
    const run = `${from === undefined ? "" : `${from} | `}${env} ${words} 2>'${folder}/err'`;
    Deno.writeTextFileSync(`${folder}/run`, run);
    try {
      await tmux.run(
        ...["new-session", "-d", "-x", `${columns}`, "-y", `${rows}`],
        shell
          ? `cd '${folder}'; PS1='ready ' exec sh -i`
          : `echo before; ${run}; echo "ended $?"; exec sleep 60`,
      );
      if (shell) {
        await tmux.screen(/ready/);
        await tmux.keys("sh run", "Enter");
      }
      await use(tmux, folder);
    } finally {
      await tmux.run("kill-server");
    }
  });
}
