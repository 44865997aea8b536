import { enlarge } from "@perfdata/format/bytes";

/** Words of a context: event, comm, pid, tid, cpu, detail. */
const CONTEXT = 6;
/** Words of an entry: context, node, samples, an unused one; then the period, a double. */
const ENTRY = 6;
/** Number of samples that are added in one batch. */
const TOGETHER = 1024;

/** Counts of one thread: see {@link SampleHistogram.part}. */
export interface HistogramPart {
  /** Contexts as words, in the layout of the histogram. */
  readonly contexts: Int32Array<ArrayBuffer>;
  /** Entries as words, in the layout of the histogram. */
  readonly entries: Int32Array<ArrayBuffer>;
}

/** The entries of a histogram, in the order of their addition. */
export interface HistogramColumns {
  /** Contexts. */
  readonly context: Int32Array;
  /** Nodes. */
  readonly node: Int32Array;
  /** Numbers of samples. */
  readonly count: Float64Array;
  /** Sums of periods. */
  readonly period: Float64Array;
}

/**
 * Samples and periods by context and node, in open-addressing tables of typed arrays. A context is
 * an event and a comm; and a process, thread, CPU and detail, if rows are grouped by these. A node
 * is a place, a stack or a pair of places. Adding allocates nothing unless a table grows.
 *
 * @example
 * ```ts
 * import { SampleHistogram } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const histogram = new SampleHistogram();
 * const context = histogram.context(0, 3, 0, 0, 0);
 * histogram.add(context, 17, 250000);
 * histogram.add(context, 17, 1000);
 * assertEquals([histogram.size, histogram.samples(0), histogram.period(0)], [1, 2, 251000]);
 * assertEquals([histogram.comm(histogram.contextOf(0)), histogram.node(0)], [3, 17]);
 * ```
 */
export class SampleHistogram {
  /** Number of entries, which are numbered in the order of their addition. */
  size = 0;
  /** Number of contexts. */
  contextCount = 0;
  #contexts = new Int32Array(64 * CONTEXT);
  #contextSlots = new Int32Array(128).fill(-1);
  #lastContext = -1;
  #entries: Int32Array<ArrayBuffer>;
  /** The memory of `#entries` as doubles: the period of an entry is next to its key. */
  #doubles: Float64Array<ArrayBuffer>;
  /** Hash table, by context and node, of the entries of nodes with several contexts. */
  #slots = new Int32Array(1 << 10).fill(-1);
  #hashed = 0;
  /**
   * State of each node, at index node + 1: 0 without an entry; the index of its only entry, plus
   * one; or negative, that of its last used entry. Most nodes have one context, and only the others
   * need the hash table. Nodes are numbered in order of appearance, so that this array stays in the
   * cache, unlike a hash table.
   */
  #lastOf = new Int32Array(1 << 10);
  // Samples of the next batch, and their entries.
  #waiting = 0;
  readonly #waitingContexts = new Int32Array(TOGETHER);
  readonly #waitingNodes = new Int32Array(TOGETHER);
  readonly #waitingPeriods = new Float64Array(TOGETHER);
  readonly #found = new Int32Array(TOGETHER);

  /**
   * Creates an empty table.
   *
   * @param capacity Initial number of entries: a power of two.
   */
  constructor(capacity: number = 1 << 12) {
    this.#entries = new Int32Array(capacity * ENTRY);
    this.#doubles = new Float64Array(this.#entries.buffer);
  }

  /** Adds waiting samples and frees the look-up tables: no sample can be added afterwards. */
  seal(): void {
    this.settle();
    this.#slots = new Int32Array(0);
    this.#lastOf = new Int32Array(0);
  }

  /** Rounds all periods, since divided periods have fractions. */
  roundPeriods(): void {
    for (let at = 2; at < this.size * (ENTRY / 2); at += ENTRY / 2) {
      this.#doubles[at] = Math.round(this.#doubles[at] as number);
    }
  }

