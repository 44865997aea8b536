import { assertEquals, assertThrows } from "@std/assert";
import { parseItrace } from "./itrace.ts";

Deno.test("parseItrace: letters give options and sizes, wrong ones an error", () => {
  // Spaces and commas are allowed before a number, as in perf.
  const { callChain, branchStack, timeless, skip } = parseItrace("i,100us g l 8Zs5");
  assertEquals([callChain, branchStack, timeless, skip], [16, 8, true, 5]);
  // A size counts for both letters; the last one counts.
  const added = parseItrace("G3gL");
  assertEquals([added.addedChain, added.callChain], [16, 16]);
  assertEquals([added.addedBranches, added.branchStack], [64, undefined]);
  const { errors, noOverflows, noLosses } = parseItrace("be+o -l");
  assertEquals([errors, noOverflows, noLosses], [true, false, true]);
  assertEquals([parseItrace("ib").quick, parseItrace("iqb").quick], [undefined, 1]);
  assertEquals([parseItrace("qiq").quick, parseItrace("qqq").quick], [2, 2]);
  const both = parseItrace("i7iy");
  assertEquals([both.instructions, both.cycles], [
    { period: 7, unit: "instructions" },
    { period: 7, unit: "instructions" },
  ]);
  const alone = parseItrace("y");
  assertEquals([alone.instructions, alone.cycles], [undefined, { period: 100_000, unit: "ns" }]);
  // perf 6.1 refuses these, too, except letters for other kinds of traces.
  for (
    const [text, message] of [
      ["g0", "g0: expected 1 to 1024"],
      ["l1025", "l1025: expected 1 to 1024"],
      ["G0", "G0: expected 1 to 1024"],
      ["is", "s: expected a number"],
      ["A", "A: core clocks"],
      ["yq", "y with q: without code"],
      ["be?", "?: no such letter"],
      ["m", "m: it belongs to traces of Arm SPE"],
    ] as const
  ) assertThrows(() => parseItrace(text), RangeError, message);
});
