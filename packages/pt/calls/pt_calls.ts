import { type FlowDecoder, FlowEvent } from "@perfdata/intel-pt";
import { CallBlocks } from "./pt_call_blocks.ts";
import { CallEvents } from "./pt_call_events.ts";
import { CallLog, type CallRows, PLACE_ROWS } from "./pt_call_log.ts";
import { CALL_OP, CallOps, OwnSums } from "./pt_call_ops.ts";
import { CallStack, PENDING } from "./pt_call_stack.ts";
import { type CallOutputs, CallTracker } from "./pt_call_tracker.ts";
import { CallTimeline, CallTree } from "./pt_call_tree.ts";
import { type CallPart, type JoinedCalls, PartJoiner } from "./pt_joined_calls.ts";
import { LatencyTable } from "./pt_latency.ts";
import { OpenPaths } from "./pt_open_paths.ts";
import { grained, PlaceSums } from "./pt_place_sums.ts";
import type { PtTrace } from "../code/pt_trace.ts";
import type { PtClock } from "../decode/pt_clock.ts";
import type { PtBuffer, PtPartSink } from "../decode/pt_sink.ts";

/** Filter for a part of a trace. */
export interface CallFilter {
  /** Threads; all by default. */
  readonly tids?: ReadonlySet<number> | undefined;
  /** First time in ns. */
  readonly from?: number;
  /** Last time in ns. */
  readonly to?: number;
}

/** Options of {@linkcode PtCalls}. */
export interface CallOptions {
  /** Filter for a part of the trace. */
  readonly filter?: CallFilter;
  /**
   * Called between packets. With it, there are `events`, which the function has to use and clear,
   * and no sums: those of places, {@linkcode PtCalls.latency} and the tree stay empty.
   */
  readonly idle?: () => Promise<void> | void;
  /** Rows of {@linkcode PtCalls.latency}; a row per place by default. */
  readonly rows?: CallRows;
  /** Whether to fill {@linkcode PtCalls.tree}. */
  readonly tree?: boolean;
  /** Whether to fill {@linkcode PtCalls.timeline}, which grows with the calls. */
  readonly timeline?: boolean;
  /** Whether to fill `events` even without `idle`, instead of sums. They are in the parts. */
  readonly events?: boolean;
  /** Whether this is a worker for a range of a buffer; see {@linkcode PtCalls.takePart}. */
  readonly part?: boolean;
}

/**
 * Calls and returns of each thread with their times, and instructions and time of each place.
 *
 * A call is a near CALL; if the kernel is traced, also a system call or an interrupt. A signal handler
 * counts as a call if the kernel is left to another address than it was entered from. A jump to another
 * function (tail call) counts for the function that was called.
 */
export class PtCalls implements PtPartSink<CallPart> {
  /** Calls and returns since the last clearing, if requested. If so, there are no sums. */
  readonly events: CallEvents | undefined;
  /** The values of PTWRITE: `events`, or rows of their own beside a timeline. */
  readonly writes: CallEvents | undefined;
  /** Executed code by stack, if requested. */
  readonly tree: CallTree | undefined;
  /** The innermost node over time, if requested. */
  readonly timeline: CallTimeline | undefined;
  /** Durations of all calls, by row: see {@linkcode CallOptions.rows}. */
  readonly latency: LatencyTable = new LatencyTable();
  /** Instructions, time and core clocks by place, and in total. */
  readonly sums: PlaceSums = new PlaceSums();

  readonly #clock: PtClock;
  readonly #filter: CallFilter;
  readonly #idle: CallOptions["idle"];
  readonly #rows: CallRows;
  readonly #blocks: CallBlocks;
  readonly #log: CallLog;
  readonly #out: CallOutputs;
  readonly #tracker: CallTracker;
  readonly #stacks = new Map<number, CallStack>();
  readonly #open = new Map<number, OpenPaths>();
  /**
   * Operations for the joining thread, which knows the earlier calls; only with several threads.
   */
  readonly #ops: CallOps | undefined;
  readonly #own: OwnSums | undefined;
  /** The thread that the operations are about. */
  #current: CallStack | undefined;
  /** Whether a guest ran since the last part. */
  #hasGuest = false;

