import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { TracingData } from "../features/tracing_data.ts";
import { formatNumber, parseFormat } from "./conversion.ts";
import { numberOf } from "./evaluate.ts";
import { parseTracepoint } from "./format_file.ts";
import { TraceData } from "./trace_data.ts";
import { TracepointFields } from "./tracepoint_fields.ts";
import { TracepointFormats } from "./tracepoint_formats.ts";
import { TracepointText } from "./tracepoint_text.ts";

function described(fields: readonly string[], print: string): string {
  return `name: e\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;` +
    `\tsigned:0;\n\n${fields.map((field) => `\tfield:${field}\n`).join("")}\nprint fmt: ${print}\n`;
}

const FIELDS = [
  "int a;\toffset:8;\tsize:4;\tsigned:1;",
  "u64 b;\toffset:16;\tsize:8;\tsigned:0;",
  "char comm[8];\toffset:24;\tsize:8;\tsigned:0;",
  "__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;",
  "__data_loc u8[] mask;\toffset:36;\tsize:4;\tsigned:0;",
  "u8 addr[16];\toffset:40;\tsize:16;\tsigned:0;",
];

/** a = -2, b = 0x1_0000_0005, comm = "task", name = "file", mask = 8 bytes, addr = 0, 1, 2… */
function raw(): Uint8Array {
  const bytes = new Uint8Array(80);
  const view = new DataView(bytes.buffer);
  view.setInt32(8, -2, true);
  view.setBigUint64(16, 0x1_0000_0005n, true);
  bytes.set(new TextEncoder().encode("task"), 24);
  view.setUint32(32, 56 | 5 << 16, true);
  bytes.set(new TextEncoder().encode("file"), 56);
  view.setUint32(36, 64 | 8 << 16, true);
  bytes.set([0x0f, 0, 0, 0, 0x81], 64);
  for (let i = 0; i < 16; i++) bytes[40 + i] = i;
  return bytes;
}

function formats(description: string): TracepointFormats {
  return new TracepointFormats({
    version: "0.6",
    bigendian: 0,
    long_size: 8,
    page_size: 4096,
    header_page: "",
    header_event: "",
    ftrace_formats: [],
    systems: [{ name: "s", formats: [description] }],
    kallsyms: "",
    printk_formats: '0x100000005 : "a text\\n"\n',
    saved_cmdlines: "",
  } as TracingData);
}

function text(print: string, fields = FIELDS): string {
  const find = (address: bigint) =>
    address === 0x1_0000_0005n ? { name: "work", distance: 5n } : undefined;
  const writer = new TracepointText(formats(described(fields, print)), find);
  const bytes = raw();
  const view = new DataView(bytes.buffer);
  return new TextDecoder().decode(writer.text(7, bytes, view, 0, bytes.length));
}

Deno.test("TracepointText: prints each kind of argument", () => {
  const cases: readonly (readonly [string, string])[] = [
    ['"%d %u %x %lld", REC->a, REC->a, REC->a, REC->b', "-2 4294967294 fffffffe 4294967301"],
    ['"%p %#llx %016llx", REC->b, REC->b, REC->b', "0x100000005 0x100000005 0000000100000005"],
    ['"%s|%8s|%-8s|%.2s", REC->comm, REC->comm, REC->comm, REC->comm', "task|    task|task    |ta"],
    ['"%.*s %s", 2, __get_str(name), __get_str(name)', "fi file"],
    ['"%s", __print_flags(REC->b, "|", { 1, "A" }, { 4, "C" })', "A|C|0x100000000"],
    [
      '"%s %s", __print_symbolic(REC->b & 7, { 5, "five" }), __print_symbolic(3, { 1, "x" })',
      "five 0x3",
    ],
    ['"%s", REC->b ? "yes" : "no"', "yes"],
    ['"%s %s", __get_bitmask(mask), __get_cpumask(mask)', "00000081,0000000f 0-3,32,39"],
    ['"%*ph", 3, __get_dynamic_array(mask)', "0f 00 00"],
    ['"%s", __print_hex(REC->addr, 3)', "00 01 02"],
    ['"%s", __print_array(__get_dynamic_array(mask), 2, 4)', "15 129"],
    ['"%ps %pS %ps", REC->b, REC->b, 1', "work work+0x5 0x1"],
    [
      '"%pI6c %pUb", REC->addr, REC->addr',
      "1:203:405:607:809:a0b:c0d:e0f 00010203-0405-0607-0809-0a0b0c0d0e0f",
    ],
    ['"%d %d %d", 1 + 2 * 3, (1 + 2) * 3, 10 - 3 - 2', "7 9 5"],
    ['"%d", (REC->b & 0xff) == 5 && !(REC->b >> 40) ? 1 << 3 | 1 : 0', "9"],
    ['"%d", ((u8 *)REC->addr)[3]', "3"],
    ['"%d%% \\n\\"%c\\"", sizeof(u32), 65', '4% \n"A"'],
    ['"%s", REC->b', "a text"],
    ['"%d", __builtin_expect(!!(REC->a), 1)', "1"],
    ['"%lu", (unsigned long)-4095', "18446744073709547521"],
  ];
  for (const [print, expected] of cases) assertEquals(text(print), expected, print);
});

