import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { diff } from "./diff.ts";
import { flameData } from "../flame/flame_data.ts";
import type { Profile, ProfileObject } from "@perfdata/profile/profile";
import { ProfileBuilder } from "@perfdata/profile/profile-builder";
import { ThreadTable } from "@perfdata/profile/thread-table";
import {
  normalTwoSided,
  rateTest,
  shareTest,
  significant,
  studentTwoSided,
  welch,
} from "./statistics.ts";
import { namesOf, numbers, type PlainSample, plainSamples, profileOf } from "../testing.ts";

Deno.test("distributions are those of the tables", () => {
  // Two-sided points of printed tables of the normal and of Student's distribution.
  for (
    const [z, chance] of [[1.959964, 0.05], [2.575829, 0.01], [3.290527, 0.001], [0, 1]] as const
  ) {
    assertAlmostEquals(normalTwoSided(z), chance, 1e-6);
  }
  for (
    const [t, freedom, chance] of [
      [12.7062, 1, 0.05],
      [2.2281, 10, 0.05],
      [3.1693, 10, 0.01],
      [2.0423, 30, 0.05],
    ] as const
  ) assertAlmostEquals(studentTwoSided(t, freedom), chance, 5e-5);
});

/** Binomial coefficients, exactly. */
function choose(n: number, k: number): bigint {
  let result = 1n;
  for (let i = 0; i < k; i++) result = result * BigInt(n - i) / BigInt(i + 1);
  return result;
}

Deno.test("small numbers are tested exactly", () => {
  const next = numbers(3);
  let compared = 0;
  for (let i = 0; i < 200; i++) {
    const [n, o] = [1 + next(40), 1 + next(40)];
    const [k, m] = [next(n + 1), next(o + 1)];
    if (k + m === 0 || k + m === n + o) continue;
    // The hypergeometric distribution, in whole numbers.
    const own = choose(n, k) * choose(o, m);
    let twice = 0n;
    for (let x = 0; x <= Math.min(n, k + m); x++) {
      if (k + m - x > o) continue;
      const other = choose(n, x) * choose(o, k + m - x);
      if (other === own) twice += other;
      else if (other < own) twice += 2n * other;
    }
    const expected = Number(twice * 10n ** 15n / choose(n + o, k + m)) / 2e15;
    assertAlmostEquals(shareTest(k, n, m, o), expected, 1e-9);
    compared++;
  }
  assert(compared > 150);
  // Five events against none in as long a time: 1/32 for each tail, the own outcome by half.
  assertAlmostEquals(rateTest(5, 1, 0, 1), 1 / 32, 1e-12);
});

Deno.test("by chance alone, a test finds what its level says", () => {
  const next = numbers(11);
  const draw = (n: number, share: number) => {
    let hits = 0;
    for (let i = 0; i < n; i++) if (next(1 << 20) < share * (1 << 20)) hits++;
    return hits;
  };
  let found = 0;
  const runs = 2000;
  for (let i = 0; i < runs; i++) {
    if (shareTest(draw(400, 0.1), 400, draw(400, 0.1), 400) < 0.05) found++;
  }
  // Of 2000, 100 are expected; four standard deviations are 39.
  assert(found > 61 && found < 139, `${found} of ${runs}`);
});

Deno.test("means of several recordings", () => {
  // Welch's t of NIST's example of unequal variances would be 2.83 for these: computed by hand.
  const found = welch([10, 12, 14], [20, 21, 22, 25]);
  assertEquals(found?.difference, 10);
  const error = Math.sqrt(4 / 3 + 14 / 3 / 4);
  assertAlmostEquals(
    found?.chance ?? 0,
    studentTwoSided(10 / error, freedom(4, 3, 14 / 3, 4)),
    1e-12,
  );
  assert((found?.low ?? 0) > 5 && (found?.high ?? 0) < 15);
  assertEquals(welch([1], [2, 3]), undefined);
  assertEquals(significant([0.02, 0.0001, 0.9]), [false, true, false]);
});

function freedom(s: number, n: number, t: number, m: number): number {
  return (s / n + t / m) ** 2 / ((s / n) ** 2 / (n - 1) + (t / m) ** 2 / (m - 1));
}

const OPTIONS = { event: "cpu-clock", by: "total" } as const;

Deno.test("two samplings of the same differ in nothing that counts", () => {
  for (let seed = 0; seed < 10; seed++) {
    const [a, b] = [plainSamples(3000, seed * 2 + 100), plainSamples(3000, seed * 2 + 101)];
    const { rows } = diff([profileOf(a)], [profileOf(b)], OPTIONS);
    assert(rows.length > 30);
    assertEquals(rows.filter(({ isSignificant }) => isSignificant), []);
  }
});

