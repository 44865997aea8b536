/**
 * Compares every inline chain with `llvm-symbolizer`, and the outermost function and the line with
 * binutils' `addr2line`, over the whole code of programs that are built here in many ways.
 *
 * A short matrix by default; all of it with `PERFDATA_SWEEP=1`.
 */
import { assert, assertEquals } from "@std/assert";
import { addressToHex } from "@perfdata/symbols/resolver";
import type { DwarfContext, DwarfError } from "@perfdata/symbols/dwarf";
import { readElfSymbols, type SymbolTable } from "@perfdata/symbols";
import { openDwarf } from "@perfdata/symbols/files";
import { notInstalled } from "../../packages/symbols/testing/installed.ts";
import { filter } from "../../packages/symbols/testing/toolchain.ts";

const HERE = new URL("../support/addr2line/", import.meta.url).pathname;
const SWEEP = Deno.env.get("PERFDATA_SWEEP") === "1";
const ADDRESSES = SWEEP ? 20_000 : 2_500;

/**
 * Parts of a build that binutils' `addr2line` 2.40 cannot read; `llvm-symbolizer` reads all of
 * them.
 */
type Unread =
  /** Inlined calls with DW_FORM_rnglistx, as Clang writes them. */
  | "chains"
  /** It finds no DWARF in the file, or uses that of the wrong unit. */
  | "all";

interface Build {
  readonly name: string;
  readonly command: readonly string[];
  readonly sources: readonly string[];
  /** Programs that are run on the binary afterwards, with its path in place of `{}`. */
  readonly then?: readonly (readonly string[])[];
  readonly unread?: Unread;
  /**
   * llvm-symbolizer 14 cannot read the build; `{}.before`, with the same code, is compared instead.
   */
  readonly llvmReadsBefore?: boolean;
  /** Whether it is in the short matrix. */
  readonly short?: boolean;
}

const C = ["calls.c", "more_calls.c"];
const CXX = ["templates.cpp", "more_templates.cpp"];
/** A program that compiles in a third of the time, for builds that differ only in the container. */
const LIGHT = SWEEP ? CXX : ["scopes.cpp", "more_templates.cpp"];
const GXX = ["g++", "-std=c++17"];
const CLANGXX = ["clang++", "-std=c++17"];

