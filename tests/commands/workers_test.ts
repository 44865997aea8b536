/** Any number of threads and any block size give the same results. */
import { assert, assertEquals } from "@std/assert";
import { constants, createZstdCompress } from "node:zlib";
import { emptyAttr, PerfDataReader, PerfDataWriter } from "@perfdata/format/records";
import { memorySink } from "@perfdata/format/bytes";
import {
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { BranchCounts } from "@perfdata/export/code";
import { openSource } from "@perfdata/format/files";
import { sampleKeys } from "@perfdata/report";
import { CacheLines } from "@perfdata/report/contention";
import { branchWorkers, lineWorkers } from "@perfdata/perfdata/workers";
import { RecordingIndex, runEngine } from "@perfdata/session";
import { openResolver } from "@perfdata/symbols/files";
import { Numbers, wordsRecord } from "../../fixtures/synthesize/recording.ts";
import { dataSource, memoryRecording } from "../support/memory_recording.ts";
import { corpusFiles } from "../support/corpus.ts";
import {
  assertShared,
  info,
  infoBeside,
  kallsyms,
  profile,
  rows,
  Shared,
} from "../support/shared_workers.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Fixtures with difficult block boundaries, and large files of the corpus. */
function files(): string[] {
  const names = [
    "callchain",
    "dwarf",
    "rounds",
    "switch",
    "two-events",
    "all-cpus",
    "zstd",
    "read",
  ];
  const fixtures = names.map((name) => `${root}fixtures/recorded/${name}.perf.data`);
  return [
    ...fixtures,
    ...corpusFiles().filter(({ sound, row }) => sound && Number(row["bytes"]) > 500_000)
      .slice(0, 4).map(({ path }) => path),
  ];
}

/** Threads and block size: the smallest block on one thread, and one of the others in turn. */
const OTHERS = [[2, 1 << 12], [3, 1 << 16], [7, 1 << 13]] as const;
function ways(turn: number): readonly (readonly [jobs: number, blockBytes: number])[] {
  return [[1, 1 << 12], OTHERS[turn % OTHERS.length] ?? OTHERS[0]];
}

/** Samples of two threads with times of day, every third one older than its predecessor. */
async function ofTheDay(folder: string): Promise<string> {
  const sink = memorySink();
  const type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  const flags = { ...emptyAttr().flags, sample_id_all: true };
  const attr = { ...emptyAttr(), size: 128, sample_type: BigInt(type), sample_period: 3n, flags };
  const writer = await PerfDataWriter.file(sink, { events: [{ attr, ids: [1n] }] });
  for (let i = 0; i < 2000; i++) {
    const tid = 7n << 32n | BigInt(7 + i % 2);
    // The upper halves of times change within the first seconds.
    const time = 1_700_000_000_000_000_001n + BigInt(i - (i % 3 === 0 ? 2 : 0)) * 9_000_001n;
    await writer.write(wordsRecord(9, 2, [BigInt(0x40_0000 + i % 5), tid, time]));
  }
  await writer.close();
  const path = `${folder}/day.perf.data`;
  Deno.writeFileSync(path, sink.bytes());
  return path;
}

/**
 * Samples of threads whose names and maps change, plain and as in `perf record -z`: one zstd frame
 * over all records, flushed at the end of each, which is often within a record.
 */
async function compressed(folder: string): Promise<{ plain: string; inOneFrame: string }> {
  const type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  const flags = { ...emptyAttr().flags, sample_id_all: true };
  const attr = { ...emptyAttr(), size: 128, sample_type: BigInt(type), sample_period: 3n, flags };
  const events = [{ attr, ids: [1n] }];
  const records: Uint8Array[] = [];
  let [seed, time] = [1, 1_000_000n];
  for (let i = 0; i < 40_000; i++) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    const thread = 7 + (seed >>> 16) % 8;
    const tid = 7n << 32n | BigInt(thread);
    const ids = BigInt(thread) << 32n | 7n;
    time += BigInt(seed >>> 20);
    if (i % 500 === 0) {
      const name = BigInt(0x61 + i / 500 % 26) | 0x78n << 8n;
      records.push(wordsRecord(3, 0, [ids, name, ids, time]));
    }
    if (i % 3000 === 2999) records.push(wordsRecord(68, 0, []));
    records.push(wordsRecord(9, 2, [BigInt(0x40_0000 + (seed >>> 8) % 300), tid, time]));
  }
  const paths = { plain: `${folder}/plain.data`, inOneFrame: `${folder}/compressed.data` };
  const sinks = { plain: memorySink(), inOneFrame: memorySink() };
  const plain = await PerfDataWriter.file(sinks.plain, { events });
  for (const record of records) await plain.write(record);
  await plain.close();
  const writer = await PerfDataWriter.file(sinks.inOneFrame, { events });
  const bytes = new Uint8Array(await new Blob(records as BlobPart[]).arrayBuffer());
  const stream = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 12 } });
  const pieces: Uint8Array[] = [];
  stream.on("data", (piece: Uint8Array) => pieces.push(piece));
  for (let at = 0, size = 0; at < bytes.length; at += size) {
    size = 10_001 + at % 9973;
    stream.write(bytes.subarray(at, at + size));
    await new Promise<void>((resolve) => stream.flush(() => resolve()));
    const body = pieces.splice(0);
    const length = body.reduce((sum, piece) => sum + piece.length, 8);
    const record = new Uint8Array(length);
    new DataView(record.buffer).setUint32(0, 81, true);
    new DataView(record.buffer).setUint16(6, length, true);
    body.reduce((to, piece) => (record.set(piece, to), to + piece.length), 8);
    await writer.write(record);
  }
  stream.destroy();
  await writer.close();
  for (const layout of ["plain", "inOneFrame"] as const) {
    Deno.writeFileSync(paths[layout], sinks[layout].bytes());
  }
  return paths;
}

