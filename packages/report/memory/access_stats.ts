/** Names of the counts of memory accesses, one for each column. */
export const ACCESS_COUNTERS = [
  "records",
  "locked",
  "blocked_data",
  "blocked_address",
  "loads",
  "loads_without_address",
  "loads_uncached",
  "loads_io",
  "loads_miss",
  "fill_buffer",
  "l1",
  "l2",
  "llc",
  "local_hitm",
  "remote_hitm",
  "local_peer",
  "remote_peer",
  "remote_hit",
  "local_dram",
  "remote_dram",
  "shared",
  "exclusive",
  "stores",
  "stores_without_address",
  "stores_uncached",
  "stores_l1_hit",
  "stores_l1_miss",
  "stores_no_level",
  "unmapped",
  "unknown",
] as const;

/** One of {@link ACCESS_COUNTERS}. */
export type AccessCounter = typeof ACCESS_COUNTERS[number];

/** Kinds of accesses for which weights are averaged; an access counts for the first that matches. */
export const ACCESS_WEIGHTS = [
  "remote_hitm",
  "local_hitm",
  "remote_peer",
  "local_peer",
  "loads",
] as const;

/** Counts of an access, in the order of {@link ACCESS_COUNTERS}. */
export type AccessNumbers = Float64Array<ArrayBuffer>;

const AT = Object.fromEntries(ACCESS_COUNTERS.map((name, i) => [name, i])) as Readonly<
  Record<AccessCounter, number>
>;

// Fields of perf_mem_data_src (include/uapi/linux/perf_event.h), first word:
const OP_LOAD = 1 << 1, OP_STORE = 1 << 2;
const LEVEL = 5;
const LEVEL_NA = 1, LEVEL_HIT = 2, LEVEL_MISS = 4, LEVEL_L1 = 8, LEVEL_LFB = 16, LEVEL_L2 = 32;
const LEVEL_L3 = 64, LEVEL_LOCAL_RAM = 128, LEVEL_REMOTE_RAM = 256 | 512;
const LEVEL_REMOTE_CACHE = 1024 | 2048, LEVEL_IO = 4096, LEVEL_UNCACHED = 8192;
const SNOOP_HIT = 1 << 21, SNOOP_HITM = 1 << 23;
const LOCKED = 1 << 25;
// Second word:
const REMOTE = 1 << 5, PEER = 1 << 7, BLOCKED_DATA = 1 << 9, BLOCKED_ADDRESS = 1 << 10;
const HOPS = 7 << 11;

/**
 * Classifies an access by the rules of `perf c2c` (`c2c_decode_stats` of
 * tools/perf/util/mem-events.c).
 *
 * @param lo Lower half of the data source.
 * @param hi Upper half of the data source.
 * @param hasAddress Whether the address of the data is known.
 * @param isMapped Whether data and code are mapped.
 * @param out Receives the counts.
 *
 * @example
 * ```ts
 * import { ACCESS_COUNTERS, countAccess } from "@perfdata/report/contention";
 * import { assertEquals } from "@std/assert";
 *
 * const numbers = new Float64Array(ACCESS_COUNTERS.length);
 * countAccess(0x80_0842, 0, true, true, numbers); // a load that hit a modified line in the last level
 * const names = ACCESS_COUNTERS.filter((_, i) => numbers[i] === 1);
 * assertEquals(names, ["records", "loads", "local_hitm"]);
 * ```
 */
export function countAccess(
  lo: number,
  hi: number,
  hasAddress: boolean,
  isMapped: boolean,
  out: AccessNumbers,
): void {
  out.fill(0);
  const add = (name: AccessCounter, is: number | boolean): void => {
    if (is) out[AT[name]] = 1;
  };
  const level = lo >>> LEVEL;
  const isRemote = (hi & REMOTE) !== 0 && (hi & HOPS) === 0;
  add("records", 1);
  add("locked", lo & LOCKED);
  add("blocked_data", hi & BLOCKED_DATA);
  add("blocked_address", hi & BLOCKED_ADDRESS);
  if (lo & OP_LOAD) {
    add("loads", 1);
    if (!hasAddress) return add("loads_without_address", 1);
    if (level & LEVEL_HIT) {
      add("loads_uncached", level & LEVEL_UNCACHED);
      add("loads_io", level & LEVEL_IO);
      add("fill_buffer", level & LEVEL_LFB);
      add("l1", level & LEVEL_L1);
      add("l2", level & LEVEL_L2);
      const inL3 = level & LEVEL_L3;
      add("local_hitm", inL3 && lo & SNOOP_HITM);
      add("llc", inL3 && !(lo & SNOOP_HITM));
      // A line in two levels is counted in each.
      if (hi & PEER) out[AT.local_peer] = (level & LEVEL_L2 ? 1 : 0) + (inL3 ? 1 : 0);
      const inLocal = level & LEVEL_LOCAL_RAM;
      const inRemote = level & LEVEL_REMOTE_RAM || isRemote;
      add("local_dram", inLocal);
      add("remote_dram", inRemote);
      const times = (inLocal ? 1 : 0) + (inRemote ? 1 : 0);
      out[lo & SNOOP_HIT ? AT.shared : AT.exclusive] = times;
    }
    if (level & LEVEL_REMOTE_CACHE || isRemote) {
      if (lo & SNOOP_HIT) add("remote_hit", 1);
      else if (lo & SNOOP_HITM) add("remote_hitm", 1);
      else if (hi & PEER) {
        add("remote_hit", 1);
        add("remote_peer", 1);
      }
    }
    add("loads_miss", level & LEVEL_MISS);
  } else if (lo & OP_STORE) {
    add("stores", 1);
    if (!hasAddress) return add("stores_without_address", 1);
    add("stores_uncached", level & LEVEL_HIT && level & LEVEL_UNCACHED);
    add("stores_l1_hit", level & LEVEL_HIT && level & LEVEL_L1);
    add("stores_l1_miss", level & LEVEL_MISS && level & LEVEL_L1);
    add("stores_no_level", level & LEVEL_NA);
  } else return add("unknown", 1);
  add("unmapped", !isMapped);
}

/** A counter in a row of numbers. */
export function counterOf(
  numbers: ArrayLike<number>,
  name: AccessCounter,
  from: number = 0,
): number {
  return numbers[from + AT[name]] as number;
}
