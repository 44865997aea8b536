import { assertEquals, assertMatch } from "@std/assert";
import { RatePlot } from "./rate_plot.ts";

const EVENTS = ["cycles", "faults"].map((name, i) => ({
  name,
  requestedFrequency: i === 0 ? 1000 : undefined,
  requestedPeriod: undefined,
}));

const POINT = {
  ...{ event: 0, cpu: 0, tid: -1, time: 0, interval: 1, count: undefined, delta: 1 },
  ...{ period: 10, rate: 1, frequency: 100 },
};

/** The points of each line. */
function polylines(svg: string): string[][] {
  return [...svg.matchAll(/points="([^"]*)"/g)].map(([, points = ""]) => points.split(" "));
}

/** The texts of the picture. */
function texts(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text = ""]) => text);
}

Deno.test("RatePlot: a counter has a line of periods and one of frequencies, from left to right", () => {
  const plot = new RatePlot();
  for (const time of [0, 500, 1000]) plot.point({ ...POINT, time, period: 10 + time });
  const svg = plot.svg(EVENTS);
  const [periods, frequencies, ...rest] = polylines(svg);
  assertEquals(rest, []);
  // The plot is 1000 wide, with 90 left and 180 right of its panels.
  assertEquals(periods?.map((point) => point.split(",")[0]), ["90.0", "455.0", "820.0"]);
  assertEquals(frequencies?.length, 3);
  const [first, , last] = (periods ?? []).map((point) => Number(point.split(",")[1]));
  // Larger values are higher, and equal values are level.
  assertEquals((first as number) > (last as number), true);
  assertEquals(new Set(frequencies?.map((point) => point.split(",")[1])).size, 1);
  assertEquals(texts(svg).includes("1000 Hz requested"), true);
});

Deno.test("RatePlot: counters are named and sorted by event, CPU and thread", () => {
  const plot = new RatePlot();
  for (
    const [event, cpu, tid] of [[1, 0, -1], [0, 2, 5], [0, 1, 9], [0, -1, 7], [0, 1, 8]] as const
  ) {
    plot.point({ ...POINT, event, cpu, tid });
  }
  const legend = texts(plot.svg(EVENTS)).filter((text) => /^(cycles|faults)/.test(text));
  assertEquals(legend, [
    ...["cycles tid 7", "cycles CPU 1 tid 8", "cycles CPU 1 tid 9", "cycles CPU 2 tid 5"],
    "faults CPU 0",
  ]);
});

Deno.test("RatePlot: a point without period or frequency is not drawn", () => {
  const plot = new RatePlot();
  plot.point({ ...POINT, period: undefined });
  plot.point({ ...POINT, frequency: undefined });
  assertEquals(polylines(plot.svg(EVENTS)).length, 0);
});

Deno.test("RatePlot: after 2000 points only every second one is kept", () => {
  const plot = new RatePlot();
  for (let i = 0; i < 1999; i++) plot.point({ ...POINT, time: i });
  assertEquals(polylines(plot.svg(EVENTS))[0]?.length, 1999);
  for (let i = 1999; i <= 3000; i++) plot.point({ ...POINT, time: i });
  const svg = plot.svg(EVENTS);
  // 0, 2, 4, …, 3000.
  assertEquals(polylines(svg).map(({ length }) => length), [1501, 1501]);
  assertMatch(svg, /cycles CPU 0 \(1 of 2\)/);
  const [points] = polylines(svg);
  assertEquals([
    points?.[0]?.split(",")[0],
    points?.[750]?.split(",")[0],
    points?.at(-1)?.split(",")[0],
  ], [
    ...["90.0", "455.0", "820.0"],
  ]);
});

Deno.test("RatePlot: throttlings are marked in both panels, other incidents are not", () => {
  const plot = new RatePlot();
  plot.point(POINT);
  plot.point({ ...POINT, time: 100 });
  const incident = { event: 0, cpu: 0, lost: 0 };
  plot.incident({ ...incident, what: "throttle", time: 50 });
  plot.incident({ ...incident, what: "unthrottle", time: 60 });
  plot.incident({ ...incident, what: "throttle", time: undefined });
  const svg = plot.svg(EVENTS);
  assertEquals(svg.match(/x1="455.0" x2="455.0"[^>]*#f4b6b6/g)?.length, 2);
  assertEquals(svg.match(/#f4b6b6/g)?.length, 2);
  assertEquals(texts(svg).at(-1), "light red: throttled");
  for (let i = 0; i < 2002; i++) plot.incident({ ...incident, what: "throttle", time: 5 });
  assertEquals(
    texts(plot.svg(EVENTS)).at(-1),
    "light red: throttled; 3 more throttlings not drawn",
  );
});
