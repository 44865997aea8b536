/** Cleans up before a signal ends the process. */

const SIGNALS: readonly (readonly [Deno.Signal, number])[] = Deno.build.os === "windows"
  ? [["SIGINT", 2]]
  : [["SIGINT", 2], ["SIGTERM", 15], ["SIGHUP", 1]];

const actions: (() => void)[] = [];

/** How long threads that were told to end may still do what they had begun, in milliseconds. */
const LAST_MOMENT = 20;

function putInOrder(): void {
  // What began last is put in order first.
  for (const action of actions.toReversed()) action();
}

const LISTENERS = SIGNALS.map(([signal, number]) =>
  [signal, () => {
    putInOrder();
    // Files that have no name yet are removed by a listener of their own; and a thread may have begun one.
    setTimeout(() => {
      putInOrder();
      Deno.exit(128 + number);
    }, LAST_MOMENT);
  }] as const
);

/** Does something before a signal ends the process, twice at least, until this is disposed of. */
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
