import { FINISHED_INIT, FINISHED_ROUND } from "./finished.ts";
import { check, layout } from "../hand_testing.ts";

Deno.test("FINISHED_ROUND, FINISHED_INIT: the body is empty", () => {
  check(FINISHED_ROUND, layout(), { body: {} });
  check(FINISHED_INIT, layout(), { body: {} });
  check(FINISHED_ROUND, layout().u8(1, 2), { body: {}, tail: Uint8Array.of(1, 2) });
});
