import type { DataType } from "@perfdata/symbols/dwarf";
import { assertEquals } from "@std/assert";
import { DEEPEST_FIELD, fieldAt } from "./data_field.ts";
import { addCount, TypeSums } from "./type_sums.ts";

type Field = readonly [name: string, offset: number, size: number, type?: DataType];

function type(kind: DataType["kind"], size: number, fields: readonly Field[] = []): DataType {
  return {
    ...{ kind, size, name: kind, target: undefined, meant: {} },
    fields: fields.map(([name, offset, size, type]) => ({ name, offset, size, type })),
  };
}

const INT = type("scalar", 4);
const PAIR = type("structure", 8, [["x", 0, 4, INT], ["y", 4, 4, INT]]);
const arrayOf = (target: DataType, size: number): DataType => ({ ...type("array", size), target });

Deno.test("fieldAt: an offset has the field around it, up to its last byte, and none between fields", () => {
  const padded = type("structure", 16, [["a", 0, 1, INT], ["p", 4, 8, PAIR]]);
  assertEquals([0, 1, 3, 4, 7, 8, 11, 12].map((offset) => fieldAt(padded, offset)), [
    ...["a", "", "", "p.x", "p.x", "p.y", "p.y", ""],
  ]);
});

Deno.test("fieldAt: fields of an unnamed structure belong to the structure around it", () => {
  const outer = type("structure", 12, [["", 0, 8, PAIR], ["", 8, 4, INT]]);
  assertEquals([0, 4, 8].map((offset) => fieldAt(outer, offset)), ["x", "y", ""]);
});

Deno.test("fieldAt: in a union, the member that begins at the offset is found, otherwise the first", () => {
  const union = type("structure", 8, [["whole", 0, 8, type("scalar", 8)], ["pair", 0, 8, PAIR]]);
  assertEquals([0, 4, 5].map((offset) => fieldAt(union, offset)), ["whole", "pair.y", "whole"]);
});

Deno.test("fieldAt: elements of arrays have the same path", () => {
  const outer = type("structure", 28, [
    ["list", 0, 24, arrayOf(PAIR, 24)],
    ["numbers", 24, 4, arrayOf(INT, 4)],
  ]);
  assertEquals([0, 12, 20, 24].map((offset) => fieldAt(outer, offset)), [
    ...["list[].x", "list[].y", "list[].y", "numbers"],
  ]);
  assertEquals(fieldAt(arrayOf(PAIR, 24), 20), "[].y");
  assertEquals(fieldAt(arrayOf(arrayOf(PAIR, 16), 32), 28), "[].y");
  assertEquals(fieldAt(arrayOf(type("structure", 0), 0), 0), "");
});

Deno.test("fieldAt: a type that contains itself is bounded", () => {
  let inner: DataType = INT;
  for (let i = 0; i < DEEPEST_FIELD + 5; i++) inner = type("structure", 4, [["f", 0, 4, inner]]);
  // One level more than the limit.
  assertEquals(fieldAt(inner, 0).split(".").length, DEEPEST_FIELD + 1);
});

Deno.test("TypeSums: samples without a type are counted by cause, and all samples in the total", () => {
  const sums = new TypeSums();
  const [cause] = [...sums.without.keys()];
  if (cause === undefined) throw new Error("no cause");
  sums.add({ cause }, { samples: 2, period: 30 });
  sums.add({ type: INT, offset: 0 } as never, { samples: 1, period: 5 });
  sums.add({ cause }, { samples: 1, period: 10 });
  assertEquals(sums.total, { samples: 4, period: 45 });
  assertEquals(sums.without.get(cause), { samples: 3, period: 40 });
  const to = { samples: 1, period: 2 };
  addCount(to, { samples: 10, period: 20 });
  assertEquals(to, { samples: 11, period: 22 });
});
