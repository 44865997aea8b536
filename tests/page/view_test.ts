/**
 * `perfdata view` in a browser. Each view shows the numbers of the command for the same question,
 * and the page makes no forbidden requests.
 */
import { tableFolder } from "@perfdata/perfdata/files";
import { fileSource } from "@perfdata/format/files";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import axe from "npm:axe-core@4.11.0";
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import type { Page } from "npm:playwright-core@1.65.1";
import { noBrowser, type PageReport, withPage } from "../../packages/export/browser_testing.ts";
import { HOSTILE_NAMES, plainSamples, profileOf } from "../../packages/export/testing.ts";
import { pageText, reportText, viewProfile } from "@perfdata/export/tree";
import { VIEW_PARTS } from "@perfdata/page";
import {
  aarch64DisassemblerScript,
  disassemblerScript,
  viewAsset,
  viewParts,
} from "../../view/build.ts";
import {
  AARCH64_DISASSEMBLER_FILE,
  DISASSEMBLER_FILE,
} from "../../view/code/disassembler_script.ts";
import { RecordingService } from "../../view/recording/recording_service.ts";
import { newToken, viewHandler } from "../../view/server/server.ts";
import { cannotStep } from "../../fixtures/stepped/program.ts";
import { repeatStepped } from "../../fixtures/stepped/repeat.ts";
import { ignored, skipped } from "../support/ignored.ts";
import { kernelNames } from "../support/kernel_names.ts";
import {
  LEFT_AND_RIGHT,
  noRecording,
  recordProgram,
  reportedPeriods,
} from "../support/recorded_program.ts";
import { inFolder, tool as runTool, toolArguments, type ToolResult } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;
const FILES = ["all-cpus", "callchain", "two-events"].map((name) =>
  `${root}fixtures/recorded/${name}.perf.data`
);

/** Symbols of the recordings' kernel, for all commands that run here. */
const env = kernelNames();

function tool(name: string, args: readonly string[]): Promise<ToolResult> {
  return runTool(name, args, { env });
}

/** Runs `perfdata view`, opens its address in a browser, and ends the command as Ctrl-C does. */
async function viewed(
  args: readonly string[],
  hash: string,
  use: (page: Page, report: PageReport) => Promise<void>,
  options: Parameters<typeof withPage>[2] = {},
): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...toolArguments("view"), ...args],
    cwd: root,
    env: { NO_COLOR: "1", PERFDATA_CWD: "", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text();
  const reader = child.stdout.getReader();
  let line = "";
  while (!line.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) break;
    line += new TextDecoder().decode(value);
  }
  assertMatch(line, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/(?:#counts=[a-z-]+)?\n$/, line);
  await withPage(`${line.trim()}${hash}`, async (page, report) => {
    await ready(page, tableFolder(args.at(-1) ?? "") === undefined);
    await use(page, report);
    const address = line.trim().split("#", 1)[0] as string;
    const own = report.requests.filter((url) => !url.startsWith(address));
    assertEquals([report.errors, own], [[], []]);
  }, options);
  child.kill("SIGINT");
  await reader.cancel();
  const { code } = await child.status;
  assertEquals(code, 0, await errors);
}

/** Waits for the samples and for the header facts of a recording. Tables have no header. */
async function ready(page: Page, isRecording = true): Promise<void> {
  await page.waitForFunction((hasHeader) => {
    const { open } = (globalThis as unknown as {
      perfdata: { open?: { facts?: object; failed?: string; info?: object } };
    }).perfdata;
    const isThere = (open?.facts ?? open?.failed) !== undefined;
    return isThere && (!hasHeader || open?.info !== undefined);
  }, isRecording);
}

/** Lines of JSON that a command prints. */
async function json(name: string, args: readonly string[]): Promise<Record<string, unknown>[]> {
  const { out } = await tool(name, args);
  return out.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** All rows of a list in the page; the document contains only the rows in view. */
async function allRows(
  page: Page,
  selector: string,
  attributes: readonly string[],
): Promise<string[][]> {
  const found = new Map<string, string[]>();
  await page.waitForSelector(`${selector} .line .row`);
  for (let top = 0;;) {
    const [end, step] = await page.$eval(selector, (list, to) => {
      list.scrollTop = to;
      // The table head covers some of the visible rows.
      const step = Math.max(40, list.clientHeight - 60);
      return [to + list.clientHeight >= list.scrollHeight, step] as const;
    }, top);
    top += step;
    // The browser reports the scroll with the next frame; the rows then in view are drawn in the
    // frame after.
    await page.evaluate(async () => {
      for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
    });
    const rows = await page.$$eval(
      `${selector} .line .row`,
      (rows, names) =>
        rows.map((row) => [row.id, ...names.map((name) => row.getAttribute(name) ?? "")]),
      attributes,
    );
    for (const [id = "", ...values] of rows) found.set(id, values);
    if (end) break;
  }
  return [...found.values()];
}

/** A name as the page shows it: marked if its file is not verified. */
function marked(name: string, verified: unknown): string {
  return verified === false ? `${name}?` : name;
}

const needs = ignored(await noBrowser());

Deno.test("served page: it is built from the files in view/", async (t) => {
  const made = await viewAsset();
  if (made === undefined) return await skipped(t, "deno bundle does not work here");
  const text = made.slice(made.indexOf("= {") + 2, made.lastIndexOf(";"));
  assertEquals(JSON.parse(text), VIEW_PARTS);
});

Deno.test({
  name: "functions: numbers equal those of funcs",
  ...needs,
  async fn() {
    let compared = 0;
    for (const file of FILES) {
      const rows = await json("funcs", ["--json", "--no-inline", "--sort", "dso,sym", file]);
      const first = rows[0]?.event_index;
      // The page combines unnamed functions of one object into one row.
      const wanted = new Map<string, number>();
      for (const { event_index, sym, dso, period, verified } of rows) {
        if (event_index !== first) continue;
        const name = `${sym}`.startsWith("0x")
          ? `${dso}`.startsWith("[") ? `${dso}` : `[${dso}]`
          : marked(`${sym}`, verified);
        wanted.set(name, (wanted.get(name) ?? 0) + Number(period));
      }
      await inFolder(async (folder) => {
        // Tables exported from the recording, and a comparison of the two, show the same.
        const tables = `${folder}/tables`;
        const made = await tool("export", ["parquet", "--names", "-o", tables, file]);
        assertEquals(made.code, 0, made.err);
        const sides = file === FILES[1] ? [[file], [tables], [tables, tables]] : [[file]];
        for (const shown of sides) {
          await viewed(shown, "#view=functions&inline=0", async (page) => {
            const found = new Map<string, number>();
            const columns = ["data-fn", "data-self"];
            for (const [name = "", self] of await allRows(page, ".functions", columns)) {
              if (Number(self) > 0) found.set(name, (found.get(name) ?? 0) + Number(self));
            }
            assertEquals([...found].sort(), [...wanted].sort(), shown.join(" "));
            compared += found.size;
          });
        }
      });
    }
    assert(compared >= 16, `${compared} functions`);
  },
});

Deno.test({
  name: "tree: numbers equal those of tree",
  ...needs,
  async fn() {
    let compared = 0;
    for (const callers of [false, true]) {
      const file = FILES[1] as string;
      const flags = callers ? ["--callers"] : [];
      const rows = await json("tree", ["--json", "--inline", "--root", "none", ...flags, file]);
      const paths = new Map<unknown, string>();
      const wanted = new Map<string, number>();
      for (const { id, parent, name, period } of rows) {
        const own = `${name}`;
        const path = parent === null ? own : `${paths.get(parent)}\n${own}`;
        paths.set(id, path);
        wanted.set(path, Number(period));
      }
      await viewed([file], `#view=tree${callers ? "&callers=1" : ""}`, async (page) => {
        await page.waitForSelector(".tree .line .row");
        await page.focus(".tree");
        // The test opens each line in turn.
        for (let line = 0; line < 500; line++) {
          const state = await page.$eval(".tree", (tree) => {
            const row = document.getElementById(tree.getAttribute("aria-activedescendant") ?? "");
            return row?.getAttribute("aria-expanded");
          });
          if (state === "false") {
            await page.keyboard.press("ArrowRight");
            await page.waitForFunction(() => {
              const at = document.querySelector(".tree")?.getAttribute("aria-activedescendant");
              return document.getElementById(at ?? "")?.getAttribute("aria-expanded") === "true";
            });
          }
          const before = await page.$eval(".tree", (tree) => tree.ariaActiveDescendantElement?.id);
          await page.keyboard.press("ArrowDown");
          await page.waitForTimeout(20);
          if (
            await page.$eval(".tree", (tree) => tree.ariaActiveDescendantElement?.id) === before
          ) {
            break;
          }
        }
        const found = await allRows(page, ".tree", ["data-path", "data-total"]);
        const sums = new Map(found.map(([path = "", total]) => [path, Number(total)]));
        assertEquals([...sums].sort(), [...wanted].sort());
        compared += sums.size;
      });
    }
    assert(compared >= 40, `${compared} lines`);
  },
});

Deno.test({
  name: "record: fields and bytes equal those of hex; the field at the pointer is marked in both",
  ...needs,
  async fn() {
    const file = FILES[1] as string;
    let compared = 0;
    for (const number of [0, 5, 20]) {
      const runs = await json("hex", ["--json", "--record", `${number}`, file]);
      await viewed([file], `#view=records&record=${number}`, async (page) => {
        await page.waitForSelector(".detail .fields .line .row");
        const rows = await allRows(page, ".fields", ["class"]);
        assertEquals(rows.length, runs.length);
        const total = runs.reduce((sum, { size }) => sum + Number(size), 0);
        assertEquals(await page.$$eval(".hex-bytes span", (all) => all.length), total);
        const start = Number(runs[0]?.offset);
        await page.$eval(".fields", (list) => list.scrollTop = 0);
        for (const [i, run] of runs.slice(0, 8).entries()) {
          const row = page.locator(`#field-${i}`);
          await row.hover();
          await page.waitForFunction(
            (of) => document.getElementById(of)?.classList.contains("marked"),
            `field-${i}`,
          );
          const text = await row.innerText();
          assertStringIncludes(text, `${run.field}`.slice(1));
          if (typeof run.value === "string") assertStringIncludes(text, run.value);
          const marked = await page.$$eval(
            ".hex-bytes .marked",
            (all) => all.map((byte) => [byte.getAttribute("data-at"), byte.textContent]),
          );
          const from = Number(run.offset) - start;
          const bytes = Deno.readFileSync(file).subarray(
            Number(run.offset),
            Number(run.offset) + Number(run.size),
          );
          assertEquals(
            marked,
            [...bytes].map((byte, at) => [`${from + at}`, byte.toString(16).padStart(2, "0")]),
          );
          compared++;
        }
        // From the field to the bytes as well.
        const last = runs.length - 1;
        const at = Number(runs[last]?.offset) - start;
        await page.locator(`.hex-bytes [data-at="${at}"]`).hover();
        await page.waitForSelector(`#field-${last}.marked`);
      });
    }
    assert(compared >= 20, `${compared} fields`);
  },
});

Deno.test({
  name: "brush: selects the samples of its time, in each view and in the address",
  ...needs,
  async fn() {
    const file = FILES[0] as string;
    await viewed([file], "#view=functions&inline=0", async (page) => {
      await page.waitForSelector(".functions .line .row");
      const strip = await page.locator(".strip canvas").boundingBox();
      assert(strip !== null);
      const y = strip.y + strip.height / 2;
      await page.mouse.move(strip.x + strip.width * 0.25, y);
      await page.mouse.down();
      await page.mouse.move(strip.x + strip.width * 0.5, y, { steps: 4 });
      await page.mouse.move(strip.x + strip.width * 0.75, y, { steps: 4 });
      await page.mouse.up();
      await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.hash));
      const [, from, to] = /from=(\d+)&to=(\d+)/.exec(page.url()) ?? [];
      const time = `${Number(from) / 1e9}s-${(Number(to) - 1) / 1e9}s`;
      const rows = await json("funcs", ["--json", "--sort", "dso,sym", "--time", time, file]);
      const samples = rows.reduce((sum, row) => sum + Number(row.samples), 0);
      const all = await json("funcs", ["--json", "--sort", "dso,sym", file]);
      assert(samples > 0 && samples < all.reduce((sum, row) => sum + Number(row.samples), 0));
      await page.waitForFunction(
        (text) => document.querySelector(".foot")?.textContent?.includes(text),
        `; ${samples} samples`,
      );
      // The link shows the same; undo restores the view before.
      const link = page.url();
      await page.keyboard.press("u");
      await page.waitForFunction(() => !location.hash.includes("from="));
      await page.goto("about:blank");
      await page.goto(link);
      await ready(page);
      await page.waitForFunction(
        (text) => document.querySelector(".foot")?.textContent?.includes(text),
        `; ${samples} samples`,
      );
    });
  },
});

