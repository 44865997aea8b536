import { assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format";
import { fileSource } from "@perfdata/format/file_source";
import { dump, Dumper, type DumpPart } from "./dump.ts";
import { recordings } from "./testing.ts";
import { Turns } from "./turns.ts";

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
 * What several threads print in turns of few records: to standard output, so that a process of its
 * own does it.
 */
async function shared(path: string, jobs: number, wish: Wish): Promise<string> {
  const program = `
    import { PerfDataReader } from "@perfdata/format";
    import { fileSource } from "@perfdata/format/file_source";
    import { dumpFile } from "@perfdata/dump/parallel";
    const { types, ...wish } = ${JSON.stringify(wish)};
    const path = ${JSON.stringify(path)};
    const reader = await PerfDataReader.open(fileSource(path), { diagnostics: () => {} });
    const options = types === undefined ? wish : { ...wish, types: new Set(types) };
    await dumpFile(reader, path, ${jobs}, { shareSize: 2000, ...options });`;
  const { stdout, stderr, code } = await new Deno.Command("deno", {
    args: ["eval", "--quiet", program],
    cwd: root,
    stdin: "null",
  }).output();
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""], path);
  return new TextDecoder("latin1").decode(stdout);
}

const cases: readonly (readonly [string, number, Wish])[] = [
  // Counter values, which depend on samples of other shares.
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

Deno.test("dumps that share the text, one share each in turn, write what one does", async () => {
  const jobs = 3;
  for (const [name, , { types, ...wish }] of cases) {
    const path = `${root}fixtures/${name}.perf.data`;
    const options = { path, ...wish, ...(types === undefined ? {} : { types: new Set(types) }) };
    const decoder = new TextDecoder("latin1");
    const texts: string[] = [];
    const parts: DumpPart[] = [];
    let first: Dumper | undefined;
    for (let job = 0; job < jobs; job++) {
      using source = fileSource(path);
      const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
      let share = 0;
      const turns = {
        claim: (turn: number): boolean => (share = turn) % jobs === job,
        wait: (turn: number): void => assertEquals([turn % jobs, turn], [job, share]),
        end: (turn: number): void => assertEquals([turn % jobs, turn], [job, share]),
        limit: (all: number): void => void (share = all),
        isOver: () => false,
      };
      const write = (text: Uint8Array): void => {
        texts[share] = (texts[share] ?? "") + decoder.decode(text);
      };
      const dumper = new Dumper(reader, { ...options, write }, { size: 2000, turns });
      parts.push(await dumper.run());
      first ??= dumper;
    }
    // What comes last is behind all shares.
    first?.finish(parts);
    assertEquals(texts.join("") === await text(path, { types, ...wish } as Wish), true, name);
  }
});

Deno.test("turns: who waits for one that will not come is told", () => {
  const turns = new Turns();
  turns.wait(0);
  turns.end(0);
  const other = new Turns(turns.shared);
  other.wait(1);
  other.stop();
  let message = "";
  try {
    turns.wait(2);
  } catch (error) {
    message = (error as Error).message;
  }
  assertEquals(message, "another thread failed");
});

Deno.test("turns: who waits for one behind the last is told", () => {
  const turns = new Turns();
  turns.end(0);
  turns.limit(2);
  turns.wait(1);
  assertEquals([turns.claim(0), turns.isOver(), turns.claim(1)], [true, false, true]);
  assertEquals([turns.claim(1), turns.isOver()], [false, true]);
  let message = "";
  try {
    turns.wait(2);
  } catch (error) {
    message = (error as Error).message;
  }
  assertEquals(message, "there are 2 turns only");
});
