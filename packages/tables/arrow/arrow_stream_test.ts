import { assert, assertEquals, assertThrows } from "@std/assert";
import { memorySink } from "@perfdata/format/bytes";
import { tableFromIPC } from "@uwdata/flechette";
import type { RowColumns, Table } from "../schema/column_types.ts";
import { ArrowStream } from "./arrow_stream.ts";

const TABLE: Table = {
  name: "all",
  about: "A column of each type, with and without missing values.",
  columns: (["int64", "int32", "string", "boolean", "timestamp", "int64[]"] as const).flatMap((
    type,
  ) =>
    [true, false].filter((required) => !required || type !== "int64[]").map((required) => ({
      ...{ name: `${type} ${required ? "there" : "maybe"}`, type, required, about: "A value." },
    }))
  ),
};

/** Returns expected rows, and the same as columns. */
function group(
  rows: number,
  seed: number,
): { rows: Record<string, unknown>[]; columns: RowColumns } {
  const words = Int32Array.from({ length: 2 * rows }, (_, i) => Math.imul(i + seed, 0x9e3779b1));
  const bigs = new BigInt64Array(words.buffer);
  const days = BigInt64Array.from(
    { length: rows },
    (_, i) => BigInt(1_700_000_000_000_000 + i * 1000),
  );
  const ints = words.filter((_, i) => i % 2 === 0);
  const bits = ints.map((value) => value & 1);
  const valid = Uint8Array.from({ length: rows }, (_, i) => (i * 7 + seed) % 3 === 0 ? 0 : 1);
  const dictionary = ["", "a", "Füße", "x".repeat(300)];
  const codes = Int32Array.from({ length: rows }, (_, i) => (i + seed) % 4);
  const some = codes.map((code, i) => valid[i] === 0 ? -1 : code);
  const texts = Array.from(some, (code) => code < 0 ? undefined : dictionary[code]);
  const starts = new Int32Array(rows + 1);
  for (let i = 0; i < rows; i++) {
    starts[i + 1] = (starts[i] as number) + (valid[i] === 0 ? 0 : i % 3);
  }
  const listed = Int32Array.from({ length: 2 * (starts[rows] as number) }, (_, i) => i - 5);
  const items = new BigInt64Array(listed.buffer);
  const dayWords = new Int32Array(days.buffer);
  const columns: RowColumns = {
    "int64 there": { kind: "words", words },
    "int64 maybe": { kind: "codes", codes: some, dictionary: words.slice(0, 8) },
    "int32 there": () => ({ kind: "ints", ints }),
    "int32 maybe": { kind: "ints", ints, valid },
    "string there": { kind: "codes", codes, dictionary },
    "string maybe": { kind: "texts", texts },
    "boolean there": { kind: "ints", ints: bits },
    "boolean maybe": { kind: "ints", ints: bits, valid },
    "timestamp there": { kind: "words", words: dayWords },
    "timestamp maybe": { kind: "words", words: dayWords, valid },
    "int64[] maybe": { kind: "lists", starts, words: listed },
  };
  const found = Array.from({ length: rows }, (_, i) => {
    const maybe = <T>(value: T): T | null => valid[i] === 0 ? null : value;
    const list = [...items.subarray(starts[i], starts[i + 1])];
    const code = some[i] as number;
    return {
      "int64 there": bigs[i],
      "int64 maybe": code < 0 ? null : bigs[code],
      "int32 there": ints[i],
      "int32 maybe": maybe(ints[i]),
      "string there": dictionary[codes[i] as number],
      "string maybe": texts[i] ?? null,
      "boolean there": bits[i] === 1,
      "boolean maybe": maybe(bits[i] === 1),
      "timestamp there": Number(days[i]) / 1000,
      "timestamp maybe": maybe(Number(days[i]) / 1000),
      "int64[] maybe": list.length === 0 ? null : list,
    };
  });
  return { rows: found, columns };
}

/** Reads a stream with the Arrow library. */
function readBack(bytes: Uint8Array): Record<string, unknown>[] {
  return tableFromIPC(bytes, { useBigInt: true }).toArray().map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        value instanceof BigInt64Array ? [...value] : value,
      ]),
    )
  );
}

Deno.test("ArrowStream: batches are read back by the Arrow library", () => {
  const sink = memorySink();
  const stream = new ArrowStream(sink, TABLE, { metadata: { made: "here" } });
  const groups = [1, 9, 64, 1000].map((rows, seed) => group(rows, seed));
  for (const { rows, columns } of groups) stream.rows(rows.length, columns);
  stream.finish();
  assertEquals([stream.count, stream.bytes], [1074, sink.bytes().length]);
  assertEquals(readBack(sink.bytes()), groups.flatMap(({ rows }) => rows));
  const { schema } = tableFromIPC(sink.bytes());
  assertEquals(schema.metadata?.get("made"), "here");
  assertEquals(
    schema.fields.map(({ name, nullable }) => [name, nullable]),
    TABLE.columns.map(({ name, required }) => [name, !required]),
  );
});

Deno.test("ArrowStream: a missing optional column has no values, a missing required one throws", () => {
  const sink = memorySink();
  const stream = new ArrowStream(sink, TABLE);
  const { columns } = group(3, 0);
  const there = Object.fromEntries(Object.entries(columns).filter(([name]) => /there$/.test(name)));
  stream.rows(3, there);
  const [missing = ""] = Object.keys(there);
  const { [missing]: _, ...without } = there;
  assertThrows(() => stream.rows(3, without), TypeError, "no values, expected one a row");
  stream.finish();
  const rows = readBack(sink.bytes());
  assertEquals(rows.length, 3);
  for (const row of rows) {
    for (const { name, required } of TABLE.columns) {
      assertEquals(row[name] === null, !required, name);
    }
  }
  const empty = memorySink();
  new ArrowStream(empty, TABLE).finish();
  assertEquals(readBack(empty.bytes()), []);
  assert(empty.bytes().length > 100);
});
