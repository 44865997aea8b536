/**
 * Every command gives the same output for a file, a pipe and any number of threads, on a recording
 * with difficult block boundaries.
 */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr, PerfDataWriter } from "@perfdata/format/records";
import { memorySink } from "@perfdata/format/bytes";
import {
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { wordsRecord } from "../../fixtures/synthesize/recording.ts";
import { tool } from "../support/tool.ts";

const [COMM, MMAP, EXIT, FORK, SAMPLE, ROUND] = [3, 1, 4, 7, 9, 68];
const EXEC = 1 << 13;

/** A name as one word. */
const word = (name: string): bigint =>
  [...name].reduce((sum, c, i) => sum | BigInt(c.charCodeAt(0)) << BigInt(8 * i), 0n);

/**
 * Four megabytes: processes that fork, exec and end, with reused ids; maps that change between two
 * samples; times that are equal, or older than the last round.
 */
async function recording(): Promise<{ bytes: Uint8Array; samples: number }> {
  const sink = memorySink();
  const type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
  const flags = { ...emptyAttr().flags, sample_id_all: true };
  const attr = { ...emptyAttr(), size: 128, sample_type: BigInt(type), sample_period: 3n, flags };
  const writer = await PerfDataWriter.file(sink, { events: [{ attr, ids: [1n] }] });
  let [seed, time, size, samples] = [7, 1_000_000n, 0, 0];
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 12) % below;
  };
  const write = async (type: number, misc: number, words: bigint[]): Promise<void> => {
    const record = wordsRecord(type, misc, words);
    size += record.length;
    await writer.write(record);
  };
  for (let i = 0; size < 4 << 20; i++) {
    // Equal ones as well.
    time += BigInt(random(3));
    const pid = 10 + random(40);
    const ids = BigInt(pid) << 32n | BigInt(pid);
    const id = [ids, time];
    const what = i % 400 === 0 ? random(5) : -1;
    if (what === 0) {
      const child = BigInt(10 + random(40));
      await write(FORK, 0, [BigInt(pid) << 32n | child, BigInt(pid) << 32n | child, time, ...id]);
    } else if (what === 1) {
      await write(COMM, EXEC, [ids, word(`run${random(9)}`), ...id]);
    } else if (what === 2) {
      await write(COMM, 0, [ids, word(`own${random(9)}`), ...id]);
    } else if (what === 3) {
      await write(EXIT, 0, [ids, ids, time, ...id]);
    } else if (what === 4) {
      const at = BigInt(0x40_0000 + 0x1000 * random(4));
      await write(MMAP, 2, [ids, at, 0x2000n, 0n, word(`/bin/${"ab"[random(2)]}`), ...id]);
    }
    if (i % 5000 === 4999) await write(ROUND, 0, []);
    const depth = 1 + random(6);
    const chain = Array.from({ length: depth }, () => BigInt(0x40_0000 + 16 * random(0x600)));
    const late = random(50) === 0 ? 40n : 0n;
    const frames = [0xffff_ffff_ffff_fe00n, ...chain];
    const head = [chain[0] as bigint, ids, time - late, BigInt(frames.length)];
    await write(SAMPLE, 2, [...head, ...frames]);
    samples++;
  }
  await writer.close();
  return { bytes: sink.bytes(), samples };
}

/** Commands, with whether they use threads, and whether a pipe gives the same text. */
const COMMANDS: readonly (readonly [args: string, threads: boolean, pipe: boolean])[] = [
  ["funcs", true, true],
  ["funcs --sort pid,tid,comm,sym --csv", true, true],
  ["funcs --children --json", true, true],
  ["funcs --comm /run/ --time 0.00101,0.00103", true, true],
  ["info --json", true, true],
  ["tree", true, true],
  ["export folded -o -", true, true],
  // Its tables are in the order in which places first occurred.
  ["export pprof -o -", true, false],
  ["script", true, true],
  ["script --dso a --tid 10-30", true, true],
  ["records --order time --type SAMPLE,COMM", true, true],
  ["records --comm /own/ --dso b", true, true],
  ["dump --no-hex", true, true],
  ["rate", false, true],
];
/** Seven threads take seconds to start; tests/commands/same_answer_test.ts and workers_test.ts have them. */
const JOBS = [2, 3];

/** Output without the file's name and size, which a pipe lacks. */
function known(text: Uint8Array): Uint8Array {
  const latin = new TextDecoder("latin1").decode(text);
  return new TextEncoder().encode(
    latin.replaceAll(/@\S+ \[/g, "@ [").replace(/"bytes":\d+,?/, ""),
  );
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

Deno.test("every command: a file, a pipe and any number of threads give the same output", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-ways-" });
  const { bytes, samples } = await recording();
  const path = `${folder}/perf.data`;
  Deno.writeFileSync(path, bytes);
  const kallsyms = `${folder}/kallsyms`;
  Deno.writeTextFileSync(kallsyms, "");
  let [compared, length] = [0, 0];
  const differing: string[] = [];
  try {
    for (const [i, [line, threads, pipe]] of COMMANDS.entries()) {
      const [name = "", ...flags] = line.split(" ");
      const run = async (file: string, ...more: string[]): Promise<Uint8Array> => {
        const input = file === "-" ? { input: bytes } : {};
        const { code, stdout, err } = await tool(name, [...flags, ...more, file], {
          ...input,
          cwd: folder,
        });
        assertEquals(code, 0, `${line} ${more}: ${err}`);
        return name === "dump" || name === "info" ? known(stdout) : stdout;
      };
      const expected = await run(path, ...(threads ? ["--jobs", "1"] : []));
      length += expected.length;
      const jobs = String(JOBS[i % JOBS.length]);
      const others = [
        ...(pipe ? [["pipe", await run("-")]] as const : []),
        ...(threads ? [[`${jobs} threads`, await run(path, "--jobs", jobs)]] as const : []),
      ];
      for (const [way, actual] of others) {
        compared++;
        if (!equalBytes(actual, expected)) differing.push(`${line}: ${way}`);
      }
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
  console.log(`${compared} texts of ${samples} samples compared, ${length} bytes`);
  assertEquals(differing, []);
  assert(compared >= 24 && samples > 40_000 && length > 10_000_000);
});
