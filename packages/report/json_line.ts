/** One line of JSON; `undefined` becomes `null`, 64-bit values keep all their digits. */
export function jsonLine(row: Readonly<Record<string, unknown>>): string {
  const big: string[] = [];
  const text = JSON.stringify(row, (_key, value) => {
    if (value === undefined) return null;
    if (typeof value !== "bigint") return value;
    big.push(value.toString());
    return `\u0000${big.length - 1}`;
  });
  // JSON.stringify has no integers of 64 bits: they are put in where their marks stand.
  return big.length === 0
    ? text
    : text.replace(/"\\u0000(\d+)"/g, (_mark, i) => big[Number(i)] as string);
}

/**
 * The same value with the names of members as all JSON here has them: `left_out` for `leftOut`.
 *
 * @example
 * ```ts
 * import { snakeKeys } from "@perfdata/report/json-line";
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