Deno.test({
  name: "report: needs no server, and markup in names has no effect",
  ...needs,
  async fn() {
    await inFolder(async (folder) => {
      const profile = viewProfile(profileOf(plainSamples(2000, 9, 8)));
      const path = `${folder}/report.html`;
      const data = { profile, why: undefined, index: undefined, info: undefined };
      Deno.writeTextFileSync(path, await reportText(VIEW_PARTS, data));
      await withPage(path, async (page, report) => {
        await page.waitForFunction(() =>
          (globalThis as unknown as { perfdata: { open?: { facts?: object } } }).perfdata.open
            ?.facts !== undefined
        );
        for (const view of ["functions", "tree", "flame", "timeline", "sandwich", "overview"]) {
          await page.evaluate(
            ([view, fn]) =>
              (globalThis as unknown as { perfdata: { set(change: object): void } }).perfdata
                .set({ view, fn }),
            [view, HOSTILE_NAMES[1]] as const,
          );
          await page.waitForTimeout(200);
          assertMatch(await page.title(), /^perf record demo · /);
          assertEquals(await page.$$eval("#app img, #app script", (all) => all.length), 0);
        }
        await page.evaluate(() =>
          (globalThis as unknown as { perfdata: { set(change: object): void } }).perfdata
            .set({ view: "functions" })
        );
        const rows = await allRows(page, ".functions", ["data-fn"]);
        for (const name of HOSTILE_NAMES) assert(rows.some(([of]) => of === name), name);
        assertEquals(report.errors, []);
        assertEquals(report.requests, []);
      });
    });
  },
});

/** Fractions with nine digits: logarithms of two engines differ in the last digits. */
function rounded(cells: readonly string[]): string[] {
  return cells.map((cell) => /^-?\d\S*$/.test(cell) ? Number(cell).toFixed(9) : cell);
}

/**
 * Presses an arrow key until the facts of a box appear. A graph that is drawn again, once its width
 * is known, has no focused box.
 */
async function moveTo(page: Page, arrow: string, facts: RegExp): Promise<void> {
  for (let i = 0; i < 600; i++) {
    await page.keyboard.press(arrow);
    await page.waitForTimeout(100);
    if (facts.test(await page.locator(".flame-facts").innerText())) return;
  }
  throw new Error(`${arrow} leads to no box`);
}

Deno.test({
  name: "compare: two recordings give the rows of diff",
  ...needs,
  async fn() {
    let compared = 0;
    for (const [base, file] of [[FILES[1], FILES[0]], [FILES[0], FILES[2]]] as [string, string][]) {
      for (const by of ["total", "time"]) {
        const [all, ...rows] = await json("diff", ["--json", "--by", by, base, file]);
        const wanted = rows.map(({ name, object, change, chance, significant }) =>
          [name, object, change, chance, significant].map(String)
        );
        await viewed([base, file], `#view=compare&inline=0&measure=${by}`, async (page) => {
          const attributes = ["fn", "object", "change", "chance", "significant"];
          const found = await allRows(page, ".compared", attributes.map((name) => `data-${name}`));
          assertEquals(found.map(rounded).sort(), wanted.map(rounded).sort(), `${file} ${by}`);
          compared += found.length;
          const foot = await page.locator(".foot").innerText();
          const [before, after] = [all?.before, all?.after] as { samples: number }[];
          assertStringIncludes(foot, `${before?.samples} → ${after?.samples} samples`);
          // The flame graph of the comparison also has boxes.
          await page.selectOption("section select", "flame");
          await page.waitForFunction(() => location.hash.includes("graph=1"));
          await page.locator(".flame-canvas").focus();
          await moveTo(page, "ArrowUp", /% of the base, .*% now/);
        });
      }
    }
    assert(compared >= 16, `${compared} functions`);
  },
});

Deno.test({
  name: "boxes in order of time, and cells of the heat map: a click selects their time",
  ...needs,
  async fn() {
    const file = FILES[0] as string;
    await viewed([file], "#view=flame&timed=1", async (page) => {
      await page.focus(".flame-canvas");
      await moveTo(page, "ArrowDown", /from [\d.]+ s, for /);
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.hash));
      await page.keyboard.press("0");
      await page.waitForFunction(() => !/from=/.test(location.hash));

      await page.evaluate(() =>
        (globalThis as unknown as { perfdata: PageStore }).perfdata
          .set({ view: "timeline", by: "heat" })
      );
      await page.waitForSelector(".heat");
      await page.focus(".heat");
      for (const key of ["ArrowUp", "ArrowRight", "Enter", "ArrowRight", "ArrowUp", "Enter"]) {
        await page.keyboard.press(key);
      }
      await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.hash));
      const [, from, to] = /from=(\d+)&to=(\d+)/.exec(page.url())?.map(Number) ?? [];
      // From the first cell of the second column to the second cell of the third one, of 50.
      const foot = await page.locator(".foot").last().innerText();
      const facts = await page.evaluate(() =>
        (globalThis as unknown as { perfdata: { open: { facts: { duration: number } } } })
          .perfdata.open.facts.duration
      );
      let column = 1e9;
      while (column > 1e4 && facts / column < 24) column /= 10;
      assertEquals([from, to], [column, 2 * column + 2 * column / 50], foot);
      // A drag with the pointer from one cell to another does the same.
      const box = await page.locator(".heat").boundingBox();
      assert(box !== null);
      await page.mouse.move(box.x + 70, box.y + 40);
      await page.mouse.down();
      await page.mouse.move(box.x + 160, box.y + 20, { steps: 5 });
      await page.mouse.up();
      await page.waitForFunction((before) => !location.hash.includes(before), `from=${from}&to=`);
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !/from=/.test(location.hash));
    });
  },
});

