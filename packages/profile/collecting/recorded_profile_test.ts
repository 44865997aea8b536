import { assertEquals } from "@std/assert";
import { bytesSource, emptyAttr, PerfDataReader } from "@perfdata/format";
import { runEngine } from "@perfdata/session/engine";
import { SymbolResolver } from "@perfdata/symbols";
import { asFile, type Item } from "../../../fixtures/synthesize/recording.ts";
import { functionNames, totals } from "../columns/profile.ts";
import { ProfileConsumer, type ProfileOptions } from "./recorded_profile.ts";

/** IP, TID, TIME, CALLCHAIN, CPU, PERIOD. */
const SAMPLE_TYPE = 0x1n | 0x2n | 0x4n | 0x20n | 0x80n | 0x100n;
const CONTEXT_USER = -512n & 0xffff_ffff_ffff_ffffn;

/** Samples: thread, time, period, addresses from the innermost on. */
const SAMPLES = [
  [7, 100n, 10n, [0x1010n, 0x1020n]],
  [7, 300n, 5n, [0x1010n, 0x1020n]],
  [8, 200n, 2n, [0x1030n]],
  [8, 400n, 1n, [0x9000n, 0x1020n]],
] as const;

async function profile(options: ProfileOptions = {}) {
  const empty = emptyAttr();
  const attr = {
    ...empty,
    size: 128,
    type: 1,
    config: 1n,
    sample_type: SAMPLE_TYPE,
    flags: { ...empty.flags, sample_id_all: true, comm: true, mmap2: true },
  };
  const sample_id = { pid: 7, tid: 7, time: 1n, cpu: 0 };
  const body = { addr: 0x1000n, len: 0x1000n, pgoff: 0n, maj: 8, min: 1, ino: 42n };
  const items: Item[] = [
    ...[7, 8].map((tid): Item => ({
      record: {
        type: 3,
        name: "COMM",
        misc: 0,
        body: { pid: 7, tid, comm: `t${tid}` },
        sample_id: { ...sample_id, tid },
      },
    })),
    {
      record: {
        type: 10,
        name: "MMAP2",
        misc: 2,
        body: {
          ...{ pid: 7, tid: 7, ...body, ino_generation: 0n },
          ...{ prot: 5, flags: 2, filename: "/bin/small" },
        },
        sample_id,
      } as Item["record"],
    },
    ...SAMPLES.map(([tid, time, period, ips]): Item => ({
      record: {
        type: 9,
        name: "SAMPLE",
        misc: 2,
        body: {
          ...{ ip: ips[0], pid: 7, tid, time, cpu: tid - 7, period },
          callchain: [CONTEXT_USER, ...ips],
        },
      } as Item["record"],
    })),
  ];
  const file = await asFile({ events: [{ attr, ids: [1n] }], items, features: [] }, true);
  const reader = await PerfDataReader.open(bytesSource(file as Uint8Array<ArrayBuffer>));
  const consumer = new ProfileConsumer(options);
  await runEngine(reader, [consumer]);
  const resolver = new SymbolResolver({ open: () => undefined, read: () => undefined });
  return (await consumer.profile({ resolver, title: "small" })).profile;
}

Deno.test("ProfileConsumer: samples that are alike are one row, with their number and periods", async () => {
  const made = await profile();
  assertEquals(totals(made), [{ samples: 4, period: 18 }]);
  const rows = Array.from(
    { length: made.samples.length },
    (_, i) =>
      `${made.threads.comm(made.samples.thread[i] ?? 0)} ${made.samples.count[i]} ${
        made.samples.period[i]
      }`,
  );
  assertEquals(rows.sort(), ["t7 2 15", "t8 1 1", "t8 1 2"]);
  assertEquals([made.title, made.span, made.objects.map(({ path }) => path)], [
    "small",
    [100, 400],
    ["/bin/small"],
  ]);
  const addresses = (row: number) => {
    const found: number[] = [];
    for (let at = made.samples.stack[row] ?? -1; at >= 0; at = made.stacks.parent[at] ?? -1) {
      found.push(made.places.address[made.stacks.place[at] ?? 0] ?? 0);
    }
    return found.map((address) => address.toString(16)).join(" ");
  };
  const stacks = Array.from({ length: made.samples.length }, (_, i) => addresses(i));
  assertEquals(stacks.filter((stack) => stack.includes(" ")).length, 2);
  assertEquals(new Set(functionNames(made)), new Set(["[small]", "[unknown]"]));
});

Deno.test("ProfileConsumer: timed samples are rows in order of time, with CPUs", async () => {
  const { samples, threads } = await profile({ timed: true });
  const of = (column: ArrayLike<number> | undefined) =>
    Array.from(column ?? []).slice(0, samples.length);
  assertEquals([of(samples.time), of(samples.period), of(samples.cpu)], [
    [100, 200, 300, 400],
    [10, 2, 5, 1],
    [0, 1, 0, 1],
  ]);
  assertEquals(of(samples.thread).map((thread) => threads.tid(thread)), [7, 8, 7, 8]);
});

Deno.test("ProfileConsumer: threads: false sums threads of one name", async () => {
  const made = await profile({ threads: false });
  assertEquals([made.threads.length, totals(made)], [2, [{ samples: 4, period: 18 }]]);
  assertEquals(Array.from(made.threads, ({ comm }) => comm).sort(), ["t7", "t8"]);
});
