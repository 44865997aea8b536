import {
  array,
  choice,
  type Codec,
  countedBy,
  counter,
  doc,
  enumeration,
  padding,
  record,
  type RecordDeclaration,
  reserved,
  struct,
  type StructValue,
  type Test,
  u16,
  u8,
  when,
  x32,
  x64,
} from "@perfdata/format";
import { PERF_RECORD_CPU_MAP } from "./names.ts";

/** `type` of a CPU map that lists its CPUs. */
export const PERF_CPU_MAP__CPUS = 0;
/** `type` of a CPU map that is a bit mask. */
export const PERF_CPU_MAP__MASK = 1;
/** `type` of a CPU map that is a range. */
export const PERF_CPU_MAP__RANGE_CPUS = 2;

/** The number that stands for "any CPU" in a list of CPUs: -1 in 16 bits. */
const ANY_CPU = 0xffff;

const CPUS_FIELDS = {
  nr: doc("Number of CPUs.", counter(u16, "cpu")),
  cpu: doc("CPU numbers; 65535 is -1 and stands for any CPU.", array(u16, countedBy("nr"))),
} as const;

const MASK_FIELDS = {
  nr: doc("Number of words.", counter(u16, "mask")),
  long_size: doc("Bytes of a word: those of `long` where it was recorded, 4 or 8.", u16),
  __pad: doc(
    "The gap that a compiler left before 64-bit words.",
    when({ field: "long_size", is: 8 }, reserved(4)),
  ),
  mask: doc(
    "The words, lowest CPUs first: bit `b` of word `w` is CPU `w * 8 * long_size + b`.",
    choice("unsigned long[]", "long_size", {
      4: array(x32, countedBy("nr")),
      8: array(x64, countedBy("nr")),
    }),
  ),
} as const;

const RANGE_FIELDS = {
  any_cpu: doc("1 where -1, any CPU, is in the map as well.", u8),
  __pad: doc("Zero.", reserved(1)),
  start_cpu: doc("First CPU.", u16),
  end_cpu: doc("Last CPU, itself included.", u16),
} as const;

/** The condition that the map is of a type. */
function is(type: number): Test {
  return { field: "type", is: type };
}

/**
 * The fields of `perf_record_cpu_map_data`, which is packed: what depends on `type` begins 2 bytes
 * after it.
 */
export const CPU_MAP_DATA_FIELDS = {
  type: doc(
    "Which of the fields follows.",
    enumeration(u16, {
      [PERF_CPU_MAP__CPUS]: "CPUS",
      [PERF_CPU_MAP__MASK]: "MASK",
      [PERF_CPU_MAP__RANGE_CPUS]: "RANGE_CPUS",
    }),
  ),
  cpus_data: doc(
    "The CPUs one by one.",
    when(is(PERF_CPU_MAP__CPUS), struct("cpu_map_entries", CPUS_FIELDS)),
  ),
  mask_data: doc(
    "The CPUs as a bit mask.",
    when(is(PERF_CPU_MAP__MASK), struct("perf_record_mask_cpu_map", MASK_FIELDS)),
  ),
  range_cpu_data: doc(
    "The CPUs as a range.",
    when(is(PERF_CPU_MAP__RANGE_CPUS), struct("perf_record_range_cpu_map", RANGE_FIELDS)),
  ),
} as const;

/** A set of CPUs in one of three encodings. */
export type CpuMapData = StructValue<typeof CPU_MAP_DATA_FIELDS>;

/** `perf_record_cpu_map_data`: a set of CPUs in one of three encodings. */
export const cpuMapData: Codec<CpuMapData> = struct(
  "perf_record_cpu_map_data",
  CPU_MAP_DATA_FIELDS,
);

/**
 * The CPU numbers of a CPU map in ascending order, or in the order of its list; -1 is "any CPU".
 *
 * A map of a type that is not known has none.
 *
 * @param map A decoded CPU map.
 *
 * @example
 * ```ts
 * import { cpusOf } from "@perfdata/user-records";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(cpusOf({ type: 1, mask_data: { long_size: 8, mask: [0x5n, 0x1n] } }), [0, 2, 64]);
 * assertEquals(
 *   cpusOf({ type: 2, range_cpu_data: { any_cpu: 1, start_cpu: 2, end_cpu: 4 } }),
 *   [-1, 2, 3, 4],
 * );
 * ```
 */
export function cpusOf(map: CpuMapData): number[] {
  const { cpus_data, mask_data, range_cpu_data } = map;
  if (cpus_data !== undefined) return cpus_data.cpu.map((cpu) => cpu === ANY_CPU ? -1 : cpu);
  const cpus: number[] = [];
  if (mask_data !== undefined) {
    const bits = 8 * mask_data.long_size;
    [...mask_data.mask].forEach((word: number | bigint, i: number) => {
      for (let left = BigInt(word), bit = 0; left !== 0n; left >>= 1n, bit++) {
        if ((left & 1n) !== 0n) cpus.push(i * bits + bit);
      }
    });
  } else if (range_cpu_data !== undefined) {
    if (range_cpu_data.any_cpu !== 0) cpus.push(-1);
    for (let cpu = range_cpu_data.start_cpu; cpu <= range_cpu_data.end_cpu; cpu++) cpus.push(cpu);
  }
  return cpus;
}

const CPU_MAP_FIELDS = {
  ...CPU_MAP_DATA_FIELDS,
  padding: doc("Zeros up to a multiple of 8.", padding),
} as const;

/** The body of CPU_MAP. */
export type CpuMap = StructValue<typeof CPU_MAP_FIELDS>;

/** CPU_MAP: the CPUs that perf was told to record; {@link cpusOf} lists them. */
export const CPU_MAP: RecordDeclaration<"CPU_MAP", CpuMap> = record(
  PERF_RECORD_CPU_MAP,
  "CPU_MAP",
  struct("perf_record_cpu_map", CPU_MAP_FIELDS),
);
