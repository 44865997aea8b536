/**
 * Compares `pt` with perf: `deno run -A bench/pt.ts [--mb 8] [--runs 3]`.
 *
 * Writes a recording that repeats the trace of a stepped program (branchy code with calls)
 * in a temporary directory. Output goes to a pipe and is discarded. Needs gcc and perf. If libipt is
 * installed with its header (libipt-dev), its block decoder is compared, too (`libipt.c`).
 */
import { parseArgs } from "@std/cli";
import type { StepEvent } from "../fixtures/stepped/encode.ts";
import { encodeProgram, stepProgram } from "../fixtures/stepped/program.ts";
import { steppedRecording } from "../fixtures/stepped/recording.ts";
import { asFile } from "../fixtures/synthesize/recording.ts";
import { type Contestant, line, PERF_WARM_UP, takeTurns } from "./_turns.ts";

/** The block decoder of libipt, which only counts instructions; nothing if it cannot be compiled. */
function libipt(
  trace: Uint8Array,
  events: readonly StepEvent[],
): Record<string, Contestant> {
  const path = `${folder}/libipt`;
  const source = new URL("libipt.c", import.meta.url).pathname;
  const args = ["-O2", "-o", path, source, "-lipt"];
  const { success } = new Deno.Command("gcc", { args, stderr: "null" }).outputSync();
  if (!success) {
    console.log("no libipt with its header: not compared");
    return {};
  }
  Deno.writeFileSync(`${folder}/trace.pt`, trace);
  const code = events.filter(({ kind, path }) => kind === "M" && path.startsWith("/"))
    .flatMap(({ path, offset, start, end }) => [
      path,
      ...[offset, end - start, start].map((n) => n.toString(16)),
    ]);
  return { "libipt, blocks": { command: [path, `${folder}/trace.pt`, ...code] } };
}

const flags = parseArgs(Deno.args, { string: ["mb", "runs"] });
const folder = Deno.makeTempDirSync({ prefix: "perfdata-bench-pt-" });
try {
  const variant = { psbEvery: 5000, compressReturns: true };
  const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
  const encoded = encodeProgram(program, variant);
  const times = Math.ceil(Number(flags.mb ?? 8) * 1e6 / encoded.bytes.length);
  const bytes = new Uint8Array(encoded.bytes.length * times);
  for (let i = 0; i < times; i++) bytes.set(encoded.bytes, i * encoded.bytes.length);
  const path = `${folder}/perf.data`;
  const recording = steppedRecording(program, { ...encoded, bytes }, variant);
  Deno.writeFileSync(path, await asFile(recording, true));
  console.log(
    `${(bytes.length / 1e6).toFixed(0)} MB of packets, ` +
      `${(encoded.truth.length * times / 1e6).toFixed(0)} million instructions`,
  );
  const config = new URL("../deno.json", import.meta.url).pathname;
  const own = (tool: string, ...args: string[]): Contestant => {
    const file = new URL(`../tools/${tool}.ts`, import.meta.url).pathname;
    return { command: [Deno.execPath(), "run", "-A", "--config", config, file, ...args, path] };
  };
  const perf = (...args: string[]): Contestant => ({
    command: ["perf", "script", ...args, "-i", path],
    warmUp: PERF_WARM_UP,
  });
  const jobs: Record<string, Record<string, Contestant>> = {
    "functions": {
      "perf --itrace=i0ns -F ip": perf("--itrace=i0ns", "-F", "ip"),
      ...libipt(bytes, program.events),
      "pt": own("pt"),
    },
    "calls": { "perf --itrace=cr": perf("--itrace=cr"), "pt --calls": own("pt", "--calls") },
    "text of calls and returns": {
      "perf --itrace=cr": perf("--itrace=cr"),
      "script --itrace=cr": own("script", "--itrace=cr"),
    },
    "text of branches": {
      "perf --itrace=b": perf("--itrace=b"),
      "script --itrace=b": own("script", "--itrace=b"),
    },
  };
  for (const [job, contestants] of Object.entries(jobs)) {
    console.log(job);
    const runs = takeTurns(contestants, Number(flags.runs ?? 3), [path]);
    const [peer = []] = Object.values(runs);
    for (const [name, each] of Object.entries(runs)) console.log(line(name, each, peer));
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}
