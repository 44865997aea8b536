/** Intel PT to instructions: programs stepped with ptrace, and real traces with their code. */
import { assert, assertEquals } from "@std/assert";
import {
  bytesRange,
  type CodeRange,
  type CodeSpace,
  fixedSpace,
  FlowError,
  PacketDecoder,
  PacketKind,
} from "@perfdata/intel-pt";
import { CLOCKS, type EncodeOptions, type StepEvent } from "../../fixtures/stepped/encode.ts";
import { firstDifference, listFlow } from "../../fixtures/stepped/flow.ts";
import {
  cannotStep,
  encodeProgram,
  mappedBytes,
  type StepOptions,
  type SteppedProgram,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { wrapTrace } from "../../fixtures/stepped/wrap.ts";
import { corpusTrace, joined } from "../support/pt_corpus.ts";
import { noPerf, perfText, perfVersion } from "../support/perf.ts";
import { ignored, skipped } from "../support/ignored.ts";
import { inFolder } from "../support/tool.ts";

const STATIC = ["-O1", "-static"];
const PROGRAMS: readonly StepOptions[] = [
  { program: "calls", flags: ["-O2"] },
  { program: "signals", flags: ["-O1"] },
  { program: "processes", flags: STATIC, quantum: 300 },
  { program: "modes", flags: ["-O1", "-static", "-no-pie"] },
];
const VARIANTS: readonly EncodeOptions[] = [
  { psbEvery: 200, compressReturns: true },
  { psbEvery: 3000, compressReturns: true, longTnt: true, tsc: true, mtc: true },
  { psbEvery: 20_000, longTnt: true, tsc: true, mtc: true, cyc: true },
];

/** The mappings of the first process as code. */
function codeOf(program: SteppedProgram): CodeSpace {
  const files = new Map<string, Uint8Array>();
  const maps = program.events.filter(({ kind }) => kind === "M") as StepEvent[];
  const seen = new Set<bigint>();
  const ranges: CodeRange[] = [];
  for (const map of maps) {
    if (seen.has(map.start)) continue;
    seen.add(map.start);
    ranges.push(bytesRange(ranges.length, map.start, mappedBytes(map, files)));
  }
  return fixedSpace(ranges);
}

Deno.test(
  "Flow: stepped programs give exactly their instructions",
  ignored(cannotStep()),
  async () => {
    let traces = 0;
    let insns = 0;
    const seen = new Set<string>();
    for (const options of PROGRAMS) {
      await inFolder((folder) => {
        const program = stepProgram(folder, options);
        const space = codeOf(program);
        for (const variant of VARIANTS) {
          const { bytes, truth, seen: kinds } = encodeProgram(program, variant);
          for (const kind of Object.keys(kinds)) seen.add(kind);
          for (const piece of [1 << 20, 61]) {
            const { ips, errors } = listFlow(bytes, { space, clocks: CLOCKS }, piece);
            const context = `${options.program} ${JSON.stringify(variant)}`;
            assertEquals(errors.slice(0, 3), [], context);
            assertEquals(firstDifference(ips, truth), -1, context);
          }
          traces++;
          insns += truth.length;
        }
      });
    }
    console.log(`${insns} instructions of ${traces} traces: ${[...seen].join(", ")}`);
    assert(traces === 12 && insns > 600_000);
  },
);

Deno.test(
  "Flow: programs take the same steps in any environment and folder",
  ignored(cannotStep()),
  async () => {
    for (const options of PROGRAMS.slice(1)) {
      const runs: unknown[] = [];
      for (const padding of ["", "y".repeat(3333)]) {
        Deno.env.set("PERFDATA_PADDING", padding);
        await inFolder((outer) => {
          const folder = `${outer}/${padding.slice(0, 50)}`;
          Deno.mkdirSync(folder, { recursive: true });
          const { steps } = stepProgram(folder, { ...options, limit: 25_000 });
          const tids = [...new Set(steps.tid)];
          runs.push([Array.from(steps.tid, (tid) => tids.indexOf(tid)), steps.ip, steps.flags]);
        });
      }
      Deno.env.delete("PERFDATA_PADDING");
      assertEquals(runs[0], runs[1]);
    }
  },
);

Deno.test(
  "Flow: instructions of stepped programs equal perf's",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    let insns = 0;
    // Without `modes`, since perf 6.1 takes the width of code from its file. With times, which perf
    // needs to distinguish two processes.
    const cases: readonly [StepOptions, EncodeOptions][] = [
      [{ program: "calls", flags: ["-O1"] }, {
        psbEvery: 700,
        compressReturns: true,
        longTnt: true,
      }],
      [{ program: "processes", flags: STATIC, quantum: 300 }, {
        psbEvery: 2000,
        tsc: true,
        compressReturns: true,
      }],
    ];
    for (const [options, variant] of cases) {
      await inFolder(async (folder) => {
        const program = stepProgram(folder, options);
        const encoded = encodeProgram(program, variant);
        const path = `${folder}/perf.data`;
        Deno.writeFileSync(path, await steppedFile(program, encoded, variant));
        const printed = await perfText(["script", "--itrace=i0nse", "-F", "tid,ip"], path);
        const lines = (printed?.stdout ?? "").trimEnd().split("\n").map((line) => line.trim());
        const { truth, truthTid } = encoded;
        assertEquals(lines.length, truth.length, printed?.stderr);
        for (const [i, line] of lines.entries()) {
          const [tid, ip] = line.split(/\s+/);
          if (Number(tid) !== truthTid[i] || BigInt(`0x${ip}`) !== truth[i]) {
            assertEquals(line, `${truthTid[i]} ${truth[i]?.toString(16)}`, `instruction ${i}`);
          }
        }
        insns += lines.length;
      });
    }
    console.log(`${insns} instructions compared`);
    assert(insns > 100_000);
  },
);

