import type { Consumer } from "../engine/engine_consumer.ts";
import type { Shareable } from "./part.ts";

/** The part of a `MessageEvent` that is read. Types of the DOM are not available in every runtime. */
export interface ThreadMessage<T> {
  /** The message. */
  readonly data: T;
}

/** The part of an `ErrorEvent` that is read. */
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
  /** Sends a message, and hands over the memory in it that is named. */
  postMessage(message: unknown, options?: { readonly transfer?: ArrayBuffer[] }): void;
  /** Gets messages. */
  onmessage: ((event: never) => void) | null;
  /** Gets errors that nobody caught. */
  onerror: ((event: never) => void) | null;
  /** Ends it. */
  terminate(): void;
}

/** Threads that take samples side by side: see `session/workers`. */
export interface Workers {
  /** How many threads, this one included. */
  readonly jobs: number;
  /** The recording: each thread opens it for itself. */
  readonly path: string;
  /** Starts another thread: a module that calls `serveBlocks` with the same maker. */
  readonly start: () => WorkerThread;
  /** What the maker is given: what can be sent to another thread. */
  readonly about: unknown;
  /** Nodes of stacks that another thread keeps from one stretch of the file to the next, about. */
  readonly keptNodes?: number | undefined;
  /** Makes a consumer like that of the pass. */
  readonly make: (about: never) => Shareable & Consumer;
}
