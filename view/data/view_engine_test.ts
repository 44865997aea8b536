import { assert, assertEquals } from "@std/assert";
import {
  HOSTILE_NAMES,
  namesOf,
  type PlainSample,
  plainSamples,
  profileOf,
  renamedSamples,
} from "../../packages/export/testing.ts";
import { ProfileBuilder, shownEvents, totals } from "@perfdata/profile";
import { type Direction } from "./call_graph.ts";
import { type Shown, ViewEngine } from "./view_engine.ts";
import { viewProfile } from "@perfdata/export/tree";

const SAMPLES = plainSamples(3000, 25);
const ENGINE = new ViewEngine(viewProfile(profileOf(SAMPLES)));
const FIRST = Math.min(...SAMPLES.map(({ time }) => time));
const LAST = Math.max(...SAMPLES.map(({ time }) => time));
const NAMES = ENGINE.profile.functions.name;

/** Selections, and the test of the samples in each. */
const SELECTIONS: readonly (readonly [Partial<Shown>, (sample: PlainSample) => boolean])[] = [
  [{}, () => true],
  [{ weight: "samples" }, () => true],
  [{ event: 1 }, () => true],
  [{ tids: [8] }, ({ thread }) => thread[2] === 8],
  [{ pids: [7], weight: "samples" }, ({ thread }) => thread[1] === 7],
  [{ tids: [8], pids: [9] }, ({ thread }) => thread[2] === 8 || thread[1] === 9],
  [
    { from: (LAST - FIRST) / 3, to: (LAST - FIRST) / 2 },
    ({ time }) => time - FIRST >= (LAST - FIRST) / 3 && time - FIRST < (LAST - FIRST) / 2,
  ],
  [{ inline: false }, () => true],
];

function cases() {
  return SELECTIONS.map(([change, fits]) => {
    const shown: Shown = { event: 0, weight: "period", inline: true, ...change };
    const samples = SAMPLES.filter((sample) => sample.event === shown.event && fits(sample))
      .map((sample) => ({
        // Inlined functions are marked in the sample.
        names: shown.inline
          ? namesOf(sample)
          : sample.stack.filter((name) => !name.startsWith("~")),
        weight: shown.weight === "samples" ? 1 : sample.period,
      }));
    return { shown, samples };
  });
}

const NONE = "[no stack]";
const nameOf = (item: number) => NAMES[item] ?? NONE;

Deno.test("ViewEngine.table: each function has the weight of the samples that contain it", () => {
  let compared = 0;
  for (const { shown, samples } of cases()) {
    const self = new Map<string, number>();
    const total = new Map<string, number>();
    let sum = 0;
    const add = (to: Map<string, number>, name: string, weight: number) =>
      to.set(name, (to.get(name) ?? 0) + weight);
    for (const { names, weight } of samples) {
      sum += weight;
      const stack = names.length === 0 ? [NONE] : names;
      add(self, stack.at(-1) as string, weight);
      for (const name of new Set(stack)) add(total, name, weight);
    }
    const rows = ENGINE.table(shown);
    const [ofSelf, ofTotal] = [new Map<string, number>(), new Map<string, number>()];
    for (const [row, item] of rows.item.entries()) {
      add(ofSelf, nameOf(item), rows.self[row] as number);
      add(ofTotal, nameOf(item), rows.total[row] as number);
      compared++;
    }
    for (const [name, weight] of ofSelf) assertEquals(weight, self.get(name) ?? 0, name);
    assertEquals(rows.sum, sum);
    assertEquals(rows.samples, samples.length);
    // If a name is also that of an inlined function, a sample with both counts in both rows.
    if (!shown.inline) assertEquals(ofTotal, total);
    else for (const [name, weight] of total) assert((ofTotal.get(name) ?? 0) >= weight, name);
  }
  assert(compared > 300, `${compared} rows`);
});

