import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { filter, inFolder, run } from "../testing/toolchain.ts";
import { demangle, type DemangleOptions, Demangler } from "./demangler.ts";
import { demangleItanium } from "./itanium.ts";
import { demangleRustLegacy } from "./rust_legacy.ts";
import { demangleRustV0 } from "./rust_v0.ts";
import { ignored, notInstalled, skipped } from "../../../tests/support/ignored.ts";

/** The texts that c++filt prints with these flags. */
const STYLES: readonly { flags: string[]; options: DemangleOptions }[] = [
  { flags: [], options: { verbose: true } },
  { flags: ["-i"], options: {} },
  { flags: ["-i", "-p"], options: { params: false } },
];

/** Compares with c++filt. Returns the share of equal names. */
async function shareEqual(names: readonly string[], style: typeof STYLES[0]): Promise<number> {
  const text = await filter("c++filt", style.flags, names.join("\n") + "\n");
  const expected = text.trimEnd().split("\n");
  assertEquals(expected.length, names.length);
  let equal = 0;
  let shown = 0;
  names.forEach((name, i) => {
    const ours = demangle(name, style.options);
    if (ours === expected[i]) equal++;
    else if (shown++ < 3) {
      console.log(`differs: ${name}\n  c++filt ${expected[i]}\n  ours    ${ours}`);
    }
  });
  return equal / names.length;
}

/** Mangled names of the dynamic symbols of this machine's largest C++ libraries. */
function libraryNames(): string[] {
  const found = run(
    "bash",
    "-c",
    "ls -S /usr/lib/x86_64-linux-gnu/lib{stdc++,LLVM,clang,icu,boost,Qt,proto}*.so* " +
      "/usr/lib/llvm-*/lib/*.so* 2>/dev/null | head -6 | xargs -r nm -D --without-symbol-versions 2>/dev/null || true",
  );
  const names = found.split("\n").map((line) => line.slice(line.lastIndexOf(" ") + 1))
    .filter((name) => name.startsWith("_Z"));
  // An evenly spread sample.
  const unique = [...new Set(names)];
  const step = Math.max(1, Math.floor(unique.length / 20000));
  return unique.filter((_, i) => i % step === 0);
}

for (const style of STYLES) {
  Deno.test({
    name: `demangle: C++ names of installed libraries equal c++filt ${style.flags.join(" ")}`,
    ...ignored(notInstalled("c++filt", "nm")),
    fn: async (t) => {
      const names = libraryNames();
      if (names.length < 1000) {
        await skipped(t, `only ${names.length} C++ names in the libraries here`);
        return;
      }
      assert(await shareEqual(names, style) >= 0.999);
    },
  });
}

