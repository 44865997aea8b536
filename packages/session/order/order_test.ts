import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { type ByteSource, bytesSource, memorySink, type TempFile } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader, PerfDataWriter } from "@perfdata/format/records";
import { PERF_SAMPLE_TIME } from "@perfdata/format/constants";
import { deliverRuns, type OrderOptions } from "./order.ts";

/** A record of a test file: a sample with a time, or the end of a round. */
type Item = bigint | "round";

/** Writes a file of samples, each with its time and number, so that the output identifies it. */
async function file(
  items: readonly Item[],
  source: (bytes: Uint8Array) => ByteSource = bytesSource,
): Promise<PerfDataReader> {
  const attr = {
    ...emptyAttr(),
    sample_type: BigInt(PERF_SAMPLE_TIME) | 0x100n, // TIME, PERIOD
    flags: { ...emptyAttr().flags, sample_id_all: true },
  };
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
  for (const [i, item] of items.entries()) {
    const record = new Uint8Array(item === "round" ? 8 : 24);
    const view = new DataView(record.buffer);
    view.setUint32(0, item === "round" ? 68 : 9, true);
    view.setUint16(6, record.length, true);
    if (item !== "round") {
      view.setBigUint64(8, item, true);
      view.setBigUint64(16, BigInt(i), true);
    }
    await writer.write(record);
  }
  await writer.close();
  return await PerfDataReader.open(source(sink.bytes()));
}

async function delivered(
  items: readonly Item[],
  options: OrderOptions = {},
  source?: (bytes: Uint8Array) => ByteSource,
) {
  const seen: (number | "round")[] = [];
  const stats = await deliverRuns(await file(items, source), {
    run(run) {
      for (let i = 0; i < run.count; i++) {
        const { view } = run.at(i);
        const start = run.start[i] as number;
        const isRound = view.getUint32(start, true) === 68;
        assertEquals([view.getUint16(start + 6, true), run.event[i]], isRound ? [8, 0] : [24, 0]);
        seen.push(isRound ? "round" : Number(view.getBigUint64(start + 16, true)));
      }
    },
  }, options);
  return { seen, stats };
}

/** Model of `ordered-events.c` with a list that is kept sorted. */
function model(items: readonly Item[]): (number | "round")[] {
  const seen: (number | "round")[] = [];
  let queue: { time: bigint; i: number }[] = [];
  let limit = 0n;
  const flush = (to: bigint): void => {
    const due = queue.filter(({ time }) => time <= to);
    queue = queue.filter(({ time }) => time > to);
    seen.push(...due.map(({ i }) => i));
  };
  items.forEach((item, i) => {
    if (item === "round") {
      seen.push("round");
      const youngest = queue.at(-1)?.time;
      if (youngest === undefined) return;
      if (limit !== 0n) flush(limit);
      limit = youngest;
    } else if (item === 0n || item === 2n ** 64n - 1n) {
      seen.push(i);
    } else {
      const later = queue.findIndex(({ time }) => time > item);
      queue.splice(later < 0 ? queue.length : later, 0, { time: item, i });
    }
  });
  flush(2n ** 64n - 1n);
  return seen;
}

Deno.test("deliverRuns: records of a round wait for the FINISHED_ROUND of the next round", async () => {
  const { seen, stats } = await delivered([30n, 10n, "round", 20n, 40n, "round", 50n]);
  assertEquals(seen, ["round", "round", 1, 3, 0, 4, 6]);
  assertEquals(stats.queued, 5);
});

Deno.test("deliverRuns: records without a time are delivered without waiting", async () => {
  const { seen } = await delivered([30n, 0n, 10n, 2n ** 64n - 1n]);
  assertEquals(seen, [1, 3, 2, 0]);
});

Deno.test("deliverRuns: a record older than a delivered one is counted as a violation", async () => {
  const { stats } = await delivered([10n, "round", 20n, "round", 5n, "round"]);
  assertEquals(stats.violations, 1);
});

Deno.test('deliverRuns: with order "file", records are in the order of the file', async () => {
  const { seen } = await delivered([30n, "round", 10n], { order: "file" });
  assertEquals(seen, [0, "round", 2]);
});

