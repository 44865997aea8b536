import { bytesSource, PERF_RECORD_SAMPLE, PerfDataReader } from "@perfdata/format";
import type { RecordedMachine } from "@perfdata/symbols";
import { openResolver } from "@perfdata/symbols/open-resolver";
import { assert, assertEquals } from "@std/assert";
import { chooseSamples } from "./choose.ts";

const recorded = new URL("../../fixtures/recorded/", import.meta.url);

function open(name: string): Promise<PerfDataReader> {
  return PerfDataReader.open(bytesSource(Deno.readFileSync(new URL(name, recorded))));
}

Deno.test("chooseSamples: the resolver knows the recorded machine, of a file and of a pipe", async () => {
  for (const name of ["callchain.perf.data", "pipe.perf.data"]) {
    const seen: RecordedMachine[] = [];
    await chooseSamples(await open(name), { symbol: () => true }, (machine) => {
      seen.push({ release: machine.release, arch: machine.arch });
      return openResolver({ parameters: false, debugInformation: false });
    });
    // As `perf report --header-only` prints them.
    const bytes = new TextDecoder("latin1").decode(Deno.readFileSync(new URL(name, recorded)));
    assertEquals(seen.length, 1);
    const [{ release, arch } = {}] = seen;
    assert(release !== undefined && bytes.includes(`${release}\0`), `${release}`);
    assertEquals(arch, "x86_64");
  }
});

Deno.test("chooseSamples: an object is known by the name that is shown, not by its directory", async () => {
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
