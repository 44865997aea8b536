import { assertEquals } from "@std/assert";
import { bytesOf, textOf } from "../testing.ts";
import {
  discriminatorOf,
  type FunctionSamples,
  lineOffsetOf,
  locationOf,
  type SampleProfile,
} from "./sample_profile.ts";
import { autofdoBinary } from "./sample_profile_binary.ts";
import { autofdoText } from "./sample_profile_text.ts";

const NAMES = ["main", "work", "add", "zero"];
const [MAIN, WORK, ADD, ZERO] = [0, 1, 2, 3] as const;

function samples(
  name: number,
  total: number,
  head: number,
  lines: readonly (readonly [number, number, number, [number, number][]?])[],
  inlined: readonly (readonly [number, number, FunctionSamples[]])[] = [],
): FunctionSamples {
  return {
    ...{ name, total, head },
    lines: new Map(lines.map(([line, discriminator, count, targets]) => [
      locationOf(line, discriminator),
      { count, targets: targets && new Map(targets) },
    ])),
    inlined: new Map(inlined.map(([line, discriminator, functions]) => [
      locationOf(line, discriminator),
      new Map(functions.map((each) => [each.name, each])),
    ])),
  };
}

const PROFILE: SampleProfile = {
  names: NAMES,
  functions: [
    samples(MAIN, 3000, 2, [[7, 0, 5], [2, 3, 900, [[ZERO, 4], [WORK, 9], [ADD, 4]]], [2, 0, 6]], [
      [3, 1, [samples(WORK, 40, 0, [[1, 0, 8]], [[1, 2, [samples(ADD, 10, 0, [[0, 0, 1]])]]])]],
      [1, 0, [samples(ZERO, 7, 0, []), samples(ADD, 6, 0, [])]],
    ]),
    samples(WORK, 200, 300, [[1, 0, 300]]),
  ],
  isFlowSensitive: false,
  impossible: 0,
  named: 1,
};

Deno.test("locationOf: line and discriminator are recovered from the number", () => {
  for (const [line, discriminator] of [[0, 0], [1, 0], [0xffff, 2 ** 32 - 1], [3, 7]] as const) {
    const location = locationOf(line, discriminator);
    assertEquals([lineOffsetOf(location), discriminatorOf(location)], [line, discriminator]);
  }
});

Deno.test("autofdoText: lines are sorted, then inlined functions; call targets by frequency", async () => {
  assertEquals(
    await textOf(autofdoText(PROFILE)),
    [
      "main:3000:2",
      " 2: 6",
      " 2.3: 900 work:9 add:4 zero:4",
      " 7: 5",
      " 1: add:6",
      " 1: zero:7",
      " 3.1: work:40",
      "  1: 8",
      "  1.2: add:10",
      "   0: 1",
      "work:200:300",
      " 1: 300",
      "",
    ].join("\n"),
  );
});

