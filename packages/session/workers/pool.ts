import { nextTurn, OutOfMemory, settleable } from "@perfdata/format/bytes";
import type { ThreadError, ThreadMessage, WorkerThread } from "./thread.ts";

/** Message to a thread: first the task, then orders, then the end. */
export type PoolMessage<Task, Order> = { readonly task: Task } | { readonly order: Order } | "end";

/** Message from a thread. Threads answer orders one after the other. */
export type PoolAnswer<Found, Totals> =
  | { readonly kind: "ready" }
  | { readonly kind: "note"; readonly note: unknown }
  | { readonly kind: "found"; readonly found: Found }
  | { readonly kind: "end"; readonly totals: Totals | undefined }
  | {
    readonly kind: "error";
    readonly message: string;
    /** Whether the error is an {@linkcode OutOfMemory}. */
    readonly memory: boolean;
  };

/** A thread's side of the work. */
export interface PoolServer<Order, Found, Totals = undefined> {
  /** Carries out one order. Buffers in the result are transferred, so the thread has to drop them. */
  take(order: Order): Promise<Found> | Found;
  /** Returns the thread's sums after its last order. */
  totals?(): Promise<Totals> | Totals;
}

/** The needed part of a worker's global scope. */
export interface PoolScope<Task, Order, Found, Totals> {
  /** Receives messages. */
  onmessage: ((event: { data: PoolMessage<Task, Order> }) => void) | null;
  /** Sends an answer. */
  postMessage(message: PoolAnswer<Found, Totals>, transfer?: ArrayBuffer[]): void;
}

/**
 * Serves a {@linkcode Pool} in a worker's module.
 *
 * @param open Prepares for orders. `note` sends something to the pool before the result of an order.
 * @param scope The receiver of messages; the worker's global scope by default.
 */
export function servePool<Task, Order, Found, Totals>(
  open: (
    task: Task,
    note: (note: unknown) => void,
  ) => Promise<PoolServer<Order, Found, Totals>> | PoolServer<Order, Found, Totals>,
  scope: PoolScope<Task, Order, Found, Totals> = globalThis as unknown as typeof scope,
): void {
  let server: PoolServer<Order, Found, Totals>;
  const fail = (error: unknown) =>
    scope.postMessage({
      kind: "error",
      message: error instanceof Error ? error.message : String(error),
      memory: error instanceof OutOfMemory,
    });
  const take = async (message: PoolMessage<Task, Order>): Promise<void> => {
    if (message === "end") scope.postMessage({ kind: "end", totals: await server.totals?.() });
    else if ("task" in message) {
      server = await open(message.task, (note) => scope.postMessage({ kind: "note", note }));
      scope.postMessage({ kind: "ready" });
    } else {
      const found = await server.take(message.order);
      scope.postMessage({ kind: "found", found }, [...buffersOf(found)]);
    }
  };
  // After a failure, the messages that are still waiting are dropped.
  let last: Promise<void> = Promise.resolve();
  scope.onmessage = ({ data }) => {
    last = last.then(() => take(data));
    last.catch(fail);
  };
}

/** The orders of a {@linkcode Pool}, and the receiver of their results. */
export interface PoolQueue<Order, Found> {
  /** Whether all orders were dealt out. */
  readonly isEmpty: boolean;
  /**
   * Returns the next order for a thread; `undefined` if there is none now.
   *
   * @param thread Index of the thread, from 0.
   */
  next(thread: number): Order | undefined;
  /** Receives the result of an order. An error thrown here ends the pool, as one of a thread does. */
  found(found: Found, order: Order, thread: number): void;
  /** Receives a thread's notes. */
  noted?(note: unknown, thread: number): void;
}

/** Creates a queue of independent orders: each goes to the first thread with room. */
export function listQueue<Order, Found>(
  orders: readonly Order[],
  found: (found: Found, order: Order) => void = () => {},
  noted?: (note: unknown) => void,
): PoolQueue<Order, Found> {
  let next = 0;
  return {
    get isEmpty() {
      return next === orders.length;
    },
    next: () => next < orders.length ? orders[next++] : undefined,
    found,
    ...(noted && { noted }),
  };
}

/** Options of a {@linkcode Pool}. */
export interface PoolOptions<Order> {
  /**
   * Number of orders that a thread has at a time; 1 by default. With 2, it need not wait for the
   * next one.
   */
  readonly ahead?: number;
  /** Whether threads get orders before they are ready. */
  readonly early?: boolean;
  /** Returns the buffers to transfer with an order; none by default. */
  readonly transfer?: (order: Order) => ArrayBuffer[];
}

/**
 * Threads that carry out orders. They load their code while the caller prepares their task.
 *
 * ```text
 * this thread                    a worker
 *   new Pool ──────────────────▶ loads its module
 *   begin    ──── task ────────▶ open
 *   next     ◀─── ready ──────── │
 *            ──── order ───────▶ take
 *   found    ◀─── found ──────── │
 *            ──── end ─────────▶ totals
 * ```
 *
 * A thread that is not ready when the queue gets empty is not waited for. Disposing of the pool ends its threads.
 */
export class Pool<Task, Order, Found, Totals = undefined> implements Disposable {
  readonly #threads: readonly PoolThread<Order, Totals>[];
  #queue: PoolQueue<Order, Found> | undefined;
  #options: PoolOptions<Order> = {};
  #failure: { readonly error: unknown } | undefined;
  #change = settleable<void>();