Deno.test({
  name: "save: a saved selection equals the output of slice, and of each export format",
  ...needs,
  async fn() {
    const file = FILES[1] as string;
    await inFolder(async (folder) => {
      const [from, to] = [1_000_000, 9_000_000];
      await viewed([file], `#view=functions&from=${from}&to=${to}`, async (page) => {
        const saved = async (format: string): Promise<Uint8Array> => {
          const download = page.waitForEvent("download");
          await page.selectOption(".save select", format);
          const path = `${folder}/${format}`;
          await (await download).saveAs(path);
          return Deno.readFileSync(path);
        };
        const time = `${from / 1e9}s-${(to - 1) / 1e9}s`;
        await tool("slice", ["--time", time, "-o", `${folder}/wanted.data`, file]);
        assertEquals(await saved("slice"), Deno.readFileSync(`${folder}/wanted.data`));
        const { out } = await tool("export", ["--inline", "--time", time, "folded", file]);
        assertEquals(new TextDecoder().decode(await saved("folded")), out);
        const lines = out.trim().split("\n");
        assert(lines.length >= 3, `${lines.length} lines`);
        const speedscope = JSON.parse(new TextDecoder().decode(await saved("speedscope")));
        assert(speedscope.profiles.length > 0);
        assertEquals([...(await saved("pprof")).subarray(0, 2)], [0x1f, 0x8b]);
        assertStringIncludes(new TextDecoder().decode(await saved("svg")), "<svg");
      });
    });
  },
});

Deno.test({
  name:
    "reading the samples: cancelling keeps the facts known without samples, and reading can start again",
  ...needs,
  async fn() {
    const file = FILES[1] as string;
    using source = fileSource(file);
    let isQuick = false;
    const token = newToken();
    const handler = viewHandler({
      token,
      page: await pageText(VIEW_PARTS, "server"),
      recording: new RecordingService(source, file),
      async profile(progress) {
        while (!isQuick) {
          progress({ what: "Reading", unit: "bytes", done: 1, total: 2 });
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return viewProfile(profileOf(plainSamples(500, 4)));
      },
    });
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, handler);
    await withPage(
      `http://127.0.0.1:${server.addr.port}/${token}/#view=flame`,
      async (page, report) => {
        // All texts that the page shows from its first moment on.
        await page.addInitScript(() => {
          const said = new Set<string>();
          Object.assign(globalThis, { said });
          new MutationObserver(() => said.add(document.querySelector("main")?.textContent ?? ""))
            .observe(document, { childList: true, subtree: true, characterData: true });
        });
        await page.reload();
        await page.getByText("Reading: 1 bytes of 2 bytes", { exact: true }).waitFor();
        // The samples are still being read; the time strip and the overview are already shown.
        await page.waitForSelector(".strip canvas");
        await page.keyboard.press("1");
        const facts = await page.innerText(".about dl");
        assertMatch(facts, /^machine\s+fixture-host/);
        assertMatch(facts, /samples\s+13\b/);
        await page.keyboard.press("3");
        await page.getByRole("button", { name: "Cancel" }).click();
        // From the next frame on, the page shows the facts known before.
        await page.evaluate(() => new Promise(requestAnimationFrame));
        await page.evaluate(() => new Promise(requestAnimationFrame));
        assertStringIncludes(await page.innerText("main"), "The samples were not read");
        await page.getByRole("button", { name: "Read the samples" }).waitFor();
        assertEquals(await page.isVisible(".strip canvas"), true);
        const said = await page.evaluate(
          () => [...(globalThis as unknown as { said: Set<string> }).said],
        );
        assert(said.length > 2);
        assertEquals(said.filter((text) => /Nothing is open/.test(text)), []);
        // Records and the overview still work.
        await page.getByRole("link", { name: "Records" }).click();
        await page.waitForSelector(".record-list .line .row");
        await page.getByRole("link", { name: "Overview" }).click();
        await page.waitForSelector(".about dd");
        await page.getByRole("link", { name: "Flame graph" }).click();
        isQuick = true;
        await page.getByRole("button", { name: "Read the samples" }).click();
        await page.waitForSelector(".flame-canvas");
        assertEquals(report.errors, []);
      },
    );
    await server.shutdown();
  },
});

/** A folder with the program of a recording, at the path where it ran. */
async function programFolder(folder: string, file: string): Promise<string> {
  const maps = await json("records", ["--type", "MMAP2", file]);
  const path = maps.map((map) => (map.body as { filename: string }).filename)
    .find((name) => name.endsWith("/demo"));
  assert(path !== undefined);
  const symfs = `${folder}/symfs`;
  Deno.mkdirSync(`${symfs}${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
  Deno.copyFileSync(`${root}fixtures/demo/demo`, `${symfs}${path}`);
  return symfs;
}

/** The rows with samples of a function's source and instructions in the page. */
async function shownCode(page: Page): Promise<{ lines: string[][]; insns: string[][] }> {
  const sampled = (rows: string[][]) =>
    rows.filter(([, count]) => !/^0?$/.test(count ?? "")).sort();
  const lines = await allRows(page, ".source", ["data-place", "data-total", "data-self"]);
  const insns = await allRows(page, ".insns", ["data-address", "data-samples"]);
  return { lines: sampled(lines), insns: sampled(insns) };
}

Deno.test({
  name:
    "timeline: events and their fields equal those of script, sorted and selected; rates have the sums of funcs",
  ...needs,
  async fn() {
    const file = `${root}fixtures/recorded/tracepoint.perf.data`;
    const { out } = await tool("script", ["--fields", "tid,time,event,trace", "--ns", file]);
    const wanted = out.split("\n").map((line) => /^ *(\d+) +([\d.]+): +(\S+): *(.*)$/.exec(line))
      .filter((found) => found !== null).map((
        [, tid, , event, text],
      ) => [event, tid, text?.trim()]);
    assert(wanted.length > 2, out);
    const sums = new Map<string, number>();
    for (const { event, period } of await json("funcs", ["--json", file])) {
      sums.set(String(event), (sums.get(String(event)) ?? 0) + Number(period));
    }
    const check = async (page: Page) => {
      await page.waitForSelector(".tracks .list:focus");
      await page.keyboard.press("e");
      const columns = ["data-event", "data-tid", "data-text", "data-time"];
      const rows = await allRows(page, ".mark-list", columns);
      const times = rows.map(([, , , time]) => Number(time));
      assertEquals(times, times.toSorted((a, b) => a - b));
      const tracepoints = rows.filter(([event]) => event?.includes(":"))
        .map(([event, tid, text]) => [event, tid, text]);
      assertEquals(tracepoints, wanted);
      assertMatch(page.url(), /&marks=/);
      // Choosing an event, or selecting a time, filters the list.
      const [first = []] = wanted;
      await page.locator(".marks select").selectOption(first[0] ?? "");
      const own = wanted.filter(([event]) => event === first[0]);
      await page.getByText(`${own.length} of ${rows.length}`).waitFor();
      await page.getByRole("button", { name: "Fields" }).click();
      const texts = (await allRows(page, ".mark-list", ["data-text"])).map(([text]) => text);
      assertEquals(texts, own.map(([, , text]) => text).toSorted());
      const last = Math.max(...times);
      await page.evaluate(
        (to) =>
          (globalThis as unknown as { perfdata: PageStore }).perfdata.set({
            from: 0,
            to,
            marks: "",
          }),
        last,
      );
      const before = times.filter((time) => time >= 0 && time < last).length;
      await page.getByText(`${before} of ${rows.length}`).waitFor();
      assertEquals(await faultsOf(page), []);
      for (const _ of [1, 2]) await page.keyboard.press("u");
      await page.selectOption("section select", "rates");
      await page.waitForSelector(".rates .track");
      for (const [event, sum] of sums) {
        const track = page.locator(".rates .track", { hasText: event });
        await track.getByText(`${sum.toLocaleString("en-US")} · `).waitFor();
      }
      assertEquals(await faultsOf(page), []);
    };
    await viewed([file], "#view=timeline", check);
    await inFolder(async (folder) => {
      await tool("view", ["-o", `${folder}/report.html`, file]);
      await withPage(`${folder}/report.html#view=timeline`, async (page, report) => {
        await ready(page);
        await check(page);
        assertEquals([report.errors, report.requests], [[], []]);
      });
    });
  },
});

Deno.test({
  name:
    "overview: counts of perf stat record equal those of the stat command, and are drawn over time if there are intervals",
  ...needs,
  async fn() {
    const file = `${root}fixtures/recorded/stat.perf.data`;
    const rows = await json("stat", ["--json", "--by", "all", file]);
    const sums = new Map<string, number>();
    for (const { event, value } of rows) {
      sums.set(String(event), (sums.get(String(event)) ?? 0) + Number(value));
    }
    assert(sums.size > 1 && rows.length > sums.size);
    await viewed([file], "", async (page) => {
      await page.waitForSelector(".counts canvas");
      const found = await page.locator(".counts li").evaluateAll((lines) =>
        lines.map((line) => [...line.children].slice(0, 2).map(({ textContent }) => textContent))
      );
      assertEquals(
        found.map(([name, sum]) => [name, Number(sum?.replace(/[^\d.]/g, "")).toFixed(1)]),
        [...sums].map(([name, sum]) => [name, sum.toFixed(1)]),
      );
      assertEquals(await page.locator(".counts canvas").count(), sums.size);
      assertEquals(await faultsOf(page), []);
    });
  },
});

/** Scrolls a list until a row exists. */
async function revealed(page: Page, list: string, row: string): Promise<void> {
  for (let top = 0; await page.locator(`${list} ${row}`).count() === 0; top += 100) {
    const isEnd = await page.$eval(list, (list, top) => {
      list.scrollTop = top;
      return top > list.scrollHeight;
    }, top);
    assert(!isEnd, row);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  }
}

/** The instructions of a function in the page, in order. */
async function instructionTexts(page: Page): Promise<string[]> {
  await page.$eval(".insns", (list) => list.scrollTop = 0);
  const rows = await page.$$eval(
    ".insns .row[data-address]",
    (rows) => rows.map((row) => row.querySelector(".text")?.textContent ?? ""),
  );
  return rows.map((text) => text.trim());
}

