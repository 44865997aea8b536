import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { SampleHistogram } from "./sample_histogram.ts";

const small = fc.integer({ min: -1, max: 3 });
const sample = fc.tuple(
  fc.tuple(fc.nat(2), fc.nat(40), small, small, small),
  fc.oneof(small, fc.integer({ min: -1, max: 5000 })),
  fc.nat(1000),
);

Deno.test("SampleHistogram: any samples have the counts and periods that a Map gives", () => {
  fc.assert(
    fc.property(fc.array(sample, { maxLength: 4000, size: "max" }), (samples) => {
      const histogram = new SampleHistogram(4);
      const expected = new Map<string, [number, number]>();
      for (const [[event, comm, pid, tid, cpu], node, period] of samples) {
        const context = histogram.context(event, comm, pid, tid, cpu);
        const entry = histogram.add(context, node, period);
        assertEquals([histogram.contextOf(entry), histogram.node(entry)], [context, node]);
        const key = [event, comm, pid, tid, cpu, node].join(" ");
        const [count, sum] = expected.get(key) ?? [0, 0];
        expected.set(key, [count + 1, sum + period]);
      }
      const found = new Map<string, [number, number]>();
      for (let i = 0; i < histogram.size; i++) {
        const context = histogram.contextOf(i);
        const key = [
          histogram.event(context),
          histogram.comm(context),
          histogram.pid(context),
          histogram.tid(context),
          histogram.cpu(context),
          histogram.node(i),
        ].join(" ");
        found.set(key, [histogram.samples(i), histogram.period(i)]);
      }
      assertEquals(histogram.size, expected.size);
      assertEquals(all(together(samples)), all(histogram));
      assertEquals(found, expected);
    }),
    { numRuns: 30 },
  );
});

Deno.test("SampleHistogram.reset: a reused histogram counts like a new one", () => {
  let entries = 0;
  fc.assert(
    fc.property(
      fc.array(fc.array(sample, { maxLength: 1000, size: "max" }), { minLength: 2, maxLength: 4 }),
      (rounds) => {
        const reused = new SampleHistogram(4);
        for (const samples of rounds) {
          reused.reset();
          for (const [keys, node, period] of samples) {
            reused.addLater(reused.context(...keys), node, period);
          }
          reused.settle();
          assertEquals(reused.part(), together(samples).part());
          entries += reused.size;
        }
      },
    ),
    { numRuns: 30 },
  );
  assert(entries > 1000, `${entries} entries`);
});

/** A histogram of the same samples, added in batches. */
function together(samples: readonly (typeof sample extends fc.Arbitrary<infer T> ? T : never)[]) {
  const histogram = new SampleHistogram(4);
  for (const [keys, node, period] of samples) {
    histogram.addLater(histogram.context(...keys), node, period);
  }
  histogram.settle();
  return histogram;
}

/** All entries, in the order of their numbers. */
function all(histogram: SampleHistogram): number[][] {
  return Array.from({ length: histogram.size }, (_, entry) => [
    histogram.contextOf(entry),
    histogram.node(entry),
    histogram.samples(entry),
    histogram.period(entry),
  ]);
}
