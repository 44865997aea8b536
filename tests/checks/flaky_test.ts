import { assertEquals } from "@std/assert";
import { failures, flaky } from "./flaky.ts";

const FIRST = `
 ERRORS

a slow test => ./tests/page/view_test.ts:12:3
error: AssertionError

 FAILURES

a slow test => ./tests/page/view_test.ts:12:3
merge: two clocks give one order => ./packages/edit/merge/merge_test.ts:5:6

FAILED | 10 passed | 2 failed (3s)
`;
const SECOND = "ok | 12 passed | 0 failed (3s)\n";
const NOW = Date.parse("2026-03-20");

Deno.test("failures: a log's section FAILURES gives files and names", () => {
  assertEquals([...failures(FIRST)], [
    "./tests/page/view_test.ts: a slow test",
    "./packages/edit/merge/merge_test.ts: merge: two clocks give one order",
  ]);
  assertEquals(failures(SECOND).size, 0);
});

Deno.test("flaky: only a test recorded within 30 days is excused", () => {
  const list = "# date\tfile\ttest\n" +
    "2026-03-01\ttests/page/view_test.ts\ta slow test\n" +
    "2026-01-01\tpackages/edit/merge/merge_test.ts\tmerge: two clocks give one order\n";
  assertEquals(flaky(FIRST, SECOND, list, NOW).map(({ excused }) => excused), [true, false]);
  assertEquals(flaky(FIRST, SECOND, "", NOW).map(({ excused }) => excused), [false, false]);
});

Deno.test("flaky: a test that fails twice is not flaky", () => {
  assertEquals(flaky(FIRST, FIRST, "", NOW), []);
});
