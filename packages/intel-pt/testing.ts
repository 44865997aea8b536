// Helpers for the tests of this package: real traces, random packets, and perf.
import fc from "fast-check";
import type { IpCompression, Packet } from "./packets/packet.ts";

/** Directory of real files, which tests read if it exists. */
export const CORPUS: string = Deno.env.get("PERFDATA_CORPUS") ??
  new URL("../../../shared/corpus", import.meta.url).pathname;

const WRAPPED = `${CORPUS}/derived__rawpt_wrapped`;

/** Whether a file or directory is missing; prints a line if so. For `ignore`. */
export function missing(path: string): boolean {
  try {
    Deno.statSync(path);
    return false;
  } catch {
    console.log(`ignored: no ${path}`);
    return true;
  }
}

/** A perf.data file with one AUXTRACE record, split around its PT bytes. */
export interface Trace {
  readonly path: string;
  readonly before: Uint8Array;
  readonly payload: Uint8Array;
  readonly after: Uint8Array;
}

/** Returns the traces of the corpus. */
export function traces(): Trace[] {
  if (missing(WRAPPED)) return [];
  return [...Deno.readDirSync(WRAPPED)]
    .filter(({ name }) => name.endsWith(".perf.data"))
    .map(({ name }) => readTrace(`${WRAPPED}/${name}`));
}

/** Finds the AUXTRACE record (type 71: header, u64 size, …; its data follows the record). */
function readTrace(path: string): Trace {
  const file = Deno.readFileSync(path);
  const view = new DataView(file.buffer);
  let at = Number(view.getBigUint64(40, true));
  const end = at + Number(view.getBigUint64(48, true));
  while (at < end) {
    const size = view.getUint16(at + 6, true);
    if (view.getUint32(at, true) === 71) {
      const start = at + size;
      const stop = start + Number(view.getBigUint64(at + 8, true));
      return {
        path,
        before: file.slice(0, start),
        payload: file.slice(start, stop),
        after: file.slice(stop),
      };
    }
    at += size;
  }
  throw new Error(`${path}: no AUXTRACE record`);
}

/** Returns the file of `trace` with other PT bytes; their number has to be a multiple of 8. */
export function withPayload(trace: Trace, payload: Uint8Array): Uint8Array {
  const { before, after } = trace;
  const file = new Uint8Array(before.length + payload.length + after.length);
  file.set(before);
  file.set(payload, before.length);
  file.set(after, before.length + payload.length);
  const view = new DataView(file.buffer);
  const more = BigInt(payload.length - trace.payload.length);
  view.setBigUint64(48, view.getBigUint64(48, true) + more, true);
  const end = view.getBigUint64(40, true);
  for (let at = Number(end);; at += view.getUint16(at + 6, true)) {
    if (view.getUint32(at, true) !== 71) continue;
    view.setBigUint64(at + 8, BigInt(payload.length), true);
    return file;
  }
}

/** Whether a command is missing; prints a line if so. For `ignore`. */
export function missingCommand(name: string, flag = "--version"): boolean {
  try {
    if (new Deno.Command(name, { args: [flag], stdout: "null", stderr: "null" }).outputSync()) {
      return false;
    }
  } catch {
    // The command cannot be started.
  }
  console.log(`ignored: no ${name}`);
  return true;
}

/** Returns the lines of `perf report -D` about the PT bytes of a file with one AUXTRACE record. */
export function perfReport(path: string): string {
  const { stdout } = new Deno.Command("sh", {
    args: ["-c", 'ulimit -v 8000000; exec timeout 300 perf report -D -i "$1"', "sh", path],
    stderr: "null",
  }).outputSync();
  const text = new TextDecoder("latin1").decode(stdout);
  const heading = text.search(/\.\n\. \.\.\. Intel Processor Trace data/);
  if (heading < 0) throw new Error(`${path}: perf printed no Intel PT data`);
  let end = text.indexOf("\n", heading + 2) + 1;
  while (/^\. {2}[0-9a-f]{8}: /.test(text.slice(end, end + 13))) end = text.indexOf("\n", end) + 1;
  return text.slice(heading, end);
}

const u = (bits: number) => fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n });
const n = (bits: number) => fc.integer({ min: 0, max: 2 ** bits - 1 });
const always = <T extends string>(type: T) => fc.constant(type);

/** Reserved bits within `mask`, set in most packets. */
const reserved = (mask: bigint) =>
  fc.option(u(64).map((bits) => bits & mask), { freq: 4, nil: 0n });

function withReserved<T>(arbitrary: fc.Arbitrary<T>, mask: bigint): fc.Arbitrary<T> {
  return fc.tuple(arbitrary, fc.oneof(fc.constant(0n), reserved(mask)))
    .map(([packet, bits]) => bits === 0n ? packet : { ...packet, reserved: bits });
}

const IP_BITS = { 0: 0, 1: 16, 2: 32, 3: 48, 4: 48, 6: 64 } as const;

const tnt = fc.boolean().chain((long) =>
  fc.integer({ min: 1, max: long ? 47 : 6 }).chain((count) =>
    u(count).map((bits) => ({ type: "TNT" as const, long, count, bits }))
  )
);

const ip = fc.tuple(
  fc.constantFrom("TIP" as const, "TIP.PGE" as const, "TIP.PGD" as const, "FUP" as const),
  fc.constantFrom<IpCompression>(0, 1, 2, 3, 4, 6),
).chain(([type, compression]) =>
  u(IP_BITS[compression]).map((payload) => ({ type, compression, payload }))
);