  /**
   * Starts threads.
   *
   * @param count Their number.
   * @param start Starts one; its module calls {@linkcode servePool}.
   */
  constructor(count: number, start: () => WorkerThread) {
    this.#threads = Array.from({ length: count }, (_, number) => ({
      number,
      worker: start(),
      orders: [],
      isReady: false,
      hadOrder: false,
      isAskedToEnd: false,
      isEnded: false,
      totals: undefined,
    }));
    for (const thread of this.#threads) {
      const { worker } = thread;
      worker.onmessage = ({ data }: ThreadMessage<PoolAnswer<Found, Totals>>) => {
        try {
          this.#answered(thread, data);
        } catch (error) {
          this.#failure ??= { error };
        }
        this.#changed();
      };
      worker.onerror = (event: ThreadError) => {
        event.preventDefault();
        this.#failure ??= { error: new Error(event.message) };
        this.#changed();
      };
    }
  }

  /** Sends each thread its task, and deals orders from then on. */
  begin(task: Task, queue: PoolQueue<Order, Found>, options: PoolOptions<Order> = {}): void {
    this.#queue = queue;
    this.#options = options;
    for (const thread of this.#threads) {
      thread.worker.postMessage({ task } satisfies PoolMessage<Task, Order>);
      thread.isReady ||= options.early === true;
      this.#deal(thread);
    }
  }

  /**
   * Waits for a turn of the event loop, so that pending messages arrive.
   *
   * @throws {Error} If a thread has failed.
   */
  async turn(): Promise<void> {
    await nextTurn();
    this.deal();
  }

  /**
   * Deals orders to all threads that have room.
   *
   * @throws {Error} If a thread has failed.
   */
  deal(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
    for (const thread of this.#threads) this.#deal(thread);
  }

  /**
   * Waits for the next message of a thread.
   *
   * @throws {Error} If a thread has failed.
   */
  async changed(): Promise<void> {
    this.deal();
    await this.#change.promise;
    this.deal();
  }

  /**
   * Waits until a condition holds; tested now, and after each message of a thread.
   *
   * @param get Returns a value if the condition holds.
   * @throws {Error} If a thread has failed.
   */
  async until<T>(get: () => T | undefined): Promise<T> {
    for (;;) {
      this.deal();
      const value = get();
      if (value !== undefined) return value;
      await this.changed();
    }
  }

  /**
   * Waits until all orders are carried out.
   *
   * @returns The sums of each thread that had an order, by its number.
   * @throws {Error} If a thread has failed.
   */
  async totals(): Promise<ReadonlyMap<number, Totals>> {
    await this.until(() => this.#queue?.isEmpty && this.#threads.every(isDone) || undefined);
    const ended = this.#threads.filter(({ isEnded }) => isEnded);
    return new Map(ended.map(({ number, totals }) => [number, totals as Totals]));
  }

  /** Ends the threads. */
  [Symbol.dispose](): void {
    for (const { worker } of this.#threads) worker.terminate();
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = settleable<void>();
  }

  #answered(thread: PoolThread<Order, Totals>, answer: PoolAnswer<Found, Totals>): void {
    switch (answer.kind) {
      case "error":
        throw new (answer.memory ? OutOfMemory : Error)(answer.message);
      case "note":
        return this.#queue?.noted?.(answer.note, thread.number);
      case "end":
        thread.isEnded = true;
        thread.totals = answer.totals;
        return;
      case "found":
        this.#queue?.found(answer.found, thread.orders.shift() as Order, thread.number);
    }
    thread.isReady = true;
    this.#deal(thread);
  }

  #deal(thread: PoolThread<Order, Totals>): void {
    const queue = this.#queue;
    if (queue === undefined) return;
    const { ahead = 1, transfer } = this.#options;
    const { orders, number, worker } = thread;
    while (thread.isReady && orders.length < ahead) {
      const order = queue.next(number);
      if (order === undefined) break;
      orders.push(order);
      worker.postMessage({ order } satisfies PoolMessage<Task, Order>, {
        transfer: transfer?.(order) ?? [],
      });
      thread.hadOrder = true;
    }
    if (queue.isEmpty && thread.hadOrder && !thread.isAskedToEnd) {
      thread.isAskedToEnd = true;
      worker.postMessage("end" satisfies PoolMessage<Task, Order>);
    }
  }
}

/** State of a thread. */
interface PoolThread<Order, Totals> {
  readonly number: number;
  readonly worker: WorkerThread;
  /** Orders without an answer, in their order. */
  readonly orders: Order[];
  /** Whether the thread may get orders. */
  isReady: boolean;
  hadOrder: boolean;
  isAskedToEnd: boolean;
  isEnded: boolean;
  totals: Totals | undefined;
}

function isDone({ hadOrder, isEnded }: PoolThread<unknown, unknown>): boolean {
  return isEnded || !hadOrder;
}

/** Finds the buffers of all columns in a value, to transfer them to another thread without copying. */
function buffersOf(
  value: unknown,
  found: Set<ArrayBuffer> = new Set(),
): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
  } else if (typeof value === "object" && value !== null && !(value instanceof Map)) {
    for (const member of Object.values(value)) {
      if (typeof member === "object") buffersOf(member, found);
    }
  }
  return found;
}
