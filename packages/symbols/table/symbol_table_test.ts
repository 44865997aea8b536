import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { STB } from "../elf/elf_constants.ts";
import { SymbolTableBuilder } from "./symbol_table_builder.ts";

const none = new Uint8Array(0);

interface Range {
  start: number;
  size: number;
}

/** The range at an address, found by checking all ranges. */
function naive(ranges: readonly Range[], address: number, rule: "innermost" | "newest"): number {
  let best = -1;
  ranges.forEach(({ start, size }, i) => {
    if (address < start || address >= start + Math.max(size, 1)) return;
    const winner = ranges[best];
    if (winner === undefined || rule === "newest" || start >= winner.start) best = i;
  });
  return best;
}

const clusters = fc.array(
  fc.record({
    start: fc.oneof(
      fc.integer({ min: 0, max: 600 }),
      fc.integer({ min: 0x7f0000000000, max: 0x7f0000001000 }),
      fc.integer({ min: -0x80000000, max: -0x7ffff000 }),
      fc.integer({ min: 0, max: 2 ** 47 }),
    ),
    size: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 5_000_000 })),
  }),
  { minLength: 1, maxLength: 60 },
);

for (const rule of ["innermost", "newest"] as const) {
  Deno.test(`SymbolTable.lookup: random symbols are found as by a full search (${rule})`, () => {
    fc.assert(fc.property(clusters, (ranges) => {
      const builder = new SymbolTableBuilder();
      const strings = builder.addStrings(none);
      for (const { start, size } of ranges) {
        builder.add(start, size, { strings, offset: 0, length: 0 });
      }
      const table = builder.build(rule);
      const clipped = ranges.map(({ start, size }) => ({
        start,
        size: start < 0 ? Math.min(size, -start) : size,
      }));
      for (const { start, size } of clipped) {
        for (const address of [start - 1, start, start + 1, start + size - 1, start + size]) {
          const index = table.lookup(address);
          const found = index < 0 ? -1 : table.ordinal(index);
          assertEquals(found, naive(clipped, address, rule), `${address}`);
        }
      }
    }));
  });
}

Deno.test("SymbolTable: a large table is sorted, and every symbol is found", () => {
  const count = 100_000;
  const builder = new SymbolTableBuilder();
  const strings = builder.addStrings(none);
  for (let i = 0; i < count; i++) {
    // A permutation: 7919 and the count have no common factor.
    const place = (i * 7919) % count;
    builder.add(0x400000 + place * 32, 16, { strings, offset: 0, length: 0 });
  }
  builder.fixup();
  const table = builder.build();
  assertEquals(table.size, count);
  for (let i = 0; i < count; i++) {
    assert(table.lookup(0x400000 + i * 32 + 15) === i);
    assert(table.lookup(0x400000 + i * 32 + 16) === -1);
  }
});

/** The alias that is kept; aliases are given as name, size and binding. */
function kept(...symbols: [string, number, number][]): string {
  const builder = new SymbolTableBuilder();
  for (const [name, size, binding] of symbols) {
    const bytes = new TextEncoder().encode(name);
    builder.add(0x1000, size, {
      strings: builder.addStrings(bytes),
      offset: 0,
      length: bytes.length,
    }, binding);
  }
  builder.fixup();
  const table = builder.build();
  assertEquals(table.size, 1);
  return table.name(0);
}

Deno.test("SymbolTableBuilder.fixup: aliases are chosen by perf's criteria", () => {
  const { GLOBAL, LOCAL, WEAK } = STB;
  // In the order of the criteria. Each loser would win by all later criteria.
  assertEquals(kept(["global_longer", 0, GLOBAL], ["_weak", 4, WEAK]), "_weak");
  assertEquals(kept(["_local", 4, LOCAL], ["weak_longer", 4, WEAK]), "_local");
  assertEquals(kept(["_g", 4, GLOBAL], ["local_longer", 4, LOCAL]), "_g");
  assertEquals(kept(["a", 4, GLOBAL], ["_longer", 4, GLOBAL]), "a");
  assertEquals(kept(["a", 4, GLOBAL], ["longer", 4, GLOBAL]), "longer");
  assertEquals(kept(["first", 4, GLOBAL], ["other", 4, GLOBAL]), "first");
  assertEquals(kept(["SyS_read1", 4, GLOBAL], ["sys_read12".slice(0, 9), 4, GLOBAL]), "sys_read1");
});

Deno.test("SymbolTableBuilder.fixup: symbols without a size end where perf ends them", () => {
  const builder = new SymbolTableBuilder();
  const strings = builder.addStrings(none);
  builder.add(-0x7f000000, 0, { strings, offset: 0, length: 0 }, STB.GLOBAL, 2, 0);
  builder.add(-0x7effff00, 0, { strings, offset: 0, length: 0 }, STB.GLOBAL, 2, 0);
  builder.add(-0x3fffff80, 0, { strings, offset: 0, length: 0 }, STB.GLOBAL, 2, 1);
  builder.add(-0x3ffffe80, 0, { strings, offset: 0, length: 0 }, STB.GLOBAL, 2, 1);
  builder.add(0x10, 0, { strings, offset: 0, length: 0 }, STB.GLOBAL, 2, 0);
  builder.fixup({ splitGroups: true });
  const table = builder.build();
  assertEquals(
    Array.from({ length: 5 }, (_, i) => table.end(i)),
    // At the next symbol; at the next page's end (kernel to module); at the next symbol; last of
    // its half.
    [-0x7effff00, -0x7effe000, -0x3ffffe80, -0x3fffe000, 0x2000],
  );
});

Deno.test("SymbolTable: an empty table finds no symbol", () => {
  const table = new SymbolTableBuilder().build();
  assertEquals(table.lookup(0), -1);
  assertEquals(table.lookup(NaN), -1);
  assertEquals(table.name(-1), "");
  assertEquals(table.get(-1), undefined);
});

Deno.test("SymbolTableBuilder: symbols added later are sorted as if added at once", () => {
  const start = fc.integer({ min: 0, max: 0x4000 });
  fc.assert(fc.property(
    fc.array(start, { minLength: 64, maxLength: 200 }),
    fc.array(start, { minLength: 1, maxLength: 3 }),
    (early, late) => {
      const all = [...early.toSorted((a, b) => a - b), ...late]
        .map((address, i) => ({ address, name: `s${i}` }));
      const inOrder = all.toSorted((a, b) => a.address - b.address);
      const listed = (symbols: readonly { address: number; name: string }[]): string[] => {
        const builder = new SymbolTableBuilder();
        for (const { address, name } of symbols) {
          const strings = builder.addStrings(new TextEncoder().encode(name));
          builder.add(address, 1, { strings, offset: 0, length: name.length });
        }
        const table = builder.build();
        return Array.from({ length: table.size }, (_, i) => table.name(i));
      };
      assertEquals(listed(all), inOrder.map(({ name }) => name));
    },
  ));
});
