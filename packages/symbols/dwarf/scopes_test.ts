import { assert, assertEquals } from "@std/assert";
import { DwarfContext } from "./dwarf_context.ts";
import type { DwarfError } from "./dwarf_error.ts";
import { Bytes, headerSize, sectionsOf, unit } from "./dwarf_testing.ts";

// Codes of abbreviations. Tags and attributes are numbers of the standard. Forms: 1 addr, 5 data2,
// 6 data4, 8 string, b data1, e strp, 13 ref4, 19 flag_present.
const CU = 1, NAMESPACE = 2, UNNAMED_NAMESPACE = 3, CLASS = 4, CLASS_OF = 5, CLOSURE = 6;
const DECLARATION = 7,
  EXTERNAL = 8,
  ABSTRACT_OF = 9,
  FUNCTION = 10,
  INLINED = 11,
  CALL_OPERATOR = 12;
const ABSTRACT = 13, MORE_OF = 14, BLOCK = 15, LONG_NAMESPACE = 16;

const ABBREVIATIONS = new Bytes()
  .uleb(CU, 0x11).u8(1).uleb(0x11, 1, 0x12, 6, 0x13, 5, 0, 0)
  .uleb(NAMESPACE, 0x39).u8(1).uleb(3, 8, 0, 0)
  .uleb(UNNAMED_NAMESPACE, 0x39).u8(1).uleb(0, 0)
  .uleb(CLASS, 0x02).u8(1).uleb(3, 8, 0x3a, 0xb, 0x3b, 0xb, 0, 0)
  .uleb(CLASS_OF, 0x13).u8(1).uleb(0x47, 0x13, 0, 0)
  .uleb(CLOSURE, 0x13).u8(1).uleb(0x3a, 0xb, 0x3b, 0xb, 0x39, 0xb, 0, 0)
  .uleb(DECLARATION, 0x2e).u8(0).uleb(3, 8, 0x3c, 0x19, 0, 0)
  .uleb(EXTERNAL, 0x2e).u8(0).uleb(3, 8, 0x3f, 0x19, 0, 0)
  .uleb(ABSTRACT_OF, 0x2e).u8(1).uleb(0x47, 0x13, 0x20, 0xb, 0, 0)
  .uleb(FUNCTION, 0x2e).u8(1).uleb(3, 8, 0x11, 1, 0x12, 6, 0, 0)
  .uleb(INLINED, 0x1d).u8(0).uleb(0x31, 0x13, 0x11, 1, 0x12, 6, 0, 0)
  .uleb(CALL_OPERATOR, 0x2e).u8(0).uleb(3, 8, 0x34, 0x19, 0, 0)
  .uleb(ABSTRACT, 0x2e).u8(1).uleb(3, 8, 0x20, 0xb, 0, 0)
  .uleb(MORE_OF, 0x39).u8(1).uleb(0x54, 0x13, 0, 0)
  .uleb(BLOCK, 0x0b).u8(1).uleb(0, 0)
  .uleb(LONG_NAMESPACE, 0x39).u8(1).uleb(3, 0xe, 0, 0)
  .u8(0);

const CPP_14 = 0x21, C11 = 0x1d;

/** Builds a unit; `origins` are inlined one after another from 0x1000 on, 16 bytes each. */
class Program {
  readonly body = new Bytes();
  readonly origins: number[] = [];
  readonly #base = headerSize({ version: 4 });

  constructor(language: number) {
    this.body.uleb(CU).uint(8, 0x1000).uint(4, 0x1000).uint(2, language);
  }

  /** Opens an entry. Returns its position. */
  open(code: number): number {
    const at = this.#base + this.body.length;
    this.body.uleb(code);
    return at;
  }

  sections() {
    const { body } = this;
    body.uleb(FUNCTION).text("main").uint(8, 0x1000).uint(4, 0x1000);
    this.origins.forEach((origin, i) => {
      body.uleb(INLINED).uint(4, origin).uint(8, 0x1000 + 16 * i).uint(4, 16);
    });
    body.u8(0, 0);
    return sectionsOf({
      ".debug_info": unit({ version: 4 }, body),
      ".debug_abbrev": ABBREVIATIONS,
      ".debug_str": new Uint8Array((1 << 20) + 1).fill(0x78, 0, 1 << 20),
    });
  }

  /** Scope and name of each inlined function, looked up with each method. */
  inlined(report?: (error: DwarfError) => void): string[] {
    const sections = this.sections();
    const open = () =>
      DwarfContext.open(sections, report === undefined ? {} : { diagnostics: report });
    const shown = (f: { scope?: string; function: string | undefined } | undefined) =>
      f?.scope === undefined ? `${f?.function}` : `${f.scope}::${f.function}`;
    const addresses = this.origins.map((_, i) => 0x1000 + 16 * i);
    const one = open();
    const found = addresses.map((address) => shown(one.find(address)[0]));
    for (const keep of [true, false]) {
      const { first, function: ids, functions } = open().findAll(
        Float64Array.from(addresses),
        { keep },
      );
      assertEquals(
        addresses.map((_, i) => shown(functions[ids[first[i] as number] as number])),
        found,
      );
    }
    return found;
  }
}

