/** Two events with different units: no share and no sum combines them. */
import { assertEquals } from "@std/assert";
import { tool } from "../support/tool.ts";

const fixture = (name: string) => `fixtures/recorded/${name}.perf.data`;

Deno.test("symbols trust: two events have shares of samples, not of periods", async () => {
  const { out, err } = await tool("symbols", ["trust", fixture("two-events")]);
  assertEquals(/^ +SAMPLES +ADDRESSES$/m.test(out), true, out);
  assertEquals(/samples are of 2 events, whose periods have no common unit/.test(err), true, err);
  const { out: json } = await tool("symbols", ["trust", "--json", fixture("two-events")]);
  const { all } = JSON.parse(json);
  assertEquals([all.samples, all.addresses, all.period], [42, 18, undefined]);
});

Deno.test("symbols trust: one event has shares of its period", async () => {
  const { out, err } = await tool("symbols", ["trust", fixture("callchain")]);
  assertEquals(/^ +SAMPLES +PERIOD +ADDRESSES$/m.test(out), true, out);
  assertEquals(/no common unit/.test(err), false, err);
  const { out: json } = await tool("symbols", ["trust", "--json", fixture("callchain")]);
  assertEquals(JSON.parse(json).all.period, 6_503_250);
});
