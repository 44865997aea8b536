/**
 * Contention: cache lines shared by CPUs, locks, threads that wait for a CPU.
 *
 * @module
 */
export {
  type LockCaller,
  LockContention,
  type LockReport,
  type LockThread,
  OF_LOCKS,
  type WaitSums,
} from "../lock/lock_contention.ts";
export { lockCallerLines, lockThreadLines } from "../lock/lock_text.ts";
export {
  ACCESS_COUNTERS,
  ACCESS_WEIGHTS,
  type AccessCounter,
  type AccessNumbers,
  countAccess,
} from "../memory/access_stats.ts";
export {
  type AccessSums,
  type CacheLine,
  type CacheLineOptions,
  type CacheLineReport,
  CacheLines,
  type CacheLinesPart,
  COALESCED,
  CONTENTION,
  type LineAccess,
  type SumsPart,
} from "../memory/cache_lines.ts";
export { cacheLineJson, cacheLineText } from "../memory/cache_lines_text.ts";
export { SchedulerConsumer } from "../sched/consumer.ts";
export { type LatencyRow, SchedulerLatency } from "../sched/latency.ts";
export { latencyLines } from "../sched/latency_text.ts";
export { mapLine, SchedulerMap, type SchedulerMapRow } from "../sched/map.ts";
export { Timehist, type TimehistLoss, type TimehistRow } from "../sched/timehist.ts";
export { TimehistText } from "../sched/timehist_text.ts";
export { foldedWakeups, wakeupLines, type WakeupRow, Wakeups } from "../sched/wakeups.ts";