const builds: Build[] = [];
for (const version of [2, 3, 4, 5]) {
  for (const level of [0, 2, 3]) {
    const flags = [`-gdwarf-${version}`, `-O${level}`];
    const name = flags.join(" ");
    const short = level === 2;
    const chains = version === 5 && level > 0 ? { unread: "chains" as const } : {};
    builds.push(
      { name: `gcc C ${name}`, command: ["gcc", ...flags], sources: C, short },
      {
        name: `gcc C++ ${name}`,
        command: [...GXX, ...flags],
        sources: CXX,
        short: level > 2 && version !== 3,
      },
      { name: `clang C ${name}`, command: ["clang", ...flags], sources: C, short, ...chains },
      {
        name: `clang C++ ${name}`,
        command: [...CLANGXX, ...flags],
        sources: CXX,
        short: version === 4 && level > 2,
        ...chains,
      },
    );
  }
}
const small = { command: ["gcc", "-g", "-O2"], sources: C };
for (
  const [name, flags, more] of [
    ["64-bit DWARF", ["-gdwarf64"], { unread: "all" }],
    ["compressed", ["-gz"], {}],
    ["static", ["-static"], {}],
    ["no PIE", ["-no-pie"], {}],
    ["gold", ["-fuse-ld=gold"], {}],
    ["lld", ["-fuse-ld=lld"], {}],
    ["-g1", ["-g1"], {}],
  ] as const
) {
  builds.push({
    name: `gcc C ${name}`,
    ...small,
    command: [...small.command, ...flags],
    short: true,
    ...more,
  });
}
const gcc = (name: string, flags: string[], more: Partial<Build> = {}): void => {
  builds.push({
    name: `gcc ${name}`,
    command: [...GXX, "-g", "-O2", ...flags],
    sources: LIGHT,
    ...more,
  });
};
const clang = (name: string, flags: string[], more: Partial<Build> = {}): void => {
  builds.push({
    name: `clang ${name}`,
    command: [...CLANGXX, "-g", "-O2", ...flags],
    sources: LIGHT,
    ...more,
  });
};
gcc("-g1", ["-g1"]);
clang("-g1", ["-g1"], { unread: "chains" });
gcc("64-bit DWARF", ["-gdwarf64"], { unread: "all" });
clang("64-bit DWARF", ["-gdwarf-5", "-gdwarf64"], { unread: "chains" });
gcc("compressed", ["-gz"]);
gcc("compressed, old form", ["-gz=zlib-gnu"], { unread: "all" });
gcc("static", ["-static"]);
gcc("no PIE", ["-no-pie"]);
gcc("PIE", ["-fPIE", "-pie"]);
gcc("gold", ["-fuse-ld=gold"]);
gcc("lld, sections collected", ["-ffunction-sections", "-Wl,--gc-sections", "-fuse-ld=lld"]);
gcc("bfd, sections collected", ["-ffunction-sections", "-Wl,--gc-sections"]);
clang("lld", ["-fuse-ld=lld"], { unread: "chains", short: true });
clang("lld, sections collected", [
  "-gdwarf-4",
  "-ffunction-sections",
  "-Wl,--gc-sections",
  "-fuse-ld=lld",
]);
// Merged code belongs to several functions; addr2line chooses another one.
clang("lld, equal code merged", ["-ffunction-sections", "-Wl,--icf=all", "-fuse-ld=lld"], {
  unread: "all",
});
gcc("link-time optimisation", ["-flto"], { sources: CXX, short: true });
clang("link-time optimisation", ["-flto", "-fuse-ld=lld"], { unread: "chains" });
gcc("type units 4", ["-gdwarf-4", "-fdebug-types-section"]);
gcc("type units 5", ["-gdwarf-5", "-fdebug-types-section"], { unread: "all" });
clang("type units 5", ["-gdwarf-5", "-fdebug-types-section"], { unread: "all", short: true });
for (const version of [4, 5]) {
  const split = [`-gdwarf-${version}`, "-gsplit-dwarf"];
  const short = version === 5;
  gcc(`split ${version}`, split, { unread: "all", short });
  // llvm-symbolizer 14 misses inlined calls of Clang's split units if the unit has one range.
  clang(`split ${version}`, split, { unread: "all", short: !short, sources: CXX });
  const packaged = [
    ["llvm-dwp", "-e", "{}", "-o", "{}.dwp"],
    // Delete the split units, so that the package must be used.
    ["sh", "-c", 'rm "$(dirname "{}")"/*.dwo'],
  ];
  gcc(`package ${version}`, split, { unread: "all", short: !short, then: packaged });
  clang(`package ${version}`, split, { unread: "all", short, then: packaged, sources: CXX });
}
gcc("package 4 of GNU dwp", ["-gdwarf-4", "-gsplit-dwarf"], {
  unread: "all",
  then: [
    ["sh", "-c", 'cd "$(dirname "{}")" && dwp -e {} -o {}.dwp'],
    ["sh", "-c", 'rm "$(dirname "{}")"/*.dwo'],
  ],
});
gcc("dwz", [], { unread: "all", then: [["dwz", "{}"]] });
gcc("dwz with supplementary file", [], {
  llvmReadsBefore: true,
  short: true,
  then: [
    ["cp", "{}", "{}.before"],
    ["cp", "{}", "{}.other"],
    ["sh", "-c", 'cd "$(dirname "{}")" && dwz -m common program program.other'],
  ],
});
gcc("stripped with debug link", [], {
  ...small,
  short: true,
  then: [
    ["objcopy", "--only-keep-debug", "{}", "{}.debug"],
    ["strip", "--strip-all", "{}"],
    ["objcopy", "--add-gnu-debuglink={}.debug", "{}"],
  ],
});
for (const version of [4, 5]) {
  for (const level of [0, 3]) {
    builds.push({
      name: `rustc DWARF ${version} -O${level}`,
      command: ["rustc", `-Copt-level=${level}`, "-Cdebuginfo=2", `-Cdwarf-version=${version}`],
      sources: ["iterators.rs"],
      short: level === 3,
      ...(version === 5 ? { unread: "chains" as const } : {}),
    });
  }
}
for (
  const [target, flags] of [
    ["powerpc64-linux-gnu", ["-gdwarf-5"]],
    ["mips-linux-gnu", ["-gdwarf-4"]],
    ["aarch64-linux-gnu", ["-gdwarf-5"]],
    ["riscv64-linux-gnu", ["-gdwarf-4", "-mno-relax"]],
    ["i386-linux-gnu", ["-gdwarf-5"]],
  ] as const
) {
  builds.push({
    name: `clang ${target}`,
    command: [
      "clang",
      `--target=${target}`,
      ...flags,
      "-O2",
      "-ffreestanding",
      "-fno-pic",
      "-nostdlib",
      "-static",
      "-fuse-ld=lld",
      "-Wl,-e,digest",
    ],
    sources: ["more_calls.c"],
    // Debian's addr2line knows only its own machine.
    unread: "all",
    short: true,
  });
}

