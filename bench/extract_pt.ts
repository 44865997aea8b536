/**
 * `extract-pt` next to `cp` of the same payload: `deno run -A bench/extract_pt.ts [MB] [FOLDER]`.
 *
 * Writes a recording with Intel PT of four CPUs (2 MB pieces, like perf's from a half-full
 * buffer of 4 MB). Both commands copy it in turns, so that other load on the machine affects both. The
 * time is that of the whole process, including its start; memory is the kernel's peak
 * (`/usr/bin/time`, if that is installed).
 */
import { makePt } from "./make_pt.ts";

const [megabytes = "512", parent] = Deno.args;
const folder = Deno.makeTempDirSync({
  prefix: "perfdata-bench-",
  ...(parent === undefined ? {} : { dir: parent }),
});
const root = new URL("../", import.meta.url).pathname;
const RUNS = 7;

interface Cost {
  readonly ms: number;
  readonly kilobytes: number | undefined;
}

function run(command: string, stdin?: string): Cost {
  const log = `${folder}/time`;
  const start = performance.now();
  const { success, stderr } = new Deno.Command("sh", {
    args: [
      "-c",
      `${timed ? `/usr/bin/time -f %M -o ${log} ` : ""}${command} ${stdin ? `< ${stdin}` : ""}`,
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).outputSync();
  const ms = performance.now() - start;
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return { ms, kilobytes: timed ? Number(Deno.readTextFileSync(log)) : undefined };
}

const timed = (() => {
  try {
    return Deno.statSync("/usr/bin/time").isFile;
  } catch {
    return false;
  }
})();

try {
  const file = `${folder}/perf.data`;
  const payload = `${folder}/payload`;
  const size = await makePt(Number(megabytes), file, payload);
  const tool = `${Deno.execPath()} run -A ${root}tools/extract_pt.ts`;
  const jobs: Record<string, () => Cost> = {
    // Into a new file each time, like extract-pt; overwriting has another cost.
    "cp": () => run(`cp ${payload} ${folder}/copy`),
    "extract-pt": () => run(`${tool} -o ${folder}/out ${file}`),
    "extract-pt -": () => run(`${tool} -o ${folder}/out -`, file),
    "extract-pt --list": () => run(`${tool} --list ${file}`),
  };
  const costs: Record<string, Cost[]> = {};
  for (let i = 0; i <= RUNS; i++) {
    for (const [name, job] of Object.entries(jobs)) {
      const cost = job();
      if (i > 0) (costs[name] ??= []).push(cost);
      for (const made of ["out", "copy"]) {
        try {
          Deno.removeSync(`${folder}/${made}`, { recursive: true });
        } catch (error) {
          // The output is the other job's, or there is none.
          if (!(error instanceof Deno.errors.NotFound)) throw error;
        }
      }
    }
  }
  const median = (name: string) =>
    (costs[name] ?? []).map(({ ms }) => ms).sort((a, b) => a - b)[RUNS >> 1] ?? NaN;
  console.log(`${(size / 1e6).toFixed(0)} MB of payload, median of ${RUNS} runs in turns`);
  for (const name of Object.keys(jobs)) {
    const ms = median(name);
    const peak = Math.max(...(costs[name] ?? []).map(({ kilobytes }) => kilobytes ?? 0)) / 1024;
    console.log(
      `${name.padEnd(18)} ${ms.toFixed(0).padStart(6)} ms  ${
        (size / 1e9 / (ms / 1000)).toFixed(2).padStart(6)
      } GB/s  ${(ms / median("cp")).toFixed(2)} x cp` +
        (timed ? `  ${peak.toFixed(0)} MB peak` : ""),
    );
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}