/** C++ code that produces the rarer parts of the mangling grammar. */
const CPP = `
#include <utility>
#include <tuple>
#include <functional>
#include <string>
template <class... T> struct Pack {};
template <class... T> auto sum(T... t) -> decltype((t + ...)) { return (t + ...); }
template <class T> auto call(T t) -> decltype(t()) { return t(); }
template <class T> auto index(T &&t, int i) -> decltype(std::forward<T>(t)[i]) { return t[i]; }
template <class T> auto cast(T t) -> decltype(static_cast<long>(t) + sizeof(T)) { return t; }
template <class T> auto cond(T t) -> decltype(t > 0 ? t : -t) { return t > 0 ? t : -t; }
template <class T, int N> int arr(T (&)[N]) { return N; }
template <class R, class... A> R apply(R (*f)(A...), A... a) { return f(a...); }
template <class C, class R, class... A> R member(R (C::*f)(A...) const, const C &c, A... a) { return (c.*f)(a...); }
template <auto V> struct Value { int get() const { return 1; } };
template <template <class...> class T> struct Templated { int go() { return 2; } };
struct S {
  int x; int m(int) const { return 1; } int r() & { return 1; } int rr() && { return 2; }
  operator int() const { return 1; } template <class T> operator T *() const { return nullptr; }
  S operator+(const S &) const { return *this; } int operator<=>(const S &) const { return 1; }
  void *operator new[](unsigned long n) { return ::operator new(n); } int operator()(int a, ...) { return a; }
};
long double operator""_ld(long double d) { return d; }
namespace { struct Hidden { int v() { return 1; } }; enum E { A = -3, B }; template <E e> int en() { return e; } }
int local(int a) { struct L { static int f(int b) { auto l = [b](auto c, int) { return b + c; }; return l(b, 1); } }; static int guarded = a + L::f(a); return guarded; }
inline int deflt(std::function<int(int)> f = [](int a) { static int n; return a + ++n; }) { return f(1); }
int fptr(int (*(*f)(char, double[3]))(const volatile char *restrict_, int (&)[2][3])) { return f != nullptr; }
int noex(void (*f)() noexcept, _Complex double, __int128, unsigned __int128, char16_t, char32_t, wchar_t, decltype(nullptr)) { return f != nullptr; }
typedef int v4 __attribute__((vector_size(16))); int vec(v4 a, int S::*p, int (S::*q)(int) const) { return a[0] + (p && q); }
extern "C++" { int bools(Value<true> a, Value<'c'> b, Value<-5L> c, Value<7ull> d, Value<&S::x> e, Value<&local> f, Value<nullptr> g) { return a.get() + b.get() + c.get() + d.get() + e.get() + f.get() + g.get(); } }
int main() {
  S s{}; int a[3] = {}; Templated<Pack> t; Hidden h; const S cs{};
  long r = sum(1, 2L, 3.0) + call([] { return 1; }) + index(a, 1) + cast('c') + cond(-1) + arr(a) + apply(&local, 1) + member(&S::m, s, 1);
  r += s.r() + S{}.rr() + (int)s + (cs + cs) + (s < s) + s(1, 2) + t.go() + h.v() + en<A>() + en<B>() + deflt() + (int)1.0_ld;
  r += std::get<0>(std::make_tuple(1, 2)) + (static_cast<char *>(s) == nullptr); delete[] new S[1];
  return r + std::string("x").size() + bools({}, {}, {}, {}, {}, {}, {});
}
`;

Deno.test({
  name: "demangle: rare parts of C++ names from two compilers equal c++filt",
  ...ignored(notInstalled("c++filt", "nm", "g++")),
  fn: (t) =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(
        `${folder}/a.cc`,
        CPP,
      );
      const names = new Set<string>();
      for (const compiler of ["g++", "clang++"]) {
        const missing = notInstalled(compiler);
        if (missing !== undefined) {
          await skipped(t, missing);
          continue;
        }
        try {
          run(compiler, "-std=c++20", "-w", "-O0", "-c", "-o", `${folder}/a.o`, `${folder}/a.cc`);
        } catch (error) {
          await skipped(
            t,
            `rare C++ names: ${compiler}: ${(error as Error).message.slice(0, 400)}`,
          );
          continue;
        }
        for (const name of run("nm", "-j", `${folder}/a.o`).split("\n")) {
          if (name.startsWith("_Z")) names.add(name);
        }
      }
      assert(names.size > 50);
      for (const style of STYLES) assertEquals(await shareEqual([...names], style), 1);
    }),
});

/** Rust code with closures, traits, constants and lifetimes in its names. */
const RUST = `
use std::collections::BTreeMap;
use std::fmt::Debug;
pub trait Walk<'a, T> { fn walk(&self, x: &'a T) -> usize; }
pub struct Grid<const N: usize, T>(pub [T; N]);
impl<'a, const N: usize, T: Debug> Walk<'a, T> for Grid<N, T> {
  #[inline(never)] fn walk(&self, x: &'a T) -> usize { format!("{:?}", x).len() + N }
}
#[inline(never)] pub fn higher<F: Fn(i32) -> i32>(f: F, d: &dyn Fn(&str) -> String) -> i32 { f(d("a").len() as i32) }
pub mod été { #[inline(never)] pub fn größe<const C: char, const B: bool, const I: i32>() -> i32 { I + (C as i32) + B as i32 } }
#[inline(never)] fn external(f: unsafe extern "C" fn(*const u8, *mut i32) -> u8) -> usize { f as usize }
unsafe extern "C" fn callback(_: *const u8, _: *mut i32) -> u8 { 1 }
#[inline(never)] fn show<T: Debug>(t: T) -> String { format!("{:?}", t) }
fn main() {
  let mut b: BTreeMap<i64, Box<dyn Fn(&str) -> usize + Send>> = BTreeMap::new();
  b.insert(1, Box::new(|s| s.len()));
  println!("{} {}", Grid([1u8, 2, 3]).walk(&4), higher(|x| x + 1, &|s| s.to_string()));
  println!("{} {}", été::größe::<'é', true, -5>() + été::größe::<'a', false, 7>(), external(callback));
  println!("{}{}{}", show((1, 2.0f32, "s")), show([Some(1u128); 3]), show(&&[1i8][..]));
  println!("{}", std::thread::spawn(move || b.len()).join().unwrap());
}
`;

