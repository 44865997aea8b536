import { copyWide, isAscii, Piece, piece, putBytes, type TextBytes } from "./text.ts";

const NOT_FOUND_LINE = piece("<not found>\n");
const HYPERVISOR_LINE = piece("[hypervisor]\n");

/** Stands for the binary of an address that is not mapped. */
export const NOT_FOUND = -1;
/** Stands for the binary of an address that is neither the kernel's nor of a process. */
export const HYPERVISOR = -2;

/** How many threads have their text at hand; a power of two. */
export const THREAD_SLOTS: number = 1 << 10;
/** Room for both texts of a thread. */
const SLOT = 128;
/** Where the second one begins; ids are shorter. */
const LINE_AT = 32;

/**
 * The text of the threads and binaries of samples, which come again and again.
 *
 * Threads come and go by the thousand, so that their text is kept in slots of one buffer.
 */
export class ThreadText {
  readonly #bytes = new Uint8Array(THREAD_SLOTS * SLOT);
  readonly #wide = new Float64Array(this.#bytes.buffer);
  /** Bytes of `1234/1235: `. */
  readonly #idsLengths = new Uint8Array(THREAD_SLOTS);
  /** Bytes of ` ... thread: make:1235` and of the beginning of the next line; 0 where it is odd. */
  readonly #lineLengths = new Uint8Array(THREAD_SLOTS);
  /** Lines that do not fit into a slot, or could be the bits of a NaN. */
  readonly #odd: (Uint8Array | undefined)[] = new Array(THREAD_SLOTS).fill(undefined);
  readonly #binaries: (Piece | undefined)[] = [];

  /**
   * Keeps the text of a thread in a slot.
   *
   * @param from Bytes that hold, from `ids` on, `1234/1235: `, and from `line` on the line
   *   ` ... thread: make:1235` and the next one up to the binary.
   */
  set(
    slot: number,
    from: Uint8Array,
    ids: number,
    idsLength: number,
    line: number,
    lineLength: number,
  ): void {
    const start = slot * SLOT;
    const bytes = this.#bytes;
    this.#idsLengths[slot] = idsLength;
    for (let i = 0; i < idsLength; i++) bytes[start + i] = from[ids + i] as number;
    if (lineLength <= SLOT - LINE_AT && isAscii(from, line, lineLength)) {
      this.#lineLengths[slot] = lineLength;
      for (let i = 0; i < lineLength; i++) bytes[start + LINE_AT + i] = from[line + i] as number;
    } else {
      this.#lineLengths[slot] = 0;
      this.#odd[slot] = from.slice(line, line + lineLength);
    }
  }

  /** Writes `1234/1235: `, process and thread. */
  putIds(out: TextBytes, p: number, slot: number): number {
    const length = this.#idsLengths[slot] as number;
    copyWide(out, p, this.#wide, slot * (SLOT / 8), length);
    return p + length;
  }

  /** Writes ` ... thread: make:1235`, and the next line up to the binary. */
  putLine(out: TextBytes, p: number, slot: number): number {
    const length = this.#lineLengths[slot] as number;
    if (length === 0) return putBytes(out, p, this.#odd[slot] as Uint8Array);
    copyWide(out, p, this.#wide, slot * (SLOT / 8) + LINE_AT / 8, length);
    return p + length;
  }

  /** Bytes of both texts of a thread. */
  sizeOf(slot: number): number {
    const line = this.#lineLengths[slot] as number;
    return (this.#idsLengths[slot] as number) + (line || (this.#odd[slot] as Uint8Array).length);
  }

  /** Bytes of the line of a binary. */
  sizeOfBinary(binary: number): number {
    return (this.#binaries[binary] as Piece).length;
  }

  /** Whether the line of a binary is there. */
  hasBinary(binary: number): boolean {
    return binary < 0 || this.#binaries[binary] !== undefined;
  }

  /** Keeps the line of a binary: its path and a newline. */
  setBinary(binary: number, line: Uint8Array): void {
    this.#binaries[binary] = new Piece(line);
  }

  /** Writes the line of a binary. */
  putBinary(out: TextBytes, p: number, binary: number): number {
    const line = binary >= 0
      ? this.#binaries[binary] as Piece
      : binary === NOT_FOUND
      ? NOT_FOUND_LINE
      : HYPERVISOR_LINE;
    return line.put(out, p);
  }
}
