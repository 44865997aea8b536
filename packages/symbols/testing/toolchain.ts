// For tests: runs compilers and binary tools to compare with.

import { ElfFile } from "../elf/elf_file.ts";
import "../elf/plain_decompressors.ts";
import { bytesSource } from "../files/binary_source.ts";
import { notInstalled } from "./installed.ts";

/** Runs a program and returns its output. Throws if it fails. */
export function run(program: string, ...args: string[]): string {
  const { success, stdout, stderr } = new Deno.Command(program, {
    args,
    env: { LC_ALL: "C" },
    stdout: "piped",
    stderr: "piped",
  }).outputSync();
  if (!success) {
    const why = new TextDecoder().decode(stderr);
    throw new Error(`${program} ${args.join(" ")} failed: ${why}`);
  }
  return new TextDecoder().decode(stdout);
}

/** Runs a program with text on its stdin. Returns its output. */
export async function filter(program: string, args: string[], input: string): Promise<string> {
  const child = new Deno.Command(program, {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  return new TextDecoder().decode((await output).stdout);
}

/** Calls `use` with a temporary directory, which is removed afterwards. */
export async function inFolder(use: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-symbols-" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Opens an ELF file that is read whole. */
export function readElf(path: string): ElfFile {
  return ElfFile.open(bytesSource(Deno.readFileSync(path)));
}

/** A C++ program with aliases, weak and static functions, templates, and calls through the PLT. */
export const PROGRAM = `
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <algorithm>
namespace shapes {
template <class T> struct Box {
  T value;
  __attribute__((noinline)) T twice(T n) const { volatile T s = 0; for (int i = 0; i < 100000; i++) s += i ^ n; return s + value; }
};
__attribute__((noinline)) long area(const std::vector<long> &v) {
  volatile long s = 0;
  for (int r = 0; r < 2000; r++) for (long x : v) s += x * r;
  return s;
}
}
extern "C" {
__attribute__((noinline)) long alias_target(long n) { volatile long s = 0; for (long i = 0; i < 100000; i++) s ^= i + n; return s; }
long __alias_underscored(long) __attribute__((alias("alias_target")));
long alias_weak_with_a_long_name(long) __attribute__((weak, alias("alias_target")));
long alias_longer_name(long) __attribute__((alias("alias_target")));
__attribute__((weak, noinline)) long weak_only(long n) { volatile long s = n; for (int i = 0; i < 100000; i++) s += i; return s; }
}
static __attribute__((noinline)) long hidden_static(long n) { volatile long s = n; for (int i = 0; i < 100000; i++) s -= i; return s; }
asm(".text\\n.globl no_size\\n.type no_size,@function\\nno_size:\\n nop\\n ret\\n.type next_one,@function\\nnext_one: ret\\n.size next_one, 1\\nlabel_in_text: ret\\n");
int table[64];
int main(int argc, char **argv) {
  shapes::Box<long> box{argc};
  std::vector<long> v(64, 3);
  long s = 0;
  for (int i = 0; i < 150; i++) {
    s += box.twice(i) + shapes::area(v) + alias_target(i) + weak_only(i) + hidden_static(i);
    std::sort(v.begin(), v.end());
    v[i % 64] = rand();
  }
  std::string text = std::to_string(s);
  std::printf("%s\\n", text.c_str());
  return table[s & 63];
}
`;

/** A way to build {@linkcode PROGRAM}. */
export interface Flavour {
  /** Name in test messages. */
  readonly name: string;
  /** Compiler and flags. */
  readonly command: readonly [string, ...string[]];
}

/** Builds with different layouts of segments, symbols and stubs. */
export const FLAVOURS: readonly Flavour[] = [
  { name: "gcc -O0 PIE", command: ["g++", "-O0", "-fPIE", "-pie"] },
  { name: "gcc -O2 no PIE", command: ["g++", "-O2", "-no-pie"] },
  { name: "gcc -O3 static", command: ["g++", "-O3", "-static"] },
  {
    name: "gcc -O1 branch protection",
    command: ["g++", "-O1", "-fcf-protection=full", "-Wl,-z,ibtplt"],
  },
  { name: "gcc -O1 bind now", command: ["g++", "-O1", "-Wl,-z,now", "-fno-plt"] },
  { name: "gcc -O2 gold", command: ["g++", "-O2", "-fuse-ld=gold"] },
  { name: "gcc -O2 lld", command: ["g++", "-O2", "-fuse-ld=lld"] },
  { name: "gcc -O2 one code segment", command: ["g++", "-O2", "-Wl,-z,noseparate-code"] },
  { name: "clang -O2 lld", command: ["clang++", "-O2", "-fuse-ld=lld", "-fPIE", "-pie"] },
  { name: "clang -O2 no PIE", command: ["clang++", "-O2", "-no-pie"] },
];

/** The flavours that can be built on this machine; the others are reported. */
export function usableFlavours(): Flavour[] {
  return FLAVOURS.filter(({ name, command }) => {
    const linker = /-fuse-ld=(\w+)/.exec(command.join(" "))?.[1];
    const linkers = linker === undefined ? [] : [`ld.${linker}`];
    const missing = notInstalled(command[0], ...linkers);
    if (missing !== undefined) console.log(`ignored: ${name}: ${missing}`);
    return missing === undefined;
  });
}

let ownFolder: string | undefined;

/**
 * Folder of programs that several tests use: that of a run of `tests/run.ts`, otherwise one of this
 * test file, which is removed at its end.
 */
function sharedFolder(): string {
  const shared = Deno.env.get("PERFDATA_TEST_PROGRAMS") ?? ownFolder;
  if (shared !== undefined) return shared;
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-programs-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  return ownFolder = folder;
}

/**
 * Makes a file at a path. Test files in other threads make it at the same time, or have it whole.
 */
function madeOnce(path: string, make: (path: string) => void): string {
  try {
    Deno.statSync(path);
  } catch {
    const own = `${path}.${crypto.randomUUID()}`;
    make(own);
    Deno.renameSync(own, path);
  }
  return path;
}

/**
 * Builds {@linkcode PROGRAM}. Returns the path of the binary, a copy that the test may change.
 * Each build is compiled once.
 */
export function build(folder: string, { name, command }: Flavour, ...more: string[]): string {
  const shared = sharedFolder();
  const source = madeOnce(`${shared}/program.cc`, (path) => Deno.writeTextFileSync(path, PROGRAM));
  const [compiler, ...flags] = command;
  const fileName = (...words: string[]) => words.join("_").replaceAll(/[^\w]+/g, "_");
  const made = madeOnce(
    `${shared}/${fileName(name, ...more)}`,
    (path) => run(compiler, ...flags, ...more, "-o", path, source),
  );
  const output = `${folder}/${fileName(name)}`;
  Deno.copyFileSync(made, output);
  return output;
}
