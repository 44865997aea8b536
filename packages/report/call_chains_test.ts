import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { ChainCounter } from "./call_chains.ts";
import { ADDRESS_WORDS, CallTree } from "./call_tree.ts";

const USER = 2;
const MARKERS = new Map([[0xffff_ffff_ffff_ffe0n, 3], [0xffff_ffff_ffff_ff80n, 1], [
  0xffff_ffff_ffff_fe00n,
  USER,
]]);
const CONTEXT_MAX = 0xffff_ffff_ffff_f001n;

/**
 * `mode:address` of each entry, outermost first: perf's rule, literally. Frames before the first
 * marker have the mode of that marker, since with callers first none is left to be read.
 */
function framesOf(chain: readonly bigint[]): string[] {
  const frames: string[] = [];
  const modeBefore = (end: number, otherwise: number): number | undefined => {
    const marker = chain.slice(0, end).findLast((entry) => entry >= CONTEXT_MAX);
    return marker === undefined ? otherwise : MARKERS.get(marker);
  };
  let mode = modeBefore(chain.length, USER);
  for (let i = chain.length - 1; i >= 0 && frames.length < 127; i--) {
    if (mode === undefined) return [];
    const entry = chain[i] as bigint;
    if (entry >= CONTEXT_MAX) mode = modeBefore(i, mode);
    else frames.push(`${mode}:${entry}`);
  }
  return frames;
}

interface Sample {
  readonly chain: bigint[];
  readonly space: number;
  readonly mode: number;
  readonly ip: bigint;
}

const entry = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(1n, 2n, 0xffff_ffff_8100_0000n, 0x7fff_1234_5678n) },
  { weight: 2, arbitrary: fc.constantFrom(...MARKERS.keys()) },
);
const samples: fc.Arbitrary<Sample[]> = fc.array(
  fc.record({
    chain: fc.oneof(
      { weight: 8, arbitrary: fc.array(entry, { maxLength: 12 }) },
      { weight: 1, arbitrary: fc.array(entry, { minLength: 125, maxLength: 135 }) },
      { weight: 1, arbitrary: fc.array(fc.oneof(entry, fc.constant(0xffff_ffff_ffff_f800n))) },
    ),
    space: fc.nat(1),
    mode: fc.constantFrom(1, 2),
    ip: fc.constantFrom(1n, 2n, 0xffff_ffff_8100_0000n),
  }),
  { maxLength: 40 },
);

for (const littleEndian of [true, false]) {
  Deno.test(`call chains: as perf reads them, ${littleEndian ? "little" : "big"} endian`, () => {
    fc.assert(fc.property(samples, (all) => {
      const expected: Record<string, number> = {};
      const tree = new CallTree();
      let space = 0;
      const counter = new ChainCounter(tree, {
        foundHi: 0,
        foundLo: 0,
        locate(mode, hi, lo) {
          this.foundHi = hi;
          this.foundLo = lo;
          return mode === 1 ? 0 : 10 + space;
        },
      });
      for (const { chain, space: now, mode, ip } of all) {
        space = now;
        const frames = framesOf(chain);
        if (frames.at(-1) !== `${mode}:${ip}`) frames.push(`${mode}:${ip}`);
        const named = frames.map((frame) => `${frame.startsWith("1:") ? 0 : 10 + now} ${frame}`);
        expected[named.join()] = (expected[named.join()] ?? 0) + 1;
        const view = new DataView(new ArrayBuffer(8 * chain.length + 8));
        chain.forEach((entry, i) => view.setBigUint64(8 * i + 8, entry, littleEndian));
        const hi = Number(ip >> 32n);
        const lo = Number(ip & 0xffff_ffffn);
        const context = tree.context(0, 0, 0, 0, 0);
        counter.add(context, now, 7, view, 8, chain.length, littleEndian, mode, hi, lo, 1);
      }
      const found: Record<string, number> = {};
      for (let node = 0; node < tree.nodeCount; node++) {
        if (tree.samples[node] === 0) continue;
        const frames: string[] = [];
        for (let at = node; at >= 0; at = tree.parents[at] as number) {
          const words = (tree.nodeAddresses[at] as number) * ADDRESS_WORDS;
          const [binary, mode, hi = 0, lo = 0] = tree.addresses.subarray(words);
          const address = BigInt.asUintN(32, BigInt(hi)) << 32n | BigInt.asUintN(32, BigInt(lo));
          frames.unshift(`${binary} ${mode}:${address}`);
        }
        found[frames.join()] = tree.samples[node] as number;
      }
      assertEquals(found, expected);
    }));
  });
}