Deno.test("TracepointText: a format that cannot be parsed gives a list of fields", () => {
  const list = "[FAILED TO PARSE] a=-2 b=4294967301 comm=task name=file " +
    // A text that begins with a NUL is empty.
    "mask=ARRAY[0f, 00, 00, 00, 81, 00, 00, 00] addr=";
  for (
    const print of [
      '"%s", kernel_function(REC->a)',
      '"%d", ({ int x = REC->a; x; })',
      '"%d %d", REC->a',
      '"%d", REC->nothing',
      '"%y", REC->a',
      `"%d", ${"(".repeat(5000)}REC->a`,
      '"%5000d", REC->a',
      '"%s',
    ]
  ) assertEquals(text(print), list, print.slice(0, 40));
});

Deno.test("numberOf: any expression of integers gives the value of C", () => {
  // In JavaScript with bigint, these operators have C's results and precedence.
  const leaf = fc.integer({ min: 0, max: 40 }).map(String);
  const { tree } = fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.tuple(tie("tree"), fc.constantFrom("+", "-", "*", "|", "&", "^"), tie("tree"))
        .map(([a, operator, b]) => `${a} ${operator} ${b}`),
      tie("tree").map((a) => `(${a})`),
      fc.tuple(tie("tree"), leaf, leaf).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    ),
  }));
  let compared = 0;
  const data = new TraceData(8, true);
  fc.assert(
    fc.property(tree, (expression) => {
      const event = parseTracepoint(described([], `"%d", ${expression}`), 8);
      const [argument] = event?.print?.args ?? [];
      if (event === undefined || argument === undefined) throw new Error(expression);
      const value: unknown = Function(`return ${expression.replace(/\d+/g, "$&n")}`)();
      assertEquals(
        numberOf(argument, event)(data),
        BigInt.asUintN(64, value as bigint),
        expression,
      );
      compared++;
    }),
    { numRuns: 500 },
  );
  assert(compared >= 500, `only ${compared} compared`);
});

