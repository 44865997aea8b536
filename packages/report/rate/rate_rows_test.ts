import { assertEquals } from "@std/assert";
import type { RateEventSummary, RateReport } from "./rate.ts";
import { incidentRow, RATE_COLUMNS, rateLines, rateRow, summaryRows } from "./rate_rows.ts";
import type { RatePoint, RateStreamSummary } from "./rate_stream.ts";

const POINT: RatePoint = {
  ...{ event: 1, cpu: 3, tid: 44, time: 250, interval: 50, count: 900n, delta: 10 },
  ...{ period: 5, rate: 2e8, frequency: 4e7 },
};

const STREAM: RateStreamSummary = {
  ...{ event: 0, cpu: 2, tid: -1, source: "read", samples: 12, seconds: 1.5, count: 1_234_567 },
  rate: { min: 1000, mean: 823_045, max: 2_000_000 },
  frequency: { min: 1, mean: 998, max: 2000 },
  period: { min: 1, mean: 824.25, max: 1e6 },
  ...{ firstPeriod: 1, lastPeriod: 824 },
  settled: { samples: 7, seconds: 0.25, period: 824 },
  ...{ throttled: 4, unthrottled: 3, lost: 0, leftOut: 0 },
};

const EVENT: RateEventSummary = {
  ...{ name: "cycles", requestedFrequency: 1000, requestedPeriod: undefined, samples: 12 },
  ...{ count: 1_234_567, readAtExit: undefined, throttled: 0, unthrottled: 0, lostSamples: 0 },
};

function report(
  streams: readonly RateStreamSummary[] = [STREAM],
  events: readonly RateEventSummary[] = [EVENT],
  more: Partial<RateReport> = {},
): RateReport {
  const of = streams as unknown as RateReport["streams"];
  return { by: "cpu", start: 5n, events, streams: of, lostRecords: 0, leftOut: 0, ...more };
}

/** Lines of the summary with single blanks. */
function lines(...args: Parameters<typeof report>): string[] {
  return [...rateLines(report(...args))].map((line) => line.trim().replace(/ +/g, " "));
}

Deno.test("rateRow: a point has its columns, with the time since the start", () => {
  const row = rateRow(POINT, 1_000n, ["a", "b"]);
  assertEquals(Object.keys(row), [...RATE_COLUMNS]);
  assertEquals(Object.values(row), ["b", 3, 44, 1250n, 50, 900n, 10, 5, 2e8, 4e7]);
});

Deno.test("rateRow: missing values are null", () => {
  const { event, cpu, tid, count, period, frequency } = rateRow(
    {
      ...POINT,
      event: 5,
      cpu: -1,
      tid: -1,
      count: undefined,
      period: undefined,
      frequency: undefined,
    },
    0n,
    [],
  );
  assertEquals([event, cpu, tid, count, period, frequency], Array(6).fill(null));
  assertEquals(rateRow({ ...POINT, cpu: 0, tid: 0 }, 0n, []).cpu, 0);
});

Deno.test("incidentRow: a loss has its count of records, a throttling has no count", () => {
  const lost = { what: "lost_samples", event: 0, cpu: -1, time: undefined, lost: 8 } as const;
  assertEquals(incidentRow(lost, 10n, ["a"]), {
    ...{ type: "lost_samples", event: "a", cpu: null, time: null, lost: 8 },
  });
  const paused = { what: "throttle", event: -1, cpu: 2, time: 7, lost: 0 } as const;
  assertEquals(incidentRow(paused, 10n, ["a"]), {
    ...{ type: "throttle", event: null, cpu: 2, time: 17n },
  });
});

Deno.test("summaryRows: events, counters and the recording have a row each", () => {
  const [event, counter, recording, ...rest] = summaryRows(
    report([STREAM], [EVENT], { lostRecords: 3, leftOut: 2 }),
  );
  assertEquals(rest, []);
  assertEquals([event?.["type"], event?.["event"], event?.["requested_frequency"]], [
    ...["event", "cycles", 1000],
  ]);
  assertEquals(
    [
      counter?.["type"],
      counter?.["event"],
      counter?.["cpu"],
      counter?.["tid"],
      counter?.["last_period"],
    ],
    ["counter", "cycles", 2, null, 824],
  );
  assertEquals(recording, { type: "recording", lost_records: 3, left_out: 2 });
});

