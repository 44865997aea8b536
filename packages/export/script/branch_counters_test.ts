import { assertEquals } from "@std/assert";
import { type BranchCounters, countersLegend, countersText } from "./branch_counters.ts";
import { timeOfDay } from "./time_of_day.ts";

/** Events 0 and 2 are counted in 2 bits each; event 1 is in another group. */
const COUNTERS: BranchCounters = {
  own: ["A", undefined, "B"],
  width: 2,
  names: [["A", "B"], [], ["A", "B"]],
};

Deno.test("countersText: each event's name is repeated as its bits say, the first event lowest", () => {
  // 0b1001: A once, B twice.
  assertEquals(countersText(COUNTERS, 0, 0b1001n), "br_cntr: ABB\t");
  assertEquals(countersText(COUNTERS, 2, 0b1100n), "br_cntr: BBB\t");
  // Higher bits belong to no event.
  assertEquals(countersText(COUNTERS, 0, 0b11_0000n), "br_cntr: \t");
  assertEquals(countersText(COUNTERS, 1, 0b1111n), "br_cntr: \t");
  assertEquals(countersText({ ...COUNTERS, width: 0 }, 0, 0b1111n), "br_cntr: \t");
});

Deno.test("countersLegend: counted events are listed by name", () => {
  assertEquals(countersLegend(COUNTERS, ["cycles", "faults"]).split("\n"), [
    "# Branch counter abbr list:",
    "# cycles = A",
    "# [unknown] = B",
    "# '-' No event occurs",
    "# '+' Event occurrences may be lost due to branch counter saturated",
    "",
  ]);
});

Deno.test("timeOfDay: the offset of the clocks is added, with six or nine digits", () => {
  const date = new Date(2021, 2, 4, 5, 6, 7);
  const wall = BigInt(date.getTime()) * 1_000_000n;
  const clock = { wall_clock_ns: wall, clockid_time_ns: 1_000n };
  assertEquals(timeOfDay(1_000n, clock, false), "2021-03-04 05:06:07.000000");
  assertEquals(timeOfDay(2_001_003_006n, clock, true), "2021-03-04 05:06:09.001002006");
  assertEquals(timeOfDay(2_001_003_006n, clock, false), "2021-03-04 05:06:09.001002");
  assertEquals(timeOfDay(0n, clock, true), "2021-03-04 05:06:06.999999000");
  assertEquals(timeOfDay(1n, undefined, true), "disabled");
});
