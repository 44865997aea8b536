/** How many were filled; once there will be no more, the bits of that inverted, which is negative. */
const FILLED = 0;
const CLAIMED = 1;
const DONE = 2;
const STOPPED = 3;
const WORDS = 4;

/** Milliseconds: a stop that comes just before somebody waits does not wake him. */
const LONGEST_WAIT = 100;

/** Thrown in a thread that waits where another one has failed. */
export class StoppedError extends Error {}

/** What the threads share: to be handed to the others. */
export interface SharedBlocks {
  /** How far each thread has got, and which blocks are free. */
  readonly state: SharedArrayBuffer;
  /** The blocks. */
  readonly blocks: readonly SharedArrayBuffer[];
}

/** Blocks of memory that one thread fills and others empty: in turn, however many they are. */
export class Blocks {
  /** What another thread makes its own from. */
  readonly shared: SharedBlocks;
  readonly #state: Int32Array;

  /** Sees the blocks that another thread has made. */
  constructor(shared: SharedBlocks) {
    this.shared = shared;
    this.#state = new Int32Array(shared.state);
  }

  /** Makes `count` blocks of `size` bytes. */
  static of(count: number, size: number): Blocks {
    const blocks = Array.from({ length: count }, () => new SharedArrayBuffer(size));
    return new Blocks({ state: new SharedArrayBuffer(4 * WORDS), blocks });
  }

  /** The memory of block `n`, counted from the first that was filled. */
  memory(n: number): SharedArrayBuffer {
    const { blocks } = this.shared;
    return blocks[n % blocks.length] as SharedArrayBuffer;
  }

  /**
   * Blocks until there is one to fill.
   *
   * @param help Called while there is none: empties one, if it can.
   * @returns Its number.
   * @throws {StoppedError} Where another thread has failed.
   */
  room(help: () => boolean = () => false): number {
    const n = Atomics.load(this.#state, FILLED);
    const oldest = n - this.shared.blocks.length;
    while (Atomics.load(this.#state, DONE) <= oldest && help());
    this.#wait(DONE, (done) => done > oldest);
    return n;
  }

  /** Hands the block that is filled to the others. */
  fill(): void {
    Atomics.add(this.#state, FILLED, 1);
    Atomics.notify(this.#state, FILLED);
  }

  /** Says that there will be no more. */
  close(): void {
    Atomics.store(this.#state, FILLED, ~Atomics.load(this.#state, FILLED));
    Atomics.notify(this.#state, FILLED);
  }

  /** One to empty, which is this thread's then; -1 where there is none now. */
  tryClaim(): number {
    const n = Atomics.load(this.#state, CLAIMED);
    const isFilled = n < countOf(Atomics.load(this.#state, FILLED));
    return isFilled && Atomics.compareExchange(this.#state, CLAIMED, n, n + 1) === n ? n : -1;
  }

  /**
   * Blocks until there is one to empty, which is this thread's then.
   *
   * @returns Its number, or -1 where there will be none.
   * @throws {StoppedError} Where another thread has failed.
   */
  claim(): number {
    const state = this.#state;
    for (;;) {
      this.#checkStop();
      const n = this.tryClaim();
      if (n >= 0) return n;
      const claimed = Atomics.load(state, CLAIMED);
      this.#wait(FILLED, (filled) => filled < 0 || claimed < filled);
      if (claimed >= countOf(Atomics.load(state, FILLED))) return -1;
    }
  }

  /**
   * Blocks until all blocks before `n` are empty.
   *
   * @throws {StoppedError} Where another thread has failed.
   */
  turn(n: number): void {
    this.#wait(DONE, (done) => done === n);
  }

  /** Says that block `n` is empty, when all before it are. */
  empty(n: number): void {
    this.turn(n);
    Atomics.store(this.#state, DONE, n + 1);
    Atomics.notify(this.#state, DONE);
  }

  /** Makes all threads that wait, and those that will, throw. */
  stop(): void {
    Atomics.store(this.#state, STOPPED, 1);
    Atomics.notify(this.#state, FILLED);
    Atomics.notify(this.#state, DONE);
  }

  #checkStop(): void {
    if (Atomics.load(this.#state, STOPPED) !== 0) throw new StoppedError("another thread failed");
  }

  #wait(word: number, isReady: (value: number) => boolean): void {
    const state = this.#state;
    for (;;) {
      this.#checkStop();
      const now = Atomics.load(state, word);
      if (isReady(now)) return;
      Atomics.wait(state, word, now, LONGEST_WAIT);
    }
  }
}

/** Where what fills blocks gets them, and hands them over. */
export interface BlockTarget extends Pick<Blocks, "memory" | "fill" | "close"> {
  /** Blocks until there is one to fill; returns its number. */
  room(): number;
  /** A block is handed over with so many bytes; the default is the filler's. */
  readonly full?: number;
}

/** How many are filled, whether there will be more or not. */
function countOf(filled: number): number {
  return filled < 0 ? ~filled : filled;
}
