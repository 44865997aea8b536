import { assert, assertEquals } from "@std/assert";
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import type { Page } from "npm:playwright-core@1.65.1";
import { VIEW_PARTS } from "@perfdata/page";
import { noBrowser, withPage } from "../browser_testing.ts";
import { flameData } from "../flame/flame_data.ts";
import {
  HOSTILE_NAMES,
  namesOf,
  type PlainSample,
  plainSamples,
  profileOf,
  withFile,
} from "../testing.ts";
import { ignored } from "../../../tests/support/ignored.ts";
import { flamePage } from "./flame_page.ts";

const SAMPLES = plainSamples(6000, 5);
const DATA = flameData([profileOf(SAMPLES)]);
const BROWSER = await noBrowser();

/** The period of an event's samples that pass `keep`. */
function period(keep: (sample: PlainSample) => boolean, event = 0): number {
  let sum = 0;
  for (const sample of SAMPLES) if (sample.event === event && keep(sample)) sum += sample.period;
  return sum;
}

/** Names of a sample's stack, or the name for a missing stack. */
const stackOf = (sample: PlainSample) =>
  sample.stack.length === 0 ? ["[no stack]"] : namesOf(sample);

/** Sums by path, joined by a character that is in no name. */
function paths(make: (sample: PlainSample) => readonly string[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const sample of SAMPLES) {
    if (sample.event !== 0) continue;
    const names = make(sample);
    for (let depth = 1; depth <= names.length; depth++) {
      const key = names.slice(0, depth).join("\0");
      sums.set(key, (sums.get(key) ?? 0) + sample.period);
    }
  }
  return sums;
}

Deno.test("flamePage: no script runs but the page's own", async () => {
  const page = await flamePage(flameData([profileOf(plainSamples(50, 3))]), VIEW_PARTS);
  const [, policy = ""] = /Content-Security-Policy"\s+content="([^"]*)"/.exec(page) ?? [];
  const [, script = ""] = /<script type="module">([^]*?)<\/script>/.exec(page) ?? [];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(script));
  const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));
  assert(script.length > 1000);
  assert(policy.includes(`script-src 'sha256-${hash}'`), policy);
  assert(policy.includes("connect-src 'none'"), policy);
  // No attribute has a script either.
  const rest = page.replace(/<script[^]*?<\/script>/g, "");
  assertEquals([rest.length > 500, /<[^>]*\son[a-z]+=/.test(rest)], [true, false]);
});

/** Waits until an expression is true. The page's policy forbids evaluating text in it. */
async function until(page: Page, expression: string): Promise<void> {
  for (let tries = 0; !await page.evaluate(expression); tries++) {
    assert(tries < 600, `not within half a minute: ${expression}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Opens a page, waits until it is drawn, and checks that it requested nothing. */
async function openPage(html: string, action: (page: Page) => Promise<void>): Promise<void> {
  await withFile(
    "flame.html",
    new TextEncoder().encode(html),
    (path) =>
      withPage(path, async (page, report) => {
        await until(page, "globalThis.perfdata?.open?.facts !== undefined");
        await page.waitForSelector(".flame-canvas");
        await action(page);
        assertEquals(report.requests, [], "the page asks for nothing");
        assertEquals(report.errors, [], "no errors, no dialogs");
      }),
  );
}

/** Sums by path of the page's boxes, and their total width. */
const boxesOf = (page: Page, query: object) =>
  page.evaluate(`(async () => {
    const names = perfdata.open.facts.functions.name;
    const roots = new Map();
    for (const { comm, tid } of perfdata.open.facts.threads) {
      if (!roots.has(comm)) roots.set(comm, roots.size);
    }
    const boxes = await perfdata.open.client.call("flame", perfdata.shown, ${
    JSON.stringify({ zoom: [], least: 0, ...query })
  });
    const keys = [];
    const sums = {};
    for (let box = 0; box < boxes.length; box++) {
      const item = boxes.item[box];
      const name = item < 0 ? "[no stack]" : item < names.length
        ? names[item]
        : [...roots.keys()][item - names.length];
      const up = boxes.parent[box];
      const key = keys[box] = up < 0 ? name : keys[up] + "\\0" + name;
      sums[key] = (sums[key] ?? 0) + boxes.total[box];
    }
    return sums;
  })()`) as Promise<Record<string, number>>;

Deno.test(
  "flamePage: samples are shown by path, process, thread and time",
  ignored(BROWSER),
  async () => {
    const all = period(() => true);
    await openPage(await flamePage(DATA, VIEW_PARTS), async (page) => {
      assertEquals(
        await page.evaluate("[perfdata.state.view, perfdata.state.root]"),
        ["flame", "process"],
      );
      const sorted = (sums: Iterable<readonly [string, number]>) => [...sums].sort();
      // First row: processes by name, then functions; functions; or sampled functions.
      const cases = [
        [{ direction: "down", root: "function" }, stackOf],
        [{ direction: "up" }, (sample: PlainSample) => stackOf(sample).toReversed()],
        [
          { direction: "down", root: "process" },
          (
            sample: PlainSample,
          ) => [sample.thread[0], ...(sample.stack.length === 0 ? [] : namesOf(sample))],
        ],
      ] as const;
      for (const [query, make] of cases) {
        const found = await boxesOf(page, query);
        const expected = paths(make);
        assertEquals(sorted(Object.entries(found)), sorted(expected), JSON.stringify(query));
        assert(expected.size > 20, `${expected.size} paths`);
      }
      // Selections: an event, a process, a thread, samples instead of periods.
      const total = async (change: string) => {
        await page.evaluate(`perfdata.set({ ${change} })`);
        const found = await boxesOf(page, { direction: "down" });
        return Object.entries(found).filter(([key]) => !key.includes("\0"))
          .reduce((sum, [, value]) => sum + value, 0);
      };
      assertEquals(await total("event: 1"), period(() => true, 1));
      assertEquals(await total("event: 0, pids: [7]"), period(({ thread }) => thread[1] === 7));
      assertEquals(
        await total("pids: undefined, tids: [8]"),
        period(({ thread }) => thread[2] === 8),
      );
      assertEquals(
        await total("tids: undefined, weight: 'samples'"),
        SAMPLES.filter(({ event }) => event === 0).length,
      );
      assertEquals(await total("weight: 'period'"), all);
      // The first half of the time slices.
      const half = (DATA.end - DATA.start) / DATA.slices * (DATA.slices / 2);
      assertEquals(
        await total(`from: 0, to: ${Math.ceil(half)}`),
        period(({ time }) => time - DATA.start < half),
      );
      await page.evaluate("perfdata.set({ from: undefined, to: undefined })");
      // Keys: move into the tree and zoom, and back; flip, other colors.
      const press = async (...keys: readonly string[]) => {
        await page.focus(".flame-canvas");
        for (const key of keys) await page.keyboard.press(key);
      };
      await press("ArrowUp", "ArrowUp", "Enter");
      await until(page, "perfdata.state.zoom.length === 2");
      await press("0");
      await until(page, "perfdata.state.zoom.length === 0");
      await press("i", "k");
      assertEquals(
        await page.evaluate("[perfdata.state.flipped, perfdata.state.coloring]"),
        [true, "kind"],
      );
      assert((await page.textContent(".legend"))?.includes("kernel"));
      await press("i", "k");
      // Search, and go from match to match.
      await page.keyboard.press("/");
      await page.keyboard.type("f12");
      // A sample with a match in its stack counts once.
      const share = period((sample) => namesOf(sample).some((name) => name.includes("f12"))) / all;
      await until(
        page,
        `document.querySelector(".matched")?.textContent.startsWith("${
          (share * 100).toFixed(2)
        }%")`,
      );
      await press("n");
      await until(page, `/^\\S*f12/.test(document.querySelector(".flame-facts").textContent)`);
    });
  },
);