Deno.test({
  name: "source: lines and instructions of a function have the samples of annotate",
  ...needs,
  async fn() {
    const file = FILES[1] as string;
    await inFolder(async (folder) => {
      const symfs = await programFolder(folder, file);
      const [lines, insns] = await Promise.all(
        [["--json"], ["--json", "--insns"]].map((flags) =>
          json("annotate", [...flags, "--symfs", symfs, file, "spin"])
        ),
      );
      const count = (of: unknown) => `${(of as { period: number }).period}`;
      const wanted = {
        lines: (lines ?? []).map(({ file, line, self, total }) => [
          `${file}:${line}`,
          count(total),
          count(self),
        ]).sort(),
        insns: (insns ?? []).filter(({ samples }) => samples !== 0)
          .map(({ address, samples }) => [`${address}`.slice(2), `${samples}`]).sort(),
      };
      assert(wanted.lines.length > 0 && wanted.insns.length > 0);
      const flags = ["--symfs", symfs, "--source", `${root}fixtures/demo`];
      await viewed([...flags, file], "#view=source&fn=spin", async (page) => {
        assertEquals(await shownCode(page), wanted);
        // The page shows the line's text, and marks the line's instructions with it.
        const [place = ""] = wanted.lines[0] ?? [];
        const text = Deno.readTextFileSync(`${root}fixtures/demo/demo.c`).split("\n");
        const row = page.locator(`.source [data-place="${place}"]`);
        await revealed(page, ".source", `[data-place="${place}"]`);
        assertStringIncludes(
          await row.innerText(),
          (text[Number(place.split(":")[1]) - 1] ?? "").trim(),
        );
        await row.click();
        await page.waitForSelector(".insns .row.marked");
        assertStringIncludes(
          await page.locator(".insns .row.marked").first().innerText(),
          `${insns?.find(({ line }) => place.endsWith(`:${line}`))?.text}`.split(" ")[0] ?? "",
        );
      });
      // A report has the code of the functions with most samples, with the samples of the selection.
      const path = `${folder}/report.html`;
      const written = await tool("view", [...flags, "-o", path, file]);
      assertMatch(written.err, /with the code of \d+ functions and lines of 1 source files/);
      const part = "#view=source&fn=spin&from=0&to=1000000";
      let ofPart: Awaited<ReturnType<typeof shownCode>> | undefined;
      await viewed([...flags, file], part, async (page) => {
        ofPart = await shownCode(page);
      });
      assert((ofPart?.insns.length ?? 0) > 0);
      assert(JSON.stringify(ofPart) !== JSON.stringify(wanted));
      for (const [hash, expected] of [["#view=source&fn=spin", wanted], [part, ofPart]] as const) {
        await withPage(`${path}${hash}`, async (page, report) => {
          assertEquals(await shownCode(page), expected);
          // The key of the menu leads there from other views.
          await page.keyboard.press("4");
          await page.waitForSelector(".functions:focus");
          for (const key of ["Home", "S"]) await page.keyboard.press(key);
          await page.waitForSelector(".source .row");
          await page.evaluate(() =>
            (globalThis as unknown as { perfdata: PageStore }).perfdata.set({ fn: "spin" })
          );
          await page.waitForFunction(() =>
            document.querySelector(".source")?.getAttribute("aria-label") === "Source of spin"
          );
          const [place = ""] = wanted.lines[0] ?? [];
          const text = Deno.readTextFileSync(`${root}fixtures/demo/demo.c`).split("\n");
          await revealed(page, ".source", `[data-place="${place}"]`);
          // The row is there before its text.
          const hasText = (text[Number(place.split(":")[1]) - 1] ?? "?").trim();
          await page.locator(`.source [data-place="${place}"]`, { hasText }).waitFor();
          assertEquals([report.errors, report.requests], [[], []]);
        });
      }
      await tool("view", [...flags, "-o", path, "--force", "--no-code", file]);
      await withPage(path, async (page) => {
        await ready(page);
        assertEquals(await page.getByRole("link", { name: "Source" }).count(), 0);
      });
      await viewed([...flags, file], "#view=functions&search=spin", async (page) => {
        await page.waitForSelector("#function-0 mark");
        for (const key of ["b", "Home"]) await page.keyboard.press(key);
        await page.waitForSelector(".pane .source .row");
        assertEquals(await shownCode(page), wanted);
        // All of the file is there, with the text of lines that have no samples.
        const text = Deno.readTextFileSync(`${root}fixtures/demo/demo.c`).split("\n");
        const places = (await allRows(page, ".source", ["data-place"]))
          .map(([place = ""]) => place).filter((place) => place.startsWith("/"));
        const own = places.filter((place) => place.startsWith(`${places[0]?.split(":")[0]}:`));
        assertEquals(
          own.map((place) => Number(place.split(":")[1])),
          [...text.keys()].map((i) => i + 1),
        );
        // Shares are of all samples or of the function.
        const [place = "", total] = wanted.lines[0] ?? [];
        await page.locator(".pane").getByLabel("Share of").selectOption("function");
        await revealed(page, ".source", `[data-place="${place}"] .total`);
        const [functionSum] =
          (await json("funcs", ["--json", "--children", "--symfs", symfs, file]))
            .filter(({ sym }) => sym === "spin");
        assert(functionSum !== undefined);
        assertEquals(
          await page.locator(`.source [data-place="${place}"] .total`).innerText(),
          `${(100 * Number(total) / Number(functionSum.children_period)).toFixed(2)}%`,
        );
        assertMatch(page.url(), /&beside=1&share=function/);
        assertEquals(await faultsOf(page), []);
        // Enter on a jump goes to its target, to which a line leads.
        for (const { address, jump } of insns ?? []) {
          if (jump === undefined) continue;
          const row = `[data-address="${`${address}`.slice(2)}"]`;
          await revealed(page, ".insns", row);
          await page.locator(`.insns ${row}`).click();
          assertMatch(
            await page.locator(`.insns ${row} .gutter path`).getAttribute("d") ?? "",
            /^M/,
          );
          await page.keyboard.press("Enter");
          await page.waitForSelector(`.insns .row.chosen[data-address="${`${jump}`.slice(2)}"]`);
        }
        await page.keyboard.press("b");
        await page.waitForSelector(".pane", { state: "detached" });
      });
      // A page that opens files by itself shows the same for dropped files.
      const parts = await viewParts("files");
      const disassembler = await disassemblerScript();
      if (parts === undefined || disassembler === undefined) return;
      Deno.writeTextFileSync(`${folder}/index.html`, await pageText(parts, "files"));
      Deno.writeTextFileSync(`${folder}/${DISASSEMBLER_FILE}`, disassembler);
      await withPage(`${folder}/index.html#view=source&fn=spin`, async (page, report) => {
        await page.setInputFiles("input[type=file]", [
          file,
          `${root}fixtures/demo/demo`,
          `${root}fixtures/demo/demo.c`,
        ]);
        assertEquals(await shownCode(page), wanted);
        // The disassembler beside the page gives instructions their text, on request.
        const texts = await instructionTexts(page);
        assertEquals(texts, (insns ?? []).map(({ text }) => String(text).trim()));
        assertEquals([report.errors, report.requests], [[], []]);
      });
      Deno.removeSync(`${folder}/${DISASSEMBLER_FILE}`);
      await withPage(`${folder}/index.html#view=source&fn=spin`, async (page) => {
        await page.setInputFiles("input[type=file]", [file, `${root}fixtures/demo/demo`]);
        await page.getByText(`${DISASSEMBLER_FILE} is not beside this page`).waitFor();
        const texts = await instructionTexts(page);
        assertEquals(
          texts,
          (insns ?? []).map(({ bytes }) => `${bytes}`.replace(/..(?=.)/g, "$& ")),
        );
      });
    });
  },
});

Deno.test({
  name:
    "source: instructions of AArch64 in a page that opens files have the text and jumps of annotate",
  ...needs,
  async fn() {
    const folder = `${root}fixtures/aarch64`;
    const file = `${folder}/stacks.perf.data`;
    const { out } = await tool("annotate", [
      ...["--symfs", folder, "--insns", "--json"],
      ...[file, "deep"],
    ]);
    const insns = out.trim().split("\n").map((line) => JSON.parse(line));
    assert(insns.length > 10);
    const parts = await viewParts("files");
    const disassembler = await aarch64DisassemblerScript();
    if (parts === undefined || disassembler === undefined) return;
    await inFolder(async (built) => {
      Deno.writeTextFileSync(`${built}/index.html`, await pageText(parts, "files"));
      Deno.writeTextFileSync(`${built}/${AARCH64_DISASSEMBLER_FILE}`, disassembler);
      await withPage(`${built}/index.html#view=source&fn=deep`, async (page, report) => {
        await page.setInputFiles("input[type=file]", [file, `${folder}/stacks`]);
        await page.waitForFunction(() =>
          document.querySelector(".insns")?.textContent?.includes("paciasp")
        );
        assertEquals(await instructionTexts(page), insns.map(({ text }) => text.trim()));
        for (const { address, jump } of insns) {
          if (jump === undefined) continue;
          await page.locator(`.insns [data-address="${address.slice(2)}"]`).click();
          await page.keyboard.press("Enter");
          await page.waitForSelector(`.insns .row.chosen[data-address="${jump.slice(2)}"]`);
        }
        assertEquals([report.errors, report.requests], [[], []]);
      });
      Deno.removeSync(`${built}/${AARCH64_DISASSEMBLER_FILE}`);
      await withPage(`${built}/index.html#view=source&fn=deep`, async (page) => {
        await page.setInputFiles("input[type=file]", [file, `${folder}/stacks`]);
        await page.getByText(`${AARCH64_DISASSEMBLER_FILE} is not beside this page`).waitFor();
        const texts = await instructionTexts(page);
        assertEquals(texts[0], insns[0].bytes.replace(/..(?=.)/g, "$& "));
      });
    });
  },
});

