import { createContext, useContext, useEffect, useRef, useState } from "./preact.ts";

/** Number of times that a recording grew: queries are sent again. */
export const Generation: ReturnType<typeof createContext<number>> = createContext(0);

/** Returns the number of times that the recording grew. */
export function useGeneration(): number {
  return useContext(Generation);
}

/** An answer. Until it arrives, the previous one is shown. */
export interface Answer<T> {
  readonly value: T | undefined;
  readonly error: string | undefined;
  /** The query that `value` answers. */
  readonly key: string | undefined;
}

/**
 * Sends a query whenever it or the recording changes: one at a time, and only the last one of those that arrive
 * meanwhile.
 *
 * @param key The query; `undefined` sends none.
 */
export function useQuery<T>(key: string | undefined, ask: () => Promise<T>): Answer<T> {
  const generation = useGeneration();
  const [answer, setAnswer] = useState<Answer<T>>({
    value: undefined,
    error: undefined,
    key: undefined,
  });
  const run = useRef<{ busy: boolean; next: (() => void) | undefined; isGone: boolean }>(
    { busy: false, next: undefined, isGone: false },
  );
  useEffect(() => {
    const state = run.current;
    state.isGone = false;
    return () => {
      state.isGone = true;
    };
  }, []);
  useEffect(() => {
    if (key === undefined) return;
    const state = run.current;
    const start = () => {
      state.busy = true;
      state.next = undefined;
      ask().then(
        (value) => state.isGone || setAnswer({ value, error: undefined, key }),
        (error: Error) =>
          state.isGone ||
          setAnswer((before) => ({ value: before.value, error: error.message, key })),
      ).finally(() => {
        state.busy = false;
        state.next?.();
      });
    };
    if (state.busy) state.next = start;
    else start();
  }, [key, generation]);
  return answer;
}
