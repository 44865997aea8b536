/** Number of instructions, TSC ticks or ns between samples. */
export interface ItracePeriod {
  /** Number of units. */
  readonly period: number;
  /** The unit. */
  readonly unit: "instructions" | "ticks" | "ns";
}

/** The samples to make from a trace: the options of `perf script --itrace`. */
export interface ItraceOptions {
  /** Samples of instructions: one every `period` instructions, TSC ticks or ns. */
  readonly instructions?: ItracePeriod;
  /** Samples of core clocks, at the instructions that would be sampled with this period. */
  readonly cycles?: ItracePeriod;
  /** Samples of branches. `calls` and `returns` select some of them. */
  readonly branches: boolean;
  /**
   * Among branches, calls and the end of tracing. With `returns`, both are selected; with neither,
   * all branches are.
   */
  readonly calls: boolean;
  /** Among branches, returns and the start of tracing. */
  readonly returns: boolean;
  /** Begins, ends and aborts of transactions. */
  readonly transactions: boolean;
  /** PTWRITE packets. */
  readonly ptwrites: boolean;
  /** Power events: C-states, the frequency, and PSB. */
  readonly power: boolean;
  /** Interrupts and other events of the event trace. */
  readonly interrupts: boolean;
  /** PEBS records that the processor wrote into the trace. */
  readonly pebs: boolean;
  /** Errors. */
  readonly errors: boolean;
  /** Whether errors for packets that the processor lost are left out. */
  readonly noOverflows?: boolean;
  /** Whether errors for lost data are left out. */
  readonly noLosses?: boolean;
  /**
   * Maximum entries of call chains, which samples other than branches get; without it, there are
   * none.
   */
  readonly callChain?: number;
  /**
   * Maximum entries of branch stacks, which samples other than branches get; without it, there are
   * none.
   */
  readonly branchStack?: number;
  /** Maximum entries of call chains for samples that were recorded without one. */
  readonly addedChain?: number;
  /** Maximum entries of branch stacks for samples that were recorded without one. */
  readonly addedBranches?: number;
  /** Whether times of the trace are ignored. */
  readonly timeless?: boolean;
  /** Number of samples to skip at the beginning. */
  readonly skip: number;
  /**
   * 1: decode packets without code, with samples at the addresses in packets; 2: at the addresses
   * in PSB+ only.
   */
  readonly quick?: 0 | 1 | 2;
}

/** The default of `perf script`: calls, and all kinds of samples except instructions. */
export const DEFAULT_ITRACE: ItraceOptions = {
  branches: true,
  calls: true,
  returns: false,
  transactions: true,
  ptwrites: true,
  power: true,
  interrupts: true,
  pebs: true,
  errors: true,
  skip: 0,
};

const SPE = "it belongs to traces of Arm SPE";

/** Letters of perf that are not supported, with the reason. */
const REFUSED: Readonly<Record<string, string>> = {
  A: "core clocks are those of CYC packets, not estimated",
  d: "there is no log of the decoder: see extract-pt --packets",
  f: SPE,
  m: SPE,
  M: SPE,
  t: SPE,
  a: SPE,
};

/** Default sizes of call chains and branch stacks, and their maximum. */
const CALL_CHAIN = 16;
const BRANCH_STACK = 64;
const MAX_ENTRIES = 1024;

/** Nanoseconds of a unit of `i`. */
const UNITS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, ms: 1e6 };

/**
 * Parses the options of `--itrace`: letters, some with a number, as in perf-script(1).
 *
 * @throws {RangeError} If a letter is unknown; the message lists the known letters.
 *
 * @example
 * ```ts
 * import { parseItrace } from "@perfdata/pt";
 * import { assertEquals } from "@std/assert";
 *
 * const { instructions, errors } = parseItrace("i100use");
 * assertEquals(instructions, { period: 100_000, unit: "ns" });
 * assertEquals(errors, true);
 * ```
 */
