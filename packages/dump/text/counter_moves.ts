import { IdMap } from "@perfdata/format/id-map";
import { type ReadLayout, readLayout } from "@perfdata/format/sample-layout";
import type { DumpEvents, EventState } from "../dump_events.ts";

/** Counters whose values are in samples: perf counts a sample once for each counter that changed. */
export class CounterMoves {
  /** The value of each counter at its last sample, by its id. */
  readonly #last = new IdMap<{ hi: number; lo: number }>();
  /** By `read_format`. */
  readonly #layouts = new Map<number, ReadLayout>();

  /**
   * Calls `deliver` for the event of each counter that moved since its last sample.
   *
   * @param recorded The event of the sample, which alone counts if there are no ids.
   * @param read Offset of the values in `view`.
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
    let layout = this.#layouts.get(format);
    if (layout === undefined) this.#layouts.set(format, layout = readLayout(format));
    const { group, head, entry, id: idAt } = layout;
    if (idAt < 0) {
      deliver(recorded);
      return;
    }
    const low = le ? 0 : 4;
    const high = 4 - low;
    const n = group ? view.getUint32(read + low, le) : 1;
    for (let i = 0; i < n; i++) {
      const at = read + head + entry * i;
      const hi = view.getUint32(at + high, le);
      const lo = view.getUint32(at + low, le);
      const idHi = view.getUint32(at + idAt + high, le);
      const idLo = view.getUint32(at + idAt + low, le);
      const event = events.byId(idHi, idLo);
      if (event === undefined) continue;
      let last = this.#last.get(idHi, idLo);
      if (last === undefined) {
        last = { hi: 0, lo: 0 };
        this.#last.set(BigInt(idHi) << 32n | BigInt(idLo), last);
      }
      if (last.hi === hi && last.lo === lo) continue;
      last.hi = hi;
      last.lo = lo;
      deliver(event);
    }
  }
}
