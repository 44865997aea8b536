import { assert } from "@std/assert";
import fc from "fast-check";
import { ElfFile } from "../elf/elf_file.ts";
import { bytesSource } from "../files/binary_source.ts";
import { inFolder, run } from "../testing/toolchain.ts";
import { DwarfContext } from "./dwarf_context.ts";
import type { DataType, VariableFinder } from "./data/variables.ts";
import { DwarfError } from "./dwarf_error.ts";
import { elfDwarfSections } from "./elf_sections.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

// Compiled code has more than hand-written bytes: every form, several units, lists.

const SOURCE = `
#include <stdio.h>
struct part { struct part *next; struct { int a : 3, b; } in[4]; const char *name; } parts[2];
int sum(struct part *p) { int s = 0; for (; p; p = p->next) s += p->in[1].b; return s; }
static inline int square(int x) { if (x > 9) puts("large"); return x * x; }
static inline int twice(int x) { return square(x) + square(x + 1); }
int other(int x) { int s = 0; for (int i = 0; i < x; i++) s += twice(i); return s; }
int main(int argc, char **argv) { return twice(argc) + other(argc * 3) + sum(parts); }
`;

const COMMANDS = [
  ["gcc", "-O2", "-gdwarf-5"],
  ["gcc", "-O2", "-gdwarf-3"],
  ["clang", "-O2", "-gdwarf-5"],
  ["clang", "-O2", "-gdwarf-4"],
] as const;

/** Reads all variables at an address, with the fields of their types. */
function readData(data: VariableFinder, address: number): number {
  let count = 0;
  const read = (type: DataType | undefined, depth: number): void => {
    if (type === undefined || depth === 4) return;
    count++;
    assert(typeof type.name === "string" && type.size >= 0);
    read(type.target, depth + 1);
    for (const { type: own } of type.fields) read(own, depth + 1);
  };
  for (const { type } of data.functionAt(address)?.variables ?? []) read(type, 0);
  read(data.returnType(address, address), 0);
  read(data.globalAt(address)?.type, 0);
  return count;
}

for (const [compiler, ...flags] of COMMANDS) {
  const test = `damaged sections of ${compiler} ${flags.join(" ")}`;
  Deno.test({
    name: test,
    ...ignored(notInstalled(compiler)),
    fn: () =>
      inFolder((folder) => {
        Deno.writeTextFileSync(`${folder}/a.c`, SOURCE);
        run(compiler, ...flags, `${folder}/a.c`, "-o", `${folder}/a`);
        const elf = ElfFile.open(bytesSource(Deno.readFileSync(`${folder}/a`)));
        const whole = elfDwarfSections(elf);
        const text = elf.section(".text");
        assert(text !== undefined);
        const addresses = Float64Array.from(
          { length: 40 },
          (_, i) => text.addr + Math.floor(text.size * i / 40),
        );
        const sections = elf.sections.map(({ name }) => name)
          .filter((name) => name.startsWith(".debug_"));
        const sound = DwarfContext.open(whole).findAll(addresses);
        assert(sound.count.some((count) => count >= 2), "nothing is inlined: a poor test");
        const { data } = DwarfContext.open(whole);
        const read = addresses.reduce((sum, address) => sum + readData(data, address), 0);
        assert(read >= 60, `${read} types: a poor test`);
        fc.assert(
          fc.property(
            fc.constantFrom(...sections),
            fc.array(
              fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(0, 0x7f, 0x80, 0xff), fc.nat(255))),
              {
                minLength: 1,
                maxLength: 8,
              },
            ),
            fc.nat(),
            (damagedName, changes, cut) => {
              const get = (name: string): Uint8Array | undefined => {
                const bytes = whole.get(name)?.slice();
                if (name !== damagedName || bytes === undefined) return bytes;
                for (const [at, value] of changes) bytes[at % bytes.length] = value;
                return cut % 4 === 0 ? bytes.subarray(0, cut % bytes.length) : bytes;
              };
              // With diagnostics nothing is thrown; without them, only DwarfError.
              const reported: Error[] = [];
              DwarfContext.open({ littleEndian: true, get }, {
                // A missing split unit is reported, but is not damage.
                diagnostics: (error) => {
                  if (!/was not found$/.test(error.message)) reported.push(error);
                },
              }).findAll(addresses);
              const { data } = DwarfContext.open({ littleEndian: true, get }, {
                diagnostics: () => {},
              });
              for (const address of addresses) readData(data, address);
              try {
                DwarfContext.open({ littleEndian: true, get }).findAll(addresses);
                assert(reported.length === 0, `not thrown: ${reported[0]}`);
              } catch (error) {
                if (!(error instanceof DwarfError)) throw error;
                assert(error.message === reported[0]?.message, `${error} is not ${reported[0]}`);
              }
            },
          ),
          { numRuns: 600 },
        );
      }),
  });
}
