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

/** Selects the part of a trace that counts. */
export interface CallFilter {
  /** Only these threads. */
  readonly tids?: ReadonlySet<number> | undefined;
  /** Only from this time on, ns. */
  readonly from?: number;
  /** Only up to this time, ns. */
  readonly to?: number;
}

/** Options of {@linkcode PtCalls}. */
export interface CallOptions {
  /** Which part counts. */
  readonly filter?: CallFilter;
  /**
   * Called between packets: there are `events`, to be used and cleared then, in place of sums: those of places,
   * {@linkcode PtCalls.latency} and the tree stay empty.
   */
  readonly idle?: () => Promise<void> | void;
  /** Key for counting {@linkcode PtCalls.latency}; by place otherwise. */
  readonly rows?: CallRows;
  /** Whether to fill {@linkcode PtCalls.tree}. */
  readonly tree?: boolean;
  /** Whether to fill {@linkcode PtCalls.timeline}, which grows with the calls. */
  readonly timeline?: boolean;
  /** Whether there are `events` in place of sums without `idle`, too: they are taken with parts. */
  readonly events?: boolean;
  /** Whether others have what comes before; see {@linkcode PtCalls.takePart}. */
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
  /** Calls and returns since the last clearing, if requested; then there are no sums. */
  readonly events: CallEvents | undefined;
  /** Executed code by stack, if requested. */
  readonly tree: CallTree | undefined;
  /** The innermost node over time, if requested. */
  readonly timeline: CallTimeline | undefined;
  /** Durations of all calls, by row: see {@linkcode CallOptions.rows}. */
  readonly latency: LatencyTable = new LatencyTable();
  /** Instructions, time and core clocks by place, and in all. */
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
  /** Operations for the joining thread, which knows what came before; only with several threads. */
  readonly #ops: CallOps | undefined;
  readonly #own: OwnSums | undefined;
  /** The thread of the operations. */
  #current: CallStack | undefined;
  /** Whether a guest ran since a part was handed out. */
  #hasGuest = false;

  /** Makes a sink for `decodePt`. */
  constructor({ code, clock }: Pick<PtTrace, "code" | "clock">, options: CallOptions = {}) {
    const { filter = {}, idle, rows = PLACE_ROWS, part } = options;
    this.#clock = clock;
    this.#filter = filter;
    this.#idle = idle;
    this.#rows = rows;
    this.tree = options.tree === true ? new CallTree() : undefined;
    this.timeline = options.timeline === true ? new CallTimeline() : undefined;
    this.events = options.events === true || idle !== undefined ? new CallEvents() : undefined;
    if (part === true) {
      this.#ops = new CallOps(this.events);
      this.#own = new OwnSums();
    }
    const { latency, events } = this;
    const { from = -Infinity, to = Infinity } = filter;
    this.#blocks = new CallBlocks(code);
    this.#log = new CallLog({ rows, latency, from, to, own: this.#own });
    const { tree, timeline } = this;
    this.#out = {
      blocks: this.#blocks,
      log: this.#log,
      latency,
      events,
      tree,
      timeline,
      ops: this.#ops,
    };
    this.#tracker = new CallTracker(this.#out);
  }

  /** 1 for each place that was met, where parts are made or joined: others may be of what was decoded twice. */
  get met(): Uint8Array {
    return this.#blocks.met;
  }

  /** Lets the caller use the events, or counts the calls. */
  async idle(): Promise<void> {
    await this.#idle?.();
    if (this.events !== undefined) return;
    await this.#rows.resolve();
    this.#log.settle();
  }

  /** Gives up what is kept by block and path. */
  forget(): void {
    for (const open of this.#open.values()) if (open.isWaiting) open.forget(this.#blocks);
    this.#blocks.forget();
  }

  /** Another thread: its time begins now. */
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
    // It may run on another CPU from here on.
    open.stack = undefined;
  }

  /** Takes paths and events. */
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
        // Without times, cycles alone say when.
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

  /** Ends what is open when the trace ends. */
  finish(): void {
    const { from = -Infinity, to = Infinity } = this.#filter;
    const now = Math.max(-1, ...[...this.#open.values()].map(({ time }) => time));
    this.#tracker.at(now, now < 0 || (now >= from && now <= to));
    // By thread: the order in which they were met first is another one where several threads decode.
    for (const [, stack] of [...this.#stacks].sort(([a], [b]) => a - b)) {
      this.#tracker.finish(stack);
    }
    for (const open of this.#open.values()) this.#fold(open, 0, 0);
    this.#log.settle();
  }

  /** The calls of the thread that runs. Each CPU has its own idle task, and who is not known stays there. */
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

  /** A thread runs on a buffer's CPU, and no longer on another. */
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

  /** Time has passed, and cycles, of which a share is in the part that counts. */
  #pass(stack: CallStack, open: OpenPaths, cycles: number, time: number, share: number): void {
    const passed = open.isOn ? grained(share * (cycles - open.cycles)) : 0;
    open.cycles = cycles;
    stack.cycles += passed;
    this.#fold(open, time, passed);
  }

  /** Counts the paths since the last time, and divides time and cycles among them by their instructions. */
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
        // Time that is spent elsewhere belongs to nothing here.
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
      case FlowEvent.ERROR:
        tracker.lose();
    }
  }

  /** Where others have what comes before: what follows may come after what they have of other buffers. */
  step(buffer: PtBuffer): void {
    const ops = this.#ops;
    if (ops === undefined) return;
    if (this.#current !== undefined) this.#tracker.leaveToOthers(ops, this.#current);
    const stack = this.#current = this.#stack(buffer);
    this.#tracker.restart(stack);
    ops.add(CALL_OP.STEP, stack, buffer.tid, 0, 0, buffer.position);
  }

  /** See `PtPartSink`; `undefined` where what was executed still waits for its time. */
  stateOf(buffer: PtBuffer): number[] | undefined {
    const open = this.#openPaths(buffer.index);
    // Without times and cycles there is nothing to wait for.
    if (!this.#clock.known && buffer.cycles === 0) this.#fold(open, 0, 0);
    if (open.isWaiting) return undefined;
    return [open.time, Number(open.isOn), buffer.cycles - open.cycles];
  }

  /** The last time of a buffer, ns. */
  timeOfBuffer(index: number): number {
    return this.#openPaths(index).time;
  }

  /** A range of a buffer begins: nothing is known of it yet. */
  beginBuffer(index: number): void {
    this.#open.delete(index);
    this.#current = undefined;
    this.tree?.take();
    this.events?.clear();
  }

  /**
   * Hands out what was found since the call before, where others have what comes before.
   *
   * @param isEnd Whether nothing follows.
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
      // What still waits for its time is of this part.
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
    // The thread that runs goes on, but nobody here knows what it has called.
    this.#current = this.#stack(buffer);
    this.#tracker.restart(this.#current);
    return part;
  }

  /**
   * Adds the sums of a part; its operations are still to be applied.
   *
   * @param placeOf The place here of one there.
   * @param roots Takes the nodes of the tree that its operations begin at.
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

  /** Whether all sums are exact, and so the same in whichever order they were added. */
  get isExact(): boolean {
    return this.sums.isExact && this.tree?.isExact !== false;
  }

  /** Says when the trace of a buffer ended, ns. */
  endBuffer(index: number, time: number): void {
    this.#openPaths(index).time = time;
  }
}
