/**
 * Measures commands that write recordings, next to `perf inject`, which reads and copies a whole recording:
 * `deno run -A bench/edit.ts FILE… [--runs 5]`.
 */
import { parseArgs } from "@std/cli";
import { line, PERF_WARM_UP, takeTurns } from "./_turns.ts";

const flags = parseArgs(Deno.args, { string: ["runs"] });
const files = flags._.map(String);
if (files.length === 0) {
  console.error("usage: deno run -A bench/edit.ts FILE… [--runs 5]");
  Deno.exit(2);
}
const folder = Deno.makeTempDirSync({ prefix: "perfdata-bench-" });
const toolOf = (name: string): string[] => {
  const path = new URL(`../tools/${name}.ts`, import.meta.url).pathname;
  return [Deno.execPath(), "run", "--no-prompt", "--allow-read", "--allow-write", path, "--force"];
};
try {
  for (const file of files) {
    const { size } = Deno.statSync(file);
    const to = (name: string) => `${folder}/${name}.data`;
    const runs = takeTurns(
      {
        "perf inject": {
          command: ["perf", "inject", "-i", file, "-o", to("inject")],
          warmUp: PERF_WARM_UP,
        },
        "perf inject -b": {
          command: ["perf", "inject", "-b", "-i", file, "-o", to("inject-b")],
          warmUp: PERF_WARM_UP,
        },
        "convert": { command: [...toolOf("convert"), "-o", to("convert"), file] },
        "slice --time 20%-60%": {
          command: [...toolOf("slice"), "--time", "20%-60%", "-o", to("slice"), file],
        },
        "repair": { command: [...toolOf("repair"), "-o", to("repair"), file] },

        "redact --only host,stacks": {
          command: [...toolOf("redact"), "--only", "host,stacks", "-o", to("redact"), file],
        },
        "merge": { command: [...toolOf("merge"), "-o", to("merge"), file, file] },
      },
      Number(flags.runs ?? 5),
      [file],
    );
    console.log(`${file}: ${(size / 1e6).toFixed(0)} MB`);
    for (const [name, each] of Object.entries(runs)) {
      console.log(line(name, each, runs["perf inject"]));
    }
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}
