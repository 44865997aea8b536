import { assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { RateStream, SETTLED_SAMPLES } from "./rate_stream.ts";

// The numbers of the article that described the method.
Deno.test("RateStream: two events in 4291 ns are 466 091.8 a second", () => {
  const stream = new RateStream(0, 0, -1, "read");
  assertEquals(stream.sample(1_000_000, 5n, undefined), undefined);
  const point = stream.sample(1_004_291, 7n, undefined);
  assertEquals([point?.delta, point?.interval], [2, 4291]);
  assertAlmostEquals(point?.rate ?? 0, 466_091.8, 0.05);
  assertEquals(point?.frequency, undefined);
});

Deno.test("RateStream: 1389 events in 33 352 ns at a period of 1389 are some 29 980 Hz", () => {
  const stream = new RateStream(0, 0, -1, "read");
  stream.sample(0, 94_708n, 1389);
  const point = stream.sample(33_352, 96_097n, 1389);
  assertAlmostEquals((point?.rate ?? 0) / 1e7, 4.1647, 0.00005);
  assertAlmostEquals((point?.frequency ?? 0) / 10, 2998, 0.5);
});

Deno.test("RateStream: without READ values the period is the number of events since the last sample", () => {
  const stream = new RateStream(0, 0, -1, "period");
  stream.sample(100, undefined, 1);
  assertEquals(stream.sample(1100, undefined, 50)?.rate, 5e7);
  const { count, rate, period } = stream.summary();
  assertEquals([count, rate?.mean, period?.min, period?.max], [50, 5e7, 1, 50]);
});

Deno.test("RateStream: pairs in which time or count does not increase are dropped and counted", () => {
  const stream = new RateStream(0, 0, -1, "read");
  stream.sample(100, 10n, 5);
  assertEquals(stream.sample(100, 12n, 5), undefined); // equal time
  assertEquals(stream.sample(50, 14n, 5), undefined); // earlier time
  assertEquals(stream.sample(150, 3n, 5), undefined); // another counter
  assertEquals(stream.sample(250, 8n, 5)?.rate, 5e7);
  assertEquals([stream.summary().leftOut, stream.summary().count], [3, 5]);
});

Deno.test("RateStream: the period settles once enough periods agree", () => {
  const stream = new RateStream(0, 0, -1, "period");
  const periods = [1, 10, 100, 900, ...Array<number>(SETTLED_SAMPLES).fill(1000), 5];
  periods.forEach((period, i) => stream.sample(i * 1e9, undefined, period));
  // 900 to 1000 is within the ratio, so the 900 belongs to the run.
  assertEquals(stream.summary().settled, {
    samples: 3 + SETTLED_SAMPLES,
    seconds: 2 + SETTLED_SAMPLES,
    period: 1000,
  });
});

Deno.test("RateStream: mean rate times seconds equals the count", () => {
  fc.assert(fc.property(
    fc.array(
      fc.tuple(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 1e6 })),
      { minLength: 1, maxLength: 50 },
    ),
    (steps) => {
      const stream = new RateStream(0, 0, -1, "read");
      stream.sample(0, 0n, undefined);
      let [time, count] = [0, 0];
      for (const [dt, dc] of steps) stream.sample(time += dt, BigInt(count += dc), undefined);
      const { rate, seconds, leftOut } = stream.summary();
      assertAlmostEquals((rate?.mean ?? 0) * seconds / count, 1, 1e-9);
      assertEquals(leftOut, 0);
    },
  ));
});
