import { assertEquals } from "@std/assert";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader, PerfDataWriter } from "@perfdata/format/records";
import { encodeFeature } from "@perfdata/format/features";
import { HEADER_SP_META_INFO } from "@perfdata/format/constants";
import { EventNames } from "./event_names.ts";

async function namesOf(
  types: readonly (readonly [type: number, config: bigint])[],
  lines: readonly string[],
): Promise<string[]> {
  const sink = memorySink();
  const events = types.map(([type, config], i) => ({
    attr: {
      ...emptyAttr(),
      ...{ type, config },
      flags: { ...emptyAttr().flags, exclude_guest: true },
    },
    ids: [BigInt(i) + 1n],
  }));
  const writer = await PerfDataWriter.file(sink, { events });
  const value = [
    { key: "simpleperf_version", value: "1.build.1" },
    { key: "event_type_info", value: lines.join("\n") },
  ];
  const id = HEADER_SP_META_INFO;
  await writer.close([{ id, bytes: encodeFeature({ id, name: "SP_META_INFO", value }) }]);
  return await new EventNames(await PerfDataReader.open(bytesSource(sink.bytes()))).all();
}

Deno.test("EventNames: META_INFO of simpleperf, with lines of 3 and of 7 fields, names tracepoints and PMU events", async () => {
  const types = [[1, 0n], [2, 91n], [2, 92n], [10, 0x11n]] as const;
  const three = ["cpu-clock,1,0", "sched:sched_switch,2,91", "cpu/event=0x11,umask=1/,10,17"];
  const names = [
    "cpu-clock",
    "sched:sched_switch",
    "unknown tracepoint",
    "cpu/event=0x11,umask=1/",
  ];
  assertEquals(await namesOf(types, three), names);
  assertEquals(await namesOf(types, three.map((line) => `${line},0,0,,`)), names);
  const seven = ["cpu-clock,1,0,a clock,,0,0", "sched:sched_switch,2,91,,,,"];
  assertEquals((await namesOf(types, seven)).slice(0, 2), names.slice(0, 2));
  // A line that is cut names nothing.
  assertEquals((await namesOf(types, ["sched:sched_switch,2"]))[1], "unknown tracepoint");
});
