import { OutOfMemory } from "@perfdata/format/memory";
import { buffersOf } from "@perfdata/session/workers";
import { type PtRange, PtRangeDecoder, type PtRangePart, type PtWhole } from "./pt_ranges.ts";

/** Messages to a worker: first what to decode, then ranges. */
export type PtTask = { readonly about: unknown } | {
  readonly number: number;
  readonly range: PtRange;
};

/** Its answers. */
export type PtAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "part"; readonly number: number; readonly part: PtRangePart<unknown> }
  | { readonly kind: "error"; readonly message: string; readonly memory: boolean };

/**
 * Called by a worker's module: decodes ranges of a recording as they are assigned.
 *
 * @param open Opens the recording, with what it is to be decoded with.
 */
export function servePt<About>(open: (about: About) => Promise<PtWhole<unknown>>): void {
  const scope = globalThis as unknown as {
    onmessage: ((event: { data: PtTask }) => void) | null;
    postMessage(message: PtAnswer, transfer?: ArrayBuffer[]): void;
  };
  let decoder: Promise<PtRangeDecoder<unknown>> | undefined;
  // One range after the other, in the order in which they were dealt out.
  let last: Promise<void> = Promise.resolve();
  const fail = (error: unknown) =>
    scope.postMessage({
      kind: "error",
      message: error instanceof Error ? error.message : String(error),
      memory: error instanceof OutOfMemory,
    });
  const take = async (number: number, range: PtRange): Promise<void> => {
    const own = await decoder as PtRangeDecoder<unknown>;
    const part = await own.decode(range);
    part.places = own.takePlaces();
    scope.postMessage({ kind: "part", number, part }, [...buffersOf(part)]);
  };
  scope.onmessage = ({ data }) => {
    if ("range" in data) last = last.then(() => take(data.number, data.range)).catch(fail);
    else {
      decoder = open(data.about as About).then((whole) => new PtRangeDecoder(whole));
      decoder.then(() => scope.postMessage({ kind: "ready" }), fail);
    }
  };
}
