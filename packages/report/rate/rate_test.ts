import { assert, assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import { bytesSource, jsonLine, memorySink } from "@perfdata/format/bytes";
import {
  emptyAttr,
  KERNEL_RECORDS,
  PerfDataReader,
  PerfDataWriter,
  PerfEvent,
  RecordCodec,
} from "@perfdata/format/records";
import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { analyzeRate, type RateIncident } from "./rate.ts";
import { RatePlot } from "./rate_plot.ts";
import { incidentRow, rateLines, rateRow } from "./rate_rows.ts";
import type { RatePoint } from "./rate_stream.ts";

const codec = new RecordCodec(KERNEL_RECORDS);
const type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |
  PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
const format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;

/** A group of a sampling leader and a counter, on two CPUs, in either byte order. */
async function groupFile(littleEndian: boolean): Promise<Uint8Array<ArrayBuffer>> {
  const base = emptyAttr();
  const leader = {
    ...base,
    sample_type: BigInt(type),
    read_format: BigInt(format),
    sample_period: 30_000n,
    flags: { ...base.flags, freq: true, sample_id_all: true, exclude_guest: true },
  };
  const events = [
    { attr: leader, ids: [0x10n, 0x11n] },
    { attr: { ...leader, config: 1n, sample_period: 0n }, ids: [0x20n, 0x21n] },
  ];
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { littleEndian, events });
  const event = new PerfEvent(leader, [0x10n, 0x11n]);
  const write = (record: Parameters<typeof codec.encode>[0]) =>
    writer.write(codec.encode(record, { littleEndian, event }));
  const start = 1n << 60n;
  const sample = (cpu: number, time: bigint, counts: [bigint, bigint], lost: bigint) =>
    write({
      type: 9,
      name: "SAMPLE",
      misc: 2,
      body: {
        pid: 7,
        tid: 7,
        time: start + time,
        id: BigInt(0x10 + cpu),
        cpu,
        period: 1389n,
        read: {
          values: [
            { value: counts[0], id: BigInt(0x10 + cpu), lost },
            { value: counts[1], id: BigInt(0x20 + cpu), lost: 0n },
          ],
        },
      },
    });
  await sample(0, 0n, [94_708n, 5n], 0n);
  await sample(1, 10n, [1n, 1n], 0n);
  await sample(0, 33_352n, [96_097n, 7n], 2n);
  const sample_id = { pid: 7, tid: 7, time: start + 40_000n, id: 0x11n, cpu: 1 };
  await write({
    type: 5,
    name: "THROTTLE",
    misc: 0,
    body: { time: start + 40_000n, id: 0x11n, stream_id: 0x11n },
    sample_id,
  });
  await write({ type: 2, name: "LOST", misc: 0, body: { id: 0x10n, lost: 3n }, sample_id });
  await writer.close();
  return sink.bytes();
}

Deno.test("analyzeRate: a thread that moves between CPUs is followed, although their buffers are in sequence", async () => {
  const attr = {
    ...emptyAttr(),
    sample_type: BigInt(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD),
    sample_period: 1n,
    flags: { ...emptyAttr().flags, sample_id_all: true },
  };
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
  const event = new PerfEvent(attr, []);
  // Two threads, each on CPU 0 at even times and on CPU 1 at odd ones; the buffers follow each
  // other.
  for (const cpu of [0, 1]) {
    for (let k = cpu; k < 40; k += 2) {
      const body = { pid: 7, tid: 7 + (k >> 1) % 2, time: BigInt(1000 + 100 * k), period: 5n };
      await writer.write(codec.encode({ type: 9, name: "SAMPLE", misc: 2, body }, {
        littleEndian: true,
        event,
      }));
    }
  }
  await writer.close();
  const points: RatePoint[] = [];
  const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
  const report = await analyzeRate(reader, { point: (point) => void points.push(point) });
  assertEquals(report.by, "thread");
  assertEquals(Array.from(report.streams, ({ tid, samples, leftOut }) => [tid, samples, leftOut]), [
    [7, 20, 0],
    [8, 20, 0],
  ]);
  // Thread 7 was sampled at 0, 1, 4, 5, … 36, 37, thread 8 two later each, times 100 ns.
  for (const stream of report.streams) {
    assertAlmostEquals(stream.seconds, 37e-7, 1e-15);
    assertEquals(stream.count, 19 * 5);
  }
  assertEquals(points.length, 38);
  assert(points.every(({ interval }) => interval === 100 || interval === 300));
});

