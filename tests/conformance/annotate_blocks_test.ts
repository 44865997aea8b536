/** Executions of instructions by branch stacks: `annotate` compared with perf and objdump. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { branchRecording, found, run } from "../support/branch_recording.ts";
import { ignored } from "../support/ignored.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const canMake = found("gcc") !== undefined && found("objdump") !== undefined;

/** Executions of each address, and the cycles of code that ended there. */
interface Expected {
  readonly executions: Map<number, number>;
  readonly cycles: Map<number, { times: number; sum: number }>;
}

/** Walks from branch to branch through the code that objdump shows. */
function expected(brstack: string, listing: string): Expected {
  const addresses = [...listing.matchAll(/^ +([0-9a-f]+):\t/gm)].map(([, at = ""]) =>
    parseInt(at, 16)
  );
  const next = new Map(addresses.map((at, i) => [at, addresses[i + 1] as number]));
  const executions = new Map<number, number>();
  const cycles = new Map<number, { times: number; sum: number }>();
  for (const line of brstack.trimEnd().split("\n")) {
    const entries = [...line.matchAll(/0x([0-9a-f]+)\/0x([0-9a-f]+)\/.\/.\/.\/(\d+)/g)]
      .map(([, from = "", to = "", took = ""]) =>
        [parseInt(from, 16), parseInt(to, 16), Number(took)] as const
      );
    for (let k = entries.length - 1; k > 0; k--) {
      const [, start] = entries[k] as readonly [number, number, number];
      const [end, , took] = entries[k - 1] as readonly [number, number, number];
      for (let at = start;; at = next.get(at) as number) {
        executions.set(at, (executions.get(at) ?? 0) + 1);
        if (at === end) break;
      }
      if (took === 0) continue;
      const known = cycles.get(end) ?? { times: 0, sum: 0 };
      cycles.set(end, { times: known.times + 1, sum: known.sum + took });
    }
  }
  return { executions, cycles };
}

Deno.test({
  name: "annotate: executions and cycles are those of walking the code from branch to branch",
  ...ignored(noPerf() ?? (canMake ? undefined : "gcc or objdump is not installed")),
  fn: () =>
    inFolder(async (folder) => {
      // A program that is not relocated runs at its file's addresses.
      const { program, data } = await branchRecording(folder, false);
      const perf = await perfText(["script", "-F", "brstack"], data);
      const listing = run("objdump", "-d", "--no-show-raw-insn", program);
      const { executions, cycles } = expected(perf?.stdout ?? "", listing);
      let [compared, timed, blocks] = [0, 0, 0];
      for (const name of ["work", "next", "rare"]) {
        const { code, out, err } = await tool("annotate", ["--insns", "--json", data, name]);
        assertEquals(code, 0, err);
        const insns = out.trimEnd().split("\n").map((line) => JSON.parse(line));
        const seen = new Map<string, number>();
        for (const insn of insns) {
          const at = Number(insn.address);
          assertEquals(insn.executions, executions.get(at) ?? 0, `${name} ${insn.address}`);
          const { times = 0, sum = 0 } = cycles.get(at) ?? {};
          assertEquals(insn.cycles, times === 0 ? undefined : sum / times, insn.address);
          // All instructions of a block have the same count.
          assertEquals(seen.get(insn.block) ?? insn.executions, insn.executions);
          seen.set(insn.block, insn.executions);
          compared++;
          if (times > 0) timed++;
        }
        blocks += seen.size;
      }
      console.log(`${compared} instructions in ${blocks} blocks compared, ${timed} with cycles`);
      assert(compared >= 30 && timed >= 8 && blocks >= 10, `${compared}, ${timed}, ${blocks}`);
      const { out } = await tool("annotate", [data, "work"]);
      assertStringIncludes(out, "EXECUTED  CYCLES  INSTRUCTION");
    }),
});

