import { assertEquals } from "@std/assert";
import { ACCESS_COUNTERS, type AccessCounter, countAccess, counterOf } from "./access_stats.ts";

// Fields of perf_mem_data_src by bit (include/uapi/linux/perf_event.h).
const LOAD = 1n << 1n, STORE = 1n << 2n, EXEC = 1n << 4n;
const level = (bits: bigint): bigint => bits << 5n;
const [NA, HIT, MISS, L1, LFB, L2, L3] = [1n, 2n, 4n, 8n, 16n, 32n, 64n].map(level) as [
  ...[bigint, bigint, bigint, bigint, bigint, bigint, bigint],
];
const [LOCAL_RAM, REMOTE_RAM1, REMOTE_RAM2, REMOTE_CACHE1, REMOTE_CACHE2, IO, UNCACHED] = [
  ...[128n, 256n, 512n, 1024n, 2048n, 4096n, 8192n],
].map(level) as [bigint, bigint, bigint, bigint, bigint, bigint, bigint];
const SNOOP_HIT = 4n << 19n, SNOOP_HITM = 16n << 19n;
const LOCKED = 2n << 24n;
const REMOTE = 1n << 37n, PEER = 2n << 38n;
const BLOCKED_DATA = 2n << 40n, BLOCKED_ADDRESS = 4n << 40n;
const HOPS = 1n << 43n;

/** The counters of an access except `records`; a counter of 2 is `name*2`. */
function counted(source: bigint, hasAddress = true, isMapped = true): string {
  const numbers = new Float64Array(ACCESS_COUNTERS.length).fill(9);
  const lo = Number(BigInt.asIntN(32, source)), hi = Number(BigInt.asIntN(32, source >> 32n));
  countAccess(lo, hi, hasAddress, isMapped, numbers);
  assertEquals(counterOf(numbers, "records"), 1);
  return ACCESS_COUNTERS.filter((name) => name !== "records" && counterOf(numbers, name) !== 0)
    .map((name: AccessCounter) => {
      const count = counterOf(numbers, name);
      return count === 1 ? name : `${name}*${count}`;
    }).join(" ");
}

const CASES: readonly (readonly [what: string, source: bigint, counts: string])[] = [
  ["a load from L1", LOAD | HIT | L1, "loads l1"],
  ["a load from L2", LOAD | HIT | L2, "loads l2"],
  ["a load from the fill buffer", LOAD | HIT | LFB, "loads fill_buffer"],
  ["a load from L3", LOAD | HIT | L3, "loads llc"],
  ["a load from L3 of a modified line", LOAD | HIT | L3 | SNOOP_HITM, "loads local_hitm"],
  ["a load of uncached memory", LOAD | HIT | UNCACHED, "loads loads_uncached"],
  ["a load from a device", LOAD | HIT | IO, "loads loads_io"],
  ["a load from RAM", LOAD | HIT | LOCAL_RAM, "loads local_dram exclusive"],
  ["a shared load from RAM", LOAD | HIT | LOCAL_RAM | SNOOP_HIT, "loads local_dram shared"],
  ["a load from RAM one hop away", LOAD | HIT | REMOTE_RAM1, "loads remote_dram exclusive"],
  ["a load from RAM two hops away", LOAD | HIT | REMOTE_RAM2, "loads remote_dram exclusive"],
  ["a load from a cache one hop away", LOAD | REMOTE_CACHE1 | SNOOP_HIT, "loads remote_hit"],
  ["a load from a cache two hops away", LOAD | REMOTE_CACHE2 | SNOOP_HITM, "loads remote_hitm"],
  ["a load of a peer far away", LOAD | REMOTE_CACHE1 | PEER, "loads remote_peer remote_hit"],
  ["a load of a peer in L2", LOAD | HIT | L2 | PEER, "loads l2 local_peer"],
  ["a load of a peer in two levels", LOAD | HIT | L2 | L3 | PEER, "loads l2 llc local_peer*2"],
  ["a remote load that misses", LOAD | MISS | REMOTE | SNOOP_HITM, "loads loads_miss remote_hitm"],
  ["a remote load within the node", LOAD | MISS | REMOTE | HOPS | SNOOP_HITM, "loads loads_miss"],
  ["a remote load", LOAD | HIT | REMOTE, "loads remote_dram exclusive"],
  ["a load that misses L1", LOAD | MISS | L1, "loads loads_miss"],
  ["a locked load", LOAD | HIT | L1 | LOCKED, "locked loads l1"],
  ["a load blocked by data", LOAD | BLOCKED_DATA, "blocked_data loads"],
  ["a load blocked by an address", LOAD | BLOCKED_ADDRESS, "blocked_address loads"],
  ["a store into L1", STORE | HIT | L1, "stores stores_l1_hit"],
  ["a store that misses L1", STORE | MISS | L1, "stores stores_l1_miss"],
  ["a store of no level", STORE | NA, "stores stores_no_level"],
  ["a store of uncached memory", STORE | HIT | UNCACHED, "stores stores_uncached"],
  ["a store into L2", STORE | HIT | L2, "stores"],
  ["neither load nor store", EXEC | HIT | L1, "unknown"],
];

for (const [what, source, counts] of CASES) {
  Deno.test(`countAccess: ${what} gives ${counts}`, () => {
    assertEquals(counted(source).split(" ").sort(), counts.split(" ").sort());
  });
}

Deno.test("countAccess: an access without an address counts as that alone, not by its cache level", () => {
  assertEquals(counted(LOAD | HIT | L1, false, false), "loads loads_without_address");
  assertEquals(counted(STORE | HIT | L1, false, false), "stores stores_without_address");
});

Deno.test("countAccess: an unmapped load or store is unmapped", () => {
  assertEquals(counted(LOAD | HIT | L1, true, false), "loads l1 unmapped");
  assertEquals(counted(STORE | NA, true, false), "stores stores_no_level unmapped");
  assertEquals(counted(EXEC, true, false), "unknown");
});

Deno.test("counterOf: a counter of the row at an index is read", () => {
  const rows = new Float64Array(2 * ACCESS_COUNTERS.length).map((_, i) => i);
  assertEquals(counterOf(rows, "locked"), ACCESS_COUNTERS.indexOf("locked"));
  assertEquals(counterOf(rows, "records", 7), 7 + ACCESS_COUNTERS.indexOf("records"));
});
