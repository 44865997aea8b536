import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { DwarfContext } from "./dwarf_context.ts";
import { DwarfError } from "./dwarf_error.ts";
import { Bytes, headerSize, sectionsOf, unit, type UnitShape } from "./dwarf_testing.ts";
import type { DwarfSections } from "./sections.ts";

// Codes of the abbreviations used below. Forms: 1 addr, 6 data4, 8 string, b data1, 13 ref4, 17
// sec_offset.
const CU = 1, ABSTRACT = 2, CONCRETE = 3, INLINED = 4, PLAIN = 5, SPLIT_FUNCTION = 6;

function abbreviations(highForm = 0x06): Bytes {
  return new Bytes()
    .uleb(CU, 0x11).u8(1).uleb(0x11, 1, 0x12, highForm, 0x1b, 8, 0, 0)
    .uleb(ABSTRACT, 0x2e).u8(0).uleb(3, 8, 0x6e, 8, 0, 0)
    .uleb(CONCRETE, 0x2e).u8(1).uleb(0x11, 1, 0x12, highForm, 0x31, 0x13, 0, 0)
    .uleb(INLINED, 0x1d).u8(1)
    .uleb(0x31, 0x13, 0x11, 1, 0x12, highForm, 0x58, 0xb, 0x59, 0xb, 0x57, 0xb, 0, 0)
    .uleb(PLAIN, 0x2e).u8(0).uleb(3, 8, 0x11, 1, 0x12, highForm, 0, 0)
    .uleb(SPLIT_FUNCTION, 0x2e).u8(0).uleb(3, 8, 0x55, 0x17, 0, 0)
    .u8(0);
}

/**
 * outer [0x1000, 0x1100) contains middle [0x1010, 0x1080), which contains inner [0x1020, 0x1030);
 * and plain.
 */
function nested(shape: UnitShape): DwarfSections {
  const { le = true, addressSize = 8 } = shape;
  const body = new Bytes(le);
  const base = headerSize(shape);
  const at = () => base + body.length;
  body.uleb(CU).uint(addressSize, 0x1000).uint(4, 0x200).text("/src");
  const inner = at();
  body.uleb(ABSTRACT).text("inner").text("_Z5innerv");
  const middle = at();
  body.uleb(ABSTRACT).text("middle").text("_Z6middlev");
  const outer = at();
  body.uleb(ABSTRACT).text("outer").text("_Z5outerv");
  body.uleb(CONCRETE).uint(addressSize, 0x1000).uint(4, 0x100).uint(4, outer);
  body.uleb(INLINED).uint(4, middle).uint(addressSize, 0x1010).uint(4, 0x70).u8(1, 7, 3);
  body.uleb(INLINED).uint(4, inner).uint(addressSize, 0x1020).uint(4, 0x10).u8(1, 9, 5);
  body.u8(0, 0, 0); // ends the children of inner, middle and outer
  body.uleb(PLAIN).text("plain").uint(addressSize, 0x1100).uint(4, 0x100);
  body.u8(0);
  return sectionsOf({ ".debug_info": unit(shape, body), ".debug_abbrev": abbreviations() }, le);
}

const names = (context: DwarfContext, address: number | bigint) =>
  context.find(address).map((f) => `${f.linkageName ?? f.function}:${f.line}:${f.column}`);

for (const version of [2, 3, 4, 5]) {
  for (const le of [true, false]) {
    for (const [offsetSize, addressSize] of [[4, 8], [8, 8], [4, 4]] as const) {
      Deno.test(`DwarfContext: nested inlined calls in DWARF ${version}, offsets ${offsetSize}, addresses ${addressSize}, little-endian ${le}`, () => {
        const context = DwarfContext.open(nested({ version, le, offsetSize, addressSize }));
        assertEquals(names(context, 0xfff), []);
        assertEquals(names(context, 0x1000), ["_Z5outerv:0:0"]);
        assertEquals(names(context, 0x1010n), ["_Z6middlev:0:0", "_Z5outerv:7:3"]);
        assertEquals(names(context, 0x102f), [
          "_Z5innerv:0:0",
          "_Z6middlev:9:5",
          "_Z5outerv:7:3",
        ]);
        assertEquals(names(context, 0x1030), ["_Z6middlev:0:0", "_Z5outerv:7:3"]);
        assertEquals(names(context, 0x1100), ["plain:0:0"]);
        assertEquals(names(context, 0x1200), []);
        assertEquals(context.find(0x1020).map((f) => f.inlined), [true, true, false]);
      });
    }
  }
}

