/** The flags that select samples in `rate` and `readperf`, compared with perf's selection. */
import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/csv";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const FILE = new URL("../../fixtures/recorded/all-cpus.perf.data", import.meta.url).pathname;

/** A sample in `perf script`. */
interface Sample {
  readonly comm: string;
  readonly tid: number;
  readonly cpu: number;
  readonly time: bigint;
  readonly dso: string;
}

Deno.test({
  name: "rate, readperf: filters choose the samples that perf chooses",
  ignore: perfVersion() === undefined,
  fn: async () => {
    const fields = ["script", "-G", "--ns", "-F", "comm,tid,cpu,time,ip,dso"];
    const { stdout = "" } = await perfText(fields, FILE) ?? {};
    const samples = stdout.trim().split("\n").map((line): Sample => {
      const [, comm = "", tid, cpu, s = "", ns = "", dso = ""] =
        /^\s*(.*?)\s+(\d+) \[(\d+)\]\s+(\d+)\.(\d{9}):.*\((.*)\)$/.exec(line) ?? [];
      return { comm, tid: Number(tid), cpu: Number(cpu), time: BigInt(s + ns), dso };
    });
    assert(samples.length > 50, `${samples.length} samples`);
    const { tid, time } = samples[samples.length >> 1] as Sample;
    const seconds = `${time / 1_000_000_000n}.${String(time % 1_000_000_000n).padStart(9, "0")}`;
    const isKernel = ({ dso }: Sample) => dso === "[kernel.kallsyms]";
    const table: [args: string[], passes: (sample: Sample) => boolean][] = [
      [["--cpu", "1"], ({ cpu }) => cpu === 1],
      [["--tid", String(tid)], (sample) => sample.tid === tid],
      [["--time", `,${seconds}`], (sample) => sample.time <= time],
      [["--comm", "/^worker/"], ({ comm }) => comm.startsWith("worker")],
      [["--dso", "[kernel.kallsyms]", "--cpu", "0"], (s) => isKernel(s) && s.cpu === 0],
    ];
    const rows = async (args: readonly string[]) =>
      parse((await tool("rate", ["--csv", ...args])).out, { skipFirstRow: true });
    const all = await rows([FILE]);
    let compared = 0;
    await inFolder(async (folder) => {
      for (const [args, passes] of table) {
        const expected = samples.filter(passes);
        const moments = new Set(expected.map(({ cpu, time }) => `${cpu} ${time}`));
        const wanted = all.filter((row) => moments.has(`${row["cpu"]} ${row["time"]}`));
        assertEquals(await rows([...args, FILE]), wanted, `rate ${args.join(" ")}`);
        assert(wanted.length >= expected.length - 2 && expected.length < samples.length);
        const { code, err } = await tool("readperf", ["-f", "-o", folder, ...args, FILE]);
        assertEquals(code, 0, err);
        for (const name of ["processes", "results"]) {
          const text = Deno.readTextFileSync(`${folder}/${name}.csv`);
          const sum = parse(text, { skipFirstRow: true })
            .reduce((total, { samples }) => total + Number(samples), 0);
          assertEquals(sum, expected.length, `readperf ${args.join(" ")}: ${name}`);
        }
        const overview = parse(Deno.readTextFileSync(`${folder}/overview.csv`), {
          skipFirstRow: true,
        });
        assertEquals(
          overview.filter(({ type }) => type === "SAMPLE").map(({ time }) => BigInt(time ?? 0)),
          expected.map(({ time }) => time),
          `readperf ${args.join(" ")}: overview`,
        );
        compared += 4;
      }
      // From a pipe, the same.
      const input = Deno.readFileSync(FILE);
      const args = ["--csv", "--comm", "/^worker/", "--time", "0%-50%"];
      const piped = await tool("rate", [...args, "-"], { input });
      const { out } = await tool("rate", [...args, FILE]);
      assert(out.split("\n").length > 5);
      // A file that is read through a pipe has the names of its events at its end.
      const times = (text: string) => parse(text, { skipFirstRow: true }).map(({ time }) => time);
      assertEquals(times(piped.out), times(out));
    });
    console.log(`${compared} tables compared`);
  },
});
