/**
 * 64-bit values that do not fit into a double, in all texts: compared with exact arithmetic, and
 * with the installed perf.
 */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr, PerfDataWriter } from "@perfdata/format/records";
import { memorySink } from "@perfdata/format/bytes";
import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import fc from "fast-check";
import { wordsRecord } from "../../fixtures/synthesize/recording.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

/** Two ids that are the same double. */
const IDS = [0x40_0000_0000_0001n, 0x40_0000_0000_0000n] as const;
const NAMES = ["instructions", "cycles"] as const;

interface Words {
  readonly event: 0 | 1;
  readonly ip: bigint;
  readonly time: bigint;
  readonly addr: bigint;
  readonly period: bigint;
}

/** Odd values of 54 to 63 bits, whose nearest double differs; some of them are times of day. */
const wide = fc.tuple(fc.integer({ min: 54, max: 63 }), fc.bigInt(0n, 2n ** 63n - 1n))
  .map(([bits, all]) => BigInt.asUintN(bits, all) | 1n << BigInt(bits - 1) | 1n);
const timeOfDay = fc.bigInt(1_600_000_000_000_000_000n, 1_800_000_000_000_000_000n)
  .map((ns) => ns | 1n);
/** Near whole seconds, on either side. */
const nearSecond = fc.tuple(fc.bigInt(9_100_000n, 9_000_000_000n), fc.bigInt(-9n, 9n))
  .map(([seconds, ns]) => seconds * 1_000_000_000n + ns);
const words: fc.Arbitrary<Words> = fc.record({
  event: fc.constantFrom(0, 1),
  ip: wide,
  time: fc.oneof(wide, timeOfDay, nearSecond),
  addr: wide,
  period: wide,
});

async function recording(samples: readonly Words[]): Promise<Uint8Array> {
  const sink = memorySink();
  const type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
    PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
  const writer = await PerfDataWriter.file(sink, {
    events: IDS.map((id, i) => ({
      attr: {
        ...emptyAttr(),
        // The limit of perf 6.1.
        size: 128,
        // PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES
        config: i === 0 ? 1n : 0n,
        sample_type: BigInt(type),
        sample_period: 1n,
        flags: { ...emptyAttr().flags, sample_id_all: true, exclude_guest: true },
      },
      ids: [id],
    })),
  });
  for (const { event, ip, time, addr, period } of samples) {
    const tid = 7n << 32n | 7n;
    await writer.write(wordsRecord(9, 2, [IDS[event], ip, tid, time, addr, 0n, period]));
  }
  await writer.close();
  return sink.bytes();
}

function seconds(time: bigint, digits: 6 | 9): string {
  const whole = String(time / 1_000_000_000n).padStart(5);
  return `${whole}.${String(time % 1_000_000_000n).padStart(9, "0").slice(0, digits)}`;
}

/** One number per sample, in time order. */
const SAMPLES = fc.sample(
  fc.uniqueArray(words, { minLength: 400, maxLength: 400, selector: ({ time }) => time }),
  1,
)[0]?.toSorted((a, b) => a.time < b.time ? -1 : 1) ?? [];

