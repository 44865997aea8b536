/**
 * Writes a large recording with Intel PT of a stepped program:
 * `deno run -A bench/make_stepped_pt.ts MB CPUS FOLDER [--timeless]` writes `FOLDER/perf.data` and the
 * program.
 */
import { parseArgs } from "@std/cli";
import { repeatStepped } from "../fixtures/stepped/repeat.ts";

const { _: [megabytes, cpus, folder], timeless } = parseArgs(Deno.args, { boolean: ["timeless"] });
if (folder === undefined) {
  console.error("usage: deno run -A bench/make_stepped_pt.ts MB CPUS FOLDER [--timeless]");
  Deno.exit(2);
}
const variant = timeless
  ? { psbEvery: 5000, compressReturns: true }
  : { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true };
Deno.mkdirSync(String(folder), { recursive: true });
const bytes = await repeatStepped(Number(megabytes), Number(cpus), String(folder), variant);
console.log(`${bytes} bytes of Intel PT`);
