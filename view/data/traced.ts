import type { PtGrowth } from "@perfdata/pt/decode";
import type { ProfileThread } from "@perfdata/profile";
import { bytesUpTo } from "../pt/growth.ts";
import { runnings, type Switched } from "./switched.ts";

/** Growth of trace data, by number of a CPU, process or thread. */
type Traced = Map<number, PtGrowth[]>;

/** Growth of a thread's trace in a CPU's buffer, while the thread ran there. */
class Shared {
  readonly #time: number[] = [];
  readonly #at: number[] = [];
  #size = 0;

  add(buffer: PtGrowth, from: number, to: number): void {
    const bytes = bytesUpTo(buffer, to) - bytesUpTo(buffer, from);
    this.#time.push(from, to);
    this.#at.push(this.#size, this.#size += bytes);
  }

  growth(): PtGrowth {
    return {
      at: Float64Array.from(this.#at),
      time: Float64Array.from(this.#time),
      size: this.#size,
    };
  }
}

/**
 * Assigns trace growth to CPUs, processes and threads. A thread's buffer belongs to the thread and its process. A CPU's
 * buffer is split among the threads that ran there, if context switches are known.
 *
 * @param by Offset added to the times of buffers.
 */
export function tracedBy(
  buffers: readonly (PtGrowth & { readonly cpu: number; readonly tid: number })[],
  by: number,
  threads: readonly Pick<ProfileThread, "pid" | "tid">[],
  switched: Switched | undefined,
): Readonly<Record<"cpu" | "process" | "thread", ReadonlyMap<number, readonly PtGrowth[]>>> {
  const found: Record<"cpu" | "process" | "thread", Traced> = {
    cpu: new Map(),
    process: new Map(),
    thread: new Map(),
  };
  const add = (to: Traced, id: number | undefined, growth: PtGrowth) => {
    if (id === undefined || id < 0) return;
    const known = to.get(id);
    if (known === undefined) to.set(id, [growth]);
    else known.push(growth);
  };
  const pidOf = new Map(threads.map(({ pid, tid }) => [tid, pid]));
  for (const { cpu, tid, at, time, size } of buffers) {
    const growth = { at, size, time: time.map((ns) => ns + by) };
    add(found.cpu, cpu, growth);
    add(found.thread, tid, growth);
    add(found.process, pidOf.get(tid), growth);
  }
  if (switched === undefined || found.cpu.size === 0) return found;
  const shared = {
    process: new Map<string, Shared>(),
    thread: new Map<string, Shared>(),
  };
  for (const { tid, pid, cpu, from, to } of runnings(switched)) {
    for (const [number, buffer] of (found.cpu.get(cpu) ?? []).entries()) {
      // The times of one buffer are in order.
      for (const [whose, id] of [["thread", tid], ["process", pid]] as const) {
        const key = `${id} ${cpu} ${number}`;
        const known = shared[whose].get(key) ?? new Shared();
        shared[whose].set(key, known);
        known.add(buffer, from, to);
      }
    }
  }
  for (const whose of ["process", "thread"] as const) {
    for (const [key, part] of shared[whose]) {
      add(found[whose], Number(key.slice(0, key.indexOf(" "))), part.growth());
    }
  }
  return found;
}