Deno.test({
  name: "demangle: names from rustc equal c++filt",
  ...ignored(notInstalled("c++filt", "nm", "rustc")),
  fn: () =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.rs`, RUST);
      run("rustc", "-C", "symbol-mangling-version=v0", "-o", `${folder}/a`, `${folder}/a.rs`);
      const names = run("nm", "-j", `${folder}/a`).split("\n")
        .filter((name) => name.startsWith("_R") || name.startsWith("_ZN"));
      assert(names.length > 200);
      for (const style of STYLES.slice(0, 2)) assert(await shareEqual(names, style) >= 0.999);
    }),
});

Deno.test("demangleRustLegacy: names give the paths that rustc's mangling rules define", () => {
  const legacy = (path: string): string | undefined =>
    demangleRustLegacy(`_ZN${path}17h0123456789abcdefE`);
  assertEquals(legacy("4core3fmt"), "core::fmt");
  assertEquals(
    legacy("71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"),
    "<Test + 'static as foo::Bar<Test>>::bar",
  );
  assertEquals(legacy("12test$RF$$BP$1a"), "test&*::a");
  assertEquals(legacy("10a$LP$b$RP$1c"), "a(b)::c");
  assertEquals(legacy("5a.b.c"), "a.b.c");
  assertEquals(demangleRustLegacy("_ZN3foo17h0123456789abcdefE.llvm.1234"), "foo");
  assertEquals(
    demangleRustLegacy("_ZN3foo17h0123456789abcdefE", { verbose: true }),
    "foo::h0123456789abcdef",
  );
  // All digits equal: not a hash, so the name is C++.
  assertEquals(demangleRustLegacy("_ZN3foo17h0000000000000000E"), undefined);
  assertEquals(demangle("_ZN3foo3barEv"), "foo::bar()");
});

Deno.test("demangleRustV0: the examples of RFC 2603 give its paths", () => {
  const cases: [string, string][] = [
    ["_RNvCs1234_7mycrate3foo", "mycrate::foo"],
    ["_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"],
    ["_RNCNvCs1234_7mycrate4main0B4_", "mycrate::main::{closure#0}"],
    ["_RINvCs1234_7mycrate3foolE", "mycrate::foo::<i32>"],
    ["_RNvXCs1234_7mycrateNtB2_1SNtB2_1T1f", "<mycrate::S as mycrate::T>::f"],
    ["_RINvC1a1fFKCPhEuE", 'a::f::<extern "C" fn(*const u8)>'],
    ["_RINvC1a1fDNtC1a1Tp4ItemhEL_E", "a::f::<dyn a::T<Item = u8>>"],
    ["_RINvC1a1fTlEE", "a::f::<(i32,)>"],
    ["_RINvC1a1fAhj3_E", "a::f::<[u8; 3]>"],
    ["_RINvC1a1fKln5_E", "a::f::<-5>"],
    ["_RINvC1a1fKc27_E", "a::f::<'\\''>"],
    ["_RNvC7mycrateu8gdel_5qa", "mycrate::gödel"],
  ];
  for (const [mangled, expected] of cases) assertEquals(demangleRustV0(mangled), expected);
});

Deno.test("demangle: names that are not mangled are returned unchanged", () => {
  for (
    const name of [
      "main",
      "_start",
      "_Z",
      "_ZN",
      "_Zfoo",
      "_R",
      "",
      "_D3std5stdioQna",
      "$s4main3fooyyF",
    ]
  ) {
    assertEquals(demangle(name), name);
  }
  assertEquals(demangle("_Z3foov@@V1.2"), "foo()@@V1.2");
  assertEquals(demangle("_Z3fooi.constprop.0"), "foo(int) [clone .constprop.0]");
});

Deno.test("Demangler: cached results equal demangle(), even if the cache overflows", () => {
  const demangler = new Demangler({}, 2);
  for (let round = 0; round < 3; round++) {
    for (const name of ["_Z1av", "_Z1bv", "_Z1cv", "main"]) {
      assertEquals(demangler.demangle(name), demangle(name));
    }
  }
});

Deno.test("demangle: hostile names end in bounded time", () => {
  // Each substitution doubles the length of the last one's text.
  let doubling = "_Z1fI1aE";
  for (let i = 0; i < 60; i++) {
    doubling += `4PairIS${i === 0 ? "" : (i - 1).toString(36).toUpperCase()}_S${
      i === 0 ? "" : (i - 1).toString(36).toUpperCase()
    }_E`;
  }
  const hostile = [
    doubling,
    "_Z1f" + "P".repeat(60_000) + "i",
    "_Z1f" + "N1a".repeat(20_000),
    "_Z1fI" + "J".repeat(60_000),
    "_Z1fI" + "XadL_Z".repeat(10_000),
    "_Z1fIXsr" + "1aI".repeat(20_000),
    "_ZcvT_I" + "cvT_I".repeat(10_000),
    "_Z" + "Z".repeat(60_000),
    "_Z99999999999999999999x",
    "_Z1fS" + "Z".repeat(60_000) + "_",
    "_RNvC1a" + "NvC1a".repeat(10_000),
    "_RINvC1a1f" + "T".repeat(60_000),
    "_RINvC1a1f" + "TB8_B8_B8_B8_".repeat(4000) + "E",
    "_RINvC1a1fB_E",
    "_RINvC1a1fFG" + "z".repeat(40) + "_EuE",
    "_RNvC1au60000_" + "a".repeat(60_000),
    "_ZN" + "1a".repeat(30_000) + "17h0123456789abcdefE",
  ];
  for (const name of hostile) {
    const shown = demangle(name);
    assert(shown.length <= Math.max(name.length, 1 << 17), name.slice(0, 40));
  }
});

Deno.test("demangle: any string gives a string", () => {
  const seeds = [
    "_ZN4llvm12function_refIFbPNS_5ValueEEE11callback_fnIZNS_3FooEvEUlS2_E_EEblS2_",
    "_ZNSt6vectorISt10unique_ptrI1ASt14default_deleteIS1_EESaIS4_EE12emplace_backIJPS1_EEERS4_DpOT_",
    "_ZN5clang12ast_matchers8internal13matchesFirstIDTclsr3stdE5beginclsr3stdE7declvalIRT_EEEEEiv",
    "_RNvXs_NtCs1234_7mycrate3fooINtB4_3BarlENtNtCs5678_4core5clone5Clone5clone",
  ];
  const mutated = fc.tuple(
    fc.constantFrom(...seeds),
    fc.array(
      fc.tuple(fc.nat(90), fc.constantFrom(..."_0123456789ABCDEFIJKLNOPRSTUVXZabcdefilmnoprstv")),
      {
        maxLength: 6,
      },
    ),
  ).map(([seed, edits]) => {
    const chars = [...seed];
    for (const [at, char] of edits) chars[at % chars.length] = char;
    return chars.join("");
  });
  fc.assert(
    fc.property(
      fc.oneof(mutated, fc.string().map((s) => "_Z" + s), fc.string().map((s) => "_R" + s)),
      (name) => {
        assert(typeof demangle(name) === "string");
        assert(typeof demangle(name, { params: false, verbose: true }) === "string");
      },
    ),
    { numRuns: 3000 },
  );
});

Deno.test({
  name: "demangle: broken names are left unchanged where c++filt leaves them unchanged",
  ...ignored(notInstalled("c++filt")),
  fn: async () => {
    const base = "_ZN4llvm12function_refIFbPNS_5ValueEEE11callback_fnIZNS_3FooEvEUlS2_E_EEblS2_";
    const names: string[] = [];
    for (let cut = 2; cut < base.length; cut++) names.push(base.slice(0, cut));
    const text = await filter("c++filt", ["-i"], names.join("\n") + "\n");
    const expected = text.trimEnd().split("\n");
    assertEquals(names.map((name) => demangleItanium(name) ?? name), expected);
  },
});