Deno.test({
  name: "lists: keys select a line, scroll it into view, and announce it to screen readers",
  ...needs,
  async fn() {
    await inFolder(async (folder) => {
      const [file, base] = [FILES[1] as string, FILES[0] as string];
      const symfs = await programFolder(folder, file);
      const flags = ["--symfs", symfs, "--source", `${root}fixtures/demo`];
      await viewed([...flags, base, file], "", async (page) => {
        let gone = 0;
        for (
          const [list, change] of [
            [".functions", { view: "functions" }],
            [".tree", { view: "tree" }],
            [".compared", { view: "compare" }],
            [".record-list", { view: "records" }],
            [".fields", { view: "records", record: 3 }],
            [".source", { view: "source", fn: "spin" }],
            [".insns", { view: "source", fn: "spin" }],
          ] as const
        ) {
          await page.evaluate(
            (change) => (globalThis as unknown as { perfdata: PageStore }).perfdata.set(change),
            change,
          );
          await page.waitForSelector(`${list} .line .row`);
          await page.focus(list);
          for (const key of ["Home", "ArrowDown", "End", "ArrowUp", "Home"]) {
            await page.keyboard.press(key);
            await page.waitForTimeout(80);
            const [rows, line, isSelected, isSeen] = await page.$eval(list, (grid) => {
              const row = document.getElementById(grid.getAttribute("aria-activedescendant") ?? "");
              const [own, around] = [row, grid].map((of) => of?.getBoundingClientRect());
              return [
                Number(grid.getAttribute("aria-rowcount")) - 1,
                Number(row?.getAttribute("aria-rowindex")) - 2,
                row?.getAttribute("aria-selected"),
                own !== undefined && around !== undefined && own.top >= around.top &&
                own.bottom <= around.bottom,
              ] as const;
            });
            const wanted = {
              Home: 0,
              ArrowDown: Math.min(1, rows - 1),
              End: rows - 1,
              ArrowUp: Math.max(0, rows - 2),
            }[key];
            assertEquals([line, isSelected, isSeen], [wanted, "true", true], `${list} ${key}`);
            gone++;
          }
        }
        assertEquals(gone, 35);
      });
    });
  },
});

/** Selects another weight in the page, and waits until its numbers appear. */
async function count(page: Page, weight: string): Promise<void> {
  await page.selectOption(".selection select:has(option[value=off-cpu])", weight);
  await counted(page, weight);
}

/** Waits until the page shows the numbers of a weight. */
async function counted(page: Page, weight: string): Promise<void> {
  await page.waitForFunction((weight) => {
    const { opening, state, open } = (globalThis as unknown as {
      perfdata: { opening: boolean; state: { counts: string }; open?: { facts?: object } };
    }).perfdata;
    return !opening && open?.facts !== undefined && state.counts === weight;
  }, weight);
}

Deno.test({
  name: "off-CPU: times chosen in the page or by address equal those of --weight",
  ...needs,
  async fn() {
    const file = FILES[0] as string;
    await inFolder(async (folder) => {
      let compared = 0;
      const compare = async (page: Page) => {
        for (const weight of ["off-cpu", "wall", "latency", "period"]) {
          await count(page, weight);
          const download = page.waitForEvent("download");
          await page.selectOption(".save select", "folded");
          await (await download).saveAs(`${folder}/folded`);
          const { out } = await tool("export", ["--inline", "--weight", weight, "folded", file]);
          assertEquals(Deno.readTextFileSync(`${folder}/folded`), out, weight);
          compared += out.split("\n").length - 1;
        }
      };
      await viewed([file], "#view=functions&counts=off-cpu", async (page) => {
        await counted(page, "off-cpu");
        // The recording has no call chains of switches. The page says what it shows in their place,
        // and how to record them.
        const note = await page.innerText(".note");
        assertMatch(
          note,
          /have the stack of the thread's last sample before, marked \[last sample\]/,
        );
        assertMatch(note, /perf record -g -e cpu-clock,sched:sched_switch/);
        await compare(page);
        assertEquals(await page.locator(".note").count(), 0);
        await count(page, "latency");
        await count(page, "period");
        // One step back restores the weight before.
        await page.keyboard.press("u");
        await counted(page, "latency");
        assertStringIncludes(page.url(), "counts=latency");
      });
      // With the flag, the page begins with that weight; a report has only that one.
      await viewed(["--weight", "off-cpu", file], "&view=functions", async (page) => {
        await counted(page, "off-cpu");
        await compare(page);
      });
      await tool("view", ["--weight", "wall", "-o", `${folder}/report.html`, file]);
      await withPage(`${folder}/report.html#view=functions`, async (page, report) => {
        await ready(page);
        // Other weights need the recording.
        assertEquals(await page.locator(".selection option[value=off-cpu]").count(), 0);
        const download = page.waitForEvent("download");
        await page.selectOption(".save select", "folded");
        await (await download).saveAs(`${folder}/folded`);
        const { out } = await tool("export", ["--inline", "--weight", "wall", "folded", file]);
        assertEquals(Deno.readTextFileSync(`${folder}/folded`), out, "a report");
        assertEquals([report.errors, report.requests], [[], []]);
      });
      const parts = await viewParts("files");
      if (parts === undefined) return;
      Deno.writeTextFileSync(`${folder}/index.html`, await pageText(parts, "files"));
      await withPage(`${folder}/index.html#view=functions`, async (page, report) => {
        await page.setInputFiles("input[type=file]", [file]);
        await ready(page);
        const sum = () =>
          page.$$eval(
            ".functions .line .row",
            (rows) => rows.reduce((sum, row) => sum + Number(row.getAttribute("data-self")), 0),
          );
        // The column of `funcs` contains the same sum.
        const columns = await tool("funcs", ["--latency", "--sort", "comm", "--json", file]);
        const latencies = columns.out.trim().split("\n")
          .map((line) => Number(JSON.parse(line).latency_period));
        await count(page, "latency");
        await page.waitForSelector(".functions .line .row");
        const latency = latencies.reduce((all, one) => all + one, 0);
        assert(Math.abs(await sum() - latency) <= latencies.length, `${await sum()}, ${latency}`);
        await count(page, "off-cpu");
        await page.waitForSelector(".functions .line .row");
        const { out } = await tool("export", ["--weight", "off-cpu", "folded", file]);
        // Without the files of this machine, names differ and sums are equal.
        const wanted = out.trim().split("\n")
          .reduce((all, line) => all + Number(line.slice(line.lastIndexOf(" "))), 0);
        assertEquals(await sum(), wanted);
        assertEquals([report.errors, report.requests], [[], []]);
      });
      assert(compared >= 10, `${compared} stacks`);
    });
  },
});

Deno.test({
  name:
    "a recording made here: functions equal those of perf report, from the first view to the last",
  ...ignored(await noBrowser() ?? noRecording()),
  async fn() {
    await inFolder(async (folder) => {
      const events = ["-e", "cpu-clock:u", "-F", "4999"];
      const file = await recordProgram(folder, LEFT_AND_RIGHT, events);
      const reported = await reportedPeriods(file);
      await viewed([file], "#view=functions&inline=0", async (page) => {
        const rows = await allRows(page, ".functions", ["data-fn", "data-self"]);
        const found = new Map(rows.map(([name = "", self = ""]) => [name, self]));
        let compared = 0;
        for (const [name, period] of reported) {
          if (!["leaf", "left", "right"].includes(name)) continue;
          assertEquals(found.get(name), `${period}`, name);
          compared++;
        }
        // Only the loop is certain to have samples.
        assert(compared >= 1 && found.has("leaf"), `${compared} functions`);
        for (const [view, shown] of Object.entries(SHOWN)) {
          await page.evaluate(
            (view) =>
              (globalThis as unknown as { perfdata: PageStore }).perfdata
                .set({ view, fn: "leaf", record: 3 }),
            view,
          );
          await page.waitForSelector(shown);
        }
      });
    });
  },
});

/** An element of each view that exists if the view shows data. */
const SHOWN = {
  overview: ".about dd",
  timeline: ".track canvas",
  flame: ".flame-canvas",
  sandwich: ".half .flame-canvas",
  source: ".source .line .row",
  tree: ".tree .line .row",
  records: ".fields .line .row",
} as const;

/** A tall page, on which scrolling through long lists takes few steps. */
const TALL = { viewport: { width: 1280, height: 4000 } };

/**
 * The functions, calls and instructions that the page shows for a part of Intel PT, as rows of
 * text.
 */
async function shownPt(
  page: Page,
  window: readonly [number, number],
): Promise<Record<"functions" | "calls" | "insns", string[][]>> {
  const lists = {
    functions: ["fn", "object", "self", "total", "calls", "insns"],
    calls: ["fn", "depth", "tid", "time", "duration", "insns"],
    insns: ["tid", "ip", "place"],
  };
  const shown: Record<string, string[][]> = {};
  for (const [list, names] of Object.entries(lists)) {
    await page.evaluate(
      (change) => (globalThis as unknown as { perfdata: PageStore }).perfdata.set(change),
      { view: "pt", window, list },
    );
    await page.waitForFunction(
      ([from, to]) => location.hash.includes(`window=${from}%2C${to}`),
      window,
    );
    await page.waitForSelector(".pt-parts:not(.stale)");
    shown[list] = await allRows(page, `.pt-${list}`, names.map((name) => `data-${name}`));
  }
  return shown as Awaited<ReturnType<typeof shownPt>>;
}

