/**
 * Measures the page of `deno task page` in headless Chromium: the time from dropping a recording to the first
 * timeline and to the complete page, the memory of its process, selecting ranges, and tasks that block
 * drawing. On a busy machine, processor time is more reliable than wall time.
 *
 * usage: deno run -A --lock=deno.dev.lock bench/view_page.ts FILE…
 */
import { withPage } from "../packages/export/browser_testing.ts";
import { viewParts } from "../view/build.ts";
import { pageText } from "@perfdata/export/tree";

const BRUSHES = 15;

/** The parts of the page's store that this uses. */
interface PageStore {
  readonly open?: {
    readonly client: { call(...args: unknown[]): Promise<unknown> };
    readonly index?: object;
    readonly failed?: string;
    readonly facts?: { readonly duration: number; readonly threadSamples: Float64Array };
  };
  readonly shown: object;
  set(change: object): void;
}

interface Measured {
  first: number;
  all: number;
  /** Tasks of the main thread of more than 50 ms, by operation. */
  long: Record<string, number[]>;
}

const parts = await viewParts("files");
if (parts === undefined) Deno.exit(1);
const folder = Deno.makeTempDirSync({ prefix: "perfdata-view-" });
try {
  Deno.writeTextFileSync(`${folder}/index.html`, await pageText(parts, "files"));
  for (const file of Deno.args) await measure(file);
} finally {
  Deno.removeSync(folder, { recursive: true });
}

async function measure(file: string): Promise<void> {
  await withPage(`${folder}/index.html`, async (page) => {
    await page.evaluate(() => {
      const measured: Measured = { first: 0, all: 0, long: {} };
      Object.assign(globalThis, { measured, what: "open" });
      new PerformanceObserver((list) => {
        const { what } = globalThis as unknown as { what: string };
        for (const { duration } of list.getEntries()) {
          (measured.long[what] ??= []).push(Math.round(duration));
        }
      }).observe({ entryTypes: ["longtask"] });
      document.querySelector("input[type=file]")?.addEventListener("change", () => {
        const start = performance.now();
        const { perfdata } = globalThis as unknown as { perfdata: PageStore };
        const look = () => {
          const { open } = perfdata;
          // Known data is drawn in the next frame.
          const now = performance.now() - start;
          if (open?.index !== undefined) measured.first ||= now;
          if (open?.facts !== undefined || open?.failed !== undefined) measured.all ||= now;
          if (measured.all === 0) requestAnimationFrame(look);
        };
        look();
      }, { capture: true });
    });
    await page.setInputFiles("input[type=file]", [file]);
    await page.waitForFunction(() =>
      (globalThis as unknown as { measured: Measured }).measured.all > 0
    );
    // Peak memory of the process with the page and its threads.
    const session = await page.context().browser()?.newBrowserCDPSession();
    const { processInfo } = await session?.send("SystemInfo.getProcessInfo") ?? { processInfo: [] };
    const renderers = processInfo.filter(({ type }) => type === "renderer");
    const spent = Math.max(...renderers.map(({ cpuTime }) => cpuTime));
    const peak = Math.max(
      ...renderers.map(({ id }) => {
        const status = Deno.readTextFileSync(`/proc/${id}/status`);
        return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1000;
      }),
    );
    const brushes = await page.evaluate(async (count) => {
      const { perfdata } = globalThis as unknown as { perfdata: PageStore };
      Object.assign(globalThis, { what: "brush" });
      perfdata.set({ view: "flame" });
      const { open, shown } = perfdata;
      const duration = open?.facts?.duration ?? 0;
      const times: number[] = [];
      for (let i = 0; i < count; i++) {
        const from = duration * i / (4 * count);
        const start = performance.now();
        await open?.client.call("flame", { ...shown, from, to: duration - from }, {
          direction: "down",
          zoom: [],
          least: 0.4 / 1200,
        });
        times.push(performance.now() - start);
      }
      return times.sort((a, b) => a - b);
    }, BRUSHES);
    // Zooms the timeline and scrolls the functions, frame by frame.
    const frames: Record<string, number> = {};
    for (const [view, selector] of [["timeline", ".tracks canvas"], ["functions", ".functions"]]) {
      await page.evaluate((view) => {
        (globalThis as unknown as { perfdata: PageStore }).perfdata.set({ view });
      }, view);
      await page.waitForSelector(selector as string);
      await page.waitForTimeout(500);
      frames[view as string] = await page.evaluate(async ([view, selector]) => {
        Object.assign(globalThis, { what: view });
        const element = document.querySelector(selector as string) as HTMLElement;
        const start = performance.now();
        let count = 0;
        for (; count < 60; count++) {
          if (view === "functions") element.scrollTop += 200;
          else {
            element.dispatchEvent(
              new WheelEvent("wheel", {
                deltaY: count < 30 ? -100 : 100,
                ctrlKey: true,
                bubbles: true,
                cancelable: true,
              }),
            );
          }
          await new Promise(requestAnimationFrame);
        }
        return count / (performance.now() - start) * 1000;
      }, [view, selector]);
    }
    const { first, all, long } = await page.evaluate(() =>
      (globalThis as unknown as { measured: Measured }).measured
    );
    const samples = await page.evaluate(() =>
      (globalThis as unknown as { perfdata: PageStore }).perfdata.open?.facts?.threadSamples
        .reduce((sum, count) => sum + count, 0) ?? 0
    );
    const ms = (value = 0) => `${value.toFixed(0)} ms`;
    console.log(
      `${file}: ${(Deno.statSync(file).size / 1e6).toFixed(0)} MB, ${samples} samples: ` +
        `first timeline ${ms(first)}, all ${ms(all)}, of processors ` +
        `${spent.toFixed(1)} s, at most ${peak.toFixed(0)} MB; ` +
        `brush to flame graph ${ms(brushes[0])} least, ${ms(brushes[BRUSHES >> 1])} middle; ` +
        Object.entries(frames).map(([view, rate]) => `${view} ${rate.toFixed(0)} frames a second`)
          .join(", ") +
        `; tasks over 50 ms: ${JSON.stringify(long)}`,
    );
  });
}
