import { type ReadLayout, readLayout } from "@perfdata/format/records";
import { CounterValues, countsPerThread } from "@perfdata/session";
import type { DumpEvents, EventState } from "../dump_events.ts";

/**
 * Counters whose values are in samples. perf counts a sample once for each counter that changed.
 */
export class CounterMoves {
  readonly #last = new CounterValues();
  readonly #layouts = new Map<number, ReadLayout>();

  /**
   * Calls `deliver` for the event of each counter that changed since its last sample.
   *
   * @param recorded The sample's event, the only one if there are no ids.
   * @param read Offset of the values in `view`.
   * @param pid Process of the sample.
   * @param tid Thread of the sample.
   */
  each(
    recorded: EventState,
    events: DumpEvents,
    view: DataView,
    read: number,
    le: boolean,
    pid: number,
    tid: number,
    deliver: (event: EventState) => void,
  ): void {
    const format = recorded.event.readFormat;
    let layout = this.#layouts.get(format);
    if (layout === undefined) this.#layouts.set(format, layout = readLayout(format));
    const { group, head, entry, id: idAt } = layout;
    if (idAt < 0) {
      deliver(recorded);
      return;
    }
    const low = le ? 0 : 4;
    const high = 4 - low;
    const isPerThread = countsPerThread(recorded.event);
    const n = group ? view.getUint32(read + low, le) : 1;
    for (let i = 0; i < n; i++) {
      const at = read + head + entry * i;
      const hi = view.getUint32(at + high, le);
      const lo = view.getUint32(at + low, le);
      const idHi = view.getUint32(at + idAt + high, le);
      const idLo = view.getUint32(at + idAt + low, le);
      const event = events.byId(idHi, idLo);
      if (event === undefined) continue;
      const last = isPerThread
        ? this.#last.ofThread(idHi, idLo, pid, tid)
        : this.#last.of(idHi, idLo);
      if (last.hi === hi && last.lo === lo) continue;
      last.hi = hi;
      last.lo = lo;
      deliver(event);
    }
  }
}
