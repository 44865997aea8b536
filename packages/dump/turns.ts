const TURN = 0;
const STOPPED = 1;
const ALL = 2;
const CLAIMED = 3;

/** Thrown in a thread that waits for its turn where another one has failed. */
export class StoppedError extends Error {}

/** Whose turn it is among several threads: turns are numbered, and taken one after the other. */
export class Turns {
  /** What the threads share: to be handed to the others. */
  readonly shared: SharedArrayBuffer;
  readonly #state: Int32Array;

  /** @param shared That of another thread; a new one, at turn 0, by default. */
  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(16)) {
    this.shared = shared;
    this.#state = new Int32Array(shared);
  }

  /**
   * Takes turn `turn`, unless another thread has it. Turns are claimed in their order, each by the
   * thread that comes to it first: one that begins late, or is slow, takes fewer.
   */
  claim(turn: number): boolean {
    return Atomics.compareExchange(this.#state, CLAIMED, turn, turn + 1) === turn;
  }

  /**
   * Blocks until it is turn `turn`.
   *
   * @throws {StoppedError} Where it will never be.
   */
  wait(turn: number): void {
    for (;;) {
      if (Atomics.load(this.#state, STOPPED) !== 0) throw new StoppedError("another thread failed");
      const now = Atomics.load(this.#state, TURN);
      if (now === turn) return;
      const all = Atomics.load(this.#state, ALL);
      if (all > 0 && turn >= all) throw new StoppedError(`there are ${all} turns only`);
      // A stop that comes just before this does not wake: hence the limit, in milliseconds.
      Atomics.wait(this.#state, TURN, now, 100);
    }
  }

  /** Ends turn `turn`: waits until it is, and makes it the next one's. */
  end(turn: number): void {
    this.wait(turn);
    Atomics.store(this.#state, TURN, turn + 1);
    Atomics.notify(this.#state, TURN);
  }

  /** Says how many turns there are, once a thread knows: who waits for a later one waits in vain. */
  limit(all: number): void {
    Atomics.store(this.#state, ALL, all);
    Atomics.notify(this.#state, TURN);
  }

  /** Whether all turns are taken, so that a thread that has none is not needed any more. */
  isOver(): boolean {
    const all = Atomics.load(this.#state, ALL);
    return all > 0 && Atomics.load(this.#state, CLAIMED) >= all;
  }

  /** Makes all threads that wait, and those that will, throw. */
  stop(): void {
    Atomics.store(this.#state, STOPPED, 1);
    Atomics.notify(this.#state, TURN);
  }
}