Deno.test("TracepointText: any format and any data give a text of bounded length", () => {
  const piece = fc.constantFrom(
    ..."( ) [ ] { } , ? : -> + - * / % & | ^ ~ ! < > << >> == && || REC a b comm name 0 1 0xff"
      .split(" "),
    ..."__print_flags __print_symbolic __get_str __print_hex __get_dynamic_array sizeof".split(" "),
    ...["(unsigned long)", "(u8 *)", '"text"', "'c'", "__print_array", "REC->a", "REC->name"],
  );
  const print = fc.tuple(
    fc.constantFrom("%d %s %p", "%s", "%*pbl %.*s", "%pI4 %pISpc", "%-08llx%%", "%c%%%", "%ps"),
    fc.array(piece, { maxLength: 30 }),
  ).map(([format, words]) => `"${format}", ${words.join(" ")}`);
  fc.assert(
    fc.property(print, fc.uint8Array({ maxLength: 100 }), (source, bytes) => {
      const writer = new TracepointText(formats(described(FIELDS, source)), () => undefined);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      writer.addresses(7, bytes, view, 0, bytes.length);
      assert(writer.text(7, bytes, view, 0, bytes.length).length < 1 << 20);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("formatNumber: conversions give the text of printf", () => {
  // Expected texts are those of glibc's printf.
  const cases: readonly (readonly [string, bigint, string])[] = [
    ["%5d", -42n, "  -42"],
    ["%-5d|", 42n, "42   |"],
    ["%05d", -42n, "-0042"],
    ["%+d", 42n, "+42"],
    ["%#x", 255n, "0xff"],
    ["%#010x", 255n, "0x000000ff"],
    ["%#o", 8n, "010"],
    ["%.3d", 7n, "007"],
    ["%hhx", 0x1ffn, "ff"],
    ["%hd", 0xffffn, "-1"],
    ["%X", 0xabcn, "ABC"],
    ["%lu", -1n, "18446744073709551615"],
  ];
  for (const [format, value, expected] of cases) {
    const [first, second] = parseFormat(format);
    if (first?.kind !== "conversion") throw new Error(format);
    const { conversion } = first;
    const shown = formatNumber(
      value,
      conversion,
      conversion.width ?? 0,
      conversion.precision ?? -1,
    );
    assertEquals(shown + (second?.kind === "text" ? second.text : ""), expected, format);
  }
});

Deno.test("parseTracepoint: declarations with brackets give names, types and element sizes", () => {
  const declared = [
    "int x",
    "char comm[16]",
    "u32 grid[2][4]",
    "unsigned long args[ 6 ] ",
    "__data_loc char[] name",
    "__data_loc u16[] list",
    "const char * text",
  ];
  const text = declared.map((one, i) => `\tfield:${one};\toffset:${8 * i};\tsize:16;\tsigned:0;`);
  const event = parseTracepoint(`name: e\nID: 7\nformat:\n${text.join("\n")}\n`, 8);
  assertEquals(
    event?.common.map(({ name, type, elementSize }) => [name, type, elementSize]),
    [
      ["x", "int", 16],
      ["comm", "char[16]", 1],
      ["grid", "u32[2][4]", 8],
      ["args", "unsigned long[ 6 ]", 2],
      ["name", "__data_loc char[]", 1],
      ["list", "__data_loc u16[]", 2],
      ["text", "const char *", 16],
    ],
  );
});

Deno.test("parseTracepoint: an unclosed quote gives no print format", () => {
  const event = parseTracepoint(
    'name: e\nID: 7\nformat:\n\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: "x=%d\\", REC->x\n',
    8,
  );
  assertEquals([event?.common.length, event?.print], [1, undefined]);
});

Deno.test("TracepointFormats: descriptions give names by id, and one without an ID is left out", () => {
  const found = formats(described(["int a;\toffset:8;\tsize:4;\tsigned:1;"], '"%d", REC->a'));
  assertEquals([...found.names], [[7, "s:e"]]);
  assertEquals(found.get(7)?.fields.map(({ name }) => name), ["a"]);
  assertEquals(found.get(8), undefined);
  assertEquals([...formats("name: e\n").names], []);
});

Deno.test("TracepointFields: numbers, texts and arrays elsewhere in the data give JSON", () => {
  const fields = new TracepointFields(formats(described([
    "int a;\toffset:8;\tsize:4;\tsigned:1;",
    "__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;",
    "__rel_loc u16[] near;\toffset:12;\tsize:4;\tsigned:0;",
    "char comm[8];\toffset:24;\tsize:8;\tsigned:0;",
  ], '""')));
  const bytes = raw();
  const view = new DataView(bytes.buffer);
  // 2 bytes at offset 16 + 24.
  view.setUint32(12, 24 | 2 << 16, true);
  const json = fields.json(7, bytes, view, 0, bytes.length) ?? "";
  assertEquals(JSON.parse(json), { a: -2, name: "file", near: [256], comm: "task" });
  assertEquals(fields.json(7, bytes, view, 0, 57), undefined);
});
