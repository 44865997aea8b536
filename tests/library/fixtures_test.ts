import { assert, assertEquals } from "@std/assert";
import { KERNEL_RECORDS, PerfDataReader, RecordCodec } from "@perfdata/format/records";
import {
  PERF_CONTEXT_MAX,
  PERF_CONTEXT_NAMES,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_SAMPLE_NAMES,
} from "@perfdata/format/constants";
import { fileSource } from "@perfdata/format/files";
import { USER_RECORDS } from "@perfdata/user-records";
import { synthesize, synthesizeCases } from "../../fixtures/synthesize.ts";
import { perfText, perfVersion } from "../support/perf.ts";

const folder = new URL("../../fixtures/", import.meta.url).pathname;
const codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);

Deno.test("fixtures: synthesize.ts makes the bytes in the repository", async () => {
  const made = await synthesize();
  assertEquals(
    [...made.keys()].sort(),
    [...Deno.readDirSync(`${folder}synthesized`)].map(({ name }) => name).sort(),
  );
  for (const [name, bytes] of made) {
    assertEquals(Deno.readFileSync(`${folder}synthesized/${name}`), bytes, name);
  }
  for (const [name, bytes] of await synthesizeCases()) {
    assertEquals(Deno.readFileSync(`${folder}cases/${name}`), bytes, name);
  }
});

/** All records of a file, decoded, and the events. */
async function contents(name: string) {
  using source = fileSource(`${folder}synthesized/${name}`);
  const reader = await PerfDataReader.open(source);
  const records = [];
  const offsets: number[] = [];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      const record = codec.decode(batch.recordBytes(i), batch.context(i));
      assertEquals(record.name === "RAW" ? record.error?.located() : undefined, undefined);
      records.push(record);
      offsets.push(batch.offsetOf(i));
    }
  }
  return { reader, records, offsets };
}

Deno.test("fixtures, records: every record type, sample field and layout of counter values occurs", async () => {
  const types = new Set<number>();
  let fields = 0;
  const formats = new Set<string>();
  for (const name of ["records.perf.data", "records-pipe.perf.data", "records-newer.perf.data"]) {
    const { reader, records } = await contents(name);
    for (const { type } of records) types.add(type);
    for (const { attr } of reader.events.all) {
      fields |= Number(attr.sample_type);
      if (attr.sample_type & 0x10n) formats.add(attr.read_format.toString(16));
    }
  }
  for (const { type, name } of [...KERNEL_RECORDS, ...USER_RECORDS]) {
    // Tracing data is in the recorded files.
    if (name !== "HEADER_TRACING_DATA") assert(types.has(type), `no ${name}`);
  }
  for (const [bit, name] of Object.entries(PERF_SAMPLE_NAMES)) {
    assert((fields & Number(bit)) !== 0, `no sample has ${name}`);
  }
  assertEquals([...formats].sort(), ["17", "1f", "4", "c"]);
});

for (
  const [little, big] of [
    ["records.perf.data", "records-be.perf.data"],
    ["records-pipe.perf.data", "records-pipe-be.perf.data"],
    ["records-newer.perf.data", "records-newer-be.perf.data"],
    ["edges.perf.data", "edges-be.perf.data"],
  ] as const
) {
  Deno.test(`records: ${big} has the values of ${little}`, async () => {
    // The order of bytes in raw fields differs.
    const shown = (records: Awaited<ReturnType<typeof contents>>["records"]) =>
      records.filter(({ name }) => !/^(COMPRESSED2?|HEADER_FEATURE)$/.test(name));
    assertEquals(shown((await contents(big)).records), shown((await contents(little)).records));
  });
}

const readable = [...Deno.readDirSync(`${folder}synthesized`)].map(({ name }) => name)
  .filter((name) => !/-be\.|newer/.test(name)).concat("pt-cpus-be.perf.data").sort();
const recorded = [...Deno.readDirSync(`${folder}recorded`)].map(({ name }) => name)
  // perf prints nothing for a killed recording.
  .filter((name) => name !== "killed.perf.data").sort();

for (
  const path of [
    ...readable.map((n) => `synthesized/${n}`),
    ...recorded.map((n) => `recorded/${n}`),
  ]
) {
  Deno.test({
    name: `perf reads ${path}`,
    ignore: perfVersion() === undefined,
    async fn() {
      const { stdout, stderr } = path.includes("-pipe") || path.includes("/pipe")
        ? await perfFromPipe(`${folder}${path}`)
        : await perfText(["report", "-D"], `${folder}${path}`) ?? { stdout: "", stderr: "" };
      assert(!/failed to process|unexpected end|incompatible/.test(stderr), stderr);
      const names = [...stdout.matchAll(/: (PERF_RECORD_\w+)/g)].map(([, name]) => name);
      assert(names.length > 5, stdout.slice(0, 500));
    },
  });
}

for (const name of ["edges", "unpadded"]) {
  Deno.test({
    name: `${name}: the time and CPU of each record equal perf's`,
    ignore: perfVersion() === undefined,
    async fn() {
      const { stdout } =
        await perfText(["report", "-D"], `${folder}synthesized/${name}.perf.data`) ??
          { stdout: "" };
      const theirs = new Map(
        [...stdout.matchAll(/^(\d+) (\d+) (0x[0-9a-f]+) \[0x[0-9a-f]+\]: PERF_RECORD_/gm)]
          .map(([, cpu, time, offset]) => [Number(offset), `${cpu} ${time}`]),
      );
      const { records, offsets } = await contents(`${name}.perf.data`);
      const ours = records.map((record) => {
        if (record.name === "RAW") return "";
        const { cpu, time } = record.name === "SAMPLE" ? record.body : record.sample_id ?? {};
        return `${cpu} ${time}`;
      });
      assertEquals(ours, offsets.map((offset) => theirs.get(offset)));
      assert(ours.length > 7, `${ours.length} records`);
    },
  });
}

Deno.test("fixtures, edges: every context marker, every CPU mode and times above 2^53 occur", async () => {
  const { records } = await contents("edges.perf.data");
  const samples = records.flatMap((record) => record.name === "SAMPLE" ? [record] : []);
  const marks = new Set(
    samples.flatMap(({ body }) => body.callchain ?? []).filter((word) => word >= PERF_CONTEXT_MAX),
  );
  assertEquals([...marks].sort(), [...PERF_CONTEXT_NAMES.keys()].sort());
  const modes = new Set(samples.map(({ misc }) => misc & PERF_RECORD_MISC_CPUMODE_MASK));
  assertEquals([...modes].sort(), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert(samples.some(({ body }) => (body.time ?? 0n) > 2n ** 53n));
});

/** perf skips trace data only in a stream that is one. */
async function perfFromPipe(path: string): Promise<{ stdout: string; stderr: string }> {
  const { stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", 'ulimit -v 8000000; cat "$0" | timeout 300 perf report -D -i -', path],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder("latin1");
  return { stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

Deno.test("fixtures: none contains names of the machine that made it", () => {
  const words = /\/(home|root|work|mnt|srv)\/|\bdeno\b|node_modules/;
  const decoder = new TextDecoder("latin1");
  const look = (path: string) => {
    for (const entry of Deno.readDirSync(path)) {
      const full = `${path}/${entry.name}`;
      if (entry.isDirectory) look(full);
      else {
        const found = words.exec(decoder.decode(Deno.readFileSync(full)));
        assertEquals(found?.[0], undefined, full);
      }
    }
  };
  for (const name of ["recorded", "synthesized", "cases", "demo"]) look(`${folder}${name}`);
});
