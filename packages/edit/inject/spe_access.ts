/** An Arm SPE record, decoded from its packets. */
export interface SpeRecord {
  ip: bigint;
  addr: bigint;
  physAddr: bigint;
  /** Bits of the events packet. */
  events: number;
  /** Payload of the data source packet, whose meaning depends on the processor. */
  source: number;
  /** Cycles from issue to completion. */
  latency: number;
  /** Thread from a context packet, if there was one. */
  context: number | undefined;
  /** Whether the access is a store; `undefined` if it is neither a store nor a load. */
  isStore: boolean | undefined;
  /** Ticks of the timer. */
  time: bigint;
}

/** Bits of the events packet. */
const EVENT = {
  L1D_ACCESS: 1 << 2,
  L1D_REFILL: 1 << 3,
  TLB_ACCESS: 1 << 4,
  TLB_WALK: 1 << 5,
  LLC_ACCESS: 1 << 8,
  LLC_MISS: 1 << 9,
  REMOTE_ACCESS: 1 << 10,
};
/** Values of the fields of `perf_mem_data_src`, and their bit offsets. */
const OP = { LOAD: 2, STORE: 4 };
const LEVEL = { NA: 1, HIT: 2, MISS: 4, L1: 8, L2: 0x20, L3: 0x40, LOC_RAM: 0x80 };
const SNOOP = { NA: 1, NONE: 2, HIT: 4 };
const TLB = { HIT: 2, MISS: 4, WALKER: 0x20 };
const NUMBER = { L1: 1, L2: 2, L3: 3, RAM: 13, NA: 15 };
const PEER = 2;
const SHIFT = { LEVEL: 5n, SNOOP: 19n, TLB: 26n, NUMBER: 33n, REMOTE: 37n, SNOOPX: 38n };

/** Fields of `perf_mem_data_src` that an SPE record provides. */
interface Source {
  readonly level?: number;
  readonly number?: number;
  readonly snoop?: number;
  readonly snoopx?: number;
  readonly remote?: number;
}

/** Arm processors with the data sources of Neoverse: part numbers of `MIDR_EL1`. */
const NEOVERSE = new Set([
  ...[0xd0c, 0xd40, 0xd49, 0xd4f],
  // Cortex-X1C, X3, A720, X925, A725 have the same core complexes.
  ...[0xd4c, 0xd4e, 0xd81, 0xd85, 0xd87],
]);
const ARM = 0x41;

/** Source of the data of a load on Neoverse, by data source packet. */
const NEOVERSE_SOURCES: ReadonlyMap<number, Source> = new Map([
  [0x0, { level: LEVEL.L1 | LEVEL.HIT, number: NUMBER.L1, snoop: SNOOP.NONE }],
  [0x8, { level: LEVEL.L2 | LEVEL.HIT, number: NUMBER.L2, snoop: SNOOP.NONE }],
  // Another core, of this or another cluster; its cache level is unknown.
  [0x9, { level: LEVEL.L2 | LEVEL.HIT, number: NUMBER.L2, snoopx: PEER }],
  [0xa, { level: LEVEL.L3 | LEVEL.HIT, number: NUMBER.L3, snoopx: PEER }],
  [0xb, { level: LEVEL.L3 | LEVEL.HIT, number: NUMBER.L3, snoop: SNOOP.HIT }],
  [0xc, { level: LEVEL.L3 | LEVEL.HIT, number: NUMBER.L3, snoopx: PEER }],
  // Another socket; its cache level is unknown.
  [0xd, { level: LEVEL.NA, number: NUMBER.NA, remote: 1, snoopx: PEER }],
  [0xe, { level: LEVEL.LOC_RAM | LEVEL.HIT, number: NUMBER.RAM, snoop: SNOOP.NONE }],
]);

/** Determines the source from the events packet, for any processor. */
function byEvents(events: number): Source {
  const remote = (events & EVENT.REMOTE_ACCESS) !== 0 ? 1 : 0;
  const outcome = (miss: number) => (events & miss) !== 0 ? LEVEL.MISS : LEVEL.HIT;
  if ((events & (EVENT.LLC_ACCESS | EVENT.LLC_MISS)) !== 0) {
    return { level: LEVEL.L3 | outcome(EVENT.LLC_MISS), remote };
  }
  if ((events & (EVENT.L1D_ACCESS | EVENT.L1D_REFILL)) !== 0) {
    return { level: LEVEL.L1 | outcome(EVENT.L1D_REFILL), remote };
  }
  return { remote };
}

/**
 * Returns the data source of an Arm SPE record as `perf_mem_data_src`; 0 if it is neither a load nor a store.
 *
 * @param midr `MIDR_EL1` of the CPU, which determines the meaning of data source packets.
 */
export function accessOf(record: SpeRecord, midr: bigint): bigint {
  const { isStore, events, source } = record;
  if (isStore === undefined) return 0n;
  const part = Number(midr >> 4n & 0xfffn);
  const isNeoverse = Number(midr >> 24n & 0xffn) === ARM && NEOVERSE.has(part);
  const found: Source = !isNeoverse
    ? byEvents(events)
    : isStore
    ? { level: LEVEL.NA, number: NUMBER.NA, snoop: SNOOP.NA }
    : NEOVERSE_SOURCES.get(source) ?? {};
  const { level = 0, number = 0, snoop = 0, snoopx = 0, remote = 0 } = found;
  const translated = (events & (EVENT.TLB_ACCESS | EVENT.TLB_WALK)) === 0
    ? 0
    : TLB.WALKER | ((events & EVENT.TLB_WALK) !== 0 ? TLB.MISS : TLB.HIT);
  return BigInt(isStore ? OP.STORE : OP.LOAD) | BigInt(level) << SHIFT.LEVEL |
    BigInt(snoop) << SHIFT.SNOOP | BigInt(translated) << SHIFT.TLB |
    BigInt(number) << SHIFT.NUMBER |
    BigInt(remote) << SHIFT.REMOTE | BigInt(snoopx) << SHIFT.SNOOPX;
}
