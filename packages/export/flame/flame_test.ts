import { assert, assertEquals } from "@std/assert";
import { noBrowser, withPage } from "../browser_testing.ts";
import { flameData } from "./flame_data.ts";
import { flameSvg } from "./flame_svg.ts";
import { flameTree } from "./flame_tree.ts";
import { namesOf, type PlainSample, plainSamples, profileOf, withFile } from "../testing.ts";
import { ignored } from "../../../tests/support/ignored.ts";

const SAMPLES = plainSamples(6000, 5);
const DATA = flameData([profileOf(SAMPLES)]);

/** The period of an event's samples that pass `keep`. */
function period(keep: (sample: PlainSample) => boolean, event = 0): number {
  let sum = 0;
  for (const sample of SAMPLES) if (sample.event === event && keep(sample)) sum += sample.period;
  return sum;
}

/** Sums by path, joined by a character that is in no name. */
function paths(event: number, make: (sample: PlainSample) => string[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const sample of SAMPLES) {
    if (sample.event !== event) continue;
    const names = make(sample);
    for (let depth = 1; depth <= names.length; depth++) {
      const key = names.slice(0, depth).join("\0");
      sums.set(key, (sums.get(key) ?? 0) + sample.period);
    }
  }
  return sums;
}

/** Values of a laid-out graph by path. Inlined functions have separate boxes. */
function treePaths(tree: ReturnType<typeof flameTree>): Map<string, number> {
  const sums = new Map<string, number>();
  const keys: string[] = [];
  for (let box = 0; box < tree.length; box++) {
    const up = tree.parent[box] as number;
    const item = tree.item[box] as number;
    const name = item < 0 ? "[no stack]" : DATA.names[item] as string;
    const key = keys[box] = up < 0 ? name : `${keys[up]}\0${name}`;
    sums.set(key, (sums.get(key) ?? 0) + (tree.value[box] as number));
  }
  return sums;
}

const BROWSER = await noBrowser();

Deno.test("flameTree: boxes have the sums of the samples' paths", () => {
  for (const event of [0, 1]) {
    const rest = { event, weight: "period", root: "none" } as const;
    const tree = flameTree(DATA, { ...rest, order: "merged" });
    const stack = (sample: PlainSample) =>
      sample.stack.length === 0 ? ["[no stack]"] : namesOf(sample);
    assertEquals(treePaths(tree), paths(event, stack));
    const callers = flameTree(DATA, { ...rest, order: "callers" });
    assertEquals(treePaths(callers), paths(event, (sample) => stack(sample).reverse()));
  }
});

Deno.test("flameTree: boxes are within their callers, side by side", () => {
  for (const order of ["merged", "callers"] as const) {
    const tree = flameTree(DATA, { event: 0, weight: "samples", order, root: "process" });
    const right = new Map<string, number>();
    for (let box = 0; box < tree.length; box++) {
      const up = tree.parent[box] as number;
      const [x, width] = [tree.x[box] as number, tree.width[box] as number];
      if (up >= 0) {
        assert(x >= (tree.x[up] as number) - 1e-9);
        assert(x + width <= (tree.x[up] as number) + (tree.width[up] as number) + 1e-9);
        assert((tree.depth[box] as number) === (tree.depth[up] as number) + 1);
      }
      right.set(`${x} ${tree.depth[box]}`, x + width);
    }
    let [at, steps] = [0, 0];
    while (at < 1 - 1e-9 && steps++ < 1e4) {
      const next = [...right].find(([key]) =>
        key.endsWith(" 0") && Math.abs(parseFloat(key) - at) < 1e-9
      );
      assert(next !== undefined, `nothing in the first row at ${at}`);
      at = next[1];
    }
  }
});

Deno.test("flameData: limits keep all samples and count dropped nodes", () => {
  const small = flameData([profileOf(SAMPLES)], { nodes: 200, rows: 700 });
  assert(small.parent.length <= 200 && small.rows.node.length <= 700);
  assert(small.omittedNodes > 0 && small.omittedShare > 0 && small.omittedShare < 0.05);
  for (const event of [0, 1]) {
    const tree = flameTree(small, { event, weight: "period", order: "merged", root: "none" });
    assertEquals(tree.total, period(() => true, event));
  }
});

Deno.test("flameSvg: the picture is valid XML for any names", ignored(BROWSER), async () => {
  const svg = flameSvg(DATA);
  const result = await withFile(
    "a.svg",
    new TextEncoder().encode(svg),
    (path) =>
      withPage(path, async (page, { errors, requests }) => {
        assertEquals([errors, requests], [[], []]);
        return await page.evaluate(`[
        document.documentElement.tagName,
        document.querySelectorAll("script:not(svg > script:last-of-type), img, parsererror").length,
        [...document.querySelectorAll("g > title")].map((title) => title.textContent),
      ]`) as [string, number, string[]];
      }),
  );
  const [tag, foreign, titles] = result;
  assertEquals([tag, foreign], ["svg", 0]);
  const all = period(() => true);
  const own = titles.find((title) => title.startsWith("x\n")) ?? "";
  const expected = period(({ thread }) => thread[0] === "x") / all * 100;
  assert(own.includes(`${expected.toFixed(2)}% of all`), own);
});

