import type { Machine } from "@perfdata/session";
import { copyWide, Piece, piece, putAscii, putBytes, putDecimal, type TextBytes } from "./text.ts";

const MISC_KERNEL = 1;
const MISC_USER = 2;

const THREAD = piece(" ... thread: ");
const DSO = piece("\n ...... dso: ");
const NOT_FOUND = piece("<not found>\n");
const HYPERVISOR = piece("[hypervisor]\n");

/** How many threads have their text at hand; a power of two. */
const KEPT = 1 << 10;
/** Room for both texts of a thread. */
const SLOT = 128;
/** How many mapped ranges are at hand; a power of two. */
const RANGES = 1 << 6;
/** Where the second one begins, and the longest comm that it has room for. */
const LINE_AT = 32;
const LONGEST_COMM = 48;

/**
 * The text of the threads and binaries of samples, which come again and again.
 *
 * Threads come and go by the thousand, so that their text is kept in slots of one buffer: a slot is
 * made again where another thread, or the thread with another comm, had it.
 */
export class ThreadText {
  readonly #machine: Machine;
  readonly #slots: TextBytes;
  readonly #wide: Float64Array;
  // What each slot is made of.
  readonly #threads = new Int32Array(KEPT).fill(-1);
  readonly #pids = new Int32Array(KEPT);
  readonly #tids = new Int32Array(KEPT);
  readonly #comms = new Int32Array(KEPT);
  /** Bytes of `1234/1235: `. */
  readonly #idsLengths = new Uint8Array(KEPT);
  /** Bytes of ` ... thread: make:1235` and of the beginning of the next line; 0 where it is not kept. */
  readonly #lineLengths = new Uint8Array(KEPT);
  /** How often the machine has changed; what was found at which count, and where that is mapped. */
  #since = 0;
  readonly #rangeSince = new Float64Array(RANGES).fill(-1);
  readonly #rangeOf = new Int32Array(RANGES);
  readonly #rangeStart = new Float64Array(RANGES);
  readonly #rangeEnd = new Float64Array(RANGES);
  readonly #rangeLine: (Piece | undefined)[] = new Array(RANGES).fill(undefined);
  readonly #binaries: (Piece | undefined)[] = [];

  /** Takes names from a machine, whose state is that at each sample. */
  constructor(machine: Machine) {
    this.#machine = machine;
    const bytes = new Uint8Array(KEPT * SLOT);
    this.#slots = { bytes, view: new DataView(bytes.buffer) };
    this.#wide = new Float64Array(bytes.buffer);
  }

  /**
   * Makes the text of a thread ready.
   *
   * @param thread Number of the thread in the machine.
   * @param pid The process that the sample tells.
   * @returns What {@link ThreadText.putIds} and {@link ThreadText.putLine} take.
   */
  slotOf(thread: number, pid: number): number {
    const slot = thread & KEPT - 1;
    const { comms, tids } = this.#machine;
    if (
      this.#threads[slot] !== thread || this.#pids[slot] !== pid ||
      this.#tids[slot] !== tids[thread] || this.#comms[slot] !== comms[thread]
    ) this.#make(slot, thread, pid);
    return slot;
  }

  #make(slot: number, thread: number, pid: number): void {
    const slots = this.#slots;
    const tid = this.#machine.tids[thread] as number;
    const comm = this.#machine.comms[thread] as number;
    this.#threads[slot] = thread;
    this.#pids[slot] = pid;
    this.#tids[slot] = tid;
    this.#comms[slot] = comm;
    const start = slot * SLOT;
    let p = putDecimal(slots, start, pid);
    slots.bytes[p] = 0x2f;
    p = putAscii(slots, putDecimal(slots, p + 1, tid), ": ");
    this.#idsLengths[slot] = p - start;
    const isKept = comm < 0 || isPlain(this.#machine.names.get(comm));
    this.#lineLengths[slot] = isKept
      ? this.#putParts(slots, start + LINE_AT, tid, comm) - start - LINE_AT
      : 0;
  }

