import { assertEquals } from "@std/assert";
import { encodePackets } from "@perfdata/intel-pt";
import { at, BASE, ip, psb, small, tnt, tsc } from "../testing.ts";
import { PathTurns, usesPacket } from "./pt_path_turns.ts";
import { decodePt } from "./pt_run.ts";
import { PtSeeker } from "./pt_seek.ts";
import { ptSpan } from "./pt_span.ts";

/** A PSB+ with branches after it; all parts have the same length. */
const part = (ticks: number) => [...psb(ticks, BASE), tnt("11"), ip("TIP", BASE)];
const PART = encodePackets(part(0)).length;

async function seeker(parts: number, tail = 0) {
  const packets = Array.from({ length: parts }, (_, i) => part(1000 * i)).flat();
  const opened = await small({
    cpus: [[...packets, ...Array.from({ length: tail }, () => tnt("1"))]],
  });
  const { trace } = opened;
  const { source, clock } = trace;
  const [stream] = trace.aux.streams;
  if (stream === undefined) throw new Error("no stream");
  return {
    ...opened,
    seek: new PtSeeker(stream, source, clock),
    time: (ticks: number) => clock.origin.since(at(ticks)),
  };
}

Deno.test("PtSeeker: a time gives the second PSB before it, or the first PSB", async () => {
  for (const parts of [10, 3500]) {
    const { seek, time } = await seeker(parts);
    const before = async (ticks: number) => {
      const { piece, at } = await seek.before(time(ticks));
      return [piece, at / PART];
    };
    assertEquals([seek.size >= parts * PART, seek.size < parts * PART + 8], [true, true]);
    assertEquals(await seek.first(), time(0));
    assertEquals(await before(0), [0, 0]);
    assertEquals(await before(1), [0, 0]);
    assertEquals(await before(1001), [0, 0]);
    // PSB 3 is at 3000, which is not before that time.
    assertEquals(await before(3000), [0, 1]);
    assertEquals(await before(3001 + 5), [0, 2]);
    assertEquals(await before(1000 * parts + 5), [0, parts - 2]);
    assertEquals(await before(1000 * (parts - 2) + 5), [0, parts - 3]);
  }
});

Deno.test("PtSeeker: cuts are at PSBs the given bytes apart; decoding begins two PSBs before, at most at the cut before", async () => {
  const { seek, time } = await seeker(40);
  const cuts = await seek.cuts(10 * PART);
  assertEquals(
    cuts,
    [10, 20, 30].map((n) => ({
      seam: n * PART,
      time: time(1000 * n),
      begin: { piece: 0, at: (n - 2) * PART, offset: (n - 2) * PART },
    })),
  );
  // Cuts at a distance of one PSB: only one PSB is before each.
  const each = await seek.cuts(PART);
  assertEquals(each.slice(0, 2).map(({ seam, begin }) => [seam / PART, begin.offset / PART]), [[
    1,
    0,
  ], [2, 1]]);
  assertEquals(each.length, 39);
  assertEquals(await seek.cuts(40 * PART + 8), []);
  // The offset is between two PSBs, so the next one is chosen.
  assertEquals((await seek.cuts(10 * PART + 1)).map(({ seam }) => seam / PART), [11, 22, 33]);
});

Deno.test("PtSeeker: growth gives the times of evenly spaced PSBs", async () => {
  const { seek, time } = await seeker(40);
  const { at, time: times, size } = await seek.growth(4);
  // A quarter of 40 parts between two times.
  assertEquals([...at].map((offset) => offset / PART), [0, 10, 20, 30]);
  assertEquals([...times], [0, 10, 20, 30].map((n) => time(1000 * n)));
  assertEquals(size, seek.size);
  assertEquals((await seek.growth(1000)).at.length, 40);
  const none = await seeker(0, 20);
  assertEquals([await none.seek.first(), (await none.seek.growth(4)).at.length], [undefined, 0]);
  assertEquals([await none.seek.before(5), await none.seek.cuts(4)], [
    { piece: 0, at: 0, offset: 0 },
    [],
  ]);
});

