import { type PoolScope, servePool } from "@perfdata/session";
import { type PtRange, PtRangeDecoder, type PtRangePart, type PtWhole } from "./pt_ranges.ts";

/** Order to decode a range. */
export interface PtOrder {
  /** Number of the range. */
  readonly number: number;
  /** The range. */
  readonly range: PtRange;
}

/**
 * Serves the threads of `joinRanges` in a worker's module: decodes the ranges that it receives.
 *
 * @param open Opens the recording, with the receiver of its ranges.
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
