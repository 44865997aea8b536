import { assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format/records";
import { fileSource } from "@perfdata/format/files";
import { Machine } from "../machine/machine.ts";
import { runEngine } from "../reading/run_engine.ts";
import { JoinedPlaces } from "./joined_places.ts";
import { Places } from "./places.ts";
import { RecordedObjects } from "./recorded_objects.ts";

Deno.test("Places.row: after the pass, known addresses give their place and new ones are added", async () => {
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

function timedPlaces(): Places {
  const recorded = new RecordedObjects({ littleEndian: true, isGoogleDialect: false });
  const places = new Places(new Machine(), recorded);
  places.times = new Float64Array(1);
  return places;
}

Deno.test("Places: with times, a place keeps the time of its first use, also after a join", () => {
  const places = timedPlaces();
  const object = places.addObject({ kind: "elf", path: "/guest/vmlinux" });
  const use = (now: number, address: number) => {
    places.now = now;
    return places.row(object, 0, address);
  };
  assertEquals([use(100, 16), use(101, 32), use(102, 16)], [0, 1, 0]);
  assertEquals([...places.times?.subarray(0, 2) ?? []], [100, 101]);
  // The other thread has one more place of another object before.
  const here = timedPlaces();
  here.now = 50;
  here.row(here.addObject({ kind: "elf", path: "/guest/other" }), 0, 16);
  const joined = new JoinedPlaces();
  // An object without a place yet.
  const later = places.addObject({ kind: "elf", path: "/guest/later" });
  joined.join(here, places.part(0, 0));
  places.now = 104;
  places.row(later, 0, 48);
  joined.join(here, places.part(2, 2));
  assertEquals([...joined.place.subarray(0, 3), ...joined.objects.subarray(0, 2)], [1, 2, 3, 1, 2]);
  assertEquals([...here.times?.subarray(0, 4) ?? []], [50, 100, 101, 104]);
  assertEquals([here.object(3), here.address(3), here.objects[2]?.path], [2, 48, "/guest/later"]);
});