interface Place {
  readonly function: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Addresses over all executable sections, as `readelf` prints them. */
function codeAddresses(path: string, wanted: number): number[] {
  const { stdout } = new Deno.Command("readelf", { args: ["-SW", path] }).outputSync();
  const sections = [
    ...new TextDecoder().decode(stdout).matchAll(
      /\] \S+\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) \d+ +\w*X/g,
    ),
  ].map(([, address, size]) => [parseInt(address ?? "", 16), parseInt(size ?? "", 16)] as const);
  const total = sections.reduce((sum, [, size]) => sum + size, 0);
  const step = Math.max(1, total / wanted);
  const addresses: number[] = [];
  for (const [address, size] of sections) {
    for (let at = 0; at < size; at += step) addresses.push(address + Math.floor(at));
  }
  return addresses;
}

function parsePlaces(lines: readonly string[]): Place[] {
  const places: Place[] = [];
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const match = /^(.*?):(\d+|\?)(?::(\d+))?(?: \(discriminator \d+\))?$/.exec(lines[i + 1] ?? "");
    places.push({
      function: lines[i] ?? "",
      file: match?.[1] ?? "",
      line: match?.[2] === "?" ? 0 : Number(match?.[2]),
      column: Number(match?.[3] ?? 0),
    });
  }
  return places;
}

async function llvm(path: string, functions: string, input: string): Promise<Place[][]> {
  const text = await filter("llvm-symbolizer", [
    `--obj=${path}`,
    `--functions=${functions}`,
    "--no-demangle",
    "--inlines",
  ], input);
  return text.trimEnd().split("\n\n").map((block) => parsePlaces(block.split("\n")));
}

async function binutils(path: string, input: string): Promise<Place[][]> {
  const text = await filter("addr2line", ["-a", "-f", "-i", "-e", path], input);
  return text.split(/^0x[0-9a-f]+\n/m).slice(1)
    .map((block) => parsePlaces(block.trimEnd().split("\n")));
}

const NOWHERE: Place = { function: "??", file: "??", line: 0, column: 0 };

/** Function names of both tools: short names, and linkage names. */
function ours(dwarf: DwarfContext, addresses: number[]): { short: Place[]; linkage: Place[] }[] {
  const batch = dwarf.findAll(Float64Array.from(addresses));
  return addresses.map((_, i) => {
    const short: Place[] = [], linkage: Place[] = [];
    const first = batch.first[i] ?? 0;
    for (let k = first; k < first + (batch.count[i] ?? 0); k++) {
      const name = batch.functions[batch.function[k] ?? -1];
      const place = {
        file: batch.files[batch.file[k] ?? -1] ?? "??",
        line: batch.line[k] ?? 0,
        column: batch.column[k] ?? 0,
      };
      short.push({ function: name?.function ?? "??", ...place });
      linkage.push({ function: name?.linkageName ?? name?.function ?? "??", ...place });
    }
    return short.length > 0 ? { short, linkage } : { short: [NOWHERE], linkage: [NOWHERE] };
  });
}

const show = (places: readonly Place[]): string =>
  places.map((p) => `${p.function} ${p.file}:${p.line}:${p.column}`).join("\n      ");

class Tally {
  compared = 0;
  readonly #what: string;
  readonly #differing: string[] = [];

  constructor(what: string) {
    this.#what = what;
  }

  add(address: number, ours: string, theirs: string): void {
    this.compared++;
    if (ours !== theirs) {
      this.#differing.push(
        `    ${addressToHex(address)}\n      ${ours}\n    instead of\n      ${theirs}`,
      );
    }
  }

  /** At least 99.9 % must be equal; differences are listed. */
  check(build: string): void {
    const differing = this.#differing.length;
    if (differing > 0) {
      console.log(`${build}: ${this.#what}: ${differing} of ${this.compared} differ`);
      console.log(this.#differing.slice(0, SWEEP ? 20 : 3).join("\n"));
    }
    assert(
      differing <= this.compared * 0.001,
      `${build}: ${this.#what}: ${differing} of ${this.compared} differ`,
    );
  }
}

/** A split function (`.cold`) has its own symbol; DWARF has one function with two ranges. */
const whole = (name: string): string => name.replace(/\.(cold|part\.\d+|lto_priv\.\d+)/g, "");