  /** Clears all entries and contexts, and keeps the memory. */
  reset(): void {
    for (let entry = 0; entry < this.size; entry++) this.#lastOf[this.node(entry) + 1] = 0;
    this.#entries.fill(0, 0, this.size * ENTRY);
    if (this.#hashed > 0) this.#slots.fill(-1);
    this.#contextSlots.fill(-1);
    this.#lastContext = -1;
    this.size =
      this.contextCount =
      this.#hashed =
      this.#waiting =
        0;
  }

  /** Removes the entries of a sealed histogram; contexts stay. */
  clear(): void {
    this.size = 0;
    this.#entries = new Int32Array(0);
    this.#doubles = new Float64Array(0);
  }

  /** The entries in columns. */
  columns(): HistogramColumns {
    const { size } = this;
    const columns = {
      context: new Int32Array(size),
      node: new Int32Array(size),
      count: new Float64Array(size),
      period: new Float64Array(size),
    };
    for (let entry = 0; entry < size; entry++) {
      columns.context[entry] = this.contextOf(entry);
      columns.node[entry] = this.node(entry);
      columns.count[entry] = this.samples(entry);
      columns.period[entry] = this.period(entry);
    }
    return columns;
  }

  /** A copy of all counts, for sending to another thread and joining there. */
  part(): HistogramPart {
    return {
      contexts: this.#contexts.slice(0, this.contextCount * CONTEXT),
      entries: this.#entries.slice(0, this.size * ENTRY),
    };
  }

  /**
   * Adds a part.
   *
   * @param comm Converts a comm of the part to its number here.
   * @param nodes Indices in this thread of the part's places or stacks.
   * @param details Index here of each of the part's other values; unchanged by default.
   * @returns Indices in this thread of the part's contexts.
   */
  join(
    { contexts, entries }: HistogramPart,
    comm: (number: number) => number,
    nodes: Int32Array,
    details?: Int32Array,
  ): Int32Array {
    const numbers = new Int32Array(contexts.length / CONTEXT);
    for (let i = 0; i < numbers.length; i++) {
      const at = i * CONTEXT;
      numbers[i] = this.context(
        contexts[at] as number,
        comm(contexts[at + 1] as number),
        contexts[at + 2] as number,
        contexts[at + 3] as number,
        contexts[at + 4] as number,
        details === undefined
          ? contexts[at + 5] as number
          : details[contexts[at + 5] as number] as number,
      );
    }
    const doubles = new Float64Array(entries.buffer);
    for (let at = 0; at < entries.length; at += ENTRY) {
      const node = entries[at + 1] as number;
      this.add(
        numbers[entries[at] as number] as number,
        node < 0 ? node : nodes[node] as number,
        doubles[(at >> 1) + 2] as number,
        entries[at + 2] as number,
      );
    }
    return numbers;
  }

  /** Index of the event of a context. */
  event(context: number): number {
    return this.#contexts[context * CONTEXT] as number;
  }

  /** Index of the comm of a context. */
  comm(context: number): number {
    return this.#contexts[context * CONTEXT + 1] as number;
  }

  /** The process of a context; 0 if rows are not grouped by process. */
  pid(context: number): number {
    return this.#contexts[context * CONTEXT + 2] as number;
  }

  /** The thread of a context; 0 if rows are not grouped by thread. */
  tid(context: number): number {
    return this.#contexts[context * CONTEXT + 3] as number;
  }

  /** The CPU of a context; 0 if rows are not grouped by CPU. */
  cpu(context: number): number {
    return this.#contexts[context * CONTEXT + 4] as number;
  }

  /**
   * Detail of a context: flags of a branch, or the number of other values; 0 if rows are not
   * grouped by them.
   */
  detail(context: number): number {
    return this.#contexts[context * CONTEXT + 5] as number;
  }

  /** The context of an entry. */
  contextOf(entry: number): number {
    return this.#entries[entry * ENTRY] as number;
  }

  /** The place or stack of an entry. */
  node(entry: number): number {
    return this.#entries[entry * ENTRY + 1] as number;
  }

  /** Samples of an entry. */
  samples(entry: number): number {
    return this.#entries[entry * ENTRY + 2] as number;
  }

  /** The sum of the periods of an entry. */
  period(entry: number): number {
    return this.#doubles[entry * (ENTRY / 2) + 2] as number;
  }

  /**
   * The index of a context; it is added if it is new.
   *
   * @param event Index of the event.
   * @param comm Index of the comm.
   * @param pid Process, or 0 if rows are not grouped by process.
   * @param tid Thread, or 0 if rows are not grouped by thread.
   * @param cpu CPU, or 0 if rows are not grouped by CPU.
   * @param detail Flags of a branch or the number of other values; 0 if rows are not grouped by
   * them.
   */
  context(
    event: number,
    comm: number,
    pid: number,
    tid: number,
    cpu: number,
    detail: number = 0,
  ): number {
    const last = this.#lastContext;
    if (last >= 0 && this.#isContext(last, event, comm, pid, tid, cpu, detail)) return last;
    const mask = this.#contextSlots.length - 1;
    let slot = hashContext(event, comm, pid, tid, cpu, detail) & mask;
    for (;;) {
      const found = this.#contextSlots[slot] as number;
      if (found < 0) break;
      if (this.#isContext(found, event, comm, pid, tid, cpu, detail)) {
        return this.#lastContext = found;
      }
      slot = slot + 1 & mask;
    }
    const added = this.contextCount++;
    const at = added * CONTEXT;
    if (at === this.#contexts.length) this.#contexts = enlarge(this.#contexts, at + 1);
    this.#contexts.set([event, comm, pid, tid, cpu, detail], at);
    this.#contextSlots[slot] = added;
    if (this.contextCount * 2 > mask) this.#rehashContexts();
    return this.#lastContext = added;
  }

  // Called for each sample, so the parts of a context are parameters instead of an allocated
  // object.
  #isContext(
    context: number,
    event: number,
    comm: number,
    pid: number,
    tid: number,
    cpu: number,
    detail: number,
  ): boolean {
    const contexts = this.#contexts;
    const at = context * CONTEXT;
    return contexts[at + 1] === comm && contexts[at] === event && contexts[at + 3] === tid &&
      contexts[at + 2] === pid && contexts[at + 4] === cpu && contexts[at + 5] === detail;
  }

  /**
   * Adds samples; returns the number of the entry.
   *
   * @param context Index of a context, from {@link SampleHistogram.context}.
   * @param node A place or a stack.
   * @param period Number of events that the samples stand for.
   * @param samples Number of samples.
   */
  add(context: number, node: number, period: number, samples: number = 1): number {
    if (node + 1 >= this.#lastOf.length) this.#lastOf = enlarge(this.#lastOf, node + 2);
    const last = this.#lastOf[node + 1] as number;
    let entry = (last < 0 ? -last : last) - 1;
    if (last === 0 || this.#entries[entry * ENTRY] !== context) {
      entry = this.#find(context, node, last);
    }
    const at = entry * ENTRY;
    const entries = this.#entries;
    entries[at + 2] = (entries[at + 2] as number) + samples;
    this.#doubles[(at >> 1) + 2] = (this.#doubles[(at >> 1) + 2] as number) + period;
    return entry;
  }

  /**
   * Adds a sample to the batch, which is counted at {@link SampleHistogram.settle}.
   *
   * @param context Index of a context, from {@link SampleHistogram.context}.
   * @param node A place or a stack.
   * @param period Number of events that the sample stands for.
   */
  addLater(context: number, node: number, period: number): void {
    const k = this.#waiting++;
    this.#waitingContexts[k] = context;
    this.#waitingNodes[k] = node;
    this.#waitingPeriods[k] = period;
    if (this.#waiting === TOGETHER) this.settle();
  }

  /**
   * Counts the samples of the batch, in their order.
   *
   * Each step goes through the whole batch, so that the processor fetches memory for several
   * samples at a time.
   */
  settle(): void {
    const count = this.#waiting;
    const contexts = this.#waitingContexts;
    const nodes = this.#waitingNodes;
    const periods = this.#waitingPeriods;
    const found = this.#found;
    const lastOf = this.#lastOf;
    this.#waiting = 0;
    for (let k = 0; k < count; k++) {
      const at = (nodes[k] as number) + 1;
      const last = at < lastOf.length ? lastOf[at] as number : 0;
      found[k] = (last < 0 ? -last : last) - 1;
    }
    for (let k = 0; k < count; k++) {
      const entry = found[k] as number;
      const at = entry * ENTRY;
      const period = periods[k] as number;
      if (entry < 0 || this.#entries[at] !== contexts[k]) {
        this.add(contexts[k] as number, nodes[k] as number, period);
        continue;
      }
      this.#entries[at + 2] = (this.#entries[at + 2] as number) + 1;
      this.#doubles[(at >> 1) + 2] = (this.#doubles[(at >> 1) + 2] as number) + period;
    }
  }

  /**
   * The entry of a context and a node that is not the node's last one; it is added if it is new.
   */
  #find(context: number, node: number, last: number): number {
    if (last === 0) {
      const entry = this.#push(context, node);
      this.#lastOf[node + 1] = entry + 1;
      return entry;
    }
    if (last > 0) this.#hash(last - 1);
    const entries = this.#entries;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hashEntry(context, node) & mask;
    for (;;) {
      const entry = slots[slot] as number;
      if (entry < 0) break;
      const at = entry * ENTRY;
      if (entries[at + 1] === node && entries[at] === context) {
        this.#lastOf[node + 1] = -entry - 1;
        return entry;
      }
      slot = slot + 1 & mask;
    }
    const entry = this.#push(context, node);
    this.#lastOf[node + 1] = -entry - 1;
    this.#hash(entry);
    return entry;
  }

  #push(context: number, node: number): number {
    const entry = this.size++;
    const at = entry * ENTRY;
    if (at === this.#entries.length) {
      this.#entries = enlarge(this.#entries, at + 1);
      this.#doubles = new Float64Array(this.#entries.buffer);
    }
    this.#entries[at] = context;
    this.#entries[at + 1] = node;
    return entry;
  }

  /** Puts an entry into the hash table. */
  #hash(entry: number): void {
    if (++this.#hashed * 2 > this.#slots.length) {
      const slots = new Int32Array(this.#slots.length * 2).fill(-1);
      for (const known of this.#slots) if (known >= 0) this.#put(slots, known);
      this.#slots = slots;
    }
    this.#put(this.#slots, entry);
  }

  #put(slots: Int32Array, entry: number): void {
    put(slots, hashEntry(this.contextOf(entry), this.node(entry)), entry);
  }

  #rehashContexts(): void {
    const slots = new Int32Array(this.#contextSlots.length * 2).fill(-1);
    for (let context = 0; context < this.contextCount; context++) {
      const hash = hashContext(
        this.event(context),
        this.comm(context),
        this.pid(context),
        this.tid(context),
        this.cpu(context),
        this.detail(context),
      );
      put(slots, hash, context);
    }
    this.#contextSlots = slots;
  }
}

function put(slots: Int32Array, hash: number, value: number): void {
  const mask = slots.length - 1;
  let slot = hash & mask;
  while ((slots[slot] as number) >= 0) slot = slot + 1 & mask;
  slots[slot] = value;
}

function hashContext(
  event: number,
  comm: number,
  pid: number,
  tid: number,
  cpu: number,
  detail: number,
): number {
  return mixed(
    Math.imul(comm, 0x9e3779b1) ^ Math.imul(tid, 0x27d4eb2f) ^ Math.imul(pid, 0x165667b1) ^
      event << 24 ^ cpu << 12 ^ Math.imul(detail, 0x2c1b3c6d),
  );
}

function hashEntry(context: number, node: number): number {
  return mixed(Math.imul(node, 0x9e3779b1) + context | 0);
}

function mixed(hash: number): number {
  hash = Math.imul(hash ^ hash >>> 15, 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 13, 0xc2b2ae35);
  return hash ^ hash >>> 16;
}
