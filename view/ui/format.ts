/** Formats numbers and names for the page. */

/** Formats a share as percentage. */
export function percent(part: number, all: number): string {
  const value = all === 0 ? 0 : 100 * part / all;
  return `${value.toFixed(value !== 0 && value < 0.1 ? 3 : 2)}%`;
}

export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

/** Formats nanoseconds with a unit. */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size >= 1e9) return `${(ns / 1e9).toFixed(size >= 1e11 ? 1 : 3)} s`;
  if (size >= 1e6) return `${(ns / 1e6).toFixed(3)} ms`;
  if (size >= 1e3) return `${(ns / 1e3).toFixed(1)} µs`;
  return `${Math.round(ns)} ns`;
}

/** Formats a weight: as a time for clock events. */
export function amount(value: number, unit: "nanoseconds" | "count"): string {
  return unit === "count" ? grouped(value) : duration(value);
}

export function byteSize(bytes: number): string {
  const units = ["bytes", "KB", "MB", "GB"];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; unit++) bytes /= 1000;
  return `${unit === 0 ? bytes : bytes.toPrecision(3)} ${units[unit]}`;
}

/** Formats seconds, with enough digits to distinguish times `step` nanoseconds apart. */
export function seconds(ns: number, step = 1): string {
  const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(Math.max(1, step)))));
  return `${(ns / 1e9).toFixed(digits)} s`;
}

/** Formats the other names of a process or thread; empty without any. */
export function alsoCalled(others: readonly string[]): string {
  return others.length === 0 ? "" : `also called ${others.join(", ")}`;
}
