import { assert, assertEquals } from "@std/assert";
import { latencyBucket, latencyOf } from "./pt_latency.ts";

Deno.test("latencyOf: it gives the least duration of each bucket", () => {
  for (let bucket = 0; bucket < 150; bucket++) {
    const from = latencyOf(bucket);
    const to = latencyOf(bucket + 1);
    assert(from < to, `${bucket}: ${from} to ${to}`);
    for (const ns of [from, from + 0.5, to - 1, to - 0.5]) {
      assertEquals(latencyBucket(ns), bucket, `${ns} ns`);
    }
  }
  // About a quarter of an octave: no bucket is twice as wide as the previous one.
  assert(latencyOf(120) / latencyOf(119) < 1.2);
});
