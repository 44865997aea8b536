import { assert, assertEquals } from "@std/assert";
import { type RecordsOptions, writeRecords } from "./records.ts";
import { type NameTest, nameTest } from "@perfdata/session";
import { recordsThread } from "@perfdata/perfdata/workers";
import { recordsByWindows } from "./records_parallel.ts";
import { Latin, open, recordings } from "../testing.ts";

const quiet = { diagnostics: () => {} };

/** Text of one thread that reads the file in order. */
async function plain(path: string, wish: RecordsOptions): Promise<string> {
  const reader = await open(path);
  const out = new Latin();
  if (reader !== undefined) {
    await writeRecords(reader, out.write, { ...wish, ...quiet });
  }
  return out.text;
}

/** Text by windows; `undefined` if that is not possible. */
async function byWindows(
  path: string,
  wish: RecordsOptions,
  jobs: number,
  windowBytes: number,
): Promise<string | undefined> {
  const reader = await open(path);
  const out = new Latin();
  const options = { ...wish, ...quiet, path, write: out.write };
  const threads = { jobs, start: recordsThread, windowBytes };
  const written = reader && await recordsByWindows(reader, options, threads);
  if (written === undefined) return assertEquals(out.text, "", path) as undefined;
  const lines = out.text.split("\n").length - 1;
  if (wish.format === "ndjson") assertEquals(written.count, lines, path);
  return out.text;
}

const WISHES: readonly RecordsOptions[] = [
  { format: "ndjson" },
  { format: "ndjson", order: "time" },
  { format: "csv", u64: "string" },
  { format: "csv", order: "time", types: new Set(["SAMPLE", "COMM"]) },
  { inflate: false, from: 5000 },
  { order: "time", filter: { cpus: new Set([0]) } },
  { fields: true },
  { filter: { comm: words(/[a-h]/) } },
  { format: "csv", filter: { dso: words(/k|lib/), tids: new Set(Array(1 << 15).keys()) } },
  { filter: { event: words(/c/), comm: words(/[^s]/), dso: words(/e/) } },
];

/** A filter by an expression, which can be sent to another thread. */
function words(expression: RegExp): NameTest {
  return nameTest({ names: new Set(), expressions: [expression] });
}

Deno.test("recordsByWindows: windows of any size give the text of one pass", async () => {
  let files = 0;
  let texts = 0;
  let bytes = 0;
  for (const [i, path] of (await recordings()).entries()) {
    if (Deno.statSync(path).size > 400_000) continue;
    // Each recording with one option set, fixtures with all.
    const wishes = path.startsWith("fixtures/")
      ? WISHES
      : [WISHES[i % WISHES.length] as RecordsOptions];
    for (const wish of wishes) {
      const text = await byWindows(path, wish, 1, 3000);
      if (text === undefined) continue;
      const all = await plain(path, wish);
      assertEquals(text === all, true, `${path} ${JSON.stringify(wish)}`);
      texts++;
      bytes += all.length;
    }
    files++;
  }
  console.log(`${texts} texts of ${files} files, ${bytes} bytes of lines compared`);
  assert(files >= 40 && texts >= 100, `${files} files, ${texts} texts`);
});

/** Number of threads and bytes of a window. */
const WAYS = [[2, 4000], [3, 1 << 16], [7, 1 << 13], [2, 1 << 22]] as const;

Deno.test("recordsByWindows: any number of threads write the text of one", async () => {
  const files = (await recordings()).filter((path) => {
    const { size } = Deno.statSync(path);
    return path.startsWith("fixtures/") ? size > 10_000 : size > 400_000 && size < 1_000_000;
  });
  let texts = 0;
  for (const path of files) {
    if (!path.startsWith("fixtures/") && texts >= 20) continue;
    // Two of the combinations for each file, alternating.
    for (const [jobs, bytes] of texts % 4 < 2 ? WAYS.slice(0, 2) : WAYS.slice(2)) {
      const wish = WISHES[texts % WISHES.length] as RecordsOptions;
      const made = await byWindows(path, wish, jobs, bytes);
      if (made === undefined) break;
      assertEquals(made === await plain(path, wish), true, `${path} ${jobs} ${bytes}`);
      texts++;
    }
  }
  console.log(`${texts} texts by several threads`);
  assert(texts >= 12, `${texts} texts`);
});

Deno.test("recordsByWindows: names tested in other threads are known even if no record is left", async () => {
  const files = (await recordings()).filter((path) => {
    const { size } = Deno.statSync(path);
    return size > 20_000 && size < 400_000;
  });
  let compared = 0;
  for (const path of files) {
    const asked = async (jobs: number): Promise<string[]> => {
      const seen = new Set<string>();
      const comm = nameTest(
        { names: new Set(["none is called so"]), expressions: [] },
        (name) => void seen.add(name),
      );
      await byWindows(path, { filter: { comm } }, jobs, 4000);
      return [...seen].sort();
    };
    const alone = await asked(1);
    if (alone.length < 2) continue;
    assertEquals(await asked(3), alone, path);
    if (++compared >= 8) break;
  }
  console.log(`names of ${compared} of ${files.length} files compared`);
  // One fixture has such names, and many recordings of the corpus.
  assert(compared >= (files.length > 20 ? 4 : 1));
});
