import { floatAt, intAt } from "@perfdata/format/bytes";
import type { FlowDecoder } from "@perfdata/intel-pt";
import type { AuxStream } from "@perfdata/session/auxtrace";
import type { CallTree } from "../calls/pt_call_tree.ts";
import type { PtTrace } from "../code/pt_trace.ts";
import type { InsnText } from "../decode/pt_block_insns.ts";
import type { PtCounts } from "../decode/pt_counts.ts";
import { decodePt } from "../decode/pt_run.ts";
import type { PtBuffer, PtSink } from "../decode/pt_sink.ts";
import { PtList } from "../lists/pt_list.ts";
import { type KeptSteps, StepRows } from "./step_rows.ts";
import { StepStacks } from "./step_stacks.ts";

/** The thread whose steps are loaded. */
export interface StepThread {
  /** The trace. */
  readonly trace: PtTrace;
  /** The thread. */
  readonly tid: number;
  /** Only these buffers. */
  readonly wants?: ((stream: AuxStream) => boolean) | undefined;
  /** Formats instructions. */
  readonly text?: InsnText | undefined;
  /** Nodes of call sites. */
  readonly tree: CallTree;
}

/** A range of the trace to decode, and the rows of it to keep. */
export interface StepRange extends KeptSteps {
  /** First time in ns; `undefined` for the start of the trace. */
  readonly from: number | undefined;
  /** Last time in ns; `undefined` for the end of the trace. */
  readonly to: number | undefined;
  /** Node of the first kept row, if that is known from another range. */
  readonly node?: number;
}

/** Consecutive steps of a thread. */
export interface LoadedSteps {
  /** The steps. */
  readonly rows: StepRows;
  /** Texts of instructions, by number. */
  readonly texts: readonly string[];
  /** Counts of the decoded range. */
  readonly counts: PtCounts;
}

/** Decodes up to the last row that is kept. */
class StepSink implements PtSink {
  readonly list: PtList;
  readonly #rows: StepRows;
  readonly #stacks: StepStacks;

  constructor({ trace, tid, tree, text }: StepThread, range: StepRange) {
    const { node = -1 } = range;
    const rows = new StepRows(range);
    this.#rows = rows;
    const stacks = this.#stacks = new StepStacks(tid, trace.code, tree, rows);
    rows.began = () => stacks.graft(node);
    this.list = new PtList(trace, {
      ...{ insns: true, breaks: true, text, rows, follower: stacks },
      filter: { tids: new Set([tid]) },
      idle: () => {},
    });
  }

  flow(buffer: PtBuffer, run: FlowDecoder): void {
    this.list.flow(buffer, run);
  }

  forget(): void {
    this.list.forget();
    this.#stacks.forget();
  }

  done(): boolean {
    return this.#rows.isFull;
  }
}

/** Decodes steps of a thread. */
export async function loadSteps(thread: StepThread, range: StepRange): Promise<LoadedSteps> {
  const sink = new StepSink(thread, range);
  const { wants } = thread;
  const { from, to } = range;
  const counts = await decodePt(thread.trace, sink, {
    ...(wants === undefined ? {} : { wants }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  });
  const { rows, texts } = sink.list;
  (rows as StepRows).finish();
  return { rows: rows as StepRows, texts, counts };
}

/** Time in ns of the last instruction of each thread in a range of time. */
export async function lastTimes(
  trace: PtTrace,
  range: Pick<StepRange, "from" | "to">,
  wants?: (stream: AuxStream) => boolean,
): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  const { from, to } = range;
  const { clock } = trace;
  // The last time in each buffer, and the thread that has run since.
  const times: number[] = [];
  const running: (number | undefined)[] = [];
  const ran = (tid: number, time: number) => {
    if (time <= (to ?? Infinity)) found.set(tid, Math.max(time, found.get(tid) ?? -1));
  };
  await decodePt(trace, {
    flow({ tid, index }, { entries, count, time }) {
      for (let i = 0; i < count; i++) {
        const entry = intAt(entries, i);
        if (entry >= 0) {
          ran(tid, times[index] ?? -1);
          running[index] = tid;
          continue;
        }
        const now = times[index] = Math.max(times[index] ?? -1, clock.ns(floatAt(time, ~entry)));
        // It ran up to this event.
        if (running[index] !== undefined) ran(running[index], now);
        running[index] = undefined;
      }
    },
  }, {
    ...(wants === undefined ? {} : { wants }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  });
  return found;
}
