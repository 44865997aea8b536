import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";
import type { Profile, ProfileEvent } from "../columns/profile.ts";

/** `cpu_core/cycles/P`: PMU, event, modifiers. */
const OF_PMU = /^([\w.-]{1,64})\/([^/]{1,256})\/(\w{0,16})$/;

/** The event of a profile that a tree, a picture or a comparison shows. */
export interface ChosenEvent {
  /**
   * The profile. Events that were recorded for several PMUs are joined, and the chosen event is the
   * first.
   */
  readonly profile: Profile;
  /** Index of the event in it. */
  readonly event: number;
}

/**
 * Chooses the event for output that shows one event: the named one, or else the one with most
 * samples. An event that was recorded for several PMUs (`cpu_core/cycles/P` and `cpu_atom/cycles/P`
 * of a hybrid processor) is one event, `cycles:P`, unless the name is that of a single PMU's event.
 *
 * @returns `undefined` if no event has the name.
 *
 * @example
 * ```ts
 * import { chooseEvent, ProfileBuilder, totals } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const events = ["cpu_atom/cycles/P", "cpu_core/cycles/P"].map((name) => ({ name, unit: "count" } as const));
 * const builder = new ProfileBuilder({ events });
 * const thread = builder.thread(7, 7, "demo");
 * for (const event of [0, 1, 1]) builder.sample({ stack: -1, event, thread, period: 10 });
 * const both = chooseEvent(builder.profile());
 * assertEquals(both?.profile.events[both.event]?.name, "cycles:P");
 * assertEquals(totals(both?.profile ?? builder.profile())[0], { samples: 3, period: 30 });
 * assertEquals(chooseEvent(builder.profile(), "cpu_core/cycles/P")?.profile.events.length, 2);
 * ```
 */
export function chooseEvent(profile: Profile, name?: string): ChosenEvent | undefined {
  if (name === undefined) return { profile: shownEvents(profile), event: 0 };
  for (const each of [profile, joinPmus(profile)]) {
    const event = each.events.findIndex((one) => one.name === name);
    if (event >= 0) return { profile: each, event };
  }
  return undefined;
}

/**
 * The profile with joined events, the one with most samples first: the choices for output that
 * shows one event.
 */
export function shownEvents(profile: Profile): Profile {
  return mainEventFirst(joinPmus(profile));
}

/** The name of an event, with its PMUs if it was recorded for several. */
export function eventLabel({ name, pmus = [] }: ProfileEvent): string {
  return pmus.length === 0 ? name : `${name} of ${pmus.join(", ")}`;
}

/** The profile with one event for each that was recorded for several PMUs. */
export function joinPmus(profile: Profile): Profile {
  const { first, events } = joinedEvents(profile.events);
  const made = events.filter((_, number) => intAt(first, number) === number);
  if (made.length === events.length) return profile;
  const dense = new Int32Array(events.length);
  let count = 0;
  for (let number = 0; number < dense.length; number++) {
    const to = intAt(first, number);
    dense[number] = to === number ? count++ : intAt(dense, to);
  }
  return renumbered({ ...profile, samples: withPmus(profile, first, events) }, made, dense);
}

/** The samples with the index of their PMU among those of the joined event. */
function withPmus(
  profile: Profile,
  first: Int32Array,
  joined: readonly ProfileEvent[],
): Profile["samples"] {
  const { events, samples } = profile;
  const numbers = Uint8Array.from(
    events,
    ({ name }, event) =>
      Math.max(0, joined[intAt(first, event)]?.pmus?.indexOf(pmuOf(name) ?? "") ?? 0),
  );
  const pmu = new Uint8Array(samples.length);
  for (let i = 0; i < samples.length; i++) pmu[i] = byteAt(numbers, samples.event[i] ?? 0);
  return { ...samples, pmu };
}

/** Events with one event for each that was recorded for several PMUs. */
export interface JoinedEvents {
  /** Index of the first event of the group, by index of the event. */
  readonly first: Int32Array;
  /** The events by index. The first event of a group has the group's name and PMUs. */
  readonly events: readonly ProfileEvent[];
}

/** Joins the events that were recorded for several PMUs. */
export function joinedEvents(events: readonly ProfileEvent[]): JoinedEvents {
  const groups = new Map<string, number[]>();
  for (const [number, { name, unit }] of events.entries()) {
    const [, , what = "", modifiers = ""] = OF_PMU.exec(name) ?? [];
    if (what === "") continue;
    const key = `${unit} ${what}${modifiers === "" ? "" : `:${modifiers}`}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [number]);
    else group.push(number);
  }
  const first = Int32Array.from(events, (_, number) => number);
  const joined = [...events];
  for (const [key, group] of groups) {
    const [to] = group;
    const event = events[to ?? -1];
    if (to === undefined || event === undefined || group.length < 2) continue;
    for (const each of group) first[each] = to;
    const pmus = group.map((each) => pmuOf(events[each]?.name ?? "") ?? "");
    joined[to] = { ...event, name: key.slice(key.indexOf(" ") + 1), pmus: [...new Set(pmus)] };
  }
  return { first, events: joined };
}

/** The PMU in the name of an event. */
export function pmuOf(name: string): string | undefined {
  return OF_PMU.exec(name)?.[1];
}

/** The profile with the event of most samples first, since other programs show the first event. */
export function mainEventFirst(profile: Profile): Profile {
  const { events } = profile;
  const counts = eventCounts(profile);
  const main = counts.indexOf(Math.max(...counts));
  if (main <= 0) return profile;
  const order = [main, ...events.keys()].filter((number, i) => i === 0 || number !== main);
  const numbers = new Int32Array(events.length);
  for (const [to, from] of order.entries()) numbers[from] = to;
  return renumbered(profile, order.flatMap((number) => events[number] ?? []), numbers);
}

/** Number of samples of each event. */
export function eventCounts({ events, samples }: Profile): Float64Array {
  const counts = new Float64Array(events.length);
  const { event, count, length } = samples;
  for (let i = 0; i < length; i++) {
    const of = event[i] ?? 0;
    counts[of] = floatAt(counts, of) + (count[i] ?? 0);
  }
  return counts;
}

function renumbered(
  profile: Profile,
  events: readonly ProfileEvent[],
  numbers: Int32Array,
): Profile {
  const { samples } = profile;
  const event = new Int32Array(samples.length);
  for (let i = 0; i < samples.length; i++) event[i] = intAt(numbers, samples.event[i] ?? 0);
  return { ...profile, events, samples: { ...samples, event } };
}
