import { check, layout } from "../hand_testing.ts";
import { HEADER_TRACING_DATA } from "./header_tracing_data.ts";

Deno.test("HEADER_TRACING_DATA: records with and without padding, and with data inside, are decoded", () => {
  check(HEADER_TRACING_DATA, layout().u32(0x1240, 0), { body: { size: 0x1240 } });
  check(HEADER_TRACING_DATA, layout().u32(0x1240), {
    body: { size: 0x1240, pad: new Uint8Array() },
  });
  check(HEADER_TRACING_DATA, layout().u32(6).text("\x17\x08\x44tra", 8), {
    body: { size: 6, data: Uint8Array.of(0x17, 8, 0x44, 0x74, 0x72, 0x61, 0, 0) },
  });
});
