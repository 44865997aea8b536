import { assert, assertEquals, assertThrows } from "@std/assert";
import { RecordCodec } from "@perfdata/format/records";
import { CPU_MAP, type CpuMap, cpusOf } from "./cpu_map.ts";
import { check, layout, recordBytes } from "../hand_testing.ts";

Deno.test("CPU_MAP: a list, padded to 8 bytes, is decoded", () => {
  const body: CpuMap = { type: 0, cpus_data: { cpu: [0, 2, 0xffff] } };
  check(CPU_MAP, layout().u16(0, 3, 0, 2, -1).u16(0, 0, 0), { body });
  assertEquals(cpusOf(body), [0, 2, -1]);
  check(CPU_MAP, layout().u16(0, 2, 1, 3), { body: { type: 0, cpus_data: { cpu: [1, 3] } } });
});

Deno.test("CPU_MAP: a mask of 64-bit words begins at its unaligned offset", () => {
  const body: CpuMap = {
    type: 1,
    mask_data: { long_size: 8, mask: [0x8000_0000_0000_0001n, 0x2n] },
  };
  check(
    CPU_MAP,
    layout().u16(1, 2, 8).u32(0).u64(0x8000_0000_0000_0001n, 2).u16(0, 0, 0),
    { body },
  );
  assertEquals(cpusOf(body), [0, 63, 65]);
});

Deno.test("CPU_MAP: a mask of 32-bit words has no padding before it", () => {
  const body: CpuMap = { type: 1, mask_data: { long_size: 4, mask: [0x8000_0001, 0x2] } };
  check(CPU_MAP, layout().u16(1, 2, 4).u32(0x8000_0001, 2).u16(0), { body });
  assertEquals(cpusOf(body), [0, 31, 33]);
});

Deno.test("CPU_MAP: a range is decoded", () => {
  const body: CpuMap = { type: 2, range_cpu_data: { any_cpu: 1, start_cpu: 0, end_cpu: 3 } };
  check(CPU_MAP, layout().u16(2).u8(1, 0).u16(0, 3), { body });
  assertEquals(cpusOf(body), [-1, 0, 1, 2, 3]);
});

Deno.test("CPU_MAP: padding other than zeros, or of another length, is kept", () => {
  check(CPU_MAP, layout().u16(1, 1, 8).u8(0, 0, 5, 0).u64(1).u8(1, 2, 3, 4, 5, 6), {
    body: {
      type: 1,
      mask_data: { long_size: 8, __pad: Uint8Array.of(0, 0, 5, 0), mask: [1n] },
      padding: Uint8Array.of(1, 2, 3, 4, 5, 6),
    },
  });
  check(CPU_MAP, layout().u16(0, 1, 7), {
    body: { type: 0, cpus_data: { cpu: [7] }, padding: new Uint8Array() },
  });
  check(CPU_MAP, layout().u16(9).u8(1, 2, 3, 4, 5, 6, 7), {
    body: { type: 9, padding: Uint8Array.of(1, 2, 3, 4, 5, 6) },
    tail: Uint8Array.of(7),
  });
  assertEquals(cpusOf({ type: 9 }), []);
});

Deno.test("CPU_MAP: an impossible word size or length gives RAW", () => {
  const codec = new RecordCodec([CPU_MAP]);
  const odd = codec.decode(recordBytes(74, 0, layout().u16(1, 1, 5).u64(0).u16(0), true));
  assert(odd.name === "RAW");
  assertEquals(
    odd.error?.located(),
    "0xe: CPU_MAP: unsigned long[]: long_size is 5, expected 4 or 8",
  );
  const long = codec.decode(recordBytes(74, 0, layout().u16(0, 4, 1, 2, 3), true));
  assert(long.name === "RAW");
  assertEquals(long.error?.located(), "0xc: CPU_MAP: u16[4]: 6 bytes left, expected 8");
  assertThrows(
    () =>
      codec.encode({
        type: 74,
        name: "CPU_MAP",
        misc: 0,
        body: { type: 1, mask_data: { long_size: 5, mask: [1n] } },
      }),
    RangeError,
    "long_size is 5",
  );
});