Deno.test("DwarfContext.findAll: unsorted addresses have the frames of find(), in the given order", () => {
  const context = DwarfContext.open(nested({ version: 5 }));
  const addresses = Float64Array.of(0x1105, 0x1024, 0x9999, 0x1000, 0x1024);
  for (const keep of [true, false]) {
    const batch = context.findAll(addresses, { keep });
    addresses.forEach((address, i) => {
      const first = batch.first[i] ?? 0;
      const found = Array.from({ length: batch.count[i] ?? 0 }, (_, k) => ({
        ...batch.functions[batch.function[first + k] ?? -1],
        line: batch.line[first + k],
      }));
      assertEquals(
        found,
        context.find(address).map(({ function: name, linkageName, line }) => ({
          function: name,
          linkageName,
          line,
        })),
      );
    });
  }
});

Deno.test("DwarfContext.findAll: names that were deferred are read when they are used", () => {
  const address = 0x1024;
  const named = DwarfContext.open(nested({ version: 5 })).find(address)
    .map(({ function: name, linkageName }) => ({ function: name, linkageName }));
  assert(named.some(({ function: name, linkageName }) => name !== undefined && linkageName));
  for (const one of [true, false]) {
    const context = DwarfContext.open(nested({ version: 5 }));
    const batch = context.findAll(Float64Array.of(address), { names: "linkage" });
    const found = Array.from(
      batch.function,
      (id) => one ? context.functionName(id) : context.functions[id],
    );
    assertEquals(found, named);
    assertEquals(
      Array.from(batch.function, (id) => context.linkageNameBytes(id)),
      named.map(({ linkageName }) =>
        linkageName === undefined ? undefined : new TextEncoder().encode(linkageName)
      ),
    );
  }
});

Deno.test("DwarfContext: with a cache of 0 bytes frames are the same", () => {
  const context = DwarfContext.open(nested({ version: 4 }), { cacheBytes: 0 });
  assertEquals(names(context, 0x1024).length, 3);
  assertEquals(names(context, 0x1100).length, 1);
  assertEquals(names(context, 0x1024).length, 3);
});

Deno.test("DwarfContext: sections of a source are read in parts", () => {
  const whole = nested({ version: 5 });
  const context = DwarfContext.open({
    littleEndian: true,
    get: () => undefined,
    open(name) {
      const bytes = whole.get(name);
      return bytes === undefined ? undefined : {
        size: bytes.length,
        read: (offset, length) => {
          assert(offset >= 0 && offset + length <= bytes.length);
          return bytes.slice(offset, offset + length);
        },
      };
    },
  });
  assertEquals(names(context, 0x1024).length, 3);
});

Deno.test("DwarfContext: kernel addresses are exact", () => {
  const shape = { version: 4 };
  const body = new Bytes().uleb(CU).uint(8, 0xffffffff81000000n).uint(4, 0x200).text("/src");
  body.uleb(PLAIN).text("start_kernel").uint(8, 0xffffffff81000001n).uint(4, 1).u8(0);
  const context = DwarfContext.open(
    sectionsOf({ ".debug_info": unit(shape, body), ".debug_abbrev": abbreviations() }),
  );
  assertEquals(names(context, 0xffffffff81000000n), []);
  assertEquals(names(context, 0xffffffff81000001n), ["start_kernel:0:0"]);
  assertEquals(names(context, -0x7effffff), ["start_kernel:0:0"]);
  assertEquals(names(context, 0xffffffff81000002n), []);
});