  /** Creates a sink for `decodePt`. */
  constructor({ code, clock }: Pick<PtTrace, "code" | "clock">, options: CallOptions = {}) {
    const { filter = {}, idle, rows = PLACE_ROWS, part } = options;
    this.#clock = clock;
    this.#filter = filter;
    this.#idle = idle;
    this.#rows = rows;
    this.tree = options.tree === true ? new CallTree() : undefined;
    this.timeline = options.timeline === true ? new CallTimeline() : undefined;
    this.events = options.events === true || idle !== undefined ? new CallEvents() : undefined;
    this.writes = this.events ?? (options.timeline === true ? new CallEvents() : undefined);
    if (part === true) {
      this.#ops = new CallOps(this.events);
      this.#own = new OwnSums();
    }
    const { latency, events } = this;
    const { from = -Infinity, to = Infinity } = filter;
    this.#blocks = new CallBlocks(code);
    this.#log = new CallLog({ rows, latency, from, to, own: this.#own });
    const { tree, timeline, writes } = this;
    this.#out = {
      blocks: this.#blocks,
      log: this.#log,
      latency,
      events,
      writes,
      tree,
      timeline,
      ops: this.#ops,
    };
    this.#tracker = new CallTracker(this.#out);
  }

  /**
   * 1 for each executed place, if parts are made or joined. Other places may come from code that
   * was decoded twice.
   */
  get met(): Uint8Array {
    return this.#blocks.met;
  }

  /** Calls `idle` of the options, or counts the calls. */
  async idle(): Promise<void> {
    await this.#idle?.();
    if (this.events !== undefined) return;
    await this.#rows.resolve();
    this.#log.settle();
  }

  /** Clears everything by index of a block or path. */
  forget(): void {
    for (const open of this.#open.values()) if (open.isWaiting) open.forget(this.#blocks);
    this.#blocks.forget();
  }

  /** Handles the next thread of a buffer, whose time begins now. */
  thread(buffer: PtBuffer): void {
    this.#hasGuest ||= buffer.code.isGuest;
    const open = this.#openPaths(buffer.index);
    this.#fold(open, 0, 0);
    open.time = buffer.position < 0 ? -1 : buffer.position;
    open.cycles = buffer.cycles;
    const { stack } = open;
    if (stack !== undefined && stack.tid !== buffer.tid) {
      this.#tracker.since(stack, open.time);
      stack.nodeSince = -1;
    }
    // The thread may run on another CPU from here on.
    open.stack = undefined;
  }

  /** Counts paths and events. */
  flow(buffer: PtBuffer, run: FlowDecoder): void {
    const { tids, from = -Infinity, to = Infinity } = this.#filter;
    if (tids !== undefined && !tids.has(buffer.tid)) return;
    const { entries, count, paths, blocks } = run;
    const known = this.#blocks;
    known.use(blocks, paths);
    const stack = this.#stack(buffer);
    const open = this.#openPaths(buffer.index);
    open.room(paths.count);
    this.#runsOn(stack, open);
    const tracker = this.#tracker;
    tracker.enter(buffer, stack);
    const isSummed = this.events === undefined;
    let now = open.time;
    if (stack.nodeSince < 0) stack.nodeSince = now;
    let counts = now < 0 || (now >= from && now <= to);
    tracker.at(now, counts);
    for (let i = 0; i < count; i++) {
      const path = entries[i] as number;
      if (path < 0) {
        const event = ~path;
        const time = this.#clock.ns(run.time[event] as number);
        const cycles = run.cycles[event] as number;
        // Without times, cycles tell whether time has passed.
        if (time >= 0 ? time !== now : cycles !== open.cycles) {
          const passed = now < 0 ? 0 : Math.max(0, Math.min(time, to) - Math.max(now, from));
          const share = time > now && now >= 0 ? passed / (time - now) : 1;
          this.#pass(stack, open, cycles, passed, share);
          if (time >= 0) open.time = now = time;
          counts = now >= from && now <= to;
          tracker.at(now, counts);
        }
        this.#event(open, run, event);
        continue;
      }
      const hasCalls = known.hasCalls(buffer.code, path);
      if (counts && isSummed) open.add(path);
      const first = paths.start[path] as number;
      if (stack.pending !== PENDING.NONE) tracker.goOnAt(paths.blocks[first] as number);
      if (stack.base < 0) tracker.beginAt(paths.blocks[first] as number);
      if (!hasCalls) {
        stack.insns += paths.insns[path] as number;
        continue;
      }
      const end = paths.start[path + 1] as number;
      for (let k = first; k < end; k++) {
        const block = paths.blocks[k] as number;
        if (k > first && stack.pending !== PENDING.NONE) tracker.goOnAt(block);
        stack.insns += blocks.insns[block] as number;
        tracker.pend(block);
      }
    }
  }

  /** Ends the open calls at the end of the trace. */
  finish(): void {
    const { from = -Infinity, to = Infinity } = this.#filter;
    const now = Math.max(-1, ...[...this.#open.values()].map(({ time }) => time));
    this.#tracker.at(now, now < 0 || (now >= from && now <= to));
    // Sorted by thread, because several threads may decode in another order.
    for (const [, stack] of [...this.#stacks].sort(([a], [b]) => a - b)) {
      this.#tracker.finish(stack);
    }
    for (const open of this.#open.values()) this.#fold(open, 0, 0);
    this.#log.settle();
  }

  /**
   * The calls of the running thread. The idle task and an unknown thread are separate on each CPU.
   */
  #stack({ tid, index }: PtBuffer): CallStack {
    const key = tid > 0 ? tid : -1 - 2 * index - (tid < 0 ? 1 : 0);
    let stack = this.#stacks.get(key);
    if (stack === undefined) {
      this.#stacks.set(key, stack = new CallStack(tid, this.#log.thread(tid)));
    }
    return stack;
  }

  #openPaths(index: number): OpenPaths {
    let open = this.#open.get(index);
    if (open === undefined) this.#open.set(index, open = new OpenPaths());
    return open;
  }

  /** Sets the buffer on whose CPU a thread runs. */
  #runsOn(stack: CallStack, open: OpenPaths): void {
    const before = stack.open;
    open.stack = stack;
    if (before === open) return;
    if (before?.stack === stack) {
      this.#tracker.note(stack);
      before.stack = undefined;
    }
    stack.open = open;
  }

  /** Adds a passed time, and cycles, a share of which is inside of the time filter. */
  #pass(stack: CallStack, open: OpenPaths, cycles: number, time: number, share: number): void {
    const passed = open.isOn ? grained(share * (cycles - open.cycles)) : 0;
    open.cycles = cycles;
    stack.cycles += passed;
    this.#fold(open, time, passed);
  }

  /**
   * Counts the paths since the last time, and divides time and cycles among them by their
   * instructions.
   */
  #fold(open: OpenPaths, time: number, cycles: number): void {
    if (this.tree !== undefined && open.stack !== undefined) this.#tracker.note(open.stack);
    open.fold(time, cycles, this.#blocks, this.sums, this.tree);
  }

  #event(open: OpenPaths, run: FlowDecoder, event: number): void {
    const tracker = this.#tracker;
    const low = run.ipLow[event] as number;
    const high = run.ipHigh[event] as number;
    switch (run.kind[event]) {
      case FlowEvent.DISABLED:
        // Time outside of the traced code belongs to no place.
        this.#fold(open, 0, 0);
        open.isOn = false;
        if (((run.detail[event] as number) & 2) !== 0) tracker.leaveAt(low, high);
        else tracker.leave();
        break;
      case FlowEvent.ENABLED:
      case FlowEvent.SYNC:
        // Cycles count from here on.
        open.isOn = true;
        open.cycles = run.cycles[event] as number;
        if (run.kind[event] === FlowEvent.ENABLED) tracker.resume(low, high);
        break;
      case FlowEvent.ASYNC:
        tracker.interrupt(low, high, run.low[event] as number, run.high[event] as number);
        break;
      case FlowEvent.PTWRITE: {
        // Without its own address, it is in the code that runs.
        const [atLow, atHigh] = low === 0 && high === 0
          ? [run.hereLow[event] as number, run.hereHigh[event] as number]
          : [low, high];
        tracker.write(atLow, atHigh, run.low[event] as number, run.high[event] as number);
        break;
      }
      case FlowEvent.ERROR:
        tracker.lose();
    }
  }

  /** In a worker: begins a step, because the code before may be in other buffers. */
  step(buffer: PtBuffer): void {
    const ops = this.#ops;
    if (ops === undefined) return;
    if (this.#current !== undefined) this.#tracker.leaveToOthers(ops, this.#current);
    const stack = this.#current = this.#stack(buffer);
    this.#tracker.restart(stack);
    ops.add(CALL_OP.STEP, stack, buffer.tid, 0, 0, buffer.position);
  }

  /** See `PtPartSink`; `undefined` if executed code still waits for its time. */
  stateOf(buffer: PtBuffer): number[] | undefined {
    const open = this.#openPaths(buffer.index);
    // Without times and cycles, no code waits.
    if (!this.#clock.known && buffer.cycles === 0) this.#fold(open, 0, 0);
    if (open.isWaiting) return undefined;
    return [open.time, Number(open.isOn), buffer.cycles - open.cycles];
  }

  /** The last time of a buffer in ns. */
  timeOfBuffer(index: number): number {
    return this.#openPaths(index).time;
  }

  /** Begins a range of a buffer, without any earlier state. */
  beginBuffer(index: number): void {
    this.#open.delete(index);
    this.#current = undefined;
    this.tree?.take();
    this.events?.clear();
  }

  /**
   * In a worker: returns the results since the last call.
   *
   * @param isEnd Whether it is the last part.
   */
  async takePart(buffer: PtBuffer, isEnd = false): Promise<CallPart> {
    const ops = this.#ops as CallOps;
    const open = this.#openPaths(buffer.index);
    if (isEnd) this.#fold(open, 0, 0);
    if (this.#current !== undefined) this.#tracker.leaveToOthers(ops, this.#current);
    await this.idle();
    const { insns, time } = this.sums;
    const rows: number[] = [];
    const count = this.events === undefined ? this.#blocks.places : 0;
    for (let place = 0, seen = new Set<number>(); place < count; place++) {
      const row = this.#rows.of(place) ?? -1;
      if (row >= 0 && !seen.has(row)) {
        seen.add(row);
        rows.push(row, place);
      }
    }
    const part = {
      places: this.sums.take(),
      // Nodes that still wait for their time belong to this part.
      tree: open.hasNodes ? undefined : this.tree?.take(),
      events: this.events?.take(),
      met: this.#blocks.takeMet(),
      latency: this.latency.take(),
      rows: Float64Array.from(rows),
      own: (this.#own as OwnSums).take(),
      ops: ops.take(),
      hasGuest: this.#hasGuest,
      insns,
      time,
    };
    this.#hasGuest = buffer.code.isGuest;
    open.stack = undefined;
    // The running thread continues, without its earlier calls.
    this.#current = this.#stack(buffer);
    this.#tracker.restart(this.#current);
    return part;
  }

  /**
   * Adds the sums of a part. Its operations are still to be applied.
   *
   * @param placeOf Places here, by places of the part.
   * @param roots Receives the nodes of the tree at which the part's operations begin.
   */
  join(part: CallPart, placeOf: Int32Array, roots: Map<number, number>): JoinedCalls {
    const { sums } = this;
    sums.room(this.#out.blocks.places);
    sums.join(part.places, placeOf);
    sums.insns += part.insns;
    sums.time += part.time;
    for (const place of part.met) this.#out.blocks.meet(placeOf[place] as number);
    const rowOf = new Map<number, number>();
    for (let i = 0; i < part.rows.length; i += 2) {
      const place = placeOf[part.rows[i + 1] as number] as number;
      rowOf.set(part.rows[i] as number, this.#rows.of(place) as number);
    }
    this.latency.join(part.latency, (row) => rowOf.get(row) as number);
    const { tids } = this.#filter;
    const stackOf = (buffer: PtBuffer): CallStack | undefined =>
      tids?.has(buffer.tid) === false ? undefined : this.#stack(buffer);
    const to = { out: this.#out, tracker: this.#tracker, stackOf };
    return new PartJoiner(to, part, { placeOf, rowOf, roots });
  }

  /** Whether all sums are exact, so that they do not depend on the order of addition. */
  get isExact(): boolean {
    return this.sums.isExact && this.tree?.isExact !== false;
  }

  /** Sets the end time of a buffer's trace in ns. */
  endBuffer(index: number, time: number): void {
    this.#openPaths(index).time = time;
  }
}
