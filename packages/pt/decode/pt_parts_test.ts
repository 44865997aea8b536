import { assertEquals, assertThrows } from "@std/assert";
import { bytesSource } from "@perfdata/format/bytes";
import type { AuxPiece, AuxStream } from "@perfdata/session/auxtrace";
import { BRANCH_WORDS } from "../samples/pt_sample_rows.ts";
import { at, BASE, ip, psb, small, tnt, TSC, tsc } from "../testing.ts";
import { BranchRing } from "./pt_branch_ring.ts";
import { insnBytes } from "./pt_block_insns.ts";
import { pieceEnd, PieceReader } from "./pt_pieces.ts";
import { addPtCounts, noPtCounts } from "./pt_counts.ts";
import { decodePt } from "./pt_run.ts";
import { ptSpan } from "./pt_span.ts";
import { TimeOrigin } from "./pt_time.ts";

Deno.test("BranchRing: above its size, it keeps the newest branches, newest first", () => {
  const ring = new BranchRing(3);
  for (let i = 1; i <= 5; i++) ring.words[ring.add()] = i;
  assertEquals([ring.count, ring.words[ring.at(0)], ring.words[ring.at(2)]], [3, 5, 3]);
  const to = new Int32Array(4 * BRANCH_WORDS);
  const end = ring.put(to, BRANCH_WORDS, 2, 1);
  assertEquals(end, 3 * BRANCH_WORDS);
  assertEquals([to[0], to[BRANCH_WORDS], to[2 * BRANCH_WORDS], to[end]], [0, 4, 3, 0]);
  ring.clear();
  assertEquals(ring.count, 0);
});

Deno.test("insnBytes: bytes give two digits each after a space", () => {
  assertEquals(insnBytes(Uint8Array.of(0x31, 0x0d)), " 31 0d");
});

Deno.test("TimeOrigin: a late time counts from a second before it, an early one from 0", () => {
  assertEquals(TimeOrigin.before((1n << 52n) - 1n).seconds, 0);
  const late = (1n << 52n) + 123n;
  const origin = TimeOrigin.before(late);
  assertEquals(origin.seconds, Number((late - (1n << 51n)) / 1_000_000_000n));
  const since = origin.since(late);
  assertEquals([origin.exact(since), origin.ns + BigInt(since)], [late, late]);
  assertEquals([origin.since(5n), origin.sinceHalves(0, 5)], [0, 0]);
  assertEquals(origin.sinceHalves(Number(late >> 32n), Number(late & 0xffffffffn) | 0), since);
  assertEquals(origin.secondsText(since), `${late / 1_000_000_000n}.${late % 1_000_000_000n}`);
  const early = TimeOrigin.before(0n);
  assertEquals([early.secondsText(1_000_000_007), early.secondsText(-1)], ["1.000000007", ""]);
  assertEquals([early.exact(7), early.rounded(7), origin.rounded(7)], [
    7,
    7,
    origin.seconds * 1e9 + 7,
  ]);
});

const piece = (fields: Partial<AuxPiece>): AuxPiece =>
  ({ fileOffset: 0, size: 8, overlap: 0, gap: 0n, auxOffset: 0n, ...fields }) as AuxPiece;

Deno.test("pieceEnd: the offset of the next piece gives the end without padding, if it is one of data in a row", () => {
  assertEquals(pieceEnd(piece({ size: 16 }), piece({ auxOffset: 11n })), 11);
  assertEquals(pieceEnd(piece({ size: 16 }), piece({ auxOffset: 16n })), 16);
  assertEquals(pieceEnd(piece({ size: 16 }), piece({ auxOffset: 17n })), 16);
  assertEquals(pieceEnd(piece({ size: 16, auxOffset: 20n }), piece({ auxOffset: 11n })), 16);
  assertEquals(pieceEnd(piece({ size: 16 }), piece({ auxOffset: 11n, overlap: 1 })), 16);
  assertEquals(pieceEnd(piece({ size: 16 }), undefined), 16);
});

Deno.test("PieceReader: overlapping pieces give their bytes once, in parts of 8 KB, and the gaps", async () => {
  const bytes = Uint8Array.from({ length: 30_000 }, (_, i) => i % 251);
  const pieces = [
    piece({ fileOffset: 0, size: 10_000 }),
    piece({ fileOffset: 10_000, size: 20, overlap: 5, auxOffset: 9995n }),
    piece({ fileOffset: 20_000, size: 10, gap: 3n, auxOffset: 20_000n }),
  ];
  const read = async (place?: { piece: number; at: number }) => {
    const reader = new PieceReader({ pieces } as unknown as AuxStream, bytesSource(bytes), place);
    const parts: [number, number | undefined, boolean][] = [];
    for (let part = await reader.next(); part !== undefined; part = await reader.next()) {
      parts.push([part.length, part[0], reader.isAfterGap]);
    }
    return parts;
  };
  assertEquals(await read(), [
    [8192, 0, false],
    [1808, 8192 % 251, false],
    [15, 10_005 % 251, false],
    [10, 20_000 % 251, true],
  ]);
  assertEquals((await read({ piece: 0, at: 9000 }))[0], [1000, 9000 % 251, false]);
  assertEquals((await read({ piece: 1, at: 2 }))[0], [13, 10_007 % 251, false]);
});

