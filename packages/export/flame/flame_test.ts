import { assert, assertEquals } from "@std/assert";
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import type { Page } from "npm:playwright-core@1.65.1";
import { flameAsset } from "../../../view/build.ts";
import { noBrowser, withPage } from "../browser_testing.ts";
import { FLAME_PAGE } from "./flame_asset.ts";
import { packFlameData, unpackFlameData } from "./flame_codec.ts";
import { flameData } from "./flame_data.ts";
import { flamePage } from "./flame_page.ts";
import { flameSvg } from "./flame_svg.ts";
import { flameTree } from "./flame_tree.ts";
import {
  HOSTILE_NAMES,
  namesOf,
  type PlainSample,
  plainSamples,
  profileOf,
  withFile,
} from "../testing.ts";
import { ignored, skipped } from "../../../tests/ignored.ts";

const SAMPLES = plainSamples(6000, 5);
const DATA = flameData([profileOf(SAMPLES)]);

/** The period of an event's samples that `keep` keeps. */
function period(keep: (sample: PlainSample) => boolean, event = 0): number {
  let sum = 0;
  for (const sample of SAMPLES) if (sample.event === event && keep(sample)) sum += sample.period;
  return sum;
}

/** Sums by path, with callers joined by a character that is in no name. */
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

/** Of a laid-out graph: value by path. Inlined functions are boxes of their own next to others. */
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

Deno.test("a flame graph's boxes are the sums of the samples' paths", () => {
  for (const event of [0, 1]) {
    const rest = { event, weight: "period", root: "none" } as const;
    const tree = flameTree(DATA, { ...rest, order: "merged" });
    const stack = (sample: PlainSample) =>
      sample.stack.length === 0 ? ["[no stack]"] : namesOf(sample);
    assertEquals(treePaths(tree), paths(event, stack));
    const callers = flameTree(DATA, { ...rest, order: "callers" });
    assertEquals(treePaths(callers), paths(event, (sample) => stack(sample).reverse()));
    // In order of time, boxes of one path lie apart, and sum up to the same.
    const time = flameTree(DATA, { ...rest, order: "time" });
    assertEquals(treePaths(time), paths(event, stack));
    assert(time.length > tree.length);
  }
});

