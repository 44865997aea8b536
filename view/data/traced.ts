import type { PtGrowth } from "@perfdata/pt/decode";
import type { ProfileThread } from "@perfdata/profile/profile";
import { bytesUpTo } from "../pt/growth.ts";
import { runnings, type Switched } from "./switched.ts";

/** Growth of the trace data, by number of a CPU, process or thread. */
type Traced = Map<number, PtGrowth[]>;

/** What the trace of a thread that shares a CPU's buffer grew by while it ran there. */
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
 * Whose trace grew when: a thread's buffer is its own and its process's. What a CPU wrote is that of the threads that
 * had it, where context switches say which.
 *
 * @param by What is added to times of buffers.
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
      // Of one buffer, times follow each other.
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