Deno.test("ViewEngine.children: lines have the sums of the samples with their paths", () => {
  let compared = 0;
  for (const [i, { shown, samples }] of cases().entries()) {
    // Selections do not affect the direction, so only the first two are tested in both.
    for (const direction of i < 2 ? ["down", "up"] as const : ["down"] as const) {
      const paths = new Map<string, number>();
      for (const { names, weight } of samples) {
        const stack = names.length === 0 ? [NONE] : names;
        const walked = direction === "up" ? stack.toReversed() : stack;
        for (let depth = 1; depth <= walked.length; depth++) {
          const key = walked.slice(0, depth).join("\0");
          paths.set(key, (paths.get(key) ?? 0) + weight);
        }
      }
      const found = new Map<string, number>();
      const visit = (path: readonly number[]) => {
        for (const { item, total, hasMore } of ENGINE.children(shown, direction, path).rows) {
          const own = [...path, item];
          const key = own.map(nameOf).join("\0");
          found.set(key, (found.get(key) ?? 0) + total);
          compared++;
          if (hasMore && own.length < 3) visit(own);
        }
      };
      visit([]);
      for (const [key, weight] of paths) {
        if (key.split("\0").length <= 3) assertEquals(found.get(key), weight, key);
      }
      assertEquals(
        found.size,
        [...paths.keys()].filter((key) => key.split("\0").length <= 3).length,
      );
    }
  }
  assert(compared > 3000, `${compared} lines`);
});

Deno.test("ViewEngine.flame: boxes are inside their callers and have the weight of their paths", () => {
  let compared = 0;
  for (const { shown } of cases()) {
    for (const direction of ["down", "up"] as Direction[]) {
      for (const focus of [undefined, NAMES.indexOf(HOSTILE_NAMES[2] as string)]) {
        const boxes = ENGINE.flame(shown, { direction, focus, zoom: [], least: 0 });
        const within = new Float64Array(boxes.length);
        for (let box = 0; box < boxes.length; box++) {
          const up = boxes.parent[box] as number;
          const [x, width] = [boxes.x[box] as number, boxes.width[box] as number];
          compared++;
          if (up < 0) continue;
          within[up] = (within[up] as number) + (boxes.total[box] as number);
          assert(x >= (boxes.x[up] as number) - 1e-9);
          assert(x + width <= (boxes.x[up] as number) + (boxes.width[up] as number) + 1e-9);
          assertEquals(boxes.depth[box], (boxes.depth[up] as number) + 1);
        }
        for (let box = 0; box < boxes.length; box++) {
          const [self, total] = [boxes.self[box] as number, boxes.total[box] as number];
          if (direction === "down") assertEquals(self + (within[box] as number), total);
          else {
            // Towards callers, some stacks end; samples are in the first function only.
            assert((within[box] as number) <= total);
            if (boxes.parent[box] !== -1) assertEquals(self, 0);
            else if (focus === undefined) assertEquals(self, total);
          }
        }
        // The zoomed box fills the width and contains the same boxes.
        const [first] = [...boxes.total.keys()].sort((a, b) =>
          (boxes.total[b] as number) - (boxes.total[a] as number)
        );
        if (first === undefined || boxes.parent[first] !== -1) continue;
        const zoom = [boxes.item[first] as number];
        const zoomed = ENGINE.flame(shown, { direction, focus, zoom, least: 0 });
        assertEquals([zoomed.x[0], zoomed.width[0]], [0, 1]);
        assertEquals(zoomed.total[0], boxes.total[first]);
      }
    }
  }
  assert(compared > 10_000, `${compared} boxes`);
});

Deno.test("ViewEngine.flame: narrow boxes are left out and counted; others keep their positions", () => {
  const shown: Shown = { event: 0, weight: "period", inline: true };
  const query = { direction: "down", zoom: [] } as const;
  const all = ENGINE.flame(shown, { ...query, least: 0 });
  const some = ENGINE.flame(shown, { ...query, least: 0.01 });
  assert(some.narrow > 0 && some.length < all.length);
  const places = (of: typeof all) =>
    [...of.item.keys()].filter((box) => (of.width[box] as number) >= 0.01)
      .map((box) => `${of.depth[box]} ${of.x[box]} ${of.width[box]} ${of.item[box]}`).sort();
  assertEquals(places(some), places(all));
});

Deno.test("ViewEngine.tracks: tracks have all samples of their time, by process, by thread and in total", () => {
  const { duration } = ENGINE.facts();
  for (const kind of ["all", "process", "thread"] as const) {
    for (const [from, to] of [[0, duration], [duration / 4, duration / 2]] as const) {
      const { tracks: found, count } = ENGINE.tracks(
        { kind, event: 0, weight: "samples", from, to, bins: 100, most: 100 },
        {},
      );
      const tracks = found.filter(({ isNested }) => !isNested);
      assertEquals(tracks.length, count);
      const sum = tracks.reduce((all, { bins }) => all + bins.reduce((a, b) => a + b, 0), 0);
      const inside = SAMPLES.filter(({ event, time }) =>
        event === 0 && time - FIRST >= from && time - FIRST <= to
      ).length;
      assertEquals(sum, inside);
      const ofAll = tracks.reduce((all, track) =>
        all + track.sum, 0);
      assertEquals(ofAll, SAMPLES.filter(({ event }) => event === 0).length);
    }
  }
});

