import { assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format/records";
import { fileSource } from "@perfdata/format/files";
import { runEngine } from "../reading/run_engine.ts";

Deno.test("places that are looked for after the run are found, and added where they are new", async () => {
  const path = new URL("../../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;
  using source = fileSource(path);
  const reader = await PerfDataReader.open(source);
  const { places } = await runEngine(reader, [{ needs: { stacks: true }, rows: () => {} }]);
  const { count } = places;
  for (let place = 0; place < count; place++) {
    assertEquals(places.row(places.object(place), places.hi(place), places.lo(place)), place);
  }
  const added = places.before(0);
  assertEquals([places.object(added), places.address(added)], [
    places.object(0),
    places.address(0) - 1,
  ]);
  assertEquals(places.before(0), added);
});
