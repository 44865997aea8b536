/**
 * The page that opens files by itself, from disk and from a web server: files are dropped, chosen
 * with the button, and chosen with keys. Chromium itself makes the drops, from files on disk.
 */
import { assertEquals, assertMatch } from "@std/assert";
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import type { Page } from "npm:playwright-core@1.65.1";
import { noBrowser, withPage } from "../../packages/export/browser_testing.ts";
import { pageText } from "@perfdata/export/tree";
import { viewParts } from "../../view/build.ts";
import { ignored, skipped } from "../support/ignored.ts";
import { inFolder, tool } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;
const FILE = `${root}fixtures/recorded/callchain.perf.data`;
const PROGRAM = `${root}fixtures/demo/demo`;

/**
 * Makes `build/page/index.html` in a folder, and calls back with its path and its address on a
 * server.
 */
async function withBoth(
  parts: NonNullable<Awaited<ReturnType<typeof viewParts>>>,
  use: (folder: string, addresses: readonly string[]) => Promise<void>,
): Promise<void> {
  const text = await pageText(parts, "files");
  await inFolder(async (folder) => {
    Deno.writeTextFileSync(`${folder}/index.html`, text);
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
      const isPage = new URL(request.url).pathname === "/";
      return new Response(isPage ? text : "", {
        status: isPage ? 200 : 204,
        headers: { "content-type": "text/html" },
      });
    });
    try {
      await use(folder, [`${folder}/index.html`, `http://127.0.0.1:${server.addr.port}/`]);
    } finally {
      await server.shutdown();
    }
  });
}

/** Drops files and folders as a file manager does. */
async function drop(page: Page, paths: readonly string[]): Promise<void> {
  const client = await page.context().newCDPSession(page);
  const data = { items: [], files: [...paths], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await client.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
  }
}

/** Opens the browser's dialog for files, and chooses some. */
async function chosen(page: Page, open: () => Promise<void>, paths: readonly string[]) {
  const chooser = page.waitForEvent("filechooser");
  await open();
  await (await chooser).setFiles([...paths]);
}

/** The ways to open a file on an empty page. */
const WAYS: Readonly<Record<string, (page: Page, paths: readonly string[]) => Promise<void>>> = {
  drop,
  button: (page, paths) => chosen(page, () => page.click("text=Choose files"), paths),
  keyboard: (page, paths) =>
    chosen(page, async () => {
      await page.keyboard.press("Tab");
      await page.waitForSelector("input[type=file]:focus");
      await page.keyboard.press("Enter");
    }, paths),
};

/** Waits for a profile or for an error, and returns the text shown. */
async function shown(page: Page): Promise<readonly [string, boolean]> {
  const handle = await page.waitForFunction(() => {
    const { open, error } = (globalThis as unknown as {
      perfdata: {
        open?: { facts?: { title: string; functions: { name: string[] } }; failed?: string };
        error?: string;
      };
    }).perfdata;
    const wrong = error ?? open?.failed;
    if (wrong !== undefined) return [wrong, false] as const;
    const { title, functions } = open?.facts ?? {};
    return title !== undefined && [title, functions?.name.includes("spin") === true] as const;
  });
  return await handle.jsonValue() as readonly [string, boolean];
}

const needs = ignored(await noBrowser());

Deno.test({
  name: "page on disk and over http: opens dropped and chosen files, by button or keys",
  ...needs,
  async fn(t) {
    const parts = await viewParts("files");
    if (parts === undefined) return await skipped(t, "deno bundle does not work here");
    await withBoth(parts, async (folder, addresses) => {
      for (const address of addresses) {
        for (const [way, give] of Object.entries(WAYS)) {
          await t.step(`${way}, ${address.startsWith("http:") ? "http" : "disk"}`, async () => {
            await withPage(address, async (page, report) => {
              await page.waitForSelector(".drop");
              await give(page, [FILE, PROGRAM]);
              const [title, hasName] = await shown(page);
              assertMatch(title, /^callchain\.perf\.data\b/);
              // The name comes from the program that was opened together with the recording.
              assertEquals(hasName, true);
              assertEquals(report.errors, []);
            });
          });
        }
        await t.step(`added, ${address.startsWith("http:") ? "http" : "disk"}`, async () => {
          await withPage(address, async (page, report) => {
            await page.waitForSelector(".drop");
            await drop(page, [FILE]);
            assertEquals((await shown(page))[1], false);
            await chosen(page, () => page.click("text=Add files…"), [PROGRAM]);
            await page.waitForFunction(() =>
              (globalThis as unknown as {
                perfdata: { open?: { facts?: { functions: { name: string[] } } } };
              }).perfdata.open?.facts?.functions.name.includes("spin") === true
            );
            assertEquals(report.errors, []);
          });
        });
        await t.step(`folder, ${address.startsWith("http:") ? "http" : "disk"}`, async () => {
          Deno.mkdirSync(`${folder}/dropped/below`, { recursive: true });
          Deno.copyFileSync(FILE, `${folder}/dropped/below/perf.data`);
          await withPage(address, async (page, report) => {
            await page.waitForSelector(".drop");
            await drop(page, [`${folder}/dropped`, PROGRAM]);
            const [title, hasName] = await shown(page);
            assertEquals([title, hasName], ["perf.data", true]);
            assertEquals(report.errors, []);
          });
        });
      }
    });
  },
});