Deno.test("boxes lie in their callers, beside each other", () => {
  for (const order of ["merged", "callers", "time"] as const) {
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

Deno.test("packed data is unpacked as it was", async () => {
  assertEquals(await unpackFlameData(await packFlameData(DATA)), DATA);
});

Deno.test("limits keep all samples, and say what they left out", () => {
  const small = flameData([profileOf(SAMPLES)], { nodes: 200, rows: 700 });
  assert(small.parent.length <= 200 && small.rows.node.length <= 700);
  assert(small.omittedNodes > 0 && small.omittedShare > 0 && small.omittedShare < 0.05);
  for (const event of [0, 1]) {
    const tree = flameTree(small, { event, weight: "period", order: "merged", root: "none" });
    assertEquals(tree.total, period(() => true, event));
  }
});

Deno.test("the page is made of what is in view/", async (t) => {
  const made = await flameAsset();
  if (made === undefined) {
    await skipped(t, "deno bundle does not work here");
    return;
  }
  const [, text] = /= (".*");\n$/s.exec(made) ?? [];
  assert(FLAME_PAGE === JSON.parse(text ?? "''"), "run: deno run -A view/build.ts");
});

Deno.test("no script runs on the page but its own", async () => {
  const page = await flamePage(flameData([profileOf(plainSamples(50, 3))]));
  const [, policy = ""] = /Content-Security-Policy"\s+content="([^"]*)"/.exec(page) ?? [];
  const [, script = ""] = /<script type="module">([^]*?)<\/script>/.exec(page) ?? [];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(script));
  const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));
  assert(script.length > 1000);
  assert(policy.includes(`script-src 'sha256-${hash}'`), policy);
  // Nor does what an attribute has.
  assertEquals(/<[^>]*\son[a-z]+=/.test(page.replace(script, "")), false);
});

Deno.test("the picture is XML, whatever the names are", ignored(BROWSER), async () => {
  const svg = flameSvg(DATA);
  const result = await withFile(
    "a.svg",
    new TextEncoder().encode(svg),
    (path) =>
      withPage(path, async (page, { errors, requests }) => {
        assertEquals([errors, requests], [[], []]);
        return await page.evaluate(`[
        document.documentElement.tagName,
        document.querySelectorAll("script, img, parsererror").length,
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

interface PageState {
  total: number;
  totalSamples: number;
  length: number;
  zoom: number;
  focus: number;
}

const state = (page: Page) => page.evaluate("perfdataFlame.state") as Promise<PageState>;

/** Waits for the next frame to be drawn. */
const frame = (page: Page) =>
  page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");

async function openPage<T>(
  action: (page: Page) => Promise<T>,
  html: string,
): Promise<T> {
  return await withFile(
    "flame.html",
    new TextEncoder().encode(html),
    (path) =>
      withPage(path, async (page, report) => {
        await page.waitForFunction("globalThis.perfdataFlame !== undefined");
        await frame(page);
        const result = await action(page);
        assertEquals(report.requests, [], "the page asks for nothing");
        assertEquals(report.errors, [], "no errors, no dialogs");
        return result;
      }),
  );
}

Deno.test(
  "the page searches, zooms, switches and selects as the samples say",
  ignored(BROWSER),
  async () => {
    const all = period(() => true);
    await openPage(async (page) => {
      assertEquals((await state(page)).total, all);
      const share = (of: number) => `${(of / all * 100).toFixed(2)}%`;

      // Search: what is in a match counts once.
      await page.keyboard.press("/");
      await page.keyboard.type("f1");
      const containing = (part: (name: string) => boolean) =>
        period((sample) => namesOf(sample).some(part));
      assert(
        (await page.textContent("#found"))?.startsWith(share(containing((n) => n.includes("f1")))),
      );
      await page.fill("#search", "/^f(12|2.)$/");
      const expression = containing((name) => /^f(12|2.)$/.test(name));
      assert((await page.textContent("#found"))?.startsWith(share(expression)));
      await page.fill("#search", "/f(/");
      assert((await page.getAttribute("#search", "class"))?.includes("wrong"));
      await page.fill("#search", "f1");
      await page.keyboard.press("Escape");
      assertEquals([await page.inputValue("#search"), await page.textContent("#found")], ["", ""]);

      // Event, thread, process, width.
      await page.selectOption("#event", "1");
      assertEquals((await state(page)).total, period(() => true, 1));
      await page.selectOption("#event", "0");
      await page.selectOption("#thread", "p7");
      assertEquals((await state(page)).total, period(({ thread }) => thread[1] === 7));
      const number = DATA.threads.findIndex(({ tid }) => tid === 8);
      await page.selectOption("#thread", `t${number}`);
      assertEquals((await state(page)).total, period(({ thread }) => thread[2] === 8));
      await page.selectOption("#thread", "");
      await page.selectOption("#weight", "samples");
      assertEquals((await state(page)).total, SAMPLES.filter(({ event }) => event === 0).length);
      await page.selectOption("#weight", "period");

      // A range of time: the left half of the strip, and back.
      const strip = await page.locator("#times").boundingBox();
      assert(strip !== null);
      await page.mouse.move(strip.x + 1, strip.y + 10);
      await page.mouse.down();
      await page.mouse.move(strip.x + strip.width / 2 - 2, strip.y + 10, { steps: 4 });
      await page.mouse.up();
      const half = (DATA.end - DATA.start) / DATA.slices * (DATA.slices / 2);
      assertEquals((await state(page)).total, period(({ time }) => time - DATA.start < half));
      await page.keyboard.press("0");
      assertEquals((await state(page)).total, all);

      // A click zooms, its facts are those of the box; another click goes back.
      await page.selectOption("#root", "none");
      const facts = await page.evaluate(
        "perfdataFlame.boxes('main').map(({ facts, depth }) => [depth, ...facts])",
      ) as [number, string][];
      const main = period(({ stack }) => stack.length > 0);
      assertEquals([facts[0]?.[0], facts[0]?.[1].split(",")[0]], [0, `${share(main)} of all`]);
      const graph = await page.locator("#graph").boundingBox();
      assert(graph !== null);
      await page.mouse.click(graph.x + graph.width / 2, graph.y + graph.height - 27);
      const zoomed = await state(page);
      assert(zoomed.zoom > 0, "the box in the second row is zoomed to");
      await page.mouse.move(graph.x + 20, graph.y + graph.height - 27);
      assert((await page.textContent("#tip"))?.includes("of its parent"));
      assertEquals(await page.isVisible("#tip"), true);
      await page.keyboard.press("Escape");
      assertEquals((await state(page)).zoom, -1);

      // Keys: into the tree and zoom; every order and layout draws.
      for (const key of ["ArrowUp", "ArrowUp", "Enter"]) await page.keyboard.press(key);
      const keyed = await state(page);
      assert(keyed.zoom === keyed.focus && keyed.zoom > 0);
      for (const key of ["o", "i", "c", "o", "i", "c", "o"]) {
        await page.keyboard.press(key);
        await frame(page);
        assert(await page.evaluate("perfdataFlame.graph.drawn") as number > 10, key);
        assertEquals((await state(page)).total, all);
      }
    }, await flamePage(DATA));
  },
);

Deno.test("hostile names are names on the page, and nothing else", ignored(BROWSER), async () => {
  const html = await flamePage({ ...DATA, title: HOSTILE_NAMES[0] as string });
  await openPage(async (page) => {
    assertEquals(await page.evaluate("document.querySelectorAll('img, iframe').length"), 0);
    assertEquals(await page.evaluate("document.scripts.length"), 2);
    assertEquals(await page.textContent("#title"), HOSTILE_NAMES[0]);
    for (const name of HOSTILE_NAMES) {
      const boxes = await page.evaluate(`perfdataFlame.boxes(${JSON.stringify(name)}).length`);
      assert(boxes as number > 0, name);
    }
    await page.keyboard.press("/");
    await page.keyboard.type("</script>");
    assert((await page.textContent("#found"))?.includes(" boxes"));
    const graph = await page.locator("#graph").boundingBox();
    assert(graph !== null);
    for (let x = 10; x < graph.width; x += 40) {
      await page.mouse.move(graph.x + x, graph.y + graph.height - 45);
    }
  }, html);
});

Deno.test("a comparison has the change of each box", ignored(BROWSER), async () => {
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
    // Of the innermost function: an inlined one and another of the same name are two boxes.
    if (data.names[tree.item[box] as number] !== "added") continue;
    boxes++;
    assertEquals(tree.value[box], sum(after, ({ stack }) => stack.at(-1) === "added"));
    assertEquals(tree.base[box], 0);
  }
  assertEquals(boxes, 1);
  await openPage(async (page) => {
    assertEquals(await page.inputValue("#coloring"), "change");
    const facts = await page.evaluate("perfdataFlame.boxes('added')[0].facts") as string[];
    assert(facts.some((line) => line.startsWith("0% before: +")));
  }, await flamePage(data));
});
