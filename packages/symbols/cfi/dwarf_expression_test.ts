import { assertEquals, assertThrows } from "@std/assert";
import { DwarfError } from "../dwarf/dwarf_error.ts";
import { evaluateExpression, type FrameState } from "./dwarf_expression.ts";
import { ExpressionTable } from "./frame_rules.ts";

/**
 * Register n holds 1000 n, register 7 a kernel address; register 9 is unknown. The memory at
 * address a holds a + 1.
 */
const STATE: FrameState = {
  register: (n) => n === 9 ? NaN : n === 7 ? -0x1000 : n * 1000,
  memory: (address, size) => address >= 0x8000 ? NaN : (address + 1) % 2 ** (8 * size),
};

function evaluate(bytes: number[], size: 4 | 8 = 8, initial?: number): number {
  const table = new ExpressionTable(Uint8Array.from(bytes), true);
  return evaluateExpression(table, table.add(0, bytes.length), initial, size, STATE);
}

Deno.test("evaluateExpression: each operation gives the value computed by hand", () => {
  // breg2 -8
  assertEquals(evaluate([0x72, 0x78]), 1992);
  // CFA, plus_uconst 300
  assertEquals(evaluate([0x23, 0xac, 0x02], 8, 5000), 5300);
  // breg1 0, deref; deref_size 2 of 0x7001
  assertEquals(evaluate([0x71, 0, 0x06]), 1001);
  assertEquals(evaluate([0x0a, 0xff, 0x7e, 0x94, 1]), 0);
  // addr, const1s, const2s, const4s, const8s, consts
  assertEquals(evaluate([0x03, 1, 2, 3, 4, 0, 0, 0, 0]), 0x04030201);
  assertEquals(evaluate([0x09, 0xff]), -1);
  assertEquals(evaluate([0x0b, 0xfe, 0xff]), -2);
  assertEquals(evaluate([0x0d, 0xfd, 0xff, 0xff, 0xff]), -3);
  assertEquals(evaluate([0x0f, 0xfc, 255, 255, 255, 255, 255, 255, 255]), -4);
  assertEquals(evaluate([0x11, 0x7f]), -1);
  // lit1 lit2 lit3 rot: 3 1 2; swap: 3 2 1; over: 3 2 1 2; pick 3: 3
  assertEquals(evaluate([0x31, 0x32, 0x33, 0x17]), 2);
  assertEquals(evaluate([0x31, 0x32, 0x33, 0x17, 0x16]), 1);
  assertEquals(evaluate([0x31, 0x32, 0x33, 0x17, 0x16, 0x14]), 2);
  assertEquals(evaluate([0x31, 0x32, 0x33, 0x15, 2]), 1);
  // dup, mul, neg, abs, not
  assertEquals(evaluate([0x35, 0x12, 0x1e]), 25);
  assertEquals(evaluate([0x35, 0x1f]), -5);
  assertEquals(evaluate([0x35, 0x1f, 0x19]), 5);
  assertEquals(evaluate([0x30, 0x20]), -1);
  // -7 / 2, 7 mod 4, 12 - 5
  assertEquals(evaluate([0x09, 0xf9, 0x32, 0x1b]), -3);
  assertEquals(evaluate([0x37, 0x34, 0x1d]), 3);
  assertEquals(evaluate([0x3c, 0x35, 0x1c]), 7);
  // 1 << 40, -1 >> 60 unsigned, -16 >> 2 signed, a shift too far
  assertEquals(evaluate([0x31, 0x08, 40, 0x24]), 2 ** 40);
  assertEquals(evaluate([0x09, 0xff, 0x08, 60, 0x25]), 15);
  assertEquals(evaluate([0x09, 0xf0, 0x32, 0x26]), -4);
  assertEquals(evaluate([0x31, 0x08, 64, 0x24]), 0);
  // kernel address & 0xffff, | 1, ^ itself
  assertEquals(evaluate([0x77, 0, 0x0a, 0xff, 0xff, 0x1a]), 0xf000);
  assertEquals(evaluate([0x77, 0, 0x31, 0x21]), -0xfff);
  assertEquals(evaluate([0x77, 0, 0x77, 0, 0x27]), 0);
  // comparisons are signed
  assertEquals(evaluate([0x77, 0, 0x30, 0x2d]), 1);
  assertEquals(evaluate([0x77, 0, 0x30, 0x2a]), 0);
  // bra over lit2, skip over lit3
  assertEquals(evaluate([0x34, 0x31, 0x28, 1, 0, 0x32]), 4);
  assertEquals(evaluate([0x34, 0x2f, 1, 0, 0x33]), 4);
  // 32-bit values wrap
  assertEquals(evaluate([0x30, 0x31, 0x1c], 4), 0xffffffff);
  assertEquals(evaluate([0x0c, 0xff, 0xff, 0xff, 0xff, 0x31, 0x22], 4), 0);
});

Deno.test("evaluateExpression: the CFA of a PLT stub depends on the address within the stub", () => {
  // rsp + 8 + ((rip & 15) >= 11) << 3, as linkers write it; breg16 is the address.
  const plt = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
  const table = new ExpressionTable(Uint8Array.from(plt), true);
  const number = table.add(0, plt.length);
  const sp = 0x7fff12345678;
  const at = (ip: number): number =>
    evaluateExpression(table, number, undefined, 8, {
      register: (n) => n === 7 ? sp : n === 16 ? ip : NaN,
      memory: () => NaN,
    });
  assertEquals(at(0x55554444333a), sp + 8);
  assertEquals(at(0x55554444333b), sp + 16);
  assertEquals(at(0x555544443336), sp + 8);
});

Deno.test("evaluateExpression: unknown inputs give NaN, malformed expressions throw", () => {
  assertEquals(evaluate([0x79, 0]), NaN);
  assertEquals(evaluate([0x79, 0, 0x31, 0x22, 0x06]), NaN);
  assertEquals(evaluate([0x0a, 0, 0x80, 0x06]), NaN);
  assertEquals(evaluate([0x79, 0, 0x28, 1, 0, 0x31]), NaN);
  for (
    const bytes of [
      [],
      [0x13],
      [0x22],
      [0x31, 0x30, 0x1b],
      [0x2f, 0xfd, 0xff],
      [0x31, 0x28, 100, 0],
      [0x2f, 0x80, 0xff],
      [0xe0],
      [0x0c, 1, 2],
      [0x31, 0x12, 0x2f, 0xfc, 0xff],
      [0x31, 0x94, 3],
    ]
  ) {
    assertThrows(() => evaluate(bytes), DwarfError, "expression: 0x", bytes.join(" "));
  }
});
