import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { MapLayers } from "./machine_layers.ts";

const range = fc.record({
  from: fc.integer({ min: 0, max: 60 }),
  pages: fc.integer({ min: 1, max: 20 }),
  /** Which of the layers so far it lies on: the last one, or an earlier one, as after a fork. */
  on: fc.option(fc.nat(), { nil: undefined, freq: 10 }),
});

/** What a page's number is multiplied with, so that both halves of addresses count. */
const PAGE = 2 ** 30;

Deno.test("layers: each is a table of pages, in which the last map counts", () => {
  fc.assert(
    fc.property(fc.array(range, { minLength: 1, maxLength: 200 }), (steps) => {
      const starts: number[] = [];
      const ends: number[] = [];
      const layers = new MapLayers();
      const known = [0];
      const tables: (readonly number[])[] = [new Array(80).fill(-1)];
      steps.forEach(({ from, pages, on }, map) => {
        starts.push(from * PAGE);
        ends.push((from + pages) * PAGE);
        const at = on === undefined ? known.length - 1 : on % known.length;
        known.push(layers.push(known[at] as number, map));
        tables.push(
          (tables[at] as number[]).map((old, page) =>
            page >= from && page < from + pages ? map : old
          ),
        );
      });
      const high = (addresses: number[]) => Uint32Array.from(addresses, (a) => a / 2 ** 32);
      const low = (addresses: number[]) => Uint32Array.from(addresses, (a) => a % 2 ** 32);
      const ranges = {
        startHi: high(starts),
        startLo: low(starts),
        endHi: high(ends),
        endLo: low(ends),
      };
      known.forEach((layer, i) => {
        const table = tables[i] as readonly number[];
        const found = table.map((map, page) => {
          const address = page * PAGE + 1234;
          const at = layers.find(layer, address / 2 ** 32, address % 2 ** 32, ranges);
          // Where the answer is the same, the table has the same.
          const first = Math.ceil((layers.fromHi * 2 ** 32 + layers.fromLo) / PAGE);
          const after = Math.ceil((layers.toHi * 2 ** 32 + layers.toLo) / PAGE);
          for (let near = first; near < Math.min(after, table.length); near++) {
            assertEquals(table[near], map);
          }
          return at;
        });
        assertEquals(found, table);
      });
    }),
    { numRuns: 30 },
  );
});

Deno.test("layers: their maps, the lowest first", () => {
  const layers = new MapLayers();
  const first = layers.push(0, 4);
  const second = layers.push(first, 2);
  assertEquals(layers.maps(layers.push(first, 9)), [4, 9]);
  assertEquals(layers.maps(second), [4, 2]);
  assertEquals(layers.maps(0), []);
});
