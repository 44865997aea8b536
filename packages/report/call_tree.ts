import type { Histogram } from "./histogram.ts";

/** Words of a context in {@link CallTreeColumns.contexts}: event, comm, pid, tid, cpu. */
export const CONTEXT_WORDS = 5;

/** Words of an address in {@link CallTreeColumns.addresses}: binary, cpumode, hi, lo. */
export const ADDRESS_WORDS = 4;

/** A {@link CallTree} as flat arrays, to be handed to another thread. */
export interface CallTreeColumns {
  /** Event, comm, pid, tid, cpu of each context. */
  readonly contexts: Int32Array<ArrayBuffer>;
  /** Binary, cpumode, high and low half of each address. */
  readonly addresses: Int32Array<ArrayBuffer>;
  /** Caller of each node, which comes before it; `-1 - context` for those that nothing calls. */
  readonly parents: Int32Array<ArrayBuffer>;
  /** Address of each node. */
  readonly nodeAddresses: Int32Array<ArrayBuffer>;
  /** Samples of each node. */
  readonly samples: Float64Array<ArrayBuffer>;
  /** Sum of their periods. */
  readonly periods: Float64Array<ArrayBuffer>;
}

/**
 * Call chains with what was sampled there, as a tree from the outermost caller inwards: chains that
 * begin alike share nodes, so that memory grows with the code that ran and not with the samples.
 *
 * A context is what chains are told apart by: event and comm, and where they were asked for process,
 * thread and CPU. A node is an address that was called from another one; its samples and its period
 * are those of the samples taken right there. Addresses are kept as `Histogram` keeps them, by
 * binary, cpumode and offset, so that each is looked up once. Everything is found through hash
 * tables over flat arrays; chains are compared and not only their hashes.
 *
 * @example
 * ```ts
 * import { CallTree } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * const tree = new CallTree();
 * const context = tree.context(0, 0, 0, 0, 0);
 * const main = tree.address(0, 2, 0, 0x1000);
 * const work = tree.address(0, 2, 0, 0x2000);
 * const outer = tree.child(context, main);
 * const inner = tree.child(tree.child(outer, work), work);
 * tree.add(outer, 1, 10);
 * tree.add(inner, 2, 500);
 * const rows: number[][] = [];
 * tree.forEachTotal((address) => [address], (...row) => rows.push(row));
 * assertEquals(rows, [[0, main, 3, 510], [0, work, 2, 500]]);
 * ```
 */
export class CallTree {
  /** Number of contexts. */
  contextCount: number = 0;
  /** Event, comm, pid, tid, cpu of each context; the first {@link CallTree.contextCount} count. */
  contexts: Int32Array<ArrayBuffer> = new Int32Array(16 * CONTEXT_WORDS);
  /** Number of distinct addresses. */
  addressCount: number = 0;
  /** Binary, cpumode, high and low half of each address. */
  addresses: Int32Array<ArrayBuffer> = new Int32Array(256 * ADDRESS_WORDS);
  /** Number of nodes. */
  nodeCount: number = 0;
  /** Caller of each node: a node before it, or `-1 - context`. */
  parents: Int32Array<ArrayBuffer> = new Int32Array(1024);
  /** Address of each node. */
  nodeAddresses: Int32Array<ArrayBuffer> = new Int32Array(1024);
  /** Samples taken at each node. */
  samples: Float64Array<ArrayBuffer> = new Float64Array(1024);
  /** Sum of their periods. */
  periods: Float64Array<ArrayBuffer> = new Float64Array(1024);

  #contextSlots = new Int32Array(32).fill(-1);
  #addressSlots = new Int32Array(512).fill(-1);
  #nodeSlots = new Int32Array(2048).fill(-1);

