import { assert, assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format/records";
import { profileColumns, SampleCollector } from "@perfdata/profile";
import { SymbolResolver } from "@perfdata/symbols";
import { pathSource } from "./doors/files.ts";
import { collectSamples } from "./samples_profile.ts";

const RECORDED = new URL("../../fixtures/recorded/", import.meta.url).pathname;

/** Collects the samples of a recording, and counts how often symbols are opened. */
async function collected(name: string, filter?: { readonly pids: ReadonlySet<number> }) {
  const source = pathSource(RECORDED + name);
  const collector = new SampleCollector(profileColumns({}));
  let opened = 0;
  try {
    const { symbols } = await collectSamples(await PerfDataReader.open(source), collector, {
      filter,
    }, {
      symbols: () => {
        opened++;
        return new SymbolResolver({ open: () => undefined, read: () => undefined });
      },
    });
    const before = opened;
    const resolver = await symbols();
    assertEquals(await symbols(), resolver);
    return { before, opened, samples: collector.samples };
  } finally {
    source.close();
  }
}

Deno.test("collectSamples: symbols are opened once, for copies of stacks or for names", async () => {
  const copies = await collected("dwarf.perf.data");
  assertEquals([copies.before, copies.opened], [1, 1]);
  const chains = await collected("callchain.perf.data");
  assertEquals([chains.before, chains.opened], [0, 1]);
  assert(copies.samples > 0 && chains.samples > 0);
});

Deno.test("collectSamples: a filter chooses the samples", async () => {
  assertEquals((await collected("callchain.perf.data", { pids: new Set([1]) })).samples, 0);
});
