import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { CallTimeline, CallTree } from "@perfdata/pt/decode";
import { callBoxes } from "./call_boxes.ts";
import { Numbers } from "../../fixtures/synthesize/recording.ts";
import { testSeed } from "../../tests/support/seed.ts";

Deno.test("callBoxes: boxes cover exactly the moments at which the call is on the stack", () => {
  const numbers = new Numbers(testSeed());
  const below = (limit: number) => numbers.below(limit);
  let compared = 0;
  for (let round = 0; round < 60; round++) {
    const tree = new CallTree();
    const timeline = new CallTimeline();
    /** Places of the stack, by moment and thread. */
    const stacks = new Map<number, (readonly number[] | undefined)[]>([[7, []], [8, []]]);
    for (const [tid, moments] of stacks) {
      let stack: number[] = [1];
      for (let at = 0; at < 200;) {
        const long = 1 + below(12);
        if (below(5) > 0) {
          const node = stack.reduce((up, place) => tree.node(up, place, tid), -1);
          timeline.add(tid, node, at, at + long);
          for (let i = 0; i < long; i++) moments[at + i] = [...stack];
        }
        at += long;
        // A new function each time, so that the path identifies the call.
        stack = stack.slice(0, 1 + below(stack.length));
        for (let n = below(4); n > 0; n--) stack.push(1 + below(1000));
      }
    }
    const from = below(60);
    const to = 100 + below(90);
    for (const [tid, moments] of stacks) {
      const boxes = callBoxes(
        tree,
        timeline,
        Int32Array.from({ length: 1001 }, (_, place) => place),
        { tid, from, to, least: 0 },
      );
      const seen = (at: number) =>
        [...boxes.item.keys()]
          .filter((box) => (boxes.from[box] as number) <= at && at < (boxes.to[box] as number))
          .sort((a, b) => (boxes.depth[a] as number) - (boxes.depth[b] as number))
          .map((box) => boxes.item[box]);
      for (let at = from; at < to; at++) {
        assertEquals(seen(at), [...moments[at] ?? []], `${tid} at ${at}`);
        compared++;
      }
      let ran = 0;
      for (let at = from; at < to; at++) if (moments[at] !== undefined) ran++;
      assertEquals(boxes.sum, ran);
      for (let box = 0; box < boxes.length; box++) {
        const [begin, end] = [boxes.from[box] as number, boxes.to[box] as number];
        assertAlmostEquals(boxes.x[box] as number, (begin - from) / (to - from));
        assertAlmostEquals(boxes.width[box] as number, (end - begin) / (to - from));
        // Without a pause, the box covers its whole time.
        assertEquals(boxes.total[box], end - begin);
      }
      // Narrow boxes and those inside them are left out.
      const wide = callBoxes(tree, timeline, Int32Array.from({ length: 1001 }), {
        ...{ tid, from, to, least: 0.05 },
      });
      assert(wide.width.every((share) => share >= 0.05) && wide.length <= boxes.length);
    }
  }
  assert(compared > 5000, `${compared} moments`);
});