/** Reads ULEB128 numbers and strings, as LLVM's SampleProfReader does. */
class Cursor {
  at: number;
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  number(): number {
    let value = 0, factor = 1;
    for (;;) {
      const byte = this.bytes[this.at++] as number;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }

  text(): string {
    const end = this.bytes.indexOf(0, this.at);
    const text = new TextDecoder().decode(this.bytes.subarray(this.at, end));
    this.at = end + 1;
    return text;
  }
}

/** The sections by type, with their flags in the upper half of a word. */
function sectionsOf(bytes: Uint8Array): Map<number, { bytes: Uint8Array; flags: bigint }> {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  assertEquals(bytes[9], 103);
  const count = Number(view.getBigUint64(10, true));
  return new Map(Array.from({ length: count }, (_, i) => {
    const [type, flags, offset, size] = [0, 8, 16, 24].map((at) =>
      view.getBigUint64(18 + 32 * i + at, true)
    ) as [bigint, bigint, bigint, bigint];
    const content = bytes.slice(Number(offset), Number(offset + size));
    return [Number(type), { bytes: content, flags }];
  }));
}

function namesOf(bytes: Uint8Array): string[] {
  const cursor = new Cursor(bytes);
  return Array.from({ length: cursor.number() }, () => cursor.text());
}

/** A function in the text format. */
function readFunction(
  cursor: Cursor,
  names: readonly string[],
  depth: number,
  head = "",
): string[] {
  const name = names[cursor.number()];
  const lines = [`${name}:${cursor.number()}${head}`];
  const place = () => {
    const [line, discriminator] = [cursor.number(), cursor.number()];
    return `${" ".repeat(depth + 1)}${line}${discriminator === 0 ? "" : `.${discriminator}`}: `;
  };
  for (let count = cursor.number(); count > 0; count--) {
    let line = `${place()}${cursor.number()}`;
    for (let calls = cursor.number(); calls > 0; calls--) {
      line += ` ${names[cursor.number()]}:${cursor.number()}`;
    }
    lines.push(line);
  }
  for (let count = cursor.number(); count > 0; count--) {
    const at = place();
    const [first, ...rest] = readFunction(cursor, names, depth + 1);
    lines.push(`${at}${first}`, ...rest);
  }
  return lines;
}

Deno.test("autofdoBinary: decoded, it equals the text format", async () => {
  const sections = sectionsOf(await bytesOf(autofdoBinary(PROFILE)));
  const names = namesOf(sections.get(2)?.bytes ?? new Uint8Array());
  assertEquals(names, ["add", "main", "work", "zero"]);
  const table = new Cursor(sections.get(4)?.bytes ?? new Uint8Array());
  const lines: string[] = [];
  const functions = sections.get(32)?.bytes ?? new Uint8Array();
  const count = table.number();
  assertEquals(count, 2);
  for (let i = 0; i < count; i++) {
    const name = names[table.number()];
    const cursor = new Cursor(functions, table.number());
    const head = cursor.number();
    const found = readFunction(cursor, names, 0, `:${head}`);
    assertEquals(found[0]?.split(":")[0], name);
    lines.push(...found);
    if (i === count - 1) assertEquals(cursor.at, functions.length);
  }
  assertEquals(table.at, table.bytes.length);
  assertEquals(lines.join("\n") + "\n", await textOf(autofdoText(PROFILE)));
});

Deno.test("autofdoBinary: the summary has sums, and for each cutoff the smallest needed count", async () => {
  const cursor = new Cursor(
    sectionsOf(await bytesOf(autofdoBinary(PROFILE))).get(1)?.bytes ?? new Uint8Array(),
  );
  const number = () => cursor.number();
  // 900 + 300 + 8 + 6 + 5 + 1 in 6 lines; the largest head is 300, of 2 functions.
  assertEquals([number(), number(), number(), number(), number()], [1220, 900, 300, 6, 2]);
  const cutoffs = Array.from({ length: number() }, () => [number(), number(), number()] as const);
  assertEquals(cursor.at, cursor.bytes.length);
  assertEquals(cutoffs.length, 16);
  // Counts by size: 900 reaches 73 %, 1200 98.3 %, then 1208, 1214, 1219, 1220.
  const sums = [900, 1200, 1208, 1214, 1219, 1220], counts = [900, 300, 8, 6, 5, 1];
  for (const [cutoff, least, seen] of cutoffs) {
    const wanted = Math.floor(1220 * cutoff / 1e6);
    const lines = sums.findIndex((sum) => sum >= wanted) + 1;
    assertEquals([cutoff, least, seen], [cutoff, counts[lines - 1], lines]);
  }
});

Deno.test("autofdoBinary: equal counts are in the summary together", async () => {
  const lines = [1, 2, 3].map((line) => [line, 0, 10] as const);
  const functions = [samples(MAIN, 30, 0, lines)];
  const bytes = await bytesOf(autofdoBinary({ ...PROFILE, functions }));
  const cursor = new Cursor(sectionsOf(bytes).get(1)?.bytes ?? new Uint8Array());
  assertEquals(Array.from({ length: 9 }, () => cursor.number()), [
    ...[30, 10, 0, 3, 1, 16, 10_000],
    // 1 % of 30 is 0, which no line is needed for.
    ...[0, 0],
  ]);
  assertEquals(Array.from({ length: 3 }, () => cursor.number()), [100_000, 10, 3]);
});

Deno.test("autofdoBinary: flags mark late discriminators and unique names", async () => {
  const flags = async (profile: SampleProfile) => {
    const sections = sectionsOf(await bytesOf(autofdoBinary(profile)));
    return [sections.get(1)?.flags, sections.get(2)?.flags];
  };
  assertEquals(await flags(PROFILE), [0n, 0n]);
  const names = ["main.__uniq.12", ...NAMES.slice(1)];
  assertEquals(await flags({ ...PROFILE, names, isFlowSensitive: true }), [4n << 32n, 4n << 32n]);
});
