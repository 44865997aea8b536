import { assertEquals, assertMatch } from "@std/assert";
import { emptyAttr, PerfEvent } from "@perfdata/format/records";
import { LargestPeriods, rulingPeriodText } from "./ruling_period.ts";

const usual = { name: "cycles", samples: 1000, period: 250_000_000, largest: 4_000_000 };
const broken = { ...usual, period: 250_000_000 + 2 ** 48, largest: 2 ** 48 };

Deno.test("rulingPeriodText: one sample of period 2^48 among 1000 gives a message with its share", () => {
  const text = rulingPeriodText(broken) ?? "";
  assertMatch(
    text,
    /^one of 1000 samples of cycles has a period of 281474976710656, 100\.0% of all/,
  );
  assertEquals(rulingPeriodText(usual), undefined);
});

Deno.test("rulingPeriodText: fewer than 100 samples, and small periods at the start of a frequency event, give no message", () => {
  assertEquals(rulingPeriodText({ ...broken, samples: 99 }), undefined);
  // 998 samples of period 1, and two of a million each.
  const starting = { name: "cycles", samples: 1000, period: 2_000_998, largest: 1_000_000 };
  assertEquals(rulingPeriodText(starting), undefined);
});

Deno.test("ruling period: periods of tracepoints may be of any size", () => {
  assertEquals(rulingPeriodText(broken, new PerfEvent({ ...emptyAttr(), type: 2 }, [])), undefined);
  assertMatch(rulingPeriodText(broken, new PerfEvent(emptyAttr(), [])) ?? "", /^one of/);
});

Deno.test("ruling period: parts of two workers give the larger of their largest periods", () => {
  const [first, second] = [new LargestPeriods(), new LargestPeriods()];
  for (const [event, period] of [[0, 5], [2, 7], [2, 6]] as const) first.see(event, period);
  for (const [event, period] of [[0, 9], [1, 1]] as const) second.see(event, period);
  first.join(second.periods);
  assertEquals(first.periods, [9, 1, 7]);
});
