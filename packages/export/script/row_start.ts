// The start of a line, which samples and rows of a trace share.
import type { ScriptField } from "./script_fields.ts";

/** Formats a thread's ids, as far as they are fields. */
export function threadText(
  has: Readonly<Partial<Record<ScriptField, boolean>>>,
  pid: number,
  tid: number,
): string {
  if (!has.pid) return has.tid ? `${String(tid).padStart(5)} ` : "";
  const process = String(pid).padStart(5);
  return has.tid ? `${process}/${String(tid).padEnd(5)} ` : `${process} `;
}

/** Formats `[003] `. */
export function cpuText(cpu: number): string {
  return `[${cpu < 0 ? `-${String(-cpu).padStart(2, "0")}` : String(cpu).padStart(3, "0")}] `;
}

/** Formats the seconds of a time, before the digits of the rest. */
export function secondsText(seconds: number): string {
  return `${String(seconds).padStart(5)}.`;
}
