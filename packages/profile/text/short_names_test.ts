import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { testSeed } from "../../../tests/support/seed.ts";
import { shortName, shortNames } from "./short_names.ts";

/** Parts of names in several languages. */
const NAMESPACE = fc.constantFrom("std", "core::iter", "(anonymous namespace)", "llvm", "a");
const WORD = fc.constantFrom("find", "push_back", "operator()", "operator<<", "~T", "{{closure}}");
const TYPE = fc.constantFrom("int", "long", "std::string const&", "a::b<c>", "Fn() -> u8", "...");
const ARGUMENTS = fc.array(TYPE, { maxLength: 4 }).map((types) => types.join(", "));
const NAME = fc.oneof(
  fc.tuple(NAMESPACE, WORD, ARGUMENTS, ARGUMENTS)
    .map(([space, word, types, values]) => `${space}::${word}<${types}>(${values})`),
  fc.tuple(TYPE, TYPE, WORD).map(([type, trait, word]) => `<${type} as core::${trait}>::${word}`),
  fc.tuple(WORD, TYPE).map(([word, type]) => `github.com/a/b/v2.(*Tree[${type}]).${word}`),
  fc.tuple(WORD, fc.nat(3)).map(([word, line]) => `JS:*${word} /srv/app/lib/page.js:${line}:3`),
  fc.string({ maxLength: 40 }),
);

Deno.test("shortName: any name fits the room, and a name that fits is unchanged", () => {
  let shortened = 0;
  fc.assert(
    fc.property(NAME, fc.integer({ min: 1, max: 60 }), (name, room) => {
      const short = shortName(name, room);
      assert(short.length <= room, `${short} in ${room}`);
      if (name.length <= room) assertEquals(short, name);
      else shortened++;
    }),
    { seed: testSeed(), numRuns: 2000 },
  );
  assert(shortened > 500, `${shortened}`);
});

Deno.test("shortNames: different names get different texts, equal names equal ones", () => {
  let told = 0;
  fc.assert(
    fc.property(
      fc.array(NAME, { minLength: 2, maxLength: 60 }),
      fc.integer({ min: 12, max: 50 }),
      (names, room) => {
        const short = shortNames(names, room);
        assertEquals(short.length, names.length);
        for (const text of short) assert(text.length <= room, `${text} in ${room}`);
        assertEquals(new Set(short).size, new Set(names).size, short.join("\n"));
        assertEquals(
          new Set(names.map((name, i) => `${name} ${short[i]}`)).size,
          new Set(names).size,
        );
        told += names.filter((name, i) => shortName(name, room) !== short[i]).length;
      },
    ),
    { seed: testSeed(), numRuns: 500 },
  );
  assert(told > 50, `${told}`);
});

Deno.test("shortName: in each language, the least telling parts are left out first", () => {
  for (
    const [name, room, wanted] of [
      [
        "a::(anonymous namespace)::c<int>::operator()(int) const",
        52,
        "a::(anonymous namespace)::c<…>::operator()(…) const",
      ],
      [
        "std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
        30,
        "std::operator<< <…>(…)",
      ],
      ["<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop", 30, "<Vec<…> as Drop>::drop"],
      [
        "core::iter::traits::iterator::Iterator::for_each::{{closure}}",
        40,
        "core::…::Iterator::for_each::{{closure}}",
      ],
      ["github.com/a/b.(*Tree[go.shape.int]).Walk", 24, "…/b.(*Tree[…]).Walk"],
      ["runtime.(*mcache).nextFree", 26, "runtime.(*mcache).nextFree"],
      ["py::run:/usr/lib/python3/dist-packages/foo/bar.py", 20, "py::run:…/bar.py"],
      ["java.util.HashMap.getNode(java.lang.Object)", 30, "java.util.HashMap.getNode(…)"],
    ] as const
  ) assertEquals(shortName(name, room), wanted);
});

/** Checks each name with its room and the expected short name. */
function checkShort(rows: readonly (readonly [name: string, room: number, wanted: string])[]) {
  for (const [name, room, wanted] of rows) assertEquals(shortName(name, room), wanted, name);
}