Deno.test(
  "flameSvg in a browser: a click zooms to a box, and a search has the share of its matches",
  ignored(BROWSER),
  async () => {
    const samples = plainSamples(300, 5);
    const bytes = new TextEncoder().encode(flameSvg(flameData([profileOf(samples)])));
    /** Boxes that are shown: name, left and right edge, and color. */
    const SHOWN = `[...document.querySelectorAll("g")].filter((g) => g.style.display !== "none")
    .map((g) => {
      const rect = g.querySelector("rect");
      const x = Number(rect.getAttribute("x"));
      const width = Number(rect.getAttribute("width"));
      return [g.querySelector("title").textContent, x, x + width, rect.getAttribute("fill")];
    })`;
    type Shown = readonly (readonly [title: string, left: number, right: number, fill: string])[];
    await withFile("a.svg", bytes, (path) =>
      withPage(path, async (page, { errors, requests }) => {
        const shown = async () => await page.evaluate(SHOWN) as Shown;
        const text = async () =>
          await page.evaluate("document.documentElement.textContent") as string;
        const click = async (element: string) => {
          const { x, y, width, height } = await page.evaluate(
            `${element}.getBoundingClientRect().toJSON()`,
          ) as DOMRect;
          await page.mouse.click(x + width / 2, y + height / 2);
        };
        const before = await shown();
        // The widest box that has others beside it.
        const [target] = before.filter(([, left, right]) => right - left < 1150)
          .toSorted((a, b) => b[2] - b[1] - (a[2] - a[1]));
        assert(target !== undefined);
        const at = before.indexOf(target);
        await click(`document.querySelectorAll("g")[${at}].querySelector("rect")`);
        const zoomed = await shown();
        assert(zoomed.length < before.length);
        const wide = zoomed.find(([title]) => title === target[0]);
        assert(wide !== undefined && wide[1] === 0 && Math.abs(wide[2] - 1199.5) < 0.1, `${wide}`);
        // The picture has the path to the box, over the whole width, and the boxes on top of it.
        const inside = before.filter(([, left, right]) =>
          left >= target[1] - 0.05 && right <= target[2] + 0.05
        );
        const around = before.filter(([, left, right]) =>
          left <= target[1] + 0.05 && right >= target[2] - 0.05 &&
          right - left > target[2] - target[1] + 0.1
        );
        assertEquals(
          zoomed.map(([title]) => title).sort(),
          [...inside, ...around].map(([title]) => title).sort(),
        );
        const scale = 1200 / (target[2] - target[1] + 0.5);
        for (const [title, left, right] of inside) {
          const found = zoomed.find((box) => box[0] === title) ?? ["", NaN, NaN];
          if (right - left < 1 || inside.filter((box) => box[0] === title).length > 1) continue;
          const wanted = (left - target[1]) * scale;
          assert(Math.abs(found[1] - wanted) < 0.02 * scale, `${title}: ${found[1]} ${wanted}`);
        }
        await click(
          `[...document.querySelectorAll("text")].find((text) => text.textContent === "Reset Zoom")`,
        );
        assert(JSON.stringify(await shown()) === JSON.stringify(before), "reset");

        await page.evaluate('globalThis.prompt = () => "^f1"');
        await page.keyboard.press("Control+f");
        const found = (await shown()).filter(([, , , fill]) => fill === "#e600e6");
        assert(found.length > 5);
        assert(found.every(([title]) => title.startsWith("f1")));
        assertEquals(found.length, before.filter(([title]) => title.startsWith("f1")).length);
        const sum = (keep: (sample: PlainSample) => boolean) =>
          samples.filter((sample) => sample.event === 0 && keep(sample))
            .reduce((all, { period }) => all + period, 0);
        const share = 100 * sum((sample) => namesOf(sample).some((name) => name.startsWith("f1"))) /
          sum(() => true);
        const [, said = ""] = /Matched: ([\d.]+)%/.exec(await text()) ?? [];
        // Boxes of less than a tenth of a pixel are not counted.
        assert(Math.abs(Number(said) - share) < 0.5, `${said} ${share}`);
        await page.keyboard.press("Escape");
        assert(JSON.stringify(await shown()) === JSON.stringify(before), "reset");
        assertEquals([errors, requests], [[], []]);
      }));
  },
);

Deno.test("flameTree: a comparison has each box's change", () => {
  const before = plainSamples(4000, 7);
  const after = before.map((sample, i) =>
    i % 5 === 0 && sample.stack.length > 0
      ? { ...sample, stack: [...sample.stack, "added"], period: sample.period * 3 }
      : sample
  );
  const data = flameData([profileOf(before), profileOf(after)], { base: 1 });
  const sum = (samples: PlainSample[], keep: (sample: PlainSample) => boolean) =>
    samples.filter((sample) => sample.event === 0 && keep(sample))
      .reduce((all, { period }) => all + period, 0);
  const tree = flameTree(data, { event: 0, weight: "period", order: "callers", root: "none" });
  assertEquals([tree.baseTotal, tree.total], [sum(before, () => true), sum(after, () => true)]);
  let boxes = 0;
  for (let box = 0; box < tree.length; box++) {
    if ((tree.parent[box] as number) >= 0 || (tree.item[box] as number) < 0) continue;
    // An inlined function and another one of the same name have two boxes.
    if (data.names[tree.item[box] as number] !== "added") continue;
    boxes++;
    assertEquals(tree.value[box], sum(after, ({ stack }) => stack.at(-1) === "added"));
    assertEquals(tree.base[box], 0);
  }
  assertEquals(boxes, 1);
});
