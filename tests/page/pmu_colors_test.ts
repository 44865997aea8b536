/// <reference lib="dom" />
/** A flame graph of a hybrid processor in a browser: boxes have the colors of PMUs. */
import { assert, assertEquals, assertMatch } from "@std/assert";
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import type { Page } from "npm:playwright-core@1.65.1";
import { noBrowser, withPage } from "../../packages/export/browser_testing.ts";
import { ignored } from "../support/ignored.ts";
import { inFolder, tool } from "../support/tool.ts";

const CASES = new URL("../../fixtures/cases/", import.meta.url).pathname;
const needs = ignored(await noBrowser());

/** Number of pixels of each color in the graph, most frequent first. */
function colorsOf(page: Page): Promise<string[]> {
  return page.$eval(".flame-canvas", (element) => {
    const canvas = element as HTMLCanvasElement;
    const { data } = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ??
      { data: [] };
    const counts = new Map<string, number>();
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] !== 255) continue;
      const color = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
      counts.set(color, (counts.get(color) ?? 0) + 1);
    }
    return [...counts].sort(([, a], [, b]) => b - a).map(([color]) => color);
  });
}

Deno.test({
  name:
    "flame, hybrid-a: colors by PMU color the boxes, name the PMUs in the legend, and show their shares for a box",
  ...needs,
  fn: () =>
    inFolder(async (folder) => {
      const output = `${folder}/flame.html`;
      const { code, err } = await tool("flame", [
        ...["--symfs", CASES, "-o", output, `${CASES}hybrid-a.perf.data`],
      ]);
      assertEquals(code, 0, err);
      const at = (state: string) => `${output}#view=flame&root=process&${state}`;
      await withPage(at("coloring=pmu&weight=samples"), async (page, report) => {
        await page.waitForSelector(".legend li");
        const legend = await page.$$eval(".legend li", (items) =>
          items.map((item) => ({
            name: (item as HTMLElement).innerText.trim(),
            color: getComputedStyle(item.querySelector(".swatch") as Element).backgroundColor,
          })));
        assertEquals(legend.map(({ name }) => name).sort(), ["cpu_atom", "cpu_core"]);
        await page.locator(".flame-canvas").focus();
        await page.keyboard.press("ArrowUp");
        // 500 samples of cpu_core, three of cpu_atom.
        await page.waitForFunction(() =>
          /99\.40% cpu_core, 0\.60% cpu_atom/.test(
            document.querySelector(".flame-facts")?.textContent ?? "",
          )
        );
        const core = legend.find(({ name }) => name === "cpu_core")?.color ?? "";
        const channels = (color: string) => (color.match(/\d+/g) ?? []).map(Number);
        const close = (a: string, b: string) =>
          channels(a).every((value, i) => Math.abs(value - (channels(b)[i] ?? 0)) <= 2);
        const [first = "", second = ""] = await colorsOf(page);
        assert(close(first, core) || close(second, core), `${first} ${second} ${core}`);
        // The key switches through all colorings.
        await page.locator(".flame-canvas").evaluate((canvas) => (canvas as HTMLElement).blur());
        await page.keyboard.press("k");
        await page.waitForFunction(() => !location.hash.includes("coloring="));
        await page.keyboard.press("k");
        await page.waitForFunction(() => location.hash.includes("coloring=kind"));
        await page.keyboard.press("k");
        await page.waitForFunction(() => location.hash.includes("coloring=pmu"));
        assertEquals(report.errors, []);
      });
    }),
});

Deno.test({
  name:
    "flame of one PMU: colors by PMU are not offered, and an address that asks for them shows objects",
  ...needs,
  fn: () =>
    inFolder(async (folder) => {
      const output = `${folder}/flame.html`;
      await tool("flame", ["--symfs", CASES, "-o", output, `${CASES}guest-map.perf.data`]);
      await withPage(`${output}#view=flame&coloring=pmu`, async (page, report) => {
        await page.waitForSelector(".legend li");
        assertMatch(await page.getAttribute(".legend", "aria-label") ?? "", /objects/);
        assertEquals(await page.locator('option[value="pmu"]').count(), 0);
        assertEquals(report.errors, []);
      });
    }),
});
