import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { RecordCodec, type RecordDeclaration } from "@perfdata/format/records";
import { GOOGLE_RECORDS } from "./dialects/google_dialect.ts";
import { USER_RECORD_NAMES } from "@perfdata/format/constants";
import { USER_RECORDS, type UserRecord } from "./user_records.ts";

/** Pieces of typical records: mostly small numbers of all sizes, some text, some noise. */
const piece = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constantFrom(2, 4, 8), fc.nat(9)) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(1, 2, 4, 8), fc.nat(300)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant(8), fc.constant(-1)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 24 }) },
  { weight: 1, arbitrary: fc.constantFrom("cycles", "task\0", "a/b") },
  { weight: 1, arbitrary: fc.constantFrom(64, 512, 256, 16).map((n) => new Uint8Array(n)) },
);

function bytesOf(pieces: ReadonlyArray<[number, number] | Uint8Array | string>, little: boolean) {
  const out: number[] = [];
  for (const one of pieces) {
    if (typeof one === "string") out.push(...new TextEncoder().encode(one));
    else if (one instanceof Uint8Array) out.push(...one);
    else {
      const [size, value] = one;
      const bytes = Array.from(
        { length: size },
        (_, i) => Number(BigInt.asUintN(64, BigInt(value)) >> BigInt(8 * i) & 0xffn),
      );
      out.push(...(little ? bytes : bytes.reverse()));
    }
  }
  return Uint8Array.from(out);
}

Deno.test("USER_RECORDS: names and numbers equal those of perf's header", () => {
  assertEquals(
    Object.fromEntries(USER_RECORDS.map(({ type, name }) => [type, name as string])),
    USER_RECORD_NAMES as Record<number, string>,
  );
  assertEquals(
    Object.keys(USER_RECORD_NAMES).map(Number),
    Array.from({ length: 23 }, (_, i) => 64 + i),
  );
});

Deno.test("ALL_RECORDS: every field has its own documentation", () => {
  const lacking: string[] = [];
  const walk = (path: string, codec: RecordDeclaration<string, unknown>["body"]) => {
    for (const alternative of codec.alternatives ?? []) walk(path, alternative);
    for (const [name, part] of Object.entries(codec.parts ?? {})) {
      if (name !== "element" && !(part.doc ?? "").endsWith(".")) lacking.push(`${path}.${name}`);
      walk(`${path}.${name}`, part);
    }
  };
  for (const declared of USER_RECORDS) {
    walk(declared.name, declared.body as RecordDeclaration<string, unknown>["body"]);
  }
  assertEquals(lacking, []);
});

for (
  const [title, declarations] of [
    ["perf's own", USER_RECORDS],
    ["Google's", GOOGLE_RECORDS],
  ] as [string, readonly RecordDeclaration<string, unknown>[]][]
) {
  Deno.test(`${title} records: encoding restores any bytes, decoded or raw`, () => {
    const codec = new RecordCodec(declarations);
    const decodedAtAll = new Map<string, number>();
    fc.assert(
      fc.property(
        fc.constantFrom(...declarations.map(({ type }) => type)),
        fc.array(piece, { maxLength: 24 }),
        fc.constantFrom(0, 0x8000, 0xffff),
        fc.boolean(),
        (type, pieces, misc, littleEndian) => {
          const body = bytesOf(pieces, littleEndian);
          const bytes = new Uint8Array(body.length + 8);
          const view = new DataView(bytes.buffer);
          view.setUint32(0, type, littleEndian);
          view.setUint16(4, misc, littleEndian);
          view.setUint16(6, bytes.length, littleEndian);
          bytes.set(body, 8);
          const record = codec.decode(bytes, { littleEndian });
          assertEquals(codec.encode(record, { littleEndian }), bytes);
          if (record.name !== "RAW") {
            decodedAtAll.set(record.name, (decodedAtAll.get(record.name) ?? 0) + 1);
          }
          // With a trace, the decoded record is the same, and each field that begins also ends.
          let open = 0;
          const watched = codec.decode(bytes, {
            littleEndian,
            trace: { begin: () => open++, end: () => open-- },
          });
          if (watched.name === "RAW" || record.name === "RAW") {
            assertEquals(watched.name, record.name);
          } else {
            assertEquals(open, 0);
            assertEquals(watched, record);
          }
        },
      ),
      { numRuns: 6000 },
    );
    // Each declaration was used, with bytes that it accepts.
    assertEquals(
      declarations.map(({ name }) => name).filter((name) => !decodedAtAll.has(name)),
      [],
    );
  });
}

