/**
 * Requirements of a new `funcs` key, and errors if it does not declare the columns that it reads.
 */
import { assertEquals, assertThrows } from "@std/assert";
import { SampleCollector } from "@perfdata/profile";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader, PerfDataWriter } from "@perfdata/format/records";
import { PERF_SAMPLE_CPU, PERF_SAMPLE_IP, PERF_SAMPLE_TID } from "@perfdata/format/constants";
import { runEngine } from "@perfdata/session";
import { FUNCTION_KEYS, type FunctionKey, sampleKeys, type SortKey } from "./function_keys.ts";
import { functionTable } from "./functions.ts";
import { functions } from "./testing.ts";

/** Samples of one thread on the CPUs 0 to 6: one on CPU 0, two on CPU 1, and so on. */
async function recording(): Promise<PerfDataReader> {
  const sink = memorySink();
  const sample_type = BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU);
  const events = [{ attr: { ...emptyAttr(), sample_type, sample_period: 1n } }];
  const writer = await PerfDataWriter.file(sink, { events });
  for (let cpu = 0; cpu < 7; cpu++) {
    for (let k = 0; k <= cpu; k++) {
      const words = Uint32Array.of(9, 2 | 32 << 16, 0x1000, 0, 7, 7, cpu, 0);
      await writer.write(new Uint8Array(words.buffer));
    }
  }
  await writer.close();
  return await PerfDataReader.open(bytesSource(sink.bytes()));
}

/** Adds a key while `work` runs. */
async function withKey<T>(key: object, work: (sort: readonly SortKey[]) => Promise<T>): Promise<T> {
  const keys = FUNCTION_KEYS as FunctionKey[];
  keys.push(key as FunctionKey);
  try {
    return await work([(key as FunctionKey).name]);
  } finally {
    keys.pop();
  }
}

const parity = (cpu: number) => cpu % 2;

Deno.test("FUNCTION_KEYS: an added entry groups rows by its number", async () => {
  const key = {
    name: "cpu_parity",
    context: "cpu",
    join: parity,
    number: (table: Parameters<FunctionKey["number"]>[0], row: number) =>
      parity(table.context(row, "cpu")),
  };
  const rows = await withKey(key, async (sort) => await functions(await recording(), { sort }));
  const found = rows.map((row) => [
    (row as unknown as Record<string, unknown>)["cpu_parity"],
    row.samples,
  ]);
  assertEquals(found, [[0, 1 + 3 + 5 + 7], [1, 2 + 4 + 6]]);
});

Deno.test("FUNCTION_KEYS: a key that reads an undeclared column throws", async () => {
  let tried = 0;
  for (const column of ["comm", "pid", "tid", "cpu"] as const) {
    const key: object = {
      name: "x",
      number: (table: Parameters<FunctionKey["number"]>[0], row: number) =>
        table.context(row, column),
    };
    await withKey(key, async (sort) => {
      const counts = new SampleCollector({ keys: sampleKeys(sort) });
      await runEngine(await recording(), [counts]);
      let message = "";
      await functionTable(counts, undefined, { sort })
        .then((table) => table.row(0))
        .catch((error: Error) => message = error.message);
      assertEquals(
        message,
        `rows are not grouped by ${column}: a key that reads it says so (context)`,
      );
      tried++;
    });
  }
  for (const column of ["dso", "symbol", "line", "file"] as const) {
    const key: object = {
      name: "x",
      number: (table: Parameters<FunctionKey["number"]>[0], row: number) => table.name(row, column),
    };
    await withKey(key, async (sort) => {
      const counts = new SampleCollector();
      await runEngine(await recording(), [counts]);
      let message = "";
      await functionTable(counts, undefined, { sort })
        .then((table) => table.row(0))
        .catch((error: Error) => message = error.message);
      assertEquals(
        message,
        `${column} of places was not collected: a key that reads it says so (needs)`,
      );
      tried++;
    });
  }
  assertEquals(tried, 8);
});

Deno.test("FunctionTable: a key whose column was not collected throws", async () => {
  for (const sort of [["pid"], ["tid"], ["comm", "cpu"]] as const) {
    const counts = new SampleCollector();
    await runEngine(await recording(), [counts]);
    let message = "";
    await functionTable(counts, undefined, { sort })
      .catch((error: Error) => message = error.message);
    assertEquals(message, `${sort.at(-1)} of samples was not collected`);
  }
  assertThrows(() => sampleKeys(["nothing" as SortKey]), Error, "no key is called nothing");
});
