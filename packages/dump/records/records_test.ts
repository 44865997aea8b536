import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { parse, stringify } from "@std/csv";
import { bytesSource, memorySink, PerfDataError, safeCell } from "@perfdata/format/bytes";
import {
  emptyAttr,
  fixedPeriod,
  KERNEL_RECORDS,
  PerfDataReader,
  PerfDataWriter,
  PerfEvent,
  RecordCodec,
} from "@perfdata/format/records";
import {
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { GOOGLE_RECORDS, USER_RECORDS } from "@perfdata/user-records";
import { CSV_COLUMNS } from "./line_text.ts";
import { type RecordsOptions, writeRecords } from "../mod.ts";
import type { RecordSymbols } from "./records.ts";
import { type AnyDecoded, FieldTree, lineMembers, type Members } from "./records_json.ts";
import { recordings } from "../testing.ts";

const decoder = new TextDecoder();

async function textOf(reader: PerfDataReader, options: RecordsOptions = {}): Promise<string> {
  let text = "";
  const wish = { diagnostics: () => {}, ...options };
  await writeRecords(reader, (block) => text += decoder.decode(block), wish);
  return text;
}

async function linesOf(bytes: Uint8Array, options: RecordsOptions = {}): Promise<string[]> {
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
  const text = await textOf(reader, options);
  assert(text === "" || text.endsWith("\n"));
  return text.split("\n").slice(0, -1);
}

const ATTR = {
  ...emptyAttr(),
  type: 1,
  size: 128,
  sample_type: BigInt(
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
      PERF_SAMPLE_CALLCHAIN,
  ),
};

/** A file with one event and these records. */
async function fileOf(
  attr: typeof ATTR,
  records: readonly Parameters<RecordCodec<typeof KERNEL_RECORDS[number]>["encode"]>[0][],
  littleEndian = true,
): Promise<Uint8Array> {
  const codec = new RecordCodec(KERNEL_RECORDS);
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { littleEndian, events: [{ attr, ids: [5n] }] });
  for (const record of records) {
    await writer.write(codec.encode(record, { littleEndian, event: new PerfEvent(attr, [5n]) }));
  }
  await writer.close();
  return sink.bytes();
}

const SAMPLE = {
  type: 9,
  name: "SAMPLE",
  misc: 2,
  body: {
    ip: 0x401136n,
    pid: 7,
    tid: 8,
    time: 123456789012n,
    cpu: 1,
    period: 250000n,
    callchain: [0xfffffffffffffe00n, 0x401136n],
  },
} as const;

Deno.test("writeRecords: a sample's fields are in the documented order", async () => {
  const bytes = await fileOf(ATTR, [{
    ...SAMPLE,
    body: { ...SAMPLE.body, callchain: [...SAMPLE.body.callchain] },
  }]);
  assertEquals(await linesOf(bytes), [
    '{"type":"SAMPLE","offset":256,"event":"cpu-clock:HG","misc":"0x2","cpumode":"USER",' +
    '"ip":"0x401136","pid":7,"tid":8,"cpu":1,"time":123456789012,"count":null,"period":250000,' +
    '"callchain":["0xfffffffffffffe00","0x401136"]}',
  ]);
  assertEquals(await linesOf(bytes, { u64: "string" }), [
    '{"type":"SAMPLE","offset":256,"event":"cpu-clock:HG","misc":"0x2","cpumode":"USER",' +
    '"ip":"0x401136","pid":7,"tid":8,"cpu":1,"time":"123456789012","count":null,' +
    '"period":"250000","callchain":["0xfffffffffffffe00","0x401136"]}',
  ]);
});

Deno.test("writeRecords: count is the value read for the sample's event", async () => {
  const attr = {
    ...emptyAttr(),
    type: 1,
    size: 128,
    sample_type: BigInt(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ),
    read_format: 0xcn, // GROUP, ID
  };
  const bytes = await fileOf(attr, [{
    type: 9,
    name: "SAMPLE",
    misc: 1,
    body: { identifier: 5n, read: { values: [{ value: 1n, id: 4n }, { value: 2n, id: 5n }] } },
  }]);
  assertEquals(await linesOf(bytes), [
    '{"type":"SAMPLE","offset":256,"event":"cpu-clock:HG","misc":"0x1","cpumode":"KERNEL",' +
    '"ip":null,"pid":null,"tid":null,"cpu":null,"time":null,"count":2,"period":null,' +
    '"identifier":5,"read":{"values":[{"value":1,"id":4},{"value":2,"id":5}]}}',
  ]);
});

Deno.test("writeRecords: 64-bit values keep all digits", async () => {
  const body = { ...SAMPLE.body, time: (1n << 64n) - 1n, period: 1n << 63n, callchain: [] };
  const [line] = await linesOf(await fileOf(ATTR, [{ ...SAMPLE, body }]));
  assert(line?.includes('"time":18446744073709551615,"count":null,"period":9223372036854775808,'));
});

