import { assertEquals } from "@std/assert";
import { otherEventsText } from "./context.ts";

Deno.test("otherEventsText: 300 of 1200 samples of another event are 25%, none are no text", () => {
  const of = (...samples: number[]) => ({
    totals: samples.map((samples) => ({ samples, period: 10 ** 9 * samples })),
  });
  assertEquals(otherEventsText(of(900, 300), 0), "25.00% of samples are of other events");
  assertEquals(otherEventsText(of(900, 300), 1), "75.00% of samples are of other events");
  assertEquals(otherEventsText(of(900, 0), 0), "");
});
