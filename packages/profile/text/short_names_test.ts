import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { testSeed } from "../../../tests/support/seed.ts";
import { shortName, shortNames } from "./short_names.ts";

/** What names are made of, in the languages whose names there are. */
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

Deno.test("a name fits, and stays as it is where it does", () => {
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

Deno.test("no two names look the same, and the same name looks the same", () => {
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

Deno.test("what says least of a name goes first, in each language", () => {
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
