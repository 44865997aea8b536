import { type BlockCache, type FlowDecoder, FlowEvent, type PathTable } from "@perfdata/intel-pt";
import { InsnKind } from "@perfdata/intel-pt/x86";
import { isRealCall, offsetIn } from "@perfdata/intel-pt/flow";
import { enlarge } from "@perfdata/format/enlarge";
import { addressFromHalves } from "@perfdata/symbols/address";
import { CallEvents } from "./pt_call_events.ts";
import { CallLog, type CallRows, PLACE_ROWS } from "./pt_call_log.ts";
import { CALL_OP, CallOpReader, CallOps, OwnSums } from "./pt_call_part.ts";
import { CallStack, OpenPaths, PENDING, RESUMES } from "./pt_call_stack.ts";
import { CallTimeline, CallTree } from "./pt_call_tree.ts";
import { type LatencyPart, LatencyTable } from "./pt_latency.ts";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";
import type { PtBuffer, PtClock, PtPartSink } from "../decode/pt_run.ts";

/** Calls that are open at once at most; beyond that, the outer half is forgotten. */
const MAX_DEPTH = 1 << 16;
/**
 * Sums of time and cycles are of multiples of 2^-10: as long as they are below 2^43 (ns: two hours) they are exact,
 * and the same in whichever order they are added.
 */
const GRAIN = 1.5 * 2 ** 42;
const EXACT = 2 ** 43;
/**
 * Of stacks, one's instructions between two times may come in parts: it is the time of an instruction that is a
 * multiple, of 2^-16 ns, and sums are exact below 2^37.
 */
const SHARE_GRAIN = 1.5 * 2 ** 36;
const EXACT_STACK = 2 ** 37;
/** Distances from the end of a call to its opcode: E8, or FF of an indirect call by its kinds of operand. */
const DIRECT_CALL = 5;
const INDIRECT_CALLS = [2, 3, 4, 6, 7];
/** A multiple of 2^-10 next to a number. */
function grained(value: number): number {
  return value + GRAIN - GRAIN;
}

/** What a {@linkcode PtCalls} found in a range of a buffer. */
export interface CallPart {
  /** By place: its number, instructions, ns, core clocks. */
  readonly places: Float64Array<ArrayBuffer>;
  /** Places that were met. */
  readonly met: Int32Array<ArrayBuffer>;
  /** What was counted of calls, by row. */
  readonly latency: LatencyPart;
  /** A place of each row that is named in it: row, place. */
  readonly rows: Float64Array<ArrayBuffer>;
  /** Time and instructions that depend on what is open; see {@linkcode OwnSums}. */
  readonly own: Float64Array<ArrayBuffer>;
  /** What depends on what came before; see {@linkcode CallOps}. */
  readonly ops: Float64Array<ArrayBuffer>;
  /** What was executed by stack, from where each operation SUMS was on; `undefined` where more is to come. */
  readonly tree: Float64Array<ArrayBuffer> | undefined;
  /** Whether a guest ran: operations do not say whose code it is. */
  readonly hasGuest: boolean;
  /** Instructions and time in all. */
  readonly insns: number;
  /** See there. */
  readonly time: number;
}

/**
 * Only one thread can do it: so many calls are open that the outer ones have to be forgotten, times are so long
 * (damaged ones are) that sums are not exact, or a guest ran, whose code is another.
 */
export class OneThreadOnly extends Error {}

/** Which part of a trace counts. */
export interface CallFilter {
  /** Only these threads. */
  readonly tids?: ReadonlySet<number> | undefined;
  /** Only from this time on, ns. */
  readonly from?: number;
  /** Only up to this time, ns. */
  readonly to?: number;
}

/**
 * Calls and returns of each thread with their times, and instructions and time of each place.
 *
 * A call is a near CALL; where the kernel is traced, also a system call and an interrupt. A signal handler
 * is one where it begins after the kernel was left somewhere else than it was entered. A jump to
 * another function (tail call) counts for the function that was called.
 */
export class PtCalls implements PtPartSink<CallPart> {
  /** Calls and returns since they were cleared last, where they are asked for: then there are no sums. */
  readonly events: CallEvents | undefined;
  /** What was executed by stack, where it is asked for. */
  readonly tree: CallTree | undefined;
  /** Which node was innermost when, where it is asked for. */
  readonly timeline: CallTimeline | undefined;
  /** Durations of all calls, by row: see `rows` of the constructor. */
  readonly latency: LatencyTable = new LatencyTable();
  /** Instructions executed, by place. */
  insnsOf: Float64Array = new Float64Array(1024);
  /** Time spent in the place itself, ns. */
  timeOf: Float64Array = new Float64Array(1024);
  /** Core clocks of the place itself, where the trace has CYC packets. */
  cyclesOf: Float64Array = new Float64Array(1024);
  /** Instructions in all. */
  insns = 0;
  /** 1 for each place that was met, where parts are made or joined: others may be of what was decoded twice. */
  met: Uint8Array = new Uint8Array(1024);
  /** Time in all that was given to instructions, ns. */
  time = 0;

