import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";
import { type ElfFile, readRawSymbols, STT } from "@perfdata/symbols";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import type { BranchCounts } from "./branch_counts.ts";

/** Objects and addresses of places: of an engine, or of an Intel PT trace. */
export interface BranchPlaces {
  /** The objects, by index. */
  readonly objects: readonly SymbolObject[];
  /** The object of a place; negative if there is none. */
  object(place: number): number;
  /** The address of a place in its object; in a file, the offset. */
  address(place: number): number;
}

/** The branches of one binary, at link-time addresses. */
export interface BinaryBranches {
  /** Branches from or to the binary. Addresses outside of it are 0. */
  readonly branches: readonly {
    readonly from: number;
    readonly to: number;
    readonly taken: number;
    readonly mispredicted: number;
  }[];
  /** Code that was executed without a taken branch: addresses of its first and last instruction. */
  readonly ranges: readonly {
    readonly from: number;
    readonly to: number;
    /** Whether the branch to its start left another function by a call or return. */
    readonly entered: boolean;
    readonly count: number;
  }[];
  /** The binary's share of all branches. */
  readonly share: number;
}

/**
 * Selects the counts of one binary.
 *
 * @param isBinary Whether an object, by its index in `places`, is the binary.
 */
export function binaryBranches(
  counts: BranchCounts,
  places: BranchPlaces,
  elf: ElfFile,
  isBinary: (object: number) => boolean,
): BinaryBranches {
  const ofObject = places.objects.map((_, number) => isBinary(number));
  const addresses = new Map<number, number>();
  const addressOf = (place: number): number => {
    if (place < 0 || ofObject[places.object(place)] !== true) return 0;
    let address = addresses.get(place);
    if (address === undefined) {
      addresses.set(place, address = linkedAddress(elf, places.address(place)));
    }
    return address;
  };
  const functionOf = functionFinder(elf);
  const from = counts.branches.parents();
  const to = counts.branches.items();
  const taken = counts.taken.array();
  const mispredicted = counts.mispredicted.array();
  const sums = new Map<string, { from: number; to: number; taken: number; mispredicted: number }>();
  let all = 0;
  let own = 0;
  for (let i = 0; i < from.length; i++) {
    const times = floatAt(taken, i);
    all += times;
    const [source, target] = [addressOf(intAt(from, i)), addressOf(intAt(to, i))];
    if (source === 0 && target === 0) continue;
    own += times;
    const key = `${source} ${target}`;
    const sum = sums.get(key) ?? { from: source, to: target, taken: 0, mispredicted: 0 };
    sum.taken += times;
    sum.mispredicted += floatAt(mispredicted, i);
    sums.set(key, sum);
  }
  const before = counts.traces.parents();
  const until = counts.traces.items();
  const ran = counts.ran.array();
  const ranges = new Map<string, { from: number; to: number; entered: boolean; count: number }>();
  for (let i = 0; i < before.length; i++) {
    const branch = intAt(before, i);
    const start = addressOf(intAt(to, branch));
    const end = addressOf(intAt(until, i));
    if (start === 0 || end < start) continue;
    const source = addressOf(intAt(from, branch));
    const entered = source === 0 || functionOf(source) !== functionOf(start);
    const key = `${start} ${end} ${entered}`;
    const sum = ranges.get(key) ?? { from: start, to: end, entered, count: 0 };
    sum.count += floatAt(ran, i);
    ranges.set(key, sum);
  }
  const order = (a: { from: number; to: number }, b: { from: number; to: number }) =>
    a.from - b.from || a.to - b.to;
  return {
    branches: [...sums.values()].sort(order),
    ranges: [...ranges.values()].sort((a, b) =>
      order(a, b) || Number(a.entered) - Number(b.entered)
    ),
    share: all === 0 ? 0 : own / all,
  };
}

/** The link-time address of a file offset; 0 if it is not in code. */
export function linkedAddress({ segments }: ElfFile, offset: number): number {
  const PT_LOAD = 1;
  const PF_X = 1;
  for (const segment of segments) {
    if (segment.type !== PT_LOAD || (segment.flags & PF_X) === 0) continue;
    const distance = offset - segment.offset;
    if (distance >= 0 && distance < segment.filesz) return segment.vaddr + distance;
  }
  return 0;
}