Deno.test("deliverRuns: any records have the order of a sorted list with perf's limits", async () => {
  const time = fc.oneof(
    fc.bigInt(0n, 40n),
    fc.bigInt(2n ** 32n - 3n, 2n ** 32n + 3n),
    fc.bigInt(2n ** 63n - 3n, 2n ** 63n + 3n),
    fc.constant(2n ** 64n - 1n),
  );
  const item = fc.oneof({ weight: 4, arbitrary: time }, fc.constant("round" as const));
  await fc.assert(fc.asyncProperty(fc.array(item, { maxLength: 60 }), async (items) => {
    const { seen } = await delivered(items);
    assertEquals(seen, model(items));
  }));
});

Deno.test("deliverRuns: a file of many batches loses no record, and memory holds two rounds", async () => {
  const items: Item[] = [];
  for (let round = 0; round < 400; round++) {
    for (let i = 0; i < 200; i++) items.push(BigInt(1 + round * 1000 + (i * 37) % 400));
    items.push("round");
  }
  const { seen, stats } = await delivered(items);
  assertEquals(seen, model(items));
  // A round is copied in runs, which padding may extend a little.
  assertEquals(stats.peakBytes <= 2 * 200 * 24 + 64, true, `${stats.peakBytes} bytes`);
});

Deno.test("deliverRuns: sorted runs of any length are merged", async () => {
  // Each run is read from one CPU's buffer, so its times rise.
  const run = fc.tuple(
    fc.integer({ min: 1, max: 700 }),
    fc.nat(3000),
    fc.integer({ min: 1, max: 9 }),
  )
    .map(([n, from, step]) => Array.from({ length: n }, (_, i) => BigInt(1 + from + i * step)));
  const round = fc.array(run, { minLength: 1, maxLength: 4 });
  const rounds = fc.array(round, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(rounds, async (rounds) => {
      const items = rounds.flatMap((runs): Item[] => [...runs.flat(), "round"]);
      const { seen } = await delivered(items);
      assertEquals(seen, model(items));
    }),
    { numRuns: 20 },
  );
});

Deno.test("deliverRuns: a file without FINISHED_ROUND is sorted stably, with few records in memory", async () => {
  const count = 200_000;
  // Samples are up to 3,000 positions away from their order.
  const random = pseudoRandom(7);
  const jitter = (i: number): bigint => 1_000_000n + BigInt(i + Math.floor(random() * 3000));
  const shapes: Record<string, [times: (i: number) => Item, most: number]> = {
    "nearly in order": [jitter, 2_500_000],
    "with records without a time": [(i) => i % 1000 === 999 ? 0n : jitter(i), 2_500_000],
    "the other way round": [(i) => BigInt(count - i), Infinity],
    "the oldest comes last": [(i) => i === count - 1 ? 1n : jitter(i), Infinity],
    "all of one time": [() => 5n, 2_500_000],
  };
  for (const [name, [timeOf, most]] of Object.entries(shapes)) {
    const items = Array.from({ length: count }, (_, i) => timeOf(i));
    const { seen, stats } = await delivered(items, { lookAhead: 0 });
    const times = items.map(Number);
    const timed = [...times.keys()].filter((i) => times[i] !== 0)
      .sort((a, b) => (times[a] as number) - (times[b] as number) || a - b);
    const untimed = [...times.keys()].filter((i) => times[i] === 0);
    assertEquals(seen, [...untimed, ...timed], name);
    assertEquals([stats.queued, stats.violations], [timed.length, 0], name);
    assert(stats.peakBytes < most, `${name}: ${stats.peakBytes} bytes held`);
  }
});

Deno.test("deliverRuns: lookAhead changes nothing if the recording has FINISHED_ROUND records", async () => {
  const items: Item[] = [30n, 0n, 10n, "round", 20n, 40n, "round", 50n];
  assertEquals((await delivered(items, { lookAhead: 0 })).seen, model(items));
});

/** A temporary file in memory. */
class MemoryFile implements TempFile {
  bytes = new Uint8Array(1 << 12);
  size = 0;
  closed = false;