  /**
   * The parent of the outermost callers of a context, to be handed to {@link CallTree.child}.
   *
   * @param event Number of the event.
   * @param comm Number of the comm.
   * @param pid Process, or 0 where processes are not told apart.
   * @param tid Thread, or 0 where threads are not told apart.
   * @param cpu CPU, or 0 where CPUs are not told apart.
   */
  context(event: number, comm: number, pid: number, tid: number, cpu: number): number {
    const { contexts } = this;
    const mask = this.#contextSlots.length - 1;
    let slot = hashContext(event, comm, pid, tid, cpu) & mask;
    for (;;) {
      const found = this.#contextSlots[slot] as number;
      if (found < 0) break;
      const at = found * CONTEXT_WORDS;
      if (
        contexts[at] === event && contexts[at + 1] === comm && contexts[at + 2] === pid &&
        contexts[at + 3] === tid && contexts[at + 4] === cpu
      ) return -1 - found;
      slot = slot + 1 & mask;
    }
    const added = this.contextCount++;
    const at = added * CONTEXT_WORDS;
    if (at === contexts.length) this.contexts = doubled(contexts);
    this.contexts.set([event, comm, pid, tid, cpu], at);
    this.#contextSlots[slot] = added;
    if (this.contextCount * 2 > mask) this.#rehashContexts();
    return -1 - added;
  }

  /**
   * The number of an address; it is added where it is new.
   *
   * @param binary Number of what is mapped, or -1 for an address without a map.
   * @param cpumode `PERF_RECORD_MISC_CPUMODE_MASK` bits.
   * @param hi High half of the address, as `Histogram` has it.
   * @param lo Low half of the address.
   */
  address(binary: number, cpumode: number, hi: number, lo: number): number {
    hi |= 0;
    lo |= 0;
    const { addresses } = this;
    const mask = this.#addressSlots.length - 1;
    let slot = hashAddress(binary, cpumode, hi, lo) & mask;
    for (;;) {
      const found = this.#addressSlots[slot] as number;
      if (found < 0) break;
      const at = found * ADDRESS_WORDS;
      if (
        addresses[at + 3] === lo && addresses[at] === binary && addresses[at + 2] === hi &&
        addresses[at + 1] === cpumode
      ) return found;
      slot = slot + 1 & mask;
    }
    const added = this.addressCount++;
    const at = added * ADDRESS_WORDS;
    if (at === addresses.length) this.addresses = doubled(addresses);
    const into = this.addresses;
    into[at] = binary;
    into[at + 1] = cpumode;
    into[at + 2] = hi;
    into[at + 3] = lo;
    this.#addressSlots[slot] = added;
    if (this.addressCount * 2 > mask) this.#rehashAddresses();
    return added;
  }

  /**
   * The node of an address that was called from `parent`; it is added where it is new.
   *
   * @param parent A node, or what {@link CallTree.context} returned.
   * @param address What {@link CallTree.address} returned.
   */
  child(parent: number, address: number): number {
    const { parents, nodeAddresses } = this;
    const mask = this.#nodeSlots.length - 1;
    let slot = hashNode(parent, address) & mask;
    for (;;) {
      const found = this.#nodeSlots[slot] as number;
      if (found < 0) break;
      if (parents[found] === parent && nodeAddresses[found] === address) return found;
      slot = slot + 1 & mask;
    }
    const added = this.nodeCount++;
    if (added === parents.length) {
      this.parents = doubled(parents);
      this.nodeAddresses = doubled(nodeAddresses);
      this.samples = doubled(this.samples);
      this.periods = doubled(this.periods);
    }
    this.parents[added] = parent;
    this.nodeAddresses[added] = address;
    this.#nodeSlots[slot] = added;
    if (this.nodeCount * 2 > mask) this.#rehashNodes();
    return added;
  }

  /** Adds samples that were taken at a node. */
  add(node: number, samples: number, period: number): void {
    (this.samples[node] as number) += samples;
    (this.periods[node] as number) += period;
  }

  /**
   * Adds all of another tree.
   *
   * @param other Its columns.
   * @param comms By number of a comm there: the number here.
   * @param binaries By number of a binary there: the number here.
   */
  merge(other: CallTreeColumns, comms: readonly number[], binaries: readonly number[]): void {
    const contexts: number[] = [];
    for (let at = 0; at < other.contexts.length; at += CONTEXT_WORDS) {
      const [event, comm, pid, tid, cpu] = other.contexts.subarray(at) as unknown as FiveNumbers;
      contexts.push(this.context(event, comms[comm] as number, pid, tid, cpu));
    }
    const addresses = new Int32Array(other.addresses.length / ADDRESS_WORDS);
    for (let i = 0; i < addresses.length; i++) {
      const at = i * ADDRESS_WORDS;
      const binary = other.addresses[at] as number;
      addresses[i] = this.address(
        binary < 0 ? binary : binaries[binary] as number,
        other.addresses[at + 1] as number,
        other.addresses[at + 2] as number,
        other.addresses[at + 3] as number,
      );
    }
    const nodes = new Int32Array(other.parents.length);
    for (let i = 0; i < nodes.length; i++) {
      const parent = other.parents[i] as number;
      const node = this.child(
        parent < 0 ? contexts[-1 - parent] as number : nodes[parent] as number,
        addresses[other.nodeAddresses[i] as number] as number,
      );
      nodes[i] = node;
      this.add(node, other.samples[i] as number, other.periods[i] as number);
    }
  }