export function parseItrace(text: string): ItraceOptions {
  if (text === "") return DEFAULT_ITRACE;
  let every: ItracePeriod | undefined;
  let skip = 0;
  let callChain = CALL_CHAIN;
  let branchStack = BRANCH_STACK;
  let minus = "";
  let quick = 0;
  const letters = new Set<string>();
  const pattern =
    /[iy](?:[\s,]*(\d+)(ns|us|ms|i|t)?)?|([sglGL])[\s,]*(\d+)?|e(?:\s*[+-]\s*[a-z])*|[\s,]+|./gy;
  for (const [word, count, unit, sized, size] of text.matchAll(pattern)) {
    const letter = word.trim().replace(",", "").charAt(0);
    if (letter === "") continue;
    if (letter === "i" || letter === "y") {
      letters.add(letter);
      // The period counts for both letters. A letter without a period has that of the previous one.
      if (count === undefined && every !== undefined) continue;
      const period = count === undefined ? 100 : Number(count);
      const scale = UNITS[unit ?? (count === undefined ? "us" : "ns")];
      // A period of 0 means every instruction.
      every = period === 0 || unit === "i"
        ? { period: Math.max(1, period), unit: "instructions" }
        : scale === undefined
        ? { period, unit: "ticks" }
        : { period: period * scale, unit: "ns" };
    } else if (sized === "s") {
      if (size === undefined) throw new RangeError("itrace: s: expected a number of samples");
      skip = Number(size);
    } else if (sized !== undefined) {
      const isChain = sized === "g" || sized === "G";
      const entries = Number(size ?? (isChain ? CALL_CHAIN : BRANCH_STACK));
      if (!(entries >= 1 && entries <= MAX_ENTRIES)) {
        throw new RangeError(`itrace: ${word}: expected 1 to ${MAX_ENTRIES} entries`);
      }
      // The last setting counts for both letters, as in perf.
      if (isChain) callChain = entries;
      else branchStack = entries;
      letters.add(sized);
    } else if (letter === "e") {
      letters.add(letter);
      minus += word.replaceAll(/\s|\+\s*[a-z]/g, "");
    } else if (letter === "q") quick++;
    else if ("bcrxwpoIZ".includes(letter)) letters.add(letter);
    else {
      const why = REFUSED[letter];
      throw new RangeError(
        `itrace: ${letter}: ${
          why ?? "no such letter"
        }; there are i[N][i|t|ns|us|ms] y[N][i|t|ns|us|ms] b c r x w p o I e[-o][-l] g[N] l[N] G[N] L[N] sN q qq Z`,
      );
    }
  }
  if (quick > 0 && letters.has("y")) {
    throw new RangeError(
      "itrace: y with q: without code it is not known which core clocks belong to what",
    );
  }
  return {
    ...(every !== undefined && letters.has("i") ? { instructions: every } : {}),
    ...(every !== undefined && letters.has("y") ? { cycles: every } : {}),
    branches: letters.has("b") || letters.has("c") || letters.has("r"),
    calls: letters.has("c"),
    returns: letters.has("r"),
    transactions: letters.has("x"),
    ptwrites: letters.has("w"),
    power: letters.has("p"),
    interrupts: letters.has("I"),
    pebs: letters.has("o"),
    errors: letters.has("e"),
    noOverflows: minus.includes("-o"),
    noLosses: minus.includes("-l"),
    ...(letters.has("g") ? { callChain } : {}),
    ...(letters.has("l") ? { branchStack } : {}),
    ...(letters.has("G") ? { addedChain: callChain } : {}),
    ...(letters.has("L") ? { addedBranches: branchStack } : {}),
    timeless: letters.has("Z"),
    skip,
    ...(quick === 0 ? {} : { quick: quick === 1 ? 1 : 2 }),
  };
}

/** Letters whose samples have data that no record of a sample has. */
const NOT_RECORDED: readonly (readonly [keyof ItraceOptions, string])[] = [
  ["ptwrites", "w"],
  ["power", "p"],
  ["interrupts", "I"],
  ["pebs", "o"],
  ["addedChain", "G"],
  ["addedBranches", "L"],
];

/**
 * Parses the options of `--itrace` for samples that become records of a recording.
 *
 * @throws {RangeError} If a letter is unknown or only for `perfdata script`, or if no letter is for
 * samples.
 *
 * @example
 * ```ts
 * import { parseSampleItrace } from "@perfdata/pt";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * assertEquals(parseSampleItrace("i10ig").callChain, 16);
 * assertThrows(() => parseSampleItrace("e"), RangeError, "no samples");
 * ```
 */
export function parseSampleItrace(text: string): ItraceOptions {
  const itrace = parseItrace(text);
  const others = NOT_RECORDED.filter(([option]) => itrace[option]);
  if (others.length > 0) {
    const shown = others.map(([, letter]) => letter).join(", ");
    throw new RangeError(
      `itrace: ${shown}: only "perfdata script" shows what these samples have`,
    );
  }
  const { branches, instructions, cycles, transactions } = itrace;
  if (!branches && !transactions && instructions === undefined && cycles === undefined) {
    throw new RangeError("itrace: no samples: one of i, y, b, c, r, x is needed");
  }
  return itrace;
}
