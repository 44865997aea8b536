import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { emptyAttr, type PerfEventAttr } from "../header/attr.ts";
import { PerfDataError } from "../error.ts";
import { PERF_SAMPLE_NAMES } from "../header/perf_event.ts";
import { sampleBody } from "./sample.ts";
import { SampleFields, sampleLayout } from "./sample_layout.ts";
import { decode, encode } from "../struct/mod.ts";

const attrOf = (fields: Partial<PerfEventAttr>): PerfEventAttr => ({ ...emptyAttr(), ...fields });
const word = (value: number | bigint) => {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, BigInt(value)), true);
  return [...bytes];
};

Deno.test("sampleBody: a record with every field, written by hand, is decoded", () => {
  // In the order of perf_output_sample() in kernel/events/core.c.
  const attr = attrOf({
    sample_type: 0x1ff_ffffn & ~(1n << 24n),
    read_format: 0x17n, // times, id, lost
    branch_sample_type: 0x2_0000n | 0x8_0000n,
    sample_regs_user: 0x180n,
    sample_regs_intr: 0x1n,
  });
  const bytes = Uint8Array.from([
    ...word(77), // identifier
    ...word(0x401000), // ip
    ...[5, 0, 0, 0, 6, 0, 0, 0], // pid, tid
    ...word(1000), // time
    ...word(0xdead), // addr
    ...word(77), // id
    ...word(78), // stream_id
    ...[3, 0, 0, 0, 0, 0, 0, 0], // cpu, res
    ...word(250000), // period
    ...[...word(9), ...word(20), ...word(10), ...word(77), ...word(2)], // read
    ...[...word(2), ...word(-512), ...word(0x401000)], // callchain
    ...[4, 0, 0, 0, 1, 2, 3, 4], // raw
    ...[...word(1), ...word(-1), ...word(0x10), ...word(0x20), ...word(0x21)], // branch stack
    ...word(0xab), // its counters
    ...[...word(2), ...word(0x7ffe), ...word(0x401000)], // regs_user: SP, IP
    ...[...word(8), ...word(0x55), ...word(8)], // stack_user
    ...word(33), // weight
    ...word(0x1234), // data_src
    ...word(0), // transaction
    ...[...word(2), ...word(0x42)], // regs_intr: AX
    ...word(0x1000), // phys_addr
    ...word(99), // cgroup
    ...word(4096), // data_page_size
    ...word(2097152), // code_page_size
  ]);
  // Bit 20 is AUX, the last field.
  const whole = Uint8Array.from([...bytes, ...word(3), 1, 2, 3]);
  const codec = sampleBody(attr, "x86_64");
  const { value, tail } = decode(codec, whole);
  assertEquals(tail, undefined);
  assertEquals(value, {
    identifier: 77n,
    ip: 0x401000n,
    pid: 5,
    tid: 6,
    time: 1000n,
    addr: 0xdeadn,
    id: 77n,
    stream_id: 78n,
    cpu: 3,
    period: 250000n,
    read: { time_enabled: 20n, time_running: 10n, values: [{ value: 9n, id: 77n, lost: 2n }] },
    callchain: [0xffff_ffff_ffff_fe00n, 0x401000n],
    raw: Uint8Array.of(1, 2, 3, 4),
    branch_stack: {
      hw_idx: 0xffff_ffff_ffff_ffffn,
      entries: [{
        from: 0x10n,
        to: 0x20n,
        flags: {
          mispred: true,
          predicted: false,
          in_tx: false,
          abort: false,
          cycles: 2,
          type: 0,
          spec: 0,
          new_type: 0,
          priv: 0,
        },
      }],
      counters: [0xabn],
    },
    regs_user: { abi: 2n, regs: { SP: 0x7ffen, IP: 0x401000n } },
    stack_user: { data: Uint8Array.of(0x55, 0, 0, 0, 0, 0, 0, 0), dyn_size: 8n },
    weight: 33n,
    data_src: 0x1234n,
    transaction: 0n,
    regs_intr: { abi: 2n, regs: { AX: 0x42n } },
    phys_addr: 0x1000n,
    cgroup: 99n,
    data_page_size: 4096n,
    code_page_size: 2097152n,
    aux: Uint8Array.of(1, 2, 3),
  });
  assertEquals(encode(codec, value), whole);
});

