/** The page of `deno task page` on a web server, and beside it the one for a disk. */
import { assert, assertEquals } from "@std/assert";
// deno-lint-ignore no-import-prefix -- in the lock of development, not in that of commands
import type { Page } from "npm:playwright-core@1.65.1";
import { noBrowser, withPage } from "../../packages/export/browser_testing.ts";
import { writePage } from "../../view/build.ts";
import { ignored, skipped } from "../support/ignored.ts";

const needs = ignored(await noBrowser());
const FILE = "fixtures/recorded/callchain.perf.data";
const PT = "fixtures/synthesized/pt-threads.perf.data";

/** Maximum bytes in gzip that are loaded to open a recording. */
const MOST_AT_FIRST = 250_000;

const TYPES: Readonly<Record<string, string>> = { html: "text/html", js: "text/javascript" };

/** A web server for the files of a folder, which notes what it sent. */
function served(folder: string) {
  const sent: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const path = new URL(request.url).pathname.slice(1);
    sent.push(path);
    const type = TYPES[path.slice(path.lastIndexOf(".") + 1)] ?? "";
    return new Response(Deno.readFileSync(`${folder}/${path}`), {
      headers: { "content-type": type },
    });
  });
  return { sent, address: `http://127.0.0.1:${server.addr.port}/index.html`, server };
}

/** Opens a recording, and waits for its functions. */
async function open(page: Page, file: string): Promise<void> {
  await page.setInputFiles("input[type=file]", [file]);
  await page.getByText("Where time is spent").waitFor();
}

async function gzipped(path: string): Promise<number> {
  const stream = new Blob([Deno.readFileSync(path)]).stream();
  const packed = stream.pipeThrough(new CompressionStream("gzip"));
  return (await new Response(packed).arrayBuffer()).byteLength;
}

Deno.test({
  name:
    "hosted page: a recording needs little code, other views and files load theirs; the policy holds in workers",
  ...needs,
  async fn(t) {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-page-" });
    try {
      if (!await writePage(folder)) return await skipped(t, "deno bundle does not work here");
      const { sent, address, server } = served(folder);
      try {
        const own = address.slice(0, address.lastIndexOf("/") + 1);
        await withPage(address, async (page, { errors, requests }) => {
          await open(page, FILE);
          const first = new Set(sent);
          let bytes = 0;
          for (const path of first) bytes += await gzipped(`${folder}/${path}`);
          console.log(`${bytes} bytes in ${first.size} files`);
          assert(bytes <= MOST_AT_FIRST && first.size > 2);
          await page.getByRole("link", { name: "Records" }).click();
          await page.waitForSelector(".record-list .kind[role=gridcell]");
          assert(sent.length > first.size, "the list of records is loaded on demand");
          assertEquals(sent.length, new Set(sent).size);
          assertEquals(requests.filter((request) => !request.startsWith(own)), []);
          assertEquals(errors, []);
          // A worker made from text has the policy of the page, which allows no connections.
          const text = `fetch(${JSON.stringify(address)}).then(() => 1, () => 0).then(postMessage)`;
          const isFetched = await page.evaluate((text) =>
            new Promise((resolve) => {
              const script = new Blob([text], { type: "text/javascript" });
              const worker = new Worker(URL.createObjectURL(script), { type: "module" });
              worker.onmessage = ({ data }) => resolve(data);
              worker.onerror = () => resolve("no worker");
            }), text);
          assertEquals(isFetched, 0);
        });
        const before = new Set(sent);
        await withPage(address, async (page, { errors }) => {
          await page.setInputFiles("input[type=file]", [PT]);
          await page.getByRole("link", { name: "Intel PT" }).waitFor();
          assert(sent.some((path) => !before.has(path)), "Intel PT is loaded on demand");
          assertEquals(errors, []);
        });
      } finally {
        await server.shutdown();
      }
      await withPage(`${folder}/perfdata.html`, async (page, { errors }) => {
        await page.evaluate(() => {
          location.href = "index.html#view=overview&search=a";
        });
        await page.waitForURL(/perfdata\.html#.*search=a/);
        await open(page, FILE);
        assertEquals(errors, []);
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