Deno.test("DwarfContext: functions without linkage name get the scopes of their declaration", () => {
  const p = new Program(CPP_14), b = p.body;
  const shop = p.open(NAMESPACE);
  b.text("shop");
  const mix = p.open(DECLARATION);
  b.text("mix");
  p.open(UNNAMED_NAMESPACE);
  const hidden = p.open(DECLARATION);
  b.text("hidden");
  b.u8(0);
  p.open(CLASS);
  b.text("Box").u8(1, 10);
  const nested = p.open(CLASS);
  b.text("Lid").u8(1, 11).u8(0);
  const member = p.open(EXTERNAL);
  b.text("run");
  b.u8(0); // Box
  const cFunction = p.open(EXTERNAL);
  b.text("c_function");
  b.u8(0); // shop
  // Defined outside: the scope of the declaration counts.
  const mixBody = p.open(ABSTRACT_OF);
  b.uint(4, mix).u8(1).u8(0);
  const runBody = p.open(ABSTRACT_OF);
  b.uint(4, member).u8(1);
  p.open(BLOCK);
  p.open(CLOSURE);
  b.u8(1, 24, 9);
  const callOperator = p.open(CALL_OPERATOR);
  b.text("operator()");
  b.u8(0, 0, 0); // the closure, the block, the body of run
  p.open(CLASS_OF);
  b.uint(4, nested);
  const turn = p.open(DECLARATION);
  b.text("turn");
  b.u8(0);
  p.open(MORE_OF);
  b.uint(4, shop);
  const later = p.open(DECLARATION);
  b.text("mix");
  b.u8(0);
  // In a function, without a class between.
  p.open(ABSTRACT);
  b.text("outer").u8(1);
  const local = p.open(DECLARATION);
  b.text("local");
  b.u8(0);
  p.origins.push(mixBody, hidden, runBody, callOperator, turn, later, cFunction, local, mix);
  assertEquals(p.inlined(), [
    "shop::mix",
    "shop::(anonymous namespace)::hidden",
    "shop::Box::run",
    "shop::Box::run::{lambda at 24:9}::operator()",
    "shop::Box::Lid::turn",
    "shop::mix",
    "c_function",
    "local",
    "shop::mix",
  ]);
});

Deno.test("DwarfContext: equal names in different scopes are two functions; C has no scopes", () => {
  for (const language of [CPP_14, C11]) {
    const p = new Program(language), b = p.body;
    for (const scope of ["a", "b"]) {
      p.open(NAMESPACE);
      b.text(scope);
      p.origins.push(p.open(DECLARATION));
      b.text("same").u8(0);
    }
    assertEquals(p.inlined(), language === C11 ? ["same", "same"] : ["a::same", "b::same"]);
  }
});

Deno.test("DwarfContext: cyclic and endless scopes are bounded", () => {
  // A class declared within itself.
  const circle = new Program(CPP_14), b = circle.body;
  const at = circle.open(CLASS_OF);
  b.uint(4, at + 5);
  const inner = circle.open(CLASS_OF);
  assertEquals(inner, at + 5);
  b.uint(4, at);
  circle.origins.push(circle.open(DECLARATION));
  b.text("f").u8(0, 0);
  assert(circle.inlined(() => {})[0]?.endsWith("f"));

  const deep = new Program(CPP_14), depth = 10_000;
  for (let i = 0; i < depth; i++) {
    deep.open(NAMESPACE);
    deep.body.text(`n${i}`);
    deep.origins.push(deep.open(DECLARATION));
    deep.body.text("f");
  }
  for (let i = 0; i < depth; i++) deep.body.u8(0);
  deep.origins.splice(200);
  const found = deep.inlined();
  assertEquals(found[2], "n0::n1::n2::f");
  assert(found[199]?.startsWith("…::n168::") && found[199].endsWith("::n199::f"), found[199]);

  // Names of a megabyte in thousands of scopes would add up to gigabytes.
  const long = new Program(CPP_14);
  for (let i = 0; i < 200; i++) {
    long.open(LONG_NAMESPACE);
    long.body.uint(4, 0);
    long.origins.push(long.open(DECLARATION));
    long.body.text("f").u8(0);
  }
  const errors: string[] = [];
  const sections = long.sections();
  const addresses = Float64Array.from(long.origins, (_, i) => 0x1000 + 16 * i);
  const context = DwarfContext.open(sections, {
    diagnostics: ({ message }) => errors.push(message),
  });
  const { functions } = context.findAll(addresses);
  assertEquals(functions.length, 201);
  const size = functions.reduce((sum, { scope = "" }) => sum + scope.length, 0);
  assert(size <= 1 << 27, `${size} characters`);
  assertEquals(errors.filter((message) => message.includes("too large")).length, 1);
});