/** Returns a function that finds the start of the function at an address; -1 if there is none. */
function functionFinder(elf: ElfFile): (address: number) => number {
  const found = new Map<number, number>();
  for (const name of [".symtab", ".dynsym"]) {
    const section = elf.section(name);
    if (section === undefined) continue;
    const symbols = readRawSymbols(elf, section);
    for (let i = 0; i < symbols.count; i++) {
      const size = floatAt(symbols.size, i);
      if ((byteAt(symbols.info, i) & 15) !== STT.FUNC || size === 0) continue;
      const start = floatAt(symbols.value, i);
      found.set(start, Math.max(found.get(start) ?? 0, start + size));
    }
  }
  const starts = Float64Array.from(found.keys()).sort();
  const ends = Float64Array.from(starts, (start) => found.get(start) as number);
  return (address) => {
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (floatAt(starts, middle) <= address) low = middle + 1;
      else high = middle;
    }
    return low > 0 && address < floatAt(ends, low - 1) ? floatAt(starts, low - 1) : -1;
  };
}

const LINES = 1 << 12;

function* inChunks(lines: Iterable<string>): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const encoder = new TextEncoder();
  let some: string[] = [];
  for (const line of lines) {
    some.push(line);
    if (some.length < LINES) continue;
    yield encoder.encode(some.join("\n") + "\n");
    some = [];
  }
  if (some.length > 0) yield encoder.encode(some.join("\n") + "\n");
}

/**
 * The pre-aggregated format of `perf2bolt -pa`: `B FROM TO TAKEN MISPREDICTED` for branches, `F` or
 * `f FROM TO COUNT` for straight code, `f` if it was entered from another function.
 *
 * @example
 * ```ts
 * import { bolt } from "@perfdata/export";
 * import { assertEquals } from "@std/assert";
 *
 * const chunks = bolt({
 *   branches: [{ from: 0x1010, to: 0x1000, taken: 9, mispredicted: 1 }],
 *   ranges: [{ from: 0x1000, to: 0x1010, entered: false, count: 8 }],
 *   share: 1,
 * });
 * const text = [...chunks].map((bytes) => new TextDecoder().decode(bytes)).join("");
 * assertEquals(text, "B 1010 1000 9 1\nF 1000 1010 8\n");
 * ```
 */
export function bolt(
  { branches, ranges }: BinaryBranches,
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  return inChunks((function* () {
    for (const { from, to, taken, mispredicted } of branches) {
      yield `B ${from.toString(16)} ${to.toString(16)} ${taken} ${mispredicted}`;
    }
    for (const { from, to, entered, count } of ranges) {
      yield `${entered ? "f" : "F"} ${from.toString(16)} ${to.toString(16)} ${count}`;
    }
  })());
}

/**
 * The format of `llvm-profgen --unsymbolized-profile --use-offset=0`, which makes a profile for
 * `clang -fprofile-sample-use`: the number of ranges, each range as `FROM-TO:COUNT`, the number of
 * branches, each branch as `FROM->TO:COUNT`.
 *
 * @example
 * ```ts
 * import { profgen } from "@perfdata/export";
 * import { assertEquals } from "@std/assert";
 *
 * const chunks = profgen({
 *   branches: [{ from: 0x1010, to: 0x1000, taken: 9, mispredicted: 1 }],
 *   ranges: [{ from: 0x1000, to: 0x1010, entered: false, count: 8 }],
 *   share: 1,
 * });
 * const text = [...chunks].map((bytes) => new TextDecoder().decode(bytes)).join("");
 * assertEquals(text, "1\n1000-1010:8\n1\n1010->1000:9\n");
 * ```
 */
export function profgen(
  { branches, ranges }: BinaryBranches,
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const sums = new Map<string, number>();
  for (const { from, to, count } of ranges) {
    const key = `${from.toString(16)}-${to.toString(16)}`;
    sums.set(key, (sums.get(key) ?? 0) + count);
  }
  const inside = branches.filter(({ to }) => to !== 0);
  return inChunks((function* () {
    yield String(sums.size);
    for (const [range, count] of sums) yield `${range}:${count}`;
    yield String(inside.length);
    for (const { from, to, taken } of inside) {
      yield `${from.toString(16)}->${to.toString(16)}:${taken}`;
    }
  })());
}
