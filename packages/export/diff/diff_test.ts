import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { diff } from "./diff.ts";
import { flameData } from "../flame/flame_data.ts";
import {
  FUNCTION_KIND,
  type Profile,
  ProfileBuilder,
  type ProfileObject,
  ThreadTable,
} from "@perfdata/profile";
import {
  CountChange,
  normalQuantile,
  normalTwoSided,
  runSpread,
  studentTwoSided,
  welch,
} from "./statistics.ts";
import { namesOf, numbers, type PlainSample, plainSamples, profileOf } from "../testing.ts";

Deno.test("normalTwoSided, studentTwoSided: probabilities equal printed tables", () => {
  // Two-sided points of printed tables of the normal and Student's distribution.
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

/** Exact binomial coefficients. */
function choose(n: number, k: number): bigint {
  let result = 1n;
  for (let i = 0; i < k; i++) result = result * BigInt(n - i) / BigInt(i + 1);
  return result;
}

/** A comparison of two shares. */
function shares(k: number, n: number, m: number, o: number): CountChange {
  return new CountChange({ samples: k, size: n }, { samples: m, size: o }, false);
}

Deno.test("CountChange: small counts have the probability of the exact test", () => {
  const next = numbers(3);
  let compared = 0;
  for (let i = 0; i < 400; i++) {
    const [n, o] = [20 + next(40), 20 + next(40)];
    const [k, m] = [next(n + 1), next(o + 1)];
    if (k + m === 0 || k + m === n + o) continue;
    // The hypergeometric distribution in integers: outcomes as extreme on one side, the observed
    // one by half.
    const own = choose(n, k) * choose(o, m);
    let twice = own;
    for (let x = 0; x <= Math.min(n, k + m); x++) {
      if (k + m - x > o || x === k || x < k !== k / n < m / o) continue;
      twice += 2n * choose(n, x) * choose(o, k + m - x);
    }
    const expected = Number(twice * 10n ** 15n / choose(n + o, k + m)) / 1e15;
    if (expected < 1e-6 || expected > 0.5) continue;
    // Compared as deviates: a quarter of one is far less than runs differ by.
    const found = shares(k, n, m, o).chance(0);
    assertAlmostEquals(normalQuantile(found), normalQuantile(expected), 0.25, `${[k, n, m, o]}`);
    compared++;
  }
  assert(compared > 150, `${compared}`);
  // Five events against zero in the same time: probability 1/32 on each side, of which half counts.
  const rate = new CountChange({ samples: 5, size: 1 }, { samples: 0, size: 1 }, true);
  assertAlmostEquals(rate.chance(0), 1 / 32, 0.005);
});

Deno.test("CountChange: the interval excludes 0 if and only if the test rejects", () => {
  const next = numbers(17);
  let marked = 0;
  for (let i = 0; i < 3000; i++) {
    const [n, o] = [1 + next(5000), 1 + next(5000)];
    const [k, m] = [next(Math.min(n, 1 + next(n)) + 1), next(Math.min(o, 1 + next(o)) + 1)];
    if (k + m === 0) continue;
    const isRate = next(2) === 0;
    const [spread, level] = [next(4) * 0.1 * next(6), 10 ** -(1 + next(5))];
    const found = new CountChange({ samples: k, size: n }, { samples: m, size: o }, isRate);
    const [low, high] = found.interval(spread, normalQuantile(level));
    const text = `${[k, n, m, o, isRate, spread, level, low, high]}`;
    assertEquals(low > 0 || high < 0, found.chance(spread) < level, text);
    assert(low <= high, text);
    // The interval contains the observed change; the half sample shifts it a little.
    assert(m / o - k / n > low - 1 / o - 1 / n && m / o - k / n < high + 1 / o + 1 / n, text);
    if (low > 0 || high < 0) marked++;
  }
  assert(marked > 500 && marked < 2500, `${marked}`);
});

Deno.test("CountChange: 95 % intervals contain the true difference of two samplings in 95 % of runs", () => {
  const next = numbers(11);
  const draw = (n: number, share: number) => {
    let hits = 0;
    for (let i = 0; i < n; i++) if (next(1 << 20) < share * (1 << 20)) hits++;
    return hits;
  };
  let missed = 0;
  const runs = 2000;
  for (let i = 0; i < runs; i++) {
    const [low, high] = shares(draw(400, 0.1), 400, draw(300, 0.15), 300).interval(0, 1.96);
    if (low > 0.05 || high < 0.05) missed++;
  }
  // Of 2000, 100 are expected to miss; four standard deviations are 39.
  assert(missed > 61 && missed < 139, `${missed} of ${runs}`);
});

Deno.test("runSpread: differences drawn with a spread give that spread", () => {
  const next = numbers(29);
  // Sums of twelve uniform numbers are nearly normal.
  const normal = () =>
    Array.from({ length: 12 }, () => next(1000) / 1000).reduce((a, b) => a + b) - 6;
  const differences = Array.from({ length: 60 }, (_, i) => {
    const variance = 0.0001 * (1 + i % 7);
    return { ratio: normal() * Math.sqrt(variance + 0.3 ** 2), variance };
  });
  const prior = { usual: 0.1, deviation: 0.5 };
  const found = runSpread(differences, prior, false);
  assert(found > 0.2 && found < 0.4, `${found}`);
  assertAlmostEquals(runSpread([], prior, false), 0.1, 0.01);
  // A common shift of all shares is no spread; of rates it is.
  const shifted = differences.map(({ variance }) => ({ ratio: -0.5, variance }));
  assert(runSpread(shifted, prior, true) < 0.1);
  assert(runSpread(shifted, prior, false) > 0.3);
});

Deno.test("welch: means of several recordings are compared as computed by hand", () => {
  // Welch's t and freedom, computed by hand.
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
});

function freedom(s: number, n: number, t: number, m: number): number {
  return (s / n + t / m) ** 2 / ((s / n) ** 2 / (n - 1) + (t / m) ** 2 / (m - 1));
}

const OPTIONS = { event: "cpu-clock", by: "total" } as const;

Deno.test("diff: two samplings of the same program have no significant change", () => {
  for (let seed = 0; seed < 10; seed++) {
    const [a, b] = [plainSamples(3000, seed * 2 + 100), plainSamples(3000, seed * 2 + 101)];
    const { rows } = diff([profileOf(a)], [profileOf(b)], OPTIONS);
    assert(rows.length > 30);
    assertEquals(rows.filter(({ isSignificant }) => isSignificant), []);
  }
});

Deno.test("diff: a change is found with its size, for each measure", () => {
  const plain = (seed: number) =>
    plainSamples(8000, seed).map((sample) => ({ ...sample, stack: namesOf(sample) }));
  const before = plain(21);
  // f9 has three samples for each one before; the duration is the same.
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
    // Other functions take the same time, so only their shares shrink.
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

Deno.test("diff: notes tell inlined, moved, new and gone functions", () => {
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

Deno.test("diff: with paths, a change is shown where it happens, not in all callers", () => {
  const before = plainSamples(4000, 61);
  const after = before.map((sample, i) =>
    i % 3 === 0 ? { ...sample, stack: ["main", "f12", "f13", "deep", "deeper"] } : sample
  );
  const { rows } = diff([profileOf(before)], [profileOf(after)], { ...OPTIONS, paths: true });
  const [first] = rows;
  assertEquals(first?.path, ["main", "f12", "f13", "deep", "deeper"]);
  assert(!rows.some(({ path = [] }) => path.join() === "main,f12,f13,deep"));
});

Deno.test("diff: a common slowdown of all functions is no change of one of them", () => {
  // Each function's rate is off by up to a quarter, at random, as on a busy machine.
  let flagged = 0;
  let found = 0;
  for (let seed = 0; seed < 10; seed++) {
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
  assert(flagged <= 1, `${flagged} of 10 pairs have a change`);
  assert(found >= 9, `${found} of 10 changes were found`);
});

Deno.test("diff: a renamed program is matched with itself, other programs are not", () => {
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
  // Same build; rebuilt and the only program on either side; neither; named by the caller.
  assertEquals(compare(old, renamed("server-2", "aa", "x")), [["build id"], false]);
  assertEquals(compare(old, renamed("server-2", "bb", "server-2")), [["program"], false]);
  assertEquals(compare(old, renamed("lib.so", "bb", "server-2")), [[], true]);
  assertEquals(
    compare(old, renamed("lib.so", "bb", "x"), new Map([["server-1", "lib.so"]])),
    [["named"], false],
  );
  assertEquals(compare(old, renamed("server-1", "bb", "x")), [[], false]);
});

/** The same threads, all with one name. */
function called(threads: ThreadTable, comm: string): ThreadTable {
  const all = new ThreadTable();
  for (const { pid, tid } of threads) all.add(pid, tid, comm);
  return all;
}

Deno.test("diff: JIT-compiled code of two pids is one object, and nothing counts as moved", () => {
  /** A run of a Java program: its process, and the addresses of its lambdas. */
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
    // A flame graph of both has one box for each function.
    const picture = flameData([old, now], { base: 1 });
    assertEquals(picture.names, ["void Walk.inner(long)", "void Walk$$Lambda.run()"]);
    assertEquals(picture.objects, ["[JIT]"]);
  }
});

/** A profile of functions with these numbers of samples, in a program or in the kernel. */
function counted(program: readonly number[], kernel: readonly number[]): Profile {
  const builder = new ProfileBuilder({ events: [{ name: "cpu-clock", unit: "nanoseconds" }] });
  const thread = builder.thread(7, 7, "demo");
  for (const [level, counts] of [program, kernel].entries()) {
    const kind = level === 0 ? FUNCTION_KIND.USER : FUNCTION_KIND.KERNEL;
    const path = level === 0 ? "/usr/bin/demo" : "[kernel.kallsyms]";
    const object = builder.object({ name: path.slice(path.lastIndexOf("/") + 1), path });
    for (const [i, count] of counts.entries()) {
      const place = builder.place(object, level * 1000 + i, [{ name: `f${level}_${i}`, kind }]);
      const stack = builder.stack(-1, place);
      for (let n = 0; n < count; n++) {
        builder.sample({ stack, event: 0, thread, period: 1_000_000, time: n * 1e6, cpu: 0 });
      }
    }
  }
  return builder.profile();
}

Deno.test("diff: a change is marked if and only if its interval excludes 0", () => {
  const next = numbers(41);
  const by = ["total", "samples", "time", "period"] as const;
  let marked = 0;
  const check = (before: Profile[], after: Profile[]) => {
    for (const measure of by) {
      const { rows, whole } = diff(before, after, { ...OPTIONS, by: measure });
      for (const row of whole === undefined ? rows : [...rows, whole]) {
        const { change, interval: [low, high], isSignificant, chance } = row;
        const text = JSON.stringify([measure, row]);
        assertEquals(isSignificant, low > 0 || high < 0, text);
        assertEquals(isSignificant, chance < 0.05, text);
        assert(change >= low - 0.01 && change <= high + 0.01, text);
        if (isSignificant) marked++;
      }
    }
  };
  for (let i = 0; i < 20; i++) {
    const counts = Array.from({ length: 3 + next(20) }, () => next(10 ** (1 + next(3))));
    const run = (share: number) =>
      counted(
        counts.map((count) => Math.round(count * share * (0.8 + next(500) / 1000))),
        [next(300), next(20)],
      );
    check([run(1)], [run(1.3)]);
    check([run(1), run(1), run(1)], [run(2), run(2)]);
  }
  assert(marked > 50, `${marked}`);
});

Deno.test("diff: a 50 % increase of one of two functions is marked with one recording per side", () => {
  for (
    const [before, after] of [[[2000, 2000], [3000, 2000]], [[2000, 2000], [2000, 3000]]] as const
  ) {
    const { rows } = diff([counted(before, [])], [counted(after, [])], OPTIONS);
    assertEquals(rows.map(({ isSignificant }) => isSignificant), [true, true]);
  }
});

Deno.test("diff: 38.8 % to 44.2 % of 6,500 samples is marked despite large changes of kernel functions", () => {
  const others = Array.from({ length: 30 }, (_, i) => 20 + 13 * ((i * 7) % 20));
  const rest = (all: number) => {
    const sum = others.reduce((a, b) => a + b, 0);
    return others.map((count) => Math.round(count * all / sum));
  };
  const before = counted([2522, ...rest(3800)], [30, 60, 20, 24, 40, 4]);
  const after = counted([2873, ...rest(3460)], [90, 20, 50, 4, 3, 0]);
  const { rows } = diff([before], [after], OPTIONS);
  assertEquals(rows.filter(({ isSignificant }) => isSignificant).map(({ name }) => name), ["f0_0"]);
  // If the large function is unchanged, nothing is marked.
  const same = diff([before], [counted([2522, ...rest(3800)], [90, 20, 50, 4, 3, 0])], OPTIONS);
  assertEquals(same.rows.filter(({ isSignificant }) => isSignificant), []);
});
