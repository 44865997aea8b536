import { assertEquals } from "@std/assert";
import { statsText } from "./stats_text.ts";

Deno.test("statsText: counts have perf's format", () => {
  assertEquals(
    statsText({
      byType: new Map([[68, 1], [9, 12], [1, 3]]),
      samples: [{ name: "cycles:u", count: 12 }, { name: "dummy:u", count: 0 }],
      hasAuxtrace: true,
    }),
    "\nAggregated stats: (excludes AUX area (e.g. instruction trace) decoded / synthesized events)\n" +
      "           TOTAL events:         16\n" +
      "            MMAP events:          3  (18.8%)\n" + // 18.75, a tie: to the even digit
      "          SAMPLE events:         12  (75.0%)\n" +
      "  FINISHED_ROUND events:          1  ( 6.2%)\n" + // 6.25
      "cycles:u stats:\n" +
      "          SAMPLE events:         12\n",
  );
});
