import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import type { BinarySource } from "@perfdata/symbols/resolver";
import { CodeMemory, CodeRanges } from "./pt_memory.ts";

const GIGABYTE = 2 ** 30;

/** A source in which each byte encodes its offset. */
function counting(size: number): BinarySource {
  const fill = (offset: number, target: Uint8Array) => {
    for (let i = 0; i < target.length; i++) target[i] = byteAt(offset + i);
    return target;
  };
  return { size, read: (offset, length) => fill(offset, new Uint8Array(length)), readInto: fill };
}

/** The byte at an offset, which differs between pieces. */
function byteAt(offset: number): number {
  return (offset ^ offset / GIGABYTE) & 255;
}

const low = (address: bigint) => Number(BigInt.asIntN(32, address));
const high = (address: bigint) => Number(BigInt.asIntN(32, address >> 32n));

/** The byte that memory has at an address. */
function read(memory: CodeMemory, address: bigint, time = 0): number | undefined {
  const range = memory.code(low(address), high(address), time);
  if (range === undefined) return undefined;
  const start = BigInt(range.high) << 32n | BigInt(range.low >>> 0);
  const offset = Number(BigInt.asUintN(64, address) - BigInt.asUintN(64, start));
  const window = range.window(offset);
  return window?.bytes[offset - window.from];
}

Deno.test("CodeMemory: images of several pieces give the byte at each address", () => {
  const size = 2 * GIGABYTE + 5000;
  const user = 0x7f00_0000_0000n;
  const kernel = 0xffff_ffff_8100_0000n;
  const source = counting(size + 100);
  const memory = new CodeMemory(new CodeRanges(), [
    { address: kernel, size: 4096, offset: 7, source },
    { address: user, size, offset: 100, source },
  ]);
  let compared = 0;
  for (const piece of [0, GIGABYTE, 2 * GIGABYTE]) {
    for (const at of [0, 1, 4095, 4096, 4999]) {
      assertEquals(read(memory, user + BigInt(piece + at)), byteAt(100 + piece + at));
      compared++;
    }
  }
  assertEquals(read(memory, user + BigInt(GIGABYTE - 1)), byteAt(100 + GIGABYTE - 1));
  assertEquals(read(memory, kernel + 5n), byteAt(12));
  for (
    const address of [
      user - 1n,
      user + BigInt(size),
      kernel - 1n,
      kernel + 4096n,
      0n,
      2n ** 64n - 1n,
    ]
  ) assertEquals(read(memory, address), undefined, address.toString(16));
  assertEquals(compared, 15);
  assertEquals(memory.at(low(user + 9n), high(user + 9n))?.distance, 9);
  // A later image does not change the ranges of earlier ones.
  const before = memory.code(low(user), high(user), 0);
  memory.add([{ address: 0x40_0000n, size: 16, offset: 0, source }]);
  assertStrictEquals(memory.code(low(user), high(user), 0), before);
  assertEquals(read(memory, 0x40_000fn), 15);
});

Deno.test("CodeMemory: code has the bytes that were last written at the time, in each piece", () => {
  const address = 0xffff_ffff_8000_0000n;
  const image = { address, size: GIGABYTE + 4096, offset: 0, source: counting(GIGABYTE + 4096) };
  const at = address + BigInt(GIGABYTE + 3);
  const poke = (time: number, bytes: number[]) => ({
    time,
    low: low(at),
    high: high(at),
    bytes: Uint8Array.from(bytes),
  });
  const memory = new CodeMemory(new CodeRanges(), [image], [poke(10, [7, 8]), poke(20, [9])]);
  const bytes = (time: number) => [0n, 1n, 2n].map((n) => read(memory, at + n, time));
  const own = [0, 1, 2].map((n) => byteAt(GIGABYTE + 3 + n));
  assertEquals(bytes(9), own);
  assertEquals(bytes(10), [7, 8, own[2]]);
  assertEquals(bytes(25), [9, 8, own[2]]);
  // Without changes, as in a guest's memory, the code stays the same.
  assertEquals(read(new CodeMemory(new CodeRanges(), [image]), at, 25), own[0]);
  const ranges = new Set(
    [0, 9, 10, 15, 20, 30].map((time) => memory.code(low(at), high(at), time)),
  );
  assert(ranges.size === 3, `${ranges.size} ranges`);
});
