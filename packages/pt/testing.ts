// Test support: small traces, with packets and bytes of code laid out by hand.
import { bytesSource } from "@perfdata/format/bytes";
import { encodePackets, type Packet } from "@perfdata/intel-pt";
import { SymbolResolver } from "@perfdata/symbols";
import {
  PT_FEATURES,
  ptConfig,
  ptEvents,
  ptInfo,
  TIME,
  timeOf,
} from "../../fixtures/stepped/recording.ts";
import { auxtrace } from "../../fixtures/synthesize/pt_parts.ts";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { PtNames } from "./code/pt_names.ts";
import { PtTrace } from "./code/pt_trace.ts";

/** TSC of the first packet: its time is a whole number of ms. */
export const TSC = 0x5_0000_0000n;
/** Address of {@linkcode CODE}, which is mapped from {@linkcode FILE}. */
export const BASE = 0x1000n;
/** The file of the code. */
export const FILE = "/bin/small";

/**
 * 1000: call 1010; 1005: call 1010; 100a: jmp rax; 100c: syscall; 100e: jmp rax
 * 1010: nop; nop; ret
 */
export const CODE: Uint8Array = Uint8Array.fromHex(
  "e80b000000" + "e806000000" + "ffe0" + "0f05" + "ffe0" + "9090c3",
);

/** A packet with an uncompressed address. */
export function ip(type: "TIP" | "TIP.PGE" | "TIP.PGD" | "FUP", address?: bigint): Packet {
  return address === undefined
    ? { type, compression: 0, payload: 0n }
    : { type, compression: 3, payload: address };
}

/** A TSC packet, `ticks` after {@linkcode TSC}. */
export function tsc(ticks: number): Packet {
  return { type: "TSC", tsc: TSC + BigInt(ticks) };
}

/** Conditional branches, oldest first: `1` is taken. */
export function tnt(bits: string): Packet {
  return { type: "TNT", long: false, count: bits.length, bits: BigInt(`0b${bits}`) };
}

/** A PSB+; without an address, tracing is off. */
export function psb(ticks: number, address?: bigint): Packet[] {
  return [
    { type: "PSB" },
    tsc(ticks),
    { type: "MODE.Exec", csL: true, csD: false, interruptFlag: false },
    ...(address === undefined ? [] : [ip("FUP", address)]),
    { type: "PSBEND" },
  ];
}

/** A context switch. */
export interface Switch {
  readonly ticks: number;
  readonly cpu: number;
  readonly tid: number;
}

/** Contents of a small recording. */
export interface Small {
  readonly cpus: readonly (readonly Packet[])[];
  /** Threads, each in a process of its own; 7 by default. */
  readonly tids?: readonly number[];
  readonly switches?: readonly Switch[];
  /** Other records. */
  readonly items?: readonly Item[];
  readonly code?: Uint8Array;
  readonly mtc?: boolean;
  /** Whether the event enables CYC packets. */
  readonly cyc?: boolean;
  /** Whether the event enables power events and the event trace. */
  readonly events?: boolean;
}

/** An opened recording. */
export interface OpenedSmall {
  readonly trace: PtTrace;
  readonly names: PtNames;
}

/** perf's time, `ticks` after {@linkcode TSC}. */
export function at(ticks: number): bigint {
  return timeOf(TSC + BigInt(ticks));
}

/** The bytes of a recording of packets. */
export async function smallBytes(
  {
    cpus,
    tids = [7],
    switches = [],
    items = [],
    mtc = false,
    cyc = false,
    events = false,
  }: Small,
): Promise<Uint8Array<ArrayBuffer>> {
  const sample = (time: bigint, tid: number, cpu: number) => ({
    pid: tid,
    tid,
    time,
    cpu,
    identifier: 21n,
  });
  const maps = tids.map((tid): Item => ({
    record: {
      type: 10,
      name: "MMAP2",
      misc: 2,
      body: {
        ...{ pid: tid, tid, addr: BASE, len: 0x1000n, pgoff: 0n, maj: 8, min: 1, ino: 42n },
        ...{ ino_generation: 0n, prot: 5, flags: 2, filename: FILE },
      },
      sample_id: sample(at(-1000), tid, 0),
    } as Item["record"],
    event: 1,
  }));
  const turns = switches.map(({ ticks, cpu, tid }): Item => ({
    record: { type: 14, name: "SWITCH", misc: 0, body: {}, sample_id: sample(at(ticks), tid, cpu) },
    event: 1,
  }));
  const starts = cpus.map((_, cpu): Item => {
    const tid = tids[cpu] ?? tids[0] ?? 7;
    const sample_id = sample(at(-900), tid, cpu);
    return {
      record: { type: 12, name: "ITRACE_START", misc: 0, body: { pid: tid, tid }, sample_id },
      event: 1,
    };
  });
  const options = { psbEvery: 1, tsc: true, compressReturns: true, mtc, cyc, events };
  return await asFile({
    events: ptEvents(ptConfig(options)),
    features: PT_FEATURES,
    items: [
      { record: { type: 79, name: "TIME_CONV", misc: 0, body: TIME } },
      { record: { type: 70, name: "AUXTRACE_INFO", misc: 0, body: { type: 1, priv: ptInfo() } } },
      ...maps,
      ...starts,
      ...items,
      ...turns,
      ...cpus.map((packets, cpu) =>
        auxtrace({ cpu, tid: -1, idx: cpu }, 0n, encodePackets(packets), TSC)
      ),
    ],
  }, true) as Uint8Array<ArrayBuffer>;
}

/** Opens the recording of packets. */
export async function small(recording: Small): Promise<OpenedSmall> {
  const { code = CODE } = recording;
  const source = bytesSource(await smallBytes(recording));
  const held = {
    size: code.length,
    read: (from: number, length: number) => code.subarray(from, from + length),
    readInto: (from: number, target: Uint8Array) => {
      const part = code.subarray(from, from + target.length);
      target.set(part);
      return target.subarray(0, part.length);
    },
  };
  const files = { open: () => ({ source: held }), file: () => undefined };
  const trace = await PtTrace.open(source, { code: () => ({ files }) });
  const names = new PtNames(
    trace.code,
    new SymbolResolver({ open: () => undefined, read: () => undefined }),
  );
  return { trace, names };
}

/** 1000 calls 1010 twice; each call lasts from one TSC packet to the next. */
export const TWO_CALLS: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  // The return from the first call, and from the second.
  tnt("1"),
  tsc(3000),
  tnt("1"),
  tsc(6000),
  ip("TIP", BASE),
];

/** A trace with core clocks between branches. */
export const CYCLES: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  { type: "CYC", cycles: 7n },
  tnt("1"),
  { type: "CYC", cycles: 5n },
  tnt("1"),
  { type: "CYC", cycles: 30n },
  ip("TIP", BASE),
  tnt("1"),
  tnt("1"),
  { type: "CYC", cycles: 4n },
  ip("TIP", BASE),
  { type: "CYC", cycles: 6n },
  tnt("1"),
  ip("FUP", 0x1005n),
  { type: "CYC", cycles: 9n },
  ip("TIP.PGD"),
];

/** A conditional branch that is not taken, then taken: 1000: je 1004; 1002: nop; 1003: nop; 1004: jmp rax. */
export const CONDITIONAL: Small = {
  code: Uint8Array.fromHex("7402" + "9090" + "ffe0"),
  cpus: [[
    ...psb(0, BASE),
    tsc(1000),
    tnt("0"),
    ip("TIP", BASE),
    tsc(2000),
    tnt("1"),
    ip("TIP", BASE),
  ]],
};
