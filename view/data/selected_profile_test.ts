import { assert, assertEquals } from "@std/assert";
import { folded } from "@perfdata/export";
import { plainSamples, profileOf } from "../../packages/export/testing.ts";
import { Profile } from "pprof-format";
import { savedProfile } from "../worker/saved_profile.ts";
import { type Shown, ViewEngine } from "./view_engine.ts";
import { viewProfile } from "@perfdata/export/tree";

const SAMPLES = plainSamples(5000, 31);
const FIRST = Math.min(...SAMPLES.map(({ time }) => time));
const engine = new ViewEngine(viewProfile(profileOf(SAMPLES)));

const text = (chunks: Iterable<Uint8Array<ArrayBuffer>>) => new Blob([...chunks]).text();

Deno.test("savedProfile folded: a selection gives the text of a recording of these samples alone", async () => {
  let lines = 0;
  for (const inline of [true, false]) {
    for (const weight of ["period", "samples"] as const) {
      const shown: Shown = { event: 0, weight, inline, tids: [8, 9], from: 1e8, to: 2e9 };
      const own = SAMPLES.filter(({ event, thread, time }) =>
        event === 0 && thread[2] !== 7 && time - FIRST >= 1e8 && time - FIRST < 2e9
      );
      const wanted = await text(folded(profileOf(own), { event: 0, weight, inline }));
      assertEquals(await (await savedProfile(engine, shown, "folded")).text(), wanted);
      lines += wanted.split("\n").length;
    }
  }
  assert(lines > 1000, `${lines} lines`);
});

Deno.test("savedProfile speedscope, pprof, svg: have the sum of the selection", async () => {
  const shown: Shown = { event: 0, weight: "period", inline: true, pids: [9] };
  const sum = SAMPLES.filter(({ event, thread }) => event === 0 && thread[1] === 9)
    .reduce((all, { period }) => all + period, 0);
  const { profiles } = JSON.parse(await (await savedProfile(engine, shown, "speedscope")).text());
  const weights: number[] = profiles.flatMap(({ weights }: { weights: number[] }) => weights);
  assertEquals(weights.reduce((all, weight) => all + weight, 0), sum);
  const packed = await savedProfile(engine, shown, "pprof");
  const bytes = await new Response(
    packed.stream().pipeThrough(new DecompressionStream("gzip")),
  ).bytes();
  const { sample } = Profile.decode(bytes);
  const all = [0, 1, 2, 3].map((column) =>
    sample.reduce((all, { value }) => all + Number(value[column] ?? 0), 0)
  );
  const count = SAMPLES.filter(({ event, thread }) => event === 0 && thread[1] === 9).length;
  // Samples and periods of the event, without the other one.
  assertEquals(all.filter((value) => value > 0), [count, sum]);
  const svg = await (await savedProfile(engine, shown, "svg")).text();
  assert(svg.startsWith("<svg") || svg.startsWith("<?xml"), svg.slice(0, 40));
});
