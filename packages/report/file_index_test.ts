import { assert, assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format";
import { fileSource } from "@perfdata/format/file-source";
import { guessRecord, makeIndex, type PartScan, scanPart } from "./file_index.ts";

const folder = new URL("../../fixtures/recorded/", import.meta.url).pathname;

async function scanned(
  reader: PerfDataReader,
  from: number,
  until?: number,
): Promise<PartScan> {
  const scan = await scanPart(reader, from, until);
  if (scan === undefined) throw new Error("not indexable");
  return scan;
}

for (const name of ["callchain", "rounds", "two-events", "namespaces"]) {
  Deno.test(`file index: the parts of ${name} make the whole, wherever it is cut`, async () => {
    using source = fileSource(`${folder}${name}.perf.data`);
    const reader = await PerfDataReader.open(source);
    const { offset } = reader.data;
    const offsets: number[] = [];
    for await (const batch of reader.batches()) {
      for (let i = 0; i < batch.count; i++) offsets.push(batch.offsetOf(i));
    }
    const { cuts: _, ...whole } = await makeIndex(reader, [await scanned(reader, offset)]);
    const step = Math.ceil(offsets.length / 40);
    for (let i = step; i < offsets.length; i += step) {
      const at = offsets[i] as number;
      const first = await scanned(reader, offset, at);
      assert(first.stopped);
      const { cuts, ...index } = await makeIndex(reader, [first, await scanned(reader, at)]);
      assertEquals(index, whole);
      assertEquals(cuts, [offset, at, reader.data.offset + reader.data.size]);
    }
  });

  Deno.test(`file index: where no record of ${name} starts, a part goes on to the end`, async () => {
    using source = fileSource(`${folder}${name}.perf.data`);
    const reader = await PerfDataReader.open(source);
    const { offset, size } = reader.data;
    const whole = await scanned(reader, offset);
    assertEquals(await scanned(reader, offset, offset + (size >> 1 & ~7) + 4), whole);
  });
}

Deno.test("file index: a guess is the next record", async () => {
  using source = fileSource(`${folder}rounds.perf.data`);
  const reader = await PerfDataReader.open(source);
  const offsets: number[] = [];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) offsets.push(batch.offsetOf(i));
  }
  assert(offsets.length > 150);
  for (let i = 0; i < offsets.length - 70; i += 7) {
    const near = (offsets[i] as number) + 1;
    assertEquals(await guessRecord(reader, near + 7), offsets[i + 1]);
  }
});
