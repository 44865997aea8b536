import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { ElfFile } from "../elf/elf_file.ts";
import { bytesSource } from "../files/binary_source.ts";
import { inFolder, run } from "../testing/toolchain.ts";
import { DwarfContext, type DwarfOptions } from "./dwarf_context.ts";
import { DwarfError } from "./dwarf_error.ts";
import { elfDwarfSections } from "./elf_sections.ts";
import type { DwarfSections } from "./sections.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

// Compilers' split units (.dwo) and packages (.dwp), damaged: the index of a package, its sections,
// and the skeletons that refer to the units.

const SOURCES = {
  "a.c": `
static inline int square(int x) { return x * x + 1; }
static inline int twice(int x) { return square(x) + square(x + 1); }
int other(int x);
int main(int argc, char **argv) { return twice(argc) + other(argc * 3); }
`,
  "b.c": `
static inline int step(int s, int i) { return s * 31 + i; }
int other(int x) { int s = 0; for (int i = 0; i < x; i++) s = step(s, i); return s; }
`,
};

/** A program with split debug information. */
interface Split {
  readonly addresses: Float64Array;
  readonly main: DwarfSections;
  readonly dwp: DwarfSections | undefined;
  readonly dwo: ReadonlyMap<string, DwarfSections>;
}

function build(folder: string, compiler: string, flags: readonly string[]): Split {
  for (const [name, text] of Object.entries(SOURCES)) Deno.writeTextFileSync(folder + name, text);
  const objects = Object.keys(SOURCES).map((name) => {
    const object = folder + name.replace(".c", ".o");
    run(compiler, "-O2", "-gsplit-dwarf", ...flags, "-c", folder + name, "-o", object);
    return object;
  });
  run(compiler, ...objects, "-o", `${folder}program`);
  // llvm-dwp 14 does not terminate on GCC's DWARF 5.
  const packs = compiler !== "gcc" || !flags.includes("-gdwarf-5");
  if (packs) run("llvm-dwp", "-e", `${folder}program`, "-o", `${folder}program.dwp`);
  const open = (name: string) => ElfFile.open(bytesSource(Deno.readFileSync(folder + name)));
  const elf = open("program");
  const addresses = ["main", "other"].flatMap((name) => {
    const line = run("nm", `${folder}program`).split("\n").find((row) => row.endsWith(` ${name}`));
    const start = parseInt(line ?? "", 16);
    return Array.from({ length: 24 }, (_, i) => start + i);
  });
  return {
    addresses: Float64Array.from(addresses),
    main: elfDwarfSections(elf),
    dwp: packs ? elfDwarfSections(open("program.dwp")) : undefined,
    dwo: new Map(["a.dwo", "b.dwo"].map((name) => [name, elfDwarfSections(open(name))])),
  };
}

const ALL_SECTIONS = [
  "abbrev",
  "addr",
  "aranges",
  "info",
  "line",
  "line_str",
  "loc",
  "loclists",
  "ranges",
  "rnglists",
  "str",
  "str_offsets",
].flatMap((name) => [`.debug_${name}`, `.debug_${name}.dwo`]).concat(
  ".debug_cu_index",
  ".debug_tu_index",
);

type Damage = (bytes: Uint8Array) => Uint8Array;

function damaged(sections: DwarfSections, name: string, damage: Damage): DwarfSections {
  return {
    littleEndian: sections.littleEndian,
    get(wanted) {
      const bytes = sections.get(wanted)?.slice();
      return bytes === undefined || bytes.length === 0 || wanted !== name ? bytes : damage(bytes);
    },
  };
}

