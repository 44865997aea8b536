import { assert, assertEquals } from "@std/assert";
import { RecordCodec } from "@perfdata/format/records";
import { EVENT_UPDATE } from "./event_update.ts";
import { check, layout, recordBytes } from "../hand_testing.ts";

Deno.test("EVENT_UPDATE: unit, scale, name and CPUs are decoded", () => {
  check(EVENT_UPDATE, layout().u64(0, 969).text("Joules", 8), {
    body: { type: 0n, id: 969n, unit: "Joules" },
  });
  check(
    EVENT_UPDATE,
    // 0.25 is 2^-2: exponent 0x3fd, no fraction.
    layout().u64(1, 969).hex("00 00 00 00 00 00 d0 3f", "3f d0 00 00 00 00 00 00"),
    { body: { type: 1n, id: 969n, scale: 0.25 } },
  );
  check(EVENT_UPDATE, layout().u64(2, 969).text("cycles:u", 16), {
    body: { type: 2n, id: 969n, name: "cycles:u" },
  });
  check(EVENT_UPDATE, layout().u64(3, 969).u16(0, 2, 0, 4), {
    body: { type: 3n, id: 969n, cpus: { type: 0, cpus_data: { cpu: [0, 4] } } },
  });
});

Deno.test("EVENT_UPDATE: padding of CPUs and updates of unknown type are kept", () => {
  check(EVENT_UPDATE, layout().u64(3, 1).u16(2).u8(0, 0).u16(0, 3), {
    body: {
      type: 3n,
      id: 1n,
      cpus: { type: 2, range_cpu_data: { any_cpu: 0, start_cpu: 0, end_cpu: 3 } },
    },
  });
  check(EVENT_UPDATE, layout().u64(3, 1).u16(0, 1, 3).u16(0), {
    body: { type: 3n, id: 1n, cpus: { type: 0, cpus_data: { cpu: [3] } } },
  });
  check(EVENT_UPDATE, layout().u64(4, 1).u8(1, 2, 3), {
    body: { type: 4n, id: 1n, data: Uint8Array.of(1, 2, 3) },
  });
});

Deno.test("EVENT_UPDATE: a scale that is not a number stays raw", () => {
  const bytes = recordBytes(78, 0, layout().u64(1, 1).u64(0x7ff4_0000_0000_0001n), true);
  const decoded = new RecordCodec([EVENT_UPDATE]).decode(bytes);
  assert(decoded.name === "RAW");
  assertEquals(decoded.error?.message, "EVENT_UPDATE: double: not a number");
});
