import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { findAuxOverlap } from "./aux_overlap.ts";

const PSB = Array.from({ length: 8 }, () => [0x02, 0x82]).flat();

/** Pseudo-random bytes without a PSB; each seed gives different bytes. */
function noise(seed: number, length: number): number[] {
  let state = seed;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    // No 0x82, so no PSB; no zeros, so no padding.
    return 1 + (state >> 16) % 100;
  });
}

/** A trace of 12 blocks of 100 bytes, each with a PSB in front. */
const trace = Uint8Array.from(
  Array.from({ length: 12 }, (_, i) => [...PSB, ...noise(i + 1, 84)]).flat(),
);
const PT = { intelPt: true };

const part = (from: number, to: number, offset?: bigint) => {
  const bytes = trace.subarray(from, to);
  return offset === undefined ? { bytes } : { bytes, offset };
};

Deno.test("findAuxOverlap: overlapping offsets with equal bytes give the size of the overlap", () => {
  assertEquals(findAuxOverlap(part(0, 600, 0n), part(450, 900, 450n), PT), 150);
  // The second buffer may reach further back than the first.
  assertEquals(findAuxOverlap(part(300, 600, 300n), part(100, 900, 100n), PT), 500);
  assertEquals(findAuxOverlap(part(0, 600, 0n), part(450, 900, 450n), { intelPt: false }), 150);
});

Deno.test("findAuxOverlap: adjacent offsets give 0", () => {
  assertEquals(findAuxOverlap(part(0, 600, 0n), part(600, 900, 600n), PT), 0);
});

Deno.test("findAuxOverlap: if bytes at overlapping offsets differ, they are searched elsewhere", () => {
  // The ring wrapped: by the offsets, 150 bytes would overlap.
  assertEquals(findAuxOverlap(part(0, 450, 0n), part(800, 1200, 300n), PT), undefined);
  // Here bytes overlap as well, but not at the offsets.
  assertEquals(findAuxOverlap(part(0, 600, 0n), part(350, 900, 100n), PT), 250);
});

Deno.test("findAuxOverlap: without offsets, the last PSB and the bytes after it are searched", () => {
  assertEquals(findAuxOverlap(part(0, 650), part(310, 900), PT), 340);
  assertEquals(findAuxOverlap(part(0, 650), part(700, 900), PT), undefined);
  // Nothing new.
  assertEquals(findAuxOverlap(part(0, 650), part(310, 650), PT), 340);
  // Other data has no PSB to search for.
  assertEquals(findAuxOverlap(part(0, 650), part(310, 900), { intelPt: false }), undefined);
});

Deno.test("findAuxOverlap: if few bytes follow the last PSB, the PSB before it is searched", () => {
  assertEquals(findAuxOverlap(part(0, 620), part(310, 900), PT), 310);
});

Deno.test("findAuxOverlap: zeros that pad the first buffer do not count", () => {
  const padded = Uint8Array.of(...trace.subarray(0, 603), 0, 0, 0, 0, 0);
  const before = { bytes: padded, offset: 0n };
  assertEquals(findAuxOverlap(before, part(450, 900, 450n), PT), 153);
  assertEquals(findAuxOverlap(before, part(603, 900, 603n), PT), 0);
  assertEquals(findAuxOverlap({ bytes: padded }, part(450, 900), PT), 153);
});

Deno.test("findAuxOverlap: zeros that are in both buffers count", () => {
  const zeros = Uint8Array.of(...trace.subarray(0, 600), 0, 0, 0, ...trace.subarray(600));
  const before = { bytes: zeros.subarray(0, 602), offset: 0n };
  const after = { bytes: zeros.subarray(400, 900), offset: 400n };
  assertEquals(findAuxOverlap(before, after, PT), 202);
});

Deno.test("findAuxOverlap: an empty first buffer gives 0, other buffers too short to compare give undefined", () => {
  const none = { bytes: new Uint8Array(0), offset: 0n };
  assertEquals(findAuxOverlap(none, none, PT), 0);
  assertEquals(findAuxOverlap(none, part(0, 50, 0n), PT), 0);
  assertEquals(findAuxOverlap(part(0, 50, 0n), none, PT), undefined);
  assertEquals(findAuxOverlap({ bytes: Uint8Array.of(0, 0) }, { bytes: PSBytes }, PT), undefined);
});
const PSBytes = Uint8Array.from(PSB);

Deno.test("findAuxOverlap: any two overlapping ranges of a trace are joined to the whole range", () => {
  fc.assert(
    fc.property(
      fc.nat(trace.length - 200),
      fc.integer({ min: 150, max: 600 }),
      fc.nat(500),
      fc.nat(400),
      fc.boolean(),
      (from, length, step, more, offsets) => {
        const end = Math.min(from + length, trace.length);
        const start = Math.min(from + step, end);
        const last = Math.min(end + more, trace.length);
        const before = part(from, end, offsets ? BigInt(from) : undefined);
        const after = part(start, last, offsets ? BigInt(start) : undefined);
        const overlap = findAuxOverlap(before, after, PT);
        // An overlap that is found is right; one that is too short is not found.
        if (overlap === undefined) return end - start < 132 + (offsets ? -116 : 0);
        assertEquals(
          [...before.bytes, ...after.bytes.subarray(overlap)],
          [...trace.subarray(from, last)],
        );
      },
    ),
    { numRuns: 2000 },
  );
});