  /** The tree without the room that is not used yet. */
  columns(): CallTreeColumns {
    return {
      contexts: this.contexts.slice(0, this.contextCount * CONTEXT_WORDS),
      addresses: this.addresses.slice(0, this.addressCount * ADDRESS_WORDS),
      parents: this.parents.slice(0, this.nodeCount),
      nodeAddresses: this.nodeAddresses.slice(0, this.nodeCount),
      samples: this.samples.slice(0, this.nodeCount),
      periods: this.periods.slice(0, this.nodeCount),
    };
  }

  /** Adds what was sampled, without the chains, to a histogram. */
  addTo(histogram: Histogram): void {
    const { contexts, addresses } = this;
    // The context of a node is that of its parent, which comes before it.
    const contextOf = new Int32Array(this.nodeCount);
    for (let node = 0; node < this.nodeCount; node++) {
      const parent = this.parents[node] as number;
      const context = parent < 0 ? -1 - parent : contextOf[parent] as number;
      contextOf[node] = context;
      const samples = this.samples[node] as number;
      if (samples === 0) continue;
      const c = context * CONTEXT_WORDS;
      const a = (this.nodeAddresses[node] as number) * ADDRESS_WORDS;
      histogram.add(
        contexts[c] as number,
        contexts[c + 1] as number,
        addresses[a] as number,
        addresses[a + 1] as number,
        addresses[a + 2] as number,
        addresses[a + 3] as number,
        contexts[c + 2] as number,
        contexts[c + 3] as number,
        contexts[c + 4] as number,
        this.periods[node] as number,
        samples,
      );
    }
  }

  /**
   * Sums up samples and periods of what was sampled in an entry or in anything it called. A sample
   * counts once for an entry, however often the entry is in its chain (as with
   * `iter_add_next_cumulative_entry` of tools/perf/util/hist.c).
   *
   * @param entriesOf The entries that an address belongs to, such as numbers of functions, from 0 on:
   * one, or several where functions were inlined there. It is asked once for each address.
   * @param each Gets the number of a context, an entry, and its sums: once for each entry that is in
   * the context, contexts in their order.
   */
  forEachTotal(
    entriesOf: (address: number) => ArrayLike<number>,
    each: (context: number, entry: number, samples: number, period: number) => void,
  ): void {
    const count = this.nodeCount;
    const { parents, nodeAddresses } = this;
    const samples = this.samples.slice(0, count);
    const periods = this.periods.slice(0, count);
    const firstChild = new Int32Array(count).fill(-1);
    const sibling = new Int32Array(count);
    const roots = new Int32Array(this.contextCount).fill(-1);
    // Children come after their parents: from the last node on, sums are complete when they are used.
    for (let node = count - 1; node >= 0; node--) {
      const parent = parents[node] as number;
      if (parent < 0) {
        sibling[node] = roots[-1 - parent] as number;
        roots[-1 - parent] = node;
        continue;
      }
      sibling[node] = firstChild[parent] as number;
      firstChild[parent] = node;
      (samples[parent] as number) += samples[node] as number;
      (periods[parent] as number) += periods[node] as number;
    }
    const { starts, entries, entryCount } = this.#entries(entriesOf);
    /** How often each entry is on the way from the context to the present node. */
    const onPath = new Int32Array(entryCount);
    const entrySamples = new Float64Array(entryCount);
    const entryPeriods = new Float64Array(entryCount);
    const seen = new Uint8Array(entryCount);
    const met: number[] = [];
    for (let context = 0; context < this.contextCount; context++) {
      let node = roots[context] as number;
      while (node >= 0) {
        const address = nodeAddresses[node] as number;
        for (let i = starts[address] as number; i < (starts[address + 1] as number); i++) {
          const entry = entries[i] as number;
          if (onPath[entry] === 0) {
            if (seen[entry] === 0) {
              seen[entry] = 1;
              met.push(entry);
            }
            (entrySamples[entry] as number) += samples[node] as number;
            (entryPeriods[entry] as number) += periods[node] as number;
          }
          onPath[entry] = (onPath[entry] as number) + 1;
        }
        let next = firstChild[node] as number;
        while (next < 0 && node >= 0) {
          const left = nodeAddresses[node] as number;
          for (let i = starts[left] as number; i < (starts[left + 1] as number); i++) {
            const entry = entries[i] as number;
            onPath[entry] = (onPath[entry] as number) - 1;
          }
          next = sibling[node] as number;
          node = parents[node] as number;
        }
        node = next;
      }
      for (const entry of met) {
        each(context, entry, entrySamples[entry] as number, entryPeriods[entry] as number);
        seen[entry] = entrySamples[entry] = entryPeriods[entry] = 0;
      }
      met.length = 0;
    }
  }

