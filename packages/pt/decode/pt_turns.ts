import { floatAt, intAt, partitionPoint, type RandomAccessSource } from "@perfdata/format/bytes";
import { type ClockRatios, FlowDecoder, FlowEvent, FlowStatus } from "@perfdata/intel-pt";
import type { AuxStream, AuxTrace } from "@perfdata/session/auxtrace";
import type { PtSideband, Switches } from "../code/pt_sideband.ts";
import type { PtTrace } from "../code/pt_trace.ts";
import { PieceReader, type StreamPlace } from "./pt_pieces.ts";
import type { PtClock } from "./pt_clock.ts";

/**
 * Cost of a thread that continues at another address than where it left: in a signal handler, or
 * another thread.
 */
const ELSEWHERE = 4;
/** Cost of the same if it may have left there: so low that it only breaks ties. */
const MAYBE_ELSEWHERE = 1e-4;
/** Cost of code at an unmapped address. */
const UNMAPPED = 8;
/** Cost of a turn without an instruction in user space. */
const IDLE_TURN = 0.3;
/** Cost of a last turn without an instruction, although user space runs at its end. */
const LOST_TURN = 3;
/** Maximum cost of an unlikely point in time: so low that it only breaks ties. */
const MISTIMED = 1e-4;
/** Minimum additional cost of every other choice, for a choice to be certain. */
const CERTAIN = 0.5;
/** Maximum number of turns and TIP.PGE packets that are compared at once. */
const MOST = 1 << 11;

/** Whether times are too sparse to locate context switches: in a trace with TSC packets alone. */
export function hasSparseTimes({ intelPtConfig }: Pick<AuxTrace, "intelPtConfig">): boolean {
  return intelPtConfig !== undefined && intelPtConfig.tsc && intelPtConfig.mtc !== true &&
    intelPtConfig.cyc !== true;
}

/** Whether times alone cannot tell which of several threads ran on a CPU. */
export function hasSparseTurns({ aux, sideband }: PtTrace): boolean {
  return hasSparseTimes(aux) &&
    aux.streams.some(({ cpu }) =>
      cpu !== undefined && (sideband.switches.get(cpu)?.count ?? 0) > 1
    );
}

interface Address {
  readonly low: number;
  readonly high: number;
}

/** Address at which a thread left user space. */
export interface LeftAddress extends Address {
  /** Whether another thread may have left there. */
  readonly isUnsure: boolean;
}

/** Addresses at which threads left user space, by thread: shared by the buffers of a recording. */
export type LeftAt = Map<number, LeftAddress>;

/** A TIP.PGE packet ahead, or a PIP packet, whose CR3 is the address. */
interface Resume extends Address {
  readonly offset: number;
  readonly isPip: boolean;
  /**
   * Address at which an event ended tracing before it; `undefined` after a system call, or if
   * unknown.
   */
  readonly left: Address | undefined;
}

/** A packet with a time ahead. */
interface Mark {
  readonly offset: number;
  /** Time in ns. */
  readonly time: number;
  /** Whether user space runs there. */
  readonly isOn: boolean;
}

/** A turn of a thread between two times, or its part after it executed another program. */
interface Turn {
  readonly tid: number;
  /** Start time in ns. */
  readonly since: number;
  readonly isExec: boolean;
}

/** A choice at a TIP.PGE. */
export interface Resumption {
  /** The turn that begins there or before; `undefined` if the present one continues. */
  readonly turn: Turn | undefined;
  /** Whether the code proves the choice. */
  readonly isCertain: boolean;
}

/** Inputs of {@linkcode PtTurns}. */
export interface TurnSurroundings {
  readonly source: RandomAccessSource;
  readonly clock: PtClock;
  readonly ratios: ClockRatios;
  readonly switches: Pick<Switches, "count" | "time" | "tid">;
  /** Context switches of other CPUs. */
  readonly others: readonly Pick<Switches, "count" | "time" | "tid">[];
  readonly sideband: Pick<PtSideband, "execs" | "threads">;
  readonly leftAt: LeftAt;
}

/**
 * Finds the TIP.PGE packets of a CPU at which other threads continue, if several turns are between
 * two times.
 *
 * A decoder without code runs ahead to the next time. The TIP.PGE packets up to there are assigned
 * to the turns of the context switches. Of all possible ways, the one is chosen in which most
 * threads continue where they left user space.
 */
