import type { RandomAccessSource } from "./source.ts";

/** Time in ms between two turns of the event loop. The work between two calls of `turn` adds to it. */
const HELD_MS = 20;

/**
 * Waits for a turn of the event loop, in which timers, signals and messages that are due are served.
 * A message arrives a hundred times sooner than the shortest timer, of 1 ms (4 ms in browsers).
 *
 * @example
 * ```ts
 * import { nextTurn } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * let isServed = false;
 * setTimeout(() => isServed = true, 1);
 * while (!isServed) await nextTurn();
 * assertEquals(isServed, true);
 * ```
 */
export function nextTurn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      // An open port would keep the process alive.
      port1.close();
      port2.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/**
 * Yields to the event loop during long work, so that timers, signals, pages and an `AbortSignal`
 * are served.
 *
 * @example
 * ```ts
 * import { EventLoopTurns } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * const turns = new EventLoopTurns();
 * let ticks = 0;
 * const timer = setInterval(() => ticks++, 1);
 * const end = performance.now() + 100;
 * while (performance.now() < end) await turns.turn();
 * clearInterval(timer);
 * assertEquals(ticks > 0, true);
 * ```
 */
export class EventLoopTurns {
  readonly #signal: AbortSignal | undefined;
  readonly #held: number;
  #last = performance.now();

  /**
   * Creates turns for work that the signal may abort.
   *
   * @param held Time in ms after which a turn is due.
   */
  constructor(signal?: AbortSignal, held: number = HELD_MS) {
    this.#signal = signal;
    this.#held = held;
  }

  /**
   * Yields if a turn is due. Call this between pieces of work, and await the result unless it is `undefined`.
   *
   * @throws {unknown} The signal's reason, if it was aborted.
   */
  readonly turn = (): Promise<void> | undefined => {
    this.#signal?.throwIfAborted();
    return performance.now() - this.#last < this.#held ? undefined : this.#waited();
  };

  async #waited(): Promise<void> {
    await nextTurn();
    this.#last = performance.now();
    this.#signal?.throwIfAborted();
  }

  /** Wraps a source: a read first waits for a turn if one is due. */
  source<T extends RandomAccessSource>(source: T): T & RandomAccessSource {
    return {
      ...source,
      readAt: (into: Uint8Array, position: number) => {
        const turn = this.turn();
        return turn === undefined
          ? source.readAt(into, position)
          : turn.then(() => source.readAt(into, position));
      },
    };
  }
}
