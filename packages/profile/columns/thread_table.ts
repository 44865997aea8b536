import { checkMemory, intAt } from "@perfdata/format/bytes";
import { NodeTable } from "./node_table.ts";
import type { ProfileThread } from "./profile.ts";

/**
 * Threads: one row for each combination of process, thread and name.
 *
 * @example
 * ```ts
 * import { ThreadTable } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const threads = new ThreadTable();
 * const worker = threads.add(7, 8, "worker");
 * const unnamed = threads.add(7, 9);
 * assertEquals(threads.add(7, 8, "worker"), worker);
 * assertEquals(threads.at(worker), { pid: 7, tid: 8, comm: "worker" });
 * assertEquals(threads.comm(unnamed), ":9");
 * assertEquals(Array.from(threads, ({ tid }) => tid), [8, 9]);
 * ```
 */
export class ThreadTable implements Iterable<ProfileThread> {
  /** Processes of threads: pairs. */
  readonly #ids = new NodeTable();
  /** Threads: a pair with a name. */
  readonly #named = new NodeTable();
  readonly #comms: string[] = [];
  readonly #commNumbers = new Map<string, number>();

  /** How many there are. */
  get length(): number {
    return this.#named.length;
  }

  /**
   * The number of a thread; it is added if it is new.
   *
   * @param pid Its process; -1 if it is not known.
   * @param tid The thread; -1 if it is not known.
   * @param comm Its name; without one it goes by its number.
   */
  add(pid: number, tid: number, comm?: string): number {
    let number = -1;
    if (comm !== undefined && comm !== `:${tid}`) {
      number = this.#commNumbers.get(comm) ?? -1;
      if (number < 0) this.#commNumbers.set(comm, number = this.#comms.push(comm) - 1);
    }
    return this.#named.node(this.#ids.node(pid, tid), number);
  }

  /** Process of a thread; -1 if it is not known. */
  pid(thread: number): number {
    return intAt(this.#ids.parents(), intAt(this.#named.parents(), thread));
  }

  /** Number of a thread; -1 if it is not known. */
  tid(thread: number): number {
    return intAt(this.#ids.items(), intAt(this.#named.parents(), thread));
  }

  /** Name of a thread. */
  comm(thread: number): string {
    return this.#comms[intAt(this.#named.items(), thread)] ?? `:${this.tid(thread)}`;
  }

  /** A thread as one value; `undefined` if there is none of that number. */
  at(thread: number): ProfileThread | undefined {
    return thread >= 0 && thread < this.length
      ? { pid: this.pid(thread), tid: this.tid(thread), comm: this.comm(thread) }
      : undefined;
  }

  /** A number of each thread. */
  numbers(of: (thread: ProfileThread) => number): Int32Array<ArrayBuffer> {
    const found = new Int32Array(this.length);
    let number = 0;
    for (const thread of this) found[number++] = of(thread);
    return found;
  }

  /** As JSON: a list of threads. */
  toJSON(): ProfileThread[] {
    return [...this];
  }

  /** All of them, in the order of their numbers. */
  *[Symbol.iterator](): Generator<ProfileThread, void, void> {
    for (let thread = 0; thread < this.length; thread++) {
      // What is made of each may take memory, and there may be a million.
      if ((thread & 0xfff) === 0xfff) checkMemory();
      yield this.at(thread) as ProfileThread;
    }
  }
}
