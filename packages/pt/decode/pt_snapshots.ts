import type { AuxTrace } from "@perfdata/session/auxtrace";
import type { PtClock } from "./pt_clock.ts";

/**
 * Times of the snapshots of a trace (`perf record --snapshot`) in ns since the clock's origin,
 * sorted. Empty without snapshots or without times. perf reads the buffers of all CPUs one after
 * the other, so the times are those of a buffer with the most snapshots.
 */
export function snapshotTimes(trace: AuxTrace, clock: PtClock): number[] {
  if ((trace.intelPt?.snapshot_mode ?? 0n) === 0n || !clock.known) return [];
  const taken: number[] = [];
  for (const { pieces } of trace.streams) {
    // A buffer without new data has no piece in a snapshot, so use the buffer with most pieces.
    if (pieces.length <= taken.length) continue;
    taken.length = 0;
    for (const { reference } of pieces) taken.push(clock.ns(Number(reference - clock.base)));
  }
  return taken.sort((a, b) => a - b);
}
