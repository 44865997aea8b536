import { functionAt, nameCode, type NamedCode, NodeTable } from "@perfdata/profile";
import {
  ADDRESS_USE,
  CHOSEN,
  type Consumer,
  type Engine,
  type FieldPlace,
  LostRecords,
  type Needs,
  PlaceUses,
  RelativeTime,
  type Run,
  ShownNames,
  type SymbolTrust,
  Tracepoints,
} from "@perfdata/session";
import { intAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/constants";
import type { SymbolResolver } from "@perfdata/symbols";

const BEGIN = "lock:contention_begin";
const END = "lock:contention_end";

/** Bits of `flags`: `LCB_F_*` of include/trace/events/lock.h. */
const [SPIN, READ, WRITE, RT, PERCPU, MUTEX] = [1, 2, 4, 8, 16, 32] as const;

/** Names of their combinations, as in perf. */
const TYPES: ReadonlyMap<number, string> = new Map([
  [0, "semaphore"],
  [SPIN, "spinlock"],
  [SPIN | READ, "rwlock:R"],
  [SPIN | WRITE, "rwlock:W"],
  [READ, "rwsem:R"],
  [WRITE, "rwsem:W"],
  [RT, "rtmutex"],
  [RT | READ, "rwlock-rt:R"],
  [RT | WRITE, "rwlock-rt:W"],
  [PERCPU | READ, "pcpu-sem:R"],
  [PERCPU | WRITE, "pcpu-sem:W"],
  [MUTEX, "mutex"],
  [MUTEX | SPIN, "mutex"],
]);

/** Waits for locks: number and durations in ns. */
export interface WaitSums {
  /** Number of waits. */
  readonly contended: number;
  /** Number of waits that ended in the recording. The durations are theirs. */
  readonly ended: number;
  /** Sum of the durations. */
  readonly total: number;
  /** Longest duration. */
  readonly max: number;
  /** Shortest duration. */
  readonly min: number;
}

/** A caller that waited for locks. */
export interface LockCaller extends WaitSums {
  /** First function of the stack outside of locks and scheduler, with offset. */
  readonly caller: string;
  /** The kernel's name for the kind of lock. */
  readonly type: string;
}

/** A thread that waited for locks. */
export interface LockThread extends WaitSums {
  /** Its index. */
  readonly tid: number;
  /** Name of the thread at its last wait. */
  readonly comm: string;
}

/** Waits for locks. */
export interface LockReport {
  /** Callers, by descending total. */
  readonly callers: readonly LockCaller[];
  /** Trust in the names of {@link LockReport.callers}. */
  readonly trust: SymbolTrust | undefined;
}

/**
 * Number of innermost frames in which a caller is searched, and number of those that are skipped,
 * as in perf.
 */
const [DEPTH, SKIPPED] = [8, 3] as const;

/**
 * Names of the functions of locks and scheduler, which Linux 4 to 6 has between
 * `__sched_text_start` and `__sched_text_end` and between `__lock_text_start` and
 * `__lock_text_end`. Names are used because a recording may lack the kernel. A test compares them
 * with the running kernel's.
 */
// deno-lint-ignore perfdata-expressions/backtracking -- made of the literals below, each of which has one loop at most
export const OF_LOCKS: RegExp = new RegExp(
  "^(?:" + [
    "_raw_(?:spin|read|write)_(?:un|try)?lock(?:_\\w+)?",
    "__raw_callee_save___pv_queued_spin_unlock(?:_slowpath)?",
    "(?:native_|__pv_|resilient_)?queued_(?:spin|read|write)_(?:un)?lock_slowpath",
    "resilient_tas_spin_lock",
    "(?:__)?schedule",
    "schedule_(?:idle|user|preempt_disabled|rtlock)",
    "(?:io_)?schedule_timeout(?:_(?:interruptible|killable|uninterruptible|idle))?",
    "io_schedule",
    "schedule_hrtimeout(?:_range(?:_clock)?)?",
    "preempt_schedule(?:_common|_irq|_notrace)?",
    "__cond_resched",
    "yield(?:_to)?",
    "console_conditional_schedule",
    "do_nanosleep",
    "hrtimer_nanosleep_restart",
    "usleep_range_state",
    "(?:__|out_of_line_)wait_on_bit(?:_lock|_timeout)?",
    "bit_wait(?:_io|_timeout|_io_timeout)?",
    "(?:__)?wait_for_common",
    "wait_for_completion(?:_\\w+)?",
    "(?:__)?(?:ww_)?mutex_(?:un)?lock(?:_\\w+)?",
    "mutex_trylock",
    "(?:__)?(?:down|up)",
    "(?:__)?down_(?:common|interruptible|killable|timeout|trylock)",
    "down_(?:read|write)(?:_interruptible|_killable|_nested|_killable_nested|_non_owner)?",
    "rwsem_down_(?:read|write)_slowpath",
    "percpu_down_write",
    "__percpu_down_read",
    "ldsem_down_(?:read|write)",
    "rt_mutex_(?:un|try)?lock(?:_\\w+)?",
    "rt_mutex_slowlock(?:_block)?",
    "(?:__)?rt_mutex_futex_(?:try|un)lock",
    "(?:__)?rt_mutex_(?:start|wait|cleanup)_proxy_lock",
    "rt_mutex_(?:adjust_prio_chain|adjust_pi|postunlock|init_proxy_locked|proxy_unlock)",
    "__rt_mutex_init",
    "mark_wakeup_next_waiter",
    "try_to_take_rt_mutex",
    "remove_waiter",
    "task_blocks_on_rt_mutex",
  ].join("|") + ")(?:\\.\\w+)*$",
);

class Sums implements WaitSums {
  contended = 0;
  ended = 0;
  total = 0;
  max = 0;
  min = Infinity;

  end(wait: number): void {
    this.ended++;
    this.total += wait;
    this.max = Math.max(this.max, wait);
    this.min = Math.min(this.min, wait);
  }

  add(other: WaitSums): void {
    this.contended += other.contended;
    this.ended += other.ended;
    this.total += other.total;
    this.max = Math.max(this.max, other.max);
    this.min = Math.min(this.min, other.min);
  }

  get all(): WaitSums {
    const { contended, ended, total, max, min } = this;
    return { contended, ended, total, max, min: ended === 0 ? 0 : min };
  }
}

class CallerSums extends Sums {
  readonly stack: number;
  readonly flags: number;

  constructor(stack: number, flags: number) {
    super();
    this.stack = stack;
    this.flags = flags;
  }
}

class ThreadSums extends Sums {
  comm = -1;
}

interface Waiting {
  /** Whether the thread waits now. */
  isOpen: boolean;
  /** Start of the wait in ns; negative if the record comes late, after later ones. */
  since: number;
  caller: CallerSums;
}

/**
 * Waits for kernel locks, from `lock:contention_begin` and `lock:contention_end`, counted like
 * `perf lock contention`. A begin while the thread waits for the same lock is part of that wait,
 * since a mutex spins first.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { LockContention } from "@perfdata/report/contention";
 * import { runEngine } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const file = bytesSource(await Deno.readFile("fixtures/recorded/callchain.perf.data"));
 * const locks = new LockContention();
 * await runEngine(await PerfDataReader.open(file), [locks]);
 * assertEquals([locks.hasEvents, locks.threads()], [false, []]);
 * ```
 */
export class LockContention implements Consumer {
  readonly needs: Needs = { machine: true, stacks: true, features: true };
  readonly #time = new RelativeTime();
  readonly #callers = new Map<number, CallerSums>();
  readonly #threads = new Map<number, ThreadSums>();
  /** Paths of thread, upper half and lower half of a lock's address. */
  readonly #locks = new NodeTable();
  /** Wait of each lock, by the node. */
  readonly #waiting: Waiting[] = [];
  #engine: Engine | undefined;
  #tracepoints: Tracepoints | undefined;
  /** Ends of waits that began before the recording. */
  unbegun = 0;
  #lost: LostRecords | undefined;

  /** Number of lost records. */
  get lostRecords(): number {
    return this.#lost?.total ?? 0;
  }

  /** Finds the tracepoints of lock contention among the events. */
  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    this.#lost = new LostRecords(engine.reader);
    await this.described();
  }

  /** Finds the tracepoints, once a stream has sent their formats. */
  async described(): Promise<void> {
    if (this.#engine === undefined) return;
    this.#tracepoints = await Tracepoints.open(this.#engine, {
      [BEGIN]: ["lock_addr", "flags"],
      [END]: ["lock_addr", "ret"],
    });
  }

  /** Counts the events of a group of records. */
  rows(run: Run): void {
    const { reader: { littleEndian: le } } = this.#engine as Engine;
    for (let i = 0; i < run.count; i++) {
      const type = run.type[i];
      if (type === PERF_RECORD_LOST || type === PERF_RECORD_LOST_SAMPLES) {
        const { view } = run.at(i);
        const [hi, lo] = [intAt(run.timeHi, i), intAt(run.timeLo, i)];
        this.#lost?.add(view, intAt(run.start, i), intAt(run.end, i), hi, lo);
      }
      if (type !== PERF_RECORD_SAMPLE || run.chosen[i] !== CHOSEN.YES) continue;
      const found = this.#tracepoints?.of(run, i);
      if (found === undefined) continue;
      const { view } = run.at(i);
      const { offset, size } = found.places[0] as FieldPlace;
      const at = found.fields.raw + offset;
      const lo = view.getInt32(at + (le || size === 4 ? 0 : 4), le);
      const hi = size === 4 ? 0 : view.getInt32(at + (le ? 4 : 0), le);
      const time = this.#time.of(run, i);
      if (found.name === END) this.#end(run, i, time, hi, lo);
      else {
        const flags = view.getUint32(found.fields.raw + (found.places[1] as FieldPlace).offset, le);
        this.#begin(run, i, time, hi, lo, flags);
      }
    }
  }

  #begin(run: Run, i: number, time: number, hi: number, lo: number, flags: number): void {
    const tid = intAt(run.tid, i);
    const locks = this.#locks;
    const lock = locks.node(locks.node(locks.node(-1, tid), hi), lo);
    const waiting = this.#waiting[lock];
    if (waiting?.isOpen === true) return;
    const stack = intAt(run.stack, i);
    const key = stack * 256 + (flags & 0xff);
    let caller = this.#callers.get(key);
    if (caller === undefined) this.#callers.set(key, caller = new CallerSums(stack, flags));
    caller.contended++;
    const thread = this.#threads.get(tid) ?? new ThreadSums();
    this.#threads.set(tid, thread);
    thread.contended++;
    thread.comm = intAt(run.comm, i);
    if (waiting === undefined) this.#waiting[lock] = { isOpen: true, since: time, caller };
    else {
      waiting.isOpen = true;
      waiting.since = time;
      waiting.caller = caller;
    }
  }

  #end(run: Run, i: number, time: number, hi: number, lo: number): void {
    const tid = intAt(run.tid, i);
    const locks = this.#locks;
    const waiting = this.#waiting[locks.node(locks.node(locks.node(-1, tid), hi), lo)];
    if (waiting?.isOpen !== true) {
      this.unbegun++;
      return;
    }
    const wait = Math.max(0, time - waiting.since);
    waiting.isOpen = false;
    waiting.caller.end(wait);
    this.#threads.get(tid)?.end(wait);
  }

  /** Whether the recording has the events. */
  get hasEvents(): boolean {
    return this.#tracepoints?.names.has(BEGIN) ?? false;
  }

  /** Whether the recording has the formats of its tracepoints, which are needed to read them. */
  get isDescribed(): boolean {
    return this.#tracepoints?.isDescribed ?? false;
  }

  /** Whether the recording has the ends of waits. */
  get hasEnds(): boolean {
    return this.#tracepoints?.names.has(END) ?? false;
  }

  /** Number of events with truncated data. */
  get damaged(): number {
    return this.#tracepoints?.damaged ?? 0;
  }

  /** Sums of all waits. */
  get all(): WaitSums {
    const sums = new Sums();
    for (const caller of this.#callers.values()) sums.add(caller);
    return sums.all;
  }

  /** Whether stacks were recorded. */
  get hasStacks(): boolean {
    return [...this.#callers.values()].some(({ stack }) => stack >= 0);
  }

  /** Threads that waited, by descending total. */
  threads(): LockThread[] {
    const { names } = this.#engine as Engine;
    return [...this.#threads].map(([tid, sums]) => ({
      tid,
      comm: sums.comm < 0 ? `:${tid}` : names.text(sums.comm),
      ...sums.all,
    })).sort(longest);
  }

  /** Callers that waited, by descending total. Call it after the pass. */
  async callers(resolver: SymbolResolver): Promise<LockReport> {
    const { names, trust } = await this.#name(resolver, DEPTH);
    const { places } = this.#engine as Engine;
    const callers = new Map<
      string,
      { sums: Sums; caller: string; type: string }
    >();
    for (const of of this.#callers.values()) {
      const place = this.#places(of.stack, DEPTH).slice(SKIPPED)
        .find((place) => !OF_LOCKS.test(names.of(place) ?? ""));
      const type = typeOf(of);
      const key = `${type} ${place}`;
      const known = callers.get(key)?.sums ?? new Sums();
      known.add(of);
      if (callers.has(key)) continue;
      const caller = place === undefined
        ? "Unknown"
        : names.withOffset(place, places.address(place));
      callers.set(key, { sums: known, caller, type });
    }
    return {
      callers: [...callers.values()].map(({ sums, ...rest }) => ({ ...rest, ...sums.all }))
        .sort(longest),
      trust,
    };
  }

  /**
   * Folded stacks with their waits in ns, sorted by text: the outermost function first, the lock's
   * type last.
   */
  async folded(
    resolver: SymbolResolver,
  ): Promise<
    {
      readonly stacks: readonly (readonly [string, number])[];
      readonly trust: SymbolTrust | undefined;
    }
  > {
    const { names, trust } = await this.#name(resolver, Infinity);
    const folded = new Map<string, number>();
    for (const of of this.#callers.values()) {
      const path = this.#places(of.stack, Infinity)
        .map((place) => names.of(place)?.replaceAll(";", ":") ?? "[unknown]").reverse();
      const line = [...path, typeOf(of)].join(";");
      folded.set(line, (folded.get(line) ?? 0) + of.total);
    }
    const stacks = [...folded].sort(([a], [b]) => a < b ? -1 : 1);
    return { stacks, trust };
  }

  /** The innermost places of a stack, innermost first. */
  #places(stack: number, most: number): number[] {
    const { stacks } = this.#engine as Engine;
    const found: number[] = [];
    for (let node = stack; node >= 0 && found.length < most; node = intAt(stacks.parent, node)) {
      found.push(intAt(stacks.place, node));
    }
    return found;
  }

  async #name(
    resolver: SymbolResolver,
    most: number,
  ): Promise<{ readonly names: CallerNames; readonly trust: SymbolTrust }> {
    const uses = new PlaceUses();
    for (const { stack, contended, total } of this.#callers.values()) {
      for (const place of this.#places(stack, most)) {
        uses.use(place, ADDRESS_USE.CALLCHAIN, contended, total);
      }
    }
    const { names, trust } = await nameCode((this.#engine as Engine).places, uses, resolver);
    return { names: new CallerNames(names, resolver.show), trust };
  }
}

function typeOf({ flags }: CallerSums): string {
  return TYPES.get(flags & 0xff) ?? "unknown";
}

function longest(a: WaitSums, b: WaitSums): number {
  return b.total - a.total || b.contended - a.contended;
}

/** Displayed names of the functions of places. */
class CallerNames {
  readonly #code: NamedCode;
  readonly #shown: ShownNames;

  constructor(code: NamedCode, show: (name: string) => string) {
    this.#code = code;
    this.#shown = new ShownNames(show);
  }

  of(place: number): string | undefined {
    const number = functionAt(this.#code, place);
    if (number < 0) return undefined;
    return this.#shown.name(this.#code.functions.name[number] ?? "");
  }

  /** Name of a function with the offset. */
  withOffset(place: number, address: number): string {
    const name = this.of(place);
    if (name === undefined) return "[unknown]";
    const start = this.#code.functions.symbol?.[functionAt(this.#code, place)]?.start;
    return start === undefined ? name : `${name}+0x${(address - start).toString(16)}`;
  }
}
