/** Runs cleanup functions before a signal ends the process. */

const SIGNALS: readonly (readonly [Deno.Signal, number])[] = Deno.build.os === "windows"
  ? [["SIGINT", 2]]
  : [["SIGINT", 2], ["SIGTERM", 15], ["SIGHUP", 1]];

const actions: (() => void)[] = [];

/** Milliseconds that worker threads get to finish their current step. */
const LAST_MOMENT = 20;

function putInOrder(): void {
  // Run in reverse order of registration.
  for (const action of actions.toReversed()) action();
}

const LISTENERS = SIGNALS.map(([signal, number]) =>
  [signal, () => {
    putInOrder();
    // Listeners of their own remove files that were not committed. A worker may also have created a
    // file meanwhile, so clean up twice.
    setTimeout(() => {
      putInOrder();
      Deno.exit(128 + number);
    }, LAST_MOMENT);
  }] as const
);

/**
 * Runs a function before a signal ends the process, twice at least. Disposing the result
 * unregisters it.
 */
export function onSignals(action: () => void): Disposable {
  if (actions.length === 0) {
    for (const [signal, listener] of LISTENERS) Deno.addSignalListener(signal, listener);
  }
  actions.push(action);
  return {
    [Symbol.dispose](): void {
      actions.splice(actions.indexOf(action), 1);
      if (actions.length > 0) return;
      for (const [signal, listener] of LISTENERS) Deno.removeSignalListener(signal, listener);
    },
  };
}
