import { assert, assertEquals, assertRejects } from "@std/assert";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import {
  emptyAttr,
  KERNEL_RECORDS,
  PerfDataReader,
  PerfDataWriter,
  RecordCodec,
} from "@perfdata/format/records";
import {
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { USER_RECORDS } from "@perfdata/user-records";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import { runEngine } from "./run_engine.ts";

const SAMPLE_TYPE = BigInt(
  PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
);
const attr = {
  ...emptyAttr(),
  sample_type: SAMPLE_TYPE,
  flags: { ...emptyAttr().flags, sample_id_all: true },
};
const codec = new RecordCodec(KERNEL_RECORDS);

/** A record with the trailer of `attr`: pid, tid, time. */
function timed(record: Uint8Array, littleEndian: boolean, pid: number, time: bigint): Uint8Array {
  const bytes = new Uint8Array(record.length + 16);
  bytes.set(record);
  const view = new DataView(bytes.buffer);
  view.setUint16(6, bytes.length, littleEndian);
  view.setInt32(record.length, pid, littleEndian);
  view.setInt32(record.length + 4, pid, littleEndian);
  view.setBigUint64(record.length + 8, time, littleEndian);
  return bytes;
}

function sample(le: boolean, pid: number, time: bigint, mode: number, chain: bigint[]): Uint8Array {
  const bytes = new Uint8Array(8 + 40 + 8 * chain.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 9, le);
  view.setUint16(4, mode, le);
  view.setUint16(6, bytes.length, le);
  view.setBigUint64(8, chain.find((entry) => entry < 2n ** 63n) ?? 0n, le);
  view.setInt32(16, pid, le);
  view.setInt32(20, pid, le);
  view.setBigUint64(24, time, le);
  view.setBigUint64(32, 10n, le);
  view.setBigUint64(40, BigInt(chain.length), le);
  chain.forEach((entry, i) => view.setBigUint64(48 + 8 * i, BigInt.asUintN(64, entry), le));
  return bytes;
}

const USER = BigInt.asUintN(64, -512n);

/**
 * A process that maps a file, calls, and maps another file over it; records are not in order of
 * time.
 */
async function recording(littleEndian: boolean, pipe: boolean): Promise<PerfDataReader> {
  const le = littleEndian;
  const sink = memorySink();
  const writer = pipe
    ? await PerfDataWriter.pipe(sink, { littleEndian })
    : await PerfDataWriter.file(sink, { events: [{ attr }], littleEndian });
  const comm = codec.encode(
    { type: 3, name: "COMM", misc: 0, body: { pid: 7, tid: 7, comm: "work" } },
    { littleEndian },
  );
  const mmap = (filename: string) =>
    codec.encode({
      type: 1,
      name: "MMAP",
      misc: 2,
      body: { pid: 7, tid: 7, addr: 0x1000n, len: 0x1000n, pgoff: 0n, filename },
    }, { littleEndian });
  if (pipe) {
    const body = { attr, id: [] };
    await writer.write(
      new RecordCodec(USER_RECORDS).encode({ type: 64, name: "HEADER_ATTR", misc: 0, body }, {
        littleEndian,
      }),
    );
  }
  await writer.write(sample(le, 7, 400n, 2, [USER, 0x1010n, 0x1020n]));
  await writer.write(timed(mmap("/bin/b"), le, 7, 300n));
  await writer.write(sample(le, 7, 200n, 2, [USER, 0x1010n, 0x1020n]));
  await writer.write(timed(mmap("/bin/a"), le, 7, 100n));
  await writer.write(timed(comm, le, 7, 50n));
  await writer.close();
  return await PerfDataReader.open(bytesSource(sink.bytes()));
}

/** A line per sample: comm, then the stack, outermost caller first. */
class Lines implements Consumer {
  readonly needs = { stacks: true };
  readonly lines: string[] = [];
  #engine: Engine | undefined;

  start(engine: Engine): void {
    this.#engine = engine;
  }

  rows(run: Parameters<Consumer["rows"]>[0]): void {
    const { names, stacks, places } = this.#engine as Engine;
    for (let i = 0; i < run.count; i++) {
      if (run.chosen[i] === 0) continue;
      const frames: string[] = [];
      for (let node = run.stack[i] as number; node >= 0; node = stacks.parent[node] as number) {
        const place = stacks.place[node] as number;
        const { path } = places.objects[places.object(place)] ?? { path: "?" };
        frames.unshift(`${path}+${places.address(place).toString(16)}`);
      }
      lines(run.time(i), names.text(run.comm[i] as number), frames, this.lines);
    }
  }
}

function lines(time: bigint, comm: string, frames: string[], into: string[]): void {
  into.push(`${time} ${comm} ${frames.join(";")}`);
}

Deno.test("runEngine: samples have the maps at their time, in a file and a pipe of either byte order", async () => {
  for (const littleEndian of [true, false]) {
    for (const pipe of [true, false]) {
      const consumer = new Lines();
      const other = new Lines();
      await runEngine(await recording(littleEndian, pipe), [consumer, other]);
      assertEquals(consumer.lines, [
        "200 work /bin/a+20;/bin/a+10",
        "400 work /bin/b+20;/bin/b+10",
      ]);
      assertEquals(other.lines, consumer.lines);
    }
  }
});

Deno.test("runEngine: samples that the filter excludes are rows with chosen 0", async () => {
  const chosenOf = async (filter: EngineOptions["filter"]): Promise<string> => {
    const seen: number[] = [];
    await runEngine(await recording(true, false), [{
      needs: {},
      rows: ({ count, chosen }) => void seen.push(...chosen.subarray(0, count)),
    }], filter === undefined ? {} : { filter });
    return seen.join(" ");
  };
  assertEquals(await chosenOf(undefined), "0 0 1 0 1");
  assertEquals(await chosenOf({ time: [300n, 500n] }), "0 0 0 0 1");
  assertEquals(await chosenOf({ tids: new Set([8]) }), "0 0 2 0 2");
});

Deno.test("runEngine: two consumers with payload() throw a TypeError", async () => {
  const taker: Consumer = { needs: {}, rows() {}, payload: () => Promise.resolve() };
  const reader = await recording(true, true);
  await assertRejects(() => runEngine(reader, [taker, taker]), TypeError, "several consumers");
});

Deno.test("runEngine: places and stacks can be looked up after the pass", async () => {
  const path = new URL("../../../fixtures/recorded/callchain.perf.data", import.meta.url);
  const bytes = Deno.readFileSync(path);
  const { places, stacks } = await runEngine(await PerfDataReader.open(bytesSource(bytes)), [{
    needs: { stacks: true },
    rows() {},
  }]);
  const known = places.count, nodes = stacks.count;
  assert(known > 5 && nodes > 5);
  for (let place = 0; place < known; place++) {
    assertEquals(places.row(places.object(place), places.hi(place), places.lo(place)), place);
  }
  for (let node = 0; node < nodes; node++) {
    assertEquals(stacks.child(stacks.parent[node] ?? -1, stacks.place[node] ?? -1), node);
  }
  assertEquals([places.count, stacks.count], [known, nodes]);
  const before = places.before(0);
  assertEquals(places.before(0), before);
  assertEquals(stacks.child(-1, before), nodes);
});
