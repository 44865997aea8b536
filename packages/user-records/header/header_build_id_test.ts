import { check, layout } from "../hand_testing.ts";
import { HEADER_BUILD_ID } from "./header_build_id.ts";

const SHA1 = "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13";
const build_id = Uint8Array.from({ length: 20 }, (_, i) => i);

Deno.test("HEADER_BUILD_ID: without the bit in misc, the build id has 20 bytes", () => {
  check(HEADER_BUILD_ID, layout().u32(-1).hex(SHA1).u32(0).text("/lib/libc.so.6", 64), {
    misc: 2,
    body: { pid: -1, build_id, filename: "/lib/libc.so.6" },
  });
});

Deno.test("HEADER_BUILD_ID: with the bit in misc, the build id has the recorded size", () => {
  const md5 = Uint8Array.from({ length: 20 }, (_, i) => i < 16 ? i + 1 : 0);
  check(
    HEADER_BUILD_ID,
    layout().u32(0).u8(...md5).u8(16, 0).u16(0).text("[vdso]", 64),
    { misc: 0x8002, body: { pid: 0, build_id: md5, build_id_size: 16, filename: "[vdso]" } },
  );
});

Deno.test("HEADER_BUILD_ID: reserved bytes other than zero are kept", () => {
  check(HEADER_BUILD_ID, layout().u32(0).hex(SHA1).u8(7, 0, 0, 0).text("x", 8), {
    body: {
      pid: 0,
      build_id,
      reserved2__: Uint8Array.of(7, 0, 0, 0),
      filename: "x",
      filename_pad: new Uint8Array(7),
    },
  });
  check(HEADER_BUILD_ID, layout().u32(0).hex(SHA1).u8(20, 0, 0, 9).text("x", 64), {
    misc: 0x8000,
    body: {
      pid: 0,
      build_id,
      build_id_size: 20,
      reserved1__: Uint8Array.of(0, 0, 9),
      filename: "x",
    },
  });
});
