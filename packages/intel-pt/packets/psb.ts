/** Size of a PSB packet in bytes. */
export const PSB_SIZE = 16;

/**
 * Finds the first PSB packet (SDM, "Packet Stream Boundary (PSB) Packet") that is completely in
 * `bytes[from, to)`.
 *
 * A PSB is `02 82` eight times. Other packets contain at most a part of it, so a
 * decoder that has lost the packet boundaries can restart there.
 *
 * @param bytes The buffer to search.
 * @param from Offset of the first byte at which a PSB may begin.
 * @param to Offset after the last byte that a PSB may use.
 * @returns The offset of the PSB in `bytes`, or -1.
 *
 * @example
 * ```ts
 * import { encodePackets, findPsb } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = encodePackets([{ type: "MTC", ctc: 0x82 }, { type: "PSB" }, { type: "PSBEND" }]);
 * assertEquals(findPsb(bytes), 2);
 * assertEquals(findPsb(bytes, 3), -1);
 * ```
 */
export function findPsb(bytes: Uint8Array, from = 0, to: number = bytes.length): number {
  // Any fifteen adjacent positions include one that is, with its successor, in the PSB.
  for (let at = from + PSB_SIZE - 2; at + 1 < to; at += PSB_SIZE - 1) {
    const byte = bytes[at];
    if (byte !== 0x02 && byte !== 0x82) continue;
    let first = at;
    while (first > from && ((bytes[first - 1] as number) ^ 0x80) === bytes[first]) first--;
    if (bytes[first] === 0x82) first++;
    let end = at + 1;
    while (end < to && ((bytes[end - 1] as number) ^ 0x80) === bytes[end]) end++;
    if (end - first >= PSB_SIZE) return first;
  }
  return -1;
}
