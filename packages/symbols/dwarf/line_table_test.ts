import { assert, assertEquals, assertThrows } from "@std/assert";
import { DwarfError } from "./dwarf_error.ts";
import { Bytes } from "./dwarf_testing.ts";
import { inlineString, LineTable } from "./line_table.ts";
import { Section } from "./section.ts";

const lineStr = "/proj\0include\0a.c\0b.h\0";

const unit = {
  addressSize: 8,
  compDir: "/proj",
  string: (form: number, value: number, at: Uint8Array) =>
    form === 0x1f
      ? inlineString(new TextEncoder().encode(lineStr), value)
      : inlineString(at, value),
};

interface Header {
  version: number;
  le?: boolean;
  offsetSize?: 4 | 8;
  minInstLength?: number;
  maxOps?: number;
  lineBase?: number;
  lineRange?: number;
  /** Replaces the directories and files. */
  names?: Bytes;
}

/** A line table with the files `a.c` (in the compilation directory) and `include/b.h`. */
function table(header: Header, program: Bytes): Bytes {
  const { version, le = true, offsetSize = 4, maxOps = 1 } = header;
  const after = new Bytes(le).u8(header.minInstLength ?? 1);
  if (version >= 4) after.u8(maxOps);
  after.u8(1, header.lineBase ?? -3, header.lineRange ?? 12, 13);
  after.u8(0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1);
  if (header.names !== undefined) after.append(header.names);
  else if (version >= 5) {
    after.u8(1).uleb(1, 0x1f).uleb(2).uint(offsetSize, 0).uint(offsetSize, 6);
    after.u8(3).uleb(1, 0x1f).uleb(2, 0x0b).uleb(5, 0x1e).uleb(2);
    after.uint(offsetSize, 14).u8(0).uint(8, 1).uint(8, 2);
    after.uint(offsetSize, 18).u8(1).uint(8, 3).uint(8, 4);
  } else {
    after.text("include").u8(0).text("a.c").uleb(0, 0, 0).text("b.h").uleb(1, 0, 0).u8(0);
  }
  const body = new Bytes(le).uint(2, version);
  if (version >= 5) body.u8(8, 0);
  body.uint(offsetSize, after.length).append(after).append(program);
  return new Bytes(le).sized(offsetSize, body);
}

function read(bytes: Bytes): LineTable {
  return new LineTable(new Section(".debug_line", bytes.le, bytes.done()), 0, unit);
}

/** `file:line:column` of each address, with the discriminator if there is one. */
function at(lines: LineTable, ...addresses: number[]): (string | undefined)[] {
  return addresses.map((address) => {
    const row = lines.find(address);
    if (row < 0) return undefined;
    const discriminator = lines.discriminator?.[row] ?? 0;
    return `${lines.path(lines.file[row] ?? 0)}:${lines.line[row]}:${lines.column[row]}` +
      (discriminator ? ` (${discriminator})` : "");
  });
}

function program(le: boolean, version: number): Bytes {
  const [a, b] = version >= 5 ? [0, 1] : [1, 2];
  const p = new Bytes(le);
  p.u8(0, 9, 2).uint(8, 0x1000); // DW_LNE_set_address
  p.u8(4).uleb(a); // DW_LNS_set_file
  p.u8(5).uleb(7); // DW_LNS_set_column
  p.u8(3).sleb(41); // DW_LNS_advance_line: 42
  p.u8(1); // DW_LNS_copy at 0x1000
  p.u8(13 + (2 + 3) + 12 * 4); // special: line + 2, address + 4: 0x1004, 44
  p.u8(0, 2, 4, 9); // DW_LNE_set_discriminator 9
  p.u8(4).uleb(b).u8(2).uleb(300); // DW_LNS_advance_pc
  p.u8(3).sleb(-40).u8(1); // 0x1130: b.h line 4
  p.u8(8).u8(1); // DW_LNS_const_add_pc: (255 - 13) / 12 = 20: 0x1144
  p.u8(9).uint(2, 0x100).u8(3).sleb(6).u8(1); // DW_LNS_fixed_advance_pc: 0x1244, line 10
  p.u8(6, 7, 10, 11).u8(12).uleb(3); // negate_stmt … set_isa: no effect on rows
  p.u8(3).sleb(1).u8(1); // another row at the same address: line 11 is used
  p.u8(2).uleb(0x10).u8(0, 1, 1); // end_sequence at 0x1254
  return p;
}

for (const version of [2, 3, 4, 5]) {
  for (const le of [true, false]) {
    for (const offsetSize of [4, 8] as const) {
      Deno.test(`LineTable: all opcodes in version ${version}, ${offsetSize * 8}-bit, little-endian ${le}`, () => {
        const lines = read(table({ version, le, offsetSize }, program(le, version)));
        assertEquals(
          at(lines, 0xfff, 0x1000, 0x1003, 0x1004, 0x1130, 0x1144, 0x1244, 0x1253, 0x1254),
          [
            undefined,
            "/proj/a.c:42:7",
            "/proj/a.c:42:7",
            "/proj/a.c:44:7",
            "/proj/include/b.h:4:7 (9)",
            "/proj/include/b.h:4:7",
            "/proj/include/b.h:11:7",
            "/proj/include/b.h:11:7",
            undefined,
          ],
        );
      });
    }
  }
}