  readonly #code: PtCode;
  readonly #clock: PtClock;
  readonly #filter: CallFilter;
  readonly #stacks = new Map<number, CallStack>();
  readonly #log: CallLog;
  readonly #rows: CallRows;
  readonly #open = new Map<number, OpenPaths>();
  /** Place of each block, or -1. */
  #blockPlace = new Int32Array(0);
  /** Of each path: 0 not known yet, 1 no calls, 2 calls. */
  #pathKind = new Uint8Array(0);
  /** How each block ends: {@linkcode PENDING}; known where a path with it was met. */
  #blockEnd = new Uint8Array(0);
  /** By return address: the number of a call, for jumps that end frames (longjmp). */
  readonly #sites = new Map<number, number>();
  readonly #siteAddress: number[] = [];
  /** By block that ends with a call: the number of the call, + 1. */
  #blockSite = new Int32Array(0);
  /** Of each block whether what is before it may be a call: 1 no, 2 yes; 0 not known yet. */
  #blockAfterCall = new Uint8Array(0);
  /** What others have to decide who know what came before; only where there are others. */
  readonly #ops: CallOps | undefined;
  readonly #own: OwnSums | undefined;
  /** Number of the next operation SUMS. */
  #handed = 0;
  /** Whose calls the operations are of. */
  #current: CallStack | undefined;
  #blocks: BlockCache | undefined;
  #paths: PathTable | undefined;
  #idle: (() => Promise<void> | void) | undefined;
  /** Whether times, instructions and latencies are added up. */
  readonly #sums: boolean;
  /** Whether the present moment is in the part that counts. */
  #counts = true;
  /** Whether a guest ran since a part was handed out. */
  #hasGuest = false;

  /**
   * Makes a sink for `decodePt`.
   *
   * @param options With `idle`, which is called between packets, there are `events`, to be used and
   *   cleared then, in place of sums: places, {@linkcode PtCalls.latency} and the tree stay empty.
   */
  constructor(
    code: PtCode,
    clock: PtClock,
    options: {
      readonly filter?: CallFilter;
      readonly idle?: () => Promise<void> | void;
      /** What {@linkcode PtCalls.latency} is counted by; by place otherwise. */
      readonly rows?: CallRows;
      /** Whether to fill {@linkcode PtCalls.tree}. */
      readonly tree?: boolean;
      /** Whether to fill {@linkcode PtCalls.timeline}, which grows with the calls. */
      readonly timeline?: boolean;
      /** Whether others have what comes before; see {@linkcode PtCalls.takePart}. */
      readonly part?: boolean;
    } = {},
  ) {
    this.tree = options.tree === true ? new CallTree() : undefined;
    this.timeline = options.timeline === true ? new CallTimeline() : undefined;
    this.#code = code;
    this.#clock = clock;
    this.#filter = options.filter ?? {};
    this.#idle = options.idle;
    this.#rows = options.rows ?? PLACE_ROWS;
    const { from = -Infinity, to = Infinity } = this.#filter;
    if (options.part === true) {
      this.#ops = new CallOps();
      this.#own = new OwnSums();
    }
    this.#log = new CallLog({ rows: this.#rows, latency: this.latency, from, to, own: this.#own });
    this.#sums = options.idle === undefined;
    this.events = options.idle === undefined ? undefined : new CallEvents();
  }

  /** Lets the caller use the events, or counts the calls. */
  async idle(): Promise<void> {
    await this.#idle?.();
    if (!this.#sums) return;
    await this.#rows.resolve();
    this.#log.settle();
  }

  /** Gives up what is kept by block and path. */
  forget(): void {
    for (const open of this.#open.values()) this.#keepPlaces(open);
    this.#blockPlace.fill(-1);
    this.#blockSite.fill(0);
    this.#blockAfterCall.fill(0);
    this.#pathKind.fill(0);
  }

  /** Another thread: its time begins now. */
  thread(buffer: PtBuffer): void {
    this.#hasGuest ||= buffer.code.isGuest;
    const open = this.#openPaths(buffer.index);
    this.#fold(open, 0, 0);
    open.time = buffer.position < 0 ? -1 : buffer.position;
    open.cycles = buffer.cycles;
    if (open.stack !== undefined && open.stack.tid !== buffer.tid) {
      this.#since(open.stack, open.time);
      open.stack.nodeSince = -1;
    }
    // It may run on another CPU from here on.
    open.stack = undefined;
  }

  /** Takes paths and events. */
  flow(buffer: PtBuffer, run: FlowDecoder): void {
    const { tids, from = -Infinity, to = Infinity } = this.#filter;
    if (tids !== undefined && !tids.has(buffer.tid)) return;
    const { entries, count, paths, blocks } = run;
    this.#blocks = blocks;
    this.#paths = paths;
    const stack = this.#stack(buffer);
    const open = this.#openPaths(buffer.index);
    this.#room(blocks, paths, open);
    this.#runsOn(stack, open);
    let now = open.time;
    if (stack.nodeSince < 0) stack.nodeSince = now;
    let counts = now < 0 || (now >= from && now <= to);
    this.#counts = counts;
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
          this.#run(stack, open, cycles, passed, share);
          if (time >= 0) open.time = now = time;
          counts = now >= from && now <= to;
          this.#counts = counts;
        }
        this.#event(buffer, stack, run, event, now, counts);
        continue;
      }
      if (this.#pathKind[path] === 0) this.#newPath(buffer, path);
      if (counts && this.#sums) {
        if (open.count[path] === 0) open.touched.push(path);
        open.count[path] = (open.count[path] as number) + 1;
      }
      const first = paths.start[path] as number;
      if (stack.pending !== PENDING.NONE) {
        this.#resolveBlock(buffer, stack, paths.blocks[first] as number, now, counts);
      }
      if (stack.base < 0) this.#setBase(buffer, stack, paths.blocks[first] as number);
      if (this.#pathKind[path] === 1) {
        stack.insns += paths.insns[path] as number;
        continue;
      }
      const end = paths.start[path + 1] as number;
      for (let k = first; k < end; k++) {
        const block = paths.blocks[k] as number;
        if (k > first && stack.pending !== PENDING.NONE) {
          this.#resolveBlock(buffer, stack, block, now, counts);
        }
        stack.insns += blocks.insns[block] as number;
        this.#pend(stack, block);
      }
    }
  }

