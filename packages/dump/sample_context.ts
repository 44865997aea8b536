import type { Machine } from "@perfdata/session";
import {
  piece,
  putAscii,
  putBytes,
  putDecimal,
  type TextBytes,
  textBytes,
  uint64,
} from "./text.ts";
import { HYPERVISOR, NOT_FOUND, THREAD_SLOTS, type ThreadText } from "./thread_text.ts";

const MISC_KERNEL = 1;
const MISC_USER = 2;

const THREAD = piece(" ... thread: ");
const DSO = piece("\n ...... dso: ");

/** Room for the text of a thread, besides its comm. */
const ROOM = 128;
/** Where its line begins. */
const LINE_AT = 32;
/** How many mapped ranges are at hand; a power of two. */
const RANGES = 1 << 6;

/**
 * Finds the thread and the binary of samples in the state of the machine, and makes their text
 * ready: a slot is made again where another thread, or the thread with another comm, had it.
 */
export class SampleContext {
  /** How often the text of each slot was made: it is another one where this differs. */
  readonly made: Float64Array = new Float64Array(THREAD_SLOTS);
  readonly #machine: Machine;
  readonly #texts: ThreadText;
  #scratch: TextBytes = textBytes(ROOM);
  // What each slot is made of.
  readonly #threads = new Int32Array(THREAD_SLOTS).fill(-1);
  readonly #pids = new Int32Array(THREAD_SLOTS);
  readonly #tids = new Int32Array(THREAD_SLOTS);
  readonly #comms = new Int32Array(THREAD_SLOTS);
  /** How often the machine has changed; what was found at which count, and where that is mapped. */
  #since = 0;
  readonly #rangeSince = new Float64Array(RANGES).fill(-1);
  readonly #rangeOf = new Int32Array(RANGES);
  readonly #rangeStart = new Float64Array(RANGES);
  readonly #rangeEnd = new Float64Array(RANGES);
  readonly #rangeBinary = new Int32Array(RANGES);

  /**
   * @param machine Its state is that at each sample.
   * @param texts Where the text is kept.
   */
  constructor(machine: Machine, texts: ThreadText) {
    this.#machine = machine;
    this.#texts = texts;
  }

  /**
   * Makes the text of a thread ready.
   *
   * @param thread Number of the thread in the machine.
   * @param pid The process that the sample tells.
   * @returns The slot of its text.
   */
  slotOf(thread: number, pid: number): number {
    const slot = thread & THREAD_SLOTS - 1;
    const { comms, tids } = this.#machine;
    if (
      this.#threads[slot] !== thread || this.#pids[slot] !== pid ||
      this.#tids[slot] !== tids[thread] || this.#comms[slot] !== comms[thread]
    ) this.#make(slot, thread, pid);
    return slot;
  }

  #make(slot: number, thread: number, pid: number): void {
    const { tids, comms, names } = this.#machine;
    const tid = tids[thread] as number;
    const comm = comms[thread] as number;
    this.made[slot] = (this.made[slot] as number) + 1;
    this.#threads[slot] = thread;
    this.#pids[slot] = pid;
    this.#tids[slot] = tid;
    this.#comms[slot] = comm;
    const name = comm < 0 ? undefined : names.get(comm);
    if (name !== undefined && name.length + ROOM > this.#scratch.bytes.length) {
      this.#scratch = textBytes(2 * (name.length + ROOM));
    }
    const out = this.#scratch;
    const slash = putDecimal(out, 0, pid);
    out.bytes[slash] = 0x2f;
    const ids = putAscii(out, putDecimal(out, slash + 1, tid), ": ");
    let p = THREAD.put(out, LINE_AT);
    if (name === undefined) p = putDecimal(out, putAscii(out, p, ":"), tid);
    else p = putBytes(out, p, name);
    out.bytes[p] = 0x3a;
    p = DSO.put(out, putDecimal(out, p + 1, tid));
    this.#texts.set(slot, out.bytes, 0, ids, LINE_AT, p - LINE_AT);
  }

  /**
   * The binary that holds an address, with its text ready.
   *
   * @param misc `misc` of the sample.
   * @param at Where the address is in `view`; before its start where the sample has none.
   */
  binaryAt(thread: number, misc: number, view: DataView, at: number): number {
    const machine = this.#machine;
    const mode = misc & 7;
    if (mode !== MISC_KERNEL && mode !== MISC_USER) return HYPERVISOR;
    return this.#binaryOf(
      at < 0 ? machine.map(thread, mode, 0, 0) : machine.mapAt(thread, mode, view, at),
    );
  }

  /**
   * {@link SampleContext.binaryAt} for the address of which the halves are given, where nothing was
   * applied to the machine since {@link SampleContext.forget}.
   */
  binaryAgain(thread: number, mode: number, hi: number, lo: number): number {
    const i = (lo >>> 20 ^ lo >>> 23 ^ thread) & RANGES - 1;
    if (
      mode === MISC_USER && this.#rangeOf[i] === thread && this.#rangeSince[i] === this.#since
    ) {
      const address = uint64(hi, lo);
      if (
        address >= (this.#rangeStart[i] as number) && address < (this.#rangeEnd[i] as number)
      ) return this.#rangeBinary[i] as number;
    }
    if (mode !== MISC_KERNEL && mode !== MISC_USER) return HYPERVISOR;
    const machine = this.#machine;
    const map = machine.map(thread, mode, hi, lo);
    const binary = this.#binaryOf(map);
    // Where the process is not known yet it may still turn out to be another one.
    if (map >= 0 && mode === MISC_USER && hi >>> 21 === 0 && machine.pids[thread] !== -1) {
      const { startHi, startLo, endHi, endLo } = machine.spaces;
      this.#rangeOf[i] = thread;
      this.#rangeSince[i] = this.#since;
      this.#rangeStart[i] = (startHi[map] as number) * 2 ** 32 + (startLo[map] as number);
      this.#rangeEnd[i] = (endHi[map] as number) * 2 ** 32 + (endLo[map] as number);
      this.#rangeBinary[i] = binary;
    }
    return binary;
  }

  /** Says that the machine has changed. */
  forget(): void {
    this.#since++;
  }

  #binaryOf(map: number): number {
    if (map < 0) return NOT_FOUND;
    const binary = this.#machine.mapName(map);
    if (!this.#texts.hasBinary(binary)) {
      const path = this.#machine.names.get(binary);
      const line = new Uint8Array(path.length + 1);
      line.set(path);
      line[path.length] = 0x0a;
      this.#texts.setBinary(binary, line);
    }
    return binary;
  }
}
