import { intAt } from "@perfdata/format/bytes";
import { PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER } from "@perfdata/format/constants";
import type { StackTable } from "../stacks/stacks.ts";
import type { Run } from "../order/run.ts";
import type { InterruptEvent } from "./interrupt_events.ts";
import type { ThreadInterval } from "./thread_intervals.ts";

/** A handler that has begun and not ended. Its fields as an interval are those of its thread. */
export class OpenHandler implements ThreadInterval {
  tid = -1;
  pid = -1;
  comm = -1;
  cpu = -1;
  stack = -1;
  place = -1;
  readonly isStandIn = false;
  from = 0;
  to = 0;
  runnable = 0;
  readonly waker = -1;
  readonly wakerComm = -1;
  interrupted = 0;
  /** Time of its entry. */
  entry = 0;
  /** Time of the last record that was written while the handler ran. */
  last = 0;
  key = 0;
  isSoftirq = false;
  /** The place of its name. */
  name = -1;
  /** The stack at the entry, or of the last sample, without the frames of handlers. */
  below = -1;
  /** The event of a clock's sample that an interrupt delivered; -1 if there is none. */
  clock = -1;
}

/** A thread that has a CPU, which handlers may interrupt. */
export interface InterruptedThread extends ThreadInterval {
  /** Time since `from` in which handlers ran. */
  interrupted: number;
  /** Open handlers, outermost first; only the first `depth` are used. */
  readonly handlers: OpenHandler[];
  /** Number of open handlers. */
  depth: number;
}

/** The code to which a sample belongs: see {@link Interrupts.sampled}. */
export interface SampledCode {
  /** Index of the handler; -1 for the thread. */
  readonly level: number;
  /** Time until which that code ran: before that of the sample, if an interrupt delivered it. */
  readonly until: number;
}

/** Nested handlers beyond this number come from damaged recordings. */
const MOST_NESTED = 8;

/**
 * Times in which interrupt handlers ran while a thread had the CPU.
 *
 * A softirq may be interrupted by interrupts, which softirqs never interrupt. Time counts for the
 * innermost handler. A handler without a recorded end counts up to the last record that proves that
 * it ran: a sample in it, or the end of a handler that interrupted it.
 */
export class Interrupts {
  readonly #stacks: StackTable;
  readonly #take: (interval: OpenHandler) => void;
  readonly #within: (from: number, to: number) => number;
  readonly #code = { level: -1, until: 0 };
  /** Number of handlers. */
  count = 0;
  /** The count of these without a recorded end. */
  unended = 0;
  /** Ends of handlers without a recorded entry. */
  unbegun = 0;

  /**
   * @param take Receives intervals of handlers.
   * @param within Length of the part of an interval that passes the time filter.
   */
  constructor(
    stacks: StackTable,
    take: (interval: OpenHandler) => void,
    within: (from: number, to: number) => number,
  ) {
    this.#stacks = stacks;
    this.#take = take;
    this.#within = within;
  }

  /** Applies the entry or exit in a row of the thread. */
  apply(thread: InterruptedThread, event: InterruptEvent, time: number, run: Run, i: number): void {
    if (event.isEntry) this.#enter(thread, event, time, run, i);
    else this.#exit(thread, event.key, time);
  }

