import { visible } from "@perfdata/format/bytes";
import type { LockCaller, LockThread, WaitSums } from "./lock_contention.ts";

/** Formats a duration in its largest unit, with two decimals. */
export function waitText(ns: number): string {
  const units = [[60e9, "m"], [1e9, "s"], [1e6, "ms"], [1e3, "us"]] as const;
  const unit = units.find(([size]) => ns >= size);
  return unit === undefined ? `${Math.round(ns)} ns` : `${(ns / unit[0]).toFixed(2)} ${unit[1]}`;
}

function numbers({ contended, ended, total, max, min }: WaitSums): string {
  const known = (ns: number) => (ended === 0 ? "-" : waitText(ns)).padStart(11);
  return `${String(contended).padStart(9)} ${known(total)} ${known(max)} ${known(min)} ` +
    known(ended === 0 ? 0 : total / ended);
}

const HEAD = "CONTENDED  TOTAL WAIT         MAX         MIN         AVG";

/**
 * A table of waits for locks.
 *
 * @example
 * ```ts
 * import { lockCallerLines } from "@perfdata/report/contention";
 * import { assertEquals } from "@std/assert";
 *
 * const [, row] = lockCallerLines([{
 *   ...{ contended: 2, ended: 2, total: 3500, max: 3000, min: 500 },
 *   ...{ caller: "do_exit+0x1c", type: "mutex" },
 * }]);
 * assertEquals(row?.trim().split(/ {2,}/), ["2", "3.50 us", "3.00 us", "500 ns", "1.75 us", "mutex", "do_exit+0x1c"]);
 * ```
 */
export function lockCallerLines(rows: readonly LockCaller[]): string[] {
  return [
    `${HEAD}  ${"TYPE".padEnd(11)}  CALLER`,
    ...rows.map((row) => `${numbers(row)}  ${row.type.padEnd(11)}  ${visible(row.caller)}`),
  ];
}

/** A table of threads that waited for locks. */
export function lockThreadLines(rows: readonly LockThread[]): string[] {
  return [
    `${HEAD}  ${"TID".padStart(8)}  COMM`,
    ...rows.map((row) => `${numbers(row)}  ${String(row.tid).padStart(8)}  ${visible(row.comm)}`),
  ];
}
