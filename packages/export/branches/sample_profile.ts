import { byteAt, floatAt, intAt, uintAt } from "@perfdata/format/bytes";
import type {
  DwarfContext,
  FrameBatch,
  FunctionName,
  FunctionRanges,
} from "@perfdata/symbols/dwarf";
import { type ElfFile, rawSymbolName, readRawSymbols } from "@perfdata/symbols";
import type { BinaryBranches } from "./branch_profile.ts";
import { CodeSteps } from "./code_steps.ts";

/** Counts at a line of a function. */
export interface LineSamples {
  /** Number of times that the line ran. */
  count: number;
  /** How often each function was called, by the index of its name. */
  targets: Map<number, number> | undefined;
}

/**
 * Counts of a function, or of a function inlined at one place. A place is a line relative to the
 * function's declaration with a discriminator; `locationOf` combines both.
 */
export interface FunctionSamples {
  /** Index of the name. */
  readonly name: number;
  /** Bytes of executed instructions, including inlined functions. */
  total: number;
  /** Number of times that the function was entered. */
  head: number;
  /** Counts by place. */
  readonly lines: Map<number, LineSamples>;
  /** Inlined functions by place and name. */
  readonly inlined: Map<number, Map<number, FunctionSamples>>;
}

/** A profile by function and line, for compilers. */
export interface SampleProfile {
  /** Names of functions, by index. */
  readonly names: readonly string[];
  /** The functions, by descending total. */
  readonly functions: readonly FunctionSamples[];
  /** Whether discriminators include those of late compiler passes (`-enable-fs-discriminator`). */
  readonly isFlowSensitive: boolean;
  /** Share of ranges that cannot be straight code: they contain a jump, a call or a return. */
  readonly impossible: number;
  /** Share of the other ranges that begin in functions with debug information. */
  readonly named: number;
}

/** Number of possible discriminators. */
const DISCRIMINATORS = 2 ** 32;

/** Combines a relative line and a discriminator to one number. */
export function locationOf(lineOffset: number, discriminator: number): number {
  return lineOffset * DISCRIMINATORS + discriminator;
}

/** The relative line of such a number. */
export function lineOffsetOf(location: number): number {
  return Math.floor(location / DISCRIMINATORS);
}

/** The discriminator of such a number. */
export function discriminatorOf(location: number): number {
  return location % DISCRIMINATORS;
}

/** The debug information that a profile needs. */
export type ProfileDwarf = Pick<DwarfContext, "findAll" | "functionName" | "functionRanges">;

/** Addresses per look-up. */
const BATCH = 1 << 18;
/** Names of functions that several source files define, so that no profile can tell them apart. */
const AMBIGUOUS = /^(?:__cxx_global_var_init|__tls_init)/;

/**
 * Makes a profile for compilers from a binary's executed ranges, as `llvm-profgen` does: a line has
 * the count of its most frequent instruction, a function the bytes of all.
 *
 * @param elf The binary, whose code is read.
 * @param dwarf Its debug information.
 * @param symbols The file with its symbol table.
 */
export function sampleProfile(
  { branches, ranges }: BinaryBranches,
  elf: ElfFile,
  dwarf: ProfileDwarf,
  symbols: ElfFile = elf,
): SampleProfile {
  const steps = new CodeSteps(elf);
  const kept = straightRanges(ranges, steps);
  const sum = (of: readonly { readonly count: number }[]) =>
    of.reduce((n, { count }) => n + count, 0);
  const ends = [...kept, ...branches].flatMap(({ from, to }) => [from, to]);
  const functions = new Functions(dwarf, Float64Array.from(new Set(ends)), steps);
  const isFlowSensitive = hasObject(symbols, "__llvm_fs_discriminator__");
  const builder = new Builder(dwarf, functions, isFlowSensitive);
  const named = builder.addRanges(kept, steps);
  builder.addBranches(branches, symbols);
  const all = sum(ranges), straight = sum(kept);
  return {
    names: functions.names,
    functions: builder.finish(),
    isFlowSensitive,
    impossible: all === 0 ? 0 : 1 - straight / all,
    named: straight === 0 ? 0 : named / straight,
  };
}

