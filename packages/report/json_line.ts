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