Deno.test("LineTable: with several operations per instruction, addresses count instructions of 4 bytes", () => {
  const p = new Bytes().u8(0, 9, 2).uint(8, 0x2000).u8(1);
  p.u8(2).uleb(2).u8(3).sleb(1).u8(1); // operation 2 of the first instruction
  p.u8(2).uleb(2).u8(3).sleb(1).u8(1); // operation 4: instruction 1, operation 1
  p.u8(13 + 3 + 12 * 5).u8(3).sleb(1).u8(1); // operation 9: instruction 3
  p.u8(2).uleb(3).u8(0, 1, 1);
  const lines = read(table({ version: 4, minInstLength: 4, maxOps: 3 }, p));
  assertEquals(at(lines, 0x2000, 0x2004, 0x2008, 0x200c, 0x2010), [
    "/proj/a.c:2:0",
    "/proj/a.c:3:0",
    "/proj/a.c:3:0",
    "/proj/a.c:4:0",
    undefined,
  ]);
});

Deno.test("LineTable: dropped code has no rows, DW_LNE_define_file adds a file, unsorted rows are sorted", () => {
  const p = new Bytes().u8(0, 9, 2).uint(8, -1n).u8(1).u8(2).uleb(8).u8(0, 1, 1);
  p.u8(0, 8, 3).text("c.c").uleb(1, 0, 0); // DW_LNE_define_file
  p.u8(0, 9, 2).uint(8, 0x30).u8(4).uleb(3).u8(1);
  p.u8(0, 9, 2).uint(8, 0x10).u8(3).sleb(5).u8(1);
  p.u8(0, 9, 2).uint(8, 0x40).u8(0, 1, 1);
  const lines = read(table({ version: 3 }, p));
  assertEquals(at(lines, 0, 4, 0x10, 0x2f, 0x30, 0x40), [
    undefined,
    undefined,
    "/proj/include/c.c:6:0",
    "/proj/include/c.c:6:0",
    "/proj/include/c.c:1:0",
    undefined,
  ]);
});

Deno.test("LineTable: a row without end_sequence covers no code", () => {
  const lines = read(table({ version: 4 }, new Bytes().u8(0, 9, 2).uint(8, 0x10).u8(1, 1)));
  assertEquals(at(lines, 0x10), [undefined]);
});

const huge = new Bytes().uint(8, 0xffffffffffffffffn).u8(1);
const bad: [string, Bytes, string][] = [
  ["of a version to come", table({ version: 6 }, new Bytes()), "version 6; 2 to 5 expected"],
  ["with line_range 0", table({ version: 4, lineRange: 0 }, new Bytes().u8(1)), "line_range is 0"],
  ["with operations 0", table({ version: 4, maxOps: 0 }, new Bytes().u8(1)), "is 0"],
  ["that ends in an opcode", table({ version: 4 }, new Bytes().u8(2)), "LEB128 runs past the end"],
  ["that ends in fixed_advance_pc", table({ version: 4 }, new Bytes().u8(9, 1)), "in an operand"],
  ["with a long opcode", table({ version: 4 }, new Bytes().u8(0, 99, 4)), "99 bytes wanted"],
  ["with an empty opcode", table({ version: 4 }, new Bytes().u8(0, 0)), "of length 0"],
  [
    "with an endless LEB128",
    table({ version: 4 }, new Bytes().u8(2, ...new Array(40).fill(0x80))),
    "LEB128 of more than 10 bytes",
  ],
  [
    "with entries without bytes",
    table({ version: 5, names: new Bytes().u8(0).uleb(1e15) }, new Bytes()),
    "1000000000000000 entries",
  ],
  [
    "with more entries than bytes",
    table({ version: 5, names: new Bytes().u8(1).uleb(1, 0x08).uleb(1000) }, new Bytes()),
    "1000 entries of 1 bytes or more",
  ],
  [
    "with an unknown form",
    table({ version: 5, names: new Bytes().u8(1).uleb(1, 0x77).uleb(1) }, new Bytes()),
    "form 0x77 of content type 1 is not known",
  ],
  ["longer than its section", new Bytes().uint(4, 100).uint(2, 4), "of which 0x2 are there"],
  ["longer than any file", new Bytes().uint(4, 0xffffffff).append(huge), "of which"],
  ["with a reserved length", new Bytes().uint(4, 0xfffffff5), "reserved unit length"],
];
for (const [what, bytes, message] of bad) {
  Deno.test(`LineTable, damaged: ${what}`, () => {
    const error = assertThrows(() => read(bytes), DwarfError, message);
    assert(error instanceof DwarfError);
    assertEquals(error.section, ".debug_line");
    assert(error.offset >= 0 && error.offset <= bytes.length);
  });
}
