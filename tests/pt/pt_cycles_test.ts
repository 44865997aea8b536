/** Core clocks of a trace, those of its CYC packets, by function and by call. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { decodePackets } from "@perfdata/intel-pt";
import { type EncodedSteps, type EncodeOptions, TICKS } from "../../fixtures/stepped/encode.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { ignored } from "../support/ignored.ts";
import { noNewerPerf, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const CLOCKS_PER_TICK = 3;
const VARIANT: EncodeOptions = {
  psbEvery: 5000,
  compressReturns: true,
  tsc: true,
  mtc: true,
  cyc: true,
  clocksPerTick: CLOCKS_PER_TICK,
};
/** Core clocks of each instruction of a stepped program. */
const OF_INSN = Number(TICKS) * CLOCKS_PER_TICK;

interface Row {
  readonly name?: string;
  readonly function?: string;
  readonly insns: number;
  readonly cycles?: number;
}

async function rowsOf(args: readonly string[], cwd: string): Promise<Row[]> {
  const { out, err, code } = await tool("pt", [...args, "--json", "perf.data"], { cwd });
  assertEquals(code, 0, err);
  return out.trimEnd().split("\n").map((line) => JSON.parse(line));
}

async function withTrace(
  variant: EncodeOptions,
  use: (cwd: string, encoded: EncodedSteps) => Promise<void>,
): Promise<void> {
  await inFolder(async (cwd) => {
    const program = stepProgram(cwd, { program: "calls", flags: ["-O1", "-static"] });
    const encoded = encodeProgram(program, variant);
    Deno.writeFileSync(`${cwd}/perf.data`, await steppedFile(program, encoded, variant));
    await use(cwd, encoded);
  });
}

/** The sum of all CYC packets. */
function clocksOf(bytes: Uint8Array): number {
  let sum = 0n;
  for (const { packet } of decodePackets(bytes)) if (packet.type === "CYC") sum += packet.cycles;
  return Number(sum);
}

Deno.test(
  "pt: cycles of functions and calls are those of their instructions, and sum to the CYC packets",
  ignored(cannotStep()),
  async () => {
    await withTrace(VARIANT, async (cwd, { bytes, truth }) => {
      const rows = await rowsOf([], cwd);
      const sum = rows.reduce((sum, { cycles = 0 }) => sum + cycles, 0);
      // System calls take time in which nothing is traced.
      assert(sum <= clocksOf(bytes) + rows.length, `${sum} of ${clocksOf(bytes)}`);
      const ran = truth.length * OF_INSN;
      assert(Math.abs(sum - ran) < 0.02 * ran, `${sum}, expected about ${ran}`);
      let functions = 0;
      for (const { name, insns, cycles = 0 } of rows) {
        if (insns < 2000) continue;
        // A packet of six branches comes after the code of five of them, which may belong to other
        // functions.
        assert(Math.abs(cycles / insns / OF_INSN - 1) < 0.3, `${name}: ${cycles} of ${insns}`);
        functions++;
      }
      let calls = 0;
      for (const { function: name, insns, cycles = 0 } of await rowsOf(["--calls"], cwd)) {
        // Only calls longer than the distance between packets, without a system call.
        if (insns < 1000 || !/^(fib|deep|even|odd)$/.test(name ?? "")) continue;
        assert(Math.abs(cycles / insns / OF_INSN - 1) < 0.15, `${name}: ${cycles} of ${insns}`);
        calls++;
      }
      console.log(`cycles: ${functions} functions, ${calls} calls`);
      assert(functions >= 4 && calls >= 5);
      const { out } = await tool("pt", ["perf.data"], { cwd });
      const [head = "", ...lines] = out.trimEnd().split("\n");
      assertStringIncludes(head, "INSNS   IPC  FUNCTION");
      assert(lines.filter((line) => / 0\.01 /.test(line)).length >= 5, out.slice(0, 1000));
    });
  },
);

Deno.test("pt: a trace without CYC packets has no cycles", ignored(cannotStep()), async () => {
  await withTrace({ ...VARIANT, cyc: false }, async (cwd) => {
    for (const args of [[], ["--calls"]]) {
      assert((await rowsOf(args, cwd)).every((row) => !("cycles" in row)));
    }
    const { out } = await tool("pt", ["perf.data"], { cwd });
    assert(!out.includes("IPC"));
  });
});