async function inFile<T>(work: (path: string) => Promise<T>): Promise<T> {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-exact-" });
  try {
    const path = `${folder}/perf.data`;
    Deno.writeFileSync(path, await recording(SAMPLES));
    return await work(path);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("script, records, dump, rate: values beyond 2^53 print exactly", async () => {
  await inFile(async (path) => {
    for (const digits of [6, 9] as const) {
      const fields = ["-F", "time,period,event,addr,ip", ...(digits === 9 ? ["--ns"] : [])];
      const { out } = await tool("script", [...fields, path]);
      const expected = SAMPLES.map(({ event, ip, time, addr, period }) =>
        `${seconds(time, digits)}: ${String(period).padStart(10)} ` +
        `${NAMES[event].padStart(12)}: ${addr.toString(16).padStart(16)} ` +
        `${ip.toString(16).padStart(16)}`
      );
      const lines = out.trimEnd().split("\n").map((line) => line.replace(/ +/g, " ").trim());
      assertEquals(lines, expected.map((line) => line.replace(/ +/g, " ").trim()));
    }

    const { out: json } = await tool("records", ["--type", "SAMPLE", path]);
    for (const [i, line] of json.trimEnd().split("\n").entries()) {
      const { event, ip, time, addr, period } = SAMPLES[i] as Words;
      for (
        const member of [
          `"time":${time},`,
          `"period":${period}`,
          `"ip":"0x${ip.toString(16)}"`,
          `"addr":"0x${addr.toString(16)}"`,
          `"identifier":${IDS[event]}`,
          `"event":"${NAMES[event]}`,
        ]
      ) assert(line.includes(member), `${member} is not in ${line}`);
    }

    const { out: dumped } = await tool("dump", [path]);
    const heads = dumped.split("\n").filter((line) => line.includes("PERF_RECORD_SAMPLE("));
    assertEquals(heads.length, SAMPLES.length);
    for (const [i, head] of heads.entries()) {
      const { ip, time, addr, period } = SAMPLES[i] as Words;
      for (
        const part of [
          ` ${time} `,
          `0x${ip.toString(16)} period: ${period} `,
          `addr: 0x${addr.toString(16)}`,
        ]
      ) {
        assert(head.includes(part), `${part} is not in ${head}`);
      }
    }
    console.log(`values beyond 2^53: ${SAMPLES.length} samples in script, records and dump`);
    assert(SAMPLES.length >= 400);
  });
});

Deno.test("--time: a time copied from script finds its sample", async () => {
  await inFile(async (path) => {
    const { out } = await tool("script", ["-F", "time", "--ns", path]);
    const times = out.trimEnd().split("\n").map((line) => line.trim().replace(/:$/, ""));
    let found = 0;
    for (let i = 0; i < times.length; i += 40) {
      const time = times[i] as string;
      for (const [name, args] of [["records", []], ["script", ["-F", "time", "--ns"]]] as const) {
        const { out, err } = await tool(name, [...args, "--time", `${time},${time}`, path]);
        assertEquals(out.trimEnd().split("\n").length, 1, `${name} --time ${time}: ${err}`);
        assert(out.includes(name === "script" ? time : `"time":${SAMPLES[i]?.time}`), out);
        found++;
      }
    }
    console.log(`--time: ${found} times copied from script were found`);
    assert(found >= 20);
  });
});

Deno.test({
  name: "script: values beyond 2^53 print as in perf",
  // Nothing to compare with.
  ignore: perfVersion() === undefined,
  fn: async () => {
    await inFile(async (path) => {
      for (const args of [[], ["--ns"]]) {
        const fields = ["-F", "time,period,event,addr,ip", ...args];
        const theirs = await perfText(["script", ...fields], path);
        const ours = await tool("script", [...fields, path]);
        assertEquals([theirs?.code, theirs?.stderr], [0, ""]);
        assertEquals(ours.out, theirs?.stdout);
        assert(ours.out.split("\n").length > SAMPLES.length);
      }
    });
  },
});

/** Start of a recording with times of day, and distance of its samples: both odd. */
const BEGIN = 1_700_000_000_000_000_001n;
const STEP = 1001n;
const COUNT = 300;
const LARGE = (1n << 53n) + 1n;

/** Samples of one thread with times of day, equal except for the last one's period. */
async function ofTheDay(folder: string, last: bigint): Promise<string> {
  const samples = Array.from({ length: COUNT }, (_, i): Words => ({
    event: 1,
    ip: 0x40_0000_0001n,
    time: BEGIN + BigInt(i) * STEP,
    addr: 1n,
    period: i === COUNT - 1 ? last : 3n,
  }));
  const path = `${folder}/perf.data`;
  Deno.writeFileSync(path, await recording(samples));
  return path;
}

Deno.test("info, readperf, rate, export: times of day are exact", async () => {
  await inFolder(async (folder) => {
    const path = await ofTheDay(folder, LARGE);
    const times = Array.from({ length: COUNT }, (_, i) => BEGIN + BigInt(i) * STEP);

    const { out: info } = await tool("info", ["--json", path]);
    assertEquals(JSON.parse(info).span, [String(times[0]), String(times.at(-1))]);

    assertEquals((await tool("readperf", ["-f", "-o", folder, path])).code, 0);
    const overview = Deno.readTextFileSync(`${folder}/overview.csv`).trimEnd().split("\n").slice(1)
      .map((line) => line.split(",")).filter(([, type]) => type === "SAMPLE");
    assertEquals(overview.map((cells) => cells[4]), times.map(String));
    assertEquals(overview.at(-1)?.[5], `ip 0x4000000001 period ${LARGE} event 1`);

    const { out: rate } = await tool("rate", ["--csv", path]);
    assertEquals(
      rate.trimEnd().split("\n").slice(1).map((line) => line.split(",").slice(3, 5)),
      times.slice(1).map((time) => [String(time), String(STEP)]),
    );

    const { out: chrome } = await tool("export", ["chrome", "-o", "-", path]);
    const [, ts = ""] = /"ts":([\d.]+),/.exec(chrome) ?? [];
    assertEquals(ts, `${BEGIN / 1000n}.${String(BEGIN % 1000n).padStart(3, "0")}`);

    const profile = `${folder}/profile.json.gz`;
    assertEquals((await tool("export", ["firefox", "-o", profile, path])).code, 0);
    const stream = new Blob([Deno.readFileSync(profile)]).stream()
      .pipeThrough(new DecompressionStream("gzip"));
    const { threads: [{ samples }] } = await new Response(stream).json();
    assertEquals(
      samples.time.map((ms: number) => Math.round(ms * 1e6)),
      times.map((time) => Number(time - BEGIN)),
    );
    console.log(`times of day: ${times.length} samples in five outputs`);
  });
});

Deno.test("sums of periods: from 2^53 on a line reports rounding, 2^53 - 1 is exact", async () => {
  const commands = [
    ["info"],
    ["funcs", "--csv"],
    ["tree"],
    ["rate"],
    ["readperf", "-f", "-o", "."],
    ...["folded", "speedscope", "callgrind", "chrome"].map((
      format,
    ) => ["export", format, "-o", "-"]),
  ];
  let compared = 0;
  await inFolder(async (cwd) => {
    for (const last of [2n ** 53n - 1n - 3n * BigInt(COUNT - 1), LARGE]) {
      await ofTheDay(cwd, last);
      const sum = last + 3n * BigInt(COUNT - 1);
      for (const [command = "", ...flags] of commands) {
        const { code, out, err } = await tool(command, [...flags, "perf.data"], { cwd });
        assertEquals(code, 0, err);
        assertEquals(
          err.includes("from 2^53 on are rounded"),
          last === LARGE,
          `${command}: ${err}`,
        );
        // rate counts from the first sample.
        if (last !== LARGE && command !== "rate") {
          assert(out.replaceAll(",", " ").includes(String(sum)), `${command} ${flags}: ${out}`);
        }
        compared++;
      }
    }
  });
  console.log(`rounded sums: ${compared} outputs`);
  assertEquals(compared, 2 * commands.length);
});
