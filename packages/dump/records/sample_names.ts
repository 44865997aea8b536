import { inLine } from "@perfdata/format/visible";
import type { MachineView } from "@perfdata/session/machine-view";
import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from "@perfdata/format/perf-event";
import type { Run } from "@perfdata/session/run";
import { HYPERVISOR, NOT_FOUND, THREAD_SLOTS, type ThreadText } from "../text/thread_text.ts";

const encoder = new TextEncoder();

/**
 * Makes the text of the threads and binaries of samples ready: a slot is made again where another
 * thread, or the thread with another comm, had it.
 */
export class SampleNames {
  readonly #machine: MachineView;
  readonly #texts: ThreadText;
  // What each slot is made of.
  readonly #threads = new Int32Array(THREAD_SLOTS).fill(-1);
  readonly #pids = new Int32Array(THREAD_SLOTS);
  readonly #comms = new Int32Array(THREAD_SLOTS);

  /**
   * @param machine Knows names by their numbers.
   * @param texts Where the text is kept.
   */
  constructor(machine: MachineView, texts: ThreadText) {
    this.#machine = machine;
    this.#texts = texts;
  }

  /** The slot of the text of a sample's thread, which is made ready. */
  slotOf(run: Run, row: number): number {
    const thread = run.thread[row] as number;
    const pid = run.pid[row] as number;
    const comm = run.comm[row] as number;
    const slot = thread & THREAD_SLOTS - 1;
    if (
      this.#threads[slot] !== thread || this.#pids[slot] !== pid || this.#comms[slot] !== comm
    ) this.#make(slot, thread, pid, comm);
    return slot;
  }

  #make(slot: number, thread: number, pid: number, comm: number): void {
    const { tids, names } = this.#machine;
    const tid = tids[thread] as number;
    this.#threads[slot] = thread;
    this.#pids[slot] = pid;
    this.#comms[slot] = comm;
    const ids = `${pid}/${tid}: `;
    const before = encoder.encode(`${ids} ... thread: `);
    const name = comm < 0 ? encoder.encode(`:${tid}`) : inLine(names.get(comm));
    const after = encoder.encode(`:${tid}\n ...... dso: `);
    const bytes = new Uint8Array(before.length + name.length + after.length);
    bytes.set(before);
    bytes.set(name, before.length);
    bytes.set(after, before.length + name.length);
    this.#texts.set(slot, bytes, ids.length);
  }

  /** The binary that holds the address of a sample, with its text ready. */
  binaryOf(run: Run, row: number): number {
    const mode = (run.misc[row] as number) & 7;
    if (mode !== PERF_RECORD_MISC_KERNEL && mode !== PERF_RECORD_MISC_USER) return HYPERVISOR;
    const name = run.map[row] as number;
    if (name < 0) return NOT_FOUND;
    if (!this.#texts.hasBinary(name)) {
      const path = inLine(this.#machine.names.get(name));
      const line = new Uint8Array(path.length + 1);
      line.set(path);
      line[path.length] = 0x0a;
      this.#texts.setBinary(name, line);
    }
    return name;
  }
}
