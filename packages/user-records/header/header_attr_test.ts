import { assert, assertEquals } from "@std/assert";
import { emptyAttr, RecordCodec } from "@perfdata/format/records";
import { check, layout, recordBytes } from "../hand_testing.ts";
import { HEADER_ATTR } from "./header_attr.ts";

Deno.test("HEADER_ATTR: an attr of the first size and the ids are decoded", () => {
  check(
    HEADER_ATTR,
    layout().u32(1, 64).u64(2).u64(4000).u64(0x7).u64(0)
      // disabled and freq are bits 0 and 10 of a bit field, which a big-endian compiler mirrors.
      .hex("01 04 00 00 00 00 00 00", "80 20 00 00 00 00 00 00")
      .u32(1, 0).u64(0)
      .u64(10, 11),
    {
      body: {
        attr: {
          ...emptyAttr(),
          type: 1,
          size: 64,
          config: 2n,
          sample_period: 4000n,
          sample_type: 7n,
          flags: { ...emptyAttr().flags, disabled: true, freq: true },
          wakeup_events: 1,
        },
        id: [10n, 11n],
      },
    },
  );
});

Deno.test("HEADER_ATTR: an attr size that is too small or too large is an error", () => {
  const codec = new RecordCodec([HEADER_ATTR]);
  const located = (size: number) => {
    const decoded = codec.decode(recordBytes(64, 0, layout().u32(1, size).u64(0), true));
    assert(decoded.name === "RAW");
    return decoded.error?.located();
  };
  assertEquals(
    located(4),
    "0x8: HEADER_ATTR: perf_event_attr: size is 4, expected at least 8",
  );
  assertEquals(
    located(64),
    "0x8: HEADER_ATTR: perf_event_attr: 16 bytes left, expected 64",
  );
});
