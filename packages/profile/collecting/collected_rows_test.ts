import { assertEquals } from "@std/assert";
import { ProfileBuilder } from "./profile_builder.ts";
import { CollectedRows } from "./collected_rows.ts";

function rowsOf(timed: boolean, ...samples: Parameters<CollectedRows["add"]>[0][]) {
  const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
  const thread = builder.thread(7, 7, "demo");
  builder.stack(-1, builder.place(-1, 1, []));
  const rows = new CollectedRows(builder, timed);
  for (const sample of samples) rows.add({ ...sample, thread });
  const epoch = rows.finish();
  return { ...builder.profile(), epoch };
}
const sample = { stack: 0, event: 0, thread: 0, period: 5 };

Deno.test("CollectedRows: without times, equal samples are sums", () => {
  const { samples } = rowsOf(false, sample, { ...sample, count: 3, period: 7, seconds: 1 }, {
    ...sample,
    stack: -1,
  });
  assertEquals([...samples.stack], [0, -1]);
  assertEquals([[...samples.count], [...samples.period]], [[4, 1], [12, 5]]);
  assertEquals(samples.time, undefined);
});

Deno.test("CollectedRows: with times, samples are in their order, after the first if they are large", () => {
  const at = (seconds: number, nanoseconds: number) => ({
    ...sample,
    seconds,
    nanoseconds,
    cpu: 1,
  });
  const small = rowsOf(true, at(2, 5), at(1, 9));
  assertEquals([[...small.samples.time ?? []], small.epoch], [[1_000_000_009, 2_000_000_005], 0n]);
  const large = rowsOf(true, at(1_700_000_002, 5), at(1_700_000_001, 9));
  assertEquals([...large.samples.time ?? []], [0, 999_999_996]);
  assertEquals(large.epoch, 1_700_000_001_000_000_009n);
});

Deno.test("CollectedRows: a sample without a time makes all of them sums", () => {
  const { samples } = rowsOf(true, { ...sample, seconds: 1 }, sample);
  assertEquals([[...samples.count], samples.time], [[2], undefined]);
});
