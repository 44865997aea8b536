import { assertEquals, assertRejects } from "@std/assert";
import { memorySink, PerfDataError } from "@perfdata/format/bytes";
import { ParquetFile } from "../parquet/parquet_file.ts";
import { readRows } from "./table_columns.ts";

/** A file with two rows. The number of rows in the footer, the last number 4 in it, can be changed. */
function file(rows = 2): Uint8Array<ArrayBuffer> {
  const sink = memorySink();
  const written = new ParquetFile(sink, {
    ...{ name: "points", about: "Points." },
    columns: [{ name: "x", type: "int32", required: true, about: "Where it is." }],
  });
  written.rows(2, { x: { kind: "ints", ints: Int32Array.of(5, 6) } });
  written.finish();
  const bytes = Uint8Array.from(sink.bytes());
  // Field 3 of a row group, after field 2, is an i64 in zigzag.
  const at = bytes.findLastIndex((byte, i) => byte === 0x16 && bytes[i + 1] === 2 * 2);
  bytes[at + 1] = 2 * rows;
  return bytes;
}

async function rowsOf(bytes: Uint8Array<ArrayBuffer>): Promise<unknown[][]> {
  const found: unknown[][] = [];
  const source = {
    name: "points",
    byteLength: bytes.length,
    slice: (start: number, end?: number) => bytes.buffer.slice(start, end),
  };
  for await (const rows of readRows(source, ["x"], ["y"])) {
    const [x, y] = [rows.column("x"), rows.column("y")];
    for (let i = 0; i < rows.count; i++) found.push([x[i], y[i]]);
  }
  return found;
}

Deno.test("readRows: gives the values of columns, undefined for a missing optional one", async () => {
  assertEquals(await rowsOf(file()), [[5, undefined], [6, undefined]]);
});

Deno.test("readRows: a group whose number of rows differs from its values is an error", async () => {
  for (const rows of [3, 60]) {
    const message = `points: no whole Parquet file: 2 values of x, expected ${rows}`;
    await assertRejects(() => rowsOf(file(rows)), PerfDataError, message);
  }
});
