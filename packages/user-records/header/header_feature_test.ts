import { assertEquals } from "@std/assert";
import { decodeFeature } from "@perfdata/format/features";
import { check, layout } from "../hand_testing.ts";
import { HEADER_FEATURE } from "./header_feature.ts";

Deno.test("HEADER_FEATURE: the feature's number and section are decoded", () => {
  const data = layout().u32(8, 6).bytes(true);
  check(HEADER_FEATURE, layout().u64(7).u8(...data), { body: { feat_id: 7n, data } });
  const feature = decodeFeature(7, data);
  assertEquals(feature.name === "NRCPUS" && feature.value.nr_cpus_avail, 8);
});