Deno.test({
  name: "Intel PT: functions, calls and instructions of a part equal those of pt",
  ...ignored(await noBrowser() ?? cannotStep()),
  async fn() {
    let compared = 0;
    await inFolder(async (folder) => {
      await repeatStepped(0.1, 2, folder, {
        ...{ psbEvery: 500, compressReturns: true, tsc: true, mtc: true },
      });
      const file = `${folder}/perf.data`;
      const text = (...values: unknown[]) => values.map((value) => `${value}`);
      const compare = async (page: Page, [from, to]: [number, number], start: bigint) => {
        const [middle, reach] = [start + BigInt((from + to) / 2), (to - from) / 2];
        const second = 1_000_000_000n;
        const at = `${middle / second}.${`${middle % second}`.padStart(9, "0")}`;
        const of = (...flags: string[]) =>
          json("pt", [...flags, "--json", "--around", `${at}±${reach}ns`, file]);
        const shown = await shownPt(page, [from, to]);
        const functions = await of();
        assertEquals(
          // Sums of shares of time differ in their last digits.
          shown.functions.map(([name, object, self, total, ...counts]) => [
            ...text(name, object, Math.round(Number(self)), Math.round(Number(total))),
            ...counts,
          ]).sort(),
          functions.map(({ name, object, self, total, calls, insns }) =>
            text(name, object, Math.round(Number(self)), Math.round(Number(total)), calls, insns)
          ).sort(),
        );
        const calls = await of("--calls");
        assertEquals(
          shown.calls.sort(),
          calls.map(({ function: fn, depth, tid, time, duration, insns }) =>
            text(fn, depth, tid, Number(time) - Number(start), duration, insns)
          ).sort(),
        );
        // Command and page switch between buffers at different moments, so the order is compared
        // per thread.
        const insns = await of("--insns");
        for (const tid of new Set(insns.map(({ tid }) => tid))) {
          assertEquals(
            shown.insns.filter(([own]) => own === `${tid}`),
            insns.filter((row) => row.tid === tid)
              .map(({ ip, function: fn }) => text(tid, `${ip}`.slice(2), fn)),
          );
        }
        compared += functions.length + calls.length + insns.length;
      };
      const factsOf = async (page: Page) => {
        await page.waitForFunction(() =>
          (globalThis as unknown as { perfdata: PageStore }).perfdata.open?.pt !== undefined
        );
        const facts = await page.evaluate(() => {
          const { start = "0", duration = 0 } =
            (globalThis as unknown as { perfdata: PageStore }).perfdata.open?.pt ?? {};
          return { start, duration };
        });
        return { ...facts, start: BigInt(facts.start) };
      };
      const all = await json("pt", ["--calls", "--json", file]);
      const times = all.map(({ time }) => Number(time)).sort((a, b) => a - b);
      /** A window of time with executed code, around the call at this share of all calls. */
      const windowAt = (share: number, start: bigint): [number, number] => {
        const time = times[Math.floor(times.length * share)] as number;
        const from = 2 * Math.floor((time - Number(start)) / 2) - 4_000;
        return [from, from + 8_000];
      };
      await viewed([file], "#view=pt", async (page) => {
        const { start } = await factsOf(page);
        // A window this short is decoded immediately, with the boxes of a thread.
        await page.waitForSelector(".pt-parts:not(.stale) .flame-canvas");
        assertEquals(await faultsOf(page), []);
        await compare(page, windowAt(0.35, start), start);
        // Zooming to a box makes it the part in view.
        await page.focus(".flame-canvas");
        for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
        await page.keyboard.press("0");
        await page.waitForFunction(() => !location.hash.includes("window="));
      }, TALL);
      const parts = await viewParts("files");
      if (parts === undefined) return;
      const maps = await json("records", ["--type", "MMAP2", file]);
      const program = maps.map((map) => (map.body as { filename: string }).filename)
        .find((name) => name.startsWith(folder));
      assert(program !== undefined);
      Deno.writeTextFileSync(`${folder}/index.html`, await pageText(parts, "files"));
      await withPage(`${folder}/index.html#view=pt`, async (page, report) => {
        await page.setInputFiles("input[type=file]", [file, program]);
        const { start } = await factsOf(page);
        await compare(page, windowAt(0.5, start), start);
        assertEquals([report.errors, report.requests], [[], []]);
      }, TALL);
    });
    console.log(`${compared} rows compared`);
    assert(compared > 400, `${compared} rows`);
  },
});

Deno.test({
  name: "tens of thousands of threads with markup in their names: the document stays small",
  ...needs,
  async fn() {
    const threads = 50_000;
    const samples = Array.from({ length: threads }, (_, i) => ({
      event: 0,
      thread: [`${HOSTILE_NAMES[i % 2]} ${i}`, 100 + (i >> 1), 100 + i] as [string, number, number],
      stack: ["main", `f${i % 500}`],
      period: 1000,
      time: 1e9 + i * 1000,
    }));
    await inFolder(async (folder) => {
      const path = `${folder}/report.html`;
      const profile = viewProfile(profileOf(samples));
      const data = { profile, base: profile, why: undefined, index: undefined, info: undefined };
      Deno.writeTextFileSync(path, await reportText(VIEW_PARTS, data));
      await withPage(path, async (page, report) => {
        await page.waitForFunction(() =>
          (globalThis as unknown as { perfdata: PageStore }).perfdata.open?.facts !== undefined
        );
        for (
          const change of [
            { view: "timeline", by: "thread" },
            { view: "timeline", by: "process" },
            { view: "timeline", by: "heat" },
            { view: "functions", tids: [50_099] },
            { view: "flame", tids: undefined, timed: true },
            { view: "compare" },
          ]
        ) {
          await page.evaluate(
            (change) => (globalThis as unknown as { perfdata: PageStore }).perfdata.set(change),
            change,
          );
          if (change.view === "functions") {
            await page.locator(".foot", { hasText: "; 1 samples" }).waitFor();
          } else await page.waitForTimeout(700);
          const nodes = await page.$$eval("*", (all) => all.length);
          assert(nodes < 3000, `${JSON.stringify(change)}: ${nodes} elements`);
          assertEquals(await page.$$eval("#app img, #app script", (all) => all.length), 0);
        }
        // The page shows the number of threads.
        await page.evaluate(() =>
          (globalThis as unknown as { perfdata: PageStore }).perfdata
            .set({ view: "timeline", by: "thread" })
        );
        await page.getByText("of 50,000 threads").waitFor();
        assertEquals([report.errors, report.requests], [[], []]);
      });
    });
  },
});

Deno.test({
  name:
    "a truncated recording: the page shows the readable part, and says that the rest is missing",
  ...needs,
  async fn() {
    const bytes = Deno.readFileSync(FILES[1] as string);
    await inFolder(async (folder) => {
      let [shown, refused] = [0, 0];
      for (const share of [0.3, 0.6, 0.9]) {
        const file = `${folder}/cut.data`;
        Deno.writeFileSync(file, bytes.subarray(0, Math.floor(bytes.length * share)));
        await viewed([file], "", async (page) => {
          const said = await page.locator(".overview").innerText();
          assertStringIncludes(said, "The recording is damaged");
          await page.keyboard.press("2");
          const failed = await page.evaluate(() =>
            (globalThis as unknown as { perfdata: PageStore }).perfdata.open?.failed
          );
          if (failed === undefined) {
            await page.waitForSelector(".tracks, .empty");
            shown++;
          } else {
            await page.getByText(failed).first().waitFor();
            refused++;
          }
        });
      }
      assert(shown > 0 && shown + refused === 3, `${shown} shown`);
    });
  },
});

Deno.test({
  name: "a page that opens files makes no requests: a proxy sees none",
  ...needs,
  async fn(t) {
    const parts = await viewParts("files");
    if (parts === undefined) return await skipped(t, "deno bundle does not work here");
    let asked: string[] = [];
    const proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      // Chromium itself sends requests to Google.
      if (!/google|gstatic/.test(new URL(request.url).hostname)) asked.push(request.url);
      return new Response("", { status: 502 });
    });
    await inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/index.html`, await pageText(parts, "files"));
      await withPage(`${folder}/index.html`, async (page, report) => {
        await page.context().setOffline(false);
        asked = [];
        await page.setInputFiles("input[type=file]", [FILES[1] as string]);
        await page.waitForFunction(() =>
          (globalThis as unknown as { perfdata: PageStore }).perfdata.open?.facts !== undefined
        );
        for (const view of ["timeline", "flame", "functions", "source", "records"]) {
          await page.evaluate(
            (view) =>
              (globalThis as unknown as { perfdata: PageStore }).perfdata
                .set({ view, fn: "main", record: 3 }),
            view,
          );
          await page.waitForTimeout(200);
        }
        // A script in the page cannot make a request either.
        const answer = await page.evaluate(() =>
          fetch("http://example.invalid/").then(() => "answered", () => "refused")
        );
        assertEquals([answer, asked], ["refused", []]);
        assert(report.errors.every((error) => error.includes("Content Security Policy")));
        // Check of the proxy: it sees a request for another site.
        await page.goto("http://example.invalid/").catch(() => {});
        assertEquals(asked.slice(0, 1), ["http://example.invalid/"]);
      }, {
        args: [
          `--proxy-server=http://127.0.0.1:${proxy.addr.port}`,
          "--proxy-bypass-list=<-loopback>",
        ],
      });
    });
    await proxy.shutdown();
  },
});

