import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { NameTable } from "./machine_names.ts";

Deno.test("NameTable: equal bytes have equal indices, and an index gives the bytes", () => {
  const name = fc.uint8Array({ maxLength: 12, max: 3 });
  fc.assert(fc.property(fc.array(name, { maxLength: 400 }), (all) => {
    const names = new NameTable();
    const numbers = new Map<string, number>();
    for (const bytes of all) {
      const id = names.intern(bytes, 0, bytes.length);
      const known = numbers.get(bytes.join());
      if (known !== undefined) assertEquals(id, known);
      numbers.set(bytes.join(), id);
      assertEquals(names.get(id).join(), bytes.join());
    }
    assertEquals(names.count, numbers.size);
  }));
});

Deno.test("NameTable.internUntilNul: a name ends at a NUL, or at the end of the record", () => {
  const names = new NameTable();
  const bytes = new TextEncoder().encode("ab\0cd");
  assertEquals(names.text(names.internUntilNul(bytes, 0, 5)), "ab");
  assertEquals(names.text(names.internUntilNul(bytes, 3, 5)), "cd");
  assertEquals(names.internText("ab"), names.internUntilNul(bytes, 0, 5));
});
