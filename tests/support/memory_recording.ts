/** Recordings of memory accesses, made here because no build machine can record them. */
import { emptyAttr, type Sample } from "@perfdata/format/records";
import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from "@perfdata/format/constants";
import { asFile, type Item, type Recording } from "../../fixtures/synthesize/recording.ts";

const SAMPLE_TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
  PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR |
  PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;

/** A file that a process mapped. */
export interface Mapping {
  readonly pid: number;
  readonly addr: number;
  readonly size: number;
  readonly offset: number;
  readonly path: string;
  /** Whether it is mapped as data. */
  readonly data?: boolean;
  /** Whether other processes write to the same memory. */
  readonly shared?: boolean;
}

/** A sample of a process. */
export interface Access extends Partial<Sample> {
  /** CPU mode; user by default. */
  readonly misc?: number;
}

/** `perf_mem_data_src` from its parts, with the kernel's bit numbers. */
export function dataSource(
  parts: Readonly<
    Partial<
      Record<
        | "op"
        | "lvl"
        | "snoop"
        | "lock"
        | "tlb"
        | "num"
        | "remote"
        | "snoopx"
        | "blk"
        | "hops",
        number
      >
    >
  >,
): bigint {
  const at = {
    ...{ op: 0, lvl: 5, snoop: 19, lock: 24, tlb: 26, num: 33, remote: 37, snoopx: 38 },
    ...{ blk: 40, hops: 43 },
  };
  let bits = 0n;
  for (const [part, shift] of Object.entries(at)) {
    bits |= BigInt(parts[part as keyof typeof at] ?? 0) << BigInt(shift);
  }
  return bits;
}

/** Options of {@link memoryRecording}. */
export interface MemoryRecording {
  readonly mappings: readonly Mapping[];
  readonly accesses: readonly Access[];
  /** Whether weights have three parts. */
  readonly isStruct?: boolean;
  readonly features?: Recording["features"];
  readonly littleEndian?: boolean;
}

/** A recording of accesses, as `perf mem record` writes it. */
export async function memoryRecording({
  mappings,
  accesses,
  isStruct = true,
  features = [],
  littleEndian = true,
}: MemoryRecording): Promise<Uint8Array> {
  const pids = [...new Set(mappings.map(({ pid }) => pid))];
  const paths = [...new Set(mappings.map(({ path }) => path))];
  const items: Item[] = [
    ...pids.map((pid): Item => ({
      record: { type: 3, name: "COMM", misc: 0, body: { pid, tid: pid, comm: `work${pid}` } },
    })),
    ...mappings.map(({ pid, addr, size, offset, path, data, shared }): Item => ({
      record: {
        type: 10,
        name: "MMAP2",
        misc: data ? 2 | 0x2000 : 2,
        body: {
          ...{ pid, tid: pid, addr: BigInt(addr), len: BigInt(size), pgoff: BigInt(offset) },
          ...(path.startsWith("/")
            ? { maj: 8, min: 1, ino: BigInt(paths.indexOf(path) + 1), ino_generation: 0n }
            : { maj: 0, min: 0, ino: 0n, ino_generation: 0n }),
          ...{ prot: data ? 3 : 5, flags: shared ? 1 : 2, filename: path },
        },
      },
    })),
    ...accesses.map(({ misc = 2, ...body }, i) => ({
      record: {
        type: 9,
        name: "SAMPLE",
        misc,
        body: { ip: 0n, pid: 7, tid: 7, time: BigInt(1000 * (i + 1)), period: 1n, ...body },
      },
    } as Item)),
  ];
  const sample_type = BigInt(
    SAMPLE_TYPE | (isStruct ? PERF_SAMPLE_WEIGHT_STRUCT : PERF_SAMPLE_WEIGHT),
  );
  const attr = {
    ...emptyAttr(),
    ...{ size: 120, type: 4, config: 0x1cdn, sample_period: 1n, sample_type },
  };
  return await asFile({ events: [{ attr, ids: [1n] }], items, features }, littleEndian);
}
