import { assertEquals, assertThrows } from "@std/assert";
import { PerfDataError } from "../error.ts";
import { featureIds, headerSize, parseMagic, type PerfFileHeader } from "./header.ts";

const start = (magic: string, ...rest: number[]) => {
  const bytes = new Uint8Array(16);
  bytes.set(new TextEncoder().encode(magic));
  bytes.set(rest, 8);
  return bytes;
};

Deno.test("magic: two versions, two byte orders", () => {
  assertEquals(parseMagic(start("PERFILE2", 104)), { version: 2, littleEndian: true });
  assertEquals(parseMagic(start("2ELIFREP")), { version: 2, littleEndian: false });
  assertEquals(parseMagic(start("PERFFILE", 104)), { version: 1, littleEndian: true });
  assertEquals(parseMagic(start("PERFFILE", 0, 0, 0, 0, 0, 0, 0, 104)), {
    version: 1,
    littleEndian: false,
  });
  assertEquals(parseMagic(start("ELF")), undefined);
});

Deno.test("header size: what is impossible is reported", () => {
  assertEquals(headerSize(start("PERFILE2", 16)).size, 16);
  assertThrows(() => headerSize(start("PERFILE2", 17)), PerfDataError, "size is 17");
  assertThrows(() => headerSize(new Uint8Array(3)), PerfDataError, "3 bytes, expected at least 16");
  assertThrows(() => headerSize(start("\x7fELF")), PerfDataError, "7f 45 4c 46");
});

Deno.test("feature bits: 64-bit and 32-bit words of a big-endian machine", () => {
  const header = (first: bigint) => ({ adds_features: [first, 0n, 0n, 0n] }) as PerfFileHeader;
  assertEquals(featureIds(header(0b1100n), true), [2, 3]);
  assertEquals(featureIds(header(0b1100n), false), [2, 3]);
  // A 32-bit machine writes bits 0-31 first: they end up in the high half of the 64-bit word.
  assertEquals(featureIds(header((0b1100n << 32n) | 1n), false), [2, 3, 32]);
});
