/**
 * `script --itrace` with several threads: the lines and their order equal those of one thread, for
 * any number of threads and any cut of the trace, even with damaged bytes. (Another test compares
 * one thread with perf.)
 */
import { bytesSource, type RandomAccessSource } from "@perfdata/format/bytes";
import { clockRatios, parseItrace } from "@perfdata/pt";
import { PtNames, servePt } from "@perfdata/pt/decode";
import {
  type PtScriptWhole,
  PtScriptWriter,
  scriptWhole,
  writePtScript,
  type WrittenPtScript,
} from "@perfdata/export/traces";
import { localResolver } from "@perfdata/symbols/files";
import { assert, assertEquals } from "@std/assert";
import type { EncodeOptions } from "../../fixtures/stepped/encode.ts";
import {
  cannotStep,
  encodeOnCpus,
  encodeProgram,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { repeatStepped } from "../../fixtures/stepped/repeat.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { Numbers } from "../../fixtures/synthesize/recording.ts";
import { localTrace } from "../support/local_trace.ts";
import { ignored } from "../support/ignored.ts";
import { testSeed } from "../support/seed.ts";
import { inFolder, tool } from "../support/tool.ts";
import { threadWithin } from "../../packages/session/workers/testing.ts";

/** Sets of time packets in a trace. */
const VARIANTS: readonly EncodeOptions[] = [
  { psbEvery: 400, compressReturns: true, tsc: true, mtc: true, cyc: true },
  { psbEvery: 300, compressReturns: true, tsc: true, mtc: true },
  // Ranges of these are decoded again: the start of the CYC count, or the state of a transaction,
  // is not known before.
  { psbEvery: 300, tsc: true, cyc: true, compressReturns: true, events: true },
  { psbEvery: 300, tsc: true, longTnt: true, aborts: true },
  { psbEvery: 300, compressReturns: true },
];
/** The options of `--itrace`; all are decoded in ranges. */
const WISHES = ["be", "crewpxI", "i0nse", "i1us", "i20usbpe", "i777tIxw"] as const;
const JOBS = [1, 2, 3, 7];
/** Bytes of a range: some PSBs. */
const RANGE = 1500;
/** Interval in ns of the lines recorded beside the trace. */
const OTHERS = 30_000;

const cannot = cannotStep();
const decoder = new TextDecoder();

async function wholeOf(
  source: RandomAccessSource,
  letters: string,
  tids?: ReadonlySet<number>,
): Promise<PtScriptWhole> {
  const diagnostics = () => {};
  const trace = await localTrace(source, diagnostics);
  const names = new PtNames(trace.code, localResolver());
  const itrace = { ...parseItrace(letters), pebs: false };
  const { aux, clock, engine: { eventNames, reader } } = trace;
  const { maxNonTurboRatio = 0 } = clockRatios(aux);
  const [event] = reader.events.all;
  assert(event !== undefined);
  const writer = new PtScriptWriter(trace, names, {
    eventNames,
    itrace,
    event,
    periods: [],
    wish: undefined,
    nanoseconds: true,
    objectWidth: 0,
    hasCpu: aux.streams.some(({ cpu }) => cpu !== undefined),
    timed: clock.known,
    maxNonTurboRatio,
    ticksPerSecond: clock.period(1e9),
    hardware: itrace.branches,
    chains: false,
  });
  const options = {
    ...{ itrace, maxNonTurboRatio },
    hasKernel: false,
    snapshots: aux.mayOverlap,
    filter: { tids },
  };
  return scriptWhole({
    ...{ trace, names, writer, options },
    wants: () => true,
  });
}

/** The written lines and the report about them; the lines include some of other samples. */
async function written(
  whole: PtScriptWhole,
  open: (() => Promise<PtScriptWhole>) | undefined,
  jobs: number,
): Promise<{ readonly lines: string[]; readonly made: WrittenPtScript }> {
  let text = "";
  const made = await writePtScript(
    whole,
    open &&
      {
        jobs,
        about: undefined,
        rangeBytes: RANGE + jobs,
        start: () => threadWithin((scope) => servePt(open, scope)),
      },
    {
      write: (bytes) => text += decoder.decode(bytes, { stream: true }),
      others: (ns) => {
        text += `other before ${ns}\n`;
        return ns < 0 ? 0 : ns + OTHERS;
      },
    },
  );
  await whole.names.resolve();
  if (made.met !== undefined) whole.names.limitTo(made.met);
  return { lines: text.split("\n"), made };
}

interface Compared {
  lines: number;
  ranges: number;
  again: number;
  /** Number of instruction samples whose period began in an earlier range. */
  others: number;
}

async function compare(
  file: Uint8Array,
  what: string,
  found: Compared,
  letters: string,
  jobs: readonly number[] = JOBS,
  tids?: ReadonlySet<number>,
): Promise<void> {
  const source = bytesSource(file as Uint8Array<ArrayBuffer>);
  const open = () => wholeOf(source, letters, tids);
  const one = await open();
  const wanted = await written(one, undefined, 1);
  for (const n of jobs) {
    const whole = await open();
    const got = await written(whole, open, n);
    const about = `${what}, ${letters}, ${n} threads`;
    const at = wanted.lines.findIndex((line, i) => line !== got.lines[i]);
    assertEquals(got.lines[at], wanted.lines[at], `${about}, line ${at}`);
    assertEquals(got.lines.length, wanted.lines.length, about);
    const { met: _, joined, ...made } = got.made;
    const { met: __, ...figures } = wanted.made;
    assertEquals(made, figures, about);
    assertEquals(whole.names.count, one.names.count, `${about}: places`);
    assertEquals(whole.names.causes(), one.names.causes(), about);
    assert(joined !== undefined, `${about}: by one thread`);
    found.ranges += joined.ranges;
    found.again += joined.again;
    found.lines += got.lines.length;
    found.others += got.lines.filter((line) => line.startsWith("other before")).length;
  }
}

Deno.test(
  "script --itrace: several threads write the lines of one: one CPU, with times and without",
  ignored(cannot),
  async () => {
    const found = { lines: 0, ranges: 0, again: 0, others: 0 };
    await inFolder(async (folder) => {
      for (const name of ["calls", "signals"]) {
        const program = stepProgram(folder, {
          program: name,
          flags: ["-O1", "-static"],
          limit: 20_000,
        });
        for (const [i, variant] of VARIANTS.entries()) {
          const file = await steppedFile(program, encodeProgram(program, variant), variant);
          for (const [k, letters] of WISHES.entries()) {
            const jobs = i === 0 && k % 2 === 0 ? JOBS : [3];
            await compare(file, `${name}, variant ${i}`, found, letters, jobs);
          }
        }
      }
    });
    const { lines, ranges, again, others } = found;
    console.log(`${lines} lines of ${ranges} ranges compared, ${again} ranges decoded again`);
    assert(lines > 300_000, `${lines} lines`);
    assert(
      ranges > 400 && again > 0 && again < ranges / 2,
      `${again} of ${ranges} ranges decoded again`,
    );
    assert(others > 100, `${others} other lines among them`);
  },
);

Deno.test(
  "script --itrace: several threads write the lines of one: threads and forks on several CPUs, damaged bytes",
  ignored(cannot),
  async () => {
    const found = { lines: 0, ranges: 0, again: 0, others: 0 };
    const hurt = { lines: 0, ranges: 0, again: 0, others: 0 };
    await inFolder(async (folder) => {
      const program = stepProgram(folder, {
        program: "family",
        flags: ["-O1", "-static"],
        executes: ["calls"],
        limit: 30_000,
      });
      const workload = program.events.find(({ kind }) => kind === "X")?.pid as number;
      const [options] = VARIANTS as [EncodeOptions];
      const parts = encodeOnCpus(program, options, 3, (turn) => turn * 7 % 3);
      for (const witness of ["SWITCH_CPU_WIDE", "sched_switch"] as const) {
        const file = await steppedFile(program, parts, options, { workload, witness });
        for (const letters of WISHES) {
          await compare(file, witness, found, letters, letters === "be" ? JOBS : [2]);
        }
        await compare(file, `${witness}, a thread`, found, "i1usbe", [3], new Set([workload]));
      }
      const random = new Numbers(testSeed());
      for (let round = 0; round < 6; round++) {
        const damaged = parts.map((part) => {
          const bytes = part.bytes.slice();
          for (let n = 0; n < 8; n++) {
            bytes[random.below(bytes.length)] = random.below(256);
          }
          return { ...part, bytes };
        });
        const witness = "SWITCH_CPU_WIDE";
        const file = await steppedFile(program, damaged, options, { workload, witness });
        await compare(
          file,
          `damaged, round ${round}`,
          hurt,
          WISHES[round % WISHES.length] as string,
          [
            1 + round,
          ],
        );
      }
    });
    console.log(
      `${found.lines} lines of ${found.ranges} ranges compared, ${found.again} decoded again; ` +
        `${hurt.lines} lines of damaged bytes`,
    );
    assert(found.lines > 100_000 && found.ranges > 200, `${found.lines} lines`);
    assert(hurt.lines > 10_000, `${hurt.lines} lines of damaged bytes`);
  },
);

Deno.test(
  "script --itrace --jobs: the command writes the same lines",
  ignored(cannot),
  async () => {
    await inFolder(async (folder) => {
      await repeatStepped(0.3, 2, folder, { psbEvery: 2000, tsc: true, mtc: true });
      const path = `${folder}/perf.data`;
      let lines = 0;
      for (const letters of ["cre", "i5us", "i0ns"]) {
        const [one, two] = await Promise.all(
          ["1", "2"].map((jobs) => tool("script", [`--itrace=${letters}`, "--jobs", jobs, path])),
        );
        assertEquals([two?.code, two?.err], [one?.code, one?.err], letters);
        assert(two?.out === one?.out, `${letters}: other lines by two threads`);
        lines += two?.out.split("\n").length ?? 0;
      }
      console.log(`${lines} lines compared`);
      assert(lines > 100_000, `${lines} lines`);
    });
  },
);
