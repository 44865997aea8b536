import { assertEquals } from "@std/assert";
import { ProfileBuilder } from "../collecting/profile_builder.ts";
import { type Profile, totals } from "../columns/profile.ts";
import {
  chooseEvent,
  eventCounts,
  eventLabel,
  joinedEvents,
  joinPmus,
  mainEventFirst,
  pmuOf,
  shownEvents,
} from "./chosen_event.ts";

/** A profile with a number of samples of each event, with a period of 10. */
function profileOf(events: Readonly<Record<string, number>>): Profile {
  const names = Object.keys(events);
  const builder = new ProfileBuilder({ events: names.map((name) => ({ name, unit: "count" })) });
  const thread = builder.thread(1, 1, "demo");
  for (const [event, name] of names.entries()) {
    const samples = events[name] ?? 0;
    if (samples > 0) {
      builder.sample({ stack: -1, event, thread, count: samples, period: 10 * samples });
    }
  }
  return builder.profile();
}

/** The chosen event and its samples, and the names of all events. */
function chosen(events: Readonly<Record<string, number>>, name?: string): unknown {
  const found = chooseEvent(profileOf(events), name);
  if (found === undefined) return undefined;
  const { profile, event } = found;
  return [
    profile.events[event]?.name,
    totals(profile)[event]?.samples,
    profile.events.map(({ name }) => name),
  ];
}

Deno.test("chosen event: an event of two PMUs is one, with the samples of both", () => {
  const hybrid = { "cpu_atom/cycles/P": 11, "cpu_core/cycles/P": 27_108 };
  assertEquals(chosen(hybrid), ["cycles:P", 27_119, ["cycles:P"]]);
  assertEquals(chosen(hybrid, "cycles:P"), ["cycles:P", 27_119, ["cycles:P"]]);
  assertEquals(chosen(hybrid, "cpu_atom/cycles/P"), ["cpu_atom/cycles/P", 11, Object.keys(hybrid)]);
});

Deno.test("chosen event: events with other names or modifiers stay apart", () => {
  const events = {
    "cpu_core/cycles/": 1,
    "cpu_atom/cycles/": 2,
    "cpu_core/cycles/u": 9,
    faults: 5,
  };
  assertEquals(chosen(events), [
    "cpu_core/cycles/u",
    9,
    ["cpu_core/cycles/u", "cycles", "faults"],
  ]);
  assertEquals(chosen({ "cpu/cycles/": 1, "cpu/instructions/": 2 }), [
    "cpu/instructions/",
    2,
    ["cpu/instructions/", "cpu/cycles/"],
  ]);
});

Deno.test("chosen event: without a name, the one with most samples; of equals, the first", () => {
  assertEquals(chosen({ a: 1, b: 3, c: 2 }), ["b", 3, ["b", "a", "c"]]);
  assertEquals(chosen({ a: 2, b: 2 }), ["a", 2, ["a", "b"]]);
  assertEquals(chosen({ a: 0, b: 0 }), ["a", 0, ["a", "b"]]);
});

Deno.test("chosen event: an unknown name gives nothing", () => {
  assertEquals(chosen({ a: 1 }, "b"), undefined);
});

Deno.test("main event first: samples and periods stay those of their events", () => {
  const profile = mainEventFirst(profileOf({ a: 1, b: 3, c: 2 }));
  const sums = profile.events.map(({ name }, i) => [name, totals(profile)[i]?.period]);
  assertEquals(sums, [["b", 30], ["a", 10], ["c", 20]]);
});

Deno.test("shownEvents: an event of two PMUs among others has the PMUs in its label, and is first", () => {
  const found = shownEvents(
    profileOf({ "faults": 400, "cpu_atom/cycles/P": 200, "cpu_core/cycles/P": 300 }),
  );
  assertEquals(found.events.map(eventLabel), ["cycles:P of cpu_atom, cpu_core", "faults"]);
});

Deno.test("joinedEvents: events of one name, modifiers and unit are one group, from its first on", () => {
  const event = (name: string, unit: "count" | "nanoseconds" = "count") => ({ name, unit });
  const events = [
    event("faults"),
    event("cpu_core/cycles/"),
    event("cpu_core/cycles/u"),
    event("cpu_atom/cycles/"),
    event("cpu_atom/cycles/", "nanoseconds"),
    event("cpu_lp/cycles/"),
    event("cpu_atom/cycles/u"),
    event("cpu_atom/cycles/"),
  ];
  const { first, events: joined } = joinedEvents(events);
  assertEquals([...first], [0, 1, 2, 1, 4, 1, 2, 1]);
  assertEquals(joined[1], { ...event("cycles"), pmus: ["cpu_core", "cpu_atom", "cpu_lp"] });
  assertEquals(joined[2], { ...event("cycles:u"), pmus: ["cpu_core", "cpu_atom"] });
  // A group of one is the event itself.
  assertEquals([joined[0], joined[4]], [events[0], events[4]]);
  assertEquals(["cpu/cycles/", "cycles", "cpu/cycles/uk:"].map(pmuOf), [
    "cpu",
    undefined,
    undefined,
  ]);
});

Deno.test("joinPmus: groups between other events get numbers without gaps, samples go with them", () => {
  const profile = joinPmus(profileOf({
    ...{ "a/x/": 1, faults: 2, "a/y/": 4, "b/x/": 8, other: 16, "b/y/": 32 },
  }));
  assertEquals(profile.events.map(({ name }) => name), ["x", "faults", "y", "other"]);
  assertEquals([...eventCounts(profile)], [9, 2, 36, 16]);
  const apart = profileOf({ "a/x/": 1, faults: 2 });
  assertEquals(joinPmus(apart), apart);
});

Deno.test("eventLabel: an event of no PMU is its name", () => {
  assertEquals(eventLabel({ name: "cycles", unit: "count" }), "cycles");
  assertEquals(eventLabel({ name: "cycles", unit: "count", pmus: [] }), "cycles");
});

Deno.test("joinPmus: each sample has the index of its PMU among those of the joined event", () => {
  const events = ["cpu_core/cycles/P", "faults", "cpu_atom/cycles/P"]
    .map((name) => ({ name, unit: "count" } as const));
  const builder = new ProfileBuilder({ events });
  for (const event of [2, 0, 1, 2]) {
    builder.sample({ stack: -1, event, thread: builder.thread(event, event, "demo"), period: 1 });
  }
  const profile = builder.profile();
  assertEquals(profile.samples.pmu, undefined);
  const { events: joined, samples } = joinPmus(profile);
  const named = Array.from({ length: samples.length }, (_, row) => {
    const { name, pmus } = joined[samples.event[row] ?? -1] ?? { name: "" };
    return [name, pmus?.[samples.pmu?.[row] ?? -1]];
  });
  assertEquals(named, [
    ["cycles:P", "cpu_atom"],
    ["cycles:P", "cpu_core"],
    ["faults", undefined],
    ["cycles:P", "cpu_atom"],
  ]);
});
