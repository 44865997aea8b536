import { assertEquals } from "@std/assert";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import {
  emptyAttr,
  KERNEL_RECORDS,
  PerfDataReader,
  PerfDataWriter,
  type PerfEventAttr,
  RecordCodec,
} from "@perfdata/format/records";
import {
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { USER_RECORDS } from "@perfdata/user-records";
import type { Engine } from "../engine/engine.ts";
import { runEngine } from "../reading/run_engine.ts";
import { wordsRecord } from "../../../fixtures/synthesize/recording.ts";

const KERNEL = BigInt.asUintN(64, -128n);
const USER = BigInt.asUintN(64, -512n);
const DEFERRED = BigInt.asUintN(64, -640n);
const codec = new RecordCodec(KERNEL_RECORDS);
const userCodec = new RecordCodec(USER_RECORDS);

const task = (tid: number): bigint => BigInt(tid) << 32n | 7n;

/** The stacks of a recording, outermost first, `K` before addresses of the kernel. */
async function stacksOf(
  attr: PerfEventAttr,
  records: Uint8Array[],
  form: "file" | "pipe" = "file",
): Promise<[string[], Engine]> {
  const sink = memorySink();
  const writer = form === "file"
    ? await PerfDataWriter.file(sink, { events: [{ attr }] })
    : await PerfDataWriter.pipe(sink);
  if (form === "pipe") {
    const body = { attr, id: [1n] };
    await writer.write(userCodec.encode({ type: 64, name: "HEADER_ATTR", misc: 0, body }));
  }
  const body = { pid: 7, tid: 7, addr: 0x1000n, len: 0x9000n, pgoff: 0x1000n, filename: "/bin/a" };
  const mmap = codec.encode({ type: 1, name: "MMAP", misc: 2, body });
  const trailer = new Uint8Array(mmap.length + 16);
  trailer.set(mmap);
  new DataView(trailer.buffer).setUint16(6, trailer.length, true);
  new DataView(trailer.buffer).setBigUint64(mmap.length, task(7), true);
  for (const record of [trailer, ...records]) await writer.write(record);
  await writer.close();
  const leaves: number[] = [];
  const engine = await runEngine(await PerfDataReader.open(bytesSource(sink.bytes())), [{
    needs: { stacks: true },
    rows(run) {
      for (let i = 0; i < run.count; i++) {
        if (run.type[i] === 9) leaves.push(run.stack[i] as number);
      }
    },
  }]);
  const { places, stacks } = engine;
  const lines = leaves.map((leaf) => {
    const frames: string[] = [];
    for (let node = leaf; node >= 0; node = stacks.parent[node] as number) {
      const place = stacks.place[node] as number;
      const mode = places.cpumode(place) === 1 ? "K" : "";
      frames.unshift(`${mode}${(places.lo(place) >>> 0).toString(16)}`);
    }
    return frames.join(" ");
  });
  return [lines, engine];
}

const base = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;

Deno.test("user chains: deferred callers in a later record are joined to their sample by thread and cookie", async () => {
  const attr = {
    ...emptyAttr(),
    sample_type: BigInt(base),
    flags: { ...emptyAttr().flags, sample_id_all: true, defer_callchain: true },
  };
  const kernel = 0xffffffff81000010n;
  const sample = (tid: number, time: bigint, cookie: bigint) => {
    const chain = [KERNEL, kernel, kernel + 0x10n, DEFERRED, cookie];
    return wordsRecord(9, 1, [kernel, task(tid), time, BigInt(chain.length), ...chain]);
  };
  const deferred = (tid: number, time: bigint, cookie: bigint, ips: bigint[]) =>
    wordsRecord(22, 0, [cookie, BigInt(ips.length), ...ips, task(tid), time]);
  const round = wordsRecord(68, 0, []);
  const records = [
    sample(7, 100n, 5n),
    sample(7, 110n, 5n),
    sample(8, 120n, 5n),
    round,
    deferred(7, 130n, 5n, [USER, 0x2000n, 0x3000n]),
    deferred(8, 140n, 5n, [USER, 0x4000n]),
    round,
    sample(7, 150n, 6n),
    round,
    round,
  ];
  for (const form of ["file", "pipe"] as const) {
    const [lines, engine] = await stacksOf(attr, records, form);
    assertEquals(lines, [
      "3000 2000 K81000020 K81000010",
      "3000 2000 K81000020 K81000010",
      "4000 K81000020 K81000010",
      "K81000020 K81000010",
    ], form);
    assertEquals(engine.unjoined, 1, form);
  }
});

Deno.test("user chains: an LBR call stack gives the callers, then the target of the last branch", async () => {
  const attr = {
    ...emptyAttr(),
    sample_type: BigInt(base | PERF_SAMPLE_BRANCH_STACK),
    branch_sample_type: 0x801n,
    flags: { ...emptyAttr().flags, sample_id_all: true },
  };
  const branches = (list: [bigint, bigint][]) => [
    BigInt(list.length),
    ...list.flatMap(([from, to]) => [from, to, 0n]),
  ];
  const calls = branches([[0x2010n, 0x3000n], [0x1010n, 0x2000n]]);
  const sample = (misc: number, ip: bigint, chain: bigint[], stack: bigint[]) =>
    wordsRecord(9, misc, [ip, task(7), 100n, BigInt(chain.length), ...chain, ...stack]);
  const kernel = 0xffffffff81000010n;
  const [lines] = await stacksOf(attr, [
    sample(2, 0x3008n, [USER, 0x3008n], calls),
    sample(1, kernel, [KERNEL, kernel, USER, 0x3008n], calls),
    sample(2, 0x3008n, [USER, 0x3008n, 0x2015n], branches([])),
  ]);
  assertEquals(lines, ["1010 2010 3000", "1010 2010 3000 K81000010", "2015 3008"]);
});