Deno.test({
  name: "annotate: executions of Intel PT are those of the processor, step by step",
  ...ignored(cannotStep()),
  fn: () =>
    inFolder(async (folder) => {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant = { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true };
      const data = `${folder}/perf.data`;
      Deno.writeFileSync(
        data,
        await steppedFile(program, encodeProgram(program, variant), variant),
      );
      const executions = new Map<number, number>();
      const { steps } = program;
      for (let i = 0; i < steps.count; i++) {
        // An instruction that was not executed was interrupted, and is repeated.
        if (((steps.flags[i] ?? 0) & 1) !== 0) continue;
        const at = Number(steps.ip[i]);
        executions.set(at, (executions.get(at) ?? 0) + 1);
      }
      let [compared, ran] = [0, 0];
      // Nothing is counted before the first and after the last branch.
      for (const name of ["fib", "choose", "deep", "_int_malloc"]) {
        const { code, out, err } = await tool("annotate", ["--insns", "--json", data, name]);
        assertEquals(code, 0, err);
        assertStringIncludes(err, "each instruction that ran counts as a sample");
        const blocks = new Map<string, number>();
        for (const insn of out.trimEnd().split("\n").map((line) => JSON.parse(line))) {
          const expected = executions.get(Number(insn.address)) ?? 0;
          assertEquals(insn.executions, expected, `${name} ${insn.address}`);
          assertEquals(insn.samples, expected, `${name} ${insn.address}`);
          assertEquals(blocks.get(insn.block) ?? expected, expected, `${name} ${insn.block}`);
          blocks.set(insn.block, expected);
          compared++;
          ran += expected;
        }
      }
      console.log(`${compared} instructions compared, which ran ${ran} times`);
      assert(compared > 200 && ran > 2000, `${compared}, ${ran}`);
      const lines = await tool("annotate", ["--lines", data, "fib"]);
      assertEquals(lines.code, 0, lines.err);
      assertStringIncludes(lines.out, "calls.c:");
      const comm = await tool("annotate", ["--comm", "calls", data, "fib"]);
      assertEquals(comm.code, 2);
    }),
});

Deno.test({
  name:
    "annotate: core clocks of blocks of Intel PT are those between branches of perf script -F ipc",
  ...ignored(cannotStep() ?? noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant = { psbEvery: 2000, tsc: true, mtc: true, cyc: true };
      const data = `${folder}/perf.data`;
      Deno.writeFileSync(
        data,
        await steppedFile(program, encodeProgram(program, variant), variant),
      );
      // By branch: clocks since the previous branch, if both have some, and how often.
      const sums = new Map<number, { cycles: number; times: number }>();
      const args = ["script", "--itrace=b", "-F", "ip,addr,ipc"];
      const { stdout = "" } = await perfText(args, data) ?? {};
      let isClocked = false;
      for (const line of stdout.trimEnd().split("\n")) {
        const [, from = "0"] = /^\s*([0-9a-f]+) =>/.exec(line) ?? [];
        const [, cycles] = /IPC: \S+ \(\d+\/(\d+)\)/.exec(line) ?? [];
        const at = Number.parseInt(from, 16);
        if (cycles !== undefined && isClocked && at !== 0) {
          const sum = sums.get(at) ?? { cycles: 0, times: 0 };
          sums.set(at, { cycles: sum.cycles + Number(cycles), times: sum.times + 1 });
        }
        isClocked = cycles !== undefined;
      }
      let compared = 0;
      for (const name of ["fib", "choose", "deep", "_int_malloc"]) {
        const { code, out, err } = await tool("annotate", ["--insns", "--json", data, name]);
        assertEquals(code, 0, err);
        for (const insn of out.trimEnd().split("\n").map((line) => JSON.parse(line))) {
          const { cycles = 0, times = 0 } = sums.get(Number(insn.address)) ?? {};
          const expected = times === 0 ? undefined : cycles / times;
          assertEquals(insn.cycles ?? undefined, expected, `${name} ${insn.address}`);
          if (times > 0) compared++;
        }
      }
      console.log(`${compared} instructions with core clocks compared`);
      assert(compared >= 15, `${compared}`);
      const { out } = await tool("annotate", [data, "fib"]);
      assertStringIncludes(out, "EXECUTED  CYCLES  INSTRUCTION");
    }),
});