Deno.test("shortName: a name without parts keeps a third at its beginning and the rest at its end", () => {
  checkShort([
    // The gap takes 1 of `room` characters. A third of the others, rounded down, is the head.
    ["abcdefghij", 10, "abcdefghij"],
    ["abcdefghij", 7, "ab…ghij"],
    ["abcdefghij", 5, "a…hij"],
    ["abcdefghij", 4, "a…ij"],
    // Below four, there is no gap.
    ["abcdefghij", 3, "abc"],
    ["abcdefghij", 0, ""],
    ["abcdefghij", -2, ""],
  ]);
});

Deno.test("shortName: namespaces in the middle go until the name fits; the first and the last stay", () => {
  checkShort([
    ["aa::bb::cc::dd::ee", 17, "aa::…::cc::dd::ee"],
    ["aa::bb::cc::dd::ee", 16, "aa::…::dd::ee"],
    ["aa::bb::cc::dd::ee", 13, "aa::…::dd::ee"],
    ["aa::bb::cc::dd::ee", 12, "aa::…::ee"],
    ["aa::bb::cc::dd::ee", 9, "aa::…::ee"],
    // Two thirds of seven are five.
    ["aa::bb::cc::dd::ee", 8, "aa…d::ee"],
    // Two parts have no middle.
    ["aa::bbbb", 7, "aa…bbbb"],
    // Text in brackets is one part.
    ["x::{a::b}::y::z", 12, "x::…::y::z"],
    ["a::(anonymous namespace)::c::d(int, int)", 30, "a::…::c::d(…)"],
  ]);
});

Deno.test("shortName: arguments go, brackets that are a part of the name stay", () => {
  checkShort([
    ["f(x)", 3, "f(x"],
    ["g(a)(b)", 6, "g…)(…)"],
    // The `>` of an arrow is not a bracket.
    ["a::b<c->d>::e(x)", 12, "a::…::e(…)"],
    ["operator->(int, int)", 14, "operator->(…)"],
    ["operator()(int)", 13, "operator()(…)"],
    ["operator[](int)", 13, "operator[](…)"],
    // This name only ends like an operator.
    ["my_operator<int>(xyz)", 19, "my_operator<…>(xyz)"],
    ["my_operator<int>(xyz)", 18, "my_operator<…>(…)"],
    ["vec<a<b>, c>::f", 10, "vec<…>::f"],
    ["foo [kernel]", 8, "foo […]"],
    ["[kernel.kallsyms]_text", 10, "[ke…]_text"],
    ["<a::A as b::c::D>::f", 14, "<A as D>::f"],
  ]);
});

Deno.test("shortNames: names that would look the same show where they differ, or a number", () => {
  // The first argument list that differs, from the first different word on.
  assertEquals(shortNames(["f(aaaa, bbbb)", "f(aaaa, cccc)", "f(aaaa, cccc)"], 9), [
    ...["f(…bbbb)", "f(…cccc)", "f(…cccc)"],
  ]);
  assertEquals(shortNames(["f(aaaa, bbbb)", "f(aaaa, cccc)"], 7), ["f(…bb…)", "f(…cc…)"]);
  // At least three characters: gap, letter, gap.
  assertEquals(shortNames(["f(aaaa, bbbb)", "f(aaaa, cccc)"], 6), ["f(…b…)", "f(…c…)"]);
  assertEquals(
    shortNames(["f(aaaa, bbbb)", "f(aaaa, cccc)"], 5),
    ["f… #1", "f… #2"].map((text) => text.replace("f…", "f(")),
  );
  // The same argument in all of them stays a gap.
  assertEquals(shortNames(["g<int>(x1, y)", "g<int>(x2, y)"], 11), ["g<…>(x1, y)", "g<…>(x2, y)"]);
  // Names without arguments are numbered in alphabetical order, without numbers that are in use.
  const numbered = shortNames(["zzzz_middle_zzzz", "zzzz_muddle_zzzz", "z…zz #1"], 7);
  assertEquals(numbered, ["z…zz #2", "z…zz #3", "z…zz #1"]);
});
