/**
 * Measures the page of recordings in headless Chromium, dropped on the page of `deno task page` and
 * served by `perfdata view`, beside `funcs --children` in the same run: the time to the first timeline
 * and to the complete page, and the memory of its process; then selecting ranges, frames, and tasks
 * that block drawing. On a busy machine, processor time and ratios are more reliable than wall time.
 *
 * usage: deno run -A --lock=deno.dev.lock bench/view_page.ts FILE…
 */
import { withPage } from "../packages/export/browser_testing.ts";
import { viewParts } from "../view/build.ts";
import { pageText } from "@perfdata/export/tree";

/** The page of a test browser. */
type Page = Parameters<Parameters<typeof withPage>[1]>[0];

const BRUSHES = 15;
const PERFDATA = new URL("../tools/perfdata.ts", import.meta.url).pathname;

/** The parts of the page's store that this uses. */
interface PageStore {
  readonly open?: {
    readonly client: { call(...args: unknown[]): Promise<unknown> };
    readonly index?: object;
    readonly failed?: string;
    readonly facts?: {
      readonly duration: number;
      readonly totals: readonly { readonly samples: number }[];
    };
  };
  readonly shown: object;
  set(change: object): void;
}

/** Times in ms, of the page and of processors. */
interface Opened {
  /** Until the first timeline. */
  readonly first: number;
  /** Until everything can be shown. */
  readonly all: number;
  /** Processor time of the page, and of the server if there is one. */
  readonly spent: number;
  /** Peak memory of the page's process in MB. */
  readonly peak: number;
}

interface Measured {
  first: number;
  all: number;
  /** Tasks of the main thread of more than 50 ms, by operation. */
  long: Record<string, number[]>;
}

const ms = (value: number) => `${value.toFixed(0)} ms`;

const parts = await viewParts("files");
if (parts === undefined) Deno.exit(1);
const folder = Deno.makeTempDirSync({ prefix: "perfdata-view-" });
try {
  Deno.writeTextFileSync(`${folder}/index.html`, await pageText(parts, "files"));
  for (const file of Deno.args) {
    const size = (Deno.statSync(file).size / 1e6).toFixed(0);
    const funcs = await timed(["funcs", "--children", "--limit", "1", file]);
    console.log(`${file}: ${size} MB`);
    console.log(`  funcs --children: ${ms(funcs.all)}, of processors ${ms(funcs.spent)}`);
    await withPage(`${folder}/index.html`, async (page) => {
      report("dropped", await dropped(page, file), funcs);
      await useViews(page);
    });
    report("served", await served(file), funcs);
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}

function report(
  how: string,
  { first, all, spent, peak }: Opened,
  funcs: Pick<Opened, "all" | "spent">,
) {
  const ratio = (value: number, of: number) => `${(value / of).toFixed(2)} ×`;
  console.log(
    `  ${how}: first timeline ${ms(first)} (${ratio(first, funcs.all)}), complete ${ms(all)} ` +
      `(${ratio(all, funcs.all)}), of processors ${ms(spent)} (${ratio(spent, funcs.spent)}), ` +
      `at most ${peak.toFixed(0)} MB`,
  );
}

/** Runs a command, and returns the time it took. */
async function timed(args: readonly string[]): Promise<Pick<Opened, "all" | "spent">> {
  const start = performance.now();
  const { stdout } = await new Deno.Command("/bin/sh", {
    // The second line of `times` is about the children of the shell.
    args: [
      "-c",
      '"$@" > /dev/null 2>&1; times',
      "sh",
      Deno.execPath(),
      "run",
      "-A",
      PERFDATA,
      ...args,
    ],
  }).output();
  const all = performance.now() - start;
  const children = new TextDecoder().decode(stdout).split("\n")[1] ?? "";
  const parts = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
  return {
    all,
    spent: parts.reduce((sum, [, m, s]) => sum + 60_000 * Number(m) + 1000 * Number(s), 0),
  };
}

/** Notes in the page when data of the recording has arrived, and long tasks. */
async function watch(page: Page, isDropped: boolean): Promise<void> {
  await page.evaluate((isDropped) => {
    const measured: Measured = { first: 0, all: 0, long: {} };
    Object.assign(globalThis, { measured, what: "open" });
    new PerformanceObserver((list) => {
      const { what } = globalThis as unknown as { what: string };
      for (const { duration } of list.getEntries()) {
        (measured.long[what] ??= []).push(Math.round(duration));
      }
    }).observe({ entryTypes: ["longtask"] });
    const begin = (start: number) => {
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
    };
    if (!isDropped) return begin(0);
    document.querySelector("input[type=file]")?.addEventListener("change", () => {
      begin(performance.now());
    }, { capture: true });
  }, isDropped);
}

/** Waits for the complete page. */
async function opened(page: Page): Promise<Opened> {
  await page.waitForFunction(() =>
    (globalThis as unknown as { measured: Measured }).measured.all > 0
  );
  const session = await page.context().browser()?.newBrowserCDPSession();
  const { processInfo } = await session?.send("SystemInfo.getProcessInfo") ?? { processInfo: [] };
  const renderers = processInfo.filter(({ type }) => type === "renderer");
  const peak = Math.max(...renderers.map(({ id }) => {
    const status = Deno.readTextFileSync(`/proc/${id}/status`);
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1000;
  }));
  const { first, all } = await page.evaluate(() =>
    (globalThis as unknown as { measured: Measured }).measured
  );
  return { first, all, spent: 1000 * Math.max(...renderers.map(({ cpuTime }) => cpuTime)), peak };
}

async function dropped(page: Page, file: string): Promise<Opened> {
  await watch(page, true);
  await page.setInputFiles("input[type=file]", [file]);
  return await opened(page);
}

async function served(file: string): Promise<Opened> {
  const server = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", PERFDATA, "view", file],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  try {
    const { value } = await server.stdout.getReader().read();
    const before = processorTime(server.pid);
    const found = await withPage(new TextDecoder().decode(value).trim(), async (page) => {
      await watch(page, false);
      return await opened(page);
    });
    return { ...found, spent: found.spent + processorTime(server.pid) - before };
  } finally {
    server.kill("SIGKILL");
    await server.status;
  }
}

/** The processor time of a process so far, in ms. */
function processorTime(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  // User and system time are the 14th and 15th field; the second one may contain blanks.
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13);
  return 10 * (Number(user) + Number(system));
}

/** Selects ranges, zooms the timeline and scrolls the functions; prints how that went. */
async function useViews(page: Page): Promise<void> {
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
  const { long } = await page.evaluate(() =>
    (globalThis as unknown as { measured: Measured }).measured
  );
  const samples = await page.evaluate(() =>
    (globalThis as unknown as { perfdata: PageStore }).perfdata.open?.facts?.totals
      .reduce((sum, { samples }) => sum + samples, 0) ?? 0
  );
  console.log(
    `  ${samples} samples: brush to flame graph ${ms(brushes[0] ?? 0)} least, ` +
      `${ms(brushes[BRUSHES >> 1] ?? 0)} middle; ` +
      Object.entries(frames).map(([view, rate]) => `${view} ${rate.toFixed(0)} frames a second`)
        .join(", ") +
      `; tasks over 50 ms: ${JSON.stringify(long)}`,
  );
}
