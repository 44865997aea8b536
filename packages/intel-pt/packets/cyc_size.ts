/** The number of bytes that a CYC of this value needs: five bits in the first, seven in others. */
export function cycSize(cycles: bigint): number {
  let size = 1;
  for (let rest = cycles >> 5n; rest !== 0n; rest >>= 7n) size++;
  return size;
}
