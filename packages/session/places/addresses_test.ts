import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader, PerfDataWriter } from "@perfdata/format/records";
import { ADDRESS_USE, PlaceUses } from "./address_table.ts";
import { type RecordedAddresses, recordedAddresses } from "./addresses.ts";
import { Machine } from "../machine/machine.ts";
import { KERNEL_HIDDEN, Places, UNMAPPED } from "./places.ts";
import { RecordedObjects } from "./recorded_objects.ts";

const KERNEL = 1;
const USER = 2;
const { IP, CALLCHAIN, BRANCH, BEFORE_RETURN } = ADDRESS_USE;
/** IP, TID, PERIOD, CALLCHAIN, BRANCH_STACK. */
const SAMPLE_TYPE = 0x1n | 0x2n | 0x100n | 0x20n | 0x800n;
const PERF_CONTEXT_KERNEL = -128n;
const PERF_CONTEXT_USER = -512n;

/** A field: its value and its size in bytes; text is padded to a multiple of 8. */
type Field = readonly [bigint | number, 1 | 2 | 4 | 8] | string | Uint8Array;

const u32 = (value: number): Field => [value, 4];
const u64 = (value: bigint): Field => [BigInt.asUintN(64, value), 8];

function record(littleEndian: boolean, type: number, misc: number, fields: Field[]): Uint8Array {
  const bytes = new Uint8Array(4096);
  const view = new DataView(bytes.buffer);
  let at = 8;
  for (const field of fields) {
    if (typeof field === "string") {
      const { written } = new TextEncoder().encodeInto(field, bytes.subarray(at));
      at += (written + 8) & ~7;
    } else if (field instanceof Uint8Array) {
      bytes.set(field, at);
      at += field.length;
    } else {
      const [value, size] = field;
      if (size === 8) view.setBigUint64(at, BigInt(value), littleEndian);
      else if (size === 4) view.setUint32(at, Number(value), littleEndian);
      else if (size === 2) view.setUint16(at, Number(value), littleEndian);
      else view.setUint8(at, Number(value));
      at += size;
    }
  }
  view.setUint32(0, type, littleEndian);
  view.setUint16(4, misc, littleEndian);
  view.setUint16(6, at, littleEndian);
  return bytes.slice(0, at);
}

type Line = (littleEndian: boolean) => Uint8Array;

const mmap = (
  pid: number,
  addr: bigint,
  len: bigint,
  pgoff: bigint,
  name: string,
  misc = USER,
): Line =>
(le) => record(le, 1, misc, [u32(pid), u32(pid), u64(addr), u64(len), u64(pgoff), name]);

/** MMAP2 of executable memory, with a build id of four bytes. */
const mmap2 =
  (pid: number, addr: bigint, len: bigint, name: string, buildId: number): Line => (le) => {
    const id = new Uint8Array(24);
    id[0] = 4;
    new DataView(id.buffer).setUint32(4, buildId);
    return record(le, 10, USER | 0x4000, [
      ...[u32(pid), u32(pid), u64(addr), u64(len), u64(0n)],
      ...[id, u32(5), u32(2), name],
    ]);
  };

const sample = (
  pid: number,
  ip: bigint,
  more: { mode?: number; period?: bigint; chain?: bigint[]; branches?: [bigint, bigint][] } = {},
): Line =>
(le) => {
  const { mode = USER, period = 1n, chain = [], branches = [] } = more;
  return record(le, 9, mode, [
    ...[u64(ip), u32(pid), u32(pid), u64(period), u64(BigInt(chain.length)), ...chain.map(u64)],
    u64(BigInt(branches.length)),
    ...branches.flatMap(([from, to]) => [u64(from), u64(to), u64(0n)]),
  ]);
};

async function addressesOf(lines: readonly Line[], littleEndian: boolean) {
  const sink = memorySink();
  const attr = { ...emptyAttr(), sample_type: SAMPLE_TYPE };
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }], littleEndian });
  for (const line of lines) await writer.write(line(littleEndian));
  await writer.close();
  return await recordedAddresses(await PerfDataReader.open(bytesSource(sink.bytes())));
}