Deno.test("profile by threads: any number and any block size give the same profile", async () => {
  let compared = 0;
  let turn = 0;
  Shared.stretches = 0;
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-workers-" });
  for (const path of [...files(), await ofTheDay(folder)]) {
    // Alternating: the next file has the other ones, with the next number of threads.
    const how = turn % 2 === 0 ? { timed: true, lines: true, unmapped: true } : {};
    const expected = await profile(path, how, 1, 1 << 22);
    for (const [jobs, blockBytes] of ways(turn++)) {
      const actual = await profile(path, how, jobs, blockBytes);
      assertEquals(actual, expected, `${path}: ${jobs} threads, blocks of ${blockBytes} bytes`);
      compared++;
    }
  }
  Deno.removeSync(folder, { recursive: true });
  console.log(`${compared} profiles compared`);
  assertShared();
  assert(compared >= 18);
});

Deno.test("functions by threads: any number and any block size give the same functions", async () => {
  const all = files();
  let compared = 0;
  let turn = 0;
  Shared.stretches = 0;
  for (const path of all) {
    for (const stacks of [false, true]) {
      const how = { keys: { tid: true }, stacks };
      const expected = await rows(path, how, 1, 1 << 22);
      for (const [jobs, blockBytes] of ways(turn++)) {
        const actual = await rows(path, how, jobs, blockBytes);
        assertEquals(actual, expected, `${path}: ${jobs} threads, blocks of ${blockBytes} bytes`);
        compared += actual.length;
      }
    }
  }
  console.log(`${compared} rows of ${all.length} files compared`);
  assertShared();
  assert(all.length >= 8 && compared > 1000);
});

Deno.test("sample values by threads: any number and any block size give the same values", async () => {
  Shared.stretches = 0;
  let compared = 0;
  const path = `${root}fixtures/recorded/tracepoint.perf.data`;
  for (const sort of [["trace"], ["comm", "trace", "time"], ["time", "addr"]] as const) {
    const how = { keys: sampleKeys(sort) };
    const expected = await rows(path, how, 1, 1 << 22, sort);
    for (const [jobs, blockBytes] of [[1, 64], [2, 64], [3, 512]] as const) {
      assertEquals(await rows(path, how, jobs, blockBytes, sort), expected, `${sort}: ${jobs}`);
      compared += expected.length;
    }
  }
  assertShared();
  assert(compared >= 20, `${compared} rows`);
});

