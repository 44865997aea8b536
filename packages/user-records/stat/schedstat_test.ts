import { assertEquals } from "@std/assert";
import { check, layout } from "../hand_testing.ts";
import { SCHEDSTAT_CPU, SCHEDSTAT_DOMAIN } from "./schedstat.ts";

/** Maps the names to 1, 2, 3, …. */
function numbered(names: string): Record<string, number> {
  return Object.fromEntries(names.trim().split(/\s+/).map((name, i) => [name, i + 1]));
}

function count(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i + 1);
}

Deno.test("SCHEDSTAT_CPU: versions 15 to 17 have the same fields", () => {
  for (const version of [15, 16, 17]) {
    check(
      SCHEDSTAT_CPU,
      layout().u64(4294670000).u32(3).u16(version, 0).u32(...count(6)).u64(7, 8, 9),
      {
        body: {
          timestamp: 4294670000n,
          cpu: 3,
          version,
          data: {
            yld_count: 1,
            array_exp: 2,
            sched_count: 3,
            sched_goidle: 4,
            ttwu_count: 5,
            ttwu_local: 6,
            rq_cpu_time: 7n,
            run_delay: 8n,
            pcount: 9n,
          },
        },
      },
    );
  }
  check(SCHEDSTAT_CPU, layout().u64(1).u32(3).u16(18, 0).u8(1, 2, 3), {
    body: { timestamp: 1n, cpu: 3, version: 18, data: Uint8Array.of(1, 2, 3) },
  });
});

const LB = [
  "count",
  "balanced",
  "failed",
  "imbalance",
  "gained",
  "hot_gained",
  "nobusyq",
  "nobusyg",
];
const REST = `alb_count alb_failed alb_pushed sbe_count sbe_balanced sbe_pushed sbf_count
  sbf_balanced sbf_pushed ttwu_wake_remote ttwu_move_affine ttwu_move_balance`;
const lb = (...situations: string[]) =>
  situations.flatMap((situation) => LB.map((name) => `${situation}_lb_${name}`)).join(" ");

Deno.test("SCHEDSTAT_DOMAIN: version 15 has idle first, version 16 busy", () => {
  const head = { timestamp: 1n, cpu: 3, domain: 2 };
  // The record has the length of version 17: 40 bytes more than its counters.
  const tail = new Uint8Array(40);
  check(
    SCHEDSTAT_DOMAIN,
    layout().u64(1).u32(3).u16(15, 2).u32(...count(36)).u64(0, 0, 0, 0, 0),
    {
      body: { ...head, version: 15, data: numbered(`${lb("idle", "busy", "newidle")} ${REST}`) },
      tail,
    },
  );
  check(
    SCHEDSTAT_DOMAIN,
    layout().u64(1).u32(3).u16(16, 2).u32(...count(36)).u64(0, 0, 0, 0, 0),
    {
      body: { ...head, version: 16, data: numbered(`${lb("busy", "idle", "newidle")} ${REST}`) },
      tail,
    },
  );
});

Deno.test("SCHEDSTAT_DOMAIN: version 17 has four imbalances", () => {
  const situations = ["busy", "idle", "newidle"].map((situation) => `
    ${situation}_lb_count ${situation}_lb_balanced ${situation}_lb_failed
    ${situation}_lb_imbalance_load ${situation}_lb_imbalance_util
    ${situation}_lb_imbalance_task ${situation}_lb_imbalance_misfit
    ${situation}_lb_gained ${situation}_lb_hot_gained
    ${situation}_lb_nobusyq ${situation}_lb_nobusyg`).join(" ");
  const data = numbered(`${situations} ${REST}`);
  assertEquals(Object.keys(data).length, 45);
  check(SCHEDSTAT_DOMAIN, layout().u64(1).u32(3).u16(17, 0).u32(...count(45)).u32(0), {
    body: { timestamp: 1n, cpu: 3, version: 17, domain: 0, data },
  });
});
