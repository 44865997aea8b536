import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Histogram } from "./histogram.ts";

const small = fc.integer({ min: -2, max: 2 });
const key = fc.tuple(small, small, small, small, small, fc.integer(), small, small, small);

function asObject(histogram: Histogram): Record<string, number[]> {
  const found: Record<string, number[]> = {};
  histogram.forEach((key, samples, period) => found[key.join()] = [samples, period]);
  return found;
}

Deno.test("histogram: sums are those of a plain map, also after growing", () => {
  fc.assert(fc.property(
    fc.array(fc.tuple(key, fc.integer({ min: 0, max: 1e9 })), { maxLength: 200 }),
    (samples) => {
      const histogram = new Histogram(4);
      const expected: Record<string, number[]> = {};
      for (const [key, period] of samples) {
        histogram.add(...key, period);
        const [n = 0, sum = 0] = expected[key.join()] ?? [];
        expected[key.join()] = [n + 1, sum + period];
      }
      assertEquals(asObject(histogram), expected);
      assertEquals(histogram.size, Object.keys(expected).length);
    },
  ));
});

Deno.test("histogram: merging parts gives the whole", () => {
  fc.assert(fc.property(
    fc.array(fc.tuple(key, fc.integer({ min: 0, max: 1e9 })), { maxLength: 100 }),
    fc.nat(100),
    (samples, cut) => {
      const whole = new Histogram(4);
      const parts = [new Histogram(4), new Histogram(4)] as const;
      samples.forEach(([key, period], i) => {
        whole.add(...key, period);
        parts[i < cut ? 0 : 1].add(...key, period);
      });
      const merged = new Histogram(4);
      for (const part of parts) merged.merge(part.columns());
      assertEquals(asObject(merged), asObject(whole));
    },
  ));
});
