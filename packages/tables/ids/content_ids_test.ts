import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { ContentHash } from "./content_ids.ts";

/** MurmurHash3_x86_128 of one block, implemented independently with exact numbers. */
function reference(words: readonly number[], seed: number): [number, number] {
  const M = 0xffff_ffffn;
  const rotated = (x: bigint, by: bigint) => (x << by | x >> 32n - by) & M;
  const mixed = (x: bigint) => {
    let h = x;
    h = (h ^ h >> 16n) * 0x85ebca6bn & M;
    h = (h ^ h >> 13n) * 0xc2b2ae35n & M;
    return h ^ h >> 16n;
  };
  const c = [0x239b961bn, 0xab0e9789n, 0x38b34ae5n, 0xa1e38b93n];
  const turns = [[15n, 19n], [16n, 17n], [17n, 15n], [18n, 13n]];
  const adds = [0x561ccd1bn, 0x0bcaa747n, 0x96cd1c35n, 0x32ac3b17n];
  const h = [0, 0, 0, 0].map(() => BigInt(seed));
  for (let i = 0; i < 4; i++) {
    let k = BigInt((words[i] as number) >>> 0) * (c[i] as bigint) & M;
    k = rotated(k, turns[i]?.[0] as bigint) * (c[(i + 1) % 4] as bigint) & M;
    h[i] = rotated(h[i] as bigint ^ k, turns[i]?.[1] as bigint);
    h[i] = (((h[i] as bigint) + (h[(i + 1) % 4] as bigint)) * 5n + (adds[i] as bigint)) & M;
  }
  for (let i = 0; i < 4; i++) h[i] = (h[i] as bigint) ^ 16n;
  const sum = () => {
    h[0] = h.reduce((a, b) => a + b) & M;
    for (let i = 1; i < 4; i++) h[i] = (h[i] as bigint) + (h[0] as bigint) & M;
  };
  sum();
  for (let i = 0; i < 4; i++) h[i] = mixed(h[i] as bigint);
  sum();
  return [Number(BigInt.asIntN(32, h[0] as bigint)), Number(BigInt.asIntN(32, h[1] as bigint))];
}

Deno.test("ContentHash.block: gives MurmurHash3 of the words", () => {
  const hash = new ContentHash();
  for (let i = 0; i < 1000; i++) {
    const words = [i, Math.imul(i, 0x9e3779b1), ~i, i << 24];
    hash.block(
      words[0] as number,
      words[1] as number,
      words[2] as number,
      words[3] as number,
      i % 5,
    );
    assertEquals([hash.lo, hash.hi], reference(words, i % 5));
  }
  // Expected value of mmh3 5.1, another implementation: mmh3.hash64(bytes(range(16)), 3, x64arch=False)[0].
  hash.block(0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c, 3);
  assertEquals([hash.lo, hash.hi], [811652344, -367872628]);
});

Deno.test("ContentHash.text: different texts give different ids", () => {
  const hash = new ContentHash();
  const seen = new Set<string>();
  const texts = Array.from({ length: 20_000 }, (_, i) => "x".repeat(i % 40) + i);
  for (const text of ["", "\0", "\0\0", ...texts]) {
    hash.text(text, 1);
    seen.add(`${hash.lo} ${hash.hi}`);
  }
  assertEquals(seen.size, texts.length + 3);
  hash.text("a", 1);
  const { lo } = hash;
  hash.text("a", 2);
  assertNotEquals(hash.lo, lo);
  assert(seen.size > 20_000);
});