/** The error thrown must be the first that is reported. Returns the number of frames. */
function lookup({ addresses, main }: Split, options: DwarfOptions): number {
  const reported: Error[] = [];
  const tolerant = DwarfContext.open(main, {
    ...options,
    // A missing split unit is reported, but is not damage.
    diagnostics: (error) => {
      if (!/was not found$/.test(error.message)) reported.push(error);
    },
  });
  const frames = tolerant.findAll(addresses).line.length;
  // A single look-up reads more of a unit than a batch, so it can find more damage.
  const single = DwarfContext.open(main, { ...options, diagnostics: () => {} });
  for (const address of addresses.subarray(0, 3)) single.find(address);
  try {
    DwarfContext.open(main, options).findAll(addresses);
    assert(reported.length === 0, `not thrown: ${reported[0]}`);
  } catch (error) {
    if (!(error instanceof DwarfError)) throw error;
    assertEquals(error.message, reported[0]?.message);
  }
  return frames;
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

const damages: fc.Arbitrary<Damage> = fc.tuple(
  fc.array(
    fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.nat(255))),
    { minLength: 1, maxLength: 8 },
  ),
  fc.nat(),
).map(([changes, cut]) => (bytes) => {
  for (const [at, value] of changes) bytes[at % bytes.length] = value;
  return cut % 4 === 0 ? bytes.subarray(0, cut % bytes.length) : bytes;
});

const COMMANDS = [
  ["gcc", "-gdwarf-5"],
  ["gcc", "-gdwarf-4"],
  ["clang", "-gdwarf-5"],
  ["clang", "-gdwarf-4"],
] as const;

for (const [compiler, ...flags] of COMMANDS) {
  const test = `damaged split units of ${compiler} ${flags.join(" ")}`;
  Deno.test({
    name: test,
    ...ignored(notInstalled(compiler, "llvm-dwp", "nm")),
    fn: () =>
      inFolder((folder) => {
        const split = build(`${folder}/`, compiler, flags);
        const { main, dwp, dwo } = split;
        const find = ({ name }: { name: string }) => dwo.get(nameOf(name));
        const sound = lookup(split, { dwo: find });
        assert(sound > split.addresses.length, "nothing is inlined: a poor test");

        const present = (sections: DwarfSections) =>
          ALL_SECTIONS.filter((name) => (sections.get(name)?.length ?? 0) > 0);
        const [first] = dwo.values();
        assert(first !== undefined);
        fc.assert(
          fc.property(fc.constantFrom(...present(first)), damages, (name, damage) => {
            lookup(split, {
              dwo: (request) => {
                const found = find(request);
                return found && damaged(found, name, damage);
              },
            });
          }),
          { numRuns: 300 },
        );
        fc.assert(
          fc.property(fc.constantFrom(...present(main)), damages, (name, damage) => {
            lookup({ ...split, main: damaged(main, name, damage) }, {
              dwp: () => dwp,
              dwo: () => first,
            });
          }),
          { numRuns: 300 },
        );

        // A file in place of another, and of itself.
        for (const wrong of [main, first, { littleEndian: false, get: first.get }]) {
          lookup(split, { dwp: () => wrong });
          lookup(split, { dwo: () => wrong });
          lookup({ ...split, main: wrong }, { dwp: () => wrong, dwo: () => wrong });
        }
        if (dwp === undefined) return;

        assertEquals(lookup(split, { dwp: () => dwp }), sound);
        fc.assert(
          fc.property(fc.constantFrom(...present(dwp)), damages, (name, damage) => {
            lookup(split, { dwp: () => damaged(dwp, name, damage) });
            // Units missing in the package are searched beside it.
            lookup(split, { dwp: () => damaged(dwp, name, damage), dwo: find });
          }),
          { numRuns: 300 },
        );
        // Each word of the index: too large counts, offsets and sizes outside of sections, missing
        // rows, a table without a free slot.
        const index = dwp.get(".debug_cu_index");
        assert(index !== undefined);
        for (let at = 0; at + 4 <= index.length; at += 4) {
          for (const value of [0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff]) {
            const bad = damaged(dwp, ".debug_cu_index", (bytes) => {
              new DataView(bytes.buffer).setUint32(at, value, true);
              return bytes;
            });
            lookup(split, { dwp: () => bad });
          }
        }
        const full = damaged(dwp, ".debug_cu_index", (bytes) => {
          const slots = new DataView(bytes.buffer).getUint32(12, true);
          for (let i = 0; i < slots; i++) {
            new DataView(bytes.buffer).setUint32(16 + slots * 8 + i * 4, 1, true);
          }
          return bytes.fill(0x5a, 16, 16 + slots * 8);
        });
        assertEquals(lookup(split, { dwp: () => full, dwo: find }), sound);
      }),
  });
}