  writeAt(bytes: Uint8Array, position: number): void {
    this.size = Math.max(this.size, position + bytes.length);
    if (this.size > this.bytes.length) {
      const larger = new Uint8Array(2 * this.size);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes.set(bytes, position);
  }

  readAt(into: Uint8Array, position: number): number {
    const part = this.bytes.subarray(position, Math.min(this.size, position + into.length));
    into.set(part);
    return part.length;
  }

  close(): void {
    this.closed = true;
  }
}

/** A stream that returns few bytes per read, with temporary files. */
function streamed(pieces: number, made: MemoryFile[]): (bytes: Uint8Array) => ByteSource {
  return (bytes) => {
    let at = 0;
    return {
      read(into) {
        const part = bytes.subarray(at, at + Math.min(pieces, into.length));
        into.set(part);
        at += part.length;
        return part.length;
      },
      temp() {
        const file = new MemoryFile();
        made.push(file);
        return file;
      },
    };
  };
}

Deno.test("deliverRuns: a stream has the same order with and without a temporary file", async () => {
  // Few different times, so that many are equal.
  const item = fc.oneof(
    { weight: 9, arbitrary: fc.bigInt(1n, 30n) },
    fc.constant("round" as const),
    fc.constant(0n),
  );
  let spilled = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(item, { minLength: 1, maxLength: 120 }),
      fc.integer({ min: 1, max: 600 }),
      fc.integer({ min: 24, max: 200 }),
      async (items, hold, pieces) => {
        const made: MemoryFile[] = [];
        const { seen, stats } = await delivered(items, { hold }, streamed(pieces, made));
        assertEquals(seen, model(items));
        assert(made.every(({ closed }) => closed));
        if (stats.spilledBytes > 0) spilled++;
      },
    ),
    { numRuns: 300 },
  );
  assert(spilled > 75, `${spilled} of 300 were sorted in a file`);
});

Deno.test("deliverRuns: a long stream without FINISHED_ROUND is sorted in a temporary file, within the memory limit", async () => {
  const random = pseudoRandom(11);
  const count = 300_000;
  const items = Array.from({ length: count }, () => 1n + BigInt(Math.floor(random() * 1e6)));
  const made: MemoryFile[] = [];
  const { seen, stats } = await delivered(items, { hold: 1 << 20 }, streamed(1 << 16, made));
  const times = items.map(Number);
  const sorted = [...times.keys()]
    .sort((a, b) => (times[a] as number) - (times[b] as number) || a - b);
  assertEquals(seen, sorted);
  assertEquals(made.length, 1);
  // 48 bytes per record: 24 of the record, and 24 of its row.
  assertEquals([stats.spilledBytes, stats.queued], [48 * count, count]);
  assert(stats.peakBytes < 2 << 20, `${stats.peakBytes} bytes held`);
});

Deno.test("deliverRuns: after the first FINISHED_ROUND, the temporary file is emptied in order and not used again", async () => {
  const items: Item[] = Array.from({ length: 1000 }, (_, i) => BigInt(2000 - i));
  for (let round = 0; round < 5; round++) {
    items.push("round");
    for (let i = 0; i < 50; i++) items.push(BigInt(3000 + 100 * round + (i * 7) % 100));
  }
  const made: MemoryFile[] = [];
  const { seen, stats } = await delivered(items, { hold: 8000 }, streamed(500, made));
  assertEquals(seen, model(items));
  assert(stats.spilledBytes > 0 && stats.spilledBytes < 48 * 1300, `${stats.spilledBytes} bytes`);
});

Deno.test("deliverRuns: a temporary file that cannot be read throws", async () => {
  const items: Item[] = Array.from({ length: 100 }, (_, i) => BigInt(200 - i));
  const made: MemoryFile[] = [];
  const broken = (bytes: Uint8Array): ByteSource => ({
    ...streamed(500, made)(bytes),
    temp: () => ({ writeAt: () => {}, readAt: () => 0, close: () => {} }),
  });
  await assertRejects(
    () => delivered(items, { hold: 100 }, broken),
    Error,
    "temporary file: 0 bytes",
  );
});

/** Numbers from 0 to 1, the same in each run (mulberry32). */
function pseudoRandom(seed: number): () => number {
  return () => {
    seed = seed + 0x6d2b79f5 | 0;
    let t = Math.imul(seed ^ seed >>> 15, 1 | seed);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 4294967296;
  };
}