async function compare(build: Build, path: string): Promise<void> {
  const faults: DwarfError[] = [];
  using binary = await openDwarf(path, { diagnostics: (error) => faults.push(error) });
  const addresses = codeAddresses(path, ADDRESSES);
  assert(addresses.length > 50);
  const input = addresses.map((address) => `${addressToHex(address)}\n`).join("");
  const mine = ours(binary.dwarf, addresses);
  assertEquals(faults.map((error) => error.message), []);
  const symbols = readElfSymbols(binary.debug, { runtime: binary.elf }).table;

  const readable = build.llvmReadsBefore === true ? `${path}.before` : path;
  const short = await llvm(readable, "short", input);
  const chains = new Tally("chains of llvm-symbolizer");
  addresses.forEach((address, i) => {
    chains.add(address, show(mine[i]?.short ?? []), show(short[i] ?? []));
  });
  chains.check(build.name);
  // addr2line reads the outermost name from the symbol table, others from DWARF.
  const linkage = await llvm(readable, "linkage", input);
  const names = new Tally("linkage names of llvm-symbolizer");
  addresses.forEach((address, i) => {
    const inner = (places: readonly Place[] = []) => show(places.slice(0, -1));
    names.add(address, inner(mine[i]?.linkage), inner(linkage[i]));
  });
  names.check(build.name);

  if (build.unread === "all") return;
  const theirs = await binutils(path, input);
  const lines = new Tally("lines of addr2line");
  const functions = new Tally("functions of addr2line");
  addresses.forEach((address, i) => {
    const chain = mine[i]?.linkage ?? [], other = theirs[i] ?? [];
    const [here = NOWHERE, there = NOWHERE] = build.unread === "chains"
      ? [chain[0], other[0]]
      : [chain.at(-1), other.at(-1)];
    // addr2line counts the padding after a function to it; llvm-symbolizer does not.
    if (chain[0] === NOWHERE) return;
    // Only the line: addr2line takes some files in DWARF 5 for the unit's own. llvm-symbolizer has
    // checked the file.
    lines.add(address, String(here.line), String(there.line));
    if (build.unread === "chains" || chain.at(-1)?.function === "??") return;
    // For a function without a linkage name it sometimes uses the ELF symbol's name.
    const shownThere = whole(there.function);
    const names = [chain.at(-1)?.function ?? "", symbolAt(symbols, address)].map(whole);
    functions.add(
      address,
      names.includes(shownThere) ? shownThere : names.join(" or "),
      shownThere,
    );
  });
  lines.check(build.name);
  functions.check(build.name);
}

function symbolAt(symbols: SymbolTable, address: number): string {
  return symbols.get(symbols.lookup(address))?.name ?? "";
}

async function make(build: Build, folder: string): Promise<string> {
  const [compiler = "", ...flags] = build.command;
  const path = `${folder}/program`;
  const sources = build.sources.map((name) => `${HERE}${name}`);
  await run([compiler, ...flags, ...sources, "-o", path], folder);
  for (const command of build.then ?? []) {
    await run(command.map((word) => word.replaceAll("{}", path)), folder);
  }
  return path;
}

async function run(command: readonly string[], cwd: string): Promise<void> {
  const [program = "", ...args] = command;
  const { success, stderr } = await new Deno.Command(program, { args, cwd }).output();
  if (!success) throw new Error(`${command.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

/** The first word of each command in a shell command line. */
function programsOf(text: string): string[] {
  return text.split(/&&|\|\||[;|]/).map((command) => command.trim().split(/\s+/)[0] ?? "");
}

/** Programs that a build needs. */
function needed(build: Build): string[] {
  const linker = build.command.find((flag) => flag.startsWith("-fuse-ld="));
  return [
    "llvm-symbolizer",
    "addr2line",
    "readelf",
    build.command[0] ?? "",
    ...(linker === undefined ? [] : [`ld.${linker.slice("-fuse-ld=".length)}`]),
    // `sh -c` runs the programs named in its text.
    ...(build.then ?? []).flatMap(([program = "", flag, text = ""]) =>
      program === "sh" && flag === "-c" ? programsOf(text) : [program]
    ),
  ];
}

Deno.test("addr2line: inline chains equal those of llvm-symbolizer and addr2line", async (t) => {
  const chosen = builds.filter((build) => SWEEP || build.short === true);
  console.log(
    `${chosen.length} of ${builds.length} builds, ${ADDRESSES} addresses each` +
      (SWEEP ? "" : "; all with PERFDATA_SWEEP=1"),
  );
  for (const build of chosen) {
    const missing: string[] = [];
    for (const program of new Set(needed(build))) {
      if (notInstalled(program) !== undefined) missing.push(program);
    }
    if (missing.length > 0) console.log(`ignored: ${build.name}: no ${missing.join(", ")} here`);
    await t.step({
      name: build.name,
      ignore: missing.length > 0,
      fn: async () => {
        const folder = await Deno.makeTempDir({ prefix: "perfdata-addr2line-" });
        try {
          await compare(build, await make(build, folder));
        } finally {
          await Deno.remove(folder, { recursive: true });
        }
      },
    });
  }
});
