import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
} from "@perfdata/format";
import type { DumpEvents, EventState } from "./dump_events.ts";

/** The counters of samples that hold their values: perf counts a sample once for each that moved. */
export class CounterMoves {
  /** The value of each counter at its last sample, by its id. */
  readonly #last = new Map<number, { hi: number; lo: number }>();

  /**
   * Calls `deliver` for the event of each counter that moved since its last sample.
   *
   * @param recorded The event that the sample is of: it is all that counts where there are no ids.
   * @param read Where the values are in `view`.
   */
  each(
    recorded: EventState,
    events: DumpEvents,
    view: DataView,
    read: number,
    le: boolean,
    deliver: (event: EventState) => void,
  ): void {
    const format = recorded.event.readFormat;
    if (!(format & PERF_FORMAT_ID)) {
      deliver(recorded);
      return;
    }
    const low = le ? 0 : 4;
    const high = 4 - low;
    const group = (format & PERF_FORMAT_GROUP) !== 0;
    const n = group ? view.getUint32(read + low, le) : 1;
    let at = read + 8;
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) at += 8;
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) at += 8;
    for (let i = 0; i < n; i++) {
      const value = group ? at : read;
      if (group) at += 8;
      const hi = view.getUint32(value + high, le);
      const lo = view.getUint32(value + low, le);
      const id = view.getUint32(at + high, le) * 2 ** 32 + view.getUint32(at + low, le);
      at += format & PERF_FORMAT_LOST ? 16 : 8;
      const event = events.byId(id);
      if (event === undefined) continue;
      const last = this.#last.get(id);
      if ((last?.hi ?? 0) === hi && (last?.lo ?? 0) === lo) continue;
      this.#last.set(id, { hi, lo });
      deliver(event);
    }
  }
}
