import type { BinarySource } from "../files/binary_source.ts";

const table = new Uint32Array(256).map((_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/**
 * CRC-32 (ISO-HDLC, polynomial `0xedb88320` reflected) of a whole source, as `.gnu_debuglink` has
 * of the debug file.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/symbols/resolver";
 * import { crc32 } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * // The check value of the CRC catalogue.
 * assertEquals(crc32(bytesSource(new TextEncoder().encode("123456789"))), 0xcbf43926);
 * ```
 */
export function crc32(source: BinarySource): number {
  const block = 1 << 20;
  let crc = -1;
  for (let offset = 0; offset < source.size; offset += block) {
    const bytes = source.read(offset, Math.min(block, source.size - offset));
    for (let i = 0; i < bytes.length; i++) {
      crc = (crc >>> 8) ^ (table[(crc ^ (bytes[i] ?? 0)) & 255] ?? 0);
    }
  }
  return ~crc >>> 0;
}
