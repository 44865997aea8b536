/**
 * The thread of each instruction in a trace: threads, forks and executed programs on several CPUs.
 * The trace names the workload's process in every buffer, as perf writes it, and only one kind of
 * record tells which thread ran. The correct threads are those of a program stepped with ptrace;
 * perf is compared if it uses the same records.
 */
import { bytesSource } from "@perfdata/format/bytes";
import type { FlowDecoder } from "@perfdata/intel-pt";
import { decodePt, type PtBuffer } from "@perfdata/pt/decode";
import { assert, assertEquals } from "@std/assert";
import type { EncodedSteps, EncodeOptions } from "../../fixtures/stepped/encode.ts";
import { cannotStep, encodeOnCpus, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile, type SwitchWitness } from "../../fixtures/stepped/recording.ts";
import { localTrace } from "../support/local_trace.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { tool } from "../support/tool.ts";

const CPUS = 3;
const TIMED: EncodeOptions = {
  psbEvery: 2000,
  compressReturns: true,
  tsc: true,
  mtc: true,
  cyc: true,
};
const WITNESSES = ["SWITCH_CPU_WIDE", "SWITCH", "sched_switch", "ITRACE_START"] as const;

const cannot = cannotStep();

/**
 * The instructions of each CPU in order, as `tid:address`, and the number of instructions with an
 * uncertain thread.
 */
async function decoded(
  file: Uint8Array,
): Promise<{ insns: string[][]; errors: number; unsure: number }> {
  const source = bytesSource(file as Uint8Array<ArrayBuffer>);
  const trace = await localTrace(source);
  const insns: string[][] = [];
  const counts = await decodePt(trace, {
    flow(buffer: PtBuffer, { entries, count, paths, blocks }: FlowDecoder) {
      const list = insns[buffer.stream.cpu as number] ??= [];
      for (let i = 0; i < count; i++) {
        const path = entries[i] as number;
        if (path < 0) continue;
        for (let k = paths.start[path] as number; k < (paths.start[path + 1] as number); k++) {
          const block = paths.blocks[k] as number;
          const base = BigInt.asUintN(
            64,
            BigInt(blocks.high[block] as number) << 32n |
              BigInt((blocks.low[block] as number) >>> 0),
          );
          blocks.eachInsn(buffer.code, block, (offset) => {
            list.push(`${buffer.tid}:${(base + BigInt(offset)).toString(16)}`);
          });
        }
      }
    },
  });
  const errors = counts.errors.reduce((sum, n) => sum + n, 0);
  return { insns, errors, unsure: counts.unsureThread };
}

/** The same for the steps. */
function expected(parts: readonly EncodedSteps[]): string[][] {
  return parts.map(({ truth, truthTid }) =>
    Array.from(truth, (ip, i) => `${truthTid[i]}:${ip.toString(16)}`)
  );
}

interface Case {
  readonly witness: SwitchWitness;
  readonly parts: readonly EncodedSteps[];
  readonly file: Uint8Array;
  readonly path: string;
  readonly workload: number;
}

