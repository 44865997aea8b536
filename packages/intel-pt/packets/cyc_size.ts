/** Returns the size of a CYC packet with this value: five bits in the first byte, seven in each further byte. */
export function cycSize(cycles: bigint): number {
  let size = 1;
  for (let rest = cycles >> 5n; rest !== 0n; rest >>= 7n) size++;
  return size;
}