Deno.test("ViewEngine.tracks: renamed processes and threads have the name of most of their samples", () => {
  const engine = new ViewEngine(viewProfile(profileOf(renamedSamples())));
  const query = { weight: "samples", from: 0, to: 1e9, bins: 10, most: 10 } as const;
  const labels = (kind: "process" | "thread", event: number) =>
    engine.tracks({ ...query, kind, event }, {}).tracks
      .filter(({ isNested }) => !isNested)
      .map(({ label, others }) => [label, ...others]);
  assertEquals(labels("process", 0), [["cc1plus 40", "g++"], ["app 50"]]);
  assertEquals(labels("thread", 0), [["cc1plus 40", "g++"], ["worker-5 51", "app"]]);
  // The names do not depend on the shown event.
  assertEquals(labels("process", 1), [["app 50"], ["cc1plus 40", "g++"]]);
});

Deno.test("ViewEngine.facts: CPUs are those of the samples of each event, in order", () => {
  const builder = new ProfileBuilder({
    events: ["cycles", "faults", "none"].map((name) => ({ name, unit: "count" as const })),
  });
  const sample = { stack: -1, thread: builder.thread(7, 7, "demo"), period: 1, time: 5 };
  for (const cpu of [3, 0, 3]) builder.sample({ ...sample, event: 0, cpu });
  builder.sample({ ...sample, event: 1, cpu: -1 });
  assertEquals(new ViewEngine(viewProfile(builder.profile())).facts().cpus, [[0, 3], [], []]);
});

Deno.test("ViewEngine.facts: samples of threads are counted by event", () => {
  const { events, threads, threadSamples, totals } = ENGINE.facts();
  for (const event of events.keys()) {
    for (const [number, { tid, comm }] of threads.entries()) {
      const of = SAMPLES.filter((sample) =>
        sample.event === event && sample.thread[2] === tid && sample.thread[0] === comm
      );
      assertEquals(threadSamples[event]?.[number], of.length, `${events[event]?.name} ${tid}`);
    }
    const sum = threadSamples[event]?.reduce((sum, count) => sum + count, 0);
    assertEquals(sum, totals[event]?.samples);
  }
});

Deno.test("ViewEngine.flame: self weights equal those of the samples, in both directions", () => {
  const shown: Shown = { event: 0, weight: "period", inline: true };
  for (const direction of ["up", "down"] as const) {
    const boxes = ENGINE.flame(shown, { direction, zoom: [], least: 0 });
    const found = new Map<string, number>();
    for (const [box, own] of boxes.self.entries()) {
      const name = nameOf(boxes.item[box] ?? -1);
      if (own > 0) found.set(name, (found.get(name) ?? 0) + own);
    }
    const wanted = new Map<string, number>();
    for (const sample of SAMPLES.filter(({ event }) => event === 0)) {
      const names = namesOf(sample);
      const name = names.at(-1) ?? NONE;
      wanted.set(name, (wanted.get(name) ?? 0) + sample.period);
    }
    assertEquals(new Map([...found].sort()), new Map([...wanted].sort()));
  }
});

