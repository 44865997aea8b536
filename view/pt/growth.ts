import type { PtGrowth } from "@perfdata/pt/decode";

/** Bytes of a buffer's trace written up to a time, interpolated linearly between known points. */
export function bytesUpTo({ at, time, size }: PtGrowth, when: number): number {
  if (time.length === 0 || when < (time[0] as number)) return 0;
  let [low, high] = [0, time.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((time[middle] as number) <= when) low = middle;
    else high = middle;
  }
  if (high === time.length) return size;
  const [from, to] = [time[low] as number, time[high] as number];
  const share = to === from ? 1 : (when - from) / (to - from);
  return (at[low] as number) + share * ((at[high] as number) - (at[low] as number));
}
