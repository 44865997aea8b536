import { COMPRESSED, COMPRESSED2 } from "./compressed.ts";
import { check, layout } from "../hand_testing.ts";

const data = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 7);

Deno.test("COMPRESSED: the whole body is data", () => {
  check(COMPRESSED, layout().u8(...data), { body: { data } });
});

Deno.test("COMPRESSED2: data is decoded by its length, with or without padding", () => {
  check(COMPRESSED2, layout().u64(5).u8(...data, 0, 0, 0), { body: { data } });
  check(COMPRESSED2, layout().u64(5).u8(...data), { body: { data, padding: new Uint8Array() } });
});
