import type { LatencyRow } from "./latency.ts";
import { visible } from "@perfdata/format/bytes";

const LINE = ` ${"-".repeat(139)}`;
const HEAD =
  "  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    " +
  "| Max delay start           | Max delay end          |";

/** Formats milliseconds with three decimals, exact up to 2^53 ns. */
function ms(ns: number, width: number): string {
  return (ns / 1e6).toFixed(3).padStart(width);
}

/** Formats seconds with six decimals; 0 means never. */
function moment(base: bigint, ns: number): string {
  const us = ns === 0 ? 0n : (base + BigInt(ns)) / 1000n;
  return `${us / 1000000n}.${String(us % 1000000n).padStart(6, "0")}`.padStart(12);
}

/**
 * The table of `perf sched latency`.
 *
 * @param rows Waits of the threads.
 * @param base Time of the first event in ns.
 *
 * @example
 * ```ts
 * import { latencyLines } from "@perfdata/report/contention";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(latencyLines([], 0n).at(-2), "  TOTAL:                |      0.000 ms |        0 |");
 * ```
 */
export function latencyLines(rows: readonly LatencyRow[], base: bigint): string[] {
  const lines = ["", LINE, HEAD, LINE];
  let runtime = 0;
  let switches = 0;
  for (const row of rows) {
    runtime += row.runtime;
    switches += row.switches;
    const task = `  ${visible(row.comm)}:${row.threads > 1 ? `(${row.threads})` : row.tid} `;
    lines.push(
      `${task.padEnd(24)}|${ms(row.runtime, 11)} ms |${String(row.switches).padStart(9)} ` +
        `| avg:${ms(row.delay / row.switches, 8)} ms | max:${ms(row.maxDelay, 8)} ms ` +
        `| max start: ${moment(base, row.maxStart)} s | max end: ${moment(base, row.maxEnd)} s`,
    );
  }
  lines.push(` ${"-".repeat(113)}`);
  lines.push(`  TOTAL:                |${ms(runtime, 11)} ms |${String(switches).padStart(9)} |`);
  lines.push(` ${"-".repeat(51)}`);
  return lines;
}