Deno.test("rateLines: a counter has one row with short numbers", () => {
  assertEquals(lines(), [
    "cycles: 12 samples, 1234567 counted, 1000 Hz requested",
    "CPU SAMPLES SECONDS COUNTED RATE/s MIN MAX FREQ Hz OF ASKED PERIOD MIN MAX SETTLED AT THR",
    "2 12 1.500 1.235M 823.0k 1.000k 2.000M 998 99.8% 824.3 1 1.000M 824 after 7 (0.250 s) 4",
  ]);
});

Deno.test("rateLines: numbers below 1000 have no unit, larger ones round up into the next unit", () => {
  const cell = (count: number) => lines([{ ...STREAM, count }])[2]?.split(" ")[3];
  assertEquals([0, 999, 999.94, 999.95, 1000, 999_950, 5e9, 5e12, 5e15, 0.5].map(cell), [
    ...["0", "999", "999.9", "1.000k", "1.000k", "1.000M", "5.000G", "5.000T", "5000T", "0.5000"],
  ]);
});

Deno.test("rateLines: columns are right-aligned, as wide as their longest cell", () => {
  const [, head, row] = rateLines(report());
  assertEquals(head?.length, row?.length);
  assertEquals(head?.startsWith("  CPU  SAMPLES"), true);
  assertEquals(row?.startsWith("    2       12"), true);
});

Deno.test("rateLines: by thread there is a column of threads", () => {
  const [, head, row] = lines([{ ...STREAM, cpu: -1, tid: 77 }], [EVENT], { by: "thread" });
  assertEquals([head?.slice(0, 7), row?.slice(0, 4)], ["CPU TID", "- 77"]);
  assertEquals(lines([STREAM], [EVENT], { by: "thread" })[2]?.slice(0, 3), "2 -");
});

Deno.test("rateLines: a period is fixed, settled or never settled", () => {
  const period = (more: Partial<RateStreamSummary>) =>
    lines([{ ...STREAM, rate: undefined, frequency: undefined, ...more }])[2]?.split(" ").slice(4)
      .join(" ");
  assertEquals(period({ period: { min: 5, mean: 5, max: 5 } }), "- - - - - 5 5 5 fixed 4");
  assertEquals(period({ settled: undefined }), "- - - - - 824.3 1 1.000M never 4");
  assertEquals(period({ period: undefined }), "- - - - - - - - - 4");
});

Deno.test("rateLines: an event shows its requested rate", () => {
  const asked = (more: Partial<RateEventSummary>) =>
    lines([], [{ ...EVENT, requestedFrequency: undefined, ...more }]);
  const head = "cycles: 12 samples, 1234567 counted,";
  assertEquals(asked({ requestedPeriod: 500 }), [`${head} a sample every 500 requested`]);
  assertEquals(asked({}), [`${head} not sampling by itself`]);
  assertEquals(asked({ requestedPeriod: 2 ** 62 }), [`${head} not sampling by itself`]);
});

Deno.test("rateLines: an event's incidents are below it, lost records at the end", () => {
  const busy = { ...EVENT, throttled: 2, unthrottled: 1, lostSamples: 6, readAtExit: 99 };
  const found = lines([{ ...STREAM, leftOut: 3 }], [busy, { ...EVENT, name: "faults" }], {
    ...{ lostRecords: 4, leftOut: 5 },
  });
  assertEquals(found.filter((_, i) => i !== 3 && i !== 4), [
    "cycles: 12 samples, 1234567 counted, 1000 Hz requested",
    "throttled 2 times, unthrottled 1 times; 6 samples lost; 99 read at the end of threads",
    "3 pairs of samples left out: time or count did not rise",
    "",
    "faults: 12 samples, 1234567 counted, 1000 Hz requested",
    "",
    "4 records lost, since buffers were full: they may be of any event",
    "",
    "5 samples left out: without a time, or of no known event",
  ]);
});

Deno.test("rateLines: of more than 32 counters, those with the most samples are shown, the others counted", () => {
  const streams = Array.from(
    { length: 40 },
    (_, cpu) => ({ ...STREAM, cpu, samples: 100 + cpu * 7 % 40 }),
  );
  const found = lines(streams);
  assertEquals(found.length, 2 + 32 + 1);
  assertEquals(found.at(-1), "and 8 counters with fewer samples, which --json shows");
  const samples = found.slice(2, -1).map((line) => Number(line.split(" ")[1]));
  assertEquals(samples, Array.from({ length: 32 }, (_, i) => 139 - i));
  const few = lines(streams.slice(0, 32));
  assertEquals(
    few.slice(2).map((line) => Number(line.split(" ")[0])),
    streams.slice(0, 32).map(({ cpu }) => cpu),
  );
});
