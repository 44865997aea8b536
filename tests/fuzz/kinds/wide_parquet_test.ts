import { assert, assertEquals } from "@std/assert";
import { parquetRows } from "../../support/parquet_rows.ts";
import { TABLES } from "./tables.ts";

Deno.test("wide Parquet: a file with wide numbers has the rows of the original", async () => {
  const seeds = await TABLES.seeds();
  const byName = new Map(seeds.map((seed) => [seed.name, seed]));
  let rows = 0, fields = 0;
  for (const { name, bytes } of seeds) {
    const wide = byName.get(`wide ${name}`);
    if (wide === undefined) continue;
    assert(wide.bytes.length > bytes.length, name);
    const expected = await parquetRows(bytes);
    assertEquals(await parquetRows(wide.bytes), expected, name);
    rows += expected.length;
    for (const { offset, size } of wide.fields ?? []) {
      assert(offset + size <= wide.bytes.length, name);
      fields++;
    }
  }
  assert(rows > 50 && fields > 1000, `${rows} rows, ${fields} fields`);
});
