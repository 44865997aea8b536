import { check, layout } from "../hand_testing.ts";
import { STAT, STAT_CONFIG, STAT_ROUND } from "./stat_records.ts";

Deno.test("STAT_CONFIG: tags and values are decoded", () => {
  check(STAT_CONFIG, layout().u64(3).u64(0, 1).u64(1, 1000).u64(2, 1), {
    body: { data: [{ tag: 0n, val: 1n }, { tag: 1n, val: 1000n }, { tag: 2n, val: 1n }] },
  });
});

Deno.test("STAT: the values of a counter are decoded", () => {
  check(STAT, layout().u64(969).u32(-1, 0).u64(766459, 800000, 766459), {
    body: { id: 969n, cpu: -1, thread: 0, val: 766459n, ena: 800000n, run: 766459n },
  });
});

Deno.test("STAT_ROUND: the end of an interval is decoded", () => {
  check(STAT_ROUND, layout().u64(1, 50099841), { body: { type: 1n, time: 50099841n } });
});