  /**
   * The code that a sample of the thread shows. Handlers that cannot have been running end.
   *
   * The interrupt of a timer delivers the samples of a software clock, each of them once. They show
   * the code that was interrupted.
   */
  sampled(
    thread: InterruptedThread,
    time: number,
    isClock: boolean,
    run: Run,
    i: number,
  ): SampledCode {
    const misc = intAt(run.misc, i);
    const { handlers } = thread;
    let depth = thread.depth;
    while (isClock && depth > 0 && !(handlers[depth - 1] as OpenHandler).isSoftirq) depth--;
    const isUser = (misc & PERF_RECORD_MISC_CPUMODE_MASK) === PERF_RECORD_MISC_USER;
    if (isUser && depth > 0) {
      this.endAll(thread);
      depth = 0;
    }
    const code = this.#code;
    code.level = depth - 1;
    code.until = time;
    if (depth < thread.depth) {
      const interrupt = handlers[depth] as OpenHandler;
      const event = intAt(run.event, i);
      if (interrupt.clock === event) { while (thread.depth > depth) this.#end(thread); }
      else code.until = interrupt.entry;
      interrupt.clock = event;
    }
    for (let k = 0; k < depth; k++) (handlers[k] as OpenHandler).last = code.until;
    return code;
  }

  /** Counts the time of a handler up to a sample in it, by the sample's stack. */
  counted(thread: InterruptedThread, { level, until }: SampledCode, stack: number): void {
    const handler = thread.handlers[level] as OpenHandler;
    handler.below = stack;
    this.#piece(thread, level, until);
  }

  /** Ends the open handlers of a thread, whose ends are not recorded. */
  endAll(thread: InterruptedThread): void {
    while (thread.depth > 0) this.#end(thread);
  }

  #enter(thread: InterruptedThread, event: InterruptEvent, time: number, run: Run, i: number) {
    const { key, isSoftirq, place } = event;
    const { handlers } = thread;
    // Softirqs interrupt no handler, and no handler interrupts itself.
    let depth = thread.depth;
    for (let k = 0; k < thread.depth; k++) {
      if (isSoftirq || (handlers[k] as OpenHandler).key === key) depth = Math.min(depth, k);
    }
    while (thread.depth > Math.min(depth, MOST_NESTED - 1)) this.#end(thread);
    const handler = handlers[thread.depth] ??= new OpenHandler();
    thread.depth++;
    this.count++;
    handler.key = key;
    handler.isSoftirq = isSoftirq;
    handler.name = place;
    handler.below = intAt(run.stack, i);
    handler.entry = handler.last = handler.from = time;
    handler.interrupted = 0;
    handler.clock = -1;
    handler.tid = thread.tid;
    handler.pid = intAt(run.process, i);
    handler.comm = intAt(run.comm, i);
    handler.cpu = intAt(run.cpu, i);
  }

  #exit(thread: InterruptedThread, key: number, time: number): void {
    const { handlers } = thread;
    let level = thread.depth - 1;
    while (level >= 0 && (handlers[level] as OpenHandler).key !== key) level--;
    if (level < 0) {
      this.unbegun++;
      return;
    }
    while (thread.depth > level + 1) this.#end(thread);
    (handlers[level] as OpenHandler).last = time;
    this.#leave(thread);
  }

  /** Ends the innermost handler, whose end is not recorded. */
  #end(thread: InterruptedThread): void {
    this.unended++;
    this.#leave(thread);
  }

  /** Ends the innermost handler at the time of its last record. */
  #leave(thread: InterruptedThread): void {
    const level = thread.depth - 1;
    const { entry, last } = thread.handlers[level] as OpenHandler;
    this.#piece(thread, level, last);
    thread.depth = level;
    const outer = level === 0 ? thread : thread.handlers[level - 1] as OpenHandler;
    outer.interrupted += this.#within(entry, last);
    if (level > 0) {
      const handler = outer as OpenHandler;
      handler.last = Math.max(handler.last, last);
    }
  }

  /** Ends a part of the time of a handler. */
  #piece(thread: InterruptedThread, level: number, to: number): void {
    const handler = thread.handlers[level] as OpenHandler;
    const { from } = handler;
    if (to > from) {
      let stack = handler.below;
      for (let k = 0; k <= level; k++) {
        stack = this.#stacks.child(stack, (thread.handlers[k] as OpenHandler).name);
      }
      handler.stack = stack;
      handler.place = handler.name;
      handler.to = handler.runnable = to;
      this.#take(handler);
      handler.from = to;
    }
    handler.interrupted = 0;
  }
}
