import { assert, assertEquals, assertRejects } from "@std/assert";
import { bytesSource, PerfDataError } from "@perfdata/format/bytes";
import { importPprof, valueEvents } from "./import_pprof.ts";
import { importedLines } from "./testing.ts";

/** A varint. */
function varint(value: number | bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}
const int = (field: number, value: number | bigint) => [...varint(field << 3), ...varint(value)];
const part = (field: number, ...content: number[][]) => {
  const bytes = content.flat();
  return [...varint(field << 3 | 2), ...varint(bytes.length), ...bytes];
};
const text = (field: number, value: string) => part(field, [...new TextEncoder().encode(value)]);
const packed = (field: number, ...values: (number | bigint)[]) =>
  part(field, values.flatMap((value) => varint(value)));

const STRINGS = [
  ...["", "samples", "count", "cpu", "nanoseconds", "/bin/demo", "main", "inl", "a.c"],
  ...["thread name", "worker", "tid", "[demo]", "[kernel.kallsyms]", "sys"],
].map((value) => text(6, value));

/**
 * Two values: samples and cpu. Samples are before the tables that they refer to, as Go may write
 * them.
 */
const PARTS = [
  int(9, 1_700_000_000_000_000_000n),
  part(1, int(1, 1), int(2, 2)),
  part(1, int(1, 3), int(2, 4)),
  part(2, packed(1, 1, 2), packed(2, 3, 30)),
  // Numbers that are not packed, and labels.
  part(
    2,
    [...int(1, 2), ...int(2, 1), ...int(2, 2 ** 53 - 1)],
    part(3, int(1, 9), int(2, 10)),
    part(3, int(1, 11), int(3, 8)),
  ),
  part(2, packed(1, 3, 2), packed(2, -2, -20)),
  part(3, int(1, 1), int(2, 0x1000), int(3, 0x2000), int(5, 5)),
  part(3, int(1, 2), int(5, 13)),
  part(
    4,
    int(1, 1),
    int(2, 1),
    int(3, 0x1010),
    part(4, int(1, 2), int(2, 7)),
    part(4, int(1, 1), int(2, 9)),
  ),
  part(4, int(1, 2), int(2, 1), int(3, 0x1000), part(4, int(1, 3))),
  part(4, int(1, 3), int(2, 2), int(3, 0xffff_ffff_8100_0000n), part(4, int(1, 4))),
  part(5, int(1, 1), int(2, 6), int(4, 8)),
  part(5, int(1, 2), int(2, 7), int(4, 8)),
  part(5, int(1, 3), int(2, 12)),
  part(5, int(1, 4), int(3, 14)),
  ...STRINGS,
];

const imported = (parts: readonly number[][], options = {}) =>
  importPprof(bytesSource(Uint8Array.from(parts.flat())), { title: "t", ...options });

Deno.test("importPprof: samples, inlined lines, labels, and negative values", async () => {
  const profile = await imported(PARTS);
  assertEquals(profile.events, [{ name: "cpu", unit: "nanoseconds" }]);
  assertEquals(importedLines(profile), [
    "cpu; demo -1/-1; 3; 30; [demo]@demo > main@demo:a.c:9 > inl@demo:a.c:7/4",
    `cpu; worker -1/8; 1; ${2 ** 53 - 1}; [demo]@demo`,
    "cpu; demo -1/-1; -2; -20; [demo]@demo > sys@[kernel.kallsyms]/1",
  ]);
  // The name that exports write for code without a name is imported as no name.
  assertEquals(profile.functions.name.includes(""), true);
  assertEquals([...profile.places.address].includes(-0x7f00_0000), true);
  const chosen = await imported(PARTS, { filter: { tids: new Set([8]) } });
  assertEquals(importedLines(chosen).length, 1);
});

Deno.test("valueEvents: numbers of samples belong to the sum after them", () => {
  const of = (...types: string[]) => {
    const { events, values } = valueEvents(types.map((each) => {
      const [type = "", unit = ""] = each.split("/");
      return { type, unit };
    }));
    return events.map(({ name }, i) => [name, values[i]?.count, values[i]?.period]);
  };
  assertEquals(of("samples/count", "cpu/nanoseconds"), [["cpu", 0, 1]]);
  assertEquals(of("a_samples/count", "a/count", "b_samples/count", "b/nanoseconds"), [
    ["a", 0, 1],
    ["b", 2, 3],
  ]);
  assertEquals(of("alloc_objects/count", "alloc_space/bytes"), [["alloc_space (bytes)", 0, 1]]);
  assertEquals(of("goroutine/count"), [["goroutine", 0, 0]]);
  assertEquals(of("wall/nanoseconds"), [["wall", -1, 0]]);
});

Deno.test("importPprof: what samples, locations and lines refer to is decoded once", async () => {
  const long = "x".repeat(1 << 20);
  const many = (count: number, make: (i: number) => number[]) =>
    Array.from({ length: count }, (_, i) => make(i));
  const profile = await imported([
    part(1, int(1, 1), int(2, 2)),
    // 20,000 times 1 MB would take minutes.
    ...many(20_000, (i) => part(2, packed(1, i + 1), packed(2, 1), part(3, int(1, 9), int(2, 3)))),
    part(3, int(1, 1), int(5, 3)),
    ...many(20_000, (i) => part(4, int(1, i + 1), int(2, 1), part(4, int(1, 1), int(2, i + 1)))),
    part(5, int(1, 1), int(2, 3), text(15, long)),
    ...["", "samples", "count", long, "", "", "", "", "", "comm"].map((value) => text(6, value)),
  ]);
  assertEquals(profile.samples.length, 20_000);
  assertEquals([profile.functions.name.length, profile.threads.length], [1, 1]);
});

Deno.test("importPprof: damage throws with the offset", async () => {
  const without = (at: number, ...instead: number[][]) => PARTS.toSpliced(at, 1, ...instead);
  const damaged: [parts: number[][], message: string][] = [
    [[int(9, 1)], "no type of values"],
    [Array(300).fill(PARTS[1]), "300 types of values, expected at most 256"],
    [without(8), "no location 1"],
    [without(11), "no function 1"],
    [PARTS.slice(0, -1), "no string 14 of 14"],
    [[...PARTS, [0x12, 0x7f, 0x0a]], "field 2 has 127 bytes, its message fewer"],
    [[...PARTS, [0x12, 0x80]], "a number is cut"],
    [[...PARTS, [0x48, ...Array(11).fill(0xff)]], "a number has more than 64 bits"],
    [[...PARTS, [0x13]], "field 2 is of wire type 3"],
    [[...PARTS, [0x00, 0x00]], "a field without a number"],
    [without(3, part(2, [0x0a, 0x01, 0x80])), "a number is cut"],
  ];
  for (const [parts, message] of damaged) {
    const error = await assertRejects(() => imported(parts), PerfDataError, message);
    if (/^(field|a number|a field)/.test(message)) assert(error.offset !== undefined, message);
  }
  // Fields of fixed size and unknown fields are skipped.
  const more = [...PARTS, [99 << 3 & 0x7f | 0x81, 0x06, ...Array(8).fill(1)], [0x7d, 1, 2, 3, 4]];
  assertEquals(importedLines(await imported(more)).length, 3);
});
