import { assert, assertEquals, assertRejects } from "@std/assert";
import { zstdCompressSync } from "node:zlib";
import { memorySink, PerfDataError } from "@perfdata/format/bytes";
import {
  FRAMES,
  ParquetFile,
  RECORDINGS,
  RecordingTables,
  type RowColumns,
  SAMPLES,
  STACKS,
  type Table,
} from "@perfdata/tables";
import { inFolder } from "../../tests/support/tool.ts";
import { open, type Recording, type RecordingInput, type TableFiles } from "./mod.ts";

/** A table with some rows, in compressed pages. Required columns without values are left out. */
function file(table: Table, count: number, columns: RowColumns): Uint8Array {
  const sink = memorySink();
  const there = table.columns.filter(({ name, required }) => !required || name in columns);
  const written = new ParquetFile(sink, { ...table, columns: there }, {
    compress: (bytes) => new Uint8Array(zstdCompressSync(bytes)),
  });
  written.rows(count, columns);
  written.finish();
  return sink.bytes().slice();
}

const ints = (...ints: number[]) => ({ kind: "ints", ints: Int32Array.from(ints) }) as const;
const texts = (...texts: (string | undefined)[]) => ({ kind: "texts", texts }) as const;
/** 64-bit numbers; -1 is none. */
const words = (...numbers: number[]) =>
  ({
    kind: "words",
    words: Int32Array.from(numbers.flatMap((number) => [number, 0])),
    valid: Uint8Array.from(numbers, (number) => number < 0 ? 0 : 1),
  }) as const;

/** Three samples: two of `work` called by `main`, on CPUs 1 and 2, and one of `main`. */
const SAMPLE_COLUMNS: RowColumns = {
  recording_id: words(1, 1, 1),
  event: texts("cycles", "cycles", "cycles"),
  period: words(10, 20, 5),
  mode: texts("user", "user", "user"),
  ts: words(100, 200, 300),
  cpu: ints(1, 2, 1),
  pid: ints(7, 7, 8),
  tid: ints(7, 9, 8),
  comm: texts("demo", "demo", "other"),
  stack_id: words(12, 12, 11),
};

/** Files of small tables by name, laid out by hand. */
const SMALL: ReadonlyMap<string, Uint8Array> = new Map([
  [
    "recordings/1.parquet",
    file(RECORDINGS, 1, { recording_id: words(1), version: ints(1), name: texts("demo") }),
  ],
  ["samples/1.parquet", file(SAMPLES, 3, SAMPLE_COLUMNS)],
  [
    "stacks/1.parquet",
    file(STACKS, 2, {
      stack_id: words(11, 12),
      frame_id: words(21, 22),
      depth: ints(0, 1),
      parent_id: words(-1, 11),
    }),
  ],
  [
    "frames/date=2026-01-01/1.parquet",
    file(FRAMES, 2, {
      frame_id: words(21, 22),
      object: texts("/bin/demo", "/bin/demo"),
      kind: texts("elf", "elf"),
      offset: words(16, 32),
      function: texts("main", "work"),
      verified: ints(1, 1),
    }),
  ],
]);

/** The files as an input where there are no directories. */
function tableFiles(files: ReadonlyMap<string, Uint8Array>): TableFiles {
  return {
    files: (table) =>
      [...files].filter(([name]) => name.startsWith(`${table}/`)).map(([name, bytes]) => ({
        name,
        byteLength: bytes.length,
        slice: (start, end) => bytes.slice(start, end).buffer as ArrayBuffer,
      })),
  };
}

/** Writes files below a directory. */
function writeFiles(folder: string, files: ReadonlyMap<string, Uint8Array>): string {
  for (const [name, bytes] of files) {
    Deno.mkdirSync(`${folder}/${name.slice(0, name.lastIndexOf("/"))}`, { recursive: true });
    Deno.writeFileSync(`${folder}/${name}`, bytes);
  }
  return folder;
}

const foldedOf = async (recording: Recording): Promise<string> =>
  await new Blob(await Array.fromAsync(recording.exportAs("folded"))).text();

Deno.test("open: tables laid out by hand, as files or in a directory, give their samples and names", () =>
  inFolder(async (folder) => {
    const inputs: RecordingInput[] = [tableFiles(SMALL), writeFiles(folder, SMALL)];
    for (const input of inputs) {
      using tables = await open(input, { name: "small" });
      assertEquals(tables.ready, "tables");
      assertEquals(await foldedOf(tables), "demo;main;work 30\nother;main 5\n");
      const samples = await Array.fromAsync(tables.samples());
      assertEquals(
        samples.map(({ time, period, cpu, tid }) => [time, period, cpu, tid]),
        [[100n, 10, 1, 7], [200n, 20, 2, 9], [300n, 5, 1, 8]],
      );
      const [first] = samples;
      assertEquals(first?.stack.map(({ name }) => name), ["work", "main"]);
      const rows = await tables.functions({ sort: ["cpu", "sym"], children: true });
      const byCpu = rows.map(({ sym, period, children, ...row }) =>
        `${(row as { cpu?: number }).cpu} ${sym} ${period} ${children?.period}`
      );
      assertEquals(byCpu.sort(), ["1 main 5 15", "1 work 10 10", "2 main 0 20", "2 work 20 20"]);
      const filter = { tids: new Set([9]) };
      assertEquals((await tables.functions({ filter })).map(({ period }) => period), [20]);
      assertEquals((await tables.profile({ filter })).title, "small");
      const { period } = await tables.callTree();
      assertEquals(Math.max(...period), 35);
    }
  }));

