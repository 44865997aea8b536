import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { assertEquals, assertMatch } from "@std/assert";
import { type Impossible, impossibleRecording } from "../../../fixtures/synthesize/impossible.ts";
import { infoLines } from "./info_text.ts";
import { recordingInfo } from "./info.ts";

/** The lines of `info` about impossible values. */
async function lines(values: Impossible): Promise<string[]> {
  const source = bytesSource(await impossibleRecording(values));
  const info = await recordingInfo(await PerfDataReader.open(source));
  assertEquals([info.samples, info.objects.identified], [400, 400]);
  return infoLines(info, 0, "perf.data").filter((line) => line.includes("leave out what is wrong"));
}

Deno.test("info: usual periods, weights, times and build ids give no warning", async () => {
  assertEquals(await lines({}), []);
});

Deno.test("info: a sample five hours after 399 others gives a warning", async () => {
  const [line = "", ...others] = await lines({ time: 5n * 3600n * 1_000_000_000n });
  assertMatch(line, /1 of 400 samples has a time 5\.0 hours or more from all others/);
  assertEquals(others, []);
});

Deno.test("info: a weight of 2^40 among 399 of 5 gives a warning", async () => {
  const [line = "", ...others] = await lines({ weight: 1n << 40n });
  assertMatch(line, /one of 400 samples of .* has a weight of 1099511627776, 100\.0% of all/);
  assertEquals(others, []);
});

Deno.test("info: a build id of two kernel modules gives a warning with both names", async () => {
  const [line = "", ...others] = await lines({ sharesBuildId: true });
  assertMatch(
    line,
    /2 modules of the kernel have the build id (?:ab){20}, \/lib\/modules\/6\.1\/ext4\.ko and .*xfs\.ko/,
  );
  assertEquals(others, []);
});
