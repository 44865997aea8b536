// Uses Deno's node:v8: throws if V8's heap is nearly full, before V8 aborts the process.
import { OutOfMemory, watchMemory } from "./memory.ts";

/** Below this heap size, V8's limit is not looked up, since loading node:v8 takes time. */
const SMALL = 32 << 20;
/** Part of V8's heap limit for the three spaces of young objects, beyond the space of old objects. */
const YOUNG = 96 << 20;
/** Share of the heap from which on the heap is measured after a garbage collection. */
const COLLECT_FROM = 0.6;
/** Share of the heap, after a garbage collection, from which on the guard throws. */
const FULL = 0.75;

/**
 * Makes `checkMemory` throw before V8's heap is full, since V8 then aborts the process without a message. Each
 * thread has its own heap and calls this itself.
 */
export function guardHeap(): void {
  let heap: Heap | undefined;
  watchMemory(() => {
    if (heap === undefined && Deno.memoryUsage().heapUsed < SMALL) return;
    (heap ??= new Heap()).check();
  });
}

class Heap {
  readonly #v8: typeof import("node:v8") = globalThis.process.getBuiltinModule("node:v8");
  /** Limit of V8's default, or of `--max-old-space-size`. */
  readonly #limit = this.#v8.getHeapStatistics().heap_size_limit - YOUNG;
  #collect: (() => void) | undefined;
  #next = COLLECT_FROM * this.#limit;

  check(): void {
    if (this.#used() < this.#next) return;
    // Much of the used heap is garbage, which V8 collects only when it has to.
    this.#collect ??= garbageCollector(this.#v8);
    this.#collect();
    const used = this.#used();
    if (used > FULL * this.#limit) {
      const [allowed, more] = [this.#limit, 2 * this.#limit].map((n) => Math.round(n / 2 ** 20));
      throw new OutOfMemory(
        `needs more than ${allowed} MB of memory: ` +
          `DENO_V8_FLAGS=--max-old-space-size=${more} allows more`,
      );
    }
    this.#next = Math.max(this.#next, (used + this.#limit) / 2);
  }

  #used(): number {
    return this.#v8.getHeapStatistics().used_heap_size;
  }
}

function garbageCollector(v8: { setFlagsFromString(flags: string): void }): () => void {
  v8.setFlagsFromString("--expose-gc");
  return globalThis.process.getBuiltinModule("node:vm").runInNewContext("gc") as () => void;
}
