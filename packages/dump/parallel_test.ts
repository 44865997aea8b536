import { assert, assertEquals } from "@std/assert";
import {
  bytesSource,
  emptyAttr,
  memorySink,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PerfDataReader,
  PerfDataWriter,
} from "@perfdata/format";
import { fileSource } from "@perfdata/format/file-source";
import { BLOCK_SIZE } from "./block_items.ts";
import { dump, isShareable } from "./dump.ts";
import { dumpByBlocks, recordings } from "./testing.ts";

const root = new URL("../../", import.meta.url).pathname;

/** What is asked for, as JSON can say it. */
interface Wish {
  readonly limit?: number;
  readonly order?: "file";
  readonly hex?: false;
  readonly types?: readonly number[];
}

/** What one thread prints. */
async function text(path: string, { types, ...wish }: Wish): Promise<string> {
  using source = fileSource(path);
  const decoder = new TextDecoder("latin1");
  let all = "";
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  await dump(reader, {
    path,
    write: (part) => void (all += decoder.decode(part)),
    ...wish,
    ...(types === undefined ? {} : { types: new Set(types) }),
  });
  return all;
}

/**
 * What several threads print, of blocks with few records: to standard output, so that a process of its
 * own does it.
 */
async function shared(path: string, jobs: number, wish: Wish): Promise<string> {
  const program = `
    import { PerfDataReader } from "@perfdata/format";
    import { fileSource } from "@perfdata/format/file-source";
    import { dumpFile } from "@perfdata/dump/parallel";
    const { types, ...wish } = ${JSON.stringify(wish)};
    const path = ${JSON.stringify(path)};
    const reader = await PerfDataReader.open(fileSource(path), { diagnostics: () => {} });
    const options = types === undefined ? wish : { ...wish, types: new Set(types) };
    await dumpFile(reader, path, ${jobs}, { blockSize: 2000, ...options });`;
  const { stdout, stderr, code } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", program],
    cwd: root,
    stdin: "null",
  }).output();
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""], path);
  return new TextDecoder("latin1").decode(stdout);
}

const cases: readonly (readonly [string, number, Wish])[] = [
  // Counter values, which depend on samples before.
  ["recorded/group", 2, {}],
  ["recorded/read", 2, {}],
  ["recorded/callchain", 2, {}],
  ["recorded/callchain", 3, { limit: 20 }],
  ["recorded/callchain", 2, { order: "file", types: [9, 10] }],
  ["recorded/dwarf", 2, { hex: false }],
  ["recorded/zstd", 2, {}],
  ["recorded/pipe", 2, {}],
  // Records of perf's own and of all sorts; AUX data.
  ["synthesized/records", 4, {}],
  ["synthesized/pt-cpus", 2, {}],
  ["synthesized/pt-sample", 2, {}],
];

Deno.test("several threads print what one does", async () => {
  for (const [name, jobs, wish] of cases) {
    const path = `${root}fixtures/${name}.perf.data`;
    const same = await shared(path, jobs, wish) === await text(path, wish);
    assertEquals(same, true, `${name} ${jobs} ${JSON.stringify(wish)}`);
  }
});

Deno.test("several threads print what one does: of the corpus", async () => {
  const files = (await recordings()).filter((path) => {
    const { size } = Deno.statSync(path);
    return !path.startsWith("fixtures/") && size > 100_000 && size < 1_000_000;
  });
  for (const path of files.filter((_, i) => i % 8 === 0)) {
    let one: string;
    try {
      one = await text(path, {});
    } catch {
      // Not even its headers can be read.
      continue;
    }
    assertEquals(await shared(path, 2, {}) === one, true, path);
  }
});

Deno.test("by way of blocks, all recordings are dumped as they are without", async () => {
  let shared = 0;
  let most = 0;
  for (const path of await recordings()) {
    using source = fileSource(path);
    let reader: PerfDataReader;
    try {
      reader = await PerfDataReader.open(source, { diagnostics: () => {} });
    } catch {
      // Not even its headers can be read.
      continue;
    }
    if (source.size === undefined || source.size > 3e6 || !isShareable(reader, { path })) continue;
    const decoder = new TextDecoder("latin1");
    let all = "";
    const write = (part: Uint8Array): void => void (all += decoder.decode(part));
    const { blocks } = await dumpByBlocks(reader, { path, write }, 5000);
    assertEquals(all === await text(path, {}), true, path);
    shared++;
    most = Math.max(most, blocks);
  }
  assert(shared >= 10, `${shared} files are shareable`);
  assert(most >= 10, `${most} blocks`);
});

/** A record of a thread 7, with `sample_id` where it is no sample. */
function record(
  type: number,
  time: number,
  ...parts: readonly (Uint8Array | number)[]
): Uint8Array {
  const id = type === 9 ? [] : [7, 7, time, 0];
  const bytes = [...parts, ...id].flatMap((part) =>
    typeof part === "number" ? [...new Uint8Array(Uint32Array.of(part).buffer)] : [...part]
  );
  const size = 8 + bytes.length;
  const head = [...new Uint8Array(Uint16Array.of(type, 0, 2, size).buffer)];
  return Uint8Array.from([...head, ...bytes]);
}

Deno.test("a sample, a thread and a binary as long as can be fit into one block", async () => {
  const long = (letter: string): Uint8Array =>
    new TextEncoder().encode(letter.repeat(65_000) + "\0".repeat(8));
  const raw = 65_000;
  const sample = (time: number): Uint8Array =>
    record(9, time, 0x1004, 0, 7, 7, time, 0, raw + 4, new Uint8Array(raw + 4).fill(0x78));
  const sink = memorySink();
  const attr = {
    ...emptyAttr(),
    sample_type: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW),
    flags: { ...emptyAttr().flags, sample_id_all: true },
  };
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
  await writer.write(record(3, 1, 7, 7, long("c")));
  await writer.write(record(1, 2, 7, 7, 0x1000, 0, 0x1000, 0, 0, 0, long("m")));
  for (let time = 3; time < 9; time++) await writer.write(sample(time));
  await writer.close();
  const texts: string[] = [];
  for (const full of [0, 1, BLOCK_SIZE]) {
    let all = "";
    const write = (part: Uint8Array): void => void (all += new TextDecoder().decode(part));
    const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
    if (full === 0) await dump(reader, { path: "f", write });
    else assert((await dumpByBlocks(reader, { path: "f", write }, full)).blocks > 5);
    texts.push(all);
  }
  const [plain, ...byBlocks] = texts;
  assertEquals(plain?.split(` ... thread: ${"c".repeat(65_000)}:7\n`).length, 7);
  assertEquals(plain?.split(`\n ...... dso: ${"m".repeat(65_000)}\n`).length, 7);
  assertEquals(byBlocks.map((text) => text === plain), [true, true]);
});
