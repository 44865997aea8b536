/**
 * Intel PT decoded by several threads: functions, calls and figures equal those of one thread, for
 * any number of threads and any cut of the trace, even with damaged bytes.
 */
import { bytesSource, type RandomAccessSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { readAuxTrace } from "@perfdata/session/auxtrace";
import {
  type CallEvents,
  type CallFilter,
  callWhole,
  decodePt,
  functionRows,
  functionTimes,
  joinCalls,
  type JoinedPtCalls,
  joinList,
  listCalls,
  type ListTextOptions,
  listWhole,
  PtCalls,
  type PtCallWhole,
  type PtCounts,
  PtList,
  PtNames,
  ROW,
  rowLines,
  servePt,
} from "@perfdata/pt/decode";
import { PtClock } from "@perfdata/pt";
import { CallJson, CallText, ChromeCalls, PerfettoCalls } from "@perfdata/export/traces";
import { decodePackets, encodePackets, type Packet } from "@perfdata/intel-pt";
import { localResolver } from "@perfdata/symbols/files";
import { assert, assertEquals } from "@std/assert";
import type { EncodeOptions } from "../../fixtures/stepped/encode.ts";
import {
  cannotStep,
  encodeOnCpus,
  encodeProgram,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
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
  { psbEvery: 300, tsc: true, longTnt: true },
  { psbEvery: 300, tsc: true, cyc: true, compressReturns: true, events: true },
  { psbEvery: 300, compressReturns: true },
];
const JOBS = [1, 2, 3, 7];
/** Bytes of a range: some PSBs. */
const RANGE = 1500;

const cannot = cannotStep();

async function wholeOf(
  source: RandomAccessSource,
  filter: CallFilter,
): Promise<PtCallWhole & { names: PtNames }> {
  const diagnostics = () => {};
  const trace = await localTrace(source, diagnostics);
  const names = new PtNames(trace.code, localResolver());
  const rows = functionRows(names);
  const wants = () => true;
  return {
    ...callWhole({ trace, filter, rows, tree: true, wants }),
    names,
  };
}

/** All facts about calls, as text. */
function described(calls: PtCalls, counts: PtCounts, names: PtNames): string[] {
  const rows = functionTimes(calls, names);
  const lines = rows.map((row) => JSON.stringify(row)).sort();
  for (const [number, { name, object }] of names.functionNames.entries()) {
    const stats = calls.latency.of(number);
    if (stats === undefined) continue;
    const { histogram, slowest, calls: count, open, time, insns } = stats;
    lines.push(
      `${name} ${object} ${JSON.stringify({ count, open, time, insns, slowest })} ${
        [...histogram ?? []].join(" ")
      }`,
    );
  }
  const { tree } = calls;
  assert(tree !== undefined);
  for (let n = 0; n < tree.count; n++) {
    const path: string[] = [];
    for (let at = n; at >= 0; at = tree.parent[at] as number) {
      path.push(names.text(tree.place[at] as number));
    }
    const [tid, insns, time] = [tree.tid[n], tree.insns[n], tree.time[n]];
    lines.push(`${path.reverse().join(";")} ${tid} ${insns} ${time}`);
  }
  const { errors, ...others } = counts;
  lines.push(
    `${JSON.stringify(others)} ${errors.join(" ")} ${calls.sums.insns} ${calls.sums.time}`,
  );
  lines.push(`${names.causes()} ${names.count} places`);
  return lines.sort();
}

interface Compared {
  rows: number;
  ranges: number;
  again: number;
  /** Number of traces that one thread had to decode completely. */
  alone: number;
  /** Number of lines of branches, instructions and events. */
  listed: number;
  /** Number of calls and returns in lists. */
  events: number;
  listedAlone: number;
}

function nothing(): Compared {
  return { rows: 0, ranges: 0, again: 0, alone: 0, listed: 0, events: 0, listedAlone: 0 };
}

/** Options of the lists, used in turn. */
const LISTS: readonly ListTextOptions[] = [
  { branches: true, events: true, json: true, source: false },
  { insns: true, json: false, source: false },
  { errors: true, events: true, json: true, source: false },
];

/** The functions that one text of calls is limited to. */
const SOME = new Set(["fib", "by_value", "tick", "skip", "thread", "work"]);

/** Every output of a list of calls. */
class CallOutputs {
  count = 0;
  readonly #decoder = new TextDecoder("latin1");
  readonly #text: CallText;
  readonly #some: CallText;
  readonly #json: CallJson;
  readonly #someJson: CallJson;
  readonly #chrome: ChromeCalls;
  readonly #perfetto: PerfettoCalls;
  readonly #out: Record<string, string> = {};

  constructor({ names, trace: { sideband } }: Pick<PtCallWhole, "trace"> & { names: PtNames }) {
    this.#text = new CallText(names);
    this.#some = new CallText(names, SOME);
    this.#json = new CallJson(names, { cycles: true });
    this.#someJson = new CallJson(names, { filter: SOME });
    this.#chrome = new ChromeCalls(names, sideband.threads, { title: "calls" });
    this.#perfetto = new PerfettoCalls(names, sideband.threads);
  }

  take = (events: CallEvents): void => {
    this.count += events.count;
    this.#text.rows(events, this.#to("text"));
    this.#some.rows(events, this.#to("some"));
    this.#json.rows(events, this.#to("json"));
    this.#someJson.rows(events, this.#to("someJson"));
    this.#chrome.rows(events, this.#to("chrome"));
    this.#perfetto.rows(events, this.#to("perfetto"));
  };

  finish(): Readonly<Record<string, string>> {
    this.#to("text")(this.#text.text.take());
    this.#to("some")(this.#some.text.take());
    this.#to("json")(this.#json.text.take());
    this.#to("someJson")(this.#someJson.text.take());
    this.#chrome.finish(this.#to("chrome"));
    this.#perfetto.finish(this.#to("perfetto"));
    return this.#out;
  }

  #to(form: string): (bytes: Uint8Array) => void {
    return (bytes) => this.#out[form] = (this.#out[form] ?? "") + this.#decoder.decode(bytes);
  }
}

