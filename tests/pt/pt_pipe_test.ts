/**
 * Intel PT through pipes: `script` and `pt` print the same for a file, for the same recording in
 * pipe format (from a file or from stdin), and for the file through stdin.
 */
import { assert, assertEquals } from "@std/assert";
import { cannotStep, encodeOnCpus, stepProgram } from "../../fixtures/stepped/program.ts";
import {
  PT_FEATURES,
  steppedRecording,
  type SwitchWitness,
} from "../../fixtures/stepped/recording.ts";
import { SCHED_SWITCH, schedSwitch, TRACING_DATA } from "../../fixtures/stepped/sched_switch.ts";
import { asFile, asPipe } from "../../fixtures/synthesize/recording.ts";
import { tool } from "../support/tool.ts";

const TIMED = { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true, cyc: true } as const;
const RUNS: readonly (readonly [string, ...string[]])[] = [
  ["script"],
  ["script", "--itrace=be", "-F", "tid,time,event,ip,trace"],
  ["script", "--call-trace"],
  ["pt", "--json"],
  ["pt", "--calls"],
];

/** A message without the name of the file. */
function said(text: string, name: string): string {
  return text.replaceAll(name, "FILE").replaceAll(/^(\w+): -:/gm, "$1: FILE:");
}

Deno.test({
  name: "pt and script: a pipe, a file in pipe format and a file give the same output",
  ignore: cannotStep() !== undefined,
  fn: async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-pipe-" });
    let bytes = 0;
    let compared = 0;
    try {
      const program = stepProgram(folder, { program: "processes", flags: ["-O1", "-static"] });
      const parts = encodeOnCpus(program, TIMED, 2, (turn) => turn % 2);
      for (const witness of ["SWITCH_CPU_WIDE", "sched_switch"] satisfies SwitchWitness[]) {
        const workload = program.events[0]?.pid ?? -1;
        const recording = steppedRecording(program, parts, TIMED, { witness, workload });
        const file = `${folder}/perf.data`;
        const piped = `${folder}/pipe.data`;
        const whole = await asFile(recording, true);
        const stream = await asPipe(recording, true);
        Deno.writeFileSync(file, whole);
        Deno.writeFileSync(piped, stream);
        for (const [name, ...args] of RUNS) {
          const expected = await tool(name, [...args, file]);
          assert(expected.out.length > 1000, `${name} ${args.join(" ")}: ${expected.err}`);
          for (
            const [what, path, input] of [
              ["file in pipe format", piped, undefined],
              ["pipe", "-", stream],
              ["file through a pipe", "-", whole],
            ] as const
          ) {
            const got = await tool(name, [...args, path], input === undefined ? {} : { input });
            const about = `${witness}: ${name} ${args.join(" ")} of a ${what}`;
            assertEquals(said(got.err, path), said(expected.err, file), about);
            assertEquals(got.out === expected.out, true, about);
            assertEquals(got.code, expected.code, about);
            bytes += got.out.length;
            compared++;
          }
        }
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    console.log(`${compared} outputs compared, ${bytes} bytes`);
    assertEquals(compared, 2 * RUNS.length * 3);
  },
});

Deno.test("script: tracepoints have their text from a file and from a pipe", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-trace-pipe-" });
  try {
    const items = Array.from({ length: 100 }, (_, i) => {
      const sample = { pid: i, tid: i, time: BigInt(1000 * i), cpu: 0, identifier: 31n };
      return { ...schedSwitch(i, 1000 + i, sample), event: 0 };
    });
    const recording = { events: [SCHED_SWITCH], items, features: [TRACING_DATA, ...PT_FEATURES] };
    const path = `${folder}/perf.data`;
    const whole = await asFile(recording, true);
    Deno.writeFileSync(path, whole);
    const texts = (out: string) => [...out.matchAll(/prev_pid=(\d+) ==> next_pid=(\d+)/g)];
    const expected = items.map((_, i) => [`${i}`, `${1000 + i}`]);
    for (
      const [path_, input] of [
        [path, undefined],
        ["-", whole],
        ["-", await asPipe(recording, true)],
      ] as const
    ) {
      const { out, err } = await tool("script", [path_], input === undefined ? {} : { input });
      assertEquals(texts(out).map(([, from, to]) => [from, to]), expected, err);
      assert(!err.includes("no text"), err);
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
