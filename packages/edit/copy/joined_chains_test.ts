import { assertEquals } from "@std/assert";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { emptyAttr, KERNEL_RECORDS, PerfDataReader, RecordCodec } from "@perfdata/format/records";
import { asFile, asPipe, type Item } from "../../../fixtures/synthesize/recording.ts";
import { copyRecording } from "./copy.ts";
import { ForPerf, perfKnowledge } from "./for_perf.ts";
import { FileOutput } from "./recording_output.ts";

const KERNEL = BigInt.asUintN(64, -128n);
const USER = BigInt.asUintN(64, -512n);
const DEFERRED = BigInt.asUintN(64, -640n);

const sample = (tid: number, chain: readonly bigint[]): Item => ({
  record: {
    type: 9,
    name: "SAMPLE",
    misc: 1,
    body: { ip: 0xffffffff81000010n, pid: tid, tid, time: 1n, callchain: [...chain] },
  } as Item["record"],
});

const deferred = (tid: number, cookie: bigint, ips: readonly bigint[]): Item => ({
  record: {
    type: 22,
    name: "CALLCHAIN_DEFERRED",
    misc: 2,
    body: { cookie, ips: [...ips] },
    sample_id: { pid: tid, tid, time: 2n },
  } as Item["record"],
});

function recording() {
  const attr = emptyAttr();
  const flags = { ...attr.flags, sample_id_all: true, defer_callchain: true, defer_output: true };
  const kernel = [KERNEL, 0xffffffff81000010n];
  return {
    // IP, TID, TIME, CALLCHAIN
    events: [{
      attr: { ...attr, size: 136, sample_type: 0x27n, sample_period: 1n, flags },
      ids: [1n],
    }],
    items: [
      sample(5, [...kernel, DEFERRED, 7n]),
      // The same cookie, of another thread.
      sample(6, [...kernel, DEFERRED, 7n]),
      deferred(6, 7n, [USER, 0x2000n]),
      deferred(5, 7n, [USER, 0x1000n, 0x1100n]),
      sample(5, [...kernel, DEFERRED, 8n]),
    ],
    features: [],
  };
}

async function chains(bytes: Uint8Array, version: string) {
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const edit = await ForPerf.open(reader, perfKnowledge(version));
  const sink = memorySink();
  await copyRecording(reader, new FileOutput(sink), { edit });
  const written = await PerfDataReader.open(bytesSource(sink.bytes()));
  const codec = new RecordCodec(KERNEL_RECORDS);
  const found: (readonly bigint[])[] = [];
  const types: number[] = [];
  for await (const batch of written.batches()) {
    for (let i = 0; i < batch.count; i++) {
      types.push(batch.type(i));
      const record = codec.decode(batch.recordBytes(i), batch.context(i));
      if (record.name === "SAMPLE") found.push(record.body.callchain ?? []);
    }
  }
  const { defer_callchain, defer_output } = written.events.all[0]?.attr.flags ?? {};
  return { found, types, flags: [defer_callchain, defer_output], chains: edit.chains };
}

const AT = 0xffffffff81000010n;

Deno.test("ForPerf: for perf 6.1, user callers in separate records are joined with their samples", async () => {
  const { found, types, flags, chains: joined } = await chains(
    await asFile(recording(), true),
    "6.1",
  );
  assertEquals(found, [
    [KERNEL, AT, USER, 0x1000n, 0x1100n],
    [KERNEL, AT, USER, 0x2000n],
    // The CALLCHAIN_DEFERRED is missing.
    [KERNEL, AT],
  ]);
  assertEquals(types.filter((type) => type === 22), []);
  assertEquals(flags.map(Number), [0, 0]);
  assertEquals(joined?.unjoined, 1);
});

Deno.test("ForPerf: a big-endian recording gives the same chains", async () => {
  const { found } = await chains(await asFile(recording(), false), "6.1");
  assertEquals(found[0], [KERNEL, AT, USER, 0x1000n, 0x1100n]);
});

Deno.test("ForPerf: a pipe loses the markers unknown to perf 6.1; lost callers are counted", async () => {
  const { found, chains: joined } = await chains(await asPipe(recording(), true), "6.1");
  assertEquals(found, [[KERNEL, AT], [KERNEL, AT], [KERNEL, AT]]);
  assertEquals(joined?.unjoined, 3);
});
