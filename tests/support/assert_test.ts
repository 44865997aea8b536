/** `assertEquals` of tests accepts exactly the values that the library calls equal. */
import { assertEquals, assertThrows } from "@std/assert";
import { assertEquals as assertDeepEquals } from "@std/assert/mod";

const VALUES: readonly (readonly [name: string, a: unknown, b: unknown])[] = [
  ["equal arrays", [1, "a", 2n, [NaN, null]], [1, "a", 2n, [NaN, null]]],
  ["equal objects in arrays", [{ a: 1 }], [{ a: 1 }]],
  ["another element", [1, 2], [1, 3]],
  ["another length", [1, 2], [1]],
  ["another kind of number", [1], [1n]],
  ["zeros of both signs", [0], [-0]],
  // deno-lint-ignore no-sparse-arrays
  ["a hole and undefined", [1, , 3], [1, undefined, 3]],
  ["an array in an array", [[1, [2]]], [[1, [3]]]],
  ["equal bytes", Uint8Array.of(1, 2), Uint8Array.of(1, 2)],
  ["other bytes", Uint8Array.of(1, 2), Uint8Array.of(1, 3)],
  ["bytes and an array", Uint8Array.of(1), [1]],
  ["bytes of two classes", Uint8Array.of(1), Uint8ClampedArray.of(1)],
  ["bytes and a buffer", Uint8Array.of(1), new class extends Uint8Array {}([1])],
];

/** Whether an assertion fails. */
function fails(assertion: () => void): boolean {
  try {
    assertion();
    return false;
  } catch {
    return true;
  }
}

for (const [name, a, b] of VALUES) {
  Deno.test(`assertEquals: ${name} get the library's answer`, () => {
    assertDeepEquals(fails(() => assertEquals(a, b)), fails(() => assertDeepEquals(a, b)));
  });
}

Deno.test("assertEquals: arrays that differ in one element fail with the library's message", () => {
  const large = Array.from({ length: 1000 }, (_, i) => i);
  assertThrows(() => assertEquals(large, large.with(500, -1)), Error, "Values are not equal");
});
