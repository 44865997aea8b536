import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { directorySource, PerfDataReader, type WriterFeature } from "@perfdata/format/records";
import {
  featureName,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/constants";
import { assert, assertEquals } from "@std/assert";
import { copyRecording, type Edit } from "./copy.ts";
import { mergeRecordings } from "../merge/merge.ts";
import { runEngine } from "@perfdata/session";
import { FileOutput } from "./recording_output.ts";
import { Redact } from "../redact/redact.ts";
import { Slice } from "../slice/slice.ts";

const directory = new URL("../../../fixtures/recorded/directory.perf.data/", import.meta.url);
const ROUND = Uint8Array.of(PERF_RECORD_FINISHED_ROUND, 0, 0, 0, 0, 0, 8, 0);

/** Opens the recorded directory, with a FINISHED_ROUND at the end of each file. */
async function openDirectory(): Promise<PerfDataReader> {
  const names = [...Deno.readDirSync(directory)].map(({ name }) => name).sort();
  const [data, ...parts] = names.map((name) => Deno.readFileSync(new URL(name, directory)));
  assert(data !== undefined && parts.length > 0);
  return await PerfDataReader.open(directorySource(
    bytesSource(data),
    parts.map((part) => bytesSource(new Uint8Array([...part, ...ROUND]))),
  ));
}

async function counted(reader: PerfDataReader) {
  let [samples, rounds] = [0, 0];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      if (batch.type(i) === PERF_RECORD_SAMPLE) samples++;
      if (batch.type(i) === PERF_RECORD_FINISHED_ROUND) rounds++;
    }
  }
  return { samples, rounds, features: reader.features.map(({ id }) => featureName(id)).sort() };
}

Deno.test("copyRecording: a directory becomes a file with all records but FINISHED_ROUND, without DIR_FORMAT", async () => {
  const reader = await openDirectory();
  const before = await counted(reader);
  assert(before.samples > 0 && before.rounds > 0 && before.features.includes("DIR_FORMAT"));
  const features = before.features.filter((name) => name !== "DIR_FORMAT");
  const made: WriterFeature = { id: 200, bytes: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8) };
  const edits: readonly (readonly [Edit, readonly string[]])[] = [
    [{}, features],
    [{ newFeatures: () => [made] }, [...features, featureName(made.id)].sort()],
    [new Slice(reader, {}), features],
    [new Redact(reader), features],
  ];
  for (const [edit, expected] of edits) {
    const sink = memorySink();
    await copyRecording(await openDirectory(), new FileOutput(sink), { edit });
    const after = await counted(await PerfDataReader.open(bytesSource(sink.bytes())));
    assertEquals(after, { samples: before.samples, rounds: 0, features: expected });
  }
  const sink = memorySink();
  await mergeRecordings(
    [{ name: "directory", reader: await openDirectory() }],
    new FileOutput(sink),
  );
  const merged = await counted(await PerfDataReader.open(bytesSource(sink.bytes())));
  assertEquals(merged.samples, before.samples);
  // The new FINISHED_ROUND records are correct: no record is too late.
  const again = await PerfDataReader.open(bytesSource(sink.bytes()));
  const { order } = await runEngine(again, [{ needs: {}, rows: () => {} }]);
  assertEquals(order.violations, 0);
  assert(!merged.features.includes("DIR_FORMAT"));
});
