import { check, layout } from "../hand_testing.ts";
import { THREAD_MAP } from "./thread_map.ts";

Deno.test("THREAD_MAP: threads with a name, and -1 for all", () => {
  check(THREAD_MAP, layout().u64(2).u64(3174).text("stress", 16).u64(-1).text("", 16), {
    body: { entries: [{ pid: 3174n, comm: "stress" }, { pid: -1n, comm: "" }] },
  });
});