Deno.test("addPtCounts: figures added and subtracted give 0", () => {
  const counts = noPtCounts();
  const some = { ...noPtCounts(), bytes: 3, lostBytes: 2, branches: 5, unsureThread: 7 };
  some.errors[4] = 2;
  addPtCounts(counts, some);
  addPtCounts(counts, some);
  assertEquals([counts.bytes, counts.lostBytes, counts.branches, counts.unsureThread], [
    ...[6, 4, 10, 14],
  ]);
  assertEquals(counts.errors[4], 4);
  addPtCounts(counts, some, -1);
  assertEquals([counts.bytes, counts.errors[4]], [3, 2]);
});

const MANY = [
  ...psb(0, BASE),
  ...Array.from({ length: 40 }, (_, i) => [
    ...psb(1000 * (i + 1), BASE),
    tnt("11"),
    ip("TIP", BASE),
  ]).flat(),
];

Deno.test("PtClock: TSC values and ticks convert to perf's time, and back", async () => {
  const { trace } = await small({ cpus: [MANY] });
  const { clock } = trace;
  const ns = clock.tsc(Number(TSC & 0xffffffffn) + 2688, Number(TSC >> 32n));
  assertEquals(ns, clock.origin.since(at(2688)));
  assertEquals(clock.ns(clock.ticks(ns)) <= ns, true);
  assertEquals(clock.ns(clock.ticks(ns) + 1) >= ns, true);
  assertEquals([clock.ns(-1), clock.ticks(Infinity), clock.known], [-1, Infinity, true]);
  assertEquals([Math.round(clock.duration(2688)), clock.period(1000)], [1000, 2687]);
});

Deno.test("decodePt: a part of a trace begins at a PSB before it, and ends after it", async () => {
  // More bytes than one read.
  const long = Array.from({ length: 12000 }, (_, i) => [
    ...psb(1000 * i, BASE),
    tnt("11"),
    ip("TIP", BASE),
  ]).flat();
  const { trace } = await small({ cpus: [long] });
  const { clock } = trace;
  const insns = async (options: { from?: number; to?: number }) => {
    let sum = 0;
    await decodePt(trace, {
      flow(_, { entries, count, paths }) {
        for (let i = 0; i < count; i++) {
          sum += (entries[i] ?? -1) < 0 ? 0 : paths.insns[entries[i] ?? 0] ?? 0;
        }
      },
    }, options);
    return sum;
  };
  const time = (ticks: number) => clock.origin.since(at(ticks));
  const all = await insns({});
  // Two calls, two returns, four nops and a jump.
  assertEquals(all, 12000 * 9);
  const last = await insns({ from: time(11_990_500) });
  assertEquals(last >= 9 * 9 && last < all, true, `${last}`);
  const first = await insns({ to: time(10_500) });
  assertEquals(first >= 10 * 9 && first <= 12 * 9, true, `${first}`);
  assertEquals(await ptSpan(trace), [time(0), time(11_999_000)]);
});

Deno.test("PtSideband: switches, first threads and processes are those of the records", async () => {
  const { trace } = await small({
    cpus: [psb(0), psb(0)],
    tids: [7, 8],
    switches: [
      { ticks: 10, cpu: 0, tid: 8 },
      { ticks: 2000, cpu: 0, tid: 8 },
      { ticks: 3000, cpu: 0, tid: 7 },
      { ticks: 3000, cpu: 1, tid: 8 },
    ],
  });
  const { sideband } = trace;
  const of = (cpu: number) => {
    const { count = 0, tid, time } = sideband.switches.get(cpu) ?? {};
    return Array.from({ length: count }, (_, i) => [tid?.[i], time?.[i]]);
  };
  const time = (ticks: number) => sideband.origin.since(at(ticks));
  assertEquals(of(0), [[7, time(-900)], [8, time(10)], [7, time(3000)]]);
  assertEquals(of(1), [[8, time(-900)]]);
  assertEquals([sideband.firstThread(0), sideband.firstThread(1), sideband.firstThread(5, 9)], [
    ...[7, 8, -1],
  ]);
  const { threads } = sideband;
  assertEquals([threads.pid(7, time(0)), sideband.mapTimes.length], [7, 2]);
  const map = (tid: number, low: number) => threads.map(threads.stateAt(tid, time(0)), 0, low);
  assertEquals([map(7, 0x1fff) >= 0, map(7, 0x2000), map(9, 0x1000)], [true, -1, -1]);
  assertThrows(() =>
    new (sideband.constructor as new (trace: unknown) => typeof sideband)({
      streams: [],
      intelPt: undefined,
      intelPtConfig: undefined,
    }).threads, TypeError);
  assertEquals(tsc(1).type, "TSC");
});
