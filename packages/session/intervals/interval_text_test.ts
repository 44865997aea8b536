import { assertEquals } from "@std/assert";
import { HOW_TO_RECORD, HOW_TO_RECORD_SWITCHES, missingSwitches } from "./interval_text.ts";

const INTERVALS = {
  ...{ count: 8, withStack: 6, missing: 0, unknown: 0, lostRecords: 0, cut: 0 },
  ...{ hasSums: false, hasSwitches: true },
};
const PARALLELISM = { hasSwitches: true, lostRecords: 0, undescribed: [] };

Deno.test("missing switches: without recorded or readable switches, only that is reported", () => {
  const none = (
    intervals: typeof INTERVALS | undefined,
    parallelism?: typeof PARALLELISM,
  ) => missingSwitches({ intervals, parallelism }).none;
  assertEquals(missingSwitches({ intervals: undefined, parallelism: undefined }), {
    none: undefined,
    lines: [],
  });
  assertEquals(
    none({ ...INTERVALS, hasSwitches: false }),
    `no context switches were recorded: ${HOW_TO_RECORD}`,
  );
  assertEquals(none({ ...INTERVALS, hasSwitches: false, hasSums: true }), undefined);
  assertEquals(
    none(undefined, { ...PARALLELISM, hasSwitches: false }),
    `no context switches were recorded: ${HOW_TO_RECORD_SWITCHES}`,
  );
  const unread = { ...PARALLELISM, hasSwitches: false, undescribed: ["sched:sched_switch"] };
  assertEquals(
    missingSwitches({ intervals: undefined, parallelism: unread as never }).none,
    "sched:sched_switch: recorded, and not to be read, since the recording does not have the format " +
      "(TRACING_DATA)",
  );
});

Deno.test("missing switches: skipped and uncertain intervals give a line each", () => {
  assertEquals(
    missingSwitches({ intervals: INTERVALS, parallelism: { ...PARALLELISM, lostRecords: 2 } })
      .lines,
    [
      "2 records were lost: how many threads had a CPU is not sure after that; " +
      "record with a larger buffer (-m)",
      "2 of 8 times without a CPU have no call chain (25.00%)",
    ],
  );
});
