/**
 * Names of inlined functions, compared with the symbols of a build of the same source without
 * inlining: compilers omit the linkage name of functions that other files cannot see.
 */
import { assert, assertEquals } from "@std/assert";
import { localResolver } from "@perfdata/symbols/files";
import { inFolder, run } from "../../packages/symbols/testing/toolchain.ts";
import { ignored, notInstalled } from "../support/ignored.ts";

const HERE = new URL("../support/addr2line/", import.meta.url).pathname;

/** Inlined functions of the source, with their symbols in the other build. */
const CPP = [
  "shop::mix",
  "shop::(anonymous namespace)::hidden",
  "shop::(anonymous namespace)::Till::add<int>",
  "shop::(anonymous namespace)::Till::add<double>",
  "shop::(anonymous namespace)::Till::Drawer::open",
  "shop::v2::newer",
  "shop::Box::Lid::turn",
  "shop::Box::Lid::turn::Local::spin",
  "shop::Box::run::{lambda}::operator()",
  "cfun",
];
const RUST = [
  "scopes::shop::mix",
  "scopes::shop::Till::add",
  "scopes::shop::inner::turn",
  "scopes::shop::inner::turn::{{closure}}",
];

interface Case {
  readonly compiler: string;
  readonly flags: readonly string[];
  readonly plain: readonly string[];
  readonly source: string;
  readonly inlined: readonly string[];
  readonly programs?: readonly string[];
}

const GXX = { compiler: "g++", plain: ["-std=c++17", "-O0"], source: "scopes.cpp", inlined: CPP };
const CLANGXX = { ...GXX, compiler: "clang++" };
const CASES: Case[] = [
  { ...GXX, flags: ["-g"] },
  { ...GXX, flags: ["-gdwarf-2"] },
  { ...GXX, flags: ["-gdwarf-4", "-fdebug-types-section"] },
  { ...GXX, flags: ["-g", "-flto"] },
  { ...GXX, flags: ["-g", "-gsplit-dwarf"] },
  { ...CLANGXX, flags: ["-g"] },
  {
    compiler: "rustc",
    flags: ["-g", "-Copt-level=3", "--cfg=inlined"],
    plain: ["-Copt-level=0"],
    source: "scopes.rs",
    inlined: RUST,
  },
];

/** A name without parameters, kind of function, hashes, and a lambda's number. */
function bare(name: string): string {
  let text = name.replace(/^(?:int|unsigned long) /, "")
    .replace(/\{lambda[^}]*\}|\$_\d+/g, "{lambda}")
    .replace(/::h[0-9a-f]{16}$/, "")
    .replace(/ const$/, "");
  for (;;) {
    // A parameter list ends before the next `::` or at the end; an operator's own `()` is none.
    const shorter = text.replace(/(?<!operator)\((?!anonymous)[^()]*\)(?=::|$)/, "");
    if (shorter === text) return text;
    text = shorter;
  }
}

/** File offsets of a program's code. */
function codeOf(path: string): number[] {
  const [, from = "", size = ""] =
    /\.text\s+PROGBITS\s+[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)/.exec(run("readelf", "-SW", path)) ?? [];
  assert(size !== "");
  return Array.from({ length: parseInt(size, 16) }, (_, i) => parseInt(from, 16) + i);
}

for (const { compiler, flags, plain, source, inlined } of CASES) {
  const name = `inlined functions have their scopes: ${compiler} ${flags.join(" ")}`;
  Deno.test({
    name,
    ...ignored(notInstalled(compiler, "nm", "readelf")),
    fn: () =>
      inFolder(async (folder) => {
        const optimised = compiler === "rustc" ? [] : ["-std=c++17", "-O2"];
        run(compiler, ...optimised, ...flags, `${HERE}${source}`, "-o", `${folder}/fast`);
        run(compiler, ...plain, `${HERE}${source}`, "-o", `${folder}/plain`);
        const known = new Set(
          run("nm", "-C", `${folder}/plain`).split("\n").map((line) => bare(line.slice(19))),
        );
        assertEquals(inlined.filter((name) => !known.has(name)), [], "not among the symbols");

        const resolver = localResolver();
        const symbols = await resolver.open({ path: `${folder}/fast`, kind: "elf" });
        const found = await symbols.find(Float64Array.from(codeOf(`${folder}/fast`)));
        symbols.close();
        const seen = new Map<string, Set<number>>();
        let compared = 0;
        for (const { frames } of found) {
          frames.forEach((frame, i) => {
            if (!frame.inlined || !frame.file?.endsWith(source)) return;
            const shown = bare(frame.name);
            compared++;
            assert(known.has(shown), `${frame.name} is no function of the program`);
            const lines = seen.get(frame.name) ?? new Set();
            lines.add(frames[i]?.line ?? 0);
            seen.set(frame.name, lines);
          });
        }
        const shown = new Set([...seen.keys()].map(bare));
        assertEquals(inlined.filter((name) => !shown.has(name)), [], "not inlined, or not seen");
        assert(compared >= inlined.length, `${compared} frames`);
        // Each of the two lambdas of one function has its own rows.
        if (source === "scopes.cpp") {
          const lambdas = [...seen].filter(([name]) => bare(name).includes("{lambda}"));
          assertEquals(lambdas.length, 2);
          for (const [, lines] of lambdas) assertEquals(lines.size, 1, "code of two lambdas");
        }
        console.log(`${compared} frames of ${seen.size} inlined functions`);
      }),
  });
}