const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const i64 = fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n });
const u32 = fc.nat(0xffff_ffff);
const i32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const u16 = fc.nat(0xffff);
const name = (size: number) =>
  fc.string({ unit: "binary", maxLength: size })
    .map((text) => text.replaceAll("\0", ""))
    .filter((text) => new TextEncoder().encode(text).length < size);
const cpuMap = fc.oneof(
  fc.record({
    type: fc.constant(0),
    cpus_data: fc.record({ cpu: fc.array(u16) }),
  }),
  fc.record({
    type: fc.constant(1),
    mask_data: fc.oneof(
      fc.record({ long_size: fc.constant(8), mask: fc.array(u64) }),
      fc.record({ long_size: fc.constant(4), mask: fc.array(u32) }),
    ),
  }),
  fc.record({
    type: fc.constant(2),
    range_cpu_data: fc.record({ any_cpu: fc.nat(255), start_cpu: u16, end_cpu: u16 }),
  }),
);
const entry = fc.record({ id: u64, idx: u64, cpu: i64, tid: i64 });
const guest = fc.record({ machine_pid: i64, vcpu: i64 });

/** Values of records, for all shapes of their fields. */
const values: Record<string, fc.Arbitrary<unknown>> = {
  HEADER_EVENT_TYPE: fc.record({ event_id: u64, name: name(64) }),
  HEADER_TRACING_DATA: fc.record({ size: u32 }),
  HEADER_BUILD_ID: fc.record({
    pid: i32,
    build_id: fc.uint8Array({ minLength: 20, maxLength: 20 }),
    filename: name(200),
  }),
  FINISHED_ROUND: fc.constant({}),
  ID_INDEX: fc.oneof(
    fc.array(entry).map((entries) => ({ entries })),
    fc.array(fc.tuple(entry, guest), { minLength: 1 }).map((pairs) => ({
      entries: pairs.map(([first]) => first),
      entries_2: pairs.map(([, second]) => second),
    })),
  ),
  AUXTRACE_INFO: fc.record({ type: fc.nat(9), priv: fc.array(u64) }),
  AUXTRACE: fc.record({
    size: u64,
    offset: u64,
    reference: u64,
    idx: u32,
    tid: i32,
    cpu: i32,
  }),
  THREAD_MAP: fc.record({ entries: fc.array(fc.record({ pid: i64, comm: name(16) })) }),
  CPU_MAP: cpuMap,
  STAT_CONFIG: fc.record({ data: fc.array(fc.record({ tag: u64, val: u64 })) }),
  STAT: fc.record({ id: u64, cpu: i32, thread: i32, val: u64, ena: u64, run: u64 }),
  STAT_ROUND: fc.record({ type: u64, time: u64 }),
  EVENT_UPDATE: fc.oneof(
    fc.record({ type: fc.constant(0n), id: u64, unit: name(30) }),
    fc.record({ type: fc.constant(1n), id: u64, scale: fc.double({ noNaN: true }) }),
    fc.record({ type: fc.constant(2n), id: u64, name: name(90) }),
    fc.record({ type: fc.constant(3n), id: u64, cpus: cpuMap }),
  ),
  TIME_CONV: fc.record({ time_shift: u64, time_mult: u64, time_zero: u64 }),
  HEADER_FEATURE: fc.record({ feat_id: u64, data: fc.uint8Array() }),
  COMPRESSED: fc.record({ data: fc.uint8Array() }),
  FINISHED_INIT: fc.constant({}),
  COMPRESSED2: fc.record({ data: fc.uint8Array() }),
  BPF_METADATA: fc.record({
    prog_name: name(512),
    entries: fc.array(fc.record({ key: name(64), value: name(256) })),
  }),
};

Deno.test("USER_RECORDS: decoding restores any encoded values", () => {
  const codec = new RecordCodec(USER_RECORDS);
  for (const declared of USER_RECORDS) {
    const arbitrary = values[declared.name];
    if (arbitrary === undefined) continue;
    fc.assert(
      fc.property(arbitrary, fc.boolean(), (body, littleEndian) => {
        const record = { type: declared.type, name: declared.name, misc: 0, body } as UserRecord;
        const bytes = codec.encode(record, { littleEndian });
        const decoded = codec.decode(bytes, { littleEndian });
        assert(decoded.name !== "RAW", String(decoded.name === "RAW" && decoded.error));
        assertEquals(decoded, record as typeof decoded);
      }),
      { numRuns: 200 },
    );
  }
});