Deno.test("compressed recording by threads: any number gives the result of the plain recording", async () => {
  Shared.stretches = 0;
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-workers-" });
  const { plain, inOneFrame } = await compressed(folder);
  const how = { keys: { tid: true } };
  const expected = await rows(plain, how, 1, 1 << 22);
  const reader = await PerfDataReader.open(openSource(inOneFrame));
  const { blocks } = await RecordingIndex.read(reader, { blockBytes: 1 << 14 });
  const resumed = blocks.filter(({ resume }) => (resume?.stream?.history.length ?? 0) > 0);
  const within = resumed.filter(({ resume }) => (resume?.left.length ?? 0) > 0);
  for (
    const [jobs, blockBytes] of [[1, 1 << 14], [2, 1 << 14], [3, 1 << 16], [7, 1 << 12]] as const
  ) {
    const actual = await rows(inOneFrame, how, jobs, blockBytes);
    assertEquals(actual, expected, `${jobs} threads, blocks of ${blockBytes} bytes`);
  }
  // Damage ends the compressed data, or changes it, equally in all threads.
  const sound = Deno.readFileSync(inOneFrame);
  const damaged = `${folder}/damaged.data`;
  let changed = 0;
  for (const part of [0.3, 0.55, 0.8]) {
    const bytes = sound.slice();
    const at = Math.floor(part * bytes.length);
    bytes.fill(0xa5, at, at + 3);
    Deno.writeFileSync(damaged, bytes);
    const alone = await rows(damaged, how, 1, 1 << 22);
    assertEquals(await rows(damaged, how, 2, 1 << 14), alone, `damage at ${at}`);
    if (alone.length !== expected.length || alone[0] !== expected[0]) changed++;
  }
  Deno.removeSync(folder, { recursive: true });
  console.log(
    `${expected.length} rows compared; ${blocks.length} blocks, ${resumed.length} in the middle of a frame, ` +
      `${within.length} of a record`,
  );
  assertShared();
  assert(expected.length > 300 && changed > 0 && resumed.length >= 10 && within.length >= 3);
});

/**
 * Loads and stores of two processes to lines of a file and of heaps, some at several physical
 * addresses.
 */
async function accesses(folder: string): Promise<string> {
  const numbers = new Numbers(9);
  const mappings = [7, 8].flatMap((pid) => [
    { pid, addr: 0x400000, size: 0x4000, offset: 0, path: "/nowhere/work" },
    {
      pid,
      addr: 0x700000,
      size: 0x4000,
      offset: 0,
      path: "/nowhere/data",
      data: true,
      shared: true,
    },
    { pid, addr: 0x800000, size: 0x4000, offset: 0, path: "[heap]", data: true },
  ]);
  const [HIT_L3, HITM] = [2 | 64, 16];
  const list = Array.from({ length: 3000 }, () => {
    const pid = 7 + numbers.below(2);
    const op = 2 + 2 * numbers.below(2);
    const addr = [0x700000, 0x800000, 0x900000][numbers.below(3)] ?? 0;
    const weight = numbers.below(300);
    return {
      ...{ pid, tid: pid + 10 * numbers.below(2), cpu: numbers.below(4) },
      ...{
        ip: BigInt(0x401000 + 16 * numbers.below(5)),
        addr: BigInt(addr + 8 * numbers.below(40)),
      },
      data_src: dataSource({ op, lvl: HIT_L3, snoop: op === 2 ? HITM : 0 }),
      ...{ weight: BigInt(weight), weight_struct: { var1_dw: weight, var2_w: 1, var3_w: 2 } },
      phys_addr: BigInt(numbers.below(3)) << 33n | BigInt(64 * numbers.below(3)),
      ...{ data_page_size: 4096n, code_page_size: 4096n },
    };
  });
  const path = `${folder}/accesses.data`;
  Deno.writeFileSync(path, await memoryRecording({ mappings, accesses: list }));
  return path;
}

Deno.test("cache lines by threads: any number and any block size give the same lines", async () => {
  let compared = 0;
  Shared.stretches = 0;
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-workers-" });
  const path = await accesses(folder);
  for (const by of [["iaddr"], ["dso", "pid"], ["iaddr", "tid"]] as const) {
    const lines = async (jobs: number, blockBytes: number): Promise<string> => {
      const shared = new Shared(path, await lineWorkers(path, jobs, { by, symbols: {} }));
      const consumer = new CacheLines(by);
      const engine = await runEngine(await shared.open(), [consumer], {
        blockBytes,
        workers: shared.workers,
      });
      const resolver = openResolver({ parameters: false, kallsyms, machine: engine.recorded });
      const how = { by: "hitm", least: 0, limit: Infinity, lines: false } as const;
      const { lines, total } = await consumer.report(resolver, how);
      compared += lines.length;
      return JSON.stringify([lines, total, consumer.leftOut]);
    };
    const expected = await lines(1, 1 << 22);
    for (const [jobs, blockBytes] of [[1, 1 << 12], [2, 1 << 12], [3, 1 << 14]] as const) {
      assertEquals(await lines(jobs, blockBytes), expected, `${by}: ${jobs} threads`);
    }
  }
  Deno.removeSync(folder, { recursive: true });
  assertShared();
  assert(compared >= 150, `${compared} lines`);
});

