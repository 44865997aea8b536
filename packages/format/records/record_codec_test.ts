import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { emptyAttr } from "../header/attr.ts";
import { PerfDataError } from "../error.ts";
import { PerfEvent } from "../header/events.ts";
import { RecordCodec } from "./record_codec.ts";
import { KERNEL_RECORDS } from "./mod.ts";

const codec = new RecordCodec(KERNEL_RECORDS);
const event = new PerfEvent({
  ...emptyAttr(),
  sample_type: 0x1_01c7n, // IDENTIFIER, PERIOD, CPU, ID, TIME, TID, IP
  read_format: 4n,
  flags: { ...emptyAttr().flags, sample_id_all: true },
}, []);

const text = (value: string) => [...new TextEncoder().encode(value)];
const u32 = (value: number) => [value & 255, (value >> 8) & 255, (value >> 16) & 255, value >>> 24];
const u64 = (value: number) => [...u32(value), ...u32(Math.floor(value / 2 ** 32))];
const record = (type: number, misc: number, body: number[]) =>
  Uint8Array.from([...u32(type), misc & 255, misc >> 8, body.length + 8, 0, ...body]);
// tid, time, id, cpu, identifier
const trailer = [...u32(7), ...u32(8), ...u64(1000), ...u64(5), ...u32(2), ...u32(0), ...u64(5)];
const sampleId = { pid: 7, tid: 8, time: 1000n, id: 5n, cpu: 2, identifier: 5n };

// Bodies written by hand from include/uapi/linux/perf_event.h.
const cases: [string, number, number, number[], unknown][] = [
  ["MMAP", 1, 1, [
    ...[...u32(7), ...u32(7), ...u64(0x400000), ...u64(0x1000), ...u64(0x2000)],
    ...[...text("/bin/true"), 0, 0, 0, 0, 0, 0, 0],
  ], { pid: 7, tid: 7, addr: 0x400000n, len: 0x1000n, pgoff: 0x2000n, filename: "/bin/true" }],
  ["LOST", 2, 0, [...u64(5), ...u64(100)], { id: 5n, lost: 100n }],
  ["COMM", 3, 0x2000, [...u32(7), ...u32(8), ...text("true"), 0, 0, 0, 0], {
    pid: 7,
    tid: 8,
    comm: "true",
  }],
  ["EXIT", 4, 0, [...u32(7), ...u32(1), ...u32(8), ...u32(2), ...u64(99)], {
    pid: 7,
    ppid: 1,
    tid: 8,
    ptid: 2,
    time: 99n,
  }],
  ["THROTTLE", 5, 0, [...u64(99), ...u64(5), ...u64(6)], { time: 99n, id: 5n, stream_id: 6n }],
  ["UNTHROTTLE", 6, 0, [...u64(99), ...u64(5), ...u64(6)], { time: 99n, id: 5n, stream_id: 6n }],
  ["FORK", 7, 0, [...u32(7), ...u32(1), ...u32(8), ...u32(2), ...u64(99)], {
    pid: 7,
    ppid: 1,
    tid: 8,
    ptid: 2,
    time: 99n,
  }],
  ["READ", 8, 0, [...u32(7), ...u32(8), ...u64(11), ...u64(5)], {
    pid: 7,
    tid: 8,
    values: { values: [{ value: 11n, id: 5n }] },
  }],
  ["MMAP2", 10, 2, [
    ...[...u32(7), ...u32(8), ...u64(0x1000), ...u64(0x2000), ...u64(0)],
    ...[...u32(8), ...u32(1), ...u64(1234), ...u64(3), ...u32(5), ...u32(2)],
    ...[...text("/lib/c.so"), 0, 0, 0, 0, 0, 0, 0],
  ], {
    pid: 7,
    tid: 8,
    addr: 0x1000n,
    len: 0x2000n,
    pgoff: 0n,
    maj: 8,
    min: 1,
    ino: 1234n,
    ino_generation: 3n,
    prot: 5,
    flags: 2,
    filename: "/lib/c.so",
  }],
  ["MMAP2", 10, 0x4002, [
    ...[...u32(7), ...u32(8), ...u64(0x1000), ...u64(0x2000), ...u64(0)],
    ...[3, 0, 0, 0, 0xaa, 0xbb, 0xcc, ...new Array(17).fill(0), ...u32(5), ...u32(2)],
    ...[...text("[vdso]"), 0, 0],
  ], {
    pid: 7,
    tid: 8,
    addr: 0x1000n,
    len: 0x2000n,
    pgoff: 0n,
    build_id_size: 3,
    __reserved_1: 0,
    __reserved_2: 0,
    build_id: Uint8Array.of(0xaa, 0xbb, 0xcc, ...new Array(17).fill(0)),
    prot: 5,
    flags: 2,
    filename: "[vdso]",
  }],
  ["AUX", 11, 0, [...u64(0x100000000), ...u64(0x40), ...u64(5)], {
    aux_offset: 0x100000000n,
    aux_size: 0x40n,
    flags: 5n,
  }],
  ["ITRACE_START", 12, 0, [...u32(7), ...u32(8)], { pid: 7, tid: 8 }],
  ["LOST_SAMPLES", 13, 0, [...u64(3)], { lost: 3n }],
  ["SWITCH", 14, 0x2000, [], {}],
  ["SWITCH_CPU_WIDE", 15, 0x6000, [...u32(7), ...u32(8)], { next_prev_pid: 7, next_prev_tid: 8 }],
  ["NAMESPACES", 16, 0, [...u32(7), ...u32(8), ...u64(1), ...u64(3), ...u64(4026531840)], {
    pid: 7,
    tid: 8,
    link_info: [{ dev: 3n, ino: 4026531840n }],
  }],
  ["KSYMBOL", 17, 0, [
    ...[...u64(0x1000), ...u32(64), 1, 0, 0, 0],
    ...[...text("bpf_prog"), 0, 0, 0, 0, 0, 0, 0, 0],
  ], { addr: 0x1000n, len: 64, ksym_type: 1, flags: 0, name: "bpf_prog" }],
  ["BPF_EVENT", 18, 0, [1, 0, 0, 0, ...u32(9), 1, 2, 3, 4, 5, 6, 7, 8], {
    type: 1,
    flags: 0,
    id: 9,
    tag: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
  }],
  ["CGROUP", 19, 0, [...u64(1), ...text("/"), 0, 0, 0, 0, 0, 0, 0], { id: 1n, path: "/" }],
  ["TEXT_POKE", 20, 0, [...u64(0x1000), 1, 0, 2, 0, 0x90, 0xeb, 0x05, 0], {
    addr: 0x1000n,
    old_len: 1,
    new_len: 2,
    old_bytes: Uint8Array.of(0x90),
    new_bytes: Uint8Array.of(0xeb, 0x05),
    padding: Uint8Array.of(0),
  }],
  ["AUX_OUTPUT_HW_ID", 21, 0, [...u64(2)], { hw_id: 2n }],
  ["CALLCHAIN_DEFERRED", 22, 2, [...u64(0xc0), ...u64(1), ...u64(0x401000)], {
    cookie: 0xc0n,
    ips: [0x401000n],
  }],
];

