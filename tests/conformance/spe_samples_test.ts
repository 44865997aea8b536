/**
 * `convert --spe`: accesses in AUX data of Arm SPE as samples, compared with those that perf
 * synthesizes.
 */
import { assert, assertEquals } from "@std/assert";
import { asFile, Numbers } from "../../fixtures/synthesize/recording.ts";
import { ignored } from "../support/ignored.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { testSeed } from "../support/seed.ts";
import { speRecording } from "../support/spe_recording.ts";
import { inFolder, tool } from "../support/tool.ts";

/** Processors with known data sources, and one without. */
const PROCESSORS = [
  { name: "Neoverse N1", cpuid: "0x00000000410fd0c1" },
  { name: "Neoverse V1", cpuid: "0x00000000410fd401" },
  { name: "another", cpuid: "0x00000000480fd010" },
];

/** Bits of a PMU event that the synthesized event lacks. */
const FIELDS = "hw:comm,pid,tid,cpu,time,event,ip,addr,data_src,weight,phys_addr";

Deno.test({
  name: "convert --spe: samples equal those that perf synthesizes from Arm SPE",
  ...ignored(noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      const numbers = new Numbers(testSeed());
      let compared = 0;
      for (const { name, cpuid } of PROCESSORS) {
        for (const contexts of [true, false]) {
          const made = { cpuid, contexts, short: contexts && name === "Neoverse V1" };
          const from = `${folder}/spe.data`;
          const to = `${folder}/samples.data`;
          Deno.writeFileSync(from, await asFile(speRecording(numbers, made), true));
          const { code, err } = await tool("convert", ["--spe", "-f", "-o", to, from]);
          assertEquals(code, 0, err);
          const script = async (path: string, ...more: string[]) => {
            const args = ["script", "-F", FIELDS, "--ns", "--kallsyms=/dev/null", ...more];
            const output = await perfText(args, path);
            return (output?.stdout ?? "").split("\n").filter((line) => line.includes("memory"))
              .map((line) => line.trim().replace(/ +/g, " ")).sort();
          };
          const expected = await script(from, "--itrace=M");
          assertEquals(await script(to), expected, `${name} ${contexts}`);
          compared += expected.length;
          assert(err.includes(`${expected.length} samples of loads and stores`), err);
        }
      }
      console.log(`convert --spe: ${compared} samples compared with those of perf`);
      assert(compared > 1000, `${compared}`);
    }),
});

Deno.test("funcs --mem and c2c: accesses made by convert --spe are counted", () =>
  inFolder(async (folder) => {
    const made = { cpuid: PROCESSORS[0]?.cpuid ?? "", contexts: true, short: false };
    const from = `${folder}/spe.data`;
    Deno.writeFileSync(from, await asFile(speRecording(new Numbers(5), made), true));
    const to = `${folder}/samples.data`;
    const { err } = await tool("convert", ["--spe", "-o", to, from]);
    const samples = Number(/(\d+) samples of loads/.exec(err)?.[1]);
    const { out, code } = await tool("funcs", ["--mem", "--sort", "mem,snoop", "--json", to]);
    assertEquals(code, 0);
    const rows = out.trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals(rows.reduce((sum, row) => sum + row.samples, 0), samples);
    assert(rows.some(({ mem }) => /L2/.test(mem)) && rows.length > 5, out);
    const lines = await tool("c2c", ["--display", "peer", "--json", to]);
    assertEquals(lines.code, 0, lines.err);
    const [total] = lines.out.split("\n").map((line) => line && JSON.parse(line));
    assertEquals(total.total.records, samples);
    // Recordings without SPE data, and pipes, are reported.
    const other = await tool("convert", ["--spe", "-o", `${folder}/x`, to]);
    assertEquals([other.code, other.err.includes("no AUX data of Arm SPE")], [1, true]);
    const untold = await tool("c2c", [from]);
    assert(untold.err.includes("perfdata convert --spe"), untold.err);
  }));
