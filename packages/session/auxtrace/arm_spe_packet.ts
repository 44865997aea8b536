/**
 * Packets of Arm's Statistical Profiling Extension (Arm Architecture Reference Manual, chapter
 * "Statistical Profiling Extension Sample Record Specification").
 *
 * @module
 */

const PAD = 0x00;
const END = 0x01;
const TIMESTAMP = 0x71;
const EVENTS = 0x42;
const DATA_SOURCE = 0x43;
const OPERATION_TYPE = 0x48;
const CONTEXT = 0x64;
const EXTENDED = 0x20;
const ADDRESS = 0xb0;
const COUNTER = 0x98;

/** Kinds of packets, by the header bits that all packets of a kind share. */
export const SPE_PACKET = {
  PAD,
  END,
  TIMESTAMP,
  EVENTS,
  DATA_SOURCE,
  OPERATION_TYPE,
  CONTEXT,
  ADDRESS,
  COUNTER,
} as const;

/** Maximum bytes of a packet, including the padding that is read with it. */
export const SPE_REACH = 16;

/** The packet that was read last. */
export class SpePacket {
  /** One of {@link SPE_PACKET}. */
  kind: number = PAD;
  /**
   * Size in bytes; 0 if the bytes are no packet or the packet is cut. Up to 16 bytes of padding are
   * one packet.
   */
  size = 0;
  /**
   * Index of the address or counter; the class of an operation or context; the exception level less
   * 1.
   */
  index = 0;
  /** The upper half of its payload. */
  hi = 0;
  /** The lower half. */
  lo = 0;

  /**
   * Decodes the packet at `at`.
   *
   * @param address Address of its first byte, from which alignment packets count.
   */
  read(input: Uint8Array, at: number, end: number, address: number): void {
    const first = input[at] as number;
    const left = end - at;
    this.size = 0;
    this.index = this.hi = this.lo = 0;
    this.kind = PAD;
    let size: number;
    if (first === PAD) {
      size = 1;
    } else if (first === END) {
      this.kind = END;
      this.size = 1;
      return;
    } else if (isExtended(first) && left > 1 && input[at + 1] === 0) {
      const alignment = 1 << (first & 15) + 1;
      if (left < alignment) return;
      size = alignment - (address % alignment);
    } else {
      const head = isExtended(first) ? 1 : 0;
      const kind = left < 1 + head ? -1 : kindOf(input, at);
      if (kind < 0) return;
      const header = input[at + head] as number;
      const payload = 1 << (header >> 4 & 3);
      if (left < 1 + head + payload) return;
      this.size = 1 + head + payload;
      this.kind = kind;
      this.index = kind === OPERATION_TYPE || kind === CONTEXT
        ? first & 3
        : header & 7 | (head === 1 ? (first & 3) << 3 : 0);
      const byte = (i: number): number => i < payload ? input[at + 1 + head + i] as number : 0;
      this.lo = (byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24) >>> 0;
      this.hi = (byte(4) | byte(5) << 8 | byte(6) << 16 | byte(7) << 24) >>> 0;
      return;
    }
    while (size < SPE_REACH && size < left && input[at + size] === PAD) size++;
    this.size = size;
  }
}

function isExtended(first: number): boolean {
  return (first & 0xfc) === EXTENDED;
}

/** Kind of the packet with a payload that begins at `at`; -1 if there is none. */
function kindOf(input: Uint8Array, at: number): number {
  const first = input[at] as number;
  if (first === TIMESTAMP) return TIMESTAMP;
  const short = first & 0xcf;
  if (short === EVENTS || short === DATA_SOURCE) return short;
  const group = first & 0xfc;
  if (group === CONTEXT || group === OPERATION_TYPE) return group;
  const kind = ((group === EXTENDED ? input[at + 1] : first) as number) & 0xf8;
  return kind === ADDRESS || kind === COUNTER ? kind : -1;
}
