import { assert, assertEquals } from "@std/assert";
import { corpusFiles } from "../../../tests/support/corpus.ts";
import { fixtureFiles } from "../../../tests/hostile/sweep.ts";
import { bytesSource, memorySink, PerfDataReader, PerfDataWriter } from "../mod.ts";
import { hasTablesFirst } from "./writer.ts";

/** Writes the records and features of a file to a file of the same layout. */
async function again(bytes: Uint8Array): Promise<Uint8Array | undefined> {
  let damaged = false;
  const diagnostics = () => void (damaged = true);
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics });
  if (!hasTablesFirst(reader)) return undefined;
  const sink = memorySink();
  const writer = await PerfDataWriter.like(sink, reader);
  for await (const batch of reader.batches({ inflate: false })) {
    const last = batch.count - 1;
    await writer.write(batch.bytes.subarray(batch.start(0), batch.start(last) + batch.size(last)));
    for await (const block of batch.payload ?? []) await writer.write(block);
  }
  if (damaged || reader.stats.skippedBytes > 0) return undefined;
  const features = [];
  for (const { id, section: { offset, size } } of reader.features) {
    features.push({ id, bytes: await reader.readSection(Number(offset), Number(size), "feature") });
  }
  await writer.close(features);
  return sink.bytes();
}

Deno.test("PerfDataWriter: copy gives the same bytes for any recording, like for sound ones", async () => {
  const corpus = corpusFiles().map(({ path }) => path);
  let copied = 0;
  let rewritten = 0;
  for (const path of [...fixtureFiles(), ...corpus]) {
    const bytes = await Deno.readFile(path);
    let reader: PerfDataReader;
    try {
      reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
    } catch {
      // Too few bytes are left.
      continue;
    }
    const sink = memorySink();
    await PerfDataWriter.copy(sink, reader);
    assertEquals(sink.bytes(), bytes, path);
    copied++;
    const same = await again(bytes);
    if (same === undefined) continue;
    assertEquals(same, bytes, path);
    rewritten++;
  }
  console.log(`${copied} recordings copied, ${rewritten} files written anew: all identical`);
  assert(copied >= (corpus.length > 0 ? 195 : 30), `${copied} copied`);
  assert(rewritten >= (corpus.length > 0 ? 150 : 20), `${rewritten} written anew`);
});
