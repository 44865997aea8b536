import { intAt } from "@perfdata/format/bytes";
import { PERF_SAMPLE_BRANCH_STACK } from "@perfdata/format/constants";
import {
  type Engine,
  intervalLines,
  percent,
  sharedBuildIdTexts,
  STAND_IN_FRAME,
  type SymbolTrust,
  UNMAPPED,
} from "@perfdata/session";
import { type Profile, type SampleColumns, type StackColumns, totals } from "../columns/profile.ts";
import { type NameLookUp, namePlaces } from "../names/profile_names.ts";
import { sumDoubts } from "../trust/sample_lines.ts";
import { withStateFrames } from "../views/state_frames.ts";
import { STAND_IN } from "./collect_options.ts";
import type { CollectOptions, SampleCollector } from "./sample_collector.ts";
import { samplesOf, stackColumns, threadsOf } from "./sampled_code.ts";

export type { ProfileWeight } from "../columns/profile.ts";

/** Options of a recording's profile. */
export interface ProfileOptions
  extends Pick<CollectOptions, "timed" | "lines" | "weight" | "filter"> {
  /** Whether context switches are kept. Only together with `timed`. */
  readonly switches?: boolean | undefined;
  /**
   * Whether each unmapped address is a place of its own, also in the report of trust. Otherwise,
   * all unmapped addresses are one place, which needs much less time and memory.
   */
  readonly unmapped?: boolean | undefined;
  /**
   * Whether samples of different threads are separate; true by default. With `false`, the threads
   * of the profile are commands.
   */
  readonly threads?: boolean | undefined;
}

/** Inputs for the names of a profile. */
export interface ProfileNames extends NameLookUp {
  /** Description of the recording, such as its command or file. */
  readonly title: string;
}

/** The columns that a {@linkcode SampleCollector} collects for {@linkcode recordedProfile}. */
export function profileColumns(options: ProfileOptions = {}): CollectOptions {
  const { timed = false, switches = false, threads = true, unmapped = false } = options;
  const { lines, weight, filter } = options;
  return {
    stacks: true,
    others: false,
    span: true,
    keys: { pid: threads, tid: threads, state: true },
    switches: timed && switches,
    timed,
    unmapped,
    lines,
    weight,
    filter,
  };
}

/**
 * The profile of collected samples, with names. To be called once after the pass: the samples are
 * moved, not copied.
 *
 * @param collector A collector with {@linkcode profileColumns}.
 * @throws {Error} If it is called again.
 * @returns The profile, and the trust in its names.
 */
export async function recordedProfile(
  collector: SampleCollector,
  names: ProfileNames,
): Promise<{ profile: Profile; trust: SymbolTrust }> {
  const { engine, span, events } = collector;
  const { threads, threadOf } = threadsOf(collector);
  const { first, last } = span;
  const epoch = epochOf(first);
  const { detail: states, ...samples } = samplesOf(collector, threadOf, epoch);
  const stacks = stackColumns(engine.stacks);
  const { trust, ...named } = await namePlaces(engine, stacks, samples, names);
  const profile: Profile = {
    ...named,
    title: names.title,
    trust: trustLine(collector, trust, callersOf(stacks, samples, engine), { events, samples }),
    events,
    threads,
    stacks,
    samples,
    epoch,
    span: first === undefined ? undefined : [Number(first - epoch), Number(last - epoch)],
    switches: collector.switched.map(({ context, time, ...change }) => ({
      thread: intAt(threadOf, context),
      time: Number(time - epoch),
      ...change,
    })),
  };
  return {
    profile: states === undefined ? profile : withStates(collector, profile, states),
    trust,
  };
}

/** The object of frames for states of threads. */
const OFF_CPU = "[off-cpu]";