  /** Ends what is open when the trace ends. */
  finish(): void {
    const { from = -Infinity, to = Infinity } = this.#filter;
    for (const stack of this.#stacks.values()) {
      let now = -1;
      for (const open of this.#open.values()) now = Math.max(now, open.time);
      const counts = now < 0 || (now >= from && now <= to);
      while (stack.depth > 0) this.#pop(stack.tid, -1, stack, 2, now, counts);
      this.#since(stack, now);
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

  /** Makes room for all blocks and paths. */
  #room(blocks: BlockCache, paths: PathTable, open: OpenPaths): void {
    if (this.#blockPlace.length < blocks.count) {
      const places = new Int32Array(2 * blocks.count).fill(-1);
      places.set(this.#blockPlace);
      this.#blockPlace = places;
      this.#blockSite = enlarge(this.#blockSite, places.length);
      this.#blockEnd = enlarge(this.#blockEnd, places.length);
      this.#blockAfterCall = enlarge(this.#blockAfterCall, places.length);
    }
    if (this.#pathKind.length < paths.count) {
      this.#pathKind = enlarge(this.#pathKind, paths.count);
    }
    if (open.count.length < paths.count) open.count = enlarge(open.count, paths.count);
  }

  /** Looks at a path that was not met before. */
  #newPath(buffer: PtBuffer, path: number): void {
    const blocks = this.#blocks as BlockCache;
    const { start, blocks: of } = this.#paths as PathTable;
    let kind = 1;
    for (let k = start[path] as number; k < (start[path + 1] as number); k++) {
      const block = of[k] as number;
      this.#meet(this.#placeOf(buffer, block));
      const end = this.#blockEnd[block] = pendingOf(blocks, block);
      if (end !== PENDING.NONE) kind = 2;
    }
    this.#pathKind[path] = kind;
  }

  #placeAt(code: ThreadCode, low: number, high: number): number {
    const place = this.#code.place(code, low, high);
    this.#meet(place);
    return place;
  }

  #meet(place: number): void {
    if (place >= this.met.length) this.met = enlarge(this.met, place + 1);
    this.met[place] = 1;
  }

