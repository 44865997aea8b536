import { assert, assertEquals } from "@std/assert";
import { PerfDataReader } from "../mod.ts";

Deno.test("of a file that comes as a stream with no end, what is after its features is not read", async () => {
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