Deno.test("DwarfContext: DWARF 4 range lists with base addresses, dropped and empty entries are read", () => {
  const ranges = new Bytes();
  for (
    const [low, high] of [
      [0x10, 0x20],
      [-1n, 0x5000],
      [0x30, 0x30],
      [0x100, 0x110],
      [-1n, -1n],
      [0x1, 0x9],
      [0, 0],
    ] as const
  ) ranges.uint(8, low).uint(8, high);
  const body = new Bytes().uleb(CU).uint(8, 0x1000).uint(4, 0x8000).text("/src");
  body.uleb(SPLIT_FUNCTION).text("f").uint(4, 0).u8(0);
  const context = DwarfContext.open(sectionsOf({
    ".debug_info": unit({ version: 4 }, body),
    ".debug_abbrev": abbreviations(),
    ".debug_ranges": ranges,
  }));
  const found = [0x100f, 0x1010, 0x101f, 0x1020, 0x1030, 0x5100, 0x510f, 0x5110, 0x1005];
  assertEquals(
    found.filter((address) => context.find(address).length > 0),
    [0x1010, 0x101f, 0x5100, 0x510f],
  );
});

Deno.test("DwarfContext: DWARF 5 range lists with every kind of entry are read", () => {
  const lists = new Bytes();
  lists.u8(4).uleb(0x10, 0x20); // offset_pair from the base of the unit
  lists.u8(5).uint(8, 0x5000).u8(4).uleb(1, 2); // base_address
  lists.u8(6).uint(8, 0x6000).uint(8, 0x6001); // start_end
  lists.u8(7).uint(8, 0x7000).uleb(1); // start_length
  lists.u8(1).uleb(0).u8(4).uleb(0, 1); // base_addressx: 0x100
  lists.u8(2).uleb(1, 2); // startx_endx: 0x200 … 0x210
  lists.u8(3).uleb(3).uleb(4); // startx_length: 0x300
  lists.u8(5).uint(8, -1n).u8(4).uleb(0, 0x900); // Dropped by the linker
  lists.u8(0);
  const addr = new Bytes().uint(4, 36).uint(2, 5).u8(8, 0);
  for (const address of [0x100, 0x200, 0x210, 0x300]) addr.uint(8, address);
  const body = new Bytes().uleb(CU).uint(8, 0x1000).uint(4, 0).text("/src");
  body.uleb(SPLIT_FUNCTION).text("f").uint(4, 0).u8(0);
  // The unit has the same list, so that all entries are in its range.
  const abbrev = new Bytes()
    .uleb(CU, 0x11).u8(1).uleb(0x11, 1, 0x55, 0x17, 0x1b, 8, 0, 0)
    .uleb(SPLIT_FUNCTION, 0x2e).u8(0).uleb(3, 8, 0x55, 0x17, 0, 0).u8(0);
  const context = DwarfContext.open(sectionsOf({
    ".debug_info": unit({ version: 5 }, body),
    ".debug_abbrev": abbrev,
    ".debug_rnglists": lists,
    ".debug_addr": addr,
  }));
  const inside = [0x1010, 0x101f, 0x5001, 0x6000, 0x7000, 0x100, 0x200, 0x20f, 0x300, 0x303];
  const outside = [0x1020, 0x5002, 0x6001, 0x7001, 0x101, 0x210, 0x304, 0, 0x8ff];
  for (const address of inside) assertEquals(names(context, address), ["f:0:0"], `${address}`);
  for (const address of outside) assertEquals(names(context, address), [], `${address}`);
});

