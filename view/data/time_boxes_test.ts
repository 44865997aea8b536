import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { type PlainSample, plainSamples, profileOf } from "../../packages/export/testing.ts";
import type { TimeBoxes } from "./open_boxes.ts";
import { type Shown, ViewEngine } from "./view_engine.ts";
import { viewProfile } from "@perfdata/export/tree";

const SHOWN: Shown = { event: 0, weight: "period", inline: true };

/** Few functions, so that successive samples share some; none is inlined. */
const SAMPLES = plainSamples(4000, 12, 3).map((sample) => ({
  ...sample,
  stack: sample.stack.map((name) => name.replace("~", "")),
}));

/** Expected boxes: runs of samples that agree in all functions down to a depth. */
function runs(samples: readonly PlainSample[]): Map<string, number> {
  const found = new Map<string, number>();
  const first = Math.min(...SAMPLES.map(({ time }) => time));
  for (let depth = 0; depth < 12; depth++) {
    let [path, start, end, sum] = ["", 0, 0, 0];
    const done = () => {
      if (path !== "") found.set(`${depth} ${path} ${start}-${end}`, sum);
    };
    for (const { stack, time, period } of samples) {
      const names = stack.length === 0 ? ["[no stack]"] : stack;
      const own = names.length > depth ? names.slice(0, depth + 1).join(";") : "";
      if (own !== path) {
        done();
        [path, start, sum] = [own, time - first, 0];
      }
      end = time - first;
      sum += period;
    }
    done();
  }
  return found;
}

function named(engine: ViewEngine, boxes: TimeBoxes): Map<string, number> {
  const paths: string[] = [];
  const found = new Map<string, number>();
  for (let box = 0; box < boxes.length; box++) {
    const up = boxes.parent[box] as number;
    const name = engine.profile.functions.name[boxes.item[box] as number] ?? "[no stack]";
    const path = paths[box] = up < 0 ? name : `${paths[up]};${name}`;
    const [from, to] = [boxes.from[box], boxes.to[box]];
    found.set(`${boxes.depth[box]} ${path} ${from}-${to}`, boxes.total[box] as number);
  }
  return found;
}

Deno.test("timeBoxes: successive samples of a thread in the same function form one box", () => {
  const engine = new ViewEngine(viewProfile(profileOf(SAMPLES)));
  const of = SAMPLES.filter(({ event, thread }) => event === 0 && thread[2] === 8);
  const boxes = engine.timeFlame({ ...SHOWN, tids: [8] }, 0) as TimeBoxes;
  const wanted = runs(of);
  assert(wanted.size > 1000, `${wanted.size} boxes`);
  assertEquals([...named(engine, boxes)].sort(), [...wanted].sort());
  // Only narrow boxes are left out.
  const least = 0.002;
  const wide = engine.timeFlame({ ...SHOWN, tids: [8] }, least) as TimeBoxes;
  const sum = of.reduce((all, { period }) => all + period, 0);
  const few = [...wanted].filter(([, total]) => total / sum >= least);
  assert(few.length > 50 && few.length < wanted.size);
  assertEquals([...named(engine, wide)].sort(), few.sort());
});

Deno.test("timeBoxes: boxes of several threads have the sums of the call graph", () => {
  const engine = new ViewEngine(viewProfile(profileOf(SAMPLES)));
  const boxes = engine.timeFlame(SHOWN, 0) as TimeBoxes;
  const merged = engine.flame(SHOWN, { direction: "down", zoom: [], least: 0 });
  const sums = (of: { item: Int32Array; depth: Int32Array; total: Float64Array }) => {
    const by = new Map<string, number>();
    for (const [box, item] of of.item.entries()) {
      const key = `${of.depth[box]} ${item}`;
      by.set(key, (by.get(key) ?? 0) + (of.total[box] as number));
    }
    return [...by].sort();
  };
  assertEquals(sums(boxes), sums(merged));
  // Each box has the width of its weight, and is inside its caller.
  for (let box = 0; box < boxes.length; box++) {
    const [x, width] = [boxes.x[box] as number, boxes.width[box] as number];
    assertAlmostEquals(width, (boxes.total[box] as number) / boxes.sum, 1e-9);
    const up = boxes.parent[box] as number;
    if (up < 0) continue;
    assert(x >= (boxes.x[up] as number) - 1e-9);
    assert(x + width <= (boxes.x[up] as number) + (boxes.width[up] as number) + 1e-9);
  }
});

Deno.test("heat: each sample counts in the cell of its second and fraction", () => {
  const engine = new ViewEngine(viewProfile(profileOf(SAMPLES)));
  const first = Math.min(...SAMPLES.map(({ time }) => time));
  for (const tids of [undefined, [8]]) {
    const { column, columns, rows, cells, most } = engine.heat({
      event: 0,
      weight: "samples",
      rows: 20,
      // The time range of the selection does not affect the map.
      from: 1e6,
      to: 2e6,
      tids,
    });
    assertEquals([column, columns], [1e8, Math.floor(engine.profile.duration / 1e8) + 1]);
    const wanted = new Array(columns * rows).fill(0);
    for (const { event, thread, time } of SAMPLES) {
      if (event !== 0 || tids?.includes(thread[2]) === false) continue;
      const second = Math.floor((time - first) / column);
      const part = Math.floor(((time - first) - second * column) / (column / rows));
      wanted[second * rows + part]++;
    }
    assertEquals([...cells], wanted);
    assertEquals(most, Math.max(...wanted));
  }
});
