import { Piece, piece } from "@perfdata/format/text-bytes";

const NOT_FOUND_LINE = piece("<not found>\n");
const HYPERVISOR_LINE = piece("[hypervisor]\n");

/** Stands for the binary of an address that is not mapped. */
export const NOT_FOUND = -1;
/** Stands for the binary of an address that is neither the kernel's nor of a process. */
export const HYPERVISOR = -2;

/** How many threads have their text at hand; a power of two. */
export const THREAD_SLOTS: number = 1 << 10;

/** The text of a thread. */
interface Thread {
  /** `1234/1235: `. */
  readonly ids: Piece;
  /** ` ... thread: make:1235` and the next line up to the binary. */
  readonly line: Piece;
}

/** The text of the threads and binaries of samples, which come again and again. */
export class ThreadText {
  readonly #threads: (Thread | undefined)[] = new Array(THREAD_SLOTS).fill(undefined);
  readonly #binaries: (Piece | undefined)[] = [];

  /**
   * Keeps the text of a thread in a slot.
   *
   * @param bytes `1234/1235: ` and then the line ` ... thread: make:1235` and the next one up to the
   *   binary; they are kept.
   * @param idsLength How many bytes come before the line.
   */
  set(slot: number, bytes: Uint8Array, idsLength: number): void {
    const ids = new Piece(bytes.subarray(0, idsLength));
    this.#threads[slot] = { ids, line: new Piece(bytes.subarray(idsLength)) };
  }

  /** Writes `1234/1235: `, process and thread. */
  putIds(out: DataView, p: number, slot: number): number {
    return (this.#threads[slot] as Thread).ids.put(out, p);
  }

  /** Writes ` ... thread: make:1235`, and the next line up to the binary. */
  putLine(out: DataView, p: number, slot: number): number {
    return (this.#threads[slot] as Thread).line.put(out, p);
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
  putBinary(out: DataView, p: number, binary: number): number {
    const line = binary >= 0
      ? this.#binaries[binary] as Piece
      : binary === NOT_FOUND
      ? NOT_FOUND_LINE
      : HYPERVISOR_LINE;
    return line.put(out, p);
  }
}