export class PtTurns {
  /**
   * Whether another thread may run before a packet proves it: in the kernel, between threads of one
   * process, which have the same CR3.
   */
  isUnsure = false;
  readonly #about: TurnSurroundings;
  readonly #reader: PieceReader;
  readonly #ahead: FlowDecoder;
  #isEnd = false;
  /** Packets ahead. Packets before `#first…` were passed. */
  #resumes: Resume[] = [];
  #firstResume = 0;
  #marks: Mark[] = [];
  #firstMark = 0;
  #isOn = false;
  #left: Address | undefined;
  /** Turns of the prepared interval. The first one belongs to the running thread. */
  #turns: Turn[] = [];
  /** Number of the running turn. */
  #turn = 0;
  /** Costs of each turn from a TIP.PGE packet of the interval on, starting with the last packet. */
  #costs: Float64Array[] = [];
  #until: Mark | undefined;
  /** Offset of the start of the interval. */
  #begin = 0;
  /** Cost of each turn after the TIP.PGE packets so far. */
  #reached = new Float64Array();
  /** The CR3 of each process. */
  readonly #spaces = new Map<number, Address>();
  /** Whether the kernel's code is traced, in which threads change without a TIP.PGE. */
  #hasKernel = false;
  /**
   * Threads that also run on other CPUs in the interval, so that the address where they leave is
   * unknown in advance.
   */
  #movers = new Set<number>();

  /** Runs ahead from a place of a stream, which has the offset `offset`. */
  constructor(
    about: TurnSurroundings,
    stream: AuxStream,
    place: StreamPlace | undefined,
    offset: number,
  ) {
    this.#about = about;
    this.#reader = new PieceReader(stream, about.source, place);
    this.#ahead = new FlowDecoder({
      space: { find: () => undefined },
      clocks: about.ratios,
      timeBase: about.clock.base,
      quick: 1,
      offset,
    }, { flow: (run) => this.#see(run) });
  }

