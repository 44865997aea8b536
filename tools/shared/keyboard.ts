/** Reads keys of the user: from standard input, or from the terminal if that is a recording. */

/** The shell that runs commands of the user. */
export const SHELL = "/bin/sh";

export interface Keyboard {
  /** Whether each key is delivered at once and not shown. */
  setRaw(isRaw: boolean): void;
  /** Reads the next keys; `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>;
  /** Waits for a line, when keys are not raw. */
  line(): Promise<void>;
}

export function stdinKeyboard(): Keyboard {
  const buffer = new Uint8Array(4096);
  const read = async () => {
    // Reading from a closed terminal fails instead of returning the end of input.
    const count = await Deno.stdin.read(buffer).catch(() => null);
    return count === null ? undefined : buffer.slice(0, count);
  };
  return {
    setRaw(isRaw) {
      try {
        Deno.stdin.setRaw(isRaw);
      } catch {
        // The terminal is closed.
      }
    },
    read,
    async line() {
      await read();
    },
  };
}

/**
 * The keyboard of the terminal, when standard input is a recording; `undefined` without a terminal.
 *
 * Deno opens /dev/tty only with all permissions, so `cat` reads it.
 */
export function terminalKeyboard(): Keyboard | undefined {
  const { state } = Deno.permissions.querySync({ name: "run", command: SHELL });
  if (state !== "granted") return undefined;
  const before = shell("stty -g").trim();
  if (before === "") return undefined;
  let cat: Deno.ChildProcess | undefined;
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const stop = () => {
    try {
      cat?.kill("SIGTERM");
    } catch {
      // It has ended.
    }
    cat = reader = undefined;
  };
  return {
    setRaw(isRaw) {
      stop();
      shell(isRaw ? "stty raw -echo" : `stty ${before}`);
    },
    async read() {
      if (reader === undefined) {
        cat = new Deno.Command(SHELL, {
          args: ["-c", "exec cat </dev/tty"],
          stdin: "null",
          stdout: "piped",
          stderr: "null",
        }).spawn();
        cat.unref();
        reader = cat.stdout.getReader();
      }
      return (await reader.read()).value;
    },
    async line() {
      await new Deno.Command(SHELL, {
        args: ["-c", "read -r line </dev/tty"],
        stdin: "null",
      }).output();
    },
  };
}

/** Runs a command on the terminal; returns its output. */
function shell(command: string): string {
  const { stdout } = new Deno.Command(SHELL, {
    args: ["-c", `exec ${command} </dev/tty`],
    stdin: "null",
    stderr: "null",
  }).outputSync();
  return new TextDecoder().decode(stdout);
}
