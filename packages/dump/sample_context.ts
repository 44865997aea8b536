import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from "@perfdata/format/perf-event";
import type { Machine } from "@perfdata/session";
import { HYPERVISOR, NOT_FOUND, THREAD_SLOTS, type ThreadText } from "./thread_text.ts";

const encoder = new TextEncoder();
/**
 * Finds the thread and the binary of samples in the state of the machine, and makes their text
 * ready: a slot is made again where another thread, or the thread with another comm, had it.
 */
export class SampleContext {
  /** How often the text of each slot was made: it is another one where this differs. */
  readonly made: Float64Array = new Float64Array(THREAD_SLOTS);
  readonly #machine: Machine;
  readonly #texts: ThreadText;
  // What each slot is made of.
  readonly #threads = new Int32Array(THREAD_SLOTS).fill(-1);
  readonly #pids = new Int32Array(THREAD_SLOTS);
  readonly #tids = new Int32Array(THREAD_SLOTS);
  readonly #comms = new Int32Array(THREAD_SLOTS);
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
    const ids = `${pid}/${tid}: `;
    const before = encoder.encode(`${ids} ... thread: `);
    const name = comm < 0 ? encoder.encode(`:${tid}`) : names.get(comm);
    const after = encoder.encode(`:${tid}\n ...... dso: `);
    const bytes = new Uint8Array(before.length + name.length + after.length);
    bytes.set(before);
    bytes.set(name, before.length);
    bytes.set(after, before.length + name.length);
    this.#texts.set(slot, bytes, ids.length);
  }

  /**
   * The binary that holds the address of a sample, with its text ready.
   *
   * @param thread Number of its thread in the machine.
   * @param start Where the sample starts in `view`.
   * @param ip Where the address is in it; -1 where there is none.
   */
  binaryOf(thread: number, view: DataView, start: number, ip: number, le: boolean): number {
    const mode = view.getUint16(start + 4, le) & 7;
    if (mode !== PERF_RECORD_MISC_KERNEL && mode !== PERF_RECORD_MISC_USER) return HYPERVISOR;
    const at = start + ip;
    const hi = ip < 0 ? 0 : view.getInt32(le ? at + 4 : at, le);
    const lo = ip < 0 ? 0 : view.getInt32(le ? at : at + 4, le);
    return this.#nameOf(this.#machine.map(thread, mode, hi, lo));
  }

  #nameOf(map: number): number {
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