/** `path build-id address uses samples period` of each row. */
function rowsOf({ objects, table }: RecordedAddresses): string[] {
  const rows: string[] = [];
  for (let row = 0; row < table.count; row++) {
    const number = table.object[row] ?? 0;
    const object = objects[number];
    const name = number === UNMAPPED ? "unmapped" : number === KERNEL_HIDDEN ? "hidden" : undefined;
    const counts = [table.uses[row], table.samples[row], table.periods[row]];
    const address = (table.address[row] ?? 0).toString(16);
    rows.push(
      `${name ?? [object?.kind, object?.path, object?.buildId ?? "-"].join(" ")} ${address} ${
        counts.join(" ")
      }`,
    );
  }
  return rows.sort();
}

async function check(lines: readonly Line[], expected: readonly string[]): Promise<void> {
  for (const littleEndian of [true, false]) {
    assertEquals(rowsOf(await addressesOf(lines, littleEndian)), expected.toSorted());
  }
}

Deno.test("recordedAddresses: an address in a file is its file offset, wherever the file is mapped", async () => {
  await check([
    mmap(7, 0x55550000n, 0x4000n, 0x1000n, "/bin/x"),
    mmap(8, 0x7fff_0000_0000n, 0x4000n, 0x1000n, "/bin/x"),
    sample(7, 0x55550123n, { period: 10n }),
    sample(8, 0x7fff_0000_0123n, { period: 20n }),
    sample(7, 0x55554000n),
  ], [
    `elf /bin/x - 1123 ${IP} 2 30`,
    `unmapped 55554000 ${IP} 1 1`,
  ]);
});

Deno.test("recordedAddresses: one path with two build ids gives two objects", async () => {
  await check([
    mmap2(7, 0x1000n, 0x1000n, "/bin/x", 0xaabbccdd),
    mmap2(8, 0x1000n, 0x1000n, "/bin/x", 0x11223344),
    sample(8, 0x1010n),
    sample(7, 0x1010n),
  ], [
    `elf /bin/x aabbccdd 10 ${IP} 1 1`,
    `elf /bin/x 11223344 10 ${IP} 1 1`,
  ]);
});

Deno.test("recordedAddresses: a sample after a new map has the new map's object", async () => {
  await check([
    mmap(7, 0x1000n, 0x3000n, 0n, "/bin/x"),
    sample(7, 0x2010n),
    mmap(7, 0x2000n, 0x1000n, 0n, "/bin/y"),
    sample(7, 0x2010n),
    sample(7, 0x3010n),
  ], [
    `elf /bin/x - 1010 ${IP} 1 1`,
    `elf /bin/y - 10 ${IP} 1 1`,
    `elf /bin/x - 2010 ${IP} 1 1`,
  ]);
});

Deno.test("recordedAddresses: a call chain has kernel and user addresses; a caller also counts one byte before", async () => {
  const base = 0xffffffff81000000n;
  await check([
    mmap(-1, base, 0x100000n, base, "[kernel.kallsyms]_text", KERNEL),
    mmap(7, 0x1000n, 0x1000n, 0n, "/bin/x"),
    sample(7, base + 0x10n, {
      mode: KERNEL,
      chain: [PERF_CONTEXT_KERNEL, base + 0x10n, base + 0x20n, PERF_CONTEXT_USER, 0x1030n],
    }),
  ], [
    `kernel [kernel.kallsyms] - 10 ${IP | CALLCHAIN} 1 1`,
    `kernel [kernel.kallsyms] - 20 ${CALLCHAIN} 0 0`,
    `kernel [kernel.kallsyms] - 1f ${BEFORE_RETURN} 0 0`,
    `elf /bin/x - 30 ${CALLCHAIN} 0 0`,
    `elf /bin/x - 2f ${BEFORE_RETURN} 0 0`,
  ]);
});

Deno.test("recordedAddresses: source and target of a branch are listed", async () => {
  await check([
    mmap(7, 0x1000n, 0x1000n, 0n, "/bin/x"),
    sample(7, 0x1010n, { branches: [[0x1020n, 0x1010n], [0x1030n, 0n]] }),
  ], [
    `elf /bin/x - 10 ${IP | BRANCH} 1 1`,
    `elf /bin/x - 20 ${BRANCH} 0 0`,
    `elf /bin/x - 30 ${BRANCH} 0 0`,
  ]);
});

Deno.test('recordedAddresses: a kernel address without a kernel mapping is "hidden"', async () => {
  await check([sample(7, 0xffffffff81000010n, { mode: KERNEL })], [`hidden -7efffff0 ${IP} 1 1`]);
});

