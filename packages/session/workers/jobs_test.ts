/** Default numbers of threads, as documented in docs/performance.md. */
import { assertEquals } from "@std/assert";
import { encodeFeature } from "@perfdata/format/features";
import type { PerfDataReader } from "@perfdata/format/records";
import { HEADER_COMPRESSED } from "@perfdata/format/constants";
import { sampleJobs, textJobs } from "./jobs.ts";

const MEGABYTE = 1 << 20;

/** A file of this size; compressed records are `ratio` times as large when decompressed. */
function file(fileSize: number, ratio?: number): Parameters<typeof sampleJobs>[1] {
  const value = { version: 1, type: 1, level: 1, ratio: ratio ?? 1, mmap_len: 1 << 19 };
  const bytes = encodeFeature({ id: HEADER_COMPRESSED, name: "COMPRESSED", value }, {
    littleEndian: true,
  });
  const section = { offset: 0n, size: BigInt(bytes.length) };
  const feature = { id: HEADER_COMPRESSED, name: "COMPRESSED", section };
  return {
    fileSize,
    littleEndian: true,
    features: ratio === undefined ? [] : [feature] as PerfDataReader["features"],
    readSection: () => Promise.resolve(bytes.slice()),
  };
}

Deno.test("sampleJobs: all processors from a size that depends on their number", async () => {
  for (
    const [processors, from] of [[1, Infinity], [2, 256], [3, 128], [5, 64], [8, 64]] as const
  ) {
    if (from === Infinity) {
      assertEquals(await sampleJobs(undefined, file(2 ** 50), processors), 1);
      continue;
    }
    const size = from * MEGABYTE;
    assertEquals(await sampleJobs(undefined, file(size), processors), processors);
    assertEquals(await sampleJobs(undefined, file(size - 1), processors), 1);
    // Records count with their decompressed size.
    assertEquals(await sampleJobs(undefined, file(size / 4, 4), processors), processors);
    assertEquals(await sampleJobs(undefined, file(size / 4, 3), processors), 1);
  }
  // A pipe has no size, so the requested number is used.
  assertEquals(await sampleJobs(undefined, { ...file(0), fileSize: undefined }, 8), 1);
  assertEquals(await sampleJobs(3, file(0), 8), 3);
  assertEquals(await sampleJobs(1, file(2 ** 40), 8), 1);
});

Deno.test("textJobs: up to eight from 256 MB on", () => {
  const size = 256 * MEGABYTE;
  assertEquals(textJobs(undefined, { fileSize: size - 1 }, 4), 1);
  assertEquals(textJobs(undefined, { fileSize: size }, 4), 4);
  assertEquals(textJobs(undefined, { fileSize: size }, 64), 8);
  assertEquals(textJobs(undefined, { fileSize: undefined }, 64), 1);
  assertEquals(textJobs(12, { fileSize: 0 }, 4), 12);
});
