import { check, layout } from "../hand_testing.ts";
import { HEADER_EVENT_TYPE } from "./header_event_type.ts";

Deno.test("HEADER_EVENT_TYPE: names with and without a NUL are decoded", () => {
  check(HEADER_EVENT_TYPE, layout().u64(0x1_0003).text("cycles", 8), {
    body: { event_id: 0x1_0003n, name: "cycles" },
  });
  check(HEADER_EVENT_TYPE, layout().u64(1).text("branches", 8), {
    body: { event_id: 1n, name: "branches", name_pad: new Uint8Array() },
  });
});
