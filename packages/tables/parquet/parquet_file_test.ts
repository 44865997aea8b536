import { assert, assertEquals, assertThrows } from "@std/assert";
import { memorySink } from "@perfdata/format/bytes";
import fc from "fast-check";
import { zstdCompressSync } from "node:zlib";
import { parquetRows } from "../../../tests/support/parquet_rows.ts";
import type { ColumnValues, Table } from "../schema/column_types.ts";
import { ParquetFile } from "./parquet_file.ts";

const TABLE: Table = {
  name: "all",
  about: "All types.",
  columns: [
    { name: "must", type: "int64", required: true, about: "" },
    { name: "may", type: "int64", required: false, about: "" },
    { name: "number", type: "int32", required: false, about: "" },
    { name: "is", type: "boolean", required: false, about: "" },
    { name: "name", type: "string", required: false, about: "" },
    { name: "text", type: "string", required: false, about: "" },
    { name: "list", type: "int64[]", required: false, about: "" },
  ],
};

interface Row {
  readonly must: bigint;
  readonly may: bigint | undefined;
  readonly number: number | undefined;
  readonly is: boolean | undefined;
  readonly name: string | undefined;
  readonly text: string | undefined;
  readonly list: readonly bigint[];
}

const words = (values: readonly bigint[]): Int32Array =>
  new Int32Array(BigInt64Array.from(values).buffer);
const valid = (values: readonly unknown[]): Uint8Array =>
  Uint8Array.from(values, (value) => value === undefined ? 0 : 1);

function columns(rows: readonly Row[]): Record<string, ColumnValues> {
  const names = [...new Set(rows.flatMap(({ name }) => name === undefined ? [] : [name]))];
  const lists = rows.flatMap(({ list }) => list);
  const starts = new Int32Array(rows.length + 1);
  rows.forEach(({ list }, i) => starts[i + 1] = (starts[i] as number) + list.length);
  const may = rows.map((row) => row.may);
  const number = rows.map((row) => row.number);
  const is = rows.map((row) => row.is);
  return {
    must: { kind: "words", words: words(rows.map((row) => row.must)) },
    may: { kind: "words", words: words(may.map((value) => value ?? 0n)), valid: valid(may) },
    number: {
      kind: "ints",
      ints: Int32Array.from(number, (value) => value ?? 0),
      valid: valid(number),
    },
    is: { kind: "ints", ints: Int32Array.from(is, (value) => value ? 1 : 0), valid: valid(is) },
    name: {
      kind: "codes",
      codes: Int32Array.from(rows, ({ name }) => name === undefined ? -1 : names.indexOf(name)),
      dictionary: names,
    },
    text: { kind: "texts", texts: rows.map(({ text }) => text) },
    list: { kind: "lists", starts, words: words(lists) },
  };
}

const expected = (rows: readonly Row[]) =>
  rows.map(({ must, may, number, is, name, text, list }) => ({
    ...{ must, may: may ?? null, number: number ?? null, is: is ?? null },
    ...{ name: name ?? null, text: text ?? null, list: list.length === 0 ? null : [...list] },
  }));

function written(groups: readonly (readonly Row[])[], compressed: boolean): Uint8Array {
  const sink = memorySink();
  const compress = (bytes: Uint8Array) => new Uint8Array(zstdCompressSync(bytes));
  const file = new ParquetFile(sink, TABLE, compressed ? { compress } : {});
  for (const rows of groups) file.rows(rows.length, columns(rows));
  file.finish();
  return sink.bytes();
}

const plain = (rows: readonly Readonly<Record<string, unknown>>[]) =>
  rows.map((row) => Object.fromEntries(TABLE.columns.map(({ name }) => [name, row[name] ?? null])));

const option = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
const INT64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -3n, max: 3n }),
);
const ROW: fc.Arbitrary<Row> = fc.record({
  must: INT64,
  may: option(INT64),
  number: option(fc.integer()),
  is: option(fc.boolean()),
  name: option(fc.constantFrom("", "main", "näme", "🔥", "x".repeat(100))),
  text: option(fc.string({ unit: "binary" }).map((text) => text.toWellFormed())),
  list: fc.array(INT64, { maxLength: 4 }),
});

Deno.test("ParquetFile: any values of all types are read back", async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(ROW, { maxLength: 60 })),
      fc.boolean(),
      async (groups, z) => {
        const rows = groups.flat();
        compared += rows.length;
        assertEquals(plain(await parquetRows(written(groups, z))), expected(rows));
      },
    ),
    { numRuns: 60 },
  );
  assert(compared > 1000, `${compared} rows`);
});

Deno.test("ParquetFile: a group with more rows than a page is read back", async () => {
  const rows = Array.from({ length: 140_000 }, (_, i): Row => ({
    must: BigInt(i) << 20n,
    may: i % 7 === 0 ? undefined : BigInt(i % 1000),
    number: i % 3 === 0 ? undefined : i,
    is: i % 5 === 0 ? undefined : i % 2 === 0,
    name: i % 11 === 0 ? undefined : `n${(i >> 4) % 300}`,
    text: undefined,
    list: i % 1000 === 0 ? [BigInt(i), -1n] : [],
  }));
  const read = plain(await parquetRows(written([rows], true)));
  const are = expected(rows);
  assertEquals(read.length, are.length);
  for (const [i, row] of read.entries()) {
    if (JSON.stringify(row, text) !== JSON.stringify(are[i], text)) {
      assertEquals(row, are[i], `${i}`);
    }
  }
});

const text = (_: string, value: unknown) => typeof value === "bigint" ? `${value}n` : value;

Deno.test("ParquetFile: equal rows give equal bytes; a missing required column throws", () => {
  const row: Row = {
    ...{ must: 1n, may: 2n, number: 3, is: true, name: "a", text: "b", list: [4n] },
  };
  assertEquals(written([[row, row]], true), written([[row, row]], true));
  const file = new ParquetFile(memorySink(), TABLE);
  assertThrows(() => file.rows(1, {}), TypeError, "all.must: no values, expected one a row");
});