for (const [name, type, misc, body, expected] of cases) {
  Deno.test(`record: ${name}, misc 0x${misc.toString(16)}, from bytes laid out by hand`, () => {
    const bytes = record(type, misc, [...body, ...trailer]);
    const decoded = codec.decode(bytes, { event });
    assert(decoded.name !== "RAW", `${decoded.name === "RAW" && decoded.error?.message}`);
    assertEquals<unknown>(
      { ...decoded },
      { type, name, misc, body: expected, sample_id: sampleId },
    );
    assertEquals(codec.encode(decoded, { event }), bytes);
  });
}

Deno.test("RecordCodec: every kernel record except SAMPLE has a case in this file", () => {
  const covered = new Set([...cases.map(([, type]) => type), 9]);
  assertEquals(KERNEL_RECORDS.filter(({ type }) => !covered.has(type)), []);
});

Deno.test("RecordCodec: encoding restores any bytes, for any type, event and byte order", () => {
  const bytes = fc.tuple(
    fc.oneof(fc.integer({ min: 0, max: 24 }), fc.nat(0xffff_ffff)),
    fc.nat(0xffff),
    fc.uint8Array({ maxLength: 300 }),
    fc.boolean(),
    fc.boolean(),
  );
  let decoded = 0;
  fc.assert(
    fc.property(bytes, ([type, misc, body, littleEndian, withEvent]) => {
      const whole = new Uint8Array(8 + body.length);
      const view = new DataView(whole.buffer);
      view.setUint32(0, type, littleEndian);
      view.setUint16(4, misc, littleEndian);
      view.setUint16(6, whole.length, littleEndian);
      whole.set(body, 8);
      const context = { littleEndian, event: withEvent ? event : undefined };
      const value = codec.decode(whole, context);
      assertEquals(codec.encode(value, context), whole);
      if (value.name !== "RAW") decoded++;
    }),
    { numRuns: 3000 },
  );
  assert(decoded > 30, `only ${decoded} records decoded`);
});

Deno.test("RecordCodec: a malformed record is kept raw, with the error and its offset", () => {
  const value = codec.decode(record(2, 0, [1, 2, 3, 4]), { offset: 0x1a40 });
  assert(value.name === "RAW");
  assertEquals(value.error?.located(), "0x1a48: LOST: u64: 4 bytes left, expected 8");
});

Deno.test("RecordCodec: a size other than the number of bytes is an error", () => {
  const bytes = record(2, 0, [...u64(1), ...u64(2)]);
  assertThrows(() => codec.decode(bytes.subarray(0, 16)), PerfDataError, "size is 24, expected 16");
});