/** Adds frames to the profile for states without a CPU, and for stacks of earlier samples. */
function withStates(
  { intervals, weight }: SampleCollector,
  profile: Profile,
  states: Int32Array,
): Profile {
  if (intervals === undefined) return profile;
  const marked = intervals.standIns === 0
    ? profile
    : withStateFrames(profile, Uint8Array.from(states, (of) => of & STAND_IN && 1), [
      STAND_IN_FRAME,
    ], OFF_CPU);
  const waits = Uint8Array.from(states, (of) => of & ~STAND_IN);
  const shown = weight === "wall"
    ? withStateFrames(marked, waits, ["[waiting]", "[runnable]"], OFF_CPU)
    : marked;
  return { ...shown, notes: intervalLines(intervals) };
}

/**
 * A line with the shares of samples that have a function and a stack, and the reasons why others
 * have none.
 */
export function trustLine(
  collector: Pick<SampleCollector, "engine" | "samples" | "largest" | "leftOut">,
  { all, resolved, unresolved, unverified }: SymbolTrust,
  callers: Callers,
  profile: Pick<Profile, "events" | "samples">,
): string {
  const { engine, samples: counted } = collector;
  const causes = [...unresolved].filter(([, { samples }]) => samples > 0)
    .sort(([, a], [, b]) => b.samples - a.samples)
    .map(([cause, { samples }]) => `${cause} ${percent(samples, all.samples)}`);
  const parts = [
    `${percent(resolved.samples, all.samples)} of samples have a function` +
    (causes.length > 0 ? ` (without: ${causes.join(", ")})` : ""),
    callers.some === 0
      ? "no call chains were recorded"
      : `${percent(callers.some, counted)} have callers`,
  ];
  // LBR call stacks do not depend on frame pointers.
  const hasBranches = engine.reader.events.all.some(({ layout }) =>
    (layout.sampleType & PERF_SAMPLE_BRANCH_STACK) !== 0
  );
  // Without frame pointers, chains lead to arbitrary addresses. A few such chains are in any
  // recording.
  if (callers.lost > 0 && callers.lost >= counted / 20) {
    parts.push(
      `${percent(callers.lost, counted)} have callers where nothing was mapped` +
        (hasBranches ? "" : ", as of code without frame pointers"),
    );
  }
  if (unverified.addresses > 0) {
    parts.push(`${percent(unverified.samples, all.samples)} by files that nothing verifies`);
  }
  const { ruling, rounded } = sumDoubts(collector, profile.events, totals(profile));
  parts.push(...ruling, ...sharedBuildIdTexts(engine.places.objects), ...rounded);
  const leftOut = engine.leftOut + collector.leftOut;
  if (leftOut > 0) parts.push(`${leftOut} samples are damaged or of no known event`);
  return parts.join("; ");
}

/** Limit of times that are exact as doubles. */
const EXACT = 1n << 52n;

/**
 * The time that the times of a profile are relative to: 0 for times of the recording's clock, if
 * they are exact as doubles; else the time of the first sample.
 */
export function epochOf(first: bigint | undefined): bigint {
  return first === undefined || first < EXACT ? 0n : first;
}

/** Counts of samples with callers. */
export interface Callers {
  /** Samples with a stack of more than one place. */
  readonly some: number;
  /** Samples of `some` with an unmapped user address in the stack; 0 if stacks were unwound. */
  readonly lost: number;
}

export function callersOf(
  { parent, place }: StackColumns,
  { length, stack, count }: SampleColumns,
  { places, unwound }: Engine,
): Callers {
  // A caller's row is before those of its callees.
  const isLost = new Uint8Array(parent.length);
  const isUnwound = unwound !== undefined && unwound.all.stacks > 0;
  for (let of = 0; of < parent.length && !isUnwound; of++) {
    const caller = parent[of] as number;
    if (caller >= 0 && isLost[caller] === 1 || places.object(place[of] as number) === UNMAPPED) {
      isLost[of] = 1;
    }
  }
  let [some, lost] = [0, 0];
  for (let row = 0; row < length; row++) {
    const of = stack[row] as number;
    const caller = of < 0 ? -1 : parent[of] as number;
    if (caller < 0) continue;
    some += count[row] as number;
    if (isLost[caller] === 1) lost += count[row] as number;
  }
  return { some, lost };
}