/** Compares the list of calls by several threads with that by one. */
async function compareCalls(
  source: RandomAccessSource,
  what: string,
  found: Compared,
  jobs: readonly number[],
  filter: CallFilter,
): Promise<void> {
  const one = await wholeOf(source, filter);
  const outputs = new CallOutputs(one);
  const calls: PtCalls = new PtCalls(one.trace, {
    filter,
    rows: one.rows,
    idle: async () => {
      await one.names.resolve();
      outputs.take(calls.events as CallEvents);
      calls.events?.clear();
    },
  });
  const counts = await decodePt(one.trace, calls);
  calls.finish();
  await calls.idle();
  const wanted = outputs.finish();
  for (const n of jobs) {
    const open = async () => {
      const { names, ...whole } = await wholeOf(source, filter);
      return { names, ...callWhole({ ...whole, tree: false, events: true }) };
    };
    const whole = await open();
    const got = new CallOutputs(whole);
    const workers = {
      jobs: n,
      about: undefined,
      start: () => threadWithin((scope) => servePt(open, scope)),
    };
    const listed = await listCalls(whole, { ...workers, rangeBytes: RANGE + n }, {}, got.take);
    for (const [form, text] of Object.entries(got.finish())) {
      const lines = wanted[form]?.split("\n") ?? [];
      const others = text.split("\n");
      const at = lines.findIndex((line, i) => line !== others[i]);
      assertEquals(others[at], lines[at], `${what}: ${n} threads, ${form}, line ${at}`);
      assertEquals(text.length, wanted[form]?.length, `${what}: ${n} threads, ${form}`);
    }
    assertEquals(listed.counts, counts, `${what}: ${n} threads`);
    if (listed.met !== undefined) whole.names.limitTo(listed.met);
    assertEquals(whole.names.causes(), one.names.causes(), `${what}: ${n} threads`);
    if (listed.joined === undefined) found.listedAlone++;
    found.events += got.count;
  }
}

