import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { findPsb } from "./psb.ts";

Deno.test("findPsb: gives the same offset as a plain search", () => {
  const pattern = "0282".repeat(8);
  const parts = fc.constantFrom("0282".repeat(8), "02", "82", "0282".repeat(7), "0000", "8202");
  fc.assert(fc.property(fc.array(parts), fc.nat(40), fc.nat(40), (texts, from, less) => {
    const bytes = Uint8Array.from(texts.join("").match(/../g) ?? [], (pair) => parseInt(pair, 16));
    const to = Math.max(0, bytes.length - less);
    const hex = [...bytes.subarray(0, to)].map((byte) => byte.toString(16).padStart(2, "0"));
    let expected = -1;
    for (let at = from; at + 16 <= to && expected < 0; at++) {
      if (hex.slice(at, at + 16).join("") === pattern) expected = at;
    }
    assertEquals(findPsb(bytes, from, to), expected);
  }));
});