/** A file of one function at 0x1000. `entry` writes its entry, with abbreviation 3. */
function one(abbrev: Bytes, entry: (body: Bytes, at: number) => void): DwarfSections {
  const body = new Bytes().uleb(CU).uint(8, 0x1000).uint(4, 0x100).text("/src");
  entry(body, headerSize({ version: 4 }) + body.length);
  const table = new Bytes().uleb(CU, 0x11).u8(1).uleb(0x11, 1, 0x12, 6, 0x1b, 8, 0, 0)
    .append(abbrev).u8(0);
  return sectionsOf({ ".debug_info": unit({ version: 4 }, body.u8(0)), ".debug_abbrev": table });
}

const functionWith = (...more: number[]) =>
  new Bytes().uleb(3, 0x2e).u8(0).uleb(0x11, 1, 0x12, 6, ...more, 0, 0);

const hostile: [string, DwarfSections, RegExp][] = [
  [
    "abstract_origin of itself",
    one(
      functionWith(0x31, 0x13),
      (body, at) => body.uleb(3).uint(8, 0x1000).uint(4, 16).uint(4, at),
    ),
    /^\.debug_info: 0x[0-9a-f]+: DW_AT_abstract_origin or DW_AT_specification in a circle/,
  ],
  [
    "specification outside of the section",
    one(
      functionWith(0x47, 0x13),
      (body) => body.uleb(3).uint(8, 0x1000).uint(4, 16).uint(4, 0x7fffffff),
    ),
    /a reference to where no unit is/,
  ],
  [
    "an unknown form",
    one(functionWith(0x3, 0x55), (body) => body.uleb(3).uint(8, 0x1000).uint(4, 16)),
    /^\.debug_abbrev: 0x[0-9a-f]+: form 0x55 of attribute 0x3 is not known/,
  ],
  [
    "a chain of indirect forms",
    one(
      functionWith(0x3, 0x16),
      (body) => body.uleb(3).uint(8, 0x1000).uint(4, 16).u8(...new Array(60).fill(0x16)),
    ),
    /^\.debug_info: 0x[0-9a-f]+: indirect form 0x16/,
  ],
  [
    "an abbreviation that is not there",
    one(functionWith(), (body) => body.uleb(77)),
    /abbreviation 77 is not in the table/,
  ],
  [
    "a block longer than the unit",
    one(functionWith(0x2, 0x18), (body) => body.uleb(3).uint(8, 0x1000).uint(4, 16).uleb(1e12)),
    /1000000000000 bytes wanted/,
  ],
  [
    "a name without an end",
    one(functionWith(0x3, 0x0e), (body) => body.uleb(3).uint(8, 0x1000).uint(4, 16).uint(4, 9)),
    /^\.debug_str: 0x9: /,
  ],
  [
    "LEB128 without an end",
    one(
      functionWith(0x3, 0x0f),
      (body) => body.uleb(3).uint(8, 0x1000).uint(4, 16).u8(...new Array(30).fill(0xff)),
    ),
    /LEB128/,
  ],
  [
    "ranges outside of their section",
    one(
      new Bytes().uleb(3, 0x2e).u8(0).uleb(0x55, 0x17, 0, 0),
      (body) => body.uleb(3).uint(4, 0x1000),
    ),
    /^\.debug_ranges: 0x1000: /,
  ],
];
for (const [what, sections, message] of hostile) {
  Deno.test(`DwarfContext, hostile file: ${what}`, () => {
    const strict = DwarfContext.open(sections);
    const error = assertThrows(() => strict.find(0x1000), DwarfError);
    assert(error instanceof DwarfError && message.test(error.message), `${error}`);
    // With diagnostics the fault is reported, and the rest of the file is readable.
    const reported: string[] = [];
    const tolerant = DwarfContext.open(sections, { diagnostics: (e) => reported.push(e.message) });
    tolerant.find(0x1000);
    tolerant.find(0x1001);
    assertEquals(reported, [error.message]);
  });
}

