import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { runEngine } from "@perfdata/session";
import type { RecordedMachine } from "@perfdata/symbols/resolver";
import { openResolver } from "@perfdata/symbols/files";
import { assert, assertEquals } from "@std/assert";
import { chooseSamples } from "./choose.ts";

const recorded = new URL("../../../fixtures/recorded/", import.meta.url);

function open(name: string): Promise<PerfDataReader> {
  return PerfDataReader.open(bytesSource(Deno.readFileSync(new URL(name, recorded))));
}

Deno.test("chooseSamples: the resolver gets the recorded machine, for a file and a pipe", async () => {
  for (const name of ["callchain.perf.data", "pipe.perf.data"]) {
    const seen: RecordedMachine[] = [];
    await chooseSamples(await open(name), { symbol: () => true }, (machine) => {
      seen.push(machine);
      return openResolver({ parameters: false, debugInformation: false });
    });
    // As printed by `perf report --header-only`.
    const bytes = new TextDecoder("latin1").decode(Deno.readFileSync(new URL(name, recorded)));
    assertEquals(seen.length, 1);
    const [{ release, arch } = {}] = seen;
    assert(release !== undefined && bytes.includes(`${release}\0`), `${release}`);
    assertEquals(arch, "x86_64");
  }
});

Deno.test("chooseSamples: dso receives the printed name of an object, without its directory", async () => {
  const reader = await open("callchain.perf.data");
  const shown = new Set<string>();
  const all = await chooseSamples(reader, {
    dso: (name) => shown.add(name) !== undefined,
  }, undefined);
  let samples = 0;
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) if (batch.type(i) === PERF_RECORD_SAMPLE) samples++;
  }
  assertEquals(all.count, samples);
  assert(shown.size > 1 && [...shown].every((name) => !name.includes("/")), [...shown].join());
});

Deno.test("chooseSamples: with a time range, gives all matching samples in it", async () => {
  const samples: [offset: number, time: bigint][] = [];
  await runEngine(await open("rounds.perf.data"), [{
    needs: { places: true },
    rows(run) {
      for (let i = 0; i < run.count; i++) {
        if (run.type[i] !== PERF_RECORD_SAMPLE) continue;
        samples.push([run.offset[i] as number, run.time(i)]);
      }
    },
  }]);
  const [from, to] = [0.3, 0.6].map((share) => samples[Math.floor(share * samples.length)]?.[1]);
  const time = [from as bigint, to as bigint] as const;
  const resolver = () => openResolver({ parameters: false, debugInformation: false });
  for (
    const names of [
      { dso: (name: string) => name !== "[kernel.kallsyms]" },
      { dso: (name: string) => name !== "[kernel.kallsyms]", anywhere: true },
      { comm: (name: string) => name.length > 0 },
      { symbol: () => true, dso: () => true },
    ]
  ) {
    const of = "symbol" in names ? resolver : undefined;
    const all = await chooseSamples(await open("rounds.perf.data"), names, of);
    const options = { filter: { time }, blockBytes: 1 << 12 };
    const some = await chooseSamples(await open("rounds.perf.data"), names, of, options);
    let count = 0;
    for (const [offset, at] of samples) {
      const isIn = at >= time[0] && at <= time[1] && all.records.has(offset);
      assertEquals(some.records.has(offset), isIn, `${Object.keys(names)} at ${offset}`);
      if (isIn) count++;
    }
    assertEquals(some.count, count);
  }
  console.log(`${samples.length} samples, chosen within a time`);
  assert(samples.length > 100);
});
