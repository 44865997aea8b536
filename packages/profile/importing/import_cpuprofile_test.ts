import { assertEquals, assertRejects } from "@std/assert";
import { PerfDataError } from "@perfdata/format/bytes";
import { importCpuprofile } from "./import_cpuprofile.ts";
import { importedLines, textSource } from "./testing.ts";

const frame = (functionName: string, url = "", lineNumber = -1) => (
  { functionName, scriptId: "1", url, lineNumber, columnNumber: lineNumber < 0 ? -1 : 4 }
);
const NODES = [
  { id: 1, callFrame: frame("(root)"), hitCount: 0, children: [2, 4] },
  { id: 2, callFrame: frame("main", "file:///x/app.js", 0), hitCount: 1, children: [3] },
  { id: 3, callFrame: frame("", "file:///x/app.js", 9), hitCount: 2 },
  { id: 4, callFrame: frame("(idle)"), hitCount: 1 },
];
const PROFILE = {
  nodes: NODES,
  startTime: 1_000_000,
  endTime: 1_000_100,
  samples: [2, 3, 4, 3],
  timeDeltas: [10, 20, 30, 5],
};
const imported = (profile: unknown, options = {}) =>
  importCpuprofile(textSource(JSON.stringify(profile)), { title: "t", ...options });

Deno.test("importCpuprofile: a sample counts the time until the next, the last one until the end", async () => {
  const lines = importedLines(await imported(PROFILE));
  const main = "main@app.js:file:///x/app.js:1/2";
  assertEquals(lines, [
    `cpu; JavaScript -1/-1; 1; 20000; ${main}`,
    // 30 and 35 microseconds.
    `cpu; JavaScript -1/-1; 2; 65000; ${main} > (anonymous):10:5@app.js:file:///x/app.js:10/2`,
    "cpu; JavaScript -1/-1; 1; 5000; (idle)@?",
  ]);
  const { samples } = await imported(PROFILE, { timed: true });
  assertEquals([...samples.time ?? []].map((time) => time - 1e9), [10000, 30000, 60000, 65000]);
});

Deno.test("importCpuprofile: samples whose times go back are put in order", async () => {
  const profile = { ...PROFILE, samples: [2, 3, 2], timeDeltas: [10, 20, -15] };
  const { samples } = await imported(profile, { timed: true });
  assertEquals([...samples.time ?? []].map((time) => time - 1e9), [10000, 15000, 30000]);
  assertEquals([...samples.period], [5000, 15000, 70000]);
});

Deno.test("importCpuprofile: damage throws with the node or sample", async () => {
  const damaged: [profile: unknown, message: string][] = [
    [[], "no list nodes"],
    [{ ...PROFILE, nodes: [{}] }, "nodes[0] has no id"],
    [{ ...PROFILE, nodes: [...NODES, { ...NODES[2], id: 5, children: [3] }] }, "two callers"],
    [{ ...PROFILE, nodes: [{ ...NODES[2], children: [9] }] }, "node 3 calls node 9"],
    [{ ...PROFILE, nodes: [...NODES, { ...NODES[2], id: 5, children: [5] }] }, "in a circle"],
    [{ ...PROFILE, samples: [7, 7, 7, 7] }, "samples[0] is of no node"],
    [{ ...PROFILE, samples: [2] }, "1 samples and 4 timeDeltas"],
  ];
  for (const [profile, message] of damaged) {
    await assertRejects(() => imported(profile), PerfDataError, message);
  }
  const cut = () => importCpuprofile(textSource('{"nodes": [{"callFrame"'), { title: "t" });
  await assertRejects(cut, PerfDataError, "cpuprofile: ");
});

Deno.test("importCpuprofile: a hundred thousand calls in each other are imported", async () => {
  const count = 100_000;
  const nodes = Array.from({ length: count }, (_, i) => (
    { id: i + 1, callFrame: frame(`f${i}`), children: i + 1 < count ? [i + 2] : [] }
  ));
  const deep = { ...PROFILE, nodes, samples: [count], timeDeltas: [1] };
  assertEquals((await imported(deep)).stacks.parent.length, count);
});
