/**
 * Recordings of Arm's Statistical Profiling Extension, made here because no build machine has it.
 */
import { emptyAttr } from "@perfdata/format/records";
import type { Feature } from "@perfdata/format/features";
import {
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import {
  type Item,
  type Numbers,
  padded,
  type Recording,
} from "../../fixtures/synthesize/recording.ts";

const PMU = 9;
const CODE = 0x400000;
const DATA = 0x7000_0000;
const bytesOf = (value: bigint, size: number) =>
  Array.from({ length: size }, (_, i) => Number(value >> BigInt(8 * i) & 0xffn));

/** A record as a processor writes it, with random packets. */
function record(numbers: Numbers, time: bigint, tid: number | undefined): number[] {
  const any = <T>(list: readonly T[]): T => list[numbers.below(list.length)] as T;
  const isKernel = numbers.below(4) === 0;
  const ip = BigInt(CODE + 4 * numbers.below(16));
  const pc = isKernel ? (ip | 0x00ff_8000_0000_0000n) | 0xa0n << 56n : ip | 0x80n << 56n;
  const va = any([
    BigInt(DATA + 8 * numbers.below(32)),
    BigInt(DATA + 8 * numbers.below(32)) | 0x34n << 56n,
    0x00ff_8000_1234_5678n,
  ]);
  const events = numbers.below(2 ** 11) & ~0x80;
  const operation = any([
    ...[[0x49, 0], [0x49, 1], [0x49, 0x10], [0x49, 0x15], [0x49, 0x03]],
    ...[[0x48, 0], [0x4a, 1]],
  ]);
  return [
    ...[0xb0, ...bytesOf(pc, 8)],
    ...(tid === undefined ? [] : [0x65, ...bytesOf(BigInt(tid), 4)]),
    ...[0x99, ...bytesOf(BigInt(numbers.below(400)), 2)],
    ...[0x98, ...bytesOf(BigInt(numbers.below(4000)), 2)],
    ...[0x52, ...bytesOf(BigInt(events), 2)],
    ...operation,
    ...[0xb2, ...bytesOf(va, 8)],
    ...(numbers.below(2) === 0 ? [0xb3, ...bytesOf(0x1234_5000n | 0x80n << 56n, 8)] : []),
    ...(numbers.below(8) === 0 ? [0x43, 0x07] : [0x43, any([0, 8, 9, 10, 11, 12, 13, 14])]),
    ...(numbers.below(3) === 0 ? [0, 0, 0] : []),
    ...[0x71, ...bytesOf(time, 8)],
  ];
}

/** Properties of a recording. */
export interface SpeRecording {
  /** CPU identification. */
  readonly cpuid: string;
  /** Whether packets name the running thread; otherwise switches do. */
  readonly contexts: boolean;
  /** Whether the timer is shorter than 64 bits. */
  readonly short: boolean;
}

/** A recording of two CPUs and three threads, as perf writes it for `arm_spe_0`. */
export function speRecording(
  numbers: Numbers,
  { cpuid, contexts, short }: SpeRecording,
): Recording {
  const sample_type = BigInt(
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
  );
  const attr = (type: number, config: bigint) => {
    const plain = emptyAttr();
    return {
      ...plain,
      ...{ size: 120, type, config, sample_period: 1024n },
      sample_type: sample_type | (type === PMU ? BigInt(PERF_SAMPLE_PHYS_ADDR) : 0n),
      flags: { ...plain.flags, sample_id_all: true, context_switch: type === 1 },
    };
  };
  const [mult, shift, zero] = [40n << 20n, 20n, 1_000_000n];
  const ns = (ticks: bigint) => zero + (ticks * mult >> shift);
  const item = (type: number, name: string, misc: number, body: unknown, more = {}): Item =>
    ({ record: { type, name, misc, body, ...more }, event: 1 }) as Item;
  const id = (cpu: number, time: bigint, tid = 7) => ({
    sample_id: { pid: tid, tid, time, cpu, res: 0, identifier: 2n },
  });
  const mask = (1n << 40n) - 1n;
  const items: Item[] = [
    item(78, "EVENT_UPDATE", 0, { type: 2n, id: 1n, name: "arm_spe_0//" }),
    item(79, "TIME_CONV", 0, {
      ...{ time_shift: shift, time_mult: mult, time_zero: zero },
      ...(short
        ? {
          ...{ time_cycles: 0x55_0000_0000n << 8n, time_mask: mask, cap_user_time_zero: 1 },
          ...{ cap_user_time_short: 1, reserved: new Uint8Array(6) },
        }
        : {}),
    }),
    item(70, "AUXTRACE_INFO", 0, { type: 4, priv: [BigInt(PMU), 1n] }),
    ...[7, 8, 9].flatMap((tid) => [
      item(3, "COMM", 0, { pid: tid === 9 ? 8 : tid, tid, comm: `work${tid}` }, id(0, 0n, tid)),
      ...(tid === 9 ? [] : [item(10, "MMAP2", 2, {
        ...{ pid: tid, tid, addr: BigInt(CODE), len: 0x1000n, pgoff: 0n, maj: 8, min: 1 },
        ...{ ino: 3n, ino_generation: 0n, prot: 5, flags: 2, filename: "/nowhere/code" },
      }, id(0, 0n, tid))]),
    ]),
  ];
  let offset = 0n;
  let ticks = short ? 0x55_0000_1000n << 8n : 1_000n;
  for (let round = 0; round < 3; round++) {
    const queues: [Uint8Array, bigint][] = [];
    for (const cpu of [0, 1]) {
      const bytes: number[] = [];
      let at = ticks;
      // Switches and records are in order of time, each of the running thread.
      let tid = 7;
      for (let i = 0; i < 60; i++) {
        at += BigInt(10 + numbers.below(200));
        if (i % 20 === 0) {
          tid = 7 + numbers.below(3);
          const body = { next_prev_pid: tid === 9 ? 8 : tid, next_prev_tid: tid };
          if (!contexts) {
            items.push(item(15, "SWITCH_CPU_WIDE", 0x2000, body, id(cpu, ns(at))));
          }
          at += 10n;
        }
        bytes.push(...record(numbers, short ? at & mask : at, contexts ? tid : undefined));
      }
      queues.push([padded(Uint8Array.from(bytes)), at]);
    }
    for (const [cpu, [payload]] of queues.entries()) {
      items.push({
        ...item(71, "AUXTRACE", 0, {
          ...{ size: BigInt(payload.length), offset, reference: 1n, idx: cpu, tid: -1, cpu },
        }),
        payload,
      });
      offset += BigInt(payload.length);
    }
    ticks = queues.reduce((most, [, at]) => at > most ? at : most, 0n);
    items.push(item(68, "FINISHED_ROUND", 0, {}));
  }
  items.push(
    item(4, "EXIT", 0, { pid: 7, ppid: 1, tid: 7, ptid: 1, time: 0n }, id(0, ns(ticks + 9n))),
  );
  const features = [
    { id: 6, name: "ARCH", value: "aarch64" },
    { id: 9, name: "CPUID", value: cpuid },
  ] as Feature[];
  return {
    events: [{ attr: attr(PMU, 0n), ids: [1n] }, { attr: attr(1, 9n), ids: [2n] }],
    items,
    features,
  };
}
