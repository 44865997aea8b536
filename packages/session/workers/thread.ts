import type { Consumer } from "../engine/engine_consumer.ts";
import type { Shareable } from "./part.ts";

/** The needed part of a `MessageEvent`. Types of the DOM are not available in every runtime. */
export interface ThreadMessage<T> {
  /** The message. */
  readonly data: T;
}

/** The needed part of an `ErrorEvent`. */
export interface ThreadError {
  /** Message of the error. */
  readonly message: string;
  /** Prevents the runtime from reporting the error, too. */
  preventDefault(): void;
}

/**
 * The needed part of a `Worker`, in any runtime. Handlers receive a {@linkcode ThreadMessage} or a
 * {@linkcode ThreadError}; their parameter is `never` so that a `Worker` of any runtime fits.
 */
export interface WorkerThread {
  /** Sends a message, and transfers the listed buffers. */
  postMessage(message: unknown, options?: { readonly transfer?: ArrayBuffer[] }): void;
  /** Receives messages. */
  onmessage: ((event: never) => void) | null;
  /** Receives uncaught errors. */
  onerror: ((event: never) => void) | null;
  /** Ends the thread. */
  terminate(): void;
}

/** Threads that read samples in parallel: see `session/workers`. */
export interface Workers {
  /** Number of threads, including this one. */
  readonly jobs: number;
  /** Path of the recording, which each thread opens. */
  readonly path: string;
  /** Starts another thread: a module that calls `serveBlocks` with the same maker. */
  readonly start: () => WorkerThread;
  /** Argument of the maker, for sending to other threads. */
  readonly about: unknown;
  /** Approximate number of stack nodes that another thread keeps from one stretch to the next. */
  readonly keptNodes?: number | undefined;
  /** Creates a consumer like that of the pass. */
  readonly make: (about: never) => Shareable & Consumer;
}
