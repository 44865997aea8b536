import { assert, assertEquals } from "@std/assert";
import { bytesSource } from "../files/binary_source.ts";
import { ElfFile } from "../elf/elf_file.ts";
import { inFolder, run } from "../testing/toolchain.ts";
import { DwarfContext, type FrameBatch } from "./dwarf_context.ts";
import { elfDwarfSections } from "./elf_sections.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

// A lambda and a local class nest functions; -O2 nests calls.
const SOURCE = `
#include <algorithm>
#include <map>
#include <string>
#include <vector>
std::map<std::string, int> count(const std::vector<std::string> &words) {
  std::map<std::string, int> counts;
  std::for_each(words.begin(), words.end(), [&](const std::string &word) { counts[word]++; });
  return counts;
}
int main(int argc, char **argv) {
  struct Longest { static bool less(const std::string &a, const std::string &b) { return a.size() < b.size(); } };
  std::vector<std::string> words(argv, argv + argc);
  std::sort(words.begin(), words.end(), Longest::less);
  return count(words).size();
}
`;

// Nested functions, a GNU extension of C. Some are inlined together with their enclosing function.
const NESTED_SOURCE = `
#include <stdlib.h>
void __attribute__((noinline)) each(int n, int (*f)(int)) { for (int i = 0; i < n; i++) n += f(i) & 1; }
static inline __attribute__((always_inline)) int outer(int x) {
  int __attribute__((noinline)) called(int y) { return x * y + rand(); }
  int inlined(int z) { return z + x + rand(); }
  each(x, called);
  return called(x) + inlined(3) + inlined(x + 1);
}
int again(int q) { return outer(q) + outer(q + 1); }
int main(int argc, char **argv) { return outer(argc) + again(argc); }
`;

const COMMANDS = [
  ["g++", "-O2", "-g"],
  ["g++", "-O1", "-gdwarf-3", "-ffunction-sections"],
  ["clang++", "-O2", "-g"],
  ["gcc", "-O1", "-g", "-fno-ipa-icf"],
] as const;

for (const [compiler, ...flags] of COMMANDS) {
  const test = `one batch, a second one, and single look-ups agree: ${compiler} ${flags.join(" ")}`;
  Deno.test({
    name: test,
    ...ignored(notInstalled(compiler)),
    fn: () =>
      inFolder((folder) => {
        const source = `${folder}/a.${compiler === "gcc" ? "c" : "cpp"}`;
        Deno.writeTextFileSync(source, compiler === "gcc" ? NESTED_SOURCE : SOURCE);
        run(compiler, ...flags, source, "-o", `${folder}/a`);
        const elf = ElfFile.open(bytesSource(Deno.readFileSync(`${folder}/a`)));
        const text = elf.section(".text");
        assert(text !== undefined);
        const sections = elfDwarfSections(elf);
        const all = Float64Array.from({ length: text.size }, (_, i) => text.addr + i);

        const single = DwarfContext.open(sections);
        const expected = Array.from(all, (address) => single.find(address));
        assert(
          expected.some((frames) => frames.length > (compiler === "gcc" ? 1 : 3)),
          "little is inlined: a poor test",
        );

        const context = DwarfContext.open(sections);
        assertEquals(framesOf(context.findAll(all)), expected);
        assertEquals(framesOf(context.findAll(all)), expected);
        assertEquals(framesOf(context.findAll(all, { keep: false })), expected);
        // Few addresses, unsorted, some repeated.
        for (const step of [7, 101, text.size - 1]) {
          const few = Array.from({ length: 300 }, (_, i) => (i * step) % text.size);
          const batch = DwarfContext.open(sections)
            .findAll(Float64Array.from(few, (i) => all[i] ?? 0));
          assertEquals(framesOf(batch), few.map((i) => expected[i] ?? []));
        }
      }),
  });
}

function framesOf(batch: FrameBatch) {
  return Array.from(batch.first, (first, i) => {
    const count = batch.count[i] ?? 0;
    return Array.from({ length: count }, (_, k) => {
      const at = first + k;
      const name = batch.functions[batch.function[at] ?? -1];
      return {
        ...(name ?? { function: undefined, linkageName: undefined }),
        file: batch.files[batch.file[at] ?? -1],
        line: batch.line[at],
        column: batch.column[at],
        discriminator: batch.discriminator[at],
        inlined: k + 1 < count,
      };
    });
  });
}
