/** Time in ms after which long work lets requests begin. */
const HELD_MS = 50;

/** Requests that are answered before long work, such as decoding, goes on. */
export class ShortRequests {
  #open = 0;
  #waiting: (() => void)[] = [];
  #last = performance.now();

  /** Counts a request as open until `answer` has ended. */
  async during<T>(answer: () => Promise<T>): Promise<T> {
    this.#open++;
    try {
      return await answer();
    } finally {
      if (--this.#open === 0) {
        for (const go of this.#waiting) go();
        this.#waiting = [];
      }
    }
  }

  /**
   * Lets requests that have arrived begin, and resolves when none is open. Long work awaits it
   * between its steps; `undefined` if nothing is to be awaited yet.
   */
  settled(): Promise<void> | undefined {
    const isDue = this.#open > 0 || performance.now() - this.#last >= HELD_MS;
    return isDue ? this.#settled() : undefined;
  }

  async #settled(): Promise<void> {
    // A request is read in several turns of the event loop; a timer lasts for all that are ready.
    await new Promise<void>((resolve) => setTimeout(resolve, 2));
    while (this.#open > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#last = performance.now();
  }
}