Deno.test("recording summary by threads: any number and any block size give the same summary", async () => {
  let compared = 0;
  let turn = 0;
  Shared.stretches = 0;
  for (const path of files()) {
    const expected = await info(path, 1, 1 << 22);
    for (const [jobs, blockBytes] of ways(turn++)) {
      const what = `${path}: ${jobs} threads, ${blockBytes} bytes`;
      assertEquals(await info(path, jobs, blockBytes), expected, what);
      assertEquals(await infoBeside(path, jobs, blockBytes), expected, `${what}, beside a profile`);
      compared++;
    }
  }
  console.log(`${compared} recordings in short compared`);
  assertShared();
  assert(compared >= 16);
});

/** Samples with branch stacks of two processes, which map another file over their code. */
async function branches(folder: string): Promise<string> {
  const sink = memorySink();
  const type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_BRANCH_STACK;
  const flags = { ...emptyAttr().flags, sample_id_all: true };
  const attr = { ...emptyAttr(), size: 128, sample_type: BigInt(type), sample_period: 3n, flags };
  const events = [{ attr: { ...attr, branch_sample_type: 8n }, ids: [1n] }];
  const writer = await PerfDataWriter.file(sink, { events });
  let seed = 5;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 12) % below;
  };
  for (let i = 0; i < 4000; i++) {
    const pid = BigInt(7 + random(2));
    const ids = pid << 32n | pid;
    const time = 1000n + BigInt(i);
    if (i % 200 === 0) {
      const name = 0x6e69_622fn | BigInt(0x2f + random(2) * 0x100) << 32n;
      await writer.write(wordsRecord(1, 2, [ids, 0x40_0000n, 0x4000n, 0n, name, ids, time]));
    }
    const code = () => BigInt(0x40_0000 + 4 * random(300));
    const taken = Array.from({ length: 1 + random(8) }, () => [code(), code(), BigInt(random(4))]);
    const words = [code(), ids, time, BigInt(taken.length), ...taken.flat()];
    await writer.write(wordsRecord(9, 2, words));
  }
  await writer.close();
  const path = `${folder}/branches.perf.data`;
  Deno.writeFileSync(path, sink.bytes());
  return path;
}

Deno.test("branches by threads: any number and any block size give the same branches", async () => {
  Shared.stretches = 0;
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-workers-" });
  const path = await branches(folder);
  const counted = async (jobs: number, blockBytes: number): Promise<string[]> => {
    const shared = new Shared(path, await branchWorkers(path, jobs));
    const counts = new BranchCounts();
    const reader = await shared.open();
    const { places } = await runEngine(reader, [counts], { blockBytes, workers: shared.workers });
    const { taken, from, to, ...part } = counts.part();
    const place = (of: number) =>
      `${places.objects[places.object(of)]?.path} ${places.address(of)}`;
    return [
      JSON.stringify(
        part,
        (_, value) => ArrayBuffer.isView(value) ? [...value as Int32Array] : value,
      ),
      ...Array.from(taken, (times, i) => `${place(from[i] ?? -1)} ${place(to[i] ?? -1)} ${times}`),
    ];
  };
  const expected = await counted(1, 1 << 22);
  const functions = await rows(path, { branches: true, keys: { tid: true } }, 1, 1 << 22);
  for (
    const [jobs, blockBytes] of [[1, 1 << 12], [2, 1 << 16], [3, 1 << 14], [7, 1 << 13]] as const
  ) {
    const ways = `${jobs} threads, blocks of ${blockBytes} bytes`;
    assertEquals(await counted(jobs, blockBytes), expected, ways);
    const how = { branches: true, keys: { tid: true } };
    assertEquals(await rows(path, how, jobs, blockBytes), functions, ways);
  }
  Deno.removeSync(folder, { recursive: true });
  console.log(`${expected.length} branches, ${functions.length} rows compared`);
  assertShared();
  assert(expected.length > 10_000 && functions.length > 100);
});