/** Compares a list by several threads with that by one. */
async function compareList(
  source: RandomAccessSource,
  what: string,
  found: Compared,
  jobs: readonly number[],
  options: ListTextOptions,
): Promise<void> {
  const one = await wholeOf(source, {});
  const lines: string[] = [];
  const met = new Set<number>();
  const list: PtList = new PtList(one.trace, {
    ...options,
    idle: async () => {
      await one.names.resolve();
      const { rows } = list;
      lines.push(...rowLines(rows, one.names, list.texts, options));
      for (let i = 0; i < rows.count; i++) {
        if ((rows.a[i] as number) >= 0) met.add(rows.a[i] as number);
        if (rows.row[i] === ROW.BRANCH) met.add(rows.b[i] as number);
      }
      rows.clear();
    },
  });
  const counts = await decodePt(one.trace, list);
  const decoder = new TextDecoder();
  for (const n of jobs) {
    const open = async () => {
      const { names, ...whole } = await wholeOf(source, {});
      return { names, ...listWhole(whole, names, { ...options, filter: {} }) };
    };
    const whole = await open();
    let text = "";
    const joined = await joinList(
      whole,
      {
        jobs: n,
        about: undefined,
        start: () => threadWithin((scope) => servePt(open, scope)),
        rangeBytes: RANGE + n,
      },
      options,
      (bytes) => text += decoder.decode(bytes, { stream: true }),
    );
    if (joined === undefined) {
      found.alone++;
      continue;
    }
    const got = text.split("\n").slice(0, -1);
    const at = lines.findIndex((line, i) => line !== got[i]);
    assertEquals(got[at], lines[at], `${what}: ${n} threads, line ${at}`);
    assertEquals(got.length, lines.length, `${what}: ${n} threads`);
    assertEquals(joined.rows, lines.length);
    assertEquals(joined.counts, counts, `${what}: ${n} threads`);
    await whole.names.resolve();
    whole.names.limitTo(joined.met);
    assertEquals(whole.names.count, met.size, `${what}: places of ${n} threads`);
    assertEquals(whole.names.causes(), one.names.causes(), `${what}: ${n} threads`);
    found.listed += got.length;
  }
}

/** Compares decoding with each number of threads to decoding without ranges. */
async function compare(
  file: Uint8Array,
  what: string,
  found: Compared,
  jobs: readonly number[] = JOBS,
  filter: CallFilter = {},
  lists: readonly ListTextOptions[] = LISTS,
): Promise<void> {
  const source = bytesSource(file as Uint8Array<ArrayBuffer>);
  const one = await wholeOf(source, filter);
  const alone = new PtCalls(one.trace, {
    filter,
    rows: one.rows,
    tree: true,
  });
  const counts = await decodePt(one.trace, alone);
  alone.finish();
  await one.names.resolve();
  const wanted = described(alone, counts, one.names);
  if (filter.from === undefined && filter.tids === undefined) {
    for (const options of lists) await compareList(source, what, found, jobs, options);
  }
  await compareCalls(source, what, found, jobs, filter);
  for (const n of jobs) {
    const whole = await wholeOf(source, filter);
    const start = () => threadWithin((scope) => servePt(() => wholeOf(source, filter), scope));
    const joined: JoinedPtCalls | undefined = await joinCalls(whole, {
      jobs: n,
      about: undefined,
      start,
      rangeBytes: RANGE + n,
    });
    if (joined === undefined) {
      found.alone++;
      continue;
    }
    whole.names.limitTo(joined.calls.met);
    const got = described(joined.calls, joined.counts, whole.names);
    const at = wanted.findIndex((line, i) => line !== got[i]);
    assertEquals(got[at], wanted[at], `${what}: ${n} threads`);
    assertEquals(got.length, wanted.length, `${what}: ${n} threads`);
    found.rows += wanted.length;
    found.ranges += joined.ranges;
    found.again += joined.again;
  }
}

Deno.test(
  "pt: several threads find the functions, calls and figures of one: signals, longjmp, recursion",
  ignored(cannot),
  async () => {
    const found = nothing();
    await inFolder(async (folder) => {
      for (const name of ["calls", "signals"]) {
        const program = stepProgram(folder, {
          program: name,
          flags: ["-O1", "-static"],
          limit: 40_000,
        });
        for (const [i, variant] of VARIANTS.entries()) {
          const file = await steppedFile(program, encodeProgram(program, variant), variant);
          const jobs = i === 0 ? JOBS : [3];
          const lists = i === 0 ? LISTS : LISTS.slice(i % 3, i % 3 + 1);
          await compare(file, `${name}, variant ${i}`, found, jobs, {}, lists);
        }
      }
    });
    const { rows, ranges, again, alone, listed, events, listedAlone } = found;
    assertEquals([alone, listedAlone], [0, 0]);
    console.log(`${listed} lines of lists, ${events} calls and returns compared`);
    console.log(`${rows} lines of ${ranges} ranges compared, ${again} ranges decoded again`);
    assert(rows > 500 && ranges > 200, `${rows} lines, ${ranges} ranges`);
    assert(listed > 100_000, `${listed} lines of lists`);
    assert(events > 10_000, `${events} calls and returns`);
    assert(again < ranges / 10, `${again} of ${ranges} decoded again`);
  },
);

