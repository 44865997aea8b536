import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { assertEquals } from "@std/assert";
import { schedulerRecording } from "../../session/intervals/testing.ts";
import { mapLine, SchedulerMap, type SchedulerMapRow } from "./map.ts";

/** Rows of switches `[time, cpu, to]`. */
function rowsOf(switches: readonly (readonly [number, number, number])[]): SchedulerMapRow[] {
  const rows: SchedulerMapRow[] = [];
  const map = new SchedulerMap((row) => void rows.push(row));
  for (const [time, cpu, to] of switches) map.switched({ time, cpu, from: 0, state: 0, to });
  return rows;
}

Deno.test("SchedulerMap: threads get the names A0, B0 … when they first occur, idle is a dot", () => {
  const rows = rowsOf([[1, 0, 7], [2, 1, 8], [3, 0, 0], [4, 1, 7]]);
  assertEquals(rows.map(({ cpus, tid, isNew }) => [cpus.join(), tid, isNew]), [
    ["A0", 7, true],
    ["A0,B0", 8, true],
    [".,B0", 0, true],
    [".,A0", 7, false],
  ]);
});

Deno.test("SchedulerMap: Z0 is followed by A1, Z9 by A0 again", () => {
  const rows = rowsOf(Array.from({ length: 261 }, (_, i) => [i, 0, i + 1] as const));
  assertEquals([25, 26, 27, 259, 260].map((i) => rows[i]?.cpus[0]), ["Z0", "A1", "B1", "Z9", "A0"]);
});

Deno.test("SchedulerMap: an impossible CPU is dropped, one in between is unknown", () => {
  assertEquals(rowsOf([[1, -1, 7], [2, 4096, 7]]), []);
  assertEquals(rowsOf([[1, 2, 7]])[0]?.cpus, ["", "", "A0"]);
});

Deno.test("SchedulerMap: the child of an unnamed thread has its own id as name", async () => {
  const bytes = await schedulerRecording([
    { time: 100n, tid: 9, to: [1, 0n] },
    { time: 110n, tid: 7, task: "fork" }, // of thread 1
    { time: 120n, tid: 1, to: [7, 0n] },
    { time: 130n, tid: 7, task: "seven" },
    { time: 140n, tid: 7, to: [9, 0n] },
    { time: 150n, tid: 9, to: [7, 0n] },
  ]);
  const names: string[] = [];
  const map = new SchedulerMap(({ comm }) => void names.push(comm));
  await runEngine(await PerfDataReader.open(bytesSource(bytes)), [map]);
  assertEquals(names, [":1", ":7", ":9", "seven"]);
});

Deno.test("mapLine: a star marks the CPU that switched, seconds have six decimals, new threads a legend", () => {
  const row = { time: 12_345_678_901n, cpu: 1, cpus: ["A0", ".", ""], tid: 0, comm: "swapper" };
  assertEquals(
    mapLine({ ...row, isNew: true }),
    `   A0 *.  ${" ".repeat(4)}  ${"12.345678".padStart(12)} secs .  => swapper:0`,
  );
  assertEquals(
    mapLine({ ...row, cpu: 0, tid: 7, comm: "a\x1bb", isNew: false }),
    `  *A0  .  ${" ".repeat(4)}  ${"12.345678".padStart(12)} secs `,
  );
});
