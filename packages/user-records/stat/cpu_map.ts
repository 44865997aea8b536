import {
  array,
  choice,
  type Codec,
  countedBy,
  counter,
  enumeration,
  type FixedCodec,
  type HiddenCodec,
  type OptionalCodec,
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
} from "@perfdata/format/records";
import { PERF_RECORD_CPU_MAP } from "@perfdata/format/constants";

/** `type` of a CPU map that lists its CPUs. */
export const PERF_CPU_MAP__CPUS = 0;
/** `type` of a CPU map that is a bit mask. */
export const PERF_CPU_MAP__MASK = 1;
/** `type` of a CPU map that is a range. */
export const PERF_CPU_MAP__RANGE_CPUS = 2;

/** The 16-bit number that means "any CPU" in a list of CPUs: -1. */
const ANY_CPU = 0xffff;

const CPUS_FIELDS = {
  nr: [counter(u16, "cpu") as HiddenCodec, "Number of CPUs."],
  cpu: [
    array(u16, countedBy("nr")) as Codec<number[]>,
    "CPU numbers; 65535 is -1 and stands for any CPU.",
  ],
} as const;

const MASK_FIELDS = {
  nr: [counter(u16, "mask") as HiddenCodec, "Number of words."],
  long_size: [u16, "Bytes of a word: the size of `long` on the recorded machine, 4 or 8."],
  __pad: [
    when({ field: "long_size", is: 8 }, reserved(4)) as OptionalCodec<Uint8Array>,
    "Padding by the compiler before 64-bit words.",
  ],
  mask: [
    choice("unsigned long[]", "long_size", {
      4: array(x32, countedBy("nr")),
      8: array(x64, countedBy("nr")),
    }) as Codec<bigint[] | number[]>,
    "The words, lowest CPUs first: bit `b` of word `w` is CPU `w * 8 * long_size + b`.",
  ],
} as const;

const RANGE_FIELDS = {
  any_cpu: [u8, "1 if the map also has -1, any CPU."],
  __pad: [reserved(1) as OptionalCodec<Uint8Array>, "Zero."],
  start_cpu: [u16, "First CPU."],
  end_cpu: [u16, "Last CPU, inclusive."],
} as const;

function ifType(type: number): Test {
  return { field: "type", is: type };
}

/** The fields of `perf_record_cpu_map_data`, which is packed: the data begins 2 bytes after `type`. */
export const CPU_MAP_DATA_FIELDS = {
  type: [
    enumeration(u16, {
      [PERF_CPU_MAP__CPUS]: "CPUS",
      [PERF_CPU_MAP__MASK]: "MASK",
      [PERF_CPU_MAP__RANGE_CPUS]: "RANGE_CPUS",
    }) as FixedCodec<number>,
    "Selects the field that follows.",
  ],
  cpus_data: [
    when(ifType(PERF_CPU_MAP__CPUS), struct("cpu_map_entries", CPUS_FIELDS)) as OptionalCodec<
      StructValue<typeof CPUS_FIELDS>
    >,
    "The CPUs one by one.",
  ],
  mask_data: [
    when(
      ifType(PERF_CPU_MAP__MASK),
      struct("perf_record_mask_cpu_map", MASK_FIELDS),
    ) as OptionalCodec<
      StructValue<typeof MASK_FIELDS>
    >,
    "The CPUs as a bit mask.",
  ],
  range_cpu_data: [
    when(
      ifType(PERF_CPU_MAP__RANGE_CPUS),
      struct("perf_record_range_cpu_map", RANGE_FIELDS),
    ) as OptionalCodec<StructValue<typeof RANGE_FIELDS>>,
    "The CPUs as a range.",
  ],
} as const;

/** A set of CPUs in one of three encodings. */
export type CpuMapData = StructValue<typeof CPU_MAP_DATA_FIELDS>;

/** `perf_record_cpu_map_data`: a set of CPUs in one of three encodings. */
export const cpuMapData: Codec<CpuMapData> = struct(
  "perf_record_cpu_map_data",
  CPU_MAP_DATA_FIELDS,
);

/**
 * Lists the CPUs of a CPU map, in ascending order or in the order of its list; -1 means "any CPU".
 *
 * The list of a map of unknown type is empty.
 *
 * @param map A decoded CPU map.
 *
 * @example
 * ```ts
 * import { cpusOf } from "@perfdata/user-records/metadata";
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
  padding: [padding, "Zeros up to a multiple of 8."],
} as const;

/** The body of CPU_MAP. */
export type CpuMap = StructValue<typeof CPU_MAP_FIELDS>;

/** CPU_MAP: the CPUs that perf recorded; {@link cpusOf} lists them. */
export const CPU_MAP: RecordDeclaration<"CPU_MAP", CpuMap> = record(
  PERF_RECORD_CPU_MAP,
  "CPU_MAP",
  struct("perf_record_cpu_map", CPU_MAP_FIELDS),
);
