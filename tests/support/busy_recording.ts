/** A recording in which almost everything changes between two samples. */
import { emptyAttr, PerfDataWriter } from "@perfdata/format/records";
import { memorySink } from "@perfdata/format/bytes";
import {
  PERF_CONTEXT_USER,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_FORK,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { Numbers, wordsRecord } from "../../fixtures/synthesize/recording.ts";

/** `CLOCK_REALTIME` and `CLOCK_MONOTONIC` of `time.h`. */
const [REALTIME, MONOTONIC] = [0, 1];

/** The clock of each event and its first time: ns since boot, since 1970, and of perf's clock. */
const CLOCKS = [
  { clockid: MONOTONIC, start: 5_000_000_000_000n },
  { clockid: REALTIME, start: 1_700_000_000_000_000_000n },
  { clockid: undefined, start: 4_999_999_000_000n },
] as const;

/** A recording and its contents. */
export interface BusyRecording {
  /** The file. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of samples. */
  readonly samples: number;
  /** Number of records that change threads and maps. */
  readonly changes: number;
}

/**
 * Makes a file of threads that begin, end, get names, execute programs, and reuse the ids of
 * earlier threads.
 *
 * The three events use different clocks. Times are in order only within a few records. Many are
 * equal, and some belong to a round that was finished long before.
 *
 * @param steps Approximate number of records.
 * @param hasTrailers Whether records other than samples have a time; without times, they happen in
 * the order of the file.
 */
export async function busyRecording(steps: number, hasTrailers = true): Promise<BusyRecording> {
  const sampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN;
  const events = CLOCKS.map(({ clockid }, i) => {
    const clock = { sample_id_all: hasTrailers, use_clockid: clockid !== undefined };
    const flags = { ...emptyAttr().flags, ...clock };
    const attr = { ...emptyAttr(), size: 128, sample_type: BigInt(sampleType), flags };
    return {
      attr: { ...attr, config: BigInt(i), sample_period: BigInt(i + 1), clockid: clockid ?? 0 },
      ids: [BigInt(100 + i)],
    };
  });
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events });
  const numbers = new Numbers(7);
  const some = (): number => 50 + numbers.below(40);
  // A third of the initial threads belong to seven processes.
  const processes = new Map<number, number>();
  for (let tid = 50; tid < 90; tid++) processes.set(tid, tid % 3 === 0 ? 50 + tid % 7 : tid);
  const idsOf = (tid: number): bigint => BigInt(tid) << 32n | BigInt(processes.get(tid) ?? tid);
  let [changes, samples] = [0, 0];
  let time = 0;
  for (let i = 0; i < steps; i++) {
    if (numbers.below(8) > 0) time += numbers.below(2000);
    const tid = some();
    const cpu = BigInt(tid % 4);
    if (i % 300 === 299) await writer.write(wordsRecord(PERF_RECORD_FINISHED_ROUND, 0, []));
    const what = numbers.below(24);
    // Records that change threads belong to one event, as in perf's recordings.
    const event = what < 4 ? 0 : numbers.below(CLOCKS.length);
    // One of 40 samples is late by many rounds; others are slightly out of order.
    const back = what < 4 ? 0 : numbers.below(numbers.below(40) === 0 ? 3_000_000 : 5000);
    const now = (CLOCKS[event]?.start ?? 0n) + BigInt(Math.max(0, time - back));
    const trailer = hasTrailers ? [idsOf(tid), now, cpu, BigInt(100 + event)] : [];
    if (what < 4) changes++;
    if (what === 0) {
      const child = some();
      const parent = processes.get(tid) ?? tid;
      const pid = numbers.below(2) === 0 ? parent : child;
      const pids = BigInt(parent) << 32n | BigInt(pid);
      const tids = BigInt(tid) << 32n | BigInt(child);
      processes.set(child, pid);
      await writer.write(wordsRecord(PERF_RECORD_FORK, 0, [pids, tids, now, ...trailer]));
    } else if (what === 1) {
      const pids = BigInt(processes.get(tid) ?? tid) * 0x1_0000_0001n;
      const tids = BigInt(tid) * 0x1_0000_0001n;
      await writer.write(wordsRecord(PERF_RECORD_EXIT, 0, [pids, tids, now, ...trailer]));
    } else if (what === 2) {
      const name = BigInt(0x61 + numbers.below(26)) | 0x7878n << 8n;
      const misc = numbers.below(2) === 0 ? PERF_RECORD_MISC_COMM_EXEC : 0;
      await writer.write(wordsRecord(PERF_RECORD_COMM, misc, [idsOf(tid), name, ...trailer]));
    } else if (what === 3) {
      // `/x/a` to `/x/h`, over one of two ranges of code.
      const path = 0x2f78_2fn | BigInt(0x61 + numbers.below(8)) << 24n;
      const start = BigInt(0x40_0000 + 0x2000 * numbers.below(2));
      const map = [idsOf(tid), start, 0x3000n, 0n, path, ...trailer];
      await writer.write(wordsRecord(PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, map));
    } else {
      samples++;
      const code = (): bigint => BigInt(0x40_0000 + 16 * numbers.below(1500));
      const ip = code();
      const callers = Array.from({ length: numbers.below(4) }, code);
      const chain = [BigInt.asUintN(64, PERF_CONTEXT_USER), ip, ...callers];
      const head = [BigInt(100 + event), ip, idsOf(tid), now, cpu];
      const words = [...head, BigInt(chain.length), ...chain];
      await writer.write(wordsRecord(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, words));
    }
  }
  await writer.close();
  return { bytes: sink.bytes(), samples, changes };
}
