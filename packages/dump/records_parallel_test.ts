import { assert, assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format";
import { fileSource } from "@perfdata/format/file-source";
import { type RecordsOptions, writeRecords } from "./records.ts";
import { RecordsText } from "./records_text.ts";
import { RECORDS_BLOCK } from "./records_blocks.ts";
import { type LineOptions, RecordsLines } from "./records_lines.ts";
import { recordings } from "./testing.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Which records are written, and how: except for filters, as JSON can say it. */
type Wish = LineOptions & Pick<RecordsOptions, "from" | "inflate" | "filter"> & {
  readonly types?: readonly string[];
};

function optionsOf({ types, ...wish }: Wish): RecordsOptions {
  return {
    ...wish,
    ...(types === undefined ? {} : { types: new Set(types) }),
    diagnostics: () => {},
  };
}

/** Opens a recording; not one of which not even the headers can be read. */
async function open(path: string): Promise<PerfDataReader | undefined> {
  try {
    return await PerfDataReader.open(fileSource(path), { diagnostics: () => {} });
  } catch {
    return undefined;
  }
}

/** Text that is written in pieces, each byte a character. */
class Latin {
  text = "";
  readonly #decoder = new TextDecoder("latin1");
  readonly write = (bytes: Uint8Array): void => void (this.text += this.#decoder.decode(bytes));
}

/** What one thread writes. */
async function plain(path: string, wish: Wish): Promise<string> {
  const reader = await open(path);
  const out = new Latin();
  if (reader !== undefined) await writeRecords(reader, out.write, optionsOf(wish));
  return out.text;
}

/** The same by way of blocks of some bytes, each written as soon as it is full. */
async function byBlocks(path: string, wish: Wish, full: number): Promise<[string, number]> {
  const reader = await open(path);
  const out = new Latin();
  if (reader === undefined) return ["", 0];
  const memory = new SharedArrayBuffer(RECORDS_BLOCK);
  const lines = await RecordsLines.open(reader, wish, { memory: () => memory });
  let n = 0;
  const options = optionsOf(wish);
  const text = new RecordsText(reader, out.write, options, {
    full,
    memory: () => memory,
    room: () => n,
    fill: () => lines.put(n++, out.write),
    close: () => {},
  });
  await text.run();
  return [out.text, n];
}

const WISHES: readonly Wish[] = [
  {},
  { order: "time" },
  { format: "csv", u64: "string" },
  { format: "csv", order: "time", types: ["SAMPLE", "COMM"] },
  { inflate: false, from: 5000 },
  { order: "time", filter: { comm: (name) => name !== "sh", dso: (name) => name !== "[vdso]" } },
];

Deno.test("by way of blocks, records are what they are without", async () => {
  let files = 0;
  let blocks = 0;
  let bytes = 0;
  for (const [i, path] of (await recordings()).entries()) {
    if (Deno.statSync(path).size > 400_000) continue;
    // Each in one way, fixtures in all.
    const wishes = path.startsWith("fixtures/") ? WISHES : [WISHES[i % WISHES.length] as Wish];
    for (const wish of wishes) {
      const all = await plain(path, wish);
      const [text, count] = await byBlocks(path, wish, 3000);
      assertEquals(text === all, true, `${path} ${JSON.stringify(wish)}`);
      blocks += count;
      bytes += all.length;
    }
    files++;
  }
  console.log(`${files} files, ${blocks} blocks, ${bytes} bytes of lines compared`);
  assert(files >= 40 && blocks > 500, `${files} files, ${blocks} blocks`);
});

Deno.test("several threads write the records that one does", async () => {
  const cases: readonly (readonly [string, number, Wish])[] = [
    ["recorded/callchain", 2, {}],
    ["recorded/callchain", 3, { format: "csv", order: "time" }],
    ["recorded/zstd", 2, { order: "time" }],
    ["recorded/directory", 2, {}],
    ["recorded/pipe", 2, {}],
    ["synthesized/records", 4, {}],
  ];
  for (const [name, jobs, wish] of cases) {
    const path = `${root}fixtures/${name}.perf.data`;
    const program = `
      import { PerfDataReader } from "@perfdata/format";
      import { fileSource } from "@perfdata/format/file-source";
      import { recordsFile } from "@perfdata/dump/records-parallel";
      const path = ${JSON.stringify(path)};
      const reader = await PerfDataReader.open(fileSource(path), { diagnostics: () => {} });
      const options = { blockSize: 2000, ...${JSON.stringify(wish)} };
      await recordsFile(reader, path, ${jobs}, options);`;
    const { stdout, stderr, code } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--quiet", program],
      cwd: root,
      stdin: "null",
    }).output();
    assertEquals([code, new TextDecoder().decode(stderr)], [0, ""], name);
    const all = await plain(path, wish);
    assert(all.length > 1000, name);
    const same = new TextDecoder("latin1").decode(stdout) === all;
    assertEquals(same, true, `${name} ${jobs} ${JSON.stringify(wish)}`);
  }
});
