/**
 * `script` of recordings with Intel PT: the text equals perf's line by line, for stepped programs
 * and for real traces.
 */
import { assert, assertEquals } from "@std/assert";
import { HEADER_EVENT_DESC, PERF_SAMPLE_ADDR } from "@perfdata/format/constants";
import type { SampleId } from "@perfdata/format/records";
import { type EncodeOptions, FIRST_TSC, tscOf } from "../../fixtures/stepped/encode.ts";
import {
  cannotStep,
  encodeProgram,
  type StepOptions,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { steppedFile, steppedRecording, timeOf } from "../../fixtures/stepped/recording.ts";
import { inSamples, inSnapshots, psbMoments } from "../../fixtures/stepped/saved.ts";
import { ptAttr } from "../../fixtures/synthesize/pt_parts.ts";
import {
  asFile,
  type Item,
  type Recording,
  type RecordingEvent,
} from "../../fixtures/synthesize/recording.ts";
import { wrapTrace } from "../../fixtures/stepped/wrap.ts";
import { corpusTrace, joined } from "../support/pt_corpus.ts";
import { noPerf, perfText, perfVersion, trimmedLines } from "../support/perf.ts";
import { tool } from "../support/tool.ts";
import { ignored } from "../support/ignored.ts";

/** Options that decode packets alone. */
const QUICK = [
  ["--itrace=iq", "--ns", "-F", "+flags"],
  ["--itrace=ibqewxpI"],
  ["--itrace=iqqep"],
  ["--itrace=bqg", "-F", "+flags,+addr"],
] as const;
const TIMED = { compressReturns: true, tsc: true, mtc: true, cyc: true } as const;
const CASES: readonly [StepOptions, EncodeOptions, readonly (readonly string[])[]][] = [
  [{ program: "signals", flags: ["-O1"], limit: 60_000 }, {
    psbEvery: 3000,
    tsc: true,
    mtc: true,
    longTnt: true,
    events: true,
  }, [["--insn-trace"], [], ["--call-ret-trace"], ["--itrace=i777iers10", "--ns"], [
    "--itrace=i10ig3Ipe",
    "--ns",
  ], ...QUICK]],
  [
    { program: "signals", flags: ["-O1", "-static"], limit: 30_000 },
    { psbEvery: 3000, tsc: true, mtc: true, aborts: true },
    [
      ["--itrace=i50igxbe", "-F", "+flags"],
      // An abort has a target.
      ["--itrace=xe", "-F", "+flags,+addr"],
      ["--itrace=xgq", "-F", "+flags,+addr"],
      ...QUICK,
    ],
  ],
  [
    { program: "processes", flags: ["-O1", "-static"], quantum: 300 },
    { ...TIMED, psbEvery: 2000 },
    [
      ["--itrace=i1usbe", "-F", "+flags,+addr"],
      // Most intervals between packets have no sample.
      ["--itrace=i3us", "--ns", "-F", "+flags"],
      ["--itrace=i20usgcr", "--ns"],
      ["--itrace=i777i", "-F", "+flags,+addr"],
      ["--itrace=i333igp", "--ns"],
      ["--call-trace"],
      ["--itrace=i100il4gbe", "-F", "+brstack,+flags"],
      ["--itrace=i500il,100Z", "-F", "ip,sym,brstacksym"],
      // Instructions and core clocks: of all branches, of some branches, and of instructions.
      ["--itrace=bei7ix", "--ns", "-F", "+ipc"],
      ["--itrace=i77i", "-F", "+ipc,+insn"],
      ["--itrace=cr", "-F", "ip,addr,ipc,flags"],
      ...QUICK,
    ],
  ],
];

/**
 * The recording with events that exclude the kernel and have short names. The length of the names
 * determines the beginning of each line.
 */
function ofUserCode(recording: Recording): Recording {
  const events = recording.events.map(({ attr, ids }) => ({
    attr: { ...attr, flags: { ...attr.flags, exclude_kernel: true } },
    ids: [...ids],
  }));
  const value = {
    attr_size: events[0]?.attr.size ?? 0,
    events: events.map((event, i) => ({ ...event, name: i === 0 ? "pt:u" : "dummy:u" })),
  };
  const names = { id: HEADER_EVENT_DESC, name: "EVENT_DESC" as const, value };
  return { ...recording, events, features: [...recording.features, names] };
}

/** An event whose PEBS records go into the trace, with data addresses. */
function pebsEvent(config: bigint, id: bigint, freq = false): RecordingEvent {
  const attr = ptAttr({ type: 0, config, sample_period: 20_003n });
  return {
    attr: {
      ...attr,
      sample_type: attr.sample_type | BigInt(PERF_SAMPLE_ADDR),
      flags: { ...attr.flags, aux_output: true, freq },
    },
    ids: [id],
  };
}

/** A record that assigns a counter to the event with this id from a time on. */
function hwId(counter: bigint, identifier: bigint, time: bigint, cpu = 0): Item {
  const sample_id = { pid: 1, tid: 1, time, cpu, identifier };
  const body = { hw_id: counter };
  return { record: { type: 21, name: "AUX_OUTPUT_HW_ID", misc: 0, body, sample_id } };
}

/** The time of a record; records without time come first. */
function timeOfItem({ record }: Item): bigint {
  return (record as { readonly sample_id?: SampleId }).sample_id?.time ?? -1n;
}

/** Number of lines with instructions and core clocks, in all comparisons. */
let clocked = 0;

async function compare(path: string, args: readonly string[]): Promise<number> {
  const theirs = trimmedLines((await perfText(["script", ...args], path))?.stdout ?? "");
  const { out } = await tool("script", [...args, path]);
  const ours = trimmedLines(out);
  for (const [i, line] of theirs.entries()) {
    if (line.includes(" IPC: ")) clocked++;
    // perf names few entries of the PLT, or gives them the function before.
    if (line !== ours[i] && !ours[i]?.includes("@plt")) {
      assertEquals(ours[i], line, `${args.join(" ")}: line ${i + 1}`);
    }
  }
  assertEquals(ours.length, theirs.length, args.join(" "));
  return ours.length;
}

Deno.test(
  "script: traces of stepped programs give perf's text",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    let lines = 0;
    for (const [options, variant, runs] of CASES) {
      const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-script-" });
      try {
        const program = stepProgram(folder, options);
        const path = `${folder}/perf.data`;
        const encoded = encodeProgram(program, variant);
        Deno.writeFileSync(path, await steppedFile(program, encoded, variant));
        for (const args of runs) lines += await compare(path, args);
        const user = ofUserCode(steppedRecording(program, encoded, variant));
        Deno.writeFileSync(path, await asFile(user, true));
        lines += await compare(path, []);
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
    }
    console.log(`${lines} lines compared, ${clocked} with core clocks`);
    assert(lines > 60_000 && clocked > 3000, `${lines} lines, ${clocked} with core clocks`);
  },
);

Deno.test(
  "script: PEBS records in a trace give perf's text",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    let lines = 0;
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-script-" });
    try {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant = { psbEvery: 700, tsc: true, mtc: true, cyc: true, pebs: [1n] };
      const recording = steppedRecording(program, encodeProgram(program, variant), variant);
      const path = `${folder}/perf.data`;
      const write = async (...ids: readonly bigint[]) =>
        Deno.writeFileSync(
          path,
          await asFile({
            ...recording,
            events: [...recording.events, ...ids.map((id) => pebsEvent(0n, id))],
          }, true),
        );
      await write(41n);
      const ways = [["--itrace=o"], ["--itrace=obe", "--ns"], ["--itrace=i100io", "-F", "+addr"]];
      for (const args of [...ways, [], ["--itrace=oiq", "--ns"], ["--itrace=og"]]) {
        lines += await compare(path, args);
      }
      const { out } = await tool("script", ["--itrace=o", path]);
      assert(out.split("\n").length > 50, `${out.split("\n").length} records`);
      // With two events and no further records, the event of a PEBS record is unknown.
      await write(41n, 42n);
      const { err } = await tool("script", ["--itrace=be", path]);
      assert(!err.includes("PEBS"), err);
      const { err: said } = await tool("script", ["--itrace=o", path]);
      assert(/no lines of \d+ records of PEBS: no AUX_OUTPUT_HW_ID says/.test(said), said);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    console.log(`${lines} lines compared`);
    assert(lines > 8000, `${lines} lines`);
  },
);

Deno.test(
  "script: counters assign PEBS records to several events, as in perf",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    let lines = 0;
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-script-" });
    try {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      // One counter, two at once, and one of the upper half.
      const pebs = [1n, 2n, 3n, 1n << 40n | 2n, 1n << 40n];
      const variant = { psbEvery: 700, tsc: true, mtc: true, cyc: true, pebs };
      const encoded = encodeProgram(program, variant);
      const recording = steppedRecording(program, encoded, variant);
      const events = [...recording.events, pebsEvent(0n, 41n), pebsEvent(1n, 42n, true)];
      const path = `${folder}/perf.data`;
      const middle = encoded.truthStep[encoded.truthStep.length >> 1] as number;
      const write = async (...ids: readonly Item[]) => {
        const items = [...recording.items];
        // Records are in order of time.
        for (const item of ids) {
          const time = timeOfItem(item);
          const at = items.findIndex((other) => timeOfItem(other) > time);
          items.splice(at < 0 ? items.length - 1 : at, 0, item);
        }
        Deno.writeFileSync(path, await asFile({ ...recording, events, items }, true));
      };
      const begin = timeOf(FIRST_TSC) - 2n;
      const known = [hwId(0n, 41n, begin), hwId(1n, 42n, begin), hwId(40n, 41n, begin)];
      // Counters get another event during the trace.
      const later = timeOf(tscOf(middle));
      for (const ids of [known, [...known, hwId(0n, 42n, later), hwId(1n, 41n, later)]]) {
        await write(...ids);
        for (
          const args of [["--itrace=o"], ["--itrace=obe", "--ns"], [
            "--itrace=oZ",
            "-F",
            "event,ip,sym",
          ]]
        ) {
          lines += await compare(path, args);
        }
      }
      const { out } = await tool("script", ["--itrace=o", path]);
      for (const name of ["cycles", "instructions"]) {
        const count = out.split("\n").filter((line) => line.includes(` ${name}: `)).length;
        assert(count > 20, `${count} samples of ${name}`);
      }
      // Counters of another CPU have no effect here.
      const elsewhere = hwId(0n, 42n, later, 1);
      await write(...known, hwId(0n, 42n, later), hwId(1n, 41n, later), elsewhere);
      assertEquals((await tool("script", ["--itrace=o", path])).out, out);
      // perf assigns a counter that no record names to the first event.
      await write(hwId(0n, 41n, begin), hwId(1n, 42n, begin), hwId(64n, 42n, begin));
      const { out: some, err } = await tool("script", ["--itrace=o", path]);
      const records = Number(/no lines of (\d+) records of PEBS/.exec(err)?.[1]);
      const all = some.trimEnd().split("\n").length + records;
      assertEquals(all, out.trimEnd().split("\n").length);
      assert(records > 10, `${records} of unknown counters`);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    console.log(`${lines} lines compared`);
    assert(lines > 5000, `${lines} lines`);
  },
);

Deno.test(
  "script -F ipc: a trace without CYC packets is refused",
  ignored(cannotStep()),
  async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-script-" });
    try {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant = { psbEvery: 500, tsc: true, mtc: true };
      const encoded = encodeProgram(program, variant);
      Deno.writeFileSync(`${folder}/perf.data`, await steppedFile(program, encoded, variant));
      const args = ["--itrace=b", "-F", "+ipc", `${folder}/perf.data`];
      const { code, out, err } = await tool("script", args);
      assertEquals([code, out], [1, ""]);
      assert(err.includes("intel_pt/cyc/"), err);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);

Deno.test(
  "script: snapshots, and pieces in samples, give perf's text",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    let lines = 0;
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-script-" });
    try {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant = { psbEvery: 500, compressReturns: true, tsc: true, mtc: true };
      const encoded = encodeProgram(program, variant);
      const { bytes, truth, truthTid } = encoded;
      const recording = steppedRecording(program, encoded, variant);
      const thread = { ip: truth[0] as bigint, pid: truthTid[0] as number };
      // Pieces with common data, and pieces with gaps between them.
      for (const [size, each] of [[2048, 5], [1024, 20]] as const) {
        const moments = psbMoments(bytes, each);
        for (
          const saved of [
            inSnapshots(recording, bytes, size, moments),
            inSamples(recording, bytes, size, moments, thread),
          ]
        ) {
          const path = `${folder}/perf.data`;
          Deno.writeFileSync(path, await asFile(saved, true));
          lines += await compare(path, ["--itrace=i0nsbe", "-F", "time,ip"]);
          lines += await compare(path, ["--itrace=i200igl3", "-F", "ip,brstack"]);
        }
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    console.log(`${lines} lines compared`);
    assert(lines > 90_000, `${lines} lines`);
  },
);

Deno.test("script: real traces give perf's text", ignored(noPerf()), async () => {
  let lines = 0;
  for (const name of ["foo", "Unzip"]) {
    const trace = corpusTrace(name);
    if (trace === undefined) continue;
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-script-" });
    try {
      const path = await wrapTrace(folder, trace.bytes, joined(trace.runs));
      for (
        const args of [
          ["--itrace=xbe", "-F", "+flags"],
          [
            "--insn-trace",
            "-F",
            "ip,insn",
          ],
          [],
          ...QUICK,
        ]
      ) {
        lines += await compare(path, args);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  }
  console.log(`${lines} lines compared`);
});
