/** Formats a JSON line. `undefined` becomes `null`, and 64-bit values keep all digits. */
export function jsonLine(row: Readonly<Record<string, unknown>>): string {
  const big: string[] = [];
  const text = JSON.stringify(row, (_key, value) => {
    if (value === undefined) return null;
    if (typeof value !== "bigint") return value;
    big.push(value.toString());
    return `\u0000${big.length - 1}`;
  });
  // JSON.stringify does not support 64-bit integers, so they replace marks afterwards.
  return big.length === 0
    ? text
    : text.replace(/"\\u0000(\d+)"/g, (_mark, i) => big[Number(i)] as string);
}

/**
 * Converts the names of members to snake case: `left_out` for `leftOut`.
 *
 * @example
 * ```ts
 * import { snakeKeys } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(snakeKeys({ leftOut: [{ copySize: 8n }], ARCH: "x86_64" }), {
 *   left_out: [{ copy_size: 8n }],
 *   ARCH: "x86_64",
 * });
 * ```
 */
export function snakeKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeKeys);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(/([a-z])([A-Z])/g, (_, last, first) => `${last}_${first.toLowerCase()}`),
      snakeKeys(member),
    ]),
  );
}