Deno.test("flamePage: hostile names are shown as text", ignored(BROWSER), async () => {
  const html = await flamePage({
    ...DATA,
    title: HOSTILE_NAMES[0] as string,
    sides: [HOSTILE_NAMES[0] as string],
  }, VIEW_PARTS);
  await openPage(html, async (page) => {
    assertEquals(await page.evaluate("document.querySelectorAll('img, iframe').length"), 0);
    assertEquals(await page.evaluate("document.scripts.length"), 3);
    assertEquals(await page.textContent("h1"), HOSTILE_NAMES[0]);
    const names = await page.evaluate("perfdata.open.facts.functions.name") as string[];
    for (const name of HOSTILE_NAMES) assert(names.includes(name), name);
    const graph = await page.locator(".flame-canvas").boundingBox();
    assert(graph !== null);
    for (let x = 10; x < graph.width; x += 40) {
      await page.mouse.move(graph.x + x, graph.y + graph.height - 45);
    }
  });
});

Deno.test("flamePage: a comparison has each box's change", ignored(BROWSER), async () => {
  const before = plainSamples(4000, 7);
  const after = before.map((sample, i) =>
    i % 5 === 0 && sample.stack.length > 0
      ? { ...sample, stack: [...sample.stack, "added"], period: sample.period * 3 }
      : sample
  );
  const data = flameData([profileOf(before), profileOf(after)], { base: 1 });
  const sum = (samples: readonly PlainSample[], keep: (sample: PlainSample) => boolean) =>
    samples.filter((sample) => sample.event === 0 && keep(sample))
      .reduce((all, { period }) => all + period, 0);
  await openPage(await flamePage(data, VIEW_PARTS), async (page) => {
    await until(page, "perfdata.open.comparison !== undefined");
    const [sums, other, added, base] = await page.evaluate(`(async () => {
      const query = { direction: "up", zoom: [], least: 0 };
      const boxes = await perfdata.open.client.call("compareFlame", perfdata.shown, query, "now");
      const fn = perfdata.open.facts.functions.name.indexOf("added");
      const box = boxes.item.findIndex((item, i) => item === fn && boxes.parent[i] < 0);
      return [boxes.sum, boxes.otherSum, boxes.total[box], boxes.other[box]];
    })()`) as [number, number, number, number];
    assertEquals(
      [sums, other, added, base],
      [
        sum(after, () => true),
        sum(before, () => true),
        sum(after, ({ stack }) => stack.at(-1) === "added"),
        0,
      ],
    );
  });
});