/** Code that was executed without a taken branch: addresses of its first and last instruction. */
export interface Range {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Drops ranges that contain a taken branch. They come from processors that repeat entries. */
export function straightRanges(ranges: BinaryBranches["ranges"], steps: CodeSteps): Range[] {
  const kept: Range[] = [];
  let start = NaN, at = NaN, ended = false;
  for (const range of ranges) {
    if (range.from !== start) {
      start = at = range.from;
      ended = false;
    }
    while (!ended && at < range.to) {
      const size = steps.step(at);
      ended = size === 0 || steps.ends;
      if (!ended) at += size;
    }
    if (at >= range.to) kept.push(range);
  }
  return kept;
}

/** Finds the functions at addresses, and their names. */
class Functions {
  readonly names: string[] = [];
  readonly ranges: FunctionRanges;
  readonly #dwarf: ProfileDwarf;
  readonly #numbers = new Map<string, number>();
  /** Index of a function's name, by index of the function; -1 without a name. */
  readonly #ofFunction = new Map<number, number>();
  /** Ranges by name in the file. */
  readonly #ofName = new Map<string, number[]>();
  /** First range that begins at an address. */
  readonly #at = new Map<number, number>();

  constructor(dwarf: ProfileDwarf, addresses: Float64Array, steps: CodeSteps) {
    this.#dwarf = dwarf;
    this.ranges = dwarf.functionRanges(addresses);
    const { low } = this.ranges;
    for (let i = 0; i < low.length; i++) {
      const own = this.#own(i);
      // Functions that the linker dropped have no code.
      if (own === undefined || !steps.hasCode(floatAt(low, i))) continue;
      const others = this.#ofName.get(own);
      if (others === undefined) this.#ofName.set(own, [i]);
      else others.push(i);
      if (!this.#at.has(floatAt(low, i))) this.#at.set(floatAt(low, i), i);
    }
  }

  /** Index of a function's name without suffixes for copies; -1 without a name. */
  name(number: number): number {
    let name = this.#ofFunction.get(number);
    if (name === undefined) {
      const own = ownName(this.#dwarf.functionName(number));
      name = own === undefined ? -1 : this.number(own);
      this.#ofFunction.set(number, name);
    }
    return name;
  }

  /** Index of a name. */
  number(own: string): number {
    const name = canonicalName(own);
    let number = this.#numbers.get(name);
    if (number === undefined) this.#numbers.set(name, number = this.names.push(name) - 1);
    return number;
  }

  #own(range: number): string | undefined {
    return ownName(this.#dwarf.functionName(intAt(this.ranges.function, range)));
  }

  /** All ranges of the function with code at an address. */
  around(address: number): readonly number[] {
    const { low, high } = this.ranges;
    let first = 0, end = low.length;
    while (first < end) {
      const middle = first + end >> 1;
      if (floatAt(low, middle) <= address) first = middle + 1;
      else end = middle;
    }
    if (first === 0) return [];
    const range = this.#at.get(floatAt(low, first - 1));
    if (range === undefined || address >= floatAt(high, range)) return [];
    return this.#ofName.get(this.#own(range) ?? "") ?? [];
  }

  rangeAt(address: number): { readonly name: string; readonly isOnly: boolean } | undefined {
    const range = this.#at.get(address);
    const name = range === undefined ? undefined : this.#own(range);
    if (name === undefined) return undefined;
    return { name, isOnly: this.#ofName.get(name)?.length === 1 };
  }
}

function ownName(function_: FunctionName | undefined): string | undefined {
  return function_?.linkageName ?? function_?.function;
}

/** A name without LLVM's suffixes for copies and parts of functions. */
function canonicalName(name: string): string {
  for (const suffix of [".llvm.", ".part."]) {
    const at = name.lastIndexOf(suffix);
    if (at >= 0 && name.lastIndexOf(".") === at + suffix.length - 1) name = name.slice(0, at);
  }
  return name;
}

/** Adds up executed ranges and calls. */
class Builder {
  readonly #dwarf: ProfileDwarf;
  readonly #functions: Functions;
  readonly #isFlowSensitive: boolean;
  readonly #top = new Map<number, FunctionSamples>();
  /** Result of {@link Builder.leaf}: a place in the innermost function. */
  #location = 0;
  #factor = 1;

  constructor(dwarf: ProfileDwarf, functions: Functions, isFlowSensitive: boolean) {
    this.#dwarf = dwarf;
    this.#functions = functions;
    this.#isFlowSensitive = isFlowSensitive;
  }

  /**
   * Counts the instructions of executed ranges. Returns how often ranges were executed that begin in
   * a known function.
   */
  addRanges(ranges: readonly Range[], steps: CodeSteps): number {
    const { low, high } = this.#functions.ranges;
    // Lines of executed functions that did not run have the count 0.
    const shown = new Uint8Array(low.length);
    let named = 0;
    for (const { from, count } of ranges) {
      const own = this.#functions.around(from);
      for (const range of own) shown[range] = 1;
      if (own.length > 0) named += count;
    }
    const starts = [...ranges];
    const ends = [...ranges].sort((a, b) => a.to - b.to);
    let started = 0, ended = 0, running = 0;
    const address = new Float64Array(BATCH);
    const count = new Float64Array(BATCH);
    const size = new Uint8Array(BATCH);
    let length = 0;
    const flush = () => {
      const frames = this.#look(address.subarray(0, length));
      for (let i = 0; i < length; i++) {
        const bytes = floatAt(count, i) * byteAt(size, i);
        const leaf = this.leaf(frames, i, bytes);
        if (leaf === undefined) continue;
        const line = lineOf(leaf, this.#location);
        line.count = Math.max(line.count, floatAt(count, i) * this.#factor);
      }
      length = 0;
    };
    let done = 0;
    for (let i = 0; i < low.length; i++) {
      let at = Math.max(done, floatAt(low, i));
      const until = floatAt(high, i);
      while (at < until) {
        while (started < starts.length && (starts[started] as Range).from <= at) {
          running += (starts[started++] as Range).count;
        }
        while (ended < ends.length && (ends[ended] as Range).to < at) {
          running -= (ends[ended++] as Range).count;
        }
        if (running === 0 && shown[i] === 0) {
          // No instruction was executed up to the next range.
          const next = started < starts.length ? (starts[started] as Range).from : Infinity;
          if (next >= until) break;
          at = next;
          continue;
        }
        const bytes = steps.step(at);
        if (bytes > 0) {
          address[length] = at;
          count[length] = running;
          size[length] = bytes;
          if (++length === BATCH) flush();
        }
        at += Math.max(1, bytes);
      }
      done = Math.max(done, until);
    }
    flush();
    return named;
  }

  addBranches(branches: BinaryBranches["branches"], symbols: ElfFile): void {
    const calls: { readonly from: number; readonly name: string; readonly count: number }[] = [];
    const unsure = new Map<number, string[]>();
    const entered = branches.flatMap(({ from, to, taken }) => {
      const entry = to === 0 ? undefined : this.#functions.rangeAt(to);
      if (entry === undefined) return [];
      if (!entry.isOnly) unsure.set(to, []);
      return [{ from, to, count: taken, ...entry }];
    });
    // A function in several parts is entered at the part with the symbol of its name.
    if (unsure.size > 0) symbolsAt(symbols, unsure);
    for (const { from, to, count, name, isOnly } of entered) {
      const own = canonicalName(name);
      if (isOnly || unsure.get(to)?.some((symbol) => canonicalName(symbol) === own)) {
        calls.push({ from, name, count });
      }
    }
    const frames = this.#look(Float64Array.from(calls, ({ from }) => from));
    for (const [i, { from, name, count }] of calls.entries()) {
      const callee = this.#functions.number(name);
      const leaf = from === 0 ? undefined : this.leaf(frames, i, 0);
      if (leaf !== undefined) {
        const line = lineOf(leaf, this.#location);
        line.targets ??= new Map();
        line.targets.set(callee, (line.targets.get(callee) ?? 0) + count);
      }
      samplesOf(this.#top, callee).head += count;
    }
  }

  #look(addresses: Float64Array): FrameBatch {
    return this.#dwarf.findAll(addresses, { names: "linkage", declLines: true });
  }

  /**
   * The innermost function at an address, with `bytes` added to its totals; `undefined` if there is
   * none. Sets the place.
   */
  leaf(frames: FrameBatch, number: number, bytes: number): FunctionSamples | undefined {
    const first = uintAt(frames.first, number);
    let samples: FunctionSamples | undefined;
    for (let i = first + uintAt(frames.count, number) - 1; i >= first; i--) {
      const function_ = intAt(frames.function, i);
      const name = function_ < 0 ? -1 : this.#functions.name(function_);
      if (name < 0) break;
      let level = this.#top;
      if (samples !== undefined) {
        let there = samples.inlined.get(this.#location);
        if (there === undefined) samples.inlined.set(this.#location, there = new Map());
        level = there;
      }
      samples = samplesOf(level, name);
      samples.total += bytes;
      const discriminator = intAt(frames.discriminator, i) >>> 0;
      const line = intAt(frames.line, i) - (frames.declLine?.[i] ?? 0) & 0xffff;
      this.#location = locationOf(line, this.#base(discriminator));
      this.#factor = this.#isFlowSensitive ? 1 : component(next(discriminator)) || 1;
    }
    return samples;
  }

  /**
   * The part of a discriminator that identifies a block of the line. The rest may tell how often
   * code was duplicated.
   */
  #base(discriminator: number): number {
    return this.#isFlowSensitive ? discriminator : component(discriminator);
  }

  /** The functions, by descending total. */
  finish(): FunctionSamples[] {
    const { names } = this.#functions;
    const isAmbiguous = ({ name }: FunctionSamples) => AMBIGUOUS.test(names[name] as string);
    const filter = ({ inlined }: FunctionSamples) => {
      for (const there of inlined.values()) {
        for (const [name, samples] of there) {
          if (isAmbiguous(samples)) there.delete(name);
          else filter(samples);
        }
      }
    };
    const found = [...this.#top.values()].filter((samples) => !isAmbiguous(samples));
    for (const samples of found) {
      filter(samples);
      for (const line of samples.lines.values()) {
        let called = 0;
        for (const count of line.targets?.values() ?? []) called += count;
        line.count = Math.max(line.count, called);
      }
    }
    return found.sort((a, b) =>
      b.total - a.total || ((names[a.name] as string) < (names[b.name] as string) ? -1 : 1)
    );
  }
}

function samplesOf(level: Map<number, FunctionSamples>, name: number): FunctionSamples {
  let samples = level.get(name);
  if (samples === undefined) {
    level.set(name, samples = { name, total: 0, head: 0, lines: new Map(), inlined: new Map() });
  }
  return samples;
}

function lineOf({ lines }: FunctionSamples, location: number): LineSamples {
  let line = lines.get(location);
  if (line === undefined) lines.set(location, line = { count: 0, targets: undefined });
  return line;
}

/** The lowest component of an LLVM discriminator: none, or 5 or 12 bits. */
function component(discriminator: number): number {
  if ((discriminator & 1) !== 0) return 0;
  const rest = discriminator >>> 1;
  return (rest & 0x20) === 0 ? rest & 0x1f : rest >>> 1 & 0xfe0 | rest & 0x1f;
}

/** A discriminator without its lowest component. */
function next(discriminator: number): number {
  if ((discriminator & 1) !== 0) return discriminator >>> 1;
  return discriminator >>> ((discriminator & 0x40) === 0 ? 7 : 14);
}

/** Adds the names of the symbols at some addresses. */
function symbolsAt(elf: ElfFile, addresses: Map<number, string[]>): void {
  const section = elf.section(".symtab") ?? elf.section(".dynsym");
  if (section === undefined) return;
  const symbols = readRawSymbols(elf, section);
  for (let i = 1; i < symbols.count; i++) {
    addresses.get(floatAt(symbols.value, i))?.push(rawSymbolName(symbols, i));
  }
}

function hasObject(elf: ElfFile, name: string): boolean {
  const section = elf.section(".symtab");
  if (section === undefined) return false;
  const symbols = readRawSymbols(elf, section);
  for (let i = 1; i < symbols.count; i++) if (rawSymbolName(symbols, i) === name) return true;
  return false;
}