/** The store of the page. */
interface PageStore {
  readonly open?: {
    readonly facts?: {
      readonly functions: { readonly name: readonly string[] };
      readonly events: readonly { readonly name: string }[];
    };
    readonly failed?: string;
    readonly pt?: { readonly start: string; readonly duration: number };
  };
  readonly error?: string;
  set(change: object): void;
}

/** The problems that axe finds on the page. */
async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<
          { violations: { id: string; impact: string; nodes: { html: string }[] }[] }
        >;
      };
    };
    const { violations } = await axe.run();
    return violations.map(({ id, impact, nodes }) => `${impact} ${id} ${nodes[0]?.html}`);
  });
}

Deno.test({
  name: "axe: finds no problem in any view, dark or light",
  ...needs,
  async fn() {
    for (const colorScheme of ["light", "dark"] as const) {
      await viewed([FILES[0] as string, FILES[1] as string], "", async (page) => {
        for (
          const view of [
            ...["overview", "timeline", "flame", "functions", "sandwich", "source", "tree"],
            ...["compare", "compare graph", "records", "timeline heat", "flame timed", "keys"],
          ]
        ) {
          if (view === "keys") await page.keyboard.press("?");
          else {
            await page.evaluate((view) => {
              const { perfdata } = globalThis as unknown as { perfdata: PageStore };
              const [fn] = perfdata.open?.facts?.functions.name ?? [];
              const [name, graph] = view.split(" ");
              const record = name === "records" ? 3 : -1;
              perfdata.set({
                ...{ view: name, fn, record, graph: graph !== undefined },
                ...{ by: graph === "heat" ? "heat" : "process", timed: graph === "timed" },
              });
            }, view);
          }
          await page.waitForTimeout(500);
          const found = await faultsOf(page);
          assertEquals(found, [], `${colorScheme} ${view}`);
        }
      }, { colorScheme });
    }
  },
});

Deno.test({
  name: "keys: open each view, go back and forth, and list themselves",
  ...needs,
  async fn() {
    await viewed([FILES[1] as string], "", async (page) => {
      const current = () => page.$eval('nav [aria-current="page"]', (link) => link.textContent);
      const seen: (string | null)[] = [];
      for (const key of "1234567894") {
        await page.keyboard.press(key);
        await page.waitForTimeout(50);
        seen.push(await current());
      }
      // Without a comparison, 8 stays the key of that view and does nothing.
      assertEquals(
        seen,
        ["Overview", "Timeline", "Flame graph", "Functions", "Sandwich", "Source", "Tree", "Tree"]
          .concat(["Records", "Functions"]),
      );
      await page.keyboard.press("9");
      await page.keyboard.press("u");
      await page.waitForFunction(() => location.hash.includes("view=functions"));
      await page.keyboard.press("U");
      await page.waitForFunction(() => location.hash.includes("view=records"));
      // Text typed into a field triggers no key.
      await page.keyboard.press("/");
      await page.keyboard.type("3u?");
      assertEquals(await current(), "Records");
      assertMatch(page.url(), /search=3u%3F/);
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await page.waitForSelector("dialog[open]");
      assertEquals(await page.locator("dialog dl > div").first().allInnerTexts(), [
        "1 2 3 4 5 6 7 9\nOverview, Timeline, Flame graph, Functions, Sandwich, Source, Tree, Records",
      ]);
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog[open]", { state: "detached" });
    });
    // Tables have neither lines nor records.
    await inFolder(async (folder) => {
      const tables = `${folder}/tables`;
      const made = await tool("export", ["parquet", "--names", "-o", tables, FILES[1] as string]);
      assertEquals(made.code, 0, made.err);
      await viewed([tables, tables], "#view=tree", async (page) => {
        // The page learns from its first answer that tables have no lines.
        await page.waitForSelector('nav a:text-is("Source")', { state: "detached" });
        for (const [key, view] of [["6", "tree"], ["9", "tree"], ["p", "tree"], ["8", "compare"]]) {
          await page.keyboard.press(key as string);
          await page.waitForTimeout(50);
          assertMatch(page.url(), new RegExp(`view=${view}\\b`), key);
        }
      });
    });
  },
});

Deno.test({
  name:
    "sandwich and source: begin with the list of functions, use the words of the field, and show matches",
  ...needs,
  async fn() {
    await viewed([FILES[1] as string], "", async (page) => {
      for (const [key, view] of [["5", "sandwich"], ["6", "source"]] as const) {
        await page.keyboard.press(key);
        await page.waitForSelector(".functions:focus");
        await page.waitForSelector(".functions .line .row");
        for (const next of ["Home", "ArrowDown", "Enter"]) await page.keyboard.press(next);
        await page.waitForFunction(
          (view) => new RegExp(`view=${view}&fn=.`).test(location.hash),
          view,
        );
        const wanted = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("fn");
        assertEquals(await page.inputValue(".picker input"), wanted);
        if (view === "sandwich") {
          assertEquals(await page.locator(".half h2").allInnerTexts(), ["Callers", "Callees"]);
        }
        await page.keyboard.press("u");
        await page.waitForSelector(".functions");
      }
      await page.keyboard.press("3");
      const labels = await page.locator(".bar label").allInnerTexts();
      const words = labels.map((text) => text.trim().split(/\s/)[0]);
      for (const word of ["Weight", "Threads", "Invert", "Root", "Icicle"]) {
        assert(words.includes(word), `${word}: ${words}`);
      }
      await page.getByLabel("Invert").check();
      assertMatch(page.url(), /callers=1/);
      // Even on a narrow page, the matching text is visible in the name.
      await page.keyboard.press("4");
      await page.setViewportSize({ width: 420, height: 800 });
      const [longest = ""] = (await page.evaluate(() =>
        (globalThis as unknown as {
          perfdata: { open: { facts: { functions: { name: string[] } } } };
        })
          .perfdata.open.facts.functions.name
      )).sort((a, b) => b.length - a.length);
      const part = longest.slice(longest.length >> 1, (longest.length >> 1) + 3);
      await page.fill(".search input", part);
      await page.waitForSelector(".functions mark");
      const rows = page.locator(".functions .line .fit");
      const [found, all] = [await rows.locator("mark").allInnerTexts(), await rows.count()];
      assertEquals(found.map((text) => text.toLowerCase()), Array(all).fill(part.toLowerCase()));
    });
  },
});

Deno.test({
  name:
    "transforms: by menu or key they leave the expected samples, are in the address, and can be undone",
  ...needs,
  async fn() {
    const file = FILES[1] as string;
    await viewed([file], "#view=functions", async (page) => {
      const rows = async () => {
        const found = await allRows(page, ".functions", ["data-fn", "data-self", "data-total"]);
        return found.map(([name = "", self, total]) => [name, Number(self), Number(total)] as const)
          .sort(([a], [b]) => a < b ? -1 : 1);
      };
      const all = await rows();
      const sum = all.reduce((sum, [, self]) => sum + self, 0);
      // A function that calls others and is called.
      const [name, , total] = all.find(([, self, total]) =>
        total < sum && self < total && self > 0
      ) ?? [];
      assert(name !== undefined && total !== undefined);
      await page.keyboard.press("/");
      await page.keyboard.type(name);
      await page.waitForSelector("#function-0 mark");
      await page.click("#function-0", { button: "right" });
      await page.waitForSelector(".menu [role=menuitem]:focus");
      assertEquals(await faultsOf(page), []);
      await page.keyboard.press("Enter");
      await page.waitForSelector(".menu", { state: "detached" });
      await page.fill(".search input", "");
      const dropped = (part: number) =>
        page.waitForFunction(
          (text) => document.querySelector(".dropped")?.textContent?.startsWith(text) === true,
          part === 0 ? "all samples" : `${(100 * part / sum).toFixed(2)}%`,
        );
      await dropped(sum - total);
      const focused = await rows();
      assertEquals(focused.reduce((sum, [, self]) => sum + self, 0), total);
      assertEquals(focused.find(([of]) => of === name)?.[2], total);
      // The address shows the same; without the function, nothing is left.
      const link = page.url();
      assertEquals(new URLSearchParams(new URL(link).hash.slice(1)).getAll("do"), [
        `focus:${name}`,
      ]);
      await page.goto("about:blank");
      await page.goto(link);
      await ready(page);
      await dropped(sum - total);
      assertEquals(await rows(), focused);
      await page.focus(".functions");
      for (const key of ["Home", "m"]) await page.keyboard.press(key);
      await page.waitForFunction(() => location.hash.includes("do=merge"));
      await dropped(sum - total);
      assertEquals((await rows()).reduce((sum, [, self]) => sum + self, 0), total);
      for (const _ of [1, 2]) {
        await page.getByLabel(/^Remove .* from the selection$/).first().click();
      }
      await page.waitForSelector(".dropped", { state: "detached" });
      assertEquals(await rows(), all);
      await page.keyboard.press("u");
      await page.waitForFunction(() => location.hash.includes("do=merge"));
      // A search in the tree leaves stacks with a match, and opens the one of most weight up to it.
      await page.goto(`${link.split("#")[0]}#view=tree`);
      await ready(page);
      await page.fill(".search input", name);
      await page.waitForSelector(".tree .row.chosen.found");
      const found = await page.getAttribute(".tree .row.chosen", "data-path");
      assertEquals(found?.split("\n").at(-1), name);
    });
  },
});

