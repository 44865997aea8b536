/** Remedies for missing names, by reason. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { UNRESOLVED_CAUSES } from "@perfdata/symbols/resolver";
import { remediesOf, remedyOf } from "./remedies.ts";
import { trustedObject as object } from "./trust_testing.ts";

Deno.test("remediesOf: each reason has a remedy, sorted by samples", () => {
  for (const cause of UNRESOLVED_CAUSES) {
    for (const id of [undefined, "ab".repeat(20)]) {
      const remedy = remedyOf(object("/a", cause, 5, id)) ?? "";
      assertMatch(remedy, /record|perfdata|--\w+|perf-PID|install/, cause);
      // Only a build id can be used for a download.
      if (id === undefined) assert(!remedy.includes("symbols fetch"), cause);
    }
  }
  assertEquals(remedyOf(object("/a", "none", 0)), undefined);
  const id = "ab".repeat(20);
  const all = [
    object("/jit", "JIT", 7),
    object("/a", "file missing", 5, id),
    object("/b", "no symbols", 4, id),
  ];
  assertEquals(
    remediesOf({ objects: all }).map(({ objects, samples, addresses }) => [
      objects.map(({ object }) => object?.path),
      samples,
      addresses,
    ]),
    [[["/a", "/b"], 9, 4], [["/jit"], 7, 2]],
  );
});