Deno.test("ptSpan: the first and last times of all CPUs", async () => {
  const first = [...psb(500, BASE), tsc(3000), tnt("1")];
  const second = [...psb(200, BASE), tsc(2000), tnt("1")];
  const { trace } = await small({ cpus: [first, second] });
  const { clock } = trace;
  const time = (ticks: number) => clock.origin.since(at(ticks));
  assertEquals(await ptSpan(trace), [time(200), time(3000)]);
});

Deno.test("decodePt: a part of the time ends after it, a slice stops, and a sink that is done ends it", async () => {
  const { trace, time } = await seeker(50);
  const run = async (options: { from?: number; to?: number; slice?: number }, most = Infinity) => {
    const log = { psbs: 0, steps: 0, reached: 0, ended: 0, bytes: 0 };
    const counts = await decodePt(trace, {
      flow(_, flow) {
        for (let i = 0; i < flow.count; i++) {
          const event = ~(flow.entries[i] ?? 0);
          if (event >= 0 && flow.kind[event] === 24) log.psbs++;
        }
      },
      step: () => {
        log.steps++;
      },
      reached: () => {
        log.reached++;
      },
      ended: () => {
        log.ended++;
      },
      done: () => log.psbs >= most,
    }, { ...options, progress: (bytes) => void (log.bytes += bytes) });
    return { ...log, counts };
  };
  const all = await run({});
  assertEquals([all.psbs, all.ended, all.bytes], [50, 1, trace.aux.streams[0]?.pieces[0]?.size]);
  // Each PSB+ has two branches in its TNT packet.
  assertEquals([all.counts.branches, all.counts.lostBytes], [100, 0]);
  const part = await run({ to: time(10_500) });
  assertEquals([part.psbs >= 11 && part.psbs <= 12, part.ended], [true, 1]);
  // The second PSB before 40,500 is at 39,000.
  const late = await run({ from: time(40_500) });
  assertEquals(late.psbs, 11);
  const sliced = await run({ slice: 744 });
  // 49,000 ticks in slices of at least 2000.
  assertEquals([sliced.psbs, sliced.steps >= 20, sliced.steps > all.steps], [50, true, true]);
  assertEquals((await run({ slice: 372 }, 5)).psbs < 50, true);
});

Deno.test("PathTurns: each call and return of a path has its block, and whether it used a packet", async () => {
  const { trace } = await small({ cpus: [[...part(0), ...part(1000)]] });
  for (const isWanted of [true, false]) {
    const turns = new PathTurns(isWanted);
    const found: string[] = [];
    await decodePt(trace, {
      flow(_, { entries, count, paths, blocks }) {
        for (let i = 0; i < count; i++) {
          const path = entries[i] ?? -1;
          if (path < 0) continue;
          const from = turns.from(paths, blocks, path);
          const to = turns.to(path);
          assertEquals(turns.from(paths, blocks, path), from);
          for (let at = from; at < to; at += 2) {
            const block = paths.blocks[turns.words[at] ?? -1] ?? -1;
            const end = ((blocks.low[block] ?? 0) + (blocks.size[block] ?? 0)).toString(16);
            found.push(`${end} ${turns.words[at + 1]}`);
          }
          found.push(turns.usesPacket(path) ? "packet" : "none");
        }
      },
    });
    // Each time: the call before 1005, the return before 1013, which uses a packet, and both again;
    // then the jump.
    const once = ["1005 0", "1013 1", "100a 1", "1013 1"];
    const kept = found.filter((text) => text !== "packet" && text !== "none");
    assertEquals(
      kept.map((text) => text.split(" ")[0]),
      isWanted ? [...once, ...once].map((text) => text.split(" ")[0]) : [],
    );
    assertEquals(
      kept.filter((text) => text.startsWith("1013 ")).every((text) => text === "1013 1"),
      true,
    );
    assertEquals(found.includes("packet"), true);
  }
  // Direct jumps and calls, kinds 2 and 4, use no packet.
  assertEquals([0, 1, 2, 3, 4, 5, 6].map(usesPacket), [
    false,
    true,
    false,
    true,
    false,
    true,
    true,
  ]);
});
