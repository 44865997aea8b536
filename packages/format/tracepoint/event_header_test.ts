import { assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import type { TracingData } from "../features/tracing_data.ts";
import { TracepointFormats } from "./tracepoint_formats.ts";
import { TracepointText } from "./tracepoint_text.ts";

const FIELDS = ["u8 eventheader_flags", "u8 version", "u16 id", "u16 tag", "u8 opcode", "u8 level"];

/** The format in the kernel of an event that a program has registered. */
const DESCRIPTION = (() => {
  let offset = 8;
  const fields = FIELDS.map((field) => {
    const size = field.startsWith("u16") ? 2 : 1;
    offset += size;
    return `\tfield:${field};\toffset:${offset - size};\tsize:${size};\tsigned:0;`;
  });
  return "name: MyProvider_L5K1\nID: 7\nformat:\n" +
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" +
    `${fields.join("\n")}\n\nprint fmt: "level=%u", REC->level\n`;
})();

const TRACING = {
  ...{ version: "0.6", bigendian: 0, long_size: 8, page_size: 4096 },
  ...{ header_page: "", header_event: "", ftrace_formats: [], kallsyms: "" },
  systems: [{ name: "user_events", formats: [DESCRIPTION] }],
  ...{ printk_formats: "", saved_cmdlines: "" },
} as TracingData;

const name = (text: string) => [...new TextEncoder().encode(text), 0];
const u16 = (value: number, le = true) =>
  le ? [value & 255, value >> 8] : [value >> 8, value & 255];

/** Raw data of an event: the header, its extensions, and the payload. */
function event(
  extensions: readonly (readonly [kind: number, data: number[]])[],
  payload: number[],
  le = true,
): Uint8Array {
  const flags = (le ? 2 : 0) | 1 | (extensions.length > 0 ? 4 : 0);
  return Uint8Array.from([
    ...[7, 0, 0, 0, 0, 0, 0, 0],
    ...[flags, 0, 0, 0, 0, 0, 0, 5],
    ...extensions.flatMap(([kind, data], i) => [
      ...u16(data.length, le),
      ...u16(kind | (i < extensions.length - 1 ? 0x8000 : 0), le),
      ...data,
    ]),
    ...payload,
  ]);
}

function text(bytes: Uint8Array): string {
  const printer = new TracepointText(new TracepointFormats(TRACING), () => undefined);
  const view = new DataView(bytes.buffer);
  return new TextDecoder().decode(printer.text(7, bytes, view, 0, bytes.length));
}

/** The text of an event of one field. */
const field = (definition: number[], payload: number[]) =>
  text(event([[1, [...name("E"), ...name("f"), ...definition]]], payload))
    .replace(/^level=5 E \{"f":(.*)\}$/, "$1");

Deno.test("EventHeader: values by encoding and format", () => {
  const minus = [0xfe, 0xff, 0xff, 0xff];
  const cases: [definition: number[], payload: number[], expected: string][] = [
    [[2], [200], "200"],
    [[0x82, 2], [200], "-56"],
    [[3], [0x34, 0x12], "4660"],
    [[0x84, 3], minus, '"0xfffffffe"'],
    [[0x84, 4], minus, "-2"],
    [[0x84, 5], [7, 0, 0, 0], "7"],
    [[5], Array(8).fill(255), "18446744073709551615"],
    [[0x85, 2], Array(8).fill(255), "-1"],
    [[0x84, 6], [0, 0, 0, 0], '"1970-01-01T00:00:00.000Z"'],
    [[0x82, 7], [1], "true"],
    [[0x82, 7], [2], "2"],
    [[0x84, 8], [0, 0, 0xc0, 0x3f], "1.5"],
    [[0x85, 8], [0, 0, 0, 0, 0, 0, 0xf8, 0x7f], '"NaN"'],
    [[0x84, 9], [1, 2, 3, 4], '"01 02 03 04"'],
    [[0x82, 10], [0x41], '"A"'],
    [[0x83, 11], [0xac, 0x20], '"€"'],
    [[0x86, 15], [...Array(15).fill(0x11), 0x12], '"11111111-1111-1111-1111-111111111112"'],
    [[0x83, 16], [0x1f, 0x90], "8080"],
    [[0x84, 17], [127, 0, 0, 1], '"127.0.0.1"'],
    [[0x86, 18], [...Array(15).fill(0), 1], '"::1"'],
    [[7], name('a"b'), '"a\\"b"'],
    [[8], [0x41, 0, 0, 0], '"A"'],
    [[9], [0, 0xf6, 1, 0, 0, 0, 0, 0], '"\u{1f600}"'],
    [[10], [2, 0, 0x68, 0x69], '"hi"'],
    [[0x8a, 9], [2, 0, 0x68, 0x69], '"68 69"'],
    [[11], [1, 0, 0x68, 0], '"h"'],
    [[13], [2, 0, 0xab, 0xcd], '"ab cd"'],
    // A tag behind the format; arrays of a constant and of a recorded length.
    [[0x83, 0x83, 9, 9], [1, 0], '"0x1"'],
    [[0x22, 3, 0], [1, 2, 3], "[1,2,3]"],
    [[0x42], [2, 0, 8, 9], "[8,9]"],
    [[0x42], [0, 0], "[]"],
    [[0x47], [2, 0, ...name("a"), ...name("b")], '["a","b"]'],
  ];
  for (const [definition, payload, expected] of cases) {
    assertEquals(field(definition, payload), expected, `${definition}`);
  }
});

Deno.test("EventHeader: groups, arrays of groups, attributes of names, and activities", () => {
  const id = Array.from({ length: 16 }, (_, i) => i);
  const bytes = event([
    [2, [...id, ...id]],
    [1, [
      ...name("Start;tag=1"),
      ...name("pos"),
      ...[0x81, 2],
      ...[...name("x"), 2, ...name("y;unit=mm"), 2],
      ...name("list"),
      ...[0x81 | 0x40, 1],
      ...[...name("n"), 3],
      ...[...name("last"), 2],
    ]],
  ], [1, 2, 2, 0, 5, 0, 6, 0, 9]);
  const activity = "00010203-0405-0607-0809-0a0b0c0d0e0f";
  assertEquals(
    text(bytes),
    `level=5 Start activity=${activity} parent=${activity} ` +
      '{"pos":{"x":1,"y":2},"list":[{"n":5},{"n":6}],"last":9}',
  );
});

Deno.test("EventHeader: the header says the byte order", () => {
  const metadata: [number, number[]] = [1, [...name("E"), ...name("f"), 3]];
  assertEquals(text(event([metadata], [1, 2], false)), 'level=5 E {"f":258}');
});

Deno.test("EventHeader: without metadata, the print format alone is printed", () => {
  assertEquals(text(event([], [1, 2, 3])), "level=5");
});

Deno.test("EventHeader: damaged data gives the fault in place of the event", () => {
  const cases: [definition: number[], payload: number[], message: string][] = [
    [[4], [1, 2], "cut"],
    [[7], [0x41], "cut"],
    [[10], [9, 0, 1], "cut"],
    [[0x62, 1, 0], [1], "of encoding 98"],
    [[0], [1], "of encoding 0"],
    [[14], [1], "of encoding 14"],
    [[0x81, 0], [1], "a group without fields"],
    [[0x81, 1], [1], "a name without an end"],
    [[0x84], [1], "a definition is cut"],
  ];
  for (const [definition, payload, message] of cases) {
    assertMatch(field(definition, payload), new RegExp(`\\[EventHeader: .*${message}\\]$`));
  }
  const deep = Array.from({ length: 20 }, () => [...name("g"), 0x81, 1]).flat();
  assertMatch(text(event([[1, [...name("E"), ...deep]]], [])), /groups in groups/);
});

Deno.test("EventHeader: any metadata and payload end in a text", () => {
  const bytes = fc.uint8Array({ maxLength: 60 });
  fc.assert(fc.property(bytes, bytes, fc.boolean(), (metadata, payload, le) => {
    const extension: [number, number[]] = [1, [...name("E"), ...name("f"), ...metadata]];
    assertMatch(text(event([extension], [...payload], le)), /^level=5 (?:E \{|\[EventHeader: )/);
  }));
});

Deno.test("EventHeader: a name that is repeated in thousands of elements ends in one line", () => {
  const metadata = [...name("E"), ...name("a"), 0x81 | 0x40, 1, ...name("x".repeat(3000)), 2];
  const bytes = event([[1, metadata]], [...u16(50_000), ...Array(50_000).fill(1)]);
  assertMatch(text(bytes), /longer than 524288 bytes\]$/);
});