Deno.test("a change is found, with its size, for each measure", () => {
  const plain = (seed: number) =>
    plainSamples(8000, seed).map((sample) => ({ ...sample, stack: namesOf(sample) }));
  const before = plain(21);
  // There are three samples of f9 for each that there was; the recording takes as long.
  const after = plain(22).flatMap((sample) =>
    sample.stack.at(-1) === "f9" ? [sample, sample, sample] : [sample]
  );
  const of = (samples: PlainSample[]) => {
    const event = samples.filter((sample) => sample.event === 0);
    const own = event.filter((sample) => namesOf(sample).at(-1) === "f9");
    const sum = (some: PlainSample[]) => some.reduce((all, { period }) => all + period, 0);
    const times = samples.map(({ time }) => time);
    const seconds = (Math.max(...times) - Math.min(...times)) / 1e9;
    return {
      total: sum(own) / sum(event),
      samples: own.length / event.length,
      time: sum(own) / seconds,
      period: sum(own),
      whole: { total: 1, samples: 1, time: sum(event) / seconds, period: sum(event) },
    };
  };
  const [a, b] = [of(before), of(after)];
  for (const by of ["total", "samples", "time", "period"] as const) {
    const { rows, change } = diff([profileOf(before)], [profileOf(after)], { ...OPTIONS, by });
    const [first] = rows;
    assertEquals([first?.name, first?.isSignificant], ["f9", true]);
    // All others take what they took; of shares they have less.
    const others = rows.filter(({ isSignificant }) => isSignificant).length - 1;
    if (by === "time" || by === "period") assertEquals(others, 0, by);
    assertAlmostEquals(first?.before.value ?? 0, a[by], 1e-9);
    assertAlmostEquals(first?.after.value ?? 0, b[by], 1e-9);
    const whole = a.whole[by];
    assertAlmostEquals(first?.change ?? 0, (b[by] - a[by]) / whole, 1e-9);
    assertAlmostEquals(change, b.whole[by] / whole - 1, 1e-9);
  }
  const repeated = diff(
    [31, 32, 33].map((seed) => profileOf(plainSamples(2000, seed))),
    [41, 42, 43].map((seed) => profileOf(plainSamples(2000, seed))),
    OPTIONS,
  );
  assert(repeated.isRepeated);
  const holds = repeated.rows.filter(({ interval: [low, high] = [1, 0] }) => low <= 0 && high >= 0);
  assert(holds.length > repeated.rows.length * 0.8, "the intervals hold the change of nothing");
});

Deno.test("functions that are inlined, move, come or go are said to", () => {
  const stacks = (names: string[]) =>
    plainSamples(500, 5).map((sample) => ({ ...sample, event: 0, stack: names }));
  const note = (name: string, before: string[], after: string[]) => {
    const sides = [before, after].map((names) => [profileOf(stacks(names))]);
    const { rows } = diff(sides[0] ?? [], sides[1] ?? [], { ...OPTIONS, children: true });
    return rows.find((row) => row.name === name)?.note;
  };
  assertEquals(note("fresh", ["main", "kernel"], ["main", "fresh"]), "new");
  assertEquals(note("kernel", ["main", "kernel"], ["main", "fresh"]), "gone");
  assertEquals(note("helper", ["main", "helper"], ["main", "~helper"]), "now inlined");
  assertEquals(note("helper", ["main", "~helper"], ["main", "helper"]), "no longer inlined");
  assertEquals(note("main", ["main", "f12"], ["main", "f12"]), "");
});

Deno.test("paths: a change is shown where it is made, not in all its callers", () => {
  const before = plainSamples(4000, 61);
  const after = before.map((sample, i) =>
    i % 3 === 0 ? { ...sample, stack: ["main", "f12", "f13", "deep", "deeper"] } : sample
  );
  const { rows } = diff([profileOf(before)], [profileOf(after)], { ...OPTIONS, paths: true });
  const [first] = rows;
  assertEquals(first?.path, ["main", "f12", "f13", "deep", "deeper"]);
  assert(!rows.some(({ path = [] }) => path.join() === "main,f12,f13,deep"));
});