Deno.test("writeRecords: a big-endian file gives the same lines", async () => {
  const records = [
    { type: 3, name: "COMM", misc: 0x2000, body: { pid: 7, tid: 7, comm: 'a "b" \\' } },
    { ...SAMPLE, body: { ...SAMPLE.body, callchain: [1n] } },
  ] as const;
  const mutable = records as unknown as Parameters<typeof fileOf>[1];
  assertEquals(
    await linesOf(await fileOf(ATTR, mutable, false)),
    await linesOf(await fileOf(ATTR, mutable, true)),
  );
});

// Numbers that differ in value and in their number of digits.
const u64 = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
  fc.tuple(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), fc.integer({ min: 0, max: 63 }))
    .map(([word, shift]) => word >> BigInt(shift)),
  fc.constantFrom(0n, 0x10n, 0xfffn, 99_999_999n, (1n << 53n) - 1n, 1n << 53n, (1n << 64n) - 1n),
);
const address = fc.oneof(
  u64,
  fc.nat(20).map(BigInt),
  fc.integer({ min: 0, max: 0xffff }).map((low) => 0x7f16_91b8_0000n + BigInt(low)),
  fc.integer({ min: 0, max: 0xffff }).map((low) => 0xffff_ffff_8100_0000n + BigInt(low)),
);
const u32 = fc.oneof(
  { weight: 5, arbitrary: fc.constant(9) },
  { weight: 1, arbitrary: fc.constantFrom(8, 10, 4321, 123_456, 0xffff_ffff) },
);
/** Recording times with other numbers between them. */
const times = fc.array(fc.oneof(fc.nat(1e9).map(BigInt), u64)).chain((steps) =>
  fc.constantFrom(0n, 123_456_789_012n, (1n << 53n) - 1_000_000_000n).map((start) =>
    steps.map((step, i) => i % 7 === 0 ? step : (start += step % 1_000_000n))
  )
);

Deno.test("writeRecords: samples with any fields and values have the lines of decoded records", async () => {
  const optional = PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
    PERF_SAMPLE_TID | PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER;
  const types = [optional];
  for (let bit = 1; bit <= optional; bit *= 2) if (optional & bit) types.push(optional & ~bit);
  const sample = fc.record({
    misc: fc.constantFrom(1, 2, 0x4002),
    body: fc.record({
      identifier: u64,
      ip: address,
      pid: u32,
      tid: u32,
      cpu: u32,
      period: u64,
      callchain: fc.array(address, { maxLength: 5 }),
    }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...types),
      fc.array(sample, { maxLength: 200, size: "max" }),
      times,
      async (type, samples, times) => {
        const flags = { ...ATTR.flags, sample_id_all: true };
        const attr = { ...ATTR, flags, sample_type: BigInt(type) };
        const has = (bit: number) => (type & bit) !== 0;
        const records = samples.map(({ misc, body }, i) => ({
          type: 9 as const,
          name: "SAMPLE" as const,
          misc,
          body: {
            ...has(PERF_SAMPLE_IDENTIFIER) ? { identifier: body.identifier } : {},
            ...has(PERF_SAMPLE_IP) ? { ip: body.ip } : {},
            ...has(PERF_SAMPLE_TID) ? { pid: body.pid, tid: body.tid } : {},
            ...has(PERF_SAMPLE_TIME) ? { time: times[i % times.length] ?? 0n } : {},
            ...has(PERF_SAMPLE_CPU) ? { cpu: body.cpu } : {},
            ...has(PERF_SAMPLE_PERIOD) ? { period: body.period } : {},
            ...has(PERF_SAMPLE_CALLCHAIN) ? { callchain: body.callchain } : {},
          },
        }));
        // Big-endian files are always decoded.
        const [written, decoded] = [
          await fileOf(attr, records, true),
          await fileOf(attr, records, false),
        ];
        for (const order of ["file", "time"] as const) {
          const lines = (file: Uint8Array) => linesOf(file, { order });
          assertEquals(await lines(written), await lines(decoded));
        }
      },
    ),
    { numRuns: 50 },
  );
});

Deno.test("writeRecords: types, from and limit select the records", async () => {
  const comm = (tid: number) =>
    ({ type: 3, name: "COMM", misc: 0, body: { pid: 7, tid, comm: "x" } }) as const;
  const bytes = await fileOf(ATTR, [comm(1), comm(2), {
    ...SAMPLE,
    body: { ...SAMPLE.body, callchain: [] },
  }, comm(3)]);
  const offsets = async (options: RecordsOptions) =>
    (await linesOf(bytes, options)).map((line) => JSON.parse(line).offset);
  assertEquals(await offsets({}), [256, 280, 304, 360]);
  assertEquals(await offsets({ types: new Set(["COMM"]) }), [256, 280, 360]);
  assertEquals(await offsets({ types: new Set(["COMM"]), limit: 2 }), [256, 280]);
  assertEquals(await offsets({ from: 280, limit: 2 }), [280, 304]);
});