Deno.test(
  "pt: several threads find the functions, calls and figures of one: threads and forks on several CPUs, parts, damaged bytes",
  ignored(cannot),
  async () => {
    const found = nothing();
    const hurt = nothing();
    await inFolder(async (folder) => {
      const program = stepProgram(folder, {
        program: "family",
        flags: ["-O1", "-static"],
        executes: ["calls"],
        limit: 60_000,
      });
      const workload = program.events.find(({ kind }) => kind === "X")?.pid as number;
      const [options] = VARIANTS as [EncodeOptions];
      const parts = encodeOnCpus(program, options, 3, (turn) => turn * 7 % 3);
      for (const witness of ["SWITCH_CPU_WIDE", "sched_switch", "ITRACE_START"] as const) {
        const file = await steppedFile(program, parts, options, { witness, workload });
        await compare(file, witness, found, witness === "SWITCH_CPU_WIDE" ? JOBS : [2]);
        if (witness !== "SWITCH_CPU_WIDE") continue;
        const trace = await readAuxTrace(
          await PerfDataReader.open(bytesSource(file as Uint8Array<ArrayBuffer>)),
        );
        const payloads = trace.streams.flatMap(({ pieces }) => pieces);
        // The end is cut off: the last code ran before no time.
        const ends = file.slice();
        for (const { fileOffset, size } of payloads) {
          ends.fill(0, fileOffset + (size * 0.6 | 0), fileOffset + size);
        }
        await compare(ends, "cut", found, [3]);
        await compare(file, "threads", found, [3], { tids: new Set([workload]) });
        const clock = new PtClock(trace);
        const middle = clock.ns(Number(0x5_0010_0000n - clock.base));
        await compare(file, "time", found, [3], { from: middle, to: middle + 300_000 });
        const numbers = new Numbers(testSeed());
        for (let n = 0; n < 16; n++) {
          const damaged = file.slice();
          for (let i = 0; i <= n; i++) {
            const { fileOffset, size } = payloads[numbers.below(payloads.length)] as {
              fileOffset: number;
              size: number;
            };
            damaged[fileOffset + numbers.below(size)] = numbers.below(256);
          }
          const lists = LISTS.slice(n % 3, n % 3 + 1);
          await compare(damaged, `damage ${n}`, hurt, [2 + n % 2], {}, lists);
        }
      }
    });
    const { rows, ranges, again, alone, listed, events, listedAlone } = found;
    assertEquals([alone, listedAlone], [0, 0]);
    console.log(`${listed} lines of lists, ${events} calls and returns compared`);
    console.log(`${rows} lines of ${ranges} ranges compared, ${again} ranges decoded again`);
    console.log(
      `damaged: ${hurt.rows} lines of ${hurt.ranges} ranges, ${hurt.again} decoded again`,
    );
    assert(rows > 300 && ranges > 100, `${rows} lines, ${ranges} ranges`);
    assert(
      listed > 100_000 && hurt.listed > 100_000,
      `${listed} and ${hurt.listed} lines of lists`,
    );
    assert(again < ranges / 10, `${again} of ${ranges} decoded again`);
    assert(hurt.rows > 1000, `${hurt.rows} lines`);
    assert(events > 1000 && hurt.events > 1000, `${events} and ${hurt.events} calls and returns`);
    assertEquals(hurt.listedAlone, hurt.alone);
  },
);