Deno.test("ViewEngine: every view shows the stacks after transforms, and the engine gives the dropped share", () => {
  const all = SAMPLES.filter(({ event }) => event === 0);
  const sum = (samples: readonly PlainSample[]) =>
    samples.reduce((sum, { period }) => sum + period, 0);
  const has = (sample: PlainSample, name: string) => namesOf(sample).includes(name);
  // What is kept of each sample, written out.
  const from = (sample: PlainSample) => namesOf(sample).slice(namesOf(sample).indexOf("f9"));
  const without = (sample: PlainSample) => namesOf(sample).filter((name) => name !== "f9");
  const cases:
    readonly (readonly [string, readonly (readonly [PlainSample, readonly string[]])[]])[] = [
      ["focus:f9", all.filter((of) => has(of, "f9")).map((of) => [of, from(of)])],
      ["merge:f9", all.map((of) => [of, without(of)])],
      ["drop:f9", all.filter((of) => !has(of, "f9")).map((of) => [of, namesOf(of)])],
      ["having:/^f9$/", all.filter((of) => has(of, "f9")).map((of) => [of, namesOf(of)])],
    ];
  for (const [text, wanted] of cases) {
    const shown: Shown = { event: 0, weight: "period", inline: true, transforms: [text] };
    const kept = sum(wanted.map(([sample]) => sample));
    const { item, self, sum: total } = ENGINE.table(shown);
    const bySelf = new Map<string, number>();
    for (const [sample, names] of wanted) {
      const name = names.at(-1) ?? NONE;
      bySelf.set(name, (bySelf.get(name) ?? 0) + sample.period);
    }
    const found = new Map<string, number>();
    for (const [row, fn] of item.entries()) {
      if ((self[row] ?? 0) > 0) {
        found.set(nameOf(fn), (found.get(nameOf(fn)) ?? 0) + (self[row] ?? 0));
      }
    }
    assertEquals(new Map([...found].sort()), new Map([...bySelf].sort()), text);
    assertEquals(total, kept, text);
    assertEquals(Math.round(ENGINE.droppedShare(shown) * sum(all)), sum(all) - kept, text);
    const query = { direction: "down", zoom: [], least: 0 } as const;
    assertEquals(ENGINE.flame(shown, query).sum, kept, text);
    assertEquals(ENGINE.flame(shown, { ...query, root: "process" }).sum, kept, text);
    assertEquals(ENGINE.timeFlame(shown, 0)?.sum, kept, text);
    assertEquals(totals(ENGINE.selected(shown))[0]?.period, kept, text);
  }
  // A frame that replaces an object's code has a name.
  const shown: Shown = { event: 0, weight: "period", inline: true, transforms: ["collapse:demo"] };
  const { functions } = ENGINE.facts();
  const { objects } = ENGINE.profile;
  const ofDemo = [...ENGINE.table(shown).item]
    .filter((fn) => objects[functions.object[fn] ?? -1]?.name === "demo")
    .map((fn) => functions.name[fn]);
  assertEquals(ofDemo, ["[demo]"]);
  assertEquals(ENGINE.droppedShare(shown), 0);
});

Deno.test("ViewEngine.flame: weights by PMU equal those of the PMU's samples", () => {
  const samples = plainSamples(800, 11);
  // The PMU follows from the sample's period alone.
  const isAtom = ({ period }: PlainSample) => period % 3 === 0;
  const profile = profileOf(
    samples.map((sample) => ({ ...sample, event: isAtom(sample) ? 1 : 0 })),
  );
  const events = ["cpu_core/cycles/P", "cpu_atom/cycles/P"]
    .map((name) => ({ name, unit: "count" } as const));
  const engine = new ViewEngine(viewProfile(shownEvents({ ...profile, events })));
  assertEquals(engine.profile.events.map(({ pmus }) => pmus), [["cpu_core", "cpu_atom"]]);
  const sumOf = (path: readonly string[], chosen: readonly PlainSample[]) =>
    chosen.filter((sample) => {
      const names = namesOf(sample);
      return path.every((name, depth) => (names[depth] ?? (depth === 0 ? NONE : "")) === name);
    }).reduce((sum, { period }) => sum + period, 0);
  const nameIn = (item: number) => engine.profile.functions.name[item] ?? NONE;
  for (const root of ["function", "process"] as const) {
    const shown: Shown = { event: 0, weight: "period", inline: true };
    const boxes = engine.flame(shown, { direction: "down", zoom: [], least: 0, root, pmus: true });
    assertEquals(boxes.ofPmus?.length, 2);
    // A name may have two functions: inlined and not.
    const byPath = new Map<string, { path: string[]; sums: [core: number, atom: number] }>();
    for (let box = 0; box < boxes.length; box++) {
      const [core = -1, atom = -1] = boxes.ofPmus?.map((weights) => weights[box]) ?? [];
      assertEquals(core + atom, boxes.total[box]);
      const path: string[] = [];
      for (let at = box; at >= 0; at = boxes.parent[at] ?? -1) {
        path.unshift(nameIn(boxes.item[at] ?? -1));
      }
      const known = byPath.get(path.join("\n")) ?? { path, sums: [0, 0] };
      known.sums[0] += core;
      known.sums[1] += atom;
      byPath.set(path.join("\n"), known);
    }
    const all = [...byPath.values()];
    assert(all.length > 100 && all.filter(({ sums }) => Math.min(...sums) > 0).length > 10);
    // The first row of processes has no functions.
    if (root === "process") continue;
    for (const { path, sums } of all) {
      assertEquals(sums, [
        sumOf(path, samples.filter((sample) => !isAtom(sample))),
        sumOf(path, samples.filter(isAtom)),
      ], path.join(";"));
    }
  }
  assertEquals(
    engine.flame({ event: 0, weight: "period", inline: true }, {
      direction: "down",
      zoom: [],
      least: 0,
    })
      .ofPmus,
    undefined,
  );
});