Deno.test({
  name:
    "timeline: a process opens with its threads, the pointer shows the sampled stack, tracks are hidden and pinned",
  ...needs,
  async fn() {
    const file = FILES[0] as string;
    const rows = await json("funcs", ["--json", "--sort", "pid,tid", file]);
    const threads = new Map<number, Set<number>>();
    for (const { pid, tid } of rows) {
      threads.set(Number(pid), (threads.get(Number(pid)) ?? new Set()).add(Number(tid)));
    }
    const [pid, tids] = [...threads].find(([, of]) => of.size > 1) ?? [];
    assert(pid !== undefined && tids !== undefined);
    await viewed([file], "#view=timeline", async (page) => {
      const nested = page.locator(".track.nested .track-name");
      await nested.first().waitFor();
      const numberOf = (text: string) => Number(/\d+\s*$/.exec(text)?.[0]);
      const found = (await nested.allInnerTexts()).map(numberOf);
      const several = [...threads.values()].filter((of) => of.size > 1);
      assertEquals(found.sort(), several.flatMap((of) => [...of]).sort());
      const all = await nested.count();
      await page.locator(".track", { hasText: `${pid}` }).locator(".twist").first().click();
      await page.waitForFunction(
        (count) => document.querySelectorAll(".track.nested").length === count,
        all - tids.size,
      );
      // Somewhere in the strip of the process is a sample.
      const box = await page.locator(".track", { hasText: `${pid}` }).first().locator("canvas")
        .boundingBox();
      assert(box !== null);
      let text = "";
      for (let x = 2; x < box.width && !/sample/.test(text.replace("no samples", "")); x += 4) {
        await page.mouse.move(box.x + x, box.y + box.height / 2);
        await page.locator(".tip div, .tip li").first().waitFor();
        text = await page.innerText(".tip");
      }
      assertMatch(text, new RegExp(`^\\d+\\.\\d+ s .* ${pid}\n(?:.*\n)?.*\\d+ samples?`));
      await page.mouse.move(2, 2);
      await page.selectOption("section select", "thread");
      await nested.first().waitFor({ state: "detached" });
      const names = () => page.locator(".track:not(.axis) .track-name").allInnerTexts();
      const before = await names();
      await page.getByLabel("Sort").selectOption("name");
      assertMatch(page.url(), /&sort=name/);
      await page.waitForFunction(() => {
        const list = [...document.querySelectorAll(".track:not(.axis) .track-name")]
          .map(({ firstChild }) => firstChild?.textContent ?? "");
        return list.length > 1 &&
          list.every((name, at) => at === 0 || (list[at - 1] ?? "") <= name);
      });
      await page.keyboard.press("u");
      await page.waitForFunction((before) => {
        const list = [...document.querySelectorAll<HTMLElement>(".track:not(.axis) .track-name")];
        return list.map(({ innerText }) => innerText).join() === before;
      }, before.join());
      assert(!page.url().includes("sort="));
      const last = page.locator(".track:not(.axis)").nth(before.length - 1);
      await last.hover();
      await last.getByLabel(/^Pin /).click();
      assertEquals((await names())[0], before.at(-1));
      await page.locator(".track:not(.axis)").first().getByLabel(/^Hide /).click();
      assertEquals((await names()).length, before.length - 1);
      await page.getByText("Show 1 hidden").click();
      assertEquals((await names()).length, before.length);
      await page.selectOption("section select", "cpu");
      await page.waitForSelector('.legend li:has-text("other threads")');
      assertEquals(await faultsOf(page), []);
    });
  },
});

Deno.test({
  name: "change of view by key or click: the new view has the focus, and its keys work immediately",
  ...needs,
  async fn() {
    await viewed([FILES[1] as string], "", async (page) => {
      const span = () => page.locator(".axis .track-label").innerText();
      for (const isClick of [false, true]) {
        const show = async (key: string, title: string, keys: string) => {
          if (isClick) await page.click(`nav a:text-is("${title}")`);
          else await page.keyboard.press(key);
          await page.waitForSelector(`${keys}:focus`);
        };
        await show("3", "Flame graph", ".flame-canvas");
        for (const key of ["ArrowUp", "ArrowUp", "Enter"]) await page.keyboard.press(key);
        await page.waitForFunction(() => /zoom=\d/.test(location.hash));
        await page.keyboard.press("0");
        await page.waitForFunction(() => !location.hash.includes("zoom="));
        await show("2", "Timeline", ".tracks .list");
        const whole = await span();
        for (const key of ["+", "+"]) await page.keyboard.press(key);
        await page.waitForFunction(
          (whole) => document.querySelector(".axis .track-label")?.textContent !== whole,
          whole,
        );
        await show("4", "Functions", ".functions");
        for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
        await page.waitForFunction(() => /view=sandwich.*fn=/.test(location.hash));
        await page.keyboard.press("u");
        await page.waitForSelector(".functions:focus");
        // Redrawing the view does not interrupt typing in a field.
        await page.keyboard.press("/");
        await page.keyboard.type("spin");
        assertEquals(await page.inputValue(".search input"), "spin");
        await page.keyboard.press("Escape");
      }
    });
  },
});

Deno.test({
  name: "page on disk: opens dropped files, takes names from programs, and makes no requests",
  ...needs,
  async fn(t) {
    const parts = await viewParts("files");
    if (parts === undefined) return await skipped(t, "deno bundle does not work here");
    const file = FILES[1] as string;
    const program = `${root}fixtures/demo/demo`;
    await inFolder(async (folder) => {
      // The command's answer for the same program.
      const symfs = await programFolder(folder, file);
      const rows = await json("funcs", [
        "--json",
        "--no-inline",
        "--sort",
        "dso,sym",
        "--symfs",
        symfs,
        file,
      ]);
      const wanted = rows.filter(({ dso }) => dso === "demo")
        .map(({ sym, period }) => [`${sym}`, `${period}`]).sort();
      assert(wanted.length > 0 && wanted.every(([sym]) => !sym?.startsWith("0x")));

      const text = await pageText(parts, "files");
      Deno.writeTextFileSync(`${folder}/index.html`, text);
      await withPage(`${folder}/index.html`, async (page, report) => {
        const state = () =>
          page.waitForFunction(() => {
            const { open, error } = (globalThis as unknown as { perfdata: PageStore }).perfdata;
            return error ?? open?.failed ?? (open?.facts === undefined ? undefined : "there");
          }).then((handle) => handle.jsonValue());
        await page.setInputFiles("input[type=file]", [program]);
        assertEquals(await state(), "no recording and no profile among demo");
        await page.setInputFiles("input[type=file]", [file, program]);
        assertEquals(await state(), "there");
        await page.evaluate(() =>
          (globalThis as unknown as { perfdata: PageStore }).perfdata
            .set({ view: "functions", inline: false })
        );
        const all = await allRows(page, ".functions", ["data-fn", "data-self"]);
        const names = new Set(wanted.map(([name]) => name));
        assertEquals(all.filter(([name, self]) => names.has(name) && self !== "0").sort(), wanted);
        // The page compares a second recording with the first; the older one is the base.
        await page.evaluate(() =>
          (globalThis as unknown as { perfdata: PageStore }).perfdata
            .set({ view: "compare", inline: false })
        );
        Deno.copyFileSync(FILES[0] as string, `${folder}/older.data`);
        Deno.utimeSync(`${folder}/older.data`, 1e9, 1e9);
        await page.setInputFiles("input[type=file]", [`${folder}/older.data`]);
        const [, ...changes] = await json("diff", [
          ...["--json", "--symfs", symfs],
          ...[FILES[0] as string, file],
        ]);
        await page.waitForSelector(".compared");
        assertEquals(
          (await allRows(page, ".compared", ["data-object", "data-fn", "data-change"]))
            .filter(([object]) => object === "demo").map(rounded).sort(),
          changes.filter(({ object }) => object === "demo")
            .map(({ object, name, change }) => rounded([`${object}`, `${name}`, `${change}`]))
            .sort(),
        );
        await page.getByRole("button", { name: "Swap" }).click();
        await page.waitForFunction(() =>
          document.querySelector("section .bar")?.textContent?.includes("older.data against")
        );
        await page.getByRole("button", { name: "Swap" }).click();
        await page.waitForFunction(() =>
          document.querySelector("section .bar")?.textContent?.includes("against older.data")
        );
        // The page reads records from the file as well.
        await page.evaluate(() =>
          (globalThis as unknown as { perfdata: PageStore }).perfdata
            .set({ view: "records", record: 5 })
        );
        const runs = await json("hex", ["--json", "--record", "5", file]);
        await page.waitForSelector(".fields .line .row");
        assertEquals((await allRows(page, ".fields", ["class"])).length, runs.length);
        assertEquals([report.errors, report.requests], [[], []]);
      });
      // The dropped file is compressed as a whole.
      await withPage(`${folder}/index.html`, async (page, report) => {
        const stream = new Blob([Deno.readFileSync(file)]).stream()
          .pipeThrough(new CompressionStream("gzip"));
        const bytes = [...new Uint8Array(await new Response(stream).arrayBuffer())];
        await page.evaluate((bytes) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([Uint8Array.from(bytes)], "perf.data.gz"));
          dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
        }, bytes);
        await page.waitForFunction(() =>
          (globalThis as unknown as { perfdata: PageStore }).perfdata.open?.facts !== undefined
        );
        assertMatch(await page.title(), /^perf\.data · /);
        assertEquals([report.errors, report.requests], [[], []]);
      });
    });
  },
});