/** Makes a recording with each kind of record, and calls back with it. */
async function each(use: (made: Case) => Promise<void>): Promise<void> {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-threads-" });
  try {
    const program = stepProgram(folder, {
      program: "family",
      flags: ["-O1", "-static"],
      executes: ["calls"],
      limit: 80_000,
    });
    const tids = [...program.pidOf.keys()];
    const workload = program.events.find(({ kind }) => kind === "X")?.pid as number;
    assert(tids.length >= 5, `${tids.length} threads`);
    for (const witness of WITNESSES) {
      const isAlone = witness === "ITRACE_START";
      // If only the first thread of each CPU is known, each CPU has one thread.
      const cpus = isAlone ? tids.length : CPUS;
      const cpuOf = (turn: number, tid: number) => isAlone ? tids.indexOf(tid) : turn * 7 % CPUS;
      const parts = encodeOnCpus(program, TIMED, cpus, cpuOf);
      const file = await steppedFile(program, parts, TIMED, { witness, workload });
      const path = `${folder}/${witness}.perf.data`;
      Deno.writeFileSync(path, file);
      await use({ witness, parts, file, path, workload });
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test({
  name: "pt: instructions of threads, forks and executed programs have the thread that ran",
  ignore: cannot !== undefined,
  fn: async () => {
    let compared = 0;
    await each(async ({ witness, parts, file }) => {
      const { insns, errors } = await decoded(file);
      assertEquals(errors, 0, witness);
      for (const [cpu, wanted] of expected(parts).entries()) {
        const got = insns[cpu] ?? [];
        const at = wanted.findIndex((insn, i) => insn !== got[i]);
        assertEquals(got[at], wanted[at], `${witness}: CPU ${cpu}, instruction ${at}`);
        assertEquals(got.length, wanted.length, `${witness}: CPU ${cpu}`);
        compared += wanted.length;
      }
    });
    console.log(`${compared} instructions compared`);
    assert(compared > 200_000, `${compared} instructions`);
  },
});

Deno.test({
  name: "script: branches of threads, forks and executed programs have perf's threads",
  ignore: cannot !== undefined || perfVersion() === undefined,
  fn: async () => {
    let compared = 0;
    await each(async ({ witness, path }) => {
      // Without records of switches, perf takes the thread that AUXTRACE names.
      if (witness === "ITRACE_START") return;
      const args = ["--itrace=be", "--ns", "-F", "comm,pid,tid,cpu,time,event,ip,flags"];
      const theirs = (await perfText(["script", ...args], path))?.stdout.trimEnd().split("\n") ??
        [];
      const { out, err } = await tool("script", [...args, path]);
      assertEquals(err, "");
      const ours = out.trimEnd().split("\n");
      const at = theirs.findIndex((line, i) => line.trimEnd() !== ours[i]?.trimEnd());
      assertEquals(ours[at], theirs[at], `${witness}: line ${at + 1}`);
      assertEquals(ours.length, theirs.length, witness);
      const tids = new Set(ours.map((line) => /\/(\d+) /.exec(line)?.[1]));
      assert(tids.size >= 5, `${witness}: ${tids.size} threads`);
      compared += ours.length;
    });
    console.log(`${compared} lines compared`);
    assert(compared > 20_000, `${compared} lines`);
  },
});

/** Steps the program `family`: threads and forks, one of which executes the program `calls`. */
const stepFamily = (folder: string) =>
  stepProgram(folder, {
    program: "family",
    flags: ["-O1", "-static"],
    executes: ["calls"],
    limit: 80_000,
  });

Deno.test({
  name: "pt: with times only in PSB+, the address where threads left user space tells them apart",
  ignore: cannot !== undefined,
  fn: async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-sparse-" });
    try {
      const program = stepFamily(folder);
      const tids = new Set(program.steps.tid);
      assert(tids.size >= 5, `${tids.size} threads`);
      // Up to three threads run between two times.
      for (const psbEvery of [300, 2000]) {
        for (const cpus of [1, 2]) {
          const options = { psbEvery, compressReturns: true, tsc: true, sparse: true };
          const parts = encodeOnCpus(program, options, cpus, (turn) => turn % cpus);
          const file = await steppedFile(program, parts, options);
          const { insns, errors, unsure } = await decoded(file);
          const about = `PSB each ${psbEvery} instructions, ${cpus} CPUs`;
          assertEquals(errors, 0, about);
          for (const [cpu, wanted] of expected(parts).entries()) {
            const got = insns[cpu] ?? [];
            const at = wanted.findIndex((insn, i) => insn !== got[i]);
            assertEquals(got[at], wanted[at], `${about}: CPU ${cpu}, instruction ${at}`);
            assertEquals(got.length, wanted.length, about);
          }
          const all = insns.reduce((sum, { length }) => sum + length, 0);
          assert(unsure < all / 20, `${about}: ${unsure} of ${all} instructions are not sure`);
        }
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test({
  name:
    "pt --insns: an instruction of an uncertain thread has `unsure`; others have the right thread",
  ignore: cannot !== undefined,
  fn: async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-unsure-" });
    try {
      // A thread is uncertain only if it is switched away in code that another one runs, too. Whether
      // that happens depends on the instructions of the dynamic linker on this machine.
      let found = 0;
      for (const quantum of [200, 250, 220, 270, 240, 290, 210, 310]) {
        if (found > 0) break;
        const program = stepProgram(folder, { program: "processes", flags: ["-O1"], quantum });
        const options = { psbEvery: 2000, compressReturns: true, tsc: true, sparse: true };
        const encoded = encodeOnCpus(program, options, 1, () => 0);
        const path = `${folder}/perf.data`;
        Deno.writeFileSync(path, await steppedFile(program, encoded, options));
        const { out, err } = await tool("pt", ["--insns", "--json", path]);
        const rows = out.trimEnd().split("\n").map((line) => JSON.parse(line))
          .filter(({ event }) => event === "insn");
        const wanted = expected(encoded)[0] ?? [];
        assertEquals(rows.length, wanted.length);
        const wrong = rows.findIndex(({ tid, ip, unsure }, i) =>
          unsure !== true && `${tid}:${ip.slice(2)}` !== wanted[i]
        );
        assertEquals(wrong, -1, `${JSON.stringify(rows[wrong])}, expected ${wanted[wrong]}`);
        found = rows.filter((row) => row.unsure === true).length;
        assert(found < wanted.length / 5, `${found} of ${wanted.length}`);
        if (found > 0) assert(err.includes(`${found} instructions (`), err);
        const text = await tool("pt", ["--insns", path]);
        const marked = text.out.split("\n").filter((line) => /^ *\d+\? /.test(line)).length;
        assertEquals(marked, found);
      }
      assert(found > 0, "no thread was uncertain");
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test({
  name:
    "pt --calls: a call with branches of an uncertain thread has `unsure`, and a mark in the table",
  ignore: cannot !== undefined,
  fn: async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-calls-" });
    try {
      const program = stepFamily(folder);
      let found = 0;
      for (const psbEvery of [300, 2000]) {
        const options = { psbEvery, compressReturns: true, tsc: true, sparse: true };
        const parts = encodeOnCpus(program, options, 2, (turn) => turn % 2);
        const path = `${folder}/perf-${psbEvery}.data`;
        Deno.writeFileSync(path, await steppedFile(program, parts, options));
        const rows = async (...flags: string[]) =>
          (await tool("pt", [...flags, "--json", path])).out.trimEnd().split("\n")
            .map((line): Record<string, unknown> => JSON.parse(line));
        const branches = (await rows("--branches")).filter(({ unsure }) => unsure === true);
        const ofKind = (kind: string) => branches.filter((row) => row["kind"] === kind).length;
        const unsure = (await rows("--calls")).filter((row) => row["unsure"] === true).length;
        const [calls, returns] = [ofKind("call"), ofKind("return")];
        const about = `PSB each ${psbEvery}: ${unsure} calls; ${calls} calls, ${returns} returns`;
        assert(unsure >= Math.max(calls, returns) && unsure <= calls + returns, about);
        found += unsure;
        const { out } = await tool("pt", ["--calls", path]);
        const ends = out.split("\n").filter((line) =>
          /^ *\d+\? /.test(line) && !line.endsWith("{")
        );
        assertEquals(ends.length, unsure, about);
      }
      assert(found > 0);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