  #placeOf(buffer: PtBuffer, block: number): number {
    const known = this.#blockPlace[block] as number;
    if (known >= 0) return known;
    const blocks = this.#blocks as BlockCache;
    const low = blocks.low[block] as number;
    return this.#blockPlace[block] = this.#placeAt(
      buffer.code,
      low,
      blocks.high[block] as number,
    );
  }

  /** A thread runs on a buffer's CPU, and no longer on another. */
  #runsOn(stack: CallStack, open: OpenPaths): void {
    const before = stack.open;
    open.stack = stack;
    if (before === open) return;
    stack.open = open;
    if (before?.stack !== stack) return;
    this.#noteNode(stack, before);
    before.stack = undefined;
  }

  /** The thread no longer runs what is traced. */
  #off(open: OpenPaths): void {
    this.#fold(open, 0, 0);
    open.isOn = false;
  }

  /** It runs again: cycles count from here on. */
  #on({ index }: PtBuffer, run: FlowDecoder, event: number): void {
    const open = this.#openPaths(index);
    open.isOn = true;
    open.cycles = run.cycles[event] as number;
  }

  /** Time has passed, and cycles, of which a share is in the part that counts. */
  #run(stack: CallStack, open: OpenPaths, cycles: number, time: number, share: number): void {
    const passed = open.isOn ? grained(share * (cycles - open.cycles)) : 0;
    open.cycles = cycles;
    stack.cycles += passed;
    this.#fold(open, time, passed);
  }

  /** Counts the paths since the last time, and divides time and cycles among them by their instructions. */
  #fold(open: OpenPaths, time: number, cycles: number): void {
    const { tree } = this;
    const { touched, count } = open;
    if (tree !== undefined && open.stack !== undefined) this.#noteNode(open.stack, open);
    if (touched.length === 0 && open.places.length === 0) return;
    const paths = this.#paths as PathTable;
    const blocks = this.#blocks as BlockCache;
    let total = 0;
    for (let i = 1; i < open.places.length; i += 2) total += open.places[i] as number;
    for (const path of touched) total += (count[path] as number) * (paths.insns[path] as number);
    const share = total === 0 ? 0 : time / total;
    const clocks = total === 0 ? 0 : cycles / total;
    const places = this.#code.table.count;
    if (this.insnsOf.length < places) {
      this.insnsOf = enlarge(this.insnsOf, places);
      this.timeOf = enlarge(this.timeOf, places);
      this.cyclesOf = enlarge(this.cyclesOf, places);
    }
    for (const path of touched) {
      const times = count[path] as number;
      count[path] = 0;
      for (let k = paths.start[path] as number; k < (paths.start[path + 1] as number); k++) {
        const block = paths.blocks[k] as number;
        const place = this.#blockPlace[block] as number;
        const insns = times * (blocks.insns[block] as number);
        this.insnsOf[place] = (this.insnsOf[place] as number) + insns;
        this.timeOf[place] = (this.timeOf[place] as number) + grained(insns * share);
        this.cyclesOf[place] = (this.cyclesOf[place] as number) + grained(insns * clocks);
      }
    }
    touched.length = 0;
    for (let i = 0; i < open.places.length; i += 2) {
      const place = open.places[i] as number;
      const insns = open.places[i + 1] as number;
      this.insnsOf[place] = (this.insnsOf[place] as number) + insns;
      this.timeOf[place] = (this.timeOf[place] as number) + grained(insns * share);
      this.cyclesOf[place] = (this.cyclesOf[place] as number) + grained(insns * clocks);
    }
    open.places.length = 0;
    const stackShare = share + SHARE_GRAIN - SHARE_GRAIN;
    for (const node of open.nodes) {
      const insns = open.nodeInsns[node] as number;
      open.nodeInsns[node] = 0;
      if (tree === undefined) continue;
      tree.insns[node] = (tree.insns[node] as number) + insns;
      tree.time[node] = (tree.time[node] as number) + insns * stackShare;
    }
    open.nodes.length = 0;
    this.insns += total;
    this.time += total === 0 ? 0 : time;
  }

  /** Keeps the instructions of paths that still wait for their time. */
  #keepPlaces({ touched, count, places }: OpenPaths): void {
    if (touched.length === 0) return;
    const { start, blocks: of } = this.#paths as PathTable;
    const { insns } = this.#blocks as BlockCache;
    for (const path of touched) {
      const times = count[path] as number;
      count[path] = 0;
      for (let k = start[path] as number; k < (start[path + 1] as number); k++) {
        const block = of[k] as number;
        places.push(this.#blockPlace[block] as number, times * (insns[block] as number));
      }
    }
    touched.length = 0;
  }

  /** Gives the instructions since the last change of the stack to the node that was innermost. */
  #noteNode(stack: CallStack, open: OpenPaths): void {
    const insns = stack.insns - stack.noted;
    stack.noted = stack.insns;
    const { node } = stack;
    if (insns <= 0 || node < 0 || !this.#counts) return;
    if (node >= open.nodeInsns.length) open.nodeInsns = enlarge(open.nodeInsns, node + 1);
    if (open.nodeInsns[node] === 0) open.nodes.push(node);
    open.nodeInsns[node] = (open.nodeInsns[node] as number) + insns;
  }

  /** Another node is innermost from now on. */
  #since(stack: CallStack, now: number): void {
    const { node, nodeSince } = stack;
    if (now < 0) return;
    if (node >= 0 && nodeSince >= 0 && now > nodeSince && this.#counts) {
      this.timeline?.add(stack.tid, node, nodeSince, now);
    }
    stack.nodeSince = now;
  }

  /** The stack begins with what runs now. */
  #setBase(buffer: PtBuffer, stack: CallStack, block: number): void {
    const { low, high } = this.#blocks as BlockCache;
    if (this.#ops === undefined) this.#base(buffer, stack, this.#placeOf(buffer, block));
    else {
      stack.base = 0;
      if (this.tree === undefined) return;
      this.#handOver(this.#ops, stack);
      this.#ops.add(
        CALL_OP.BASE,
        low[block] as number,
        high[block] as number,
        -1,
        stack.insns,
        stack.cycles,
        0,
      );
    }
  }

  #base(buffer: PtBuffer, stack: CallStack, place: number): void {
    stack.base = place;
    if (this.tree === undefined) return;
    this.#noteNode(stack, this.#openPaths(buffer.index));
    if (stack.depth === 0) stack.node = this.tree.node(-1, stack.base, stack.tid);
  }

  /** Notes how a block ends. */
  #pend(stack: CallStack, block: number): void {
    const pending = this.#blockEnd[block] as number;
    stack.pending = pending;
    if (pending !== PENDING.CALL && pending !== PENDING.LEAVE) return;
    const blocks = this.#blocks as BlockCache;
    stack.pendingBlock = block;
    stack.pendingLow = (blocks.low[block] as number) + (blocks.size[block] as number) | 0;
    stack.pendingHigh = blocks.endHigh(block);
  }

  /** Execution goes on at a block after a call, return or jump. */
  #resolveBlock(
    buffer: PtBuffer,
    stack: CallStack,
    block: number,
    now: number,
    counts: boolean,
  ): void {
    const { low, high } = this.#blocks as BlockCache;
    this.#resolve(buffer, stack, low[block] as number, high[block] as number, block, now, counts);
  }

  /** Execution goes on at an address after a call, return or jump; `block` is -1 where none begins. */
  #resolve(
    buffer: PtBuffer,
    stack: CallStack,
    low: number,
    high: number,
    block: number,
    now: number,
    counts: boolean,
  ): void {
    const { pending } = stack;
    stack.pending = PENDING.NONE;
    switch (pending) {
      case PENDING.NONE:
        return;
      case PENDING.UNKNOWN:
        return this.#defer(CALL_OP.GO_ON, stack, low, high, now, counts);
      case PENDING.JUMP:
        return this.#jump(buffer, stack, low, high, block, now, counts);
      case PENDING.CALL:
      case PENDING.LEAVE: {
        if (pending === PENDING.CALL) this.#noteSite(stack);
        const place = block < 0
          ? this.#placeAt(buffer.toCode, low, high)
          : this.#placeOf(buffer, block);
        this.#push(buffer, stack, place, stack.pendingLow, stack.pendingHigh, now, counts);
        return;
      }
      default: {
        const frames = stack.returnsTo(low, high);
        if (frames > 0) this.#popFrames(buffer, stack, frames, now, counts);
        else if (stack.isOpenBelow) this.#defer(CALL_OP.RETURN, stack, low, high, now, counts);
      }
    }
  }

  /** Where others have what comes before: hands over what is open, and what is to be done with it. */
  #defer(
    kind: number,
    stack: CallStack,
    low: number,
    high: number,
    now: number,
    counts: boolean,
  ): void {
    if (this.#ops === undefined) return;
    this.#handOver(this.#ops, stack);
    this.#ops.add(kind, low, high, now, stack.insns, stack.cycles, counts ? 1 : 0);
  }

  /** Hands over the calls that are open. */
  #handOver(ops: CallOps, stack: CallStack): void {
    const { tree } = this;
    if (tree === undefined && stack.peak === 0 && stack.sites.length === 0) return;
    const number = this.#handed++;
    if (stack.open !== undefined) this.#noteNode(stack, stack.open);
    ops.add(CALL_OP.SUMS, 0, 0, -1, stack.insns, stack.cycles, number, stack.peak);
    this.#log.handOver(stack.number, number);
    for (const site of new Set(stack.sites)) {
      const address = this.#siteAddress[site] as number;
      ops.add(CALL_OP.SITE, 0, 0, address, stack.insns, stack.cycles, stack.depthOf(site));
    }
    for (let n = 0; n < stack.depth; n++) {
      ops.add(
        CALL_OP.FRAME,
        stack.returnLow[n] as number,
        stack.returnHigh[n] as number,
        stack.since[n] as number,
        stack.sinceInsns[n] as number,
        stack.sinceCycles[n] as number,
        stack.place[n] as number,
      );
    }
    stack.empty();
    if (tree !== undefined) stack.node = tree.add(-1, this.#handed, stack.tid);
  }

  /** Remembers who made a call, and how deep. */
  #noteSite(stack: CallStack): void {
    const { pendingBlock } = stack;
    let site = pendingBlock < 0 ? -1 : (this.#blockSite[pendingBlock] as number) - 1;
    if (site < 0) {
      site = this.#siteOf(addressFromHalves(stack.pendingHigh, stack.pendingLow));
      if (pendingBlock >= 0) this.#blockSite[pendingBlock] = site + 1;
    }
    if (this.#ops !== undefined && stack.depthOf(site) < 0) stack.sites.push(site);
    stack.noteSite(site, stack.depth);
  }

  /** The number of the call before an address. */
  #siteOf(address: number): number {
    let site = this.#sites.get(address);
    if (site === undefined) {
      site = this.#siteAddress.push(address) - 1;
      this.#sites.set(address, site);
    }
    return site;
  }

  /**
   * An indirect jump: where it goes to the return address of a call that this thread made before, it is
   * longjmp to its setjmp, and ends all calls since.
   */
  #jump(
    buffer: PtBuffer,
    stack: CallStack,
    low: number,
    high: number,
    block: number,
    now: number,
    counts: boolean,
  ): void {
    const site = this.#sites.get(addressFromHalves(high, low));
    const depth = site === undefined ? -1 : stack.depthOf(site);
    if (depth < 0) {
      if (this.#ops !== undefined && this.#isAfterCall(buffer, low, high, block)) {
        this.#defer(CALL_OP.JUMP, stack, low, high, now, counts);
      }
      return;
    }
    const cpu = buffer.stream.cpu ?? -1;
    while (stack.depth > depth) this.#pop(buffer.tid, cpu, stack, 2, now, counts);
  }

  /** Whether what is before an address may be a call. */
  #isAfterCall(buffer: PtBuffer, low: number, high: number, block: number): boolean {
    const known = block < 0 ? 0 : this.#blockAfterCall[block] as number;
    if (known !== 0) return known === 2;
    const may = mayFollowCall(buffer.code, low, high) ||
      this.#code.isPokedBefore(addressFromHalves(high, low), 8);
    if (block >= 0) this.#blockAfterCall[block] = may ? 2 : 1;
    return may;
  }

  #push(
    buffer: PtBuffer,
    stack: CallStack,
    place: number,
    low: number,
    high: number,
    now: number,
    counts: boolean,
  ): void {
    if (stack.depth === MAX_DEPTH) this.#forgetOldest(stack);
    if (counts) {
      this.events?.add(
        0,
        buffer.tid,
        buffer.stream.cpu ?? -1,
        stack.depth,
        place,
        now,
        -1,
        0,
        0,
      );
    }
    stack.push(place, low, high, now);
    if (this.#sums) this.#log.call(stack.number, place);
    const { tree } = this;
    if (tree === undefined) return;
    this.#noteNode(stack, this.#openPaths(buffer.index));
    this.#since(stack, now);
    stack.node = tree.node(stack.node, place, stack.tid);
  }

  /** So many calls are open that most will not return: the outer half are calls without an end. */
  #forgetOldest(stack: CallStack): void {
    for (let i = 0; this.#sums && i < stack.depth >> 1; i++) {
      this.#log.end(2, stack.number, stack.place[i] as number, -1, -1, 0, true);
    }
    stack.forgetOldest();
  }

  #popFrames(
    buffer: PtBuffer,
    stack: CallStack,
    frames: number,
    now: number,
    counts: boolean,
  ): void {
    for (let n = frames; n > 0; n--) {
      // All but the last were passed by.
      this.#pop(buffer.tid, buffer.stream.cpu ?? -1, stack, n === 1 ? 1 : 2, now, counts);
    }
  }

  #pop(
    tid: number,
    cpu: number,
    stack: CallStack,
    kind: number,
    now: number,
    counts: boolean,
  ): void {
    const { tree } = this;
    if (tree !== undefined && stack.node >= 0) {
      if (stack.open !== undefined) this.#noteNode(stack, stack.open);
      this.#since(stack, now);
      stack.node = tree.parent[stack.node] as number;
    }
    const n = --stack.depth;
    const place = stack.place[n] as number;
    const since = stack.since[n] as number;
    const duration = since < 0 || now < 0 ? -1 : now - since;
    const insns = stack.insns - (stack.sinceInsns[n] as number);
    if (this.#sums) this.#log.end(kind, stack.number, place, since, now, insns, counts);
    const cycles = stack.cycles - (stack.sinceCycles[n] as number);
    if (counts) this.events?.add(kind, tid, cpu, n, place, now, duration, insns, cycles);
  }

  #event(
    buffer: PtBuffer,
    stack: CallStack,
    run: FlowDecoder,
    event: number,
    now: number,
    counts: boolean,
  ): void {
    const low = run.ipLow[event] as number;
    const high = run.ipHigh[event] as number;
    switch (run.kind[event]) {
      case FlowEvent.DISABLED:
        // Time that is spent elsewhere belongs to nothing here.
        this.#off(this.#openPaths(buffer.index));
        if (((run.detail[event] as number) & 2) !== 0) {
          // The way there was gone, though nothing was executed.
          this.#resolve(buffer, stack, low, high, -1, now, counts);
          stack.resumes = RESUMES.YES;
          stack.resumeLow = low;
          stack.resumeHigh = high;
          stack.pending = PENDING.NONE;
        } else this.#leave(stack);
        break;
      case FlowEvent.SYNC:
        this.#on(buffer, run, event);
        break;
      case FlowEvent.ENABLED: {
        this.#on(buffer, run, event);
        this.#resume(buffer, stack, low, high, now, counts);
        break;
      }
      case FlowEvent.ASYNC: {
        this.#resolve(buffer, stack, low, high, -1, now, counts);
        const place = this.#placeAt(
          buffer.toCode,
          run.low[event] as number,
          run.high[event] as number,
        );
        this.#push(buffer, stack, place, low, high, now, counts);
        stack.pending = PENDING.NONE;
        break;
      }
      case FlowEvent.ERROR:
        stack.pending = PENDING.NONE;
        stack.resumes = RESUMES.NO;
    }
  }

  /** Tracing ends, by what the last block did. */
  #leave(stack: CallStack): void {
    const { pending } = stack;
    stack.pending = PENDING.NONE;
    if (pending === PENDING.LEAVE) {
      stack.resumes = RESUMES.YES;
      stack.resumeLow = stack.pendingLow;
      stack.resumeHigh = stack.pendingHigh;
    } else if (pending === PENDING.UNKNOWN) {
      stack.resumes = RESUMES.UNKNOWN;
      this.#ops?.add(CALL_OP.DISABLED, 0, 0, -1, stack.insns, stack.cycles, 0);
    } else stack.resumes = RESUMES.NO;
  }

  /** Tracing begins again at an address: where it was left, after a return, or in a handler. */
  #resume(
    buffer: PtBuffer,
    stack: CallStack,
    low: number,
    high: number,
    now: number,
    counts: boolean,
  ): void {
    const { resumes, resumeLow, resumeHigh } = stack;
    if (resumes === RESUMES.UNKNOWN) {
      return this.#defer(CALL_OP.ENABLED, stack, low, high, now, counts);
    }
    if (resumes === RESUMES.NO || (low === resumeLow && high === resumeHigh)) return;
    const frames = stack.returnsTo(low, high);
    if (frames > 0) this.#popFrames(buffer, stack, frames, now, counts);
    else if (this.#ops !== undefined && stack.isOpenBelow) {
      this.#handOver(this.#ops, stack);
      this.#ops.add(CALL_OP.RESUMES, resumeLow, resumeHigh, -1, stack.insns, stack.cycles, resumes);
      this.#defer(CALL_OP.ENABLED, stack, low, high, now, counts);
    } else {
      const place = this.#placeAt(buffer.code, low, high);
      this.#push(buffer, stack, place, resumeLow, resumeHigh, now, counts);
    }
  }

  /** Where others have what comes before: what follows may come after what they have of other buffers. */
  step(buffer: PtBuffer): void {
    if (this.#ops === undefined) return;
    this.#endStep(this.#ops);
    const stack = this.#current = this.#stack(buffer);
    this.#restart(stack);
    this.#ops.add(CALL_OP.STEP, 0, 0, buffer.position, 0, 0, buffer.tid);
  }

  /** Nothing is known of what a thread has called. */
  #restart(stack: CallStack): void {
    stack.restart();
    if (this.tree !== undefined) stack.node = this.tree.add(-1, this.#handed, stack.tid);
  }

  /** Hands over the calls of the thread that ran. */
  #endStep(ops: CallOps): void {
    const stack = this.#current;
    if (stack === undefined) return;
    this.#handOver(ops, stack);
    const { insns, cycles, pending, resumes } = stack;
    ops.add(
      CALL_OP.LEFT,
      stack.pendingLow,
      stack.pendingHigh,
      -1,
      insns,
      cycles,
      pending === PENDING.UNKNOWN ? -1 : pending,
    );
    if (resumes === RESUMES.UNKNOWN) return;
    ops.add(CALL_OP.RESUMES, stack.resumeLow, stack.resumeHigh, -1, insns, cycles, resumes);
  }

  /** See `PtPartSink`; `undefined` where what was executed still waits for its time. */
  stateOf(buffer: PtBuffer): number[] | undefined {
    const open = this.#openPaths(buffer.index);
    // Without times and cycles there is nothing to wait for.
    if (!this.#clock.known && buffer.cycles === 0) this.#fold(open, 0, 0);
    if (open.touched.length + open.places.length > 0) return undefined;
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
  }

  /**
   * Hands out what was found since the call before, where others have what comes before.
   *
   * @param isEnd Whether nothing follows.
   */
  async takePart(buffer: PtBuffer, isEnd = false): Promise<CallPart> {
    const ops = this.#ops as CallOps;
    if (isEnd) this.#fold(this.#openPaths(buffer.index), 0, 0);
    this.#endStep(ops);
    await this.idle();
    const { latency: of, insns, time } = this;
    const own = (this.#own as OwnSums).take();
    const latency = of.take();
    const places: number[] = [];
    for (let place = 0; place < this.insnsOf.length; place++) {
      if (this.insnsOf[place] === 0) continue;
      places.push(
        place,
        this.insnsOf[place] as number,
        this.timeOf[place] as number,
        this.cyclesOf[place] as number,
      );
    }
    for (const sums of [this.insnsOf, this.timeOf, this.cyclesOf]) sums.fill(0);
    this.insns = this.time = 0;
    const rows: number[] = [];
    for (let place = 0, seen = new Set<number>(); place < this.#code.table.count; place++) {
      const row = this.#rows.of(place) ?? -1;
      if (row >= 0 && !seen.has(row)) {
        seen.add(row);
        rows.push(row, place);
      }
    }
    const met: number[] = [];
    for (let place = 0; place < this.met.length; place++) {
      if (this.met[place] === 1) met.push(place);
    }
    // Paths that were met before are met anew in the next range.
    this.met.fill(0);
    this.#pathKind.fill(0);
    // What still waits for its time is of this part.
    const waits = this.#openPaths(buffer.index).nodes.length > 0;
    const part = {
      places: Float64Array.from(places),
      tree: waits ? undefined : this.tree?.take(),
      met: Int32Array.from(met),
      latency,
      rows: Float64Array.from(rows),
      own,
      ops: ops.take(),
      hasGuest: this.#hasGuest,
      insns,
      time,
    };
    this.#hasGuest = buffer.code.isGuest;
    this.#openPaths(buffer.index).stack = undefined;
    // The thread that runs goes on, but nobody here knows what it has called.
    this.#current = this.#stack(buffer);
    this.#restart(this.#current);
    return part;
  }

  /**
   * Adds the sums of a part; its operations are still to be applied.
   *
   * @param placeOf The place here of one there.
   * @param roots Takes the nodes of the tree that its operations begin at.
   */
  join(part: CallPart, placeOf: Int32Array, roots: Map<number, number>): JoinedCalls {
    const { table } = this.#code;
    if (this.insnsOf.length < table.count) {
      this.insnsOf = enlarge(this.insnsOf, table.count);
      this.timeOf = enlarge(this.timeOf, table.count);
      this.cyclesOf = enlarge(this.cyclesOf, table.count);
    }
    const { places } = part;
    for (let i = 0; i < places.length; i += 4) {
      const place = placeOf[places[i] as number] as number;
      this.insnsOf[place] = (this.insnsOf[place] as number) + (places[i + 1] as number);
      this.timeOf[place] = (this.timeOf[place] as number) + (places[i + 2] as number);
      this.cyclesOf[place] = (this.cyclesOf[place] as number) + (places[i + 3] as number);
    }
    for (const place of part.met) this.#meet(placeOf[place] as number);
    this.insns += part.insns;
    this.time += part.time;
    const rowOf = new Map<number, number>();
    for (let i = 0; i < part.rows.length; i += 2) {
      const place = placeOf[part.rows[i + 1] as number] as number;
      rowOf.set(part.rows[i] as number, this.#rows.of(place) as number);
    }
    this.latency.join(part.latency, (row) => rowOf.get(row) as number);
    return new JoinedCalls(part, placeOf, rowOf, roots);
  }

  /**
   * Applies the operations of a step.
   *
   * @param buffer Who runs, where and when.
   * @throws {OneThreadOnly} Where one thread has to do all.
   */
  apply(calls: JoinedCalls, buffer: PtBuffer): void {
    const { tids } = this.#filter;
    const { ops } = calls;
    if (tids !== undefined && !tids.has(buffer.tid)) {
      while (ops.following > CALL_OP.STEP) ops.next();
      return;
    }
    const stack = this.#stack(buffer);
    const { insns, cycles } = stack;
    while (ops.following > CALL_OP.STEP && ops.next()) {
      const { low, high, time, a } = ops;
      stack.insns = insns + ops.insns;
      stack.cycles = cycles + ops.cycles;
      switch (ops.kind) {
        case CALL_OP.SUMS:
          if (stack.depth + ops.b > MAX_DEPTH) throw new OneThreadOnly();
          calls.roots.set(a, stack.node);
          calls.own(a, (row, ns, own) => {
            if (!this.#log.isOpen(stack.number, row)) this.latency.addOwn(row, ns, own);
          });
          break;
        case CALL_OP.SITE:
          stack.noteSite(this.#siteOf(time), stack.depth + a);
          break;
        case CALL_OP.FRAME: {
          const place = calls.placeOf[a] as number;
          stack.push(place, low, high, time);
          this.#log.call(stack.number, place);
          if (this.tree !== undefined) stack.node = this.tree.node(stack.node, place, stack.tid);
          break;
        }
        case CALL_OP.BASE:
          if (stack.base < 0) {
            this.#base(buffer, stack, this.#placeAt(buffer.code, low, high));
          }
          break;
        case CALL_OP.GO_ON:
          this.#resolve(buffer, stack, low, high, -1, time, a === 1);
          break;
        case CALL_OP.RETURN:
          this.#popFrames(buffer, stack, stack.returnsTo(low, high), time, a === 1);
          break;
        case CALL_OP.JUMP:
          this.#jump(buffer, stack, low, high, -1, time, a === 1);
          break;
        case CALL_OP.ENABLED:
          this.#resume(buffer, stack, low, high, time, a === 1);
          break;
        case CALL_OP.DISABLED:
          this.#leave(stack);
          break;
        case CALL_OP.LEFT:
          if (a < 0) break;
          stack.pending = a;
          stack.pendingBlock = -1;
          stack.pendingLow = low;
          stack.pendingHigh = high;
          break;
        case CALL_OP.RESUMES:
          stack.resumes = a;
          stack.resumeLow = low;
          stack.resumeHigh = high;
      }
    }
  }

  /** Whether all sums are exact, and so the same in whichever order they were added. */
  get isExact(): boolean {
    const isSmall = (sum: number) => sum < EXACT;
    return Number.isSafeInteger(this.time) && this.timeOf.every(isSmall) &&
      this.cyclesOf.every(isSmall) && this.tree?.time.every((sum) => sum < EXACT_STACK) !== false;
  }

  /** Says when the trace of a buffer ended, ns. */
  endBuffer(index: number, time: number): void {
    this.#openPaths(index).time = time;
  }
}

/** A part whose sums were added, on the way to its operations being applied. */
export class JoinedCalls {
  /** The operations. */
  readonly ops: CallOpReader;
  /** The node of the tree that was innermost at each operation SUMS. */
  readonly roots: Map<number, number>;
  /** The place here of one there. */
  readonly placeOf: Int32Array;
  readonly #own: Float64Array;
  readonly #tree: Float64Array | undefined;
  readonly #rowOf: ReadonlyMap<number, number>;
  #at = 0;

  /** Use {@linkcode PtCalls.join}. */
  constructor(
    part: CallPart,
    placeOf: Int32Array,
    rowOf: ReadonlyMap<number, number>,
    roots: Map<number, number>,
  ) {
    this.roots = roots;
    this.#tree = part.tree;
    this.ops = new CallOpReader(part.ops);
    this.placeOf = placeOf;
    this.#own = part.own;
    this.#rowOf = rowOf;
  }

  /** Joins what was executed by stack; all operations were applied. */
  joinTree(tree: CallTree): void {
    if (this.#tree === undefined) return;
    tree.join(this.#tree, (number) => this.roots.get(number) ?? -1, this.placeOf);
    this.roots.clear();
  }

  /** What was noted under a number: row, ns, instructions. */
  own(number: number, take: (row: number, ns: number, insns: number) => void): void {
    const words = this.#own;
    for (; this.#at < words.length && (words[this.#at] as number) <= number; this.#at += 4) {
      const row = this.#rowOf.get(words[this.#at + 1] as number) as number;
      take(row, words[this.#at + 2] as number, words[this.#at + 3] as number);
    }
  }
}

/** Whether the bytes before an address may be a call. */
function mayFollowCall(code: ThreadCode, low: number, high: number): boolean {
  const byte = (before: number): number => {
    const at = low - before | 0;
    const of = (low >>> 0) < before ? high - 1 | 0 : high;
    const range = code.find(at, of);
    if (range === undefined) return -1;
    const offset = offsetIn(range, at, of);
    const window = range.window(offset);
    return window?.bytes[offset - window.from] ?? -1;
  };
  const direct = byte(DIRECT_CALL);
  // Where nothing can be read, there may have been anything.
  if (direct === 0xe8 || direct < 0) return true;
  return INDIRECT_CALLS.some((before) =>
    byte(before) === 0xff && (byte(before - 1) >> 3 & 7) === 2
  );
}

/** How a block ends, as far as calls go. */
function pendingOf(blocks: BlockCache, block: number): number {
  switch (blocks.kind[block]) {
    case InsnKind.CALL:
      return isRealCall(blocks, block) ? PENDING.CALL : PENDING.NONE;
    case InsnKind.CALL_INDIRECT:
      return PENDING.CALL;
    case InsnKind.JMP_INDIRECT:
      return PENDING.JUMP;
    case InsnKind.RET:
      return PENDING.RETURN;
    case InsnKind.SYSCALL:
    case InsnKind.INT:
    case InsnKind.FAR_CALL:
    case InsnKind.VM_ENTRY:
    case InsnKind.VM_CALL:
      return PENDING.LEAVE;
    case InsnKind.SYSRET:
    case InsnKind.IRET:
    case InsnKind.FAR_RET:
      return PENDING.COME_BACK;
    default:
      return PENDING.NONE;
  }
}
