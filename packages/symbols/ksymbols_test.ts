import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Ksymbols } from "./ksymbols.ts";

Deno.test("the table after any sequence of records is that of an array of bytes", () => {
  const step = fc.record({
    register: fc.boolean(),
    start: fc.integer({ min: -100, max: 100 }),
    length: fc.integer({ min: 1, max: 30 }),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    const ksymbols = new Ksymbols();
    let live: { start: number; end: number; name: string }[] = [];
    steps.forEach(({ register, start, length }, i) => {
      if (register) {
        const end = start + length;
        live = live.filter((s) => s.end <= start || s.start >= end);
        live.push({ start, end, name: `s${i}` });
        ksymbols.register(start, length, `s${i}`);
      } else {
        live = live.filter((s) => s.start !== start);
        ksymbols.unregister(start);
      }
    });
    assertEquals(ksymbols.size, live.length);
    for (let at = -101; at < 135; at++) {
      const expected = live.find((s) => at >= s.start && at < s.end)?.name;
      assertEquals(ksymbols.lookup(at)?.name, expected);
    }
  }));
});