Deno.test("Flow: real traces have the number of instructions that perf counted in them", () => {
  // The numbers are those that perf 6.1 prints for these traces; see the corpus.
  const known = { foo: 117_967, Unzip: 149_576, qemu: 9_635_736, icelake_tip: 15 };
  for (const [name, insns] of Object.entries(known)) {
    const trace = corpusTrace(name);
    if (trace === undefined) continue;
    const { ips, errors, decoder } = listFlow(trace.bytes, { space: trace.space });
    assertEquals(ips.length, insns, name);
    // The trace itself contains the processor's one overflow.
    assertEquals(errors.length, name === "qemu" ? 1 : 0, `${name}: ${errors[0]}`);
    assertEquals(decoder.counts.errors[FlowError.OVERFLOW], name === "qemu" ? 1 : 0);
  }
});

Deno.test(
  "Flow: real traces give perf's instructions, one by one",
  ignored(noPerf()),
  async () => {
    let insns = 0;
    for (const name of ["foo", "Unzip"]) {
      const trace = corpusTrace(name);
      if (trace === undefined) continue;
      await inFolder(async (folder) => {
        const path = await wrapTrace(folder, trace.bytes, joined(trace.runs));
        const printed = await perfText(["script", "--itrace=i0ns", "-F", "ip"], path);
        const lines = (printed?.stdout ?? "").trimEnd().split("\n");
        const { ips } = listFlow(trace.bytes, { space: trace.space });
        const theirs = BigUint64Array.from(lines, (line) => BigInt(`0x${line.trim()}`));
        assertEquals(firstDifference(ips, theirs), -1, name);
        insns += ips.length;
      });
    }
    console.log(`${insns} instructions compared`);
  },
);

Deno.test("Flow: real traces give libipt's instructions, one by one", async (t) => {
  await inFolder(async (folder) => {
    const source = new URL("../../fixtures/stepped/libipt.c", import.meta.url).pathname;
    const program = `${folder}/libipt`;
    try {
      const args = ["-O1", "-o", program, source, "-lipt"];
      const { success } = new Deno.Command("gcc", { args, stderr: "null" }).outputSync();
      if (!success) throw new Error("no libipt (Debian: apt-get install libipt-dev)");
    } catch (error) {
      await skipped(t, `${(error as Error).message}`);
      return;
    }
    let insns = 0;
    for (const name of ["foo", "Unzip"]) {
      const trace = corpusTrace(name);
      if (trace === undefined) continue;
      const args = [`${folder}/trace`];
      Deno.writeFileSync(`${folder}/trace`, trace.bytes);
      for (const [i, { address, bytes }] of joined(trace.runs).entries()) {
        Deno.writeFileSync(`${folder}/image${i}`, bytes);
        args.push(`${folder}/image${i}`, address.toString(16));
      }
      const { stdout } = new Deno.Command(program, { args }).outputSync();
      const theirs = new BigUint64Array(stdout.buffer, stdout.byteOffset, stdout.length >> 3);
      const { ips } = listFlow(trace.bytes, { space: trace.space });
      assertEquals(firstDifference(ips, theirs), -1, name);
      insns += ips.length;
    }
    console.log(`${insns} instructions compared`);
  });
});

