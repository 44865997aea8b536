import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { ADDRESS_WORDS, CallTree, CONTEXT_WORDS } from "./call_tree.ts";
import { Histogram } from "./histogram.ts";

/** A sample: context, addresses from the outermost caller on, period. */
interface Sample {
  readonly context: readonly number[];
  readonly chain: readonly (readonly number[])[];
  readonly period: number;
}

const small = fc.integer({ min: -1, max: 2 });
const address = fc.tuple(
  small,
  fc.constantFrom(1, 2),
  fc.constantFrom(0, -1),
  fc.integer({ min: 0, max: 5 }),
);
const samples: fc.Arbitrary<Sample[]> = fc.array(
  fc.record({
    context: fc.tuple(fc.nat(1), fc.nat(2), fc.nat(1), small, fc.nat(1)),
    chain: fc.array(address, { minLength: 1, maxLength: 6 }),
    period: fc.nat(1e6),
  }),
  { maxLength: 150 },
);

function treeOf(all: readonly Sample[]): CallTree {
  const tree = new CallTree();
  for (const { context, chain, period } of all) {
    let node = tree.context(...context as [number, number, number, number, number]);
    for (const at of chain) {
      node = tree.child(node, tree.address(...at as [number, number, number, number]));
    }
    tree.add(node, 1, period);
  }
  return tree;
}

/** Samples and periods by context and chain. */
function chainsOf(tree: CallTree): Record<string, number[]> {
  const found: Record<string, number[]> = {};
  for (let node = 0; node < tree.nodeCount; node++) {
    if (tree.samples[node] === 0) continue;
    const chain: string[] = [];
    let at = node;
    while (at >= 0) {
      const words = (tree.nodeAddresses[at] as number) * ADDRESS_WORDS;
      chain.unshift(tree.addresses.subarray(words, words + ADDRESS_WORDS).join());
      at = tree.parents[at] as number;
    }
    const context = tree.contexts.subarray((-1 - at) * CONTEXT_WORDS, -at * CONTEXT_WORDS);
    found[`${context.join()}: ${chain.join(" ")}`] = [
      tree.samples[node] as number,
      tree.periods[node] as number,
    ];
  }
  return found;
}

function add(sums: Record<string, number[]>, key: string, period: number): void {
  const [samples = 0, sum = 0] = sums[key] ?? [];
  sums[key] = [samples + 1, sum + period];
}

Deno.test("call tree: sums of chains are those of a plain map", () => {
  fc.assert(fc.property(samples, (all) => {
    const expected: Record<string, number[]> = {};
    for (const { context, chain, period } of all) {
      add(expected, `${context.join()}: ${chain.map((at) => at.join()).join(" ")}`, period);
    }
    assertEquals(chainsOf(treeOf(all)), expected);
  }));
});

Deno.test("call tree: many nodes, addresses and contexts", () => {
  const all = Array.from({ length: 5000 }, (_, i) => ({
    context: [0, i % 50, i % 7, 0, 0],
    chain: [[0, 2, 0, i % 3], [0, 2, 0, i % 900], [1, 2, 0, i]],
    period: i,
  }));
  const expected: Record<string, number[]> = {};
  for (const { context, chain, period } of all) {
    add(expected, `${context.join()}: ${chain.map((at) => at.join()).join(" ")}`, period);
  }
  assertEquals(chainsOf(treeOf(all)), expected);
});

Deno.test("call tree: merging parts gives the whole, by the numbers of the whole", () => {
  fc.assert(fc.property(samples, fc.nat(150), (all, cut) => {
    // The second part numbers comms and binaries in its own way.
    const comms = [2, 0, 1];
    const binaries = [1, 2, 0];
    const renumbered = all.slice(cut).map(({ context, chain, period }) => ({
      context: context.map((word, i) => i === 1 ? comms.indexOf(word) : word),
      chain: chain.map(([binary = 0, ...rest]) => [
        binary < 0 ? binary : binaries.indexOf(binary),
        ...rest,
      ]),
      period,
    }));
    const merged = new CallTree();
    merged.merge(treeOf(all.slice(0, cut)).columns(), [0, 1, 2], [0, 1, 2]);
    merged.merge(treeOf(renumbered).columns(), comms, binaries);
    assertEquals(chainsOf(merged), chainsOf(treeOf(all)));
  }));
});

Deno.test("call tree: a sample counts once for each entry of its chain", () => {
  // Addresses belong to the entries of their last two bits; binary 2 inlined two functions.
  const entriesOf = ([binary = 0, , , lo = 0]: readonly number[]) =>
    binary === 2 ? [lo & 3, 4 + (lo & 1)] : [lo & 3];
  fc.assert(fc.property(samples, (all) => {
    const expected: Record<string, number[]> = {};
    for (const { context, chain, period } of all) {
      for (const entry of new Set(chain.flatMap(entriesOf))) {
        add(expected, `${context.join()} ${entry}`, period);
      }
    }
    const tree = treeOf(all);
    const found: Record<string, number[]> = {};
    tree.forEachTotal(
      (address) =>
        entriesOf([...tree.addresses.subarray(address * ADDRESS_WORDS).subarray(0, ADDRESS_WORDS)]),
      (context, entry, samples, period) => {
        const words = tree.contexts.subarray(context * CONTEXT_WORDS).subarray(0, CONTEXT_WORDS);
        found[`${words.join()} ${entry}`] = [samples, period];
      },
    );
    assertEquals(found, expected);
  }));
});

Deno.test("call tree: without the chains it is a histogram", () => {
  fc.assert(fc.property(samples, (all) => {
    const expected = new Histogram();
    for (const { context, chain, period } of all) {
      const [event = 0, comm = 0, pid = 0, tid = 0, cpu = 0] = context;
      const [binary = 0, cpumode = 0, hi = 0, lo = 0] = chain.at(-1) ?? [];
      expected.add(event, comm, binary, cpumode, hi, lo, pid, tid, cpu, period);
    }
    const found = new Histogram();
    treeOf(all).addTo(found);
    const rows = (histogram: Histogram) => {
      const all: string[] = [];
      histogram.forEach((key, samples, period) => all.push(`${key.join()} ${samples} ${period}`));
      return all.sort();
    };
    assertEquals(rows(found), rows(expected));
  }));
});