Deno.test(
  "pt: the number of cycles equals perf's",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    await withTrace(VARIANT, async (cwd) => {
      const sum = (await rowsOf([], cwd)).reduce((sum, { cycles = 0 }) => sum + cycles, 0);
      const { stdout } = await new Deno.Command("perf", {
        args: ["script", "-i", "perf.data", "--itrace=b", "-F", "ip,ipc"],
        cwd,
        stderr: "null",
      }).output();
      let theirs = 0;
      let lines = 0;
      for (
        const [, cycles] of new TextDecoder().decode(stdout).matchAll(/IPC: .*\(\d+\/(\d+)\)/g)
      ) {
        theirs += Number(cycles);
        lines++;
      }
      assert(lines > 1000);
      assert(sum <= theirs && sum > 0.8 * theirs, `${sum}, perf: ${theirs}`);
    });
  },
);

Deno.test(
  "script --itrace=y: each branch with a packet has the core clocks since the last one",
  ignored(cannotStep()),
  async () => {
    await withTrace(VARIANT, async (cwd, { bytes }) => {
      const path = `${cwd}/perf.data`;
      const args = ["--itrace=y0ns", "--ns", "-F", "time,event,ip,period,ipc"];
      const { out } = await tool("script", [...args, path]);
      const line = /^ *([\d.]+): +(\d+) +cycles\S*: +([0-9a-f]+)\s+IPC: \S+ \((\d+)\/(\d+)\)/gm;
      const ours = [...out.matchAll(line)];
      assertEquals(ours.length, out.trimEnd().split("\n").length, out.slice(0, 500));
      let [sum, exact] = [0, 0];
      for (const [text, , period, , insns, cycles] of ours) {
        assertEquals(period, cycles, text);
        if (Number(period) === Number(insns) * OF_INSN) exact++;
        sum += Number(period);
      }
      // All instructions take equally long; a packet may count an instruction of its neighbor's.
      assert(exact > 0.98 * ours.length, `${exact} of ${ours.length}`);
      const all = clocksOf(bytes);
      assert(
        ours.length > 500 && sum <= all && sum > 0.9 * all,
        `${ours.length}: ${sum} of ${all}`,
      );
      // Fewer samples have the same total of core clocks, up to the last sample.
      const few = await tool("script", ["--itrace=y20i", "-F", "period", path]);
      const periods = few.out.trim().split(/\s+/).map(Number);
      const fewer = periods.reduce((total, n) => total + n, 0);
      assert(
        periods.length > 10 && periods.length < ours.length && fewer <= sum && fewer > 0.8 * sum,
      );
      if (perfVersion() === undefined) return;
      // perf 6.1 has no such samples, but prints the same clocks for the instructions at them.
      const { stdout } = await new Deno.Command("perf", {
        args: ["script", "-i", "perf.data", "--itrace=i0ns", "--ns", "-F", "time,ip,ipc"],
        cwd,
        stderr: "null",
      }).output();
      const theirs = [
        ...new TextDecoder().decode(stdout).matchAll(
          /^ *([\d.]+): +([0-9a-f]+)\s+IPC: \S+ \((\d+)\/(\d+)\)/gm,
        ),
      ].map(([, ...values]) => values);
      assertEquals(ours.map(([, time, , ip, ...counts]) => [time, ip, ...counts]), theirs);
      console.log(`${theirs.length} samples compared`);
    });
  },
);

Deno.test(
  "script --itrace=y: output equals perf 6.12's",
  ignored(cannotStep() ?? noNewerPerf()),
  async () => {
    await withTrace(VARIANT, async (cwd) => {
      let lines = 0;
      for (const letters of ["y0ns", "i7iy", "y100i", "y7ibe", "y7ixs10"]) {
        const args = ["script", `--itrace=${letters}`, "--ns", "-F", "time,event,ip,period,ipc"];
        const { stdout } = await new Deno.Command(Deno.env.get("PERFDATA_NEWER_PERF") ?? "", {
          args: [...args, "-i", "perf.data"],
          cwd,
          stderr: "null",
        }).output();
        const { out } = await tool("script", [...args.slice(1), "perf.data"], { cwd });
        const trimmed = (text: string) => text.trimEnd().replaceAll(/[ \t]+$/gm, "").split("\n");
        const theirs = trimmed(new TextDecoder().decode(stdout));
        assertEquals(trimmed(out), theirs, letters);
        lines += theirs.length;
      }
      console.log(`${lines} lines compared`);
      assert(lines > 2000);
    });
  },
);

Deno.test(
  "script --itrace=y: a trace without CYC packets is refused",
  ignored(cannotStep()),
  async () => {
    await withTrace({ ...VARIANT, cyc: false }, async (cwd) => {
      const { code, out, err } = await tool("script", ["--itrace=y", "perf.data"], { cwd });
      assertEquals([code, out], [1, ""]);
      assertStringIncludes(err, "intel_pt/cyc/");
    });
  },
);