/** The tables of a recording, as files in memory. */
async function tablesOf(path: string): Promise<Map<string, Uint8Array>> {
  const sinks: [string, ParquetFile, ReturnType<typeof memorySink>][] = [];
  using recording = await open(path, { symbols: "none" });
  const { PerfDataReader } = await import("@perfdata/format/records");
  const { bytesSource } = await import("@perfdata/format/bytes");
  const tables = new RecordingTables(
    await PerfDataReader.open(bytesSource(Deno.readFileSync(path))),
    {
      name: path,
      open(table) {
        const sink = memorySink();
        const written = new ParquetFile(sink, table);
        sinks.push([`${table.name}/0.parquet`, written, sink]);
        return written;
      },
    },
  );
  await recording.read([tables]);
  await tables.write();
  return new Map(sinks.map(([name, written, sink]) => {
    written.finish();
    return [name, sink.bytes().slice()];
  }));
}

Deno.test("open: the tables of a recording have its samples, periods and depths of stacks", async () => {
  for (const name of ["callchain", "all-cpus"]) {
    const { pathname } = new URL(`../../fixtures/recorded/${name}.perf.data`, import.meta.url);
    using recording = await open(pathname, { symbols: "none" });
    using tables = await open(tableFiles(await tablesOf(pathname)));
    const of = async (input: Recording) =>
      (await Array.fromAsync(input.samples())).map(({ stack, ...sample }) => ({
        ...sample,
        stack: stack.map(({ object, name }) => [object, name]),
      }));
    const expected = await of(recording);
    assertEquals(await of(tables), expected, name);
    assert(expected.length > 10);
    const sums = async (input: Recording) =>
      (await input.functions({ sort: ["comm", "dso"] })).map(({ comm, dso, samples, period }) =>
        [comm, dso, samples, period].join(" ")
      ).sort();
    assertEquals(await sums(tables), await sums(recording), name);
  }
});

Deno.test("open: tables and folded stacks have no records: each other method is an error", async () => {
  const folded = new TextEncoder().encode("demo;main;work 3\n");
  const inputs = [
    [tableFiles(SMALL), "tables", "tables have no records: profile, functions"],
    [folded, "profiles", "folded stacks"],
  ] as const;
  for (const [input, what, reason] of inputs) {
    using ready = await open(input);
    const questions: readonly (() => Promise<unknown>)[] = [
      () => ready.info(),
      () => ready.stat(),
      () => ready.span(),
      () => ready.ask(),
      () => ready.read([]),
      () => ready.edit({}),
      () => ready.auxStreams(),
      () => Array.fromAsync(ready.header()),
      () => Array.fromAsync(ready.records()),
    ];
    for (const ask of questions) {
      const error = await assertRejects(ask, PerfDataError, reason);
      assertEquals(error.code, "not-perf-data");
    }
    const filter = { time: [0n, 1n] } as const;
    await assertRejects(() => ready.profile({ filter }), RangeError, `not for ${what}`);
    assert((await ready.profile()).samples.length > 0);
  }
  using imported = await open(folded);
  const [row] = await imported.functions();
  assertEquals([row?.comm, row?.sym, row?.period], ["demo", "work", 3]);
});

Deno.test("open: sums of tables have no numbers to choose by, and a damaged table is an error", async () => {
  const sums = new Map(SMALL);
  sums.delete("samples/1.parquet");
  sums.set(
    "weights/1.parquet",
    file(
      {
        ...{ name: "weights", about: "Sums." },
        columns: [
          ...["version", "samples"].map((name) =>
            ({ name, type: "int32", required: true, about: "" }) as const
          ),
          { name: "event", type: "string", required: true, about: "" },
          ...["stack_id", "period"].map((name) =>
            ({ name, type: "int64", required: true, about: "" }) as const
          ),
        ],
      },
      1,
      {
        version: ints(1),
        samples: ints(4),
        event: texts("cycles"),
        stack_id: words(12),
        period: words(40),
      },
    ),
  );
  using weights = await open(tableFiles(sums));
  assertEquals(await foldedOf(weights), "[unnamed];main;work 40\n");
  const filter = { pids: new Set([7]) };
  await assertRejects(() => weights.profile({ filter }), RangeError, "weights have no processes");
  const damaged = new Map(SMALL);
  damaged.set("stacks/1.parquet", SMALL.get("stacks/1.parquet")?.slice(0, -20) ?? new Uint8Array());
  using cut = await open(tableFiles(damaged));
  await assertRejects(
    () => cut.profile(),
    PerfDataError,
    "stacks/1.parquet: no whole Parquet file",
  );
  damaged.delete("stacks/1.parquet");
  await assertRejects(() => cut.profile(), PerfDataError, "no table stacks");
});
