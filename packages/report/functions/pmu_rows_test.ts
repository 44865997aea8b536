import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { assertEquals } from "@std/assert";
import { eventsRecording } from "../../../fixtures/synthesize/events.ts";
import { functions, type FunctionsOptions } from "./testing.ts";

async function rows(options: FunctionsOptions): Promise<unknown[]> {
  const events = { "cpu_atom/cycles/P": 2, "faults": 3, "cpu_core/cycles/P": 6 };
  const reader = await PerfDataReader.open(bytesSource(await eventsRecording(events)));
  return (await functions(reader, options)).map(({ eventName, pmu, samples, overhead }) => [
    ...[eventName, pmu, samples, overhead],
  ]);
}

Deno.test("funcs --sort pmu: an event of two PMUs is one, with a row and a share for each PMU", async () => {
  assertEquals(await rows({ sort: ["pmu"] }), [
    ["cycles:P", "cpu_core", 6, 6 / 8],
    ["cycles:P", "cpu_atom", 2, 2 / 8],
    ["faults", "N/A", 3, 1],
  ]);
});

Deno.test("funcs --sort pmu --event: one PMU's event is not joined", async () => {
  assertEquals(await rows({ sort: ["pmu"], events: new Set([0]) }), [
    ["cpu_atom/cycles/P", "cpu_atom", 2, 1],
  ]);
});

Deno.test("funcs without --sort pmu: events of two PMUs stay apart", async () => {
  assertEquals(await rows({ sort: ["pid"] }), [
    ["cpu_atom/cycles/P", undefined, 2, 1],
    ["faults", undefined, 3, 1],
    ["cpu_core/cycles/P", undefined, 6, 1],
  ]);
});
