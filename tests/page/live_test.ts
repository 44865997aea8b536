/** The page of a recording that is being made. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { PERF_RECORD_FINISHED_ROUND, PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { VIEW_PARTS } from "@perfdata/page";
import { pageText, viewProfile } from "@perfdata/export/tree";
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import type { Page } from "npm:playwright-core@1.65.1";
import { noBrowser, withPage } from "../../packages/export/browser_testing.ts";
import { LiveRecording } from "../../tools/shared/live_recording.ts";
import { newToken, viewHandler } from "../../view/server/server.ts";
import { ignored } from "../support/ignored.ts";
import { inRounds, records, Slow } from "../support/live_stream.ts";

/** Waits until the status of the recording contains a text. */
async function status(page: Page, text: string): Promise<void> {
  await page.waitForFunction(
    (text) => document.querySelector(".live [role=status]")?.textContent?.includes(text),
    text,
  );
}

/** The samples of all functions, as the table of functions adds them up. */
async function shownSamples(page: Page): Promise<number> {
  return await page.evaluate(async () => {
    const { open, shown } = (globalThis as unknown as {
      perfdata: {
        open: { client: { call(...args: unknown[]): Promise<{ samples: number }> } };
        shown: unknown;
      };
    }).perfdata;
    return (await open.client.call("table", shown)).samples;
  });
}

Deno.test({
  name:
    "live page: a recording in a pipe grows, stops and resumes, is compared with a kept moment, and is saved",
  ...ignored(await noBrowser()),
  async fn() {
    const bytes = await inRounds();
    const all = await records(bytes);
    const samples = all.filter(({ type }) => type === PERF_RECORD_SAMPLE).length;
    const rounds = all.filter(({ type }) => type === PERF_RECORD_FINISHED_ROUND);
    const [second, fourth] = [rounds[1]?.end ?? NaN, rounds[3]?.end ?? NaN];
    const source = new Slow();
    const flags = { on: {}, value: {}, operands: [] } as never;
    const live = new LiveRecording({
      ...{ tool: "view", name: "-", flags, debugInformation: false, source },
    });
    const token = newToken();
    const handler = viewHandler({
      token,
      page: await pageText(VIEW_PARTS, "server", { live: true }),
      recording: undefined,
      growth: (version) => live.next(version, 100),
      async profile(progress) {
        for (;;) {
          const made = await live.profile();
          if (made !== undefined) return viewProfile(made.profile);
          progress({ what: "Waiting for samples", unit: "bytes", done: 0, total: 0 });
          await live.next(0, 100);
        }
      },
    });
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, handler);
    try {
      await withPage(
        `http://127.0.0.1:${server.addr.port}/${token}/#view=functions`,
        async (page, report) => {
          // The page is there before the first sample.
          await page.getByText("Waiting for samples").waitFor();
          source.push(bytes.subarray(0, second));
          await status(page, "live");
          await page.waitForSelector(".live");
          await page.waitForSelector(".line .row");
          const first = await shownSamples(page);
          assert(first > 0 && first < samples);

          await page.getByRole("button", { name: "Stop" }).click();
          await status(page, "stopped");
          source.push(bytes.subarray(second, fourth));
          await live.next(live.state.version + 1, 2000);
          assertEquals(await shownSamples(page), first);
          await page.getByRole("button", { name: "Go on" }).click();
          await page.waitForFunction((before) => {
            const { open } = (globalThis as unknown as {
              perfdata: { open: { facts: { totals: { samples: number }[] } } };
            }).perfdata;
            return open.facts.totals.reduce((sum, { samples }) => sum + samples, 0) > before;
          }, first);
          const grown = await shownSamples(page);
          assert(grown > first && grown < samples);

          await page.getByRole("button", { name: "Keep this moment" }).click();
          await page.waitForURL(/view=compare/);
          source.push(bytes.subarray(fourth), undefined);
          await status(page, "ended");
          assertEquals(await shownSamples(page), samples);
          const compared = await page.evaluate(async () => {
            const { open, shown } = (globalThis as unknown as {
              perfdata: {
                open: { client: { call(...args: unknown[]): Promise<Record<string, number>> } };
                shown: unknown;
              };
            }).perfdata;
            const query = { by: "samples", children: false };
            const { rows: _, ...sums } = await open.client.call("compareFunctions", shown, query);
            return JSON.stringify(sums);
          });
          assertMatch(compared, new RegExp(`"samples":${grown}\\b.*"samples":${samples}\\b`));

          // All samples are in the last 10 seconds.
          await page.keyboard.press("l");
          assertMatch(page.url(), /last=10/);
          assertEquals(await shownSamples(page), samples);
          const download = page.waitForEvent("download");
          await page.getByLabel("Save what is selected").selectOption("folded");
          const path = await (await download).path();
          const folded = await Deno.readTextFile(path);
          assertEquals(folded.trim().split("\n").length > 1, true);
          assertEquals(report.errors, []);
        },
      );
    } finally {
      source.push(undefined);
      await live.done;
      await server.shutdown();
    }
  },
});