  /** Runs ahead to the first time after an offset. */
  async lookPast(offset: number): Promise<void> {
    const ahead = this.#ahead;
    while (!this.#isEnd && (this.#marks.at(-1)?.offset ?? -1) <= offset) {
      const part = await this.#reader.next();
      if (this.#reader.isAfterGap) ahead.gap();
      if (part === undefined) {
        ahead.end();
        this.#isEnd = true;
      } else ahead.feed(part);
      while (ahead.run() === FlowStatus.SPACE);
      if (!ahead.isWaiting) ahead.flush();
    }
  }

  #see(run: FlowDecoder): void {
    for (let i = 0; i < run.count; i++) {
      const event = ~intAt(run.entries, i);
      const low = intAt(run.ipLow, event);
      const high = intAt(run.ipHigh, event);
      const offset = floatAt(run.offset, event);
      switch (run.kind[event]) {
        case FlowEvent.ENABLED:
          this.#resumes.push({ offset, low, high, left: this.#left, isPip: false });
          this.#isOn = true;
          break;
        case FlowEvent.PIP:
          if (run.psb[event] === 1) break;
          this.#resumes.push({
            offset,
            // Without the bit that distinguishes the halves of page table isolation, and without
            // PCID.
            low: intAt(run.low, event) & ~0x1fff,
            high: intAt(run.high, event),
            left: undefined,
            isPip: true,
          });
          break;
        case FlowEvent.SYNC:
          this.#isOn = true;
          break;
        case FlowEvent.DISABLED:
          this.#left = (intAt(run.detail, event) & 2) !== 0 ? { low, high } : undefined;
          this.#isOn = false;
          break;
        case FlowEvent.ERROR:
          this.#left = undefined;
          break;
        case FlowEvent.PSB:
          this.#isOn = low !== 0 || high !== 0;
          this.#mark(run, event, offset);
          break;
        case FlowEvent.TIME:
          this.#mark(run, event, offset);
      }
    }
  }

  #mark(run: FlowDecoder, event: number, offset: number): void {
    const time = this.#about.clock.ns(floatAt(run.time, event));
    if (time >= 0) this.#marks.push({ offset, time, isOn: this.#isOn });
  }

  /**
   * Prepares the interval from an offset to the next time.
   *
   * @param tid The running thread.
   * @param now Time at the offset in ns.
   * @param next Number of the next context switch.
   * @returns Whether it has turns of other threads, so that {@linkcode PtTurns.resume} is needed.
   */
  prepare(offset: number, tid: number, now: number, next: number): boolean {
    while ((this.#marks[this.#firstMark]?.offset ?? Infinity) <= offset) this.#firstMark++;
    while ((this.#resumes[this.#firstResume]?.offset ?? Infinity) <= offset) this.#firstResume++;
    this.#trim();
    this.#until = this.#marks[this.#firstMark];
    this.#begin = offset;
    this.#costs = [];
    this.#turn = 0;
    this.#turns = this.#turnsUntil(tid, now, next);
    this.#reached = new Float64Array(this.#turns.length).fill(Infinity);
    this.#reached[0] = 0;
    this.#movers.clear();
    if (this.#turns.length > 1) this.#findMovers(now);
    const first = this.#resumes[this.#firstResume];
    const isNone = (first?.offset ?? Infinity) > (this.#until?.offset ?? Infinity);
    this.#hasKernel = isNone ? this.#until?.isOn === true : first?.isPip === true;
    this.isUnsure = this.#hasKernel && this.#turns.length > 1 &&
      (isNone || this.#pid(0) === this.#pid(1));
    return this.#turns.length > 1;
  }

  /** Drops packets that were passed. */
  #trim(): void {
    if (this.#firstMark > MOST) {
      this.#marks = this.#marks.slice(this.#firstMark);
      this.#firstMark = 0;
    }
    if (this.#firstResume > MOST) {
      this.#resumes = this.#resumes.slice(this.#firstResume);
      this.#firstResume = 0;
    }
  }

  /** The turns up to the next time, of threads that may have code in user space. */
  #turnsUntil(tid: number, now: number, next: number): Turn[] {
    const { switches, sideband: { execs } } = this.#about;
    const end = this.#until?.time ?? Infinity;
    const turns: Turn[] = [{ tid, since: now, isExec: false }];
    let running = tid;
    let exec = execs.findIndex(({ time }) => time > now);
    if (exec < 0) exec = execs.length;
    const executed = (until: number) => {
      for (let next = execs[exec]; next !== undefined && next.time <= until; next = execs[++exec]) {
        const { time, pid } = next;
        if (pid === running) turns.push({ tid: pid, since: time, isExec: true });
      }
    };
    for (let i = next; i < switches.count && turns.length < MOST; i++) {
      const since = floatAt(switches.time, i);
      if (since > end) break;
      executed(since);
      running = intAt(switches.tid, i);
      // The idle task has no code in user space.
      if (running > 0 && turns.at(-1)?.tid !== running) {
        turns.push({ tid: running, since, isExec: false });
      }
    }
    executed(end);
    return turns;
  }

  #findMovers(now: number): void {
    const end = this.#until?.time ?? Infinity;
    for (const { count, time, tid } of this.#about.others) {
      for (let i = Math.max(0, firstAfter(time, count, now) - 1); i < count; i++) {
        if (floatAt(time, i) > end) break;
        this.#movers.add(intAt(tid, i));
      }
    }
  }

  /**
   * Start time in ns of the next turn of another thread, up to which other buffers have to be
   * decoded first.
   */
  get nextTurn(): number {
    return this.#turns[this.#turn + 1]?.since ?? Infinity;
  }

  /** End time in ns of the running turn. */
  get turnEnd(): number {
    return this.nextTurn === Infinity ? this.#until?.time ?? Infinity : this.nextTurn - 1;
  }

  /**
   * Chooses the turn at a TIP.PGE.
   *
   * @param offset Offset of the packet.
   * @param expected Address at which the running thread left user space, if known.
   * @param hasRun Whether it left there at the last end of tracing.
   * @param isMapped Whether a thread has code at the address at a time.
   */
  resume(
    offset: number,
    expected: LeftAddress | undefined,
    hasRun: boolean,
    isMapped: (tid: number, time: number, low: number, high: number) => boolean,
  ): Resumption {
    while ((this.#resumes[this.#firstResume]?.offset ?? Infinity) < offset) this.#firstResume++;
    const resume = this.#resumes[this.#firstResume];
    if (resume?.offset !== offset) return { turn: undefined, isCertain: false };
    if (this.#costs.length === 0) this.#prepareCosts();
    const ahead = this.#costs.pop();
    const turns = this.#turns;
    const reached = this.#reached;
    const { leftAt } = this.#about;
    const from = this.#turn;
    const running = turns[from]?.tid;
    // An event has the address, whatever thread was assumed to run.
    const isKnown = hasRun && resume.left !== undefined;
    const { isPip } = resume;
    const stays = isPip
      ? 0
      : elsewhere(resume, isKnown ? resume.left : expected, !isKnown && expected?.isUnsure);
    let best = from;
    let least = Infinity;
    // The lowest cost of turns before the present one; each skipped turn costs.
    let earlier = Infinity;
    const all = new Float64Array(turns.length);
    for (const [number, { tid, since, isExec }] of turns.entries()) {
      const before = floatAt(reached, number);
      // Other buffers are decoded up to the next turn only.
      const isOld = number > from + 1 && this.#movers.has(tid);
      const left = tid === running ? expected : isOld ? undefined : leftAt.get(tid);
      // A new program begins at any address except where the one before left.
      const arrives = isPip
        ? 0
        : isExec
        ? left !== undefined && isSame(resume, left) ? ELSEWHERE : 0
        : elsewhere(resume, left, left?.isUnsure);
      // The idle task never has code in user space.
      const isThere = isPip ||
        (tid !== 0 && (number === from || isMapped(tid, since, resume.low, resume.high)));
      const cost = Math.min(before + stays, earlier + arrives) + this.#mistimed(resume, number) +
        this.#otherSpace(resume, number) + (isThere ? 0 : UNMAPPED);
      earlier = Math.min(earlier + IDLE_TURN, before);
      reached[number] = cost;
      all[number] = cost + (ahead?.[number] ?? 0);
      if (number >= from && floatAt(all, number) < least) {
        least = floatAt(all, number);
        best = number;
      }
    }
    this.#turn = best;
    const isCertain = turns.every(({ tid }, number) =>
      tid === turns[best]?.tid || floatAt(all, number) - least >= CERTAIN
    );
    if (isPip && isCertain) this.#spaces.set(this.#pid(best), resume);
    return { turn: best === from ? undefined : turns[best], isCertain };
  }

  /** Cost of a packet whose estimated time is outside of the turn. */
  #mistimed({ offset }: Resume, turn: number): number {
    const { offset: end, time: until } = this.#until ?? { offset: Infinity, time: Infinity };
    const begin = this.#turns[0]?.since ?? 0;
    const span = until - begin;
    if (!(span > 0) || end === Infinity) return 0;
    const at = begin + span * (offset - this.#begin) / Math.max(1, end - this.#begin);
    const { since } = this.#turns[turn] as Turn;
    const left = this.#turns[turn + 1]?.since ?? until;
    return MISTIMED * Math.max(0, since - at, at - left) / span;
  }

  #pid(number: number): number {
    const { tid, since } = this.#turns[number] as Turn;
    return this.#about.sideband.threads.pid(tid, since);
  }

  /** Cost of a PIP packet with the CR3 of another process. */
  #otherSpace(resume: Resume, number: number): number {
    if (!resume.isPip) return 0;
    const pid = this.#pid(number);
    const known = this.#spaces.get(pid);
    if (known !== undefined) return isEqual(known, resume) ? 0 : ELSEWHERE;
    for (const [other, space] of this.#spaces) {
      if (other !== pid && isEqual(space, resume)) return ELSEWHERE;
    }
    return 0;
  }

  /** Cost of a turn that begins at a TIP.PGE ahead. */
  #arrives(resume: Resume, number: number): number {
    const { tid, isExec } = this.#turns[number] as Turn;
    // The address at which it leaves until then is unknown.
    if (isExec || resume.isPip || this.#movers.has(tid)) return 0;
    if (this.#turns.findIndex((turn) => turn.tid === tid) < number) return 0;
    const left = this.#about.leftAt.get(tid);
    return elsewhere(resume, left, left?.isUnsure);
  }

  /**
   * Computes the costs after each TIP.PGE, by its turn; the first packet is the last of the list.
   */
  #prepareCosts(): void {
    const end = this.#until?.offset ?? Infinity;
    const resumes = this.#resumes;
    const first = this.#firstResume;
    let to = first;
    while ((resumes[to]?.offset ?? Infinity) < end && to - first < MOST) to++;
    const count = this.#turns.length;
    // The remaining turns come after the interval, or had no code in user space.
    const isOn = this.#until?.isOn === true && (resumes[to]?.offset ?? Infinity) >= end;
    let costs = Float64Array.from(this.#turns, (_, turn) => {
      const left = count - 1 - turn;
      return isOn && !this.#hasKernel ? left * LOST_TURN : IDLE_TURN * Math.max(0, left - 1);
    });
    this.#costs = [costs];
    for (let i = to - 1; i > first; i--) {
      const resume = resumes[i] as Resume;
      const before = new Float64Array(count);
      // The lowest cost of turns after the present one; each skipped turn costs.
      let later = Infinity;
      for (let turn = count - 1; turn >= 0; turn--) {
        const here = floatAt(costs, turn) + this.#mistimed(resume, turn) +
          this.#otherSpace(resume, turn);
        before[turn] = Math.min(here + elsewhere(resume, resume.left), later);
        later = Math.min(later + IDLE_TURN, here + this.#arrives(resume, turn));
      }
      this.#costs.push(costs = before);
    }
  }
}

/** Cost of a thread that continues at an address, if it left at another address. */
function elsewhere(resume: Resume, left: Address | undefined, isUnsure = false): number {
  if (left === undefined || isSame(resume, left)) return 0;
  return isUnsure ? MAYBE_ELSEWHERE : ELSEWHERE;
}

function isEqual(a: Address, b: Address): boolean {
  return a.low === b.low && a.high === b.high;
}

/** Whether an address is the other one, or the system call before it, which is restarted. */
function isSame({ low, high }: Address, { low: otherLow, high: otherHigh }: Address): boolean {
  return high === otherHigh && (low === otherLow || low === (otherLow - 2 | 0));
}

/** Index of the first time after a time. */
function firstAfter(times: Float64Array, count: number, time: number): number {
  return partitionPoint(0, count, (i) => floatAt(times, i) <= time);
}
