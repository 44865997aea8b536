import {
  BRANCH_ENTRY,
  type PerfDataReader,
  type PerfEvent,
  SampleFields,
} from "@perfdata/format/records";
import {
  HEADER_SP_META_INFO,
  PERF_CONTEXT_USER,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { ChainStep, contextMode, isContextMarker, type SampledChain } from "../stacks/chains.ts";
import { isGuestMode } from "../machine/guest_machines.ts";
import type { History } from "../history/history.ts";
import type { Machine } from "../machine/machine.ts";
import type { MachineView } from "../machine/machine_view.ts";
import { enlarge } from "@perfdata/format/bytes";
import { FrameStep } from "../stacks/frame_lists.ts";
import type { Places } from "../places/places.ts";
import { RecentPlaces } from "../places/recent_places.ts";
import type { RecordedObjects } from "../places/recorded_objects.ts";
import { CHOSEN, type RecordBytes, type Run, RUN_ROWS } from "../order/run.ts";
import type { UnwindStep } from "../stacks/unwind.ts";
import { UserChains } from "../stacks/user_chains.ts";
import { type ResolveNeeds, type SampleShape, sampleShape } from "./sample_shape.ts";
import { type StackTable, UserFrames } from "../stacks/stacks.ts";

/** Filter of samples. */
export interface SampleFilter {
  /** Indices of the wanted events. */
  readonly events?: ReadonlySet<number> | undefined;
  /** CPUs. */
  readonly cpus?: ReadonlySet<number> | undefined;
  /** Processes. Samples of others count for totals only, as in perf. */
  readonly pids?: ReadonlySet<number> | undefined;
  /** Threads. Samples of others count for totals only, as in perf. */
  readonly tids?: ReadonlySet<number> | undefined;
  /** First and last time in ns. */
  readonly time?: readonly [bigint, bigint] | undefined;
  /** File offsets of chosen samples, for conditions that need more than the record itself. */
  readonly records?: { has(offset: number): boolean } | undefined;
}

/** Inputs and outputs of a {@link Resolver}. */
export interface ResolverParts {
  readonly reader: PerfDataReader;
  /** The machine, to which records are applied. */
  readonly machine: Machine;
  /** Descriptions of binaries, which records add to. */
  readonly recorded: RecordedObjects;
  readonly places: Places;
  readonly stacks: StackTable;
  /** The columns to fill. */
  readonly needs: ResolveNeeds;
  readonly filter: SampleFilter;
  /** The history of the machine, if records are not in order. */
  readonly past?: History | undefined;
}

/**
 * Resolves groups of records (`Run`) after they are ordered: applies records to the machine, and fills columns of
 * samples with the state at that moment.
 */
export class Resolver {
  /** Samples that are of an unknown event or shorter than their event's layout. */
  leftOut: number = 0;
  /** Unwinds copied stacks; to be set before the first record. */
  unwind: UnwindStep | undefined;
  /**
   * Called after each record that is not a sample, with the machine in the state of that record.
   */
  applied: ((run: Run, row: number) => void) | undefined;
  /** Finds user parts of stacks that are not in the chain. */
  readonly userChains: UserChains;
  /** The present state of the machine, if records are in order. */
  readonly #machine: Machine;
  /** The history of the machine, if they are not. */
  readonly #past: History | undefined;
  readonly #view: MachineView;
  readonly #recorded: RecordedObjects;
  readonly #places: Places;
  /** Cache of the places of branches. */
  readonly #recent: RecentPlaces;
  readonly #chains: ChainStep;
  readonly #stacks: StackTable;
  readonly #frames: FrameStep;
  /** The user part of the current sample's stack, if it is not in the chain. */
  readonly #user = new UserFrames();
  /** The current sample, for the look-up of its stack. */
  readonly #sample: SampledChain = {
    thread: -1,
    mode: 0,
    hi: 0,
    lo: 0,
    place: -1,
    view: new DataView(new ArrayBuffer(0)),
    at: 0,
    length: 0,
    isUnwound: false,
  };
  readonly #needs: ResolveNeeds;
  readonly #filter: SampleFilter;
  readonly #filtered: boolean;
  /** Rows and addresses of samples whose places are looked up together. */
  readonly #addresses = {
    rows: new Int32Array(RUN_ROWS),
    hi: new Int32Array(RUN_ROWS),
    lo: new Int32Array(RUN_ROWS),
  };
  readonly #events: readonly PerfEvent[];
  readonly #shapes: SampleShape[] = [];
  readonly #le: boolean;
  readonly #isSimpleperf: boolean;
  /** Incremented whenever a mapping may have changed. */
  #moment = 0;
  #branchCount = 0;
  #chainCount = 0;

  /** Prepares to fill the columns that `needs` names. */
  constructor(parts: ResolverParts) {
    const { reader, machine, recorded, places, stacks, needs, filter, past } = parts;
    this.#machine = machine;
    this.#past = past;
    this.#view = past ?? machine;
    this.#recorded = recorded;
    this.#places = places;
    this.#recent = new RecentPlaces(places);
    this.#chains = new ChainStep(places, stacks, reader.littleEndian, needs.calls);
    this.userChains = new UserChains(places, recorded, reader.littleEndian);
    this.#stacks = stacks;
    this.#frames = new FrameStep(places, reader.littleEndian);
    this.#needs = needs;
    this.#filter = filter;
    this.#filtered = Object.values(filter).some((wanted) => wanted !== undefined);
    this.#events = reader.events.all;
    this.#le = reader.littleEndian;
    this.#isSimpleperf = reader.features.some(({ id }) => id === HEADER_SP_META_INFO);
  }

  resetStacks(): void {
    this.#stacks.reset();
    this.#chains.reset();
    this.#user.forget();
  }

  /** Resolves a group of records whose columns up to the CPU are filled. */
  take(run: Run): void {
    for (let i = this.#shapes.length; i < this.#events.length; i++) {
      const event = this.#events[i] as PerfEvent;
      this.#shapes.push(this.#shapeOf(event));
    }
    for (const [i, { offCpu }] of this.#shapes.entries()) {
      // In a pipe, the name of an event, which may change the meaning of samples, comes after the
      // event.
      const event = this.#events[i] as PerfEvent;
      const isSame = event.isOffCpu ? offCpu?.isNamed === event.isNamed : offCpu === undefined;
      if (isSame) continue;
      this.#shapes[i] = this.#shapeOf(event);
    }
    const { count, type, chosen, place, addr, stack, thread } = run;
    const { branchStart, chainStart, chainExact } = run;
    chosen.fill(CHOSEN.NO, 0, count);
    place.fill(-1, 0, count);
    addr.fill(-1, 0, count);
    stack.fill(-1, 0, count);
    thread.fill(-1, 0, count);
    this.#branchCount = 0;
    this.#chainCount = 0;
    this.#frames.begin();
    for (let i = 0; i < count;) {
      const from = i;
      while (i < count && type[i] === PERF_RECORD_SAMPLE) i++;
      if (i > from) this.#samples(run, from, i);
      if (i === count) break;
      branchStart[i] = this.#branchCount;
      chainStart[i] = chainExact[i] = this.#chainCount;
      this.#frames.start(run, i);
      if (this.#past === undefined) this.#apply(run, i);
      i++;
    }
    this.#frames.start(run, count);
    branchStart[count] = this.#branchCount;
    chainStart[count] = this.#chainCount;
  }

  #shapeOf(event: PerfEvent): SampleShape {
    return sampleShape(event, this.#needs, this.unwind !== undefined, this.#isSimpleperf);
  }

  #apply(run: Run, i: number): void {
    const { bytes, view } = run.at(i);
    const start = run.start[i] as number;
    const end = run.end[i] as number;
    this.#recorded.record(bytes, view, start, end);
    if ((run.type[i] as number) >>> 0 < PERF_RECORD_USER_TYPE_START) {
      this.#moment++;
      this.#machine.apply(bytes, view, start, end);
    }
    this.applied?.(run, i);
  }

  /**
   * Resolves the samples in `[from, to)`. The machine does not change between them, or each is
   * looked up in the history.
   */
  #samples(run: Run, from: number, to: number): void {
    const machine = this.#machine;
    const past = this.#past;
    const { timeHi, timeLo, position, round } = run;
    const shapes = this.#shapes;
    const filtered = this.#filtered;
    const { maps, places, looksAt } = this.#needs;
    const le = this.#le;
    const highAt = le ? 4 : 0;
    const lowAt = 4 - highAt;
    const { blocks, block, start, end, event, pid, tid, misc } = run;
    const { thread, process, comm, period, chosen, branchStart, chainStart, chainExact } = run;
    const { rows, hi, lo } = this.#addresses;
    let count = 0;
    for (let i = from; i < to; i++) {
      branchStart[i] = this.#branchCount;
      chainStart[i] = chainExact[i] = this.#chainCount;
      this.#frames.start(run, i);
      const { view } = blocks[block[i] as number] as RecordBytes;
      const at = start[i] as number;
      const shape = shapes[event[i] as number];
      if (shape === undefined || at + shape.size > (end[i] as number)) {
        this.leftOut++;
        continue;
      }
      if (filtered && !this.#passes(run, i)) continue;
      const of = past === undefined
        ? machine.thread(pid[i] as number, tid[i] as number)
        : past.state(
          pid[i] as number,
          tid[i] as number,
          past.moment(
            round[i] as number,
            timeHi[i] as number,
            timeLo[i] as number,
            position[i] as number,
          ),
        );
      const { pids, comms } = this.#view;
      thread[i] = of;
      process[i] = pids[of] as number;
      comm[i] = comms[of] as number;
      period[i] = shape.period < 0
        ? shape.fixedPeriod
        // deno-lint-ignore perfdata/halves -- a weight; texts of single periods read the halves
        : view.getUint32(at + shape.period + highAt, le) * 2 ** 32 +
          view.getUint32(at + shape.period + lowAt, le);
      const { fields, offCpu } = shape;
      if (fields?.locate(view, at, end[i] as number, le) === false) {
        this.leftOut++;
        continue;
      }
      if (offCpu !== undefined && offCpu.period >= 0) {
        // deno-lint-ignore perfdata/halves -- a weight: 104 days off the CPU
        period[i] = view.getUint32(offCpu.period + highAt, le) * 2 ** 32 +
          view.getUint32(offCpu.period + lowAt, le);
      }
      const ip = ipOf(shape, at);
      const mode = (misc[i] as number) & PERF_RECORD_MISC_CPUMODE_MASK;
      chosen[i] = filtered && this.#isOthers(run, i) ? CHOSEN.TOTAL : CHOSEN.YES;
      if (maps) run.map[i] = this.#map(of, mode, view, ip);
      // User parts of chains that are recorded elsewhere may depend on previous samples.
      if (looksAt !== undefined && !shape.elsewhere && !looksAt(run, i)) continue;
      if (shape.several) {
        // Places are numbered, and get their times, in the order of the samples.
        if (count > 0) this.#places.findAll(run, rows, count, hi, lo);
        count = 0;
        this.#several(run, i, shape, view);
      } else if (places && ip >= 0) {
        rows[count] = i;
        hi[count] = view.getInt32(ip + highAt, le);
        lo[count++] = view.getInt32(ip + lowAt, le);
      }
    }
    if (count > 0) this.#places.findAll(run, rows, count, hi, lo);
  }

  /** Name of the host's mapping at an address; -1 if it is unmapped. */
  #map(thread: number, mode: number, view: DataView, at: number): number {
    if (isGuestMode(mode)) return -1;
    const le = this.#le;
    const hi = at < 0 ? 0 : view.getInt32(le ? at + 4 : at, le);
    const lo = at < 0 ? 0 : view.getInt32(le ? at : at + 4, le);
    const map = this.#view.map(thread, mode, hi, lo);
    return map < 0 ? -1 : this.#view.mapName(map);
  }

  /** Finds the places of a sample that may have several. */
  #several(run: Run, i: number, shape: SampleShape, view: DataView): void {
    const { fields } = shape;
    const le = this.#le;
    const thread = run.thread[i] as number;
    const mode = (run.misc[i] as number) & PERF_RECORD_MISC_CPUMODE_MASK;
    const places = this.#places;
    places.nowHi = run.timeHi[i] as number;
    places.nowLo = run.timeLo[i] as number;
    const { chains, joined } = this.#needs;
    if (chains && !joined && shape.chain && fields !== undefined) {
      this.#chain(run, i, view, shape, fields.callchainLength);
    }
    if (shape.addr >= 0) {
      const at = (run.start[i] as number) + shape.addr;
      const hi = view.getInt32(le ? at + 4 : at, le);
      const lo = view.getInt32(le ? at : at + 4, le);
      run.addr[i] = places.find(thread, this.#addrMode(thread, mode, hi, lo), hi, lo);
    }
    const at = ipOf(shape, run.start[i] as number);
    if (at < 0) return;
    const hi = view.getInt32(le ? at + 4 : at, le);
    const lo = view.getInt32(le ? at : at + 4, le);
    const place = run.place[i] = places.find(thread, mode, hi, lo);
    const { stacks, frames } = this.#needs;
    if (stacks || frames) {
      const sample = this.#sample;
      sample.thread = thread;
      sample.mode = mode;
      sample.hi = hi;
      sample.lo = lo;
      sample.place = place;
      sample.view = view;
      sample.isUnwound = shape.isUnwound;
      sample.at = shape.chain && fields !== undefined ? fields.callchain : 0;
      sample.length = this.#userPart(run, i, shape, thread, view);
      if (frames && fields !== undefined) this.#list(run, shape);
      if (stacks) run.stack[i] = this.#stack(run, i, shape);
    }
    if (shape.branches && fields !== undefined) this.#branches(run, thread, view, fields);
  }

  /** The CPU mode whose mappings have the data: the kernel also accesses data of processes. */
  #addrMode(thread: number, mode: number, hi: number, lo: number): number {
    const machine = this.#view;
    const isHost = mode === PERF_RECORD_MISC_KERNEL || mode === PERF_RECORD_MISC_USER;
    if (!isHost || machine.map(thread, mode, hi, lo) >= 0) return mode;
    const other = mode === PERF_RECORD_MISC_USER ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    return machine.map(thread, other, hi, lo) >= 0 ? other : mode;
  }

  /**
   * Finds the user part of a sample's stack, if it is not in the chain, and stores it in `#user`.
   *
   * @returns The number of entries of the chain without it.
   */
  #userPart(run: Run, i: number, shape: SampleShape, thread: number, view: DataView): number {
    const { fields } = shape;
    const user = this.#user;
    user.count = 0;
    user.isExact = true;
    if (fields === undefined) return 0;
    const length = shape.chain ? fields.callchainLength : 0;
    let kernelLength = length;
    if (shape.elsewhere) {
      const { userChains } = this;
      userChains.find(thread, run.tid[i] as number, view, fields, shape.calls, user);
      kernelLength = userChains.kernelLength;
    }
    if (
      shape.unwind && user.count === 0 &&
      !this.#chains.hasUser(view, shape.chain ? fields.callchain : 0, length)
    ) {
      const event = run.event[i] as number;
      const { attr } = this.#events[event] as PerfEvent;
      this.unwind?.take(thread, event, attr, view, fields, user);
    }
    return kernelLength;
  }

  /** The stack of a sample: the chain, on top of the user part. */
  #stack(run: Run, i: number, shape: SampleShape): number {
    const { fields } = shape;
    const sample = this.#sample;
    const { mode, view, at, length } = sample;
    const chains = this.#chains;
    const outer = this.#user.node(this.#stacks, this.#needs.calls ? this.#places : undefined);
    if (this.#needs.joined && fields !== undefined) {
      // Drop a marker at the end of the chain: no entry follows it.
      const marked = shape.chain && length > 0 && chains.isMarker(view, at + 8 * (length - 1));
      const recorded = marked && outer >= 0 ? length - 1 : length;
      if (shape.chain) this.#chain(run, i, view, shape, recorded);
      if (outer >= 0) this.#joinUser(run, i);
    }
    return outer >= 0 && mode === PERF_RECORD_MISC_USER && this.#isEmpty(view, at, length)
      ? outer
      : chains.stack(sample, this.#moment, outer);
  }

  /**
   * Fills the frames of a sample. The sampled address comes first if the stack was copied and the
   * chain has no address.
   */
  #list(run: Run, shape: SampleShape): void {
    const sample = this.#sample;
    const { mode, view, at, length, place } = sample;
    const user = this.#user;
    let isFirst = false;
    if (shape.unwind && !this.#chains.hasAddress(view, at, length)) {
      const isUser = user.count > 0 && mode === PERF_RECORD_MISC_USER;
      if (!isUser || !this.#isEmpty(view, at, length)) isFirst = place >= 0;
    }
    this.#frames.add(run, sample, user, isFirst);
  }

  /** Whether a chain is empty or has only a marker. */
  #isEmpty(view: DataView, at: number, length: number): boolean {
    return length === 0 || (length === 1 && this.#chains.isMarker(view, at));
  }

  /** Appends the user part of a stack to its chain. */
  #joinUser(run: Run, i: number): void {
    const { count, places, words, isExact } = this.#user;
    const first = this.#chainCount;
    this.#roomForChain(run, count + 1);
    run.chains[first] = -1;
    run.chainWords[2 * first] = Number(BigInt.asIntN(32, PERF_CONTEXT_USER));
    run.chainWords[2 * first + 1] = -1;
    run.chains.set(places.subarray(0, count), first + 1);
    run.chainWords.set(words.subarray(0, 2 * count), 2 * first + 2);
    this.#chainCount = first + 1 + count;
    run.chainExact[i] = isExact ? first + 1 : this.#chainCount;
  }

  #roomForChain(run: Run, more: number): void {
    const need = this.#chainCount + more;
    if (need > run.chains.length) run.chains = enlarge(run.chains, need);
    if (this.#needs.joined && 2 * need > run.chainWords.length) {
      run.chainWords = enlarge(run.chainWords, 2 * need);
    }
  }

  /** Finds the places of the first `n` entries of a recorded call chain. */
  #chain(run: Run, i: number, view: DataView, shape: SampleShape, n: number): void {
    const { callchain = 0 } = shape.fields ?? {};
    let exact = -1;
    const le = this.#le;
    const thread = run.thread[i] as number;
    const { joined } = this.#needs;
    this.#roomForChain(run, n);
    const places = this.#places;
    let mode = (run.misc[i] as number) & PERF_RECORD_MISC_CPUMODE_MASK;
    for (let k = 0; k < n; k++) {
      const at = callchain + 8 * k;
      const hi = view.getInt32(le ? at + 4 : at, le);
      const lo = view.getInt32(le ? at : at + 4, le);
      const isMarker = isContextMarker(hi, lo);
      if (isMarker) mode = contextMode(lo);
      if (joined) {
        run.chainWords[2 * this.#chainCount] = lo;
        run.chainWords[2 * this.#chainCount + 1] = hi;
      }
      if (shape.isUnwound && exact < 0 && mode === PERF_RECORD_MISC_USER) exact = this.#chainCount;
      run.chains[this.#chainCount++] = isMarker || mode < 0
        ? -1
        : places.find(thread, mode, hi, lo);
    }
    run.chainExact[i] = exact < 0 ? this.#chainCount : exact;
  }

  /**
   * Whether a sample is of a process or thread outside of the filter, so that it counts for totals
   * only.
   */
  #isOthers(run: Run, i: number): boolean {
    const { pids, tids } = this.#filter;
    return (pids !== undefined && !pids.has(run.process[i] as number)) ||
      (tids !== undefined && !tids.has(run.tid[i] as number));
  }

  #passes(run: Run, i: number): boolean {
    const { events, cpus, time, records } = this.#filter;
    if (events !== undefined && !events.has(run.event[i] as number)) return false;
    if (cpus !== undefined && !cpus.has(run.cpu[i] as number)) return false;
    if (records !== undefined && !records.has(run.offset[i] as number)) return false;
    if (time === undefined) return true;
    const when = run.time(i);
    return when >= time[0] && when <= time[1];
  }

  #branches(run: Run, thread: number, view: DataView, fields: SampleFields): void {
    const le = this.#le;
    const n = 2 * fields.branchStackLength;
    if (this.#branchCount + n > run.branches.length) {
      run.branches = enlarge(run.branches, this.#branchCount + n);
      run.branchFlags = enlarge(run.branchFlags, run.branches.length >> 1);
    }
    const { branches, branchFlags } = run;
    const recent = this.#recent;
    recent.at(this.#moment);
    const highAt = le ? 4 : 0;
    let at = fields.branchStack;
    let count = this.#branchCount;
    for (let k = 0; k < n; k += 2, at += BRANCH_ENTRY.size) {
      const flags = view.getInt32(at + BRANCH_ENTRY.flags, le);
      branchFlags[count >> 1] = le ? flags & 0x3fffffff : fromFirstBit(flags);
      for (let end = 0; end < 2; end++) {
        const half = at + (end === 0 ? BRANCH_ENTRY.from : BRANCH_ENTRY.to);
        const hi = view.getInt32(half + highAt, le);
        const lo = view.getInt32(half + 4 - highAt, le);
        const mode = hi < 0 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
        branches[count++] = (hi | lo) === 0 ? -1 : recent.find(thread, mode, hi, lo);
      }
    }
    this.#branchCount = count;
  }
}

/** Converts flags of a big-endian recording, where the first field has the highest bits. */
function fromFirstBit(word: number): number {
  return word >>> 31 | (word >>> 30 & 1) << 1 | (word >>> 29 & 1) << 2 | (word >>> 28 & 1) << 3 |
    (word >>> 12 & 0xffff) << 4 | (word >>> 8 & 15) << 20 | (word >>> 6 & 3) << 24 |
    (word >>> 2 & 15) << 26;
}

/**
 * Offset of the address of a sample at `start`, whose fields were located; -1 if it has no address.
 */
function ipOf({ ip, offCpu }: SampleShape, start: number): number {
  if (offCpu !== undefined) return offCpu.ip;
  return ip < 0 ? -1 : start + ip;
}
