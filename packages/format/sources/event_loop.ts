import type { RandomAccessSource } from "./source.ts";

/** Time in ms between two turns of the event loop. The work between two calls of `turn` adds to it. */
const HELD_MS = 20;

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
    await new Promise((resolve) => setTimeout(resolve, 0));
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