  #putParts(out: TextBytes, p: number, tid: number, comm: number): number {
    p = THREAD.put(out, p);
    if (comm < 0) p = putDecimal(out, putAscii(out, p, ":"), tid);
    else p = putBytes(out, p, this.#machine.names.get(comm));
    out.bytes[p] = 0x3a;
    return DSO.put(out, putDecimal(out, p + 1, tid));
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
    if (length === 0) {
      return this.#putParts(out, p, this.#tids[slot] as number, this.#comms[slot] as number);
    }
    copyWide(out, p, this.#wide, slot * (SLOT / 8) + LINE_AT / 8, length);
    return p + length;
  }

  /**
   * Writes the binary that holds an address, and a newline.
   *
   * @param misc `misc` of the sample.
   * @param at Where the address is in `view`; before its start where the sample has none.
   */
  putBinary(
    out: TextBytes,
    p: number,
    thread: number,
    misc: number,
    view: DataView,
    at: number,
  ): number {
    const machine = this.#machine;
    const mode = misc & 7;
    if (mode !== MISC_KERNEL && mode !== MISC_USER) return HYPERVISOR.put(out, p);
    const map = at < 0 ? machine.map(thread, mode, 0, 0) : machine.mapAt(thread, mode, view, at);
    if (map < 0) return NOT_FOUND.put(out, p);
    const name = machine.mapName(map);
    return (this.#binaries[name] ?? this.#binary(name)).put(out, p);
  }

  /**
   * {@link ThreadText.putBinary} for the address of which the halves are given, where nothing was
   * applied to the machine since {@link ThreadText.forget}.
   */
  putBinaryAgain(
    out: TextBytes,
    p: number,
    thread: number,
    mode: number,
    hi: number,
    lo: number,
  ): number {
    const i = (lo >>> 20 ^ lo >>> 23 ^ thread) & RANGES - 1;
    if (
      mode === MISC_USER && this.#rangeOf[i] === thread && this.#rangeSince[i] === this.#since
    ) {
      const address = (hi >>> 0) * 2 ** 32 + (lo >>> 0);
      if (
        address >= (this.#rangeStart[i] as number) && address < (this.#rangeEnd[i] as number)
      ) return (this.#rangeLine[i] as Piece).put(out, p);
    }
    if (mode !== MISC_KERNEL && mode !== MISC_USER) return HYPERVISOR.put(out, p);
    const machine = this.#machine;
    const map = machine.map(thread, mode, hi, lo);
    if (map < 0) return NOT_FOUND.put(out, p);
    const name = machine.mapName(map);
    const line = this.#binaries[name] ?? this.#binary(name);
    // Where the process is not known yet it may still turn out to be another one.
    if (mode === MISC_USER && hi >>> 21 === 0 && machine.pids[thread] !== -1) {
      const { startHi, startLo, endHi, endLo } = machine.spaces;
      this.#rangeOf[i] = thread;
      this.#rangeSince[i] = this.#since;
      this.#rangeStart[i] = (startHi[map] as number) * 2 ** 32 + (startLo[map] as number);
      this.#rangeEnd[i] = (endHi[map] as number) * 2 ** 32 + (endLo[map] as number);
      this.#rangeLine[i] = line;
    }
    return line.put(out, p);
  }

  /** Says that the machine has changed. */
  forget(): void {
    this.#since++;
  }

  #binary(name: number): Piece {
    const path = this.#machine.names.get(name);
    const line = new Uint8Array(path.length + 1);
    line.set(path);
    line[path.length] = 0x0a;
    return this.#binaries[name] = new Piece(line);
  }
}

/** Whether a comm fits into a slot, and is never the bits of a NaN. */
function isPlain(comm: Uint8Array): boolean {
  if (comm.length > LONGEST_COMM) return false;
  for (let i = 0; i < comm.length; i++) if ((comm[i] as number) >= 0x7f) return false;
  return true;
}