  #entries(entriesOf: (address: number) => ArrayLike<number>) {
    const starts = new Int32Array(this.addressCount + 1);
    const entries: number[] = [];
    let entryCount = 0;
    for (let address = 0; address < this.addressCount; address++) {
      const found = entriesOf(address);
      for (let i = 0; i < found.length; i++) {
        const entry = found[i] as number;
        entries.push(entry);
        if (entry >= entryCount) entryCount = entry + 1;
      }
      starts[address + 1] = entries.length;
    }
    return { starts, entries, entryCount };
  }

  #rehashContexts(): void {
    const slots = new Int32Array(this.#contextSlots.length * 2).fill(-1);
    const { contexts } = this;
    for (let i = 0; i < this.contextCount; i++) {
      const [event, comm, pid, tid, cpu] = contexts.subarray(
        i * CONTEXT_WORDS,
      ) as unknown as FiveNumbers;
      put(slots, hashContext(event, comm, pid, tid, cpu), i);
    }
    this.#contextSlots = slots;
  }

  #rehashAddresses(): void {
    const slots = new Int32Array(this.#addressSlots.length * 2).fill(-1);
    const { addresses } = this;
    for (let i = 0; i < this.addressCount; i++) {
      const at = i * ADDRESS_WORDS;
      const hash = hashAddress(
        addresses[at] as number,
        addresses[at + 1] as number,
        addresses[at + 2] as number,
        addresses[at + 3] as number,
      );
      put(slots, hash, i);
    }
    this.#addressSlots = slots;
  }

  #rehashNodes(): void {
    const slots = new Int32Array(this.#nodeSlots.length * 2).fill(-1);
    const { parents, nodeAddresses } = this;
    for (let i = 0; i < this.nodeCount; i++) {
      put(slots, hashNode(parents[i] as number, nodeAddresses[i] as number), i);
    }
    this.#nodeSlots = slots;
  }
}

type FiveNumbers = [number, number, number, number, number];

function put(slots: Int32Array, hash: number, value: number): void {
  const mask = slots.length - 1;
  let slot = hash & mask;
  while ((slots[slot] as number) >= 0) slot = slot + 1 & mask;
  slots[slot] = value;
}

function doubled<T extends Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>>(array: T): T {
  const larger = new (array.constructor as { new (length: number): T })(array.length * 2);
  larger.set(array);
  return larger;
}

function mixed(hash: number): number {
  hash = Math.imul(hash ^ hash >>> 15, 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 13, 0xc2b2ae35);
  return hash ^ hash >>> 16;
}

function hashContext(event: number, comm: number, pid: number, tid: number, cpu: number): number {
  return mixed(
    Math.imul(comm, 0x9e3779b1) ^ Math.imul(tid, 0x27d4eb2f) ^ Math.imul(pid, 0x165667b1) ^
      event << 24 ^ cpu << 12,
  );
}

function hashAddress(binary: number, cpumode: number, hi: number, lo: number): number {
  return mixed(lo ^ Math.imul(binary, 0x9e3779b1) ^ Math.imul(hi, 0x27d4eb2f) ^ cpumode << 28);
}

function hashNode(parent: number, address: number): number {
  return mixed(Math.imul(parent, 0x9e3779b1) + address | 0);
}
