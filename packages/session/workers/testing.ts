/** Test support: worker threads within the thread of the test. */
import type { WorkerThread } from "./thread.ts";
import type { PoolScope } from "./pool.ts";

/**
 * A worker within this thread. Messages are cloned or transferred, and arrive in a later turn, as
 * with a `Worker`.
 *
 * @param serve The worker's module, as a function of its global scope.
 */
export function threadWithin<Task, Order, Found, Totals>(
  serve: (scope: PoolScope<Task, Order, Found, Totals>) => void,
): WorkerThread {
  const { port1, port2 } = new MessageChannel();
  const scope: PoolScope<Task, Order, Found, Totals> = {
    onmessage: null,
    postMessage: (message, transfer = []) => port2.postMessage(message, transfer),
  };
  const thread: WorkerThread = {
    postMessage: (message, { transfer = [] } = {}) => port1.postMessage(message, transfer),
    onmessage: null,
    onerror: null,
    terminate: () => port1.close(),
  };
  port2.onmessage = (event) => scope.onmessage?.(event);
  port1.onmessage = (event) => thread.onmessage?.(event as never);
  serve(scope);
  return thread;
}
