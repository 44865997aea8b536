import { floatAt, joinBytes } from "@perfdata/format/bytes";
import { MessageBytes } from "../formats/message_bytes.ts";
import {
  discriminatorOf,
  type FunctionSamples,
  lineOffsetOf,
  type SampleProfile,
} from "./sample_profile.ts";
import { inOrder, sortedFunctions, sortedTargets } from "./sample_profile_text.ts";

/** "SPROF42" and 4, the number of this format, as a ULEB128 number; then version 103. */
const MAGIC = [0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 103];
/** Section types (`SecType` of LLVM's SampleProf.h), in the order that readers expect. */
const SECTIONS = {
  summary: 1,
  names: 2,
  contexts: 6,
  offsets: 4,
  functions: 32,
  symbols: 3,
  metadata: 5,
} as const;
/** Section flag in the upper half: discriminators of late passes. */
const FLOW_SENSITIVE = 1 << 2;
/** Section flag: names have suffixes that make static functions unique. */
const UNIQUE_NAMES = 1 << 2;
/** Shares of the sum of all counts, in millionths, for which the summary has the smallest count. */
const CUTOFFS = [
  ...[10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000],
  ...[900_000, 950_000, 990_000, 999_000, 999_900, 999_990, 999_999],
];

/**
 * A profile in LLVM's binary format, extbinary, which `clang -fprofile-sample-use` can read
 * partially.
 *
 * @example
 * ```ts
 * import { autofdoBinary } from "@perfdata/export";
 * import { assertEquals } from "@std/assert";
 *
 * const chunks = autofdoBinary({
 *   names: ["main"],
 *   functions: [{ name: 0, total: 5, head: 1, lines: new Map(), inlined: new Map() }],
 *   isFlowSensitive: false,
 *   impossible: 0,
 *   named: 1,
 * });
 * assertEquals([...chunks][0]?.slice(0, 3), Uint8Array.of(0x84, 0xe4, 0xd0));
 * ```
 */
export function* autofdoBinary(
  profile: SampleProfile,
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const order = usedNames(profile);
  const numbers = new Map(order.map((name, number) => [name, number]));
  const bytes = new MessageBytes();
  const section = (): Uint8Array<ArrayBuffer> => bytes.take();
  const named = (name: number) => bytes.number(numbers.get(name) as number);
  writeSummary(bytes, profile);
  const summary = section();
  const offsets = new Map<number, number>();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (const samples of profile.functions) {
    offsets.set(samples.name, length);
    bytes.number(samples.head);
    writeSamples(bytes, profile.names, samples, named);
    const part = section();
    length += part.length;
    parts.push(part);
  }
  bytes.number(offsets.size);
  for (const [name, offset] of offsets) {
    named(name);
    bytes.number(offset);
  }
  const table = section();
  bytes.number(order.length);
  const texts = new TextEncoder().encode(order.map((name) => `${profile.names[name]}\0`).join(""));
  const names = joinBytes([section(), texts]);
  bytes.number(0);
  const noContexts = section();
  const isUnique = order.some((name) => profile.names[name]?.includes(".__uniq."));
  const contents: [keyof typeof SECTIONS, Uint8Array<ArrayBuffer>, flags: number][] = [
    ["summary", summary, profile.isFlowSensitive ? FLOW_SENSITIVE : 0],
    ["names", names, isUnique ? UNIQUE_NAMES : 0],
    ["contexts", noContexts, 0],
    ["offsets", table, 0],
    ["functions", joinBytes(parts), 0],
    ["symbols", new Uint8Array(0), 0],
    ["metadata", new Uint8Array(0), 0],
  ];
  const head = new Uint8Array(MAGIC.length + 8 + 32 * contents.length);
  head.set(MAGIC);
  const view = new DataView(head.buffer);
  let at = MAGIC.length;
  const word = (low: number, high: number) => {
    view.setUint32(at, low, true);
    view.setUint32(at + 4, high, true);
    at += 8;
  };
  word(contents.length, 0);
  let offset = head.length;
  for (const [type, content, flags] of contents) {
    word(SECTIONS[type], 0);
    word(0, flags);
    word(offset % 2 ** 32, Math.floor(offset / 2 ** 32));
    word(content.length, 0);
    offset += content.length;
  }
  yield head;
  for (const [, content] of contents) if (content.length > 0) yield content;
}

/** The names in the profile, sorted. */
function usedNames({ names, functions }: SampleProfile): number[] {
  const used = new Set<number>();
  const use = ({ name, lines, inlined }: FunctionSamples): void => {
    used.add(name);
    for (const { targets } of lines.values()) {
      for (const called of targets?.keys() ?? []) used.add(called);
    }
    for (const there of inlined.values()) there.forEach(use);
  };
  functions.forEach(use);
  return [...used].sort((a, b) => (names[a] as string) < (names[b] as string) ? -1 : 1);
}

/** Writes a function's counts and inlined functions, without the number of entries. */
function writeSamples(
  bytes: MessageBytes,
  names: readonly string[],
  { name, total, lines, inlined }: FunctionSamples,
  named: (name: number) => void,
): void {
  const place = (location: number): void => {
    bytes.number(lineOffsetOf(location));
    bytes.number(discriminatorOf(location));
  };
  named(name);
  bytes.number(total);
  bytes.number(lines.size);
  for (const location of inOrder(lines)) {
    const line = lines.get(location);
    place(location);
    bytes.number(line?.count ?? 0);
    const targets = sortedTargets(line?.targets, names);
    bytes.number(targets.length);
    for (const [called, count] of targets) {
      named(called);
      bytes.number(count);
    }
  }
  let count = 0;
  for (const there of inlined.values()) count += there.size;
  bytes.number(count);
  for (const location of inOrder(inlined)) {
    for (const samples of sortedFunctions(inlined.get(location), names)) {
      place(location);
      writeSamples(bytes, names, samples, named);
    }
  }
}

/**
 * Writes the number of counts, and for each cutoff the smallest count that is needed to reach it.
 */
function writeSummary(bytes: MessageBytes, { functions }: SampleProfile): void {
  const counts: number[] = [];
  const add = ({ lines, inlined }: FunctionSamples): void => {
    for (const { count } of lines.values()) counts.push(count);
    for (const there of inlined.values()) there.forEach(add);
  };
  let head = 0;
  for (const samples of functions) {
    add(samples);
    head = Math.max(head, samples.head);
  }
  const sorted = Float64Array.from(counts).sort().reverse();
  const total = sorted.reduce((sum, count) => sum + count, 0);
  bytes.number(total);
  bytes.number(sorted[0] ?? 0);
  bytes.number(head);
  bytes.number(sorted.length);
  bytes.number(functions.length);
  bytes.number(CUTOFFS.length);
  let seen = 0, sum = 0, least = 0;
  for (const cutoff of CUTOFFS) {
    const wanted = Number(BigInt(total) * BigInt(cutoff) / 1_000_000n);
    while (sum < wanted && seen < sorted.length) {
      least = floatAt(sorted, seen);
      // Equal counts are added together.
      while (sorted[seen] === least) {
        sum += least;
        seen++;
      }
    }
    bytes.number(cutoff);
    bytes.number(least);
    bytes.number(seen);
  }
}
