/**
 * No package has the Firefox Profiler's reader. These tests check lengths, indices and units
 * against its documentation of the processed format.
 */
import { assert, assertEquals } from "@std/assert";
import { gzipped } from "./gzipped.ts";
import { firefox } from "./firefox.ts";
import { breakpadId } from "./firefox_tables.ts";
import { bytesOf, namesOf, plainSamples, profileOf, textOf } from "../testing.ts";

type Table = { length: number } & Record<string, (number | null)[]>;

interface FirefoxProfile {
  meta: { preprocessedProfileVersion: number; categories: unknown[] };
  libs: { breakpadId: string; codeId: string }[];
  shared: Record<string, Table> & { stringArray: string[] };
  threads: { pid: string; tid: number | string; samples: Table; markers: Table }[];
}

const SAMPLES = plainSamples(2000, 3);

Deno.test("firefox: columns of a table have equal length, and indices are valid", async () => {
  const profile = JSON.parse(await textOf(firefox(profileOf(SAMPLES)))) as FirefoxProfile;
  const { shared, libs, threads, meta } = profile;
  let columns = 0;
  const check = (name: string, table: Table) => {
    for (const [key, column] of Object.entries(table)) {
      if (!Array.isArray(column)) continue;
      assertEquals(column.length, table.length, `${name}.${key}`);
      columns++;
    }
  };
  const { stringArray: _, ...tables } = shared;
  for (const [name, table] of Object.entries(tables)) check(name, table as Table);
  for (const { samples } of threads) check("samples", samples);
  const within = (column: (number | null)[] | undefined, count: number, least = 0) => {
    for (const value of column ?? []) {
      assert(value === null || (Number.isInteger(value) && value >= least && value < count));
    }
  };
  const { stackTable, frameTable, funcTable, resourceTable, sources, stringArray } = shared;
  within(stackTable?.frame, frameTable?.length ?? 0);
  for (const [row, prefix] of (stackTable?.prefix ?? []).entries()) {
    assert(prefix === null || (prefix >= 0 && prefix < row), "a caller comes before what it calls");
  }
  within(frameTable?.func, funcTable?.length ?? 0);
  within(frameTable?.category, meta.categories.length);
  within(funcTable?.name, stringArray.length);
  within(funcTable?.resource, resourceTable?.length ?? 0, -1);
  within(funcTable?.source, sources?.length ?? 0);
  within(resourceTable?.lib, libs.length);
  within(sources?.filename, stringArray.length);
  assertEquals(new Set(threads.map(({ tid }) => tid)).size, threads.length);
  console.log(`Firefox profile: ${columns} columns of ${threads.length} threads checked`);
  assert(columns > 30);
});

Deno.test("firefox: samples, periods and stacks are those of the recording", async () => {
  const profile = JSON.parse(await textOf(firefox(profileOf(SAMPLES)))) as FirefoxProfile;
  const { shared: { stackTable, frameTable, funcTable, stringArray }, threads } = profile;
  const found: string[] = [];
  let clock = 0;
  for (const { samples } of threads) {
    for (let i = 0; i < samples.length; i++) {
      const names: string[] = [];
      for (let row = samples.stack?.[i] ?? null; row !== null;) {
        const frame = stackTable?.frame?.[row] ?? -1;
        names.unshift(stringArray[funcTable?.name?.[frameTable?.func?.[frame] ?? -1] ?? -1] ?? "?");
        row = stackTable?.prefix?.[row] ?? null;
      }
      clock += samples.threadCPUDelta?.[i] ?? 0;
      found.push(JSON.stringify([samples.time?.[i], names]));
    }
  }
  const first = SAMPLES[0]?.time ?? 0;
  assertEquals(
    found.sort(),
    SAMPLES.map((sample) => JSON.stringify([(sample.time - first) / 1e6, namesOf(sample)])).sort(),
  );
  const expected = SAMPLES.filter(({ event }) => event === 0);
  assertEquals(clock, expected.reduce((sum, { period }) => sum + period, 0));
});

Deno.test("firefox: values of PTWRITE are markers of their thread, with payload and function", async () => {
  const plain = profileOf(SAMPLES);
  const first = SAMPLES[0]?.time ?? 0;
  const write = { thread: 0, time: first + 1_500_000, cpu: 3, value: 2n ** 63n, function: "main" };
  const text = await textOf(firefox({ ...plain, writes: [write] }));
  const { threads, shared: { stringArray }, meta } = JSON.parse(text);
  const { pid, tid } = plain.threads.at(0) ?? {};
  // A thread has its markers once, whatever events it has samples of.
  const marked = threads.filter(({ markers }: { markers: Table }) => markers.length > 0);
  assertEquals(marked.map((of: { pid: string; tid: number }) => [of.pid, of.tid]), [
    [String(pid), tid],
  ]);
  const { markers } = marked[0];
  assertEquals([markers.length, stringArray[markers.name[0]]], [1, "PTWRITE"]);
  assertEquals(markers.data, [{
    type: "ptwrite",
    payload: "0x8000000000000000",
    value: "9223372036854775808",
    function: "main",
    cpu: 3,
  }]);
  assertEquals([markers.startTime, markers.endTime, markers.phase], [[1.5], [null], [0]]);
  assertEquals(meta.markerSchema.map(({ name }: { name: string }) => name), ["off-cpu", "ptwrite"]);
});

Deno.test("firefox, gzipped, breakpadId: the profile is compressed, and build ids have Breakpad's format", async () => {
  const bytes = await bytesOf(gzipped(firefox(profileOf(SAMPLES))));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { libs } = await new Response(stream).json() as FirefoxProfile;
  assertEquals(libs[0]?.codeId, "00112233445566778899aabbccddeeff00112233");
  // Breakpad's documentation: a GUID whose first three fields are little-endian, then the age.
  assertEquals(breakpadId("e54d3af274383256b9f6144f83f3f751"), "F23A4DE538745632B9F6144F83F3F7510");
});