Deno.test("DwarfContext, hostile file: all functions refer to the longest range list", () => {
  const ranges = new Bytes();
  for (let i = 0; i < 4000; i++) ranges.uint(8, 1 + i * 16).uint(8, 9 + i * 16);
  const body = new Bytes().uleb(CU).uint(8, 0).uint(4, 0x7fffffff).text("");
  for (let i = 0; i < 4000; i++) body.uleb(SPLIT_FUNCTION).text("f").uint(4, 0);
  const context = DwarfContext.open(sectionsOf({
    ".debug_info": unit({ version: 4 }, body.u8(0)),
    ".debug_abbrev": abbreviations(),
    ".debug_ranges": ranges.uint(8, 0).uint(8, 0),
  }));
  assertThrows(() => context.find(1), DwarfError, "again and again");
});

Deno.test("DwarfContext: 20,000 inlined calls in each other are an error", () => {
  const body = new Bytes().uleb(CU).uint(8, 0).uint(4, 100).text("");
  const origin = headerSize({ version: 4 }) + body.length;
  body.uleb(ABSTRACT).text("f").text("f");
  body.uleb(CONCRETE).uint(8, 0).uint(4, 100).uint(4, origin);
  const depth = 20_000;
  for (let i = 0; i < depth; i++) {
    body.uleb(INLINED).uint(4, origin).uint(8, 0).uint(4, 100).u8(1, 1, 1);
  }
  for (let i = 0; i < depth + 2; i++) body.u8(0);
  const context = DwarfContext.open(sectionsOf({
    ".debug_info": unit({ version: 4 }, body),
    ".debug_abbrev": abbreviations(),
  }));
  assertThrows(() => context.find(1), DwarfError, "inlined calls in each other");
});

Deno.test("DwarfContext, hostile file: the budget of inlined calls is reported once", () => {
  const [depth, addresses] = [200, 2000];
  const body = new Bytes().uleb(CU).uint(8, 0).uint(4, addresses).text("");
  const origin = headerSize({ version: 4 }) + body.length;
  body.uleb(ABSTRACT).text("f").text("f");
  body.uleb(CONCRETE).uint(8, 0).uint(4, addresses).uint(4, origin);
  for (let i = 0; i < depth; i++) {
    body.uleb(INLINED).uint(4, origin).uint(8, 0).uint(4, addresses).u8(1, 1, 1);
  }
  for (let i = 0; i < depth + 2; i++) body.u8(0);
  const reported: string[] = [];
  const context = DwarfContext.open(
    sectionsOf({
      ".debug_info": unit({ version: 4 }, body),
      ".debug_abbrev": abbreviations(),
    }),
    { diagnostics: ({ message }) => reported.push(message) },
  );
  let frames = 0;
  for (let at = 0; at < addresses; at++) {
    const { length } = context.find(at);
    // The first addresses have all of their frames; every address has its function.
    if (at < 300) assertEquals(length, depth + 1);
    assert(length >= 1);
    frames += length;
  }
  assert(frames <= 65_536 + addresses * 33, `${frames} frames`);
  assertEquals(reported.filter((message) => message.includes("inlined calls")).length, 1);
});

Deno.test("DwarfContext: flipped, cut and doubled bytes give a DwarfError, never an endless loop", () => {
  const shapes = [2, 4, 5].map((version) => nested({ version }));
  fc.assert(
    fc.property(
      fc.constantFrom(...shapes),
      fc.constantFrom(".debug_info", ".debug_abbrev"),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
      fc.nat(),
      (sections, name, changes, cut) => {
        const damaged = (wanted: string) => {
          const bytes = sections.get(wanted)?.slice();
          if (wanted !== name || bytes === undefined) return bytes;
          for (const [at, value] of changes) bytes[at % bytes.length] = value;
          return cut % 3 === 0 ? bytes.subarray(0, cut % bytes.length) : bytes;
        };
        const context = DwarfContext.open({ littleEndian: true, get: damaged });
        for (const address of [0, 0x1000, 0x1024, 0x1100]) {
          try {
            context.find(address);
          } catch (error) {
            assert(error instanceof DwarfError, `${error instanceof Error ? error.stack : error}`);
          }
        }
      },
    ),
    { numRuns: 3000 },
  );
});