Deno.test("what all functions of a busy run have in common is no change of one of them", () => {
  // Rates of each function are off by up to a quarter, at random, as beside other work.
  let flagged = 0;
  let found = 0;
  for (let seed = 0; seed < 40; seed++) {
    const next = numbers(seed + 1);
    const busy = new Map<string, number>();
    const samplesOf = (from: number, grown?: string) =>
      plainSamples(6000, from).map((sample) => ({ ...sample, stack: namesOf(sample) })).flatMap(
        (sample) => {
          const name = sample.stack.at(-1) ?? "";
          if (!busy.has(name)) busy.set(name, next(25));
          const times = name === grown ? 4 : 1;
          const more = next(100) < (busy.get(name) as number) ? 1 : 0;
          return Array.from({ length: times + more }, () => sample);
        },
      );
    const before = profileOf(
      plainSamples(6000, 2 * seed + 500).map((sample) => ({
        ...sample,
        stack: namesOf(sample),
      })),
    );
    const options = { event: "cpu-clock", by: "period" } as const;
    const same = diff([before], [profileOf(samplesOf(2 * seed + 501))], options);
    if (same.rows.some(({ isSignificant }) => isSignificant)) flagged++;
    const grown = diff([before], [profileOf(samplesOf(2 * seed + 501, "f9"))], options);
    if (grown.rows.some(({ name, isSignificant }) => isSignificant && name === "f9")) found++;
  }
  assert(flagged <= 2, `${flagged} of 40 pairs have a change`);
  assert(found >= 38, `${found} of 40 changes were found`);
});

Deno.test("a program that was renamed is compared with itself; others are not joined", () => {
  const samples = plainSamples(2000, 77);
  const renamed = (name: string, buildId: string | undefined, comm: string): Profile => {
    const profile = profileOf(samples);
    const [demo, ...others] = profile.objects;
    const { buildId: _, ...bare } = demo as ProfileObject;
    return {
      ...profile,
      objects: [{ ...bare, name, ...(buildId === undefined ? {} : { buildId }) }, ...others],
      threads: called(profile.threads, comm),
    };
  };
  const compare = (a: Profile, b: Profile, same?: ReadonlyMap<string, string>) => {
    const { rows, same: found } = diff([a], [b], {
      ...OPTIONS,
      ...(same === undefined ? {} : { same }),
    });
    return [found.map(({ by }) => by), rows.filter(({ note }) => note !== "").length > 0];
  };
  const old = renamed("server-1", "aa", "server-1");
  // Of the same build; built again, and the only program on either side; neither of these; as told.
  assertEquals(compare(old, renamed("server-2", "aa", "x")), [["build id"], false]);
  assertEquals(compare(old, renamed("server-2", "bb", "server-2")), [["program"], false]);
  assertEquals(compare(old, renamed("lib.so", "bb", "server-2")), [[], true]);
  assertEquals(
    compare(old, renamed("lib.so", "bb", "x"), new Map([["server-1", "lib.so"]])),
    [["named"], false],
  );
  assertEquals(compare(old, renamed("server-1", "bb", "x")), [[], false]);
});

/** The same threads, all under one name. */
function called(threads: ThreadTable, comm: string): ThreadTable {
  const all = new ThreadTable();
  for (const { pid, tid } of threads) all.add(pid, tid, comm);
  return all;
}

Deno.test("diff: code of JIT compilers under two pids is compared as one object, with nothing moved", () => {
  /** A run of a program of Java: its process, and the addresses of its lambdas. */
  const run = (pid: number, object: string, address: string): Profile => {
    const builder = new ProfileBuilder({ events: [{ name: "cpu-clock", unit: "nanoseconds" }] });
    const jit = builder.object({ name: object, path: object });
    const thread = builder.thread(pid, pid, "java");
    const names = ["void Walk.inner(long)", `void Walk$$Lambda$${pid}/0x${address}.run()`];
    for (const [i, name] of names.entries()) {
      const stack = builder.stack(-1, builder.place(jit, pid * 16 + i, [{ name }]));
      for (let n = 0; n < 300; n++) builder.sample({ stack, event: 0, thread, period: 1000 });
    }
    return builder.profile();
  };
  const old = run(21870, "[JIT] tid 21870", "0000000800c03000");
  for (const object of ["[JIT] tid 21837", "jitted-21837-1.so"]) {
    const now = run(21837, object, "0000000800c04228");
    for (const children of [false, true]) {
      const { rows } = diff([old], [now], { ...OPTIONS, children });
      assertEquals(rows.map(({ object, change, note }) => [object, change, note]), [
        ["[JIT]", 0, ""],
        ["[JIT]", 0, ""],
      ]);
    }
    // The picture of both has one box for each.
    const picture = flameData([old, now], { base: 1 });
    assertEquals(picture.names, ["void Walk.inner(long)", "void Walk$$Lambda.run()"]);
    assertEquals(picture.objects, ["[JIT]"]);
  }
});
