/**
 * Executed objects from packets alone: addresses equal perf's, and times never exceed the duration
 * of the trace.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { decodePackets } from "@perfdata/intel-pt";
import { type EncodedSteps, type EncodeOptions, tscOf } from "../../fixtures/stepped/encode.ts";
import {
  cannotStep,
  encodeProgram,
  type StepOptions,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { steppedFile, timeOf } from "../../fixtures/stepped/recording.ts";
import { corpusFiles } from "../support/corpus.ts";
import { ignored } from "../support/ignored.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const CASES: readonly [StepOptions, EncodeOptions][] = [
  [{ program: "signals", flags: ["-O1"], limit: 60_000 }, { psbEvery: 3000, tsc: true, mtc: true }],
  [{ program: "processes", flags: ["-O1", "-static"], quantum: 300 }, {
    psbEvery: 2000,
    compressReturns: true,
    tsc: true,
    mtc: true,
    cyc: true,
  }],
];

interface Row {
  readonly event: "object" | "address";
  readonly tid?: number;
  readonly object: string;
  readonly function?: string;
  readonly time: number;
  readonly entries: number;
  readonly seen: number;
}

async function packets(path: string, ...flags: string[]): Promise<{ rows: Row[]; err: string }> {
  const { out, err } = await tool("pt", ["--packets", "--json", ...flags, path]);
  return { rows: out.trimEnd().split("\n").map((line) => JSON.parse(line)), err };
}

/** Number of addresses that perf reports in each object, by thread. */
async function perfCounts(path: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const { stdout = "" } =
    await perfText(["script", "--itrace=iq", "-F", "tid,event,ip,dso"], path) ?? {};
  for (const line of stdout.trimEnd().split("\n")) {
    const [, tid = "", object = ""] =
      /^\s*(-?\d+)\s+instructions\S*\s+[0-9a-f]+ \((.*)\)$/.exec(line.trimEnd()) ??
        [];
    if (tid === "") continue;
    const key = `${tid} ${object}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function ourCounts(rows: readonly Row[]): Map<string, number> {
  return new Map(
    rows.filter(({ event }) => event === "object").map(({ tid, object, seen }) => [
      `${tid} ${object}`,
      seen,
    ]),
  );
}

function sorted(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([a], [b]) => a < b ? -1 : 1);
}

const sum = (rows: readonly Row[], of: (row: Row) => number) =>
  rows.reduce((sum, row) => sum + of(row), 0);

async function eachCase(
  use: (path: string, encoded: EncodedSteps) => Promise<void>,
): Promise<void> {
  for (const [options, variant] of CASES) {
    await inFolder(async (folder) => {
      const program = stepProgram(folder, options);
      const encoded = encodeProgram(program, variant);
      const path = `${folder}/perf.data`;
      Deno.writeFileSync(path, await steppedFile(program, encoded, variant));
      await use(path, encoded);
    });
  }
}

Deno.test(
  "pt --packets: addresses by thread and object equal perf's",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    let addresses = 0;
    await eachCase(async (path) => {
      const theirs = await perfCounts(path);
      assertEquals(sorted(ourCounts((await packets(path)).rows)), sorted(theirs));
      addresses += [...theirs.values()].reduce((a, b) => a + b, 0);
    });
    console.log(`${addresses} addresses compared`);
    assert(addresses > 1000, `${addresses} addresses`);
  },
);

Deno.test(
  "pt --packets: times sum to the duration of the trace, and shares are those of the packets",
  ignored(cannotStep()),
  async () => {
    await eachCase(async (path, { bytes, turns, truthStep }) => {
      const { rows, err } = await packets(path);
      const objects = rows.filter(({ event }) => event === "object");
      const points = rows.filter(({ event }) => event === "address");
      for (const column of ["seen", "entries"] as const) {
        assertEquals(sum(objects, (row) => row[column]), sum(points, (row) => row[column]));
      }
      const time = sum(objects, (row) => row.time);
      assert(Math.abs(time - sum(points, (row) => row.time)) < 1);
      // On one CPU, the times of all threads never exceed the elapsed time.
      const last = Math.max(...turns.map(({ end }) => end), truthStep.at(-1) ?? 0);
      const span = Number(timeOf(tscOf(last)) - timeOf(tscOf(0)));
      assert(time <= span && time > span / 4, `${time} of ${span} ns`);
      let [known, all] = [0, 0];
      let inPsb = false;
      for (const { packet } of decodePackets(bytes)) {
        if (packet.type === "PSB") inPsb = true;
        else if (packet.type === "PSBEND") inPsb = false;
        else if (packet.type === "TNT") all += packet.count;
        else if (!inPsb && /^TIP/.test(packet.type) && "compression" in packet) {
          if (packet.compression === 0) continue;
          known++;
          all++;
        }
      }
      const share = (100 * known / all).toFixed(1);
      assertStringIncludes(err, `from packets: ${share}% of ${all} branches have an address`);
      // The times of a part never exceed those of the whole.
      const [thread] = objects;
      const part = await packets(path, "--tid", String(thread?.tid));
      assertEquals(
        ourCounts(part.rows),
        new Map([...ourCounts(rows)].filter(([key]) => key.startsWith(`${thread?.tid} `))),
      );
    });
  },
);

Deno.test(
  "pt: without code, prints the answer from packets alone",
  ignored(cannotStep()),
  async () => {
    await eachCase(async (path) => {
      // perf's cache may have the files of this machine.
      const bare = { env: { PERF_BUILDID_DIR: `${path}.d` } };
      const { out } = await tool("pt", ["--packets", "--symfs", `${path}.d`, path], bare);
      Deno.mkdirSync(`${path}.d`);
      const without = ["--symfs", `${path}.d`, path];
      const expected = (await tool("pt", ["--packets", ...without], bare)).out;
      const { out: printed, err, code } = await tool("pt", without, bare);
      assertEquals(out, "");
      assertEquals(printed, expected);
      assert(printed.split("\n").length > 20);
      assertStringIncludes(err, "no code is at hand: this is what packets alone say");
      assertEquals(code, 1);
    });
    const { code, err } = await tool("pt", ["--packets", "--calls", "perf.data"]);
    assertEquals([code, err.includes("--packets and --calls exclude each other")], [2, true]);
  },
);

const REAL = corpusFiles().find(({ path }) => path.endsWith("perf.data.intel_pt-4.14"));

Deno.test(
  "pt --packets: reads a real trace from a machine that is out of reach",
  ignored(REAL === undefined ? "no corpus" : perfVersion() === undefined ? "no perf" : undefined),
  async () => {
    const path = REAL?.path ?? "";
    const theirs = await perfCounts(path);
    const ours = ourCounts((await packets(path)).rows);
    // perf uses other names for unmapped addresses and for the kernel.
    const named = (counts: ReadonlyMap<string, number>) =>
      sorted(counts).filter(([key]) => /\.so|coreutils/.test(key));
    assertEquals(named(ours), named(theirs));
    assert(named(ours).length > 5);
  },
);