Deno.test("writeRecords: CSV has the shared fields as columns and the rest as JSON", async () => {
  const bytes = await fileOf(ATTR, [
    { type: 3, name: "COMM", misc: 0, body: { pid: 7, tid: 7, comm: 'say "hi", all' } },
    { ...SAMPLE, body: { ...SAMPLE.body, callchain: [1n] } },
  ]);
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const rows = parse(await textOf(reader, { format: "csv" }));
  assertEquals(rows[0], [...CSV_COLUMNS]);
  assertEquals(rows[1]?.slice(0, 4), ["COMM", "256", "", "0x0"]);
  assertEquals(JSON.parse(rows[1]?.[12] ?? ""), {
    body: { pid: 7, tid: 7, comm: 'say "hi", all' },
  });
  assertEquals(rows[2], [
    "SAMPLE",
    "288",
    "cpu-clock:HG",
    "0x2",
    "USER",
    "0x401136",
    "7",
    "8",
    "1",
    "123456789012",
    "",
    "250000",
    '{"callchain":["0x1"]}',
  ]);
});

/** The expected row: members with a column without JSON quotes, the others as an object. */
function csvRow(members: Members): string[] {
  const known = new Map(members);
  const row = CSV_COLUMNS.slice(0, -1).map((column) => {
    const json = known.get(column);
    if (json === undefined || json === "null") return "";
    return json.startsWith('"') ? JSON.parse(json) as string : json;
  });
  const more = members.filter(([name]) => !CSV_COLUMNS.includes(name));
  row.push(
    more.length === 0 ? "" : `{${more.map(([name, json]) => `"${name}":${json}`).join(",")}}`,
  );
  return row;
}

/**
 * Symbols with characters that JSON and CSV have to quote. `later`: as from files, for which lines
 * wait.
 */
function namesFor(later: boolean): RecordSymbols {
  const named = (place: number) => ({
    dso: `/lib "${place}", =x`,
    name: place % 3 === 0 ? undefined : `f<"${place}">`,
    verified: place % 2 === 0,
    offset: place % 3 === 0 ? undefined : place,
    srcline: "a,b.c:1",
    inlined: place % 5 === 0 ? [{ name: '""', srcline: undefined }] : [],
  });
  return {
    start: () => {},
    symbol: named,
    caller: named,
    ...(later ? { want: () => {}, learn: () => Promise.resolve() } : {}),
  };
}

Deno.test("writeRecords: a CSV row has the members of the JSON line, with symbols and in time order", async () => {
  let [rows, named] = [0, 0];
  for (const path of (await recordings()).filter((path) => path.startsWith("fixtures"))) {
    const bytes = await Deno.readFile(path);
    if (bytes.length > 300_000) continue;
    for (const symbols of [undefined, namesFor(false), namesFor(true)]) {
      const textIn = async (format: "ndjson" | "csv") => {
        const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
        const chosen = symbols === undefined ? {} : { symbols };
        // Integers as strings, since doubles would round them.
        return await textOf(reader, { format, order: "time", u64: "string", ...chosen });
      };
      let json: string;
      try {
        json = await textIn("ndjson");
      } catch (error) {
        assert(error instanceof PerfDataError, path);
        continue;
      }
      const expected = json.split("\n").slice(0, -1).map((line) => {
        const members = Object.entries(JSON.parse(line))
          .map(([name, value]) => [name, JSON.stringify(value)]) as Members;
        rows++;
        if (line.includes("callchain_symbols")) named++;
        return csvRow(members).map(safeCell);
      });
      const found = (await textIn("csv")).split("\r\n").slice(1, -1).join("\r\n");
      const table = stringify(expected, { headers: false }).trimEnd();
      if (found !== table) assertEquals(found.split("\r\n"), table.split("\r\n"), path);
    }
  }
  console.log(`${rows} rows compared, ${named} of them with named call chains`);
  assert(rows > 3000 && named > 100, `${rows} rows, ${named} with named call chains`);
});