Deno.test("recordedAddresses: modules, BPF programs and JIT code are objects of their own", async () => {
  const base = 0xffffffff81000000n;
  const module = 0xffffffffc0000000n;
  const bpf = 0xffffffffc0200000n;
  const lines: Line[] = [
    mmap(-1, base, 0x100000n, base, "[kernel.kallsyms]_text", KERNEL),
    mmap(-1, module, 0x4000n, 0n, "[ext4]", KERNEL),
    (le) => record(le, 17, 0, [u64(bpf), u32(0x80), [1, 2], [0, 2], "bpf_prog_aa_drop"]),
    mmap(7, 0x7000n, 0x1000n, 0n, "/home/u/jit-7.dump"),
    mmap(7, 0x9000n, 0x1000n, 0n, "//anon"),
    sample(7, module + 0x18n, { mode: KERNEL }),
    sample(7, bpf + 0x28n, { mode: KERNEL }),
    sample(7, 0x9010n),
  ];
  await check(lines, [
    `module [ext4] - 18 ${IP} 1 1`,
    `bpf bpf_prog_aa_drop - 28 ${IP} 1 1`,
    `jit /tmp/perf-7.map - 9010 ${IP} 1 1`,
  ]);
  const { objects } = await addressesOf(lines, true);
  assertEquals(objects.find(({ kind }) => kind === "jit")?.jitdump, "/home/u/jit-7.dump");
  assertEquals(objects.find(({ kind }) => kind === "bpf")?.size, 0x80);
  const { reference, referenceAddress, loadAddress } =
    objects.find(({ kind }) => kind === "module") ?? {};
  assertEquals([reference, referenceAddress, loadAddress], ["_text", -0x7f000000, -0x40000000]);
});

Deno.test("recordedAddresses: truncated samples are counted as damaged", async () => {
  const whole = sample(7, 0x1010n, { chain: [0x1010n] });
  const { damaged, samples } = await addressesOf([
    (le) => {
      const bytes = whole(le);
      // The call chain claims more entries than fit into the sample.
      new DataView(bytes.buffer).setBigUint64(8 + 24, 1000n, le);
      return bytes;
    },
    (le) => record(le, 9, USER, [u64(0x1010n)]),
  ], true);
  assertEquals([damaged, samples], [2, 0]);
});

Deno.test("Places, PlaceUses: any addresses have the indices and counts that a Map gives", () => {
  const key = fc.tuple(
    fc.integer({ min: -2, max: 3 }),
    fc.oneof(fc.integer({ min: -50, max: 50 }), fc.integer({ min: -(2 ** 52), max: 2 ** 52 })),
  );
  fc.assert(
    fc.property(fc.array(key, { maxLength: 6000, size: "max" }), (keys) => {
      const stream = { littleEndian: true, isGoogleDialect: false };
      const places = new Places(new Machine(), new RecordedObjects(stream));
      const uses = new PlaceUses();
      const expected = new Map<string, number>();
      for (const [object, address] of keys) {
        const high = Math.floor(address / 2 ** 32);
        uses.use(places.row(object, high, address - high * 2 ** 32), IP, 1, 2);
        const name = `${object} ${address + 0}`;
        expected.set(name, (expected.get(name) ?? 0) + 1);
      }
      const table = uses.table(places);
      assertEquals(table.count, expected.size);
      for (let row = 0; row < table.count; row++) {
        const name = `${table.object[row]} ${table.address[row]}`;
        const samples = expected.get(name) ?? NaN;
        assertEquals([table.samples[row], table.periods[row]], [samples, 2 * samples], name);
      }
    }),
    { numRuns: 30 },
  );
});

Deno.test("recordedAddresses: calls of progress add up to the bytes of all records", async () => {
  let compared = 0;
  for (const name of ["callchain", "tracepoint", "dwarf", "zstd"]) {
    const file = new URL(`../../../fixtures/recorded/${name}.perf.data`, import.meta.url);
    const bytes = Deno.readFileSync(file);
    const view = new DataView(bytes.buffer);
    let done = 0;
    const reader = await PerfDataReader.open(bytesSource(bytes));
    await recordedAddresses(reader, { progress: (more) => done += more });
    // The header has the size of the records at 48.
    assertEquals(done >= Number(view.getBigUint64(48, true)), true, `${name}: ${done}`);
    compared++;
  }
  assertEquals(compared, 4);
});