Deno.test({
  name: "page on disk and over http: opens recordings in gzip, bzip2, xz and zstd",
  ...needs,
  async fn(t) {
    const parts = await viewParts("files");
    if (parts === undefined) return await skipped(t, "deno bundle does not work here");
    await withBoth(parts, async (folder, addresses) => {
      const programs = [["gzip", "gz"], ["bzip2", "bz2"], ["xz", "xz"], ["zstd", "zst"]] as const;
      for (const [program, ending] of programs) {
        const { code, stdout } = new Deno.Command(program, { args: ["-c", FILE] }).outputSync();
        assertEquals(code, 0, program);
        Deno.writeFileSync(`${folder}/perf.data.${ending}`, stdout);
        Deno.writeFileSync(`${folder}/cut.data.${ending}`, stdout.subarray(0, stdout.length / 2));
        for (const address of addresses) {
          await t.step(`${program}, ${address.startsWith("http:") ? "http" : "disk"}`, async () => {
            await withPage(address, async (page, report) => {
              await page.waitForSelector(".drop");
              await drop(page, [`${folder}/perf.data.${ending}`]);
              assertEquals((await shown(page))[0], "perf.data");
              await drop(page, [`${folder}/cut.data.${ending}`]);
              const alert = await page.waitForSelector("[role=alert]");
              assertMatch(
                await alert.innerText(),
                new RegExp(`^cut\\.data\\.${ending} cannot be expanded \\(${program}\\): .+`),
              );
              assertEquals(report.errors, []);
            });
          });
        }
      }
    });
  },
});

Deno.test({
  name:
    "page on disk and over http: opens profiles of other tools, and compares them with recordings",
  ...needs,
  async fn(t) {
    const parts = await viewParts("files");
    if (parts === undefined) return await skipped(t, "deno bundle does not work here");
    await withBoth(parts, async (folder, [disk = ""]) => {
      const frame = (functionName: string, url = "") => ({ functionName, url, lineNumber: 0 });
      const profiles = {
        "a.folded": "demo;main;spin 3\ndemo;main 2\n",
        "a.txt": "demo 7/8 [000] 1.000000: 5 cycles: \n\t 10 spin+0x1 (/bin/demo)\n\n",
        "a.cpuprofile": JSON.stringify({
          nodes: [
            { id: 1, callFrame: frame("(root)"), children: [2] },
            { id: 2, callFrame: frame("spin", "file:///a.js") },
          ],
          ...{ startTime: 0, endTime: 9, samples: [2, 2], timeDeltas: [1, 2] },
        }),
      };
      for (const [name, text] of Object.entries(profiles)) {
        Deno.writeTextFileSync(`${folder}/${name}`, text);
      }
      const args = ["pprof", "-o", `${folder}/a.pb.gz`, `${folder}/a.folded`];
      assertEquals((await tool("export", args)).code, 0);
      const names = [...Object.keys(profiles), "a.pb.gz"];
      for (const name of names) {
        await t.step(name, async () => {
          await withPage(disk, async (page, report) => {
            await page.waitForSelector(".drop");
            await drop(page, [`${folder}/${name}`]);
            assertEquals(await shown(page), [name.replace(/\.gz$/, ""), true]);
            assertEquals(report.errors, []);
          });
        });
      }
      await t.step("with a recording", async () => {
        await withPage(disk, async (page, report) => {
          await page.waitForSelector(".drop");
          await drop(page, [FILE, PROGRAM, `${folder}/a.txt`]);
          assertEquals((await shown(page))[1], true);
          assertEquals(report.errors, []);
        });
      });
    });
  },
});
