/**
 * Measures selecting a range of time in the page's worker: sums of the range, and the boxes of its flame
 * graph. Prints the minimum and the median of some runs.
 *
 * usage: deno run -A bench/view.ts FILE
 */
import { openSource } from "@perfdata/format/files";
import { profileColumns, recordedProfile, SampleCollector } from "@perfdata/profile";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { localResolver } from "@perfdata/symbols/files";
import { ViewEngine } from "../view/data/view_engine.ts";
import { viewProfile } from "@perfdata/export/tree";

const RUNS = 15;
const [file = "perf.data"] = Deno.args;
const reader = await PerfDataReader.open(openSource(file));
const consumer = new SampleCollector(profileColumns({ timed: true }));
const { recorded } = await runEngine(reader, [consumer]);
const resolver = localResolver({ machine: recorded, debugInformation: false });
const { profile } = await recordedProfile(consumer, { resolver, title: file });
const made = viewProfile(profile);
const engine = new ViewEngine(made);
console.log(`${made.samples.length} samples, ${made.stacks.parent.length} stacks of functions`);

/** Prints the minimum and the median time of a function, called with a different range each time. */
function measure(name: string, run: (from: number, to: number) => void): void {
  const times = Array.from({ length: RUNS }, (_, i) => {
    const from = made.duration * i / (4 * RUNS);
    const start = performance.now();
    run(from, made.duration - from);
    return performance.now() - start;
  }).sort((a, b) => a - b);
  const [least = 0, middle = 0] = [times[0], times[RUNS >> 1]];
  console.log(`${name.padEnd(28)}${least.toFixed(1).padStart(8)} ms ${middle.toFixed(1)} ms`);
}

const shown = { event: 0, weight: "period", inline: true } as const;
const query = { zoom: [], least: 0.4 / 1200 } as const;
measure(
  "flame graph",
  (from, to) => engine.flame({ ...shown, from, to }, { ...query, direction: "down" }),
);
measure(
  "flame graph, callers",
  (from, to) => engine.flame({ ...shown, from, to }, { ...query, direction: "up" }),
);
measure("functions", (from, to) => engine.table({ ...shown, from, to }));
measure(
  "tracks of processes",
  (from, to) =>
    engine.tracks(
      { kind: "process", event: 0, weight: "period", from, to, bins: 600, most: 2000 },
      {},
    ),
);
