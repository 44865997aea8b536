import { floatAt } from "@perfdata/format/bytes";
import type { PtGrowth } from "@perfdata/pt/decode";

/** Returns the bytes of a buffer's trace written up to a time, interpolated linearly between known points. */
export function bytesUpTo({ at, time, size }: PtGrowth, when: number): number {
  if (time.length === 0 || when < floatAt(time, 0)) return 0;
  let [low, high] = [0, time.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (floatAt(time, middle) <= when) low = middle;
    else high = middle;
  }
  if (high === time.length) return size;
  const [from, to] = [floatAt(time, low), floatAt(time, high)];
  const share = to === from ? 1 : (when - from) / (to - from);
  return floatAt(at, low) + share * (floatAt(at, high) - floatAt(at, low));
}
