import { checkMemory } from "@perfdata/format/bytes";
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
  /** Pairs of process and thread. */
  readonly #ids = new NodeTable();
  /** Pairs of such a pair and a name. */
  readonly #named = new NodeTable();
  readonly #comms: string[] = [];
  readonly #commNumbers = new Map<string, number>();

  /** Number of threads. */
  get length(): number {
    return this.#named.length;
  }

  /**
   * The index of a thread; it is added if it is new.
   *
   * @param pid Its process; -1 if unknown.
   * @param tid The thread; -1 if unknown.
   * @param comm Its name; by default, the name is `:tid`.
   */
  add(pid: number, tid: number, comm?: string): number {
    let number = -1;
    if (comm !== undefined && comm !== `:${tid}`) {
      number = this.#commNumbers.get(comm) ?? -1;
      if (number < 0) this.#commNumbers.set(comm, number = this.#comms.push(comm) - 1);
    }
    return this.#named.node(this.#ids.node(pid, tid), number);
  }

  /** Process of a thread; -1 if unknown. */
  pid(thread: number): number {
    return this.#ids.parent(this.#named.parent(thread));
  }

  /** Thread id of a thread; -1 if unknown. */
  tid(thread: number): number {
    return this.#ids.item(this.#named.parent(thread));
  }

  /** Name of a thread; `undefined` if it has none. */
  name(thread: number): string | undefined {
    return this.#comms[this.#named.item(thread)];
  }

  /** Name of a thread, `:tid` if it has none. */
  comm(thread: number): string {
    return this.name(thread) ?? `:${this.tid(thread)}`;
  }

  /** A thread as an object; `undefined` if the number is out of range. */
  at(thread: number): ProfileThread | undefined {
    return thread >= 0 && thread < this.length
      ? { pid: this.pid(thread), tid: this.tid(thread), comm: this.comm(thread) }
      : undefined;
  }

  /** Calls `of` for each thread; returns the results by thread. */
  numbers(of: (thread: ProfileThread) => number): Int32Array<ArrayBuffer> {
    const found = new Int32Array(this.length);
    let number = 0;
    for (const thread of this) found[number++] = of(thread);
    return found;
  }

  /** The threads as a JSON list. */
  toJSON(): ProfileThread[] {
    return [...this];
  }

  /** Yields all threads in the order of their indices. */
  *[Symbol.iterator](): Generator<ProfileThread, void, void> {
    for (let thread = 0; thread < this.length; thread++) {
      // Consumers may allocate memory for each of a million threads.
      if ((thread & 0xfff) === 0xfff) checkMemory();
      yield this.at(thread) as ProfileThread;
    }
  }
}
