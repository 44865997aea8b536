import { assertEquals } from "@std/assert";
import { emptyAttr, type PerfEventAttr } from "./attr.ts";
import { eventName } from "./event_name.ts";

function name(type: number, config: bigint, flags: Partial<PerfEventAttr["flags"]> = {}): string {
  const attr = emptyAttr();
  return eventName({ ...attr, type, config, flags: { ...attr.flags, ...flags } });
}

/** Expected names are those of `perf evlist` 6.1 for files with such attrs and without names. */
Deno.test("eventName: attrs without a name get perf's names", () => {
  const guest = { exclude_guest: true };
  assertEquals(name(0, 0n, guest), "cycles");
  assertEquals(name(0, 0n), "cycles:HG");
  assertEquals(name(1, 1n, { exclude_kernel: true, exclude_hv: true }), "task-clock:u");
  assertEquals(name(3, 0x10003n), "dTLB-load-misses:HG");
  assertEquals(name(3, 0x0n), "L1-dcache-loads:HG");
  assertEquals(name(3, 0x101n), "invalid-cache:HG");
  assertEquals(name(4, 0x1a8n), "raw 0x1a8:HG");
  assertEquals(name(2, 7n), "unknown tracepoint");
  assertEquals(name(33, 0n), "unknown attr type: 33");
});