const items = fc.constantFrom(4 as const, 8 as const).chain((itemSize) =>
  fc.tuple(
    withReserved(
      fc.record({ type: always("BBP"), itemSize: fc.constant(itemSize), blockType: n(5) }),
      0x60n,
    ),
    fc.array(
      fc.record({
        type: always("BIP"),
        itemSize: fc.constant(itemSize),
        id: n(5),
        value: u(8 * itemSize),
      }),
      { maxLength: 4 },
    ),
    fc.record({ type: always("BEP"), ip: fc.boolean() }),
  ).map(([begin, inside, end]): Packet[] => [begin, ...inside, end])
);

const single: fc.Arbitrary<Packet> = fc.oneof(
  fc.constantFrom<Packet>(
    { type: "PAD" },
    { type: "TraceSTOP" },
    { type: "OVF" },
    { type: "PSB" },
    { type: "PSBEND" },
  ),
  tnt,
  ip,
  fc.record({ type: always("PIP"), cr3: u(47).map((bits) => bits << 5n), nr: fc.boolean() }),
  withReserved(
    fc.record({
      type: always("MODE.Exec"),
      csL: fc.boolean(),
      csD: fc.boolean(),
      interruptFlag: fc.boolean(),
    }),
    0x18n,
  ),
  withReserved(
    fc.record({ type: always("MODE.TSX"), inTx: fc.boolean(), txAbort: fc.boolean() }),
    0x1cn,
  ),
  withReserved(fc.record({ type: always("CBR"), ratio: n(8) }), 0xff00n),
  fc.record({ type: always("TSC"), tsc: u(56) }),
  fc.record({ type: always("MTC"), ctc: n(8) }),
  withReserved(
    fc.record({ type: always("TMA"), ctc: n(16), fastCounter: n(9) }),
    0xfe00ff0000n,
  ),
  fc.integer({ min: 0, max: 64 }).chain((bits) =>
    fc.record({ type: always("CYC"), cycles: u(bits) })
  ),
  fc.record({ type: always("VMCS"), base: u(40).map((bits) => bits << 12n) }),
  fc.record({ type: always("MNT"), payload: u(64) }),
  fc.record({
    type: always("PTW"),
    operandSize: fc.constant(4 as const),
    payload: u(32),
    ip: fc.boolean(),
  }),
  fc.record({
    type: always("PTW"),
    operandSize: fc.constant(8 as const),
    payload: u(64),
    ip: fc.boolean(),
  }),
  fc.record({ type: always("EXSTOP"), ip: fc.boolean() }),
  withReserved(
    fc.record({ type: always("MWAIT"), hints: n(8), extensions: n(2) }),
    0xfffffffcffffff00n,
  ),
  withReserved(
    fc.record({ type: always("PWRE"), hardware: fc.boolean(), cState: n(4), subCState: n(4) }),
    0x7fn,
  ),
  withReserved(
    fc.record({
      type: always("PWRX"),
      lastCState: n(4),
      deepestCState: n(4),
      wakeReason: n(4),
    }),
    0xfffffff000n,
  ),
  withReserved(
    fc.record({ type: always("CFE"), eventType: n(5), vector: n(8), ip: fc.boolean() }),
    0x60n,
  ),
  withReserved(fc.record({ type: always("EVD"), eventType: n(6), payload: u(64) }), 0xc0n),
  withReserved(
    fc.record({
      type: always("TRIG"),
      triggers: n(8),
      ip: fc.boolean(),
      multiple: fc.boolean(),
    }),
    0x1fn,
  ),
  fc.record({
    type: always("TRIG"),
    triggers: n(8),
    ip: fc.boolean(),
    multiple: fc.boolean(),
    instructionCount: n(16),
  }),
);

/** Random sequences of packets of all kinds. */
export const packets: fc.Arbitrary<Packet[]> = fc.array(
  fc.oneof({ weight: 12, arbitrary: single.map((packet) => [packet]) }, {
    weight: 1,
    arbitrary: items,
  }),
  { maxLength: 40 },
).map((groups) => groups.flat());

export const PSB: Uint8Array = Uint8Array.from({ length: 16 }, (_, i) => i % 2 === 0 ? 2 : 0x82);

/** Random bytes that often resemble packets: opcodes, PSBs, zeros. */
export const bytes: fc.Arbitrary<Uint8Array> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 12 }) },
    { weight: 2, arbitrary: n(8).map((code) => Uint8Array.of(2, code)) },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        ...[0x03, 0x13, 0x22, 0x23, 0x33, 0x43, 0x53, 0x62, 0x63, 0x73, 0x83, 0xa2, 0xa3, 0xb3],
        ...[0xc2, 0xc8, 0xe2, 0xf3, 0x12, 0x32, 0x92, 0xb2, 0x72],
      ).map((code) => Uint8Array.of(2, code)),
    },
    { weight: 2, arbitrary: n(5).map((count) => new Uint8Array(count)) },
    { weight: 1, arbitrary: fc.constant(PSB) },
    { weight: 1, arbitrary: n(4).map((count) => PSB.slice(0, count)) },
    { weight: 1, arbitrary: n(4).map((count) => new Uint8Array(count).fill(0xff)) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(0x0d, 0x2d, 0x51, 0x61, 0x9d, 0xcd, 0xad, 0x99, 0x19, 0x59, 0xd9)
        .map((byte) => Uint8Array.of(byte)),
    },
  ),
  { maxLength: 40 },
).map((parts) => Uint8Array.from(parts.flatMap((part) => [...part])));