for (const littleEndian of [true, false]) {
  const order = littleEndian ? "little" : "big";
  Deno.test(`analyzeRate: a group read on two CPUs gives rates, ${order}-endian`, async () => {
    const reader = await PerfDataReader.open(bytesSource(await groupFile(littleEndian)));
    const points: RatePoint[] = [];
    const incidents: RateIncident[] = [];
    let start = 0n;
    const report = await analyzeRate(reader, {
      start: (time) => start = time,
      point: (point) => void points.push(point),
      incident: (incident) => void incidents.push(incident),
    });
    assertEquals(start, 1n << 60n);
    assertEquals(points.map(({ event, cpu, delta }) => [event, cpu, delta]), [[0, 0, 1389], [
      1,
      0,
      2,
    ]]);
    assertAlmostEquals((points[0]?.rate ?? 0) / 1e7, 4.1647, 0.00005);
    assertAlmostEquals(points[0]?.frequency ?? 0, 29_983, 1);
    assertEquals(points[1]?.frequency, undefined);
    assertEquals(report.by, "cpu");
    assertEquals(
      Array.from(
        report.streams,
        ({ event, cpu, samples, throttled }) => [event, cpu, samples, throttled],
      ),
      [[0, 0, 2, 0], [0, 1, 1, 1], [1, 0, 2, 0], [1, 1, 1, 0]],
    );
    const [cycles, instructions] = report.events;
    assertEquals([cycles?.name, cycles?.requestedFrequency], ["cycles", 30_000]);
    assertEquals([cycles?.samples, cycles?.count], [3, 1389]);
    assertEquals([cycles?.throttled, report.lostRecords, cycles?.lostSamples], [1, 3, 2]);
    assertEquals([instructions?.name, instructions?.count], ["instructions", 2]);

    // Times above 2^53 ns keep their last digit.
    const names = report.events.map((event) => event.name);
    const line = jsonLine(rateRow(points[0] as RatePoint, start, names));
    assertMatch(line, /"time":1152921504606880328,"interval":33352,"count":96097/);
    assertEquals(incidents.map((incident) => incidentRow(incident, start, names)), [
      { type: "throttle", event: "cycles", cpu: 1, time: start + 40_000n },
      { type: "lost", event: null, cpu: 1, time: start + 40_000n, lost: 3 },
    ]);
    const text = [...rateLines(report)].join("\n");
    assertMatch(text, /^cycles: 3 samples, 1389 counted, 30000 Hz requested\n/);
    assertMatch(text, /throttled 1 times, unthrottled 0 times; 2 samples lost/);
  });
}

Deno.test("analyzeRate: by thread, counters of one CPU stay separate", async () => {
  const reader = await PerfDataReader.open(bytesSource(await groupFile(true)));
  const { streams } = await analyzeRate(reader, { by: "thread" });
  assertEquals(Array.from(streams, ({ tid }) => tid), [7, 7, 7, 7]);
});

Deno.test("RatePlot: the plot is well-formed and has a bounded number of points", () => {
  const plot = new RatePlot();
  for (let i = 1; i <= 10_000; i++) {
    plot.point({
      event: 0,
      cpu: 0,
      tid: -1,
      time: i * 1000,
      interval: 1000,
      count: undefined,
      delta: 5,
      period: 5,
      rate: 5e6,
      frequency: 1e6,
    });
  }
  plot.incident({ what: "throttle", event: 0, cpu: 0, time: 5000, lost: 0 });
  const svg = plot.svg([{ name: "<&>", requestedFrequency: 4000, requestedPeriod: undefined }]);
  const points = [...svg.matchAll(/points="([^"]*)"/g)].map(([, list = ""]) =>
    list.split(" ").length
  );
  assertEquals(points.length, 2);
  for (const n of points) assert(n > 500 && n <= 2000, `${n} points`);
  assertMatch(svg, /&lt;&amp;&gt; CPU 0 \(1 of 8\)/);
  // XML requires a closing tag for each opening one.
  const open = svg.match(/<(svg|text)\b/g)?.length;
  const close = svg.match(/<\/(svg|text)>/g)?.length;
  assertEquals(open, close);
  assertEquals(svg.match(/<(rect|line|polyline)\b[^>]*[^/]>/g), null);
});

Deno.test("analyzeRate: a CPU's count is the sum of its threads' inherited counts", async () => {
  const base = emptyAttr();
  const read = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |
    PERF_SAMPLE_READ;
  const attr = {
    ...base,
    sample_type: BigInt(read),
    read_format: BigInt(PERF_FORMAT_GROUP | PERF_FORMAT_ID),
    sample_period: 10n,
    flags: { ...base.flags, inherit: true },
  };
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr, ids: [5n] }] });
  const event = new PerfEvent(attr, [5n]);
  for (
    const [i, [tid, value]] of ([[7, 1000n], [8, 10n], [7, 2000n], [8, 20n]] as const).entries()
  ) {
    const body = {
      pid: 7,
      tid,
      time: BigInt(1000 + 100 * i),
      id: 5n,
      cpu: 0,
      read: { values: [{ value, id: 5n }] },
    };
    await writer.write(codec.encode({ type: 9, name: "SAMPLE", misc: 2, body }, { event }));
  }
  await writer.close();
  const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
  const { streams } = await analyzeRate(reader, { by: "cpu" });
  // The first sample's 1000 were counted before it; 10, 1000 and 10 came after it.
  assertEquals(Array.from(streams, ({ cpu, count, leftOut }) => [cpu, count, leftOut]), [[
    0,
    1020,
    0,
  ]]);
});