Deno.test("sampleBody: READ of a group and WEIGHT_STRUCT are decoded", () => {
  const attr = attrOf({ sample_type: 0x10n | (1n << 24n), read_format: 0xcn });
  const bytes = Uint8Array.from([
    ...[...word(2), ...word(10), ...word(1), ...word(20), ...word(2)],
    ...[1, 0, 0, 0, 2, 0, 3, 0],
  ]);
  assertEquals(decode(sampleBody(attr), bytes).value, {
    read: { values: [{ value: 10n, id: 1n }, { value: 20n, id: 2n }] },
    weight_struct: { var1_dw: 1, var2_w: 2, var3_w: 3 },
  });
});

const shapes = fc.record({
  sample_type: fc.subarray(Object.keys(PERF_SAMPLE_NAMES).map(BigInt))
    .map((bits) => bits.reduce((all, bit) => all | bit, 0n)),
  read_format: fc.bigInt(0n, 31n),
  branch_sample_type: fc.constantFrom(0n, 0x2_0000n, 0x8_0000n, 0xa_0000n),
  sample_regs_user: fc.constantFrom(0n, 0xff_0fffn, 0x1n),
  sample_regs_intr: fc.constantFrom(0n, 0xffn),
});

/** Bytes with many small counts, so that decoding gets past the first length. */
const body = fc.array(
  fc.oneof(fc.bigInt(0n, 3n), fc.bigInt(0n, (1n << 64n) - 1n)),
  { maxLength: 60 },
).map((words) => Uint8Array.from(words.flatMap(word)));

Deno.test("sampleBody: encoding restores the decoded bytes, for any attr", () => {
  let decoded = 0;
  fc.assert(
    fc.property(shapes, body, fc.boolean(), (shape, bytes, littleEndian) => {
      const codec = sampleBody(attrOf(shape), "x86_64");
      try {
        const { value, tail } = decode(codec, bytes, { littleEndian });
        assertEquals(encode(codec, value, { littleEndian, tail }), bytes);
        decoded++;
      } catch (error) {
        if (!(error instanceof PerfDataError)) throw error;
      }
    }),
    { numRuns: 2000 },
  );
  assert(decoded > 100, `only ${decoded} samples decoded`);
});

Deno.test("SampleFields: positions equal those of the decoded fields", () => {
  let agreed = 0;
  fc.assert(
    fc.property(shapes, body, (shape, bytes) => {
      const attr = attrOf(shape);
      const record = new Uint8Array(8 + bytes.length);
      record.set(bytes, 8);
      const view = new DataView(record.buffer);
      const fields = new SampleFields(attr);
      const fits = fields.locate(view, 0, record.length, true);
      let value, tail: Uint8Array | undefined;
      try {
        ({ value, tail } = decode(sampleBody(attr), bytes));
      } catch (error) {
        if (!(error instanceof PerfDataError)) throw error;
        assertEquals(fits, false);
        return;
      }
      assertEquals(fits, true);
      assertEquals(fields.end, record.length - (tail?.length ?? 0));
      const layout = sampleLayout(attr);
      const u64 = (at: number) => at < 0 ? undefined : view.getBigUint64(at, true);
      assertEquals(u64(layout.ip), value.ip);
      assertEquals(u64(layout.time), value.time);
      assertEquals(u64(layout.period), value.period);
      assertEquals(layout.cpu < 0 ? undefined : view.getUint32(layout.cpu, true), value.cpu);
      const chain = fields.callchain < 0
        ? undefined
        : Array.from({ length: fields.callchainLength }, (_, i) => u64(fields.callchain + i * 8));
      assertEquals(chain, value.callchain);
      assertEquals(u64(fields.regsUser), value.regs_user?.abi);
      assertEquals(u64(fields.regsIntr), value.regs_intr?.abi);
      assertEquals(u64(fields.dataSrc), value.data_src);
      assertEquals(u64(fields.codePageSize), value.code_page_size);
      assertEquals(fields.aux < 0 ? undefined : fields.auxSize, value.aux?.length);
      assertEquals(
        fields.stackUser < 0 ? undefined : fields.stackUserSize,
        value.stack_user?.data.length,
      );
      assertEquals(
        fields.branchStack < 0 ? undefined : fields.branchStackLength,
        value.branch_stack?.entries.length,
      );
      agreed++;
    }),
    { numRuns: 2000 },
  );
  assert(agreed > 100, `only ${agreed} samples decoded`);
});
