import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { emptyAttr } from "../header/attr.ts";
import { directorySource, openDirectorySource } from "./directory_source.ts";
import { PerfDataError } from "../error.ts";
import { PerfDataReader } from "../reading/reader.ts";
import { memorySink } from "./sink.ts";
import { bytesSource } from "./source.ts";
import { PerfDataWriter } from "../writing/writer.ts";

/** A COMM record of a thread, with `8 + 8 + 8 * words` bytes. */
function comm(tid: number, words: number): Uint8Array {
  const record = new Uint8Array(16 + 8 * words);
  const view = new DataView(record.buffer);
  view.setUint32(0, 3, true);
  view.setUint16(6, record.length, true);
  view.setUint32(12, tid, true);
  return record;
}

/** A file with records and a feature. */
async function file(records: readonly Uint8Array[]): Promise<Uint8Array> {
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr: emptyAttr() }] });
  for (const record of records) await writer.write(record);
  await writer.close([{ id: 24, bytes: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0) }]);
  return sink.bytes();
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

async function read(data: Uint8Array, parts: readonly Uint8Array[]) {
  const reported: string[] = [];
  const source = directorySource(bytesSource(data), parts.map(bytesSource));
  const reader = await PerfDataReader.open(source, {
    diagnostics: ({ message }) => void reported.push(message),
  });
  const tids: number[] = [];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      tids.push(batch.view.getUint32(batch.start(i) + 12, batch.littleEndian));
    }
  }
  const features = await Promise.all(
    reader.features.map(async ({ id, section }) => [
      id,
      ...await reader.readSection(Number(section.offset), Number(section.size), "feature"),
    ]),
  );
  return { tids, features, reported, size: source.size };
}

const FEATURES = [[24, 1, 0, 0, 0, 0, 0, 0, 0]];

Deno.test("directorySource: gives the records of all files in order, then the features", async () => {
  const words = fc.array(fc.nat(20), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(
      words.filter((list) => list.length > 0),
      fc.array(words, { maxLength: 4 }),
      async (own, parts) => {
        let tid = 0;
        const records = [own, ...parts].map((list) => list.map((words) => comm(tid++, words)));
        const data = await file(records[0] ?? []);
        const others = records.slice(1).map(concat);
        const { tids, features, reported, size } = await read(data, others);
        assertEquals(tids, Array.from({ length: tid }, (_, i) => i));
        assertEquals([features, reported], [FEATURES, []]);
        assertEquals(size, data.length + others.reduce((sum, part) => sum + part.length, 0));
      },
    ),
  );
});

Deno.test("directorySource: damage in a file is reported, the next file is read", async () => {
  const data = await file([comm(0, 1)]);
  const cut = concat([comm(1, 0), comm(2, 9).subarray(0, 24)]);
  const broken = concat([comm(3, 0), new Uint8Array(16), comm(4, 0)]);
  const { tids, reported, features } = await read(data, [cut, broken, comm(5, 2)]);
  assertEquals(tids, [0, 1, 3, 5]);
  assertEquals(reported.length, 2, reported.join("\n"));
  assertEquals(reported[1]?.includes("32 bytes, is skipped"), true, reported[1]);
  assertEquals(features, FEATURES);
});

Deno.test("directorySource: a killed recording gives all records and no features", async () => {
  const data = await file([comm(0, 1), comm(1, 1)]);
  const view = new DataView(data.buffer, data.byteOffset);
  const end = Number(view.getBigUint64(40, true) + view.getBigUint64(48, true));
  view.setBigUint64(48, 0n, true);
  data.fill(0, 72, 104);
  const { tids, reported, features } = await read(data.subarray(0, end), [comm(2, 0)]);
  assertEquals([tids, features, reported], [[0, 1, 2], [], []]);
});

Deno.test("directorySource: a file data without a header throws", () => {
  assertThrows(() => directorySource(bytesSource(comm(0, 5)), []), PerfDataError, "magic");
});

Deno.test("openDirectorySource: if a file cannot be opened, the files before it are closed", async () => {
  const bytes = await file([]);
  const open: string[] = [];
  const opened = (broken?: string) => (name: string) => {
    if (name === broken) throw new Error(`${name}: not there`);
    open.push(name);
    return { ...bytesSource(bytes), close: () => void open.splice(open.indexOf(name), 1) };
  };
  const names = ["data.10", "kcore_dir", "data.2", "data"];
  const source = openDirectorySource(names, opened());
  assertEquals(open, ["data", "data.2", "data.10"]);
  source.close();
  assertEquals(open, []);
  assertThrows(() => openDirectorySource(names, opened("data.10")), Error, "data.10: not there");
  assertEquals(open, []);
  assertThrows(() => openDirectorySource(["data.0"], opened()), PerfDataError, "no 'data' file");
});
