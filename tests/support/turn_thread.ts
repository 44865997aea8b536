/** Threads of tests. */
import { PtRangeDecoder, type PtWhole } from "@perfdata/pt/parallel";
import type { WorkerThread } from "@perfdata/session/engine";

/** A thread that takes turns with this one; what is sent is copied as between threads. */
export function turnThread(open: () => Promise<PtWhole<unknown>>): WorkerThread {
  let last: Promise<unknown> = Promise.resolve();
  let decoder: PtRangeDecoder<unknown> | undefined;
  const thread: WorkerThread = {
    onmessage: null,
    onerror: null,
    terminate: () => {},
    postMessage(message) {
      const data = structuredClone(message) as { number?: number; range?: never };
      last = last.then(async () => {
        const answer = (sent: unknown) =>
          thread.onmessage?.({ data: structuredClone(sent) } as never);
        if (data.range === undefined) {
          decoder = new PtRangeDecoder(await open());
          return answer({ kind: "ready" });
        }
        const part = await (decoder as PtRangeDecoder<unknown>).decode(data.range);
        part.places = decoder?.takePlaces();
        answer({ kind: "part", number: data.number, part });
      });
    },
  };
  return thread;
}
