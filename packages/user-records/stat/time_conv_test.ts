import { check, layout } from "../hand_testing.ts";
import { TIME_CONV } from "./time_conv.ts";

const short = { time_shift: 31n, time_mult: 1789569706n, time_zero: 0xffff_fff8_6343_cb91n };

Deno.test("TIME_CONV: records with and without the fields for wrapping counters are decoded", () => {
  const words = () => layout().u64(31, 1789569706, 0xffff_fff8_6343_cb91n);
  check(TIME_CONV, words(), { body: short });
  check(TIME_CONV, words().u64(5, 0xff_ffff_ffff_ffffn).u8(1, 1, 0, 0, 0, 0, 0, 0), {
    body: {
      ...short,
      time_cycles: 5n,
      time_mask: 0xff_ffff_ffff_ffffn,
      cap_user_time_zero: 1,
      cap_user_time_short: 1,
    },
  });
  check(TIME_CONV, words().u8(1, 2, 3, 4), { body: short, tail: Uint8Array.of(1, 2, 3, 4) });
});