Deno.test(
  "pt: one thread continues a list of calls that several threads began, if only one can tell the address space of code",
  ignored(cannot),
  async () => {
    const found = nothing();
    await inFolder(async (folder) => {
      const program = stepProgram(folder, {
        program: "calls",
        flags: ["-O1", "-static"],
        limit: 40_000,
      });
      const [variant] = VARIANTS as [EncodeOptions];
      const encoded = encodeProgram(program, variant);
      const psbs = [...decodePackets(encoded.bytes)].filter(({ packet }) => packet.type === "PSB");
      const { offset } = psbs[Math.floor(psbs.length * 0.7)] as { offset: number };
      // A guest is entered and left so late that calls were printed before.
      const moment = (nr: boolean): Packet[] => [
        { type: "PSB" },
        { type: "PIP", cr3: 0x5000n, nr },
        { type: "MODE.Exec", csL: true, csD: false, interruptFlag: false },
        { type: "FUP", compression: 3, payload: 0x40_0000n },
        { type: "PSBEND" },
      ];
      const guest = encodePackets([...moment(true), ...moment(false)]);
      const bytes = new Uint8Array(encoded.bytes.length + guest.length);
      bytes.set(encoded.bytes.subarray(0, offset));
      bytes.set(guest, offset);
      bytes.set(encoded.bytes.subarray(offset), offset + guest.length);
      const file = await steppedFile(program, { ...encoded, bytes }, variant);
      await compareCalls(bytesSource(file as Uint8Array<ArrayBuffer>), "guest", found, JOBS, {});
    });
    console.log(`${found.events} calls and returns compared`);
    assertEquals(found.listedAlone, JOBS.length);
    assert(found.events > 5000, `${found.events} calls and returns`);
  },
);

Deno.test(
  "pt: code between two times shares them, even if its paths are forgotten in between",
  ignored(cannot),
  async () => {
    await inFolder(async (folder) => {
      const program = stepProgram(folder, {
        program: "calls",
        flags: ["-O1", "-static"],
        limit: 20_000,
      });
      const variant = { psbEvery: 5000, compressReturns: true, tsc: true };
      const file = await steppedFile(program, encodeProgram(program, variant), variant);
      const source = bytesSource(file as Uint8Array<ArrayBuffer>);
      const decode = async (forgets: boolean) => {
        const { trace, rows, names } = await wholeOf(source, {});
        const calls = new PtCalls(trace, { rows });
        await decodePt(trace, {
          flow(buffer, run) {
            calls.flow(buffer, run);
            if (forgets) calls.forget();
          },
          thread: (buffer) => calls.thread(buffer),
          forget: () => calls.forget(),
          idle: () => calls.idle(),
        });
        calls.finish();
        await names.resolve();
        return functionTimes(calls, names).sort((a, b) => a.name < b.name ? -1 : 1);
      };
      const kept = await decode(false);
      const forgotten = await decode(true);
      assertEquals(
        forgotten.map(({ name, insns }) => ({ name, insns })),
        kept.map(({ name, insns }) => ({ name, insns })),
      );
      for (const [i, { name, self }] of kept.entries()) {
        const other = forgotten[i]?.self ?? -1;
        assert(Math.abs(self - other) < 1, `${name}: ${other} instead of ${self} ns`);
      }
      assert(kept.length > 20, `${kept.length} functions`);
    });
  },
);

Deno.test(
  "pt --jobs: one thread and three threads print the same",
  ignored(cannot),
  async () => {
    await inFolder(async (folder) => {
      const program = stepProgram(folder, {
        program: "family",
        flags: ["-O1", "-static"],
        executes: ["calls"],
        limit: 30_000,
      });
      const [options] = VARIANTS as [EncodeOptions];
      const parts = encodeOnCpus(program, options, 3, (turn) => turn * 7 % 3);
      const path = `${folder}/perf.data`;
      Deno.writeFileSync(path, await steppedFile(program, parts, options, {}));
      let lines = 0;
      for (
        const flags of [
          [],
          ["--json"],
          ["--latency", "main"],
          ["--cpu", "0,2"],
          ["--time", "10%-70%"],
          ["--branches"],
          ["--insns", "--source", "--function", "main"],
          ["--events", "--errors", "--json"],
          ["--calls"],
          ["--calls", "--json"],
          ["--calls", "--function", "main"],
          ["--calls", "--time", "10%-70%"],
        ]
      ) {
        const one = await tool("pt", [...flags, "--jobs", "1", path]);
        const three = await tool("pt", [...flags, "--jobs", "3", path]);
        assertEquals(three, one, flags.join(" "));
        lines += one.out.split("\n").length;
      }
      for (const format of ["folded", "pprof", "chrome", "perfetto"]) {
        const texts: string[] = [];
        for (const jobs of ["1", "3"]) {
          const to = `${folder}/${format}${jobs}`;
          await tool("export", ["--pt", format, "--jobs", jobs, "-o", to, path]);
          texts.push(await Deno.readTextFile(to));
        }
        const [one, three] = texts;
        assertEquals(three, one, format);
        assert((one?.length ?? 0) > 1000, format);
      }
      console.log(`${lines} lines compared`);
      assert(lines > 50, `${lines} lines`);
    });
  },
);
