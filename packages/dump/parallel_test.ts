import { assert, assertEquals } from "@std/assert";
import { dump, type DumpOptions } from "./dump.ts";
import { dumpThread } from "@perfdata/perfdata/workers";
import { dumpByWindows } from "./parallel.ts";
import { Latin, open, recordings } from "./testing.ts";

type Wish = Omit<DumpOptions, "path" | "write">;

/** Text and counts of one thread that reads the file in order. */
async function plain(path: string, wish: Wish): Promise<[text: string, stats: string]> {
  const reader = await open(path);
  const out = new Latin();
  if (reader === undefined) return ["", ""];
  const { violations, queued: _, peakBytes: __, spilledBytes: ___, ...stats } = await dump(reader, {
    ...wish,
    path,
    write: out.write,
  });
  return [out.text, JSON.stringify({ ...stats, violations })];
}

/** Text and counts of a dump by windows; `undefined` if that is not possible. */
async function byWindows(
  path: string,
  wish: Wish,
  jobs: number,
  windowBytes: number,
): Promise<[text: string, stats: string] | undefined> {
  const reader = await open(path);
  const out = new Latin();
  const options = { ...wish, path, write: out.write };
  const found = reader &&
    await dumpByWindows(reader, options, { jobs, start: dumpThread, windowBytes });
  if (found === undefined) {
    assertEquals(out.text, "", path);
    return undefined;
  }
  const { violations, queued: _, peakBytes: __, spilledBytes: ___, ...stats } = found;
  return [out.text, JSON.stringify({ ...stats, violations })];
}

const WISHES: readonly Wish[] = [
  {},
  { order: "file", types: new Set([9, 10]) },
  { hex: false, from: 3000 },
  { pids: new Set([0]), hex: false },
];

Deno.test("dumpByWindows: windows of any size give the text of one pass", async () => {
  let files = 0;
  let texts = 0;
  for (const [i, path] of (await recordings()).entries()) {
    if (Deno.statSync(path).size > 400_000) continue;
    // Each recording with one option set, fixtures with all.
    const wishes = path.startsWith("fixtures/") ? WISHES : [WISHES[i % WISHES.length] as Wish];
    for (const wish of wishes) {
      const small = await byWindows(path, wish, 1, 5000);
      if (small === undefined) continue;
      const [text, stats] = await plain(path, wish);
      for (const [made, found] of [small, await byWindows(path, wish, 1, 1 << 16) ?? []]) {
        assertEquals([made === text, found], [true, stats], path);
        texts++;
      }
      files++;
    }
  }
  console.log(`${texts} texts of ${files} files`);
  assert(files >= 40 && texts >= 80, `${files} files`);
});

/** Number of threads and bytes of a window. */
const WAYS = [[2, 4000], [3, 1 << 16], [7, 1 << 13], [2, 1 << 22]] as const;

Deno.test("dumpByWindows: any number of threads print the text of one", async () => {
  const files = (await recordings()).filter((path) => {
    const { size } = Deno.statSync(path);
    return path.startsWith("fixtures/") ? size > 10_000 : size > 400_000 && size < 1_000_000;
  });
  let texts = 0;
  for (const path of files) {
    if (path.startsWith("fixtures/") || texts < 20) {
      // Two of the combinations for each file, alternating.
      for (const [jobs, bytes] of texts % 4 < 2 ? WAYS.slice(0, 2) : WAYS.slice(2)) {
        const made = await byWindows(path, {}, jobs, bytes);
        if (made === undefined) break;
        const [text, stats] = await plain(path, {});
        assertEquals([made[0] === text, made[1]], [true, stats], `${path} ${jobs} ${bytes}`);
        texts++;
      }
    }
  }
  console.log(`${texts} texts by several threads`);
  assert(texts >= 12, `${texts} texts`);
});

Deno.test("dumpFile: if nobody reads the text, the dump ends", async () => {
  const path = "fixtures/recorded/rounds.perf.data";
  const reader = await open(path);
  assert(reader !== undefined);
  let failed = "";
  let pieces = 0;
  try {
    await dumpByWindows(reader, {
      path,
      write() {
        if (pieces++ > 2) throw new Error("nobody reads");
      },
    }, { jobs: 3, start: dumpThread, windowBytes: 2000 });
  } catch (error) {
    failed = String(error);
  }
  assertEquals(failed, "Error: nobody reads");
});
