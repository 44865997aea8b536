import { assert, assertEquals } from "@std/assert";
import { fileSource } from "@perfdata/format/files";
import type { RandomAccessSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { samplesProfile } from "@perfdata/perfdata/collect";
import { SymbolResolver } from "@perfdata/symbols";
import { RecordingService } from "./recording_service.ts";

const FOLDER = "fixtures/";
const NO_FILES = { open: () => undefined, read: () => undefined };

/** Collects the samples of a recording in a pass of its service. */
async function collectIn(service: RecordingService, source: RandomAccessSource): Promise<number> {
  return await service.pass(async ({ index, beside, counted }) => {
    const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
    const { engine, collector } = await samplesProfile(reader, { timed: true, index, beside }, {
      title: "",
      symbols: () => new SymbolResolver(NO_FILES),
      diagnostics: () => {},
    });
    counted(engine);
    return collector.samples;
  });
}

/** A recording that counts the bytes that are read. */
function watched(source: RandomAccessSource): { source: RandomAccessSource; read: () => number } {
  let bytes = 0;
  return {
    source: {
      ...source,
      readAt(into, position) {
        bytes += into.length;
        return source.readAt(into, position);
      },
    },
    read: () => bytes,
  };
}

for (
  const name of [
    "recorded/callchain",
    "recorded/killed",
    "recorded/pipe",
    "recorded/read",
    "recorded/rounds",
    "recorded/zstd",
    "synthesized/edges",
    "synthesized/records-pipe",
  ]
) {
  Deno.test(`RecordingService.pass: info is that of a pass of its own: ${name}`, async () => {
    using source = fileSource(`${FOLDER}${name}.perf.data`);
    const alone = await new RecordingService(source, name).info();
    const service = new RecordingService(source, name);
    const [samples, shared] = await Promise.all([collectIn(service, source), service.info()]);
    assertEquals(shared, alone);
    // A second profile, as of another weight, does not change it.
    assertEquals(await collectIn(service, source), samples);
    assertEquals(await service.info(), alone);
  });
}

Deno.test("RecordingService.pass: index, samples and info need one scan and one pass over the records", async () => {
  using file = fileSource(`${FOLDER}recorded/all-cpus.perf.data`);
  const { source, read } = watched(file);
  const service = new RecordingService(source, "all-cpus");
  await Promise.all([service.index(), collectIn(service, source), service.info()]);
  const { data } = await PerfDataReader.open(file);
  const others = file.size - data.size;
  assert(read() >= 2 * data.size);
  assert(read() < 2 * data.size + 20 * others, `${read()} bytes of ${data.size}`);
});

Deno.test("RecordingService.info: after a pass that failed, it reads the samples itself", async () => {
  using source = fileSource(`${FOLDER}recorded/callchain.perf.data`);
  const alone = await new RecordingService(source, "callchain").info();
  const service = new RecordingService(source, "callchain");
  const pass = service.pass(() => Promise.reject(new Error("cancelled")));
  const info = service.info();
  await pass.catch(() => {});
  assertEquals(await info, alone);
});
