/**
 * Sums of a trace: no function has more time than elapsed on all threads, nor more instructions
 * than ran, and the functions' own shares sum to the total. For stepped programs and the corpus's
 * traces, with names and without; without names, all addresses of a file are one row.
 */
import { bytesSource, type RandomAccessSource } from "@perfdata/format/bytes";
import { openSource } from "@perfdata/format/files";
import {
  type CallFilter,
  decodePt,
  functionRows,
  functionTimes,
  PtCalls,
  PtNames,
} from "@perfdata/pt/decode";
import { SymbolResolver } from "@perfdata/symbols";
import { localResolver } from "@perfdata/symbols/files";
import { assert, assertAlmostEquals } from "@std/assert";
import {
  cannotStep,
  encodeOnCpus,
  encodeProgram,
  type StepOptions,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { wrapTrace } from "../../fixtures/stepped/wrap.ts";
import { localTrace } from "../support/local_trace.ts";
import { corpusFiles } from "../support/corpus.ts";
import { corpusTrace, joined } from "../support/pt_corpus.ts";

const TIMED = { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true, cyc: true } as const;
const cannot = cannotStep();

/** Decodes a recording and checks its sums; returns the number of functions. */
async function check(
  source: RandomAccessSource,
  what: string,
  named: boolean,
  filter: CallFilter = {},
): Promise<{ rows: number; span: readonly [number, number] }> {
  const diagnostics = () => {};
  const trace = await localTrace(source, diagnostics);
  const names = new PtNames(
    trace.code,
    named ? localResolver() : new SymbolResolver({ open: () => undefined, read: () => undefined }),
  );
  const { clock } = trace;
  const calls = new PtCalls(trace, { filter, rows: functionRows(names) });
  const threads = new Set<string>();
  let first = Infinity;
  let last = -Infinity;
  let running = 0;
  await decodePt(trace, {
    flow(buffer, run) {
      threads.add(`${buffer.tid} ${buffer.tid > 0 ? "" : buffer.index}`);
      for (let i = 0; i < run.count; i++) {
        const entry = run.entries[i] as number;
        if (entry >= 0) {
          running += run.paths.insns[entry] as number;
          continue;
        }
        const ns = clock.ns(run.time[~entry] as number);
        if (ns < 0) continue;
        first = Math.min(first, ns);
        last = Math.max(last, ns);
      }
      calls.flow(buffer, run);
    },
    thread: (buffer) => calls.thread(buffer),
    forget: () => calls.forget(),
    idle: () => calls.idle(),
  });
  calls.finish();
  const from = Math.max(first, filter.from ?? -Infinity);
  const to = Math.min(last, filter.to ?? Infinity);
  const passed = clock.known ? Math.max(0, to - from) * threads.size : 0;
  const rows = functionTimes(calls, names);
  let self = 0;
  let insns = 0;
  for (const row of rows) {
    self += row.self;
    insns += row.insns;
    const about = `${what}: ${row.name} (${row.object})`;
    assert(row.total <= passed * (1 + 1e-9) + 1, `${about}: ${row.total} of ${passed} ns`);
    assert(row.self <= passed * (1 + 1e-9) + 1, `${about}: ${row.self} of ${passed} ns itself`);
  }
  for (const number of names.functionNames.keys()) {
    const called = calls.latency.of(number);
    assert((called?.insns ?? 0) <= running, `${what}: ${called?.insns} of ${running} instructions`);
  }
  assertAlmostEquals(self, calls.sums.time, 1e-6 * Math.max(1, calls.sums.time), `${what}: SELF`);
  assert(self <= passed * (1 + 1e-9) + 1, `${what}: SELF is ${self} of ${passed} ns`);
  assert(insns <= running, `${what}: ${insns} of ${running} instructions`);
  if (filter.from === undefined) {
    assert(insns === running, `${what}: ${insns} of ${running} instructions`);
  }
  names.close();
  return { rows: rows.length, span: [first, last] };
}

/** Checks all of a recording and a part, with names and without. */
async function all(source: RandomAccessSource, what: string): Promise<number> {
  let rows = 0;
  for (const named of [true, false]) {
    const whole = await check(source, what, named);
    rows += whole.rows;
    const [first, last] = whole.span;
    if (!(last > first)) continue;
    const from = Math.floor(first + (last - first) * 0.3);
    const to = Math.floor(first + (last - first) * 0.6);
    rows += (await check(source, `${what}, a third`, named, { from, to })).rows;
  }
  return rows;
}

const PROGRAMS: readonly StepOptions[] = [
  { program: "calls", flags: ["-O1", "-static"], limit: 60_000 },
  { program: "signals", flags: ["-O1"], limit: 60_000 },
  { program: "processes", flags: ["-O1", "-static"], quantum: 300 },
  { program: "family", flags: ["-O1", "-static"], executes: ["calls"], limit: 60_000 },
];

Deno.test({
  name: "pt: no total of a stepped program exceeds the real one",
  ignore: cannot !== undefined,
  fn: async () => {
    let rows = 0;
    for (const options of PROGRAMS) {
      const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-totals-" });
      try {
        const program = stepProgram(folder, options);
        const one = encodeProgram(program, TIMED);
        const three = encodeOnCpus(program, TIMED, 3, (turn) => turn * 7 % 3);
        for (const encoded of [one, three]) {
          const file = await steppedFile(program, encoded, TIMED);
          rows += await all(bytesSource(file as Uint8Array<ArrayBuffer>), options.program);
        }
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
    }
    console.log(`${rows} rows`);
    assert(rows > 300, `${rows} rows`);
  },
});

const traces = ["foo", "Unzip"].flatMap((name) => {
  const trace = corpusTrace(name);
  return trace === undefined ? [] : [{ name, ...trace }];
});

Deno.test({
  name: "pt: no total of a real trace exceeds the real one",
  ignore: traces.length === 0,
  fn: async () => {
    let rows = 0;
    for (const { name, bytes, runs } of traces) {
      const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-totals-" });
      try {
        const source = openSource(await wrapTrace(folder, bytes, joined(runs)));
        rows += await all(source as RandomAccessSource, name);
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
    }
    for (const { path, name } of corpusFiles()) {
      if (!/intel_pt|rawpt|control_flow|loopy/.test(name)) continue;
      try {
        rows += await all(openSource(path) as RandomAccessSource, name);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    console.log(`${rows} rows`);
    assert(rows > 0, `${rows} rows`);
  },
});
