import { assert, assertEquals } from "@std/assert";
import { PerfDataReader } from "../mod.ts";

Deno.test("reader: a file in an endless stream is not read beyond its features", async () => {
  const path = new URL("../../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;
  const bytes = await Deno.readFile(path);
  let given = 0;
  const reader = await PerfDataReader.open({
    read(into) {
      const part = bytes.subarray(given, given + into.length);
      into.fill(0);
      into.set(part);
      given += into.length;
      return into.length;
    },
  });
  let records = 0;
  for await (const batch of reader.batches()) records += batch.count;
  assert(records > 20, `${records} records`);
  assertEquals(reader.features.length > 10, true);
  assert(given < bytes.length + (1 << 20), `${given} bytes were read of ${bytes.length}`);
});
