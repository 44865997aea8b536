// Uses Deno's node:v8: checks whether V8's heap is nearly full, when V8 would abort the process.
import { OutOfMemory, watchMemory } from "./memory.ts";

/** No heap is so small that it ends below this: what knows its end takes time to load. */
const SMALL = 32 << 20;
/** What V8 counts in the limit of a heap beyond that of the objects that stay: three spaces for new ones. */
const YOUNG = 96 << 20;
/** From this share of the heap on, what is left after collecting garbage is looked at. */
const LOOK = 0.6;
/** From this share on, there is too little left to go on. */
const FULL = 0.75;

/**
 * Has `checkMemory` throw before V8's heap is full, which would end the process without a word. Each thread
 * has a heap of its own, and calls this for itself.
 */
export function guardHeap(): void {
  let heap: Heap | undefined;
  watchMemory(() => {
    if (heap === undefined && Deno.memoryUsage().heapUsed < SMALL) return;
    (heap ??= new Heap()).check();
  });
}

/** The heap of this thread. */
class Heap {
  readonly #v8 = globalThis.process.getBuiltinModule("node:v8");
  /** Of what V8 allows by itself, or by `--max-old-space-size`. */
  readonly #limit = this.#v8.getHeapStatistics().heap_size_limit - YOUNG;
  #collect: (() => void) | undefined;
  #next = LOOK * this.#limit;

  check(): void {
    if (this.#used() < this.#next) return;
    // What is used is garbage to a large part, which V8 leaves where it is until it has to.
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