Deno.test(
  "Flow: after bytes that are no packet, decoding resumes before the next PSB, at a safe place only",
  ignored(cannotStep()),
  () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-flow-" });
    try {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      // With one PSB in total, a decoder that waits for the next one loses half on average.
      const { bytes, truth } = encodeProgram(program, { psbEvery: 10_000_000 });
      const space = codeOf(program);
      let seed = 11;
      const random = (below: number) => {
        seed = Math.imul(seed, 1664525) + 1013904223 | 0;
        return Math.floor((seed >>> 0) / 2 ** 32 * below);
      };
      let [damaged, lost, others] = [0, 0, 0];
      for (let round = 0; round < 2000 && damaged < 50; round++) {
        const wrong = bytes.slice();
        wrong[100 + random(bytes.length - 100)] = random(256);
        const { ips, decoder } = listFlow(wrong, { space });
        if (decoder.counts.errors[FlowError.BAD_PACKET] === 0) continue;
        damaged++;
        let before = 0;
        while (before < ips.length && ips[before] === truth[before]) before++;
        let after = 0;
        while (
          after < Math.min(ips.length, truth.length) - before &&
          ips[ips.length - 1 - after] === truth[truth.length - 1 - after]
        ) after++;
        lost += truth.length - before - after;
        others += ips.length - before - after;
      }
      const of = damaged * truth.length;
      console.log(
        `${damaged} damaged traces: ${lost} of ${of} instructions lost, ${others} others`,
      );
      assert(damaged >= 30, `${damaged} traces`);
      assert(lost < of / 4 && others < of / 1000, `${lost} lost, ${others} others, of ${of}`);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);

Deno.test("Flow: mutated packets and code give counted errors, in bounded time", async (t) => {
  const trace = corpusTrace("foo") ?? corpusTrace("Unzip");
  if (trace === undefined) return await skipped(t, "no trace of the corpus");
  let seed = 7;
  const random = (below: number) => {
    seed = Math.imul(seed, 1664525) + 1013904223 | 0;
    return Math.floor((seed >>> 0) / 2 ** 32 * below);
  };
  let errors = 0;
  for (let round = 0; round < 30; round++) {
    const bytes = trace.bytes.slice();
    for (let i = 0; i < 1 + round * 4; i++) bytes[random(bytes.length)] = random(256);
    const cut = bytes.subarray(0, bytes.length - random(round * 100));
    const { decoder } = listFlow(cut, { space: trace.space });
    assertEquals(decoder.counts.bytes, cut.length);
    const found = decoder.counts.errors.reduce((sum, n) => sum + n, 0);
    errors += found;
    // No more errors than packets.
    const packets = new PacketDecoder();
    packets.feed(cut);
    packets.end();
    let n = 0;
    while (packets.next() > PacketKind.END) n++;
    assert(found <= n);
  }
  // Pages that are missing, and pages with other bytes.
  for (let round = 0; round < 20; round++) {
    const wild = new Uint8Array(4096).map(() => random(256));
    const { find } = trace.space;
    const broken = new Map<number, CodeRange | undefined>();
    const space: CodeSpace = {
      find(low, high) {
        const range = find(low, high);
        if (range === undefined) return undefined;
        if (!broken.has(range.id)) {
          const fate = random(6);
          const address = BigInt(range.high >>> 0) << 32n | BigInt(range.low >>> 0);
          broken.set(
            range.id,
            fate === 0 ? undefined : fate === 1 ? bytesRange(range.id, address, wild) : range,
          );
        }
        return broken.get(range.id);
      },
    };
    const { decoder } = listFlow(trace.bytes, { space });
    assertEquals(decoder.counts.bytes, trace.bytes.length);
    errors += decoder.counts.errors.reduce((sum, n) => sum + n, 0);
    assert(decoder.blocks.count < 200_000);
  }
  assert(errors > 100, `${errors} errors`);
});
