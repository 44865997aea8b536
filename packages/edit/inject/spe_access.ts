/** A record of Arm SPE, from its packets. */
export interface SpeRecord {
  ip: bigint;
  addr: bigint;
  physAddr: bigint;
  /** Bits of the events packet. */
  events: number;
  /** The data source packet; what it means depends on the processor. */
  source: number;
  /** Cycles from issue to completion. */
  latency: number;
  /** The thread, where a context packet said it. */
  context: number | undefined;
  /** Whether it is a store; `undefined` if it is neither a store nor a load. */
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
/** Parts of `perf_mem_data_src`, and where they begin. */
const OP = { LOAD: 2, STORE: 4 };
const LEVEL = { NA: 1, HIT: 2, MISS: 4, L1: 8, L2: 0x20, L3: 0x40, LOC_RAM: 0x80 };
const SNOOP = { NA: 1, NONE: 2, HIT: 4 };
const TLB = { HIT: 2, MISS: 4, WALKER: 0x20 };
const NUMBER = { L1: 1, L2: 2, L3: 3, RAM: 13, NA: 15 };
const PEER = 2;
const AT = { LEVEL: 5n, SNOOP: 19n, TLB: 26n, NUMBER: 33n, REMOTE: 37n, SNOOPX: 38n };

/** Parts of a data source that a data source packet says. */
interface Source {
  readonly level?: number;
  readonly number?: number;
  readonly snoop?: number;
  readonly snoopx?: number;
  readonly remote?: number;
}

/** Processors of Arm that have the data sources of Neoverse: part numbers of `MIDR_EL1`. */
const NEOVERSE = new Set([
  ...[0xd0c, 0xd40, 0xd49, 0xd4f],
  // Cortex-X1C, X3, A720, X925, A725: the same core complexes.
  ...[0xd4c, 0xd4e, 0xd81, 0xd85, 0xd87],
]);
const ARM = 0x41;

/** By data source packet, on Neoverse: what answered a load. */
const NEOVERSE_SOURCES: ReadonlyMap<number, Source> = new Map([
  [0x0, { level: LEVEL.L1 | LEVEL.HIT, number: NUMBER.L1, snoop: SNOOP.NONE }],
  [0x8, { level: LEVEL.L2 | LEVEL.HIT, number: NUMBER.L2, snoop: SNOOP.NONE }],
  // Another core, of this cluster or of another: which of its levels is not known.
  [0x9, { level: LEVEL.L2 | LEVEL.HIT, number: NUMBER.L2, snoopx: PEER }],
  [0xa, { level: LEVEL.L3 | LEVEL.HIT, number: NUMBER.L3, snoopx: PEER }],
  [0xb, { level: LEVEL.L3 | LEVEL.HIT, number: NUMBER.L3, snoop: SNOOP.HIT }],
  [0xc, { level: LEVEL.L3 | LEVEL.HIT, number: NUMBER.L3, snoopx: PEER }],
  // Another socket: which of its levels is not known.
  [0xd, { level: LEVEL.NA, number: NUMBER.NA, remote: 1, snoopx: PEER }],
  [0xe, { level: LEVEL.LOC_RAM | LEVEL.HIT, number: NUMBER.RAM, snoop: SNOOP.NONE }],
]);

/** What any processor says: by events. */
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
 * The data source of a record of Arm SPE, as `perf_mem_data_src` has it; 0 of what is neither a load nor a store.
 *
 * @param midr `MIDR_EL1` of the CPU: what data source packets mean.
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
  return BigInt(isStore ? OP.STORE : OP.LOAD) | BigInt(level) << AT.LEVEL |
    BigInt(snoop) << AT.SNOOP | BigInt(translated) << AT.TLB | BigInt(number) << AT.NUMBER |
    BigInt(remote) << AT.REMOTE | BigInt(snoopx) << AT.SNOOPX;
}
