/** Compares `records` with `perf script`, and measures `hex`: `deno run -A bench/records.ts FILE… [--runs 5]`. */
import { parseArgs } from "@std/cli";
import { line, PERF_WARM_UP, takeTurns } from "./_turns.ts";

const flags = parseArgs(Deno.args, { string: ["runs"] });
const files = flags._.map(String);
if (files.length === 0) {
  console.error("usage: deno run -A bench/records.ts FILE… [--runs 5]");
  Deno.exit(2);
}
const toolOf = (name: string): string[] => {
  const path = new URL(`../tools/${name}.ts`, import.meta.url).pathname;
  return [Deno.execPath(), "run", "--no-prompt", "--allow-read", path];
};
const records = toolOf("records");
for (const file of files) {
  const { size } = Deno.statSync(file);
  const runs = takeTurns(
    {
      "perf script": { command: ["perf", "script", "-i", file], warmUp: PERF_WARM_UP },
      "records": { command: [...records, file] },
      "records --order time": { command: [...records, "--order", "time", file] },
      "records --type COMM": { command: [...records, "--type", "COMM", file] },
      // `hex` is for looking at bytes, so the cost of reaching the middle is measured.
      "hex --at": { command: [...toolOf("hex"), "--at", String(size >> 1), file] },
    },
    Number(flags.runs ?? 5),
    [file],
  );
  console.log(`${file}: ${(size / 1e6).toFixed(0)} MB`);
  for (const [name, each] of Object.entries(runs)) {
    console.log(line(name, each, runs["perf script"]));
  }
}
