import { assertEquals } from "@std/assert";
import { ProfileBuilder } from "../collecting/profile_builder.ts";
import { functionNames } from "../columns/profile.ts";
import { comparable } from "./comparable.ts";

function profileOf(events: readonly string[], hasObject: boolean) {
  const builder = new ProfileBuilder({
    events: events.map((name) => ({ name, unit: "count" })),
  });
  const object = hasObject ? builder.object({ name: "demo", path: "/bin/demo" }) : -1;
  const stack = builder.stack(-1, builder.place(object, 1, [{ name: "" }]));
  const thread = builder.thread(7, 7, "demo");
  for (const [event] of events.entries()) {
    builder.sample({ stack, event, thread, count: event + 1, period: 1 });
  }
  return builder.profile();
}

Deno.test("comparable: the main event of a profile goes by the name of the wanted one", () => {
  const { profiles, events, byNameAlone } = comparable([
    profileOf(["cycles", "faults"], true),
    profileOf(["count", "cpu"], true),
  ], "cycles");
  assertEquals(events, [undefined, "cpu"]);
  assertEquals(profiles[1]?.events.map(({ name }) => name), ["count", "cycles"]);
  assertEquals(byNameAlone, false);
});

Deno.test("comparable: without objects on one side, functions go by their names", () => {
  const { profiles, byNameAlone } = comparable([
    profileOf(["cycles"], true),
    profileOf(["cycles"], false),
  ], "cycles");
  assertEquals(byNameAlone, true);
  assertEquals(profiles.map(functionNames), [["[demo]"], ["[unknown]"]]);
  assertEquals(profiles.map(({ objects }) => objects.length), [0, 0]);
});