Deno.test("writeRecords: every record's line equals that of the decoded record", async () => {
  const codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
  const google = new RecordCodec([...KERNEL_RECORDS, ...GOOGLE_RECORDS]);
  const tree = new FieldTree();
  let compared = 0;
  let rows = 0;
  const all = (await recordings()).flatMap((path) =>
    path.startsWith("fixtures")
      ? [{ path, u64: "number" }, { path, u64: "string" }] as const
      : [{ path, u64: "number" }] as const
  );
  for (const { path, u64 } of all) {
    // Large recordings are cut: they have more of the same records.
    const bytes = (await Deno.readFile(path)).subarray(0, 300_000);
    const open = async () => {
      try {
        return await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
      } catch {
        return undefined;
      }
    };
    const [written, decoded] = [await open(), await open()];
    if (written === undefined || decoded === undefined) continue;
    const types = new Set([
      ...[...KERNEL_RECORDS, ...USER_RECORDS, ...GOOGLE_RECORDS].map(({ name }) => name as string),
      ...Array.from({ length: 256 }, (_, type) => `TYPE_${type}`),
    ]);
    const lines = (await textOf(written, { types, u64 })).split("\n");
    // Only short tables, which take longer to check.
    const again = bytes.length < 300_000 ? await open() : undefined;
    const table = again && (await textOf(again, { types, u64, format: "csv" })).split("\r\n");
    let n = 0;
    for await (const batch of decoded.batches()) {
      const known = decoded.isGoogleDialect ? google : codec;
      for (let i = 0; i < batch.count; i++) {
        if (batch.type(i) > 255) continue;
        tree.clear();
        const context = { ...batch.context(i), trace: tree };
        const record = known.decode(batch.recordBytes(i), context) as AnyDecoded;
        const line = lines[n++] ?? "";
        const members = lineMembers(record, tree, {
          name: known.name(record.type),
          offset: batch.offsetOf(i),
          // The name is not compared.
          event: record.type === 9 ? JSON.parse(line).event ?? undefined : undefined,
          period: context.event && fixedPeriod(context.event.attr),
          littleEndian: batch.littleEndian,
          u64,
        });
        const expected = `{${members.map(([name, json]) => `"${name}":${json}`).join(",")}}`;
        if (line !== expected) assertEquals(line, expected, path);
        JSON.parse(line);
        compared++;
        if (table === undefined) continue;
        const row = stringify([csvRow(members).map(safeCell)], { headers: false });
        if (`${table[n]}\r\n` !== row) assertEquals(`${table[n]}\r\n`, row, path);
        rows++;
      }
    }
    assertEquals(n, lines.length - 1, path);
  }
  console.log(`${compared} records compared, ${rows} of them as rows of CSV`);
  assert(rows > 1000, `${rows} rows`);
});

Deno.test("writeRecords: damaged files give valid JSON, and the same number of lines in either order", async () => {
  const names = ["callchain", "dwarf", "group", "tracepoint", "pipe", "zstd"];
  const originals = await Promise.all(
    names.map((name) => Deno.readFile(`fixtures/recorded/${name}.perf.data`)),
  );
  const change = fc.tuple(fc.nat(6000), fc.integer({ min: 0, max: 255 }));
  let lines = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...originals),
      fc.array(change, { minLength: 1, maxLength: 8 }),
      fc.option(fc.integer({ min: 100, max: 6000 })),
      async (original, changes, length) => {
        const file = original.slice(0, length ?? undefined);
        for (const [at, byte] of changes) if (at < file.length) file[at] = byte;
        const found: number[] = [];
        for (const order of ["file", "time"] as const) {
          let reader: PerfDataReader;
          try {
            reader = await PerfDataReader.open(bytesSource(file), { diagnostics: () => {} });
          } catch (error) {
            assert(error instanceof PerfDataError);
            return;
          }
          const text = (await textOf(reader, { order })).split("\n").slice(0, -1);
          for (const line of text) assert(typeof JSON.parse(line).offset === "number");
          found.push(text.length);
          lines += text.length;
        }
        assertEquals(found[0], found[1]);
      },
    ),
    { numRuns: 200 },
  );
  assert(lines > 1000);
});

Deno.test("writeRecords: samples without a period have their event's fixed period, unless it is a frequency", async () => {
  const attr = { ...emptyAttr(), sample_type: 0x3n, sample_period: 4000n };
  const record = { type: 9, name: "SAMPLE", misc: 2, body: { ip: 1n, pid: 2, tid: 3 } } as const;
  const fixed = await fileOf(attr, [record]);
  const asked = await fileOf({ ...attr, flags: { ...attr.flags, freq: true } }, [record]);
  for (const [bytes, period] of [[fixed, "4000"], [asked, "null"]] as const) {
    const [line = ""] = await linesOf(bytes);
    assertEquals(/"period":(\w+)/.exec(line)?.[1], period);
    const reader = await PerfDataReader.open(bytesSource(bytes));
    const [head = [], row = []] = parse(await textOf(reader, { format: "csv" }));
    assertEquals(row[head.indexOf("period")], period === "null" ? "" : period);
  }
});
