import { assert, assertEquals, assertThrows } from "@std/assert";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { bytesSource, memorySink, PerfDataReader, PerfDataWriter } from "../mod.ts";
import { zstdParts, zstdStream } from "./zstd.ts";

/** Test data that compresses moderately. */
const PLAIN = Uint8Array.from({ length: 300_000 }, (_, i) => (i * i >> 7) & (i >> 9));

function joined(parts: Iterable<Uint8Array>): Uint8Array<ArrayBuffer> {
  const all = [...parts].map((part) => part.slice());
  const bytes = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of all) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function level(compressionLevel: number, checksumFlag: number): Uint8Array {
  return new Uint8Array(zstdCompressSync(PLAIN, {
    params: {
      [constants.ZSTD_c_compressionLevel]: compressionLevel,
      [constants.ZSTD_c_checksumFlag]: checksumFlag,
    },
  }));
}

Deno.test("zstdStream: frames of any level in pieces of any size inflate to their input", () => {
  const skippable = Uint8Array.of(0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3);
  const streams: [Uint8Array, Uint8Array][] = [1, 3, 19].map((n, i) => [level(n, i & 1), PLAIN]);
  const [[one = PLAIN] = []] = streams;
  streams.push([joined([one, level(19, 1)]), joined([PLAIN, PLAIN])]);
  streams.push([joined([skippable, one]), PLAIN]);
  fc.assert(
    fc.property(
      fc.constantFrom(...streams),
      fc.array(fc.integer({ min: 1, max: 1 << 16 }), { minLength: 1, maxLength: 5 }),
      ([compressed, plain], sizes) => {
        const stream = zstdStream();
        const parts: Uint8Array[] = [];
        for (let at = 0, i = 0; at < compressed.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          for (const part of stream.push(compressed.subarray(at, at + size))) {
            assert(part.length <= 1 << 17);
            parts.push(part.slice());
          }
          at += size;
        }
        assertEquals(joined(parts), plain);
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("zstdStream: a stream resumed from any state gives the same output", () => {
  const compressed = joined([level(3, 1), level(1, 0)]);
  const plain = joined([PLAIN, PLAIN]);
  let states = 0;
  let done = 0;
  const stream = zstdStream();
  for (let at = 0; at < compressed.length; at++) {
    const state = stream.state?.();
    if (state !== undefined) {
      const again = zstdStream(structuredClone(state));
      assertEquals(joined(again.push(compressed.subarray(at))), plain.subarray(done));
      states++;
    }
    for (const part of stream.push(compressed.subarray(at, at + 1))) done += part.length;
  }
  assertEquals(done, plain.length);
  assert(states > 5, `${states} states`);
});

/** A frame header with a window of 128 KB, and blocks that repeat one byte. */
function repeats(blocks: number, size: number): Uint8Array {
  const bytes = new Uint8Array(6 + 4 * blocks);
  bytes.set([0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3]);
  const word = size << 3 | 1 << 1;
  for (let i = 0; i < blocks; i++) {
    bytes.set([word & 255, word >> 8 & 255, word >> 16, 8], 6 + 4 * i);
  }
  return bytes;
}

Deno.test("zstdStream: 64 KB that inflate to 2 GB give one block at a time", () => {
  let blocks = 0;
  for (const part of zstdStream().push(repeats(16_000, 1 << 17))) {
    assertEquals([part.length, part[0]], [1 << 17, 8]);
    // A caller that requests no more parts causes no more work and memory.
    if (++blocks === 100) break;
  }
  assertEquals(blocks, 100);
});

Deno.test("zstdStream: invalid frames throw before memory is allocated", () => {
  const wrong: [Uint8Array, string][] = [
    [repeats(1, (1 << 17) + 1), "a block of 131073 bytes"],
    [Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3), "a window of 1073741824 bytes"],
    [Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 0), "a window of"],
    [new TextEncoder().encode("PERFILE2"), "no frame begins here"],
  ];
  for (const [bytes, message] of wrong) {
    assertThrows(() => [...zstdStream().push(bytes)], Error, message);
  }
});

Deno.test("reader: a COMPRESSED record that inflates to gigabytes is cut at 64 MB", async () => {
  // A record of 0x0808 bytes and type 0x08080808, which a reader skips.
  const data = repeats(12_000, 1 << 17);
  const record = new Uint8Array(8 + data.length);
  new DataView(record.buffer).setUint32(0, 81, true);
  new DataView(record.buffer).setUint16(6, record.length, true);
  record.set(data, 8);
  const sink = memorySink();
  const writer = await PerfDataWriter.pipe(sink);
  await writer.write(record);
  const problems: string[] = [];
  const reader = await PerfDataReader.open(bytesSource(sink.bytes()), {
    diagnostics: (error) => problems.push(error.message),
  });
  const before = Deno.memoryUsage().rss;
  let records = 0;
  for await (const batch of reader.batches()) records += batch.count;
  const grown = Deno.memoryUsage().rss - before;
  assert(grown < 200 << 20, `${grown >> 20} MB more`);
  assert(records > 30_000 && records * 0x808 <= 2 ** 26 + 0x808, `${records} records`);
  assertEquals(problems, [
    "COMPRESSED: zstd: more than 67108864 bytes in one record; " +
    "this and later compressed records are skipped",
  ]);
  assert(reader.stats.skippedBytes > 0);
});

Deno.test("zstdStream: thousands of empty blocks allocate no window", () => {
  const frame = new Uint8Array(6 + 3 * 20_000);
  // Magic, no flags, a window of 2^(10 + 17) bytes; then empty blocks, none of which is the last.
  frame.set([0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3]);
  const before = Deno.memoryUsage().rss;
  assertEquals([...zstdStream().push(frame)], []);
  const grown = Deno.memoryUsage().rss - before;
  // The window would be 128 MB.
  assert(grown < 64 << 20, `${grown >> 20} MB more`);
});

Deno.test("zstdStream: 90,000 matches of 128 KB in one block throw at the block's limit", () => {
  // One literal; 0x7f00 + 0xe000 sequences with the same three codes: no literals, a distance of one
  // byte, at least 65539 bytes.
  const body = [1 << 3, 8, 255, 0, 0xe0, 0b01_01_01_00, 0, 0, 52];
  const bits = new Uint8Array(64).fill(0xff);
  const size = body.length + bits.length;
  const frame = [
    0x28,
    0xb5,
    0x2f,
    0xfd,
    0,
    7 << 3,
    (size << 3 & 255) | 2 << 1,
    size >> 5,
    size >> 13,
  ];
  let steps = 0;
  assertThrows(
    () => {
      for (const part of zstdStream().push(Uint8Array.from([...frame, ...body, ...bits]))) {
        steps += part.length;
      }
    },
    Error,
    "invalid zstd data: a ",
  );
  assertEquals(steps, 0);
});

/**
 * Parameters of the compressor. The last ones make sequences as level 19 does, with small tables,
 * which are cleared ten times as fast.
 */
const LEVELS = [
  ...[-5, 1, 3, 9].map((level) => ({ [constants.ZSTD_c_compressionLevel]: level })),
  {
    [constants.ZSTD_c_compressionLevel]: 3,
    [constants.ZSTD_c_strategy]: constants.ZSTD_btultra2,
  },
];

Deno.test("zstdStream: damaged frames throw or give the output of zlib", () => {
  let [same, refused] = [0, 0];
  fc.assert(
    fc.property(
      fc.constantFrom(...LEVELS),
      fc.nat(1500),
      fc.nat(20),
      fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(255)), {
        maxLength: 3,
      }),
      (params, size, shift, changes) => {
        const plain = Uint8Array.from({ length: 20 * size }, (_, i) => (i * i >> shift) & (i >> 9));
        const frame = new Uint8Array(zstdCompressSync(plain, { params }));
        for (const [at, byte] of changes) frame[Math.floor(at * frame.length)] = byte;
        let ours: Uint8Array | undefined;
        let limit = 1 << 20;
        try {
          const parts: Uint8Array[] = [];
          for (const part of zstdParts([frame])) {
            parts.push(part.slice());
            if ((limit -= part.length) < 0) return;
          }
          ours = joined(parts);
        } catch {
          // zlib may accept data that is rejected here, since it does not check all of the remaining bits.
          refused++;
          return;
        }
        assertEquals(ours, new Uint8Array(zstdDecompressSync(frame)));
        same++;
      },
    ),
    { numRuns: 300 },
  );
  assert(same > 60 && refused > 60, `${same} the same, ${refused} refused`);
});
