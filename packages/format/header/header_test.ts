import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { PerfDataError } from "../error.ts";
import { PerfDataReader } from "../reading/reader.ts";
import { bytesSource } from "../sources/source.ts";
import { featureIds, headerSize, parseMagic, type PerfFileHeader } from "./header.ts";

const start = (magic: string, ...rest: number[]) => {
  const bytes = new Uint8Array(16);
  bytes.set(new TextEncoder().encode(magic));
  bytes.set(rest, 8);
  return bytes;
};

Deno.test("parseMagic: gives version and byte order of both magic numbers", () => {
  assertEquals(parseMagic(start("PERFILE2", 104)), { version: 2, littleEndian: true });
  assertEquals(parseMagic(start("2ELIFREP")), { version: 2, littleEndian: false });
  assertEquals(parseMagic(start("PERFFILE", 104)), { version: 1, littleEndian: true });
  assertEquals(parseMagic(start("PERFFILE", 0, 0, 0, 0, 0, 0, 0, 104)), {
    version: 1,
    littleEndian: false,
  });
  assertEquals(parseMagic(start("ELF")), undefined);
});

Deno.test("headerSize: an impossible size or magic throws", () => {
  assertEquals(headerSize(start("PERFILE2", 16)).size, 16);
  assertThrows(() => headerSize(start("PERFILE2", 17)), PerfDataError, "size is 17");
  assertThrows(() => headerSize(new Uint8Array(3)), PerfDataError, "3 bytes, expected at least 16");
  assertThrows(() => headerSize(start("\x7fELF")), PerfDataError, "7f 45 4c 46");
});

Deno.test("featureIds: bitmaps of 64-bit and 32-bit big-endian machines give the same ids", () => {
  const header = (first: bigint) => ({ adds_features: [first, 0n, 0n, 0n] }) as PerfFileHeader;
  assertEquals(featureIds(header(0b1100n), true), [2, 3]);
  assertEquals(featureIds(header(0b1100n), false), [2, 3]);
  // A 32-bit machine writes bits 0-31 first, which are the high half of the 64-bit word.
  assertEquals(featureIds(header((0b1100n << 32n) | 1n), false), [2, 3, 32]);
});

/** First bytes of files that are not recordings, and the expected text in the error. */
const OTHERS: readonly (readonly [start: string, called: RegExp])[] = [
  ["\x04\x22\x4d\x18 a frame of lz4", /it is data packed by lz4/],
  ["BZh91AY&SY and a block", /it is data packed by bzip2/],
  ["DTiJ\x01\0\0\0 of little endian", /it is a jitdump/],
  ["JiTD\0\0\0\x01 of big endian", /it is a jitdump/],
  ["\n\x04\x08\x01\x10\x02\n\x04\x08\x03\x10\x04\x12\x08\x0a\x01\x01", /it is a profile of pprof/],
  ["demo  4242 [001]  1234.567890:     500250 cpu-clock:\n", /it is text of perf script/],
  ["Web Content 42/43 12.000001:  1 cycles:\n", /it is text of perf script/],
  ["\0".repeat(104), /all zeros: the recording was never finished$/],
  ["7f0010 2f Foo.bar\n7f0040 10 LazyCompile:~x a.js:1\n", /it is a perf map, /],
  ["main;work;inner 12\nmain 3\n", /it is text of folded stacks/],
  ["main 12\nother 3\n", /expected PERFILE2 or PERFFILE$/],
  ["a text of any other kind", /expected PERFILE2 or PERFFILE$/],
];

Deno.test("PerfDataReader.open: the error for another kind of file names the kind", async () => {
  for (const [start, called] of OTHERS) {
    const bytes = Uint8Array.from(start, (letter) => letter.charCodeAt(0));
    const error = await assertRejects(() => PerfDataReader.open(bytesSource(bytes)), PerfDataError);
    assertMatch(error.message, called);
  }
});
