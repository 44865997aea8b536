/** Runs `top`. */
import { streamSource } from "@perfdata/format/bytes";
import { browseLive } from "../shared/browse.ts";
import { complainAll, InputError, isInteractive } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { SHELL, stdinKeyboard } from "../shared/keyboard.ts";
import { LiveRecording } from "../shared/live_recording.ts";
import type { FLAGS } from "../top.ts";

/** The arguments of `perf record`, unless others are given. */
const RECORDED = ["-a", "-g", "-F", "99"];

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  if (!isInteractive()) {
    throw new InputError("no terminal: perf record -o - … | perfdata funcs - prints a table");
  }
  const { operands, on } = flags;
  const args = operands.length > 0 ? operands : RECORDED;
  const perf = new Deno.Command(SHELL, {
    args: ["-c", 'exec perf record --no-buffering -o - "$@"', "perf", ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const said = new Response(perf.stderr).text();
  // A stream is read by one thread, and top holds it in memory.
  const value = { ...flags.value, jobs: undefined, temp: undefined };
  const shown = { tool: "top", name: "perf", flags: { ...flags, value } };
  const recording = new LiveRecording({
    ...shown,
    debugInformation: !on["no-inline"],
    source: streamSource(perf.stdout),
  });
  const code = await browseLive(recording, {
    ...{ ...shown, keyboard: stdinKeyboard(), sort: "total" },
  });
  try {
    perf.kill("SIGINT");
  } catch {
    // It has ended.
  }
  if (code !== 0) complainAll("top: perf record", (await said).trim().split("\n"));
  // The rest of the recording is not read.
  Deno.exit(code);
}
