import { inLine, intAt, Piece, piece } from "@perfdata/format/bytes";
import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from "@perfdata/format/constants";
import type { MachineView, Run } from "@perfdata/session";

const NOT_FOUND_LINE = piece("<not found>\n");
const HYPERVISOR_LINE = piece("[hypervisor]\n");

/** The binary of an unmapped address. */
const NOT_FOUND = -1;
/** The binary of an address that is neither the kernel's nor a process's. */
const HYPERVISOR = -2;

/** Number of threads with cached text; a power of two. */
const THREAD_SLOTS = 1 << 10;

/** The cached text of a thread, with the data that it was made from. */
interface Thread {
  readonly thread: number;
  readonly pid: number;
  readonly comm: number;
  /** `1234/1235: `. */
  readonly ids: Piece;
  /** ` ... thread: make:1235` and the next line up to the binary. */
  readonly line: Piece;
}

const encoder = new TextEncoder();

/**
 * Caches the text of samples' threads and binaries. A slot is filled again if another thread, or
 * another comm of the thread, needs it.
 */
export class ThreadText {
  readonly #machine: MachineView;
  readonly #threads: (Thread | undefined)[] = new Array(THREAD_SLOTS).fill(undefined);
  readonly #binaries: (Piece | undefined)[] = [];

  /** @param machine Returns names by index. */
  constructor(machine: MachineView) {
    this.#machine = machine;
  }

  /** Returns the slot of a sample's thread. Its text is ready afterwards. */
  slotOf(run: Run, row: number): number {
    const thread = intAt(run.thread, row);
    const pid = intAt(run.pid, row);
    const comm = intAt(run.comm, row);
    const slot = thread & THREAD_SLOTS - 1;
    const found = this.#threads[slot];
    if (found?.thread !== thread || found.pid !== pid || found.comm !== comm) {
      this.#threads[slot] = this.#textOf(thread, pid, comm);
    }
    return slot;
  }

  #textOf(thread: number, pid: number, comm: number): Thread {
    const { tids, names } = this.#machine;
    const tid = intAt(tids, thread);
    const before = encoder.encode(" ... thread: ");
    const name = comm < 0 ? encoder.encode(`:${tid}`) : inLine(names.get(comm));
    const after = encoder.encode(`:${tid}\n ...... dso: `);
    const line = new Uint8Array(before.length + name.length + after.length);
    line.set(before);
    line.set(name, before.length);
    line.set(after, before.length + name.length);
    return { thread, pid, comm, ids: piece(`${pid}/${tid}: `), line: new Piece(line) };
  }

  /** Writes process and thread: `1234/1235: `. */
  putIds(out: DataView, p: number, slot: number): number {
    return (this.#threads[slot] as Thread).ids.put(out, p);
  }

  /** Writes ` ... thread: make:1235`, and the next line up to the binary. */
  putLine(out: DataView, p: number, slot: number): number {
    return (this.#threads[slot] as Thread).line.put(out, p);
  }

  /** Returns the binary with a sample's address. Its text is ready afterwards. */
  binaryOf(run: Run, row: number): number {
    const mode = intAt(run.misc, row) & 7;
    if (mode !== PERF_RECORD_MISC_KERNEL && mode !== PERF_RECORD_MISC_USER) return HYPERVISOR;
    const name = intAt(run.map, row);
    if (name < 0) return NOT_FOUND;
    if (this.#binaries[name] === undefined) {
      const path = inLine(this.#machine.names.get(name));
      const line = new Uint8Array(path.length + 1);
      line.set(path);
      line[path.length] = 0x0a;
      this.#binaries[name] = new Piece(line);
    }
    return name;
  }

  /** Writes a binary's line: its path and a newline. */
  putBinary(out: DataView, p: number, binary: number): number {
    const line = binary >= 0
      ? this.#binaries[binary] as Piece
      : binary === NOT_FOUND
      ? NOT_FOUND_LINE
      : HYPERVISOR_LINE;
    return line.put(out, p);
  }
}
