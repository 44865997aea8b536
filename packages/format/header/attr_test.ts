import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { emptyAttr, perfEventAttr } from "./attr.ts";
import { PerfDataError } from "../error.ts";
import { decode, encode } from "../struct/mod.ts";

/** All published sizes, `PERF_ATTR_SIZE_VER0` to `VER9`, and some others. */
const SIZES = [64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 152, 4096];

Deno.test("perfEventAttr: encoding restores any bytes of any size, in both byte orders", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...SIZES, 68, 93),
      fc.uint8Array({ minLength: 200, maxLength: 200 }),
      fc.boolean(),
      (size, random, littleEndian) => {
        const bytes = new Uint8Array(size);
        bytes.set(random.subarray(0, size));
        const options = { littleEndian };
        const codec = perfEventAttr(size);
        assertEquals(encode(codec, decode(codec, bytes, options).value, options), bytes);
      },
    ),
  );
});

Deno.test("perfEventAttr: fields have the offsets of the kernel's header", () => {
  // Offsets from include/uapi/linux/perf_event.h, as printed by `pahole perf_event_attr`.
  const bytes = new Uint8Array(144);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 1, true);
  view.setUint32(4, 144, true);
  view.setUint32(88, 0x2000, true); // sample_stack_user
  view.setInt32(92, -1, true); // clockid
  view.setUint16(108, 127, true); // sample_max_stack
  view.setUint32(112, 4096, true); // aux_sample_size
  view.setBigUint64(120, 0xdeadn, true); // sig_data
  view.setBigUint64(136, 5n, true); // config4
  view.setBigUint64(40, (1n << 10n) | (2n << 15n) | (1n << 18n) | (1n << 37n), true);
  const attr = decode(perfEventAttr(), bytes).value;
  const set = Object.entries(attr.flags).filter(([, value]) => value !== false && value !== 0);
  assertEquals(set, [["freq", true], ["precise_ip", 2], ["sample_id_all", true], [
    "sigtrap",
    true,
  ]]);
  assertEquals(
    [attr.sample_stack_user, attr.clockid, attr.sample_max_stack, attr.aux_sample_size],
    [0x2000, -1, 127, 4096],
  );
  assertEquals([attr.sig_data, attr.config4], [0xdeadn, 5n]);
});

Deno.test("perfEventAttr: a big-endian file has the flags mirrored", () => {
  const bytes = new Uint8Array(64);
  bytes[7] = 64;
  bytes[40] = 0b1000_0001; // disabled; exclude_idle is the last bit of the first byte
  const attr = decode(perfEventAttr(), bytes, { littleEndian: false }).value;
  assertEquals([attr.flags.disabled, attr.flags.exclude_idle, attr.flags.inherit], [
    true,
    true,
    false,
  ]);
});

Deno.test("perfEventAttr: a shorter attr is zero-extended, a longer one keeps its tail", () => {
  const short = new Uint8Array(64);
  short[4] = 64;
  assertEquals(decode(perfEventAttr(), short).value, { ...emptyAttr(), size: 64 });
  const long = new Uint8Array(160).fill(7, 144);
  long[4] = 160;
  assertEquals(decode(perfEventAttr(), long).value.tail, new Uint8Array(16).fill(7));
});

Deno.test("perfEventAttr: encoding gives exactly the requested size, whatever the tail", () => {
  for (const from of [65, 93, 160]) {
    const bytes = new Uint8Array(from).fill(7);
    const { value } = decode(perfEventAttr(from), bytes);
    for (const to of [64, 72, 144, 200]) {
      assertEquals(encode(perfEventAttr(to), value).length, to, `${from} bytes in ${to}`);
    }
  }
});

Deno.test("perfEventAttr: size 0 means 64; a size beyond the bytes is an error", () => {
  assertEquals(decode(perfEventAttr(), new Uint8Array(72)).tail?.length, 8);
  const bytes = new Uint8Array(64);
  bytes[4] = 65;
  assertThrows(() => decode(perfEventAttr(), bytes), PerfDataError, "expected 65");
});
