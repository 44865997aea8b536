import { check, layout } from "../hand_testing.ts";
import { THREAD_MAP } from "./thread_map.ts";

Deno.test("THREAD_MAP: threads with names, and -1, are decoded", () => {
  check(THREAD_MAP, layout().u64(2).u64(3174).text("stress", 16).u64(-1).text("", 16), {
    body: { entries: [{ pid: 3174n, comm: "stress" }, { pid: -1n, comm: "" }] },
  });
});
