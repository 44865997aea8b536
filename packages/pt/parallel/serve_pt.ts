import { type PoolScope, servePool } from "@perfdata/session";
import { type PtRange, PtRangeDecoder, type PtRangePart, type PtWhole } from "./pt_ranges.ts";

/** A range that a thread is to decode. */
export interface PtOrder {
  /** Its number. */
  readonly number: number;
  /** The range. */
  readonly range: PtRange;
}

/**
 * Serves the threads of `joinRanges` in a worker's module: decodes ranges of a recording as they are dealt out.
 *
 * @param open Opens the recording, with what it is to be decoded with.
 */
export function servePt<About>(
  open: (about: About) => Promise<PtWhole<unknown>>,
  scope?: PoolScope<About, PtOrder, PtRangePart<unknown>, undefined>,
): void {
  servePool(async (about: About) => {
    const decoder = new PtRangeDecoder(await open(about));
    const take = async ({ range }: PtOrder): Promise<PtRangePart<unknown>> => {
      const part = await decoder.decode(range);
      part.places = decoder.takePlaces();
      return part;
    };
    return { take };
  }, scope);
}
