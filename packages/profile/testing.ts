// Test support: small recordings, with samples and mappings laid out by hand.
import { bytesSource } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader, type PerfEventAttr } from "@perfdata/format/records";
import { SampleCollector } from "./collecting/sample_collector.ts";
import { profileColumns, recordedProfile } from "./collecting/recorded_profile.ts";
import { type Engine, type EngineOptions, runEngine } from "@perfdata/session";
import { SymbolBundle, SymbolResolver } from "@perfdata/symbols";
import { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import type { Resolution, SymbolObject } from "@perfdata/symbols/resolver";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { type ProfileOptions } from "./collecting/recorded_profile.ts";
import type { Profile } from "./columns/profile.ts";

/** IDENTIFIER, IP, TID, TIME, CALLCHAIN, CPU, PERIOD. */
export const SAMPLE_TYPE: bigint = 0x1_0000n | 0x1n | 0x2n | 0x4n | 0x20n | 0x80n | 0x100n;
const CONTEXT_KERNEL = -128n & 0xffff_ffff_ffff_ffffn;
const CONTEXT_USER = -512n & 0xffff_ffff_ffff_ffffn;

export interface SmallSample {
  readonly tid: number;
  readonly time: bigint;
  readonly period?: bigint;
  /** Addresses, innermost first. */
  readonly ips: readonly bigint[];
  readonly cpu?: number;
  /** Index of the event. */
  readonly event?: number;
  /** CPU mode: 2 is user space, 1 the kernel. */
  readonly misc?: number;
  /** Counts of a group of events: id and value. */
  readonly group?: readonly (readonly [id: bigint, value: bigint])[];
}

/** A mapping of process 7. */
export interface SmallMap {
  readonly path: string;
  readonly at: bigint;
  readonly size?: bigint;
  readonly pgoff?: bigint;
  readonly misc?: number;
  readonly buildId?: string;
  /** Another process, or -1 for the kernel. */
  readonly pid?: number;
}

/** Contents of a small recording. */
export interface Small {
  readonly samples: readonly SmallSample[];
  /** `/bin/small` at 0x1000 by default. */
  readonly maps?: readonly SmallMap[];
  /** Names of threads of process 7: `t7` and `t8` by default. */
  readonly comms?: Readonly<Record<number, string>>;
  /** Time of the records of these names; before the samples by default. */
  readonly namedAt?: bigint;
  /** Events: instructions by default. */
  readonly attrs?: readonly Partial<PerfEventAttr>[];
  /** Context switches: out of the CPU, preempted, or in. */
  readonly switches?: readonly {
    readonly tid: number;
    readonly time: bigint;
    readonly cpu: number;
    readonly change: "in" | "out" | "preempted";
  }[];
}

/** Samples of two threads on two CPUs; one address is not mapped. */
export const TWO_THREADS: Small["samples"] = [
  { tid: 7, time: 100n, period: 10n, ips: [0x1010n, 0x1020n], cpu: 0 },
  { tid: 8, time: 200n, period: 2n, ips: [0x1030n], cpu: 1 },
  { tid: 7, time: 300n, period: 5n, ips: [0x1010n, 0x1020n], cpu: 0 },
  { tid: 8, time: 400n, period: 1n, ips: [0x9000n, 0x1020n], cpu: 1 },
];

/** The identifier of an event. */
export function idOf(event: number): bigint {
  return BigInt(event + 1);
}

/** The bytes of a recording; samples and switches are in order of time. */
export async function recordingOf(
  {
    samples,
    maps = [{ path: "/bin/small", at: 0x1000n }],
    comms = { 7: "t7", 8: "t8" },
    namedAt = 1n,
    attrs = [{}],
    switches = [],
  }: Small,
): Promise<Uint8Array<ArrayBuffer>> {
  const empty = emptyAttr();
  const events = attrs.map((attr, event) => ({
    attr: {
      ...empty,
      size: 128,
      type: 0,
      config: 1n,
      sample_type: SAMPLE_TYPE,
      ...attr,
      flags: {
        ...empty.flags,
        sample_id_all: true,
        comm: true,
        mmap2: true,
        exclude_guest: true,
        context_switch: switches.length > 0,
      },
    },
    ids: [idOf(event)],
  }));
  const idAt = (tid: number, time: bigint, cpu = 0) => ({
    ...{ pid: 7, tid, time, cpu },
    identifier: idOf(0),
  });
  const named = Object.entries(comms).map(([tid, comm]) => ({
    time: namedAt,
    item: {
      record: {
        type: 3,
        name: "COMM",
        misc: 0,
        body: { pid: 7, tid: Number(tid), comm },
        sample_id: idAt(Number(tid), namedAt),
      },
    } as Item,
  }));
  const mapped = maps.map((
    { path, at, size = 0x1000n, pgoff = 0n, misc = 2, buildId, pid = 7 },
  ): Item => ({
    record: {
      type: 10,
      name: "MMAP2",
      misc: misc | (buildId === undefined ? 0 : 1 << 14),
      body: {
        ...{ pid, tid: pid < 0 ? 0 : pid, addr: at, len: size, pgoff },
        ...(buildId === undefined ? { maj: 8, min: 1, ino: 42n, ino_generation: 0n } : {
          ...{ build_id_size: 20, __reserved_1: 0, __reserved_2: 0 },
          build_id: Uint8Array.fromHex(buildId),
        }),
        ...{ prot: 5, flags: 2, filename: path },
      },
      sample_id: idAt(7, 1n),
    } as Item["record"],
  }));
  const timed = [
    ...named,
    ...samples.map((
      { tid, time, period = 1n, ips, cpu = 0, event = 0, misc = 2, group },
    ) => ({
      time,
      item: {
        event,
        record: {
          type: 9,
          name: "SAMPLE",
          misc,
          body: {
            ...{ identifier: idOf(event), ip: ips[0] ?? 0n, pid: 7, tid, time, cpu, period },
            ...(group === undefined ? {} : {
              read: { values: group.map(([id, value]) => ({ value, id })) },
            }),
            callchain: ips.length === 0 ? [] : [misc === 2 ? CONTEXT_USER : CONTEXT_KERNEL, ...ips],
          },
        } as Item["record"],
      },
    })),
    ...switches.map(({ tid, time, cpu, change }) => ({
      time,
      item: {
        record: {
          type: 14,
          name: "SWITCH",
          misc: { in: 0, out: 0x2000, preempted: 0x6000 }[change],
          body: {},
          sample_id: idAt(tid, time, cpu),
        },
      } as Item,
    })),
  ];
  timed.sort((a, b) => Number(a.time - b.time));
  const items = [...mapped, ...timed.map(({ item }) => item)];
  return await asFile({ events, items, features: [] }, true) as Uint8Array<ArrayBuffer>;
}

/** Symbols for resolvers: object, address and result of the look-up. */
export type SmallNames = readonly (readonly [
  object: SymbolObject,
  address: number,
  resolution: Resolution,
])[];

export function resolverOf(names: SmallNames = []): SymbolResolver {
  const writer = new SymbolBundleWriter();
  for (const [object, address, resolution] of names) {
    writer.addObject(object);
    writer.add(object, address, resolution);
  }
  const files = { open: () => undefined, read: () => undefined };
  return new SymbolResolver(
    files,
    names.length === 0 ? {} : { bundle: SymbolBundle.open(writer.finish()) },
  );
}

/** A consumer after it has read a whole recording. */
export async function collected(
  bytes: Uint8Array<ArrayBuffer>,
  options: ProfileOptions = {},
  engineOptions: EngineOptions = {},
): Promise<{ consumer: SampleCollector; engine: Engine }> {
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const consumer = new SampleCollector(profileColumns(options));
  const engine = await runEngine(reader, [consumer], engineOptions);
  return { consumer, engine };
}

export async function profiled(
  recording: Small,
  options: ProfileOptions = {},
  names: SmallNames = [],
): Promise<Profile> {
  const { consumer } = await collected(await recordingOf(recording), options);
  return (await recordedProfile(consumer, { resolver: resolverOf(names), title: "small" })).profile;
}

/** A line for each row of samples: thread, event, count, period, and the functions or addresses, innermost first. */
export function sampleLines(profile: Profile): string[] {
  const { samples, stacks, places, threads } = profile;
  const number = (column: ArrayLike<number> | undefined, at: number) => column?.[at] ?? NaN;
  return Array.from({ length: samples.length }, (_, i) => {
    const found: string[] = [];
    for (let at = number(samples.stack, i); at >= 0; at = number(stacks.parent, at)) {
      found.push(number(places.address, number(stacks.place, at)).toString(16));
    }
    const thread = threads.comm(number(samples.thread, i));
    return [
      ...[thread, number(samples.event, i), number(samples.count, i), number(samples.period, i)],
      found.join(" ") || "-",
    ].join(" ");
  });
}
