import { assertEquals, assertThrows } from "@std/assert";
import { bytesSource } from "../files/binary_source.ts";
import { JitSymbols } from "./jit_symbols.ts";
import { JitdumpError, type JitRecord, openJitdump } from "./jitdump.ts";
import { Bytes } from "../testing/elf_writer.ts";

const text = new TextEncoder();

/** A record: type, timestamp, then the fields after the prefix. */
function record(le: boolean, type: number, timestamp: number, body: Bytes): Uint8Array {
  const out = new Bytes(le, true).u32(type).u32(16 + body.length).u64(timestamp);
  return out.raw(body.done()).done();
}

function file(le: boolean, ...records: Uint8Array[]): Uint8Array {
  const out = new Bytes(le, true).u32(0x4a695444).u32(1).u32(48).u32(62).u32(0).u32(4711).u64(123)
    .u64(1).u64(0); // eight bytes more than today's header
  for (const bytes of records) out.raw(bytes);
  return out.done();
}

function load(le: boolean, time: number, at: number, size: number, index: number, name: string) {
  const body = new Bytes(le, true).u32(4711).u32(4712).u64(at).u64(at).u64(size).u64(index);
  return record(
    le,
    0,
    time,
    body.raw(text.encode(name)).u8(0).raw(new Uint8Array(size).fill(0x90)),
  );
}

function move(le: boolean, time: number, from: number, to: number, size: number, index: number) {
  const body = new Bytes(le, true).u32(4711).u32(4712).u64(to).u64(from).u64(to).u64(size);
  return record(le, 1, time, body.u64(index));
}

function debug(le: boolean, time: number, at: number) {
  const body = new Bytes(le, true).u64(at).u64(3);
  body.u64(at).u32(10).u32(0).raw(text.encode("a.js")).u8(0);
  body.u64(at + 8).u32(11).u32(3).raw([0xff, 0]);
  body.u64(at + 16).u32(7).u32(0).raw(text.encode("b.js")).u8(0);
  return record(le, 2, time, body);
}

for (const le of [true, false]) {
  Deno.test(`openJitdump: every record type is read, ${le ? "little" : "big"}-endian`, () => {
    const unwinding = new Bytes(le, true).u64(4).u64(2).u64(4).raw([1, 2, 3, 4, 0, 0, 0, 0]);
    const jitdump = openJitdump(bytesSource(file(
      le,
      debug(le, 5, 0x1000),
      record(le, 4, 6, unwinding),
      load(le, 7, 0x1000, 0x20, 1, "first"),
      move(le, 8, 0x1000, 0x2000, 0x20, 1),
      record(le, 77, 9, new Bytes(le, true).u64(0)),
      record(le, 3, 10, new Bytes(le, true)),
    )));
    assertEquals(jitdump.header, {
      littleEndian: le,
      version: 1,
      totalSize: 48,
      machine: 62,
      pid: 4711,
      timestamp: 123n,
      flags: 1n,
    });
    const records = [...jitdump.records()];
    assertEquals(records.map((r) => r.id), [2, 4, 0, 1, -1, 3]);
    assertEquals(records.map((r) => r.timestamp), [5n, 6n, 7n, 8n, 9n, 10n]);
    const [info, unwind, loaded, moved, unknown] = records;
    assertEquals(info?.id === 2 && info.lines, [
      { address: 0x1000, line: 10, discriminator: 0, file: "a.js" },
      { address: 0x1008, line: 11, discriminator: 3, file: "a.js" },
      { address: 0x1010, line: 7, discriminator: 0, file: "b.js" },
    ]);
    assertEquals(unwind?.id === 4 && [...unwind.unwindingData], [1, 2, 3, 4]);
    assertEquals(unwind?.id === 4 && unwind.ehFrameHdrSize, 2);
    if (loaded?.id !== 0) throw new Error("expected JIT_CODE_LOAD");
    assertEquals(
      [
        loaded.pid,
        loaded.tid,
        loaded.vma,
        loaded.codeAddr,
        loaded.codeSize,
        Number(loaded.codeIndex),
      ],
      [4711, 4712, 0x1000, 0x1000, 0x20, 1],
    );
    assertEquals(loaded.name, "first");
    assertEquals(loaded.codeOffset, loaded.offset + loaded.totalSize - 0x20);
    assertEquals(moved?.id === 1 && [moved.oldCodeAddr, moved.newCodeAddr], [0x1000, 0x2000]);
    assertEquals(unknown?.id === -1 && unknown.type, 77);
  });
}

Deno.test("JitSymbols: a reused address belongs to different functions at different times", () => {
  const le = true;
  const jitdump = openJitdump(bytesSource(file(
    le,
    debug(le, 9, 0x1000),
    load(le, 10, 0x1000, 0x100, 0, "outer"),
    load(le, 20, 0x1040, 0x20, 1, "inner"),
    move(le, 30, 0x1000, 0x5000, 0x100, 0),
    load(le, 40, 0x1000, 0x80, 2, "newer"),
  )));
  const symbols = new JitSymbols(jitdump.records());
  const name = (address: number, time?: number): string | undefined =>
    symbols.lookup(address, time)?.name;
  assertEquals(name(0x1050, 5), undefined);
  assertEquals(name(0x1050, 15), "outer");
  assertEquals(name(0x1050, 25), "inner");
  assertEquals(name(0x1060, 25), "outer");
  assertEquals(name(0x1050, 45), "newer");
  assertEquals(name(0x1050), "newer");
  assertEquals(name(0x1090), "outer");
  assertEquals(name(0x10ff), "outer");
  assertEquals(name(0x1100), undefined);
  assertEquals(name(0x5010, 25), undefined);
  assertEquals(name(0x5010, 35), "outer");
  const moved = symbols.lookup(0x5009);
  if (moved === undefined) throw new Error("the moved code is not there");
  assertEquals(symbols.line(moved, 0x5009)?.line, 11);
  assertEquals(symbols.line(moved, 0x5000)?.file, "a.js");
});

Deno.test("openJitdump: a truncated last record is reported, a malformed record is an error with its offset", () => {
  const whole = file(true, load(true, 1, 0x1000, 16, 0, "a"), load(true, 2, 0x2000, 16, 1, "b"));
  const cuts: number[] = [];
  const ids = (bytes: Uint8Array): JitRecord[] => [
    ...openJitdump(bytesSource(bytes)).records((offset) => cuts.push(offset)),
  ];
  assertEquals(ids(whole).length, 2);
  assertEquals(ids(whole.subarray(0, whole.length - 1)).length, 1);
  assertEquals(ids(whole.subarray(0, 50)).length, 0);
  assertEquals(cuts, [48 + 74, 48]);

  const at = (bytes: Uint8Array, message: string): number =>
    Number(assertThrows(() => ids(bytes), JitdumpError, message).offset);
  assertEquals(at(new Uint8Array(10), "its header has 40"), 0);
  assertEquals(at(new Uint8Array(64), "not 0x4a695444"), 0);
  const small = file(true, new Bytes(true, true).u32(0).u32(8).u64(0).done());
  assertEquals(at(small, "expected at least 16"), 48);
  const noName = file(
    true,
    record(true, 0, 0, new Bytes(true, true).pad(24).u64(1e9).u64(0).u8(0)),
  );
  assertEquals(at(noName, "no room for a name"), 48);
  const entries = file(true, record(true, 2, 0, new Bytes(true, true).u64(0).u64(2 ** 40)));
  assertEquals(at(entries, "ends in entry 0"), 48 + 32);
});
