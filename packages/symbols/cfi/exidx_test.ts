import { assert, assertEquals } from "@std/assert";
import { addressToHex } from "../resolver/address.ts";
import { bytesSource } from "../files/binary_source.ts";
import { EM } from "../elf/elf_constants.ts";
import { ElfFile } from "../elf/elf_file.ts";
import { cfaText, ruleText } from "../testing/readelf_rows.ts";
import { framesInterp, type InterpretedRow } from "../testing/frames_interp.ts";
import { inFolder, run } from "../testing/toolchain.ts";
import { RULE } from "./cfi_constants.ts";
import { ExidxTable } from "./exidx.ts";
import { cfiMachine } from "./cfi_machine.ts";
import { ObjectCfi } from "./object_cfi.ts";
import { ROW, RowTable } from "./row_table.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

const machine = cfiMachine(EM.ARM);
assert(machine !== undefined);

/**
 * The table of one function at 0x1000. `index` is the second word of its entry, `words` are its
 * `.ARM.extab`.
 */
function table(index: number, words: number[] = []): { exidx: ExidxTable; rows: RowTable } {
  assert(machine !== undefined);
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, (0x1000 - 0x2000) & 0x7fffffff, true);
  view.setUint32(4, index, true);
  const tab = new Uint8Array(words.length * 4);
  words.forEach((word, i) => new DataView(tab.buffer).setUint32(i * 4, word, true));
  const rows = new RowTable(machine);
  const read = (address: number, length: number): Uint8Array => {
    assertEquals(address, 0x3000);
    return tab.subarray(0, length);
  };
  const source = { bytes, address: 0x2000, littleEndian: true, read };
  return { exidx: new ExidxTable(source, rows, () => {}), rows };
}

/** The CFA and saved registers of an entry, as text. */
function rulesOf(index: number, words: number[] = []): string {
  const { exidx } = table(index, words);
  const rules = exidx.rules(0x1004);
  if (rules === undefined || machine === undefined) return "damaged";
  const registers = machine.names.flatMap((name, register) =>
    rules.rule[register] === RULE.NONE ? [] : [`${name}=${ruleText(rules, register)}`]
  );
  return [cfaText(rules, machine), ...registers].join(" ");
}

Deno.test("ExidxTable: instructions laid out by hand give the rules of ehabi32", () => {
  const extab = 0x1000 - 4; // from 0x2004 to 0x3000
  // finish, finish, finish: a leaf function
  assertEquals(rulesOf(0x80b0b0b0), "r13+0");
  // vsp += 8; pop {r4, lr}
  assertEquals(rulesOf(0x8001a8b0), "r13+16 r4=c-8 r14=c-4");
  // vsp = r7; pop {r4-r7, lr}
  assertEquals(rulesOf(0x8097abb0), "r7+20 r4=c-20 r5=c-16 r6=c-12 r7=c-8 r14=c-4");
  // pop {r11, lr} by mask (bit 7 is r11, bit 10 r14), vsp -= 4
  assertEquals(rulesOf(0x80848040), "r13+4 r11=c-4 r14=c+0");
  // pop {pc}: bit 11 of the mask
  assertEquals(rulesOf(0x808800b0), "r13+4 r14=c-4");
  // refuse to unwind
  assertEquals(rulesOf(0x808000b0), "r13+0 r14=u");
  assertEquals(rulesOf(1), "r13+0 r14=u");
  // personality 1, one more word: pop {r0, r1}; vsp += 0x204 + 4 * 0x81; pop D8-D9; finish
  assertEquals(
    rulesOf(extab, [0x8101b103, 0xb28101d1]),
    `r13+${8 + 0x204 + 0x81 * 4 + 16} r0=c-1056 r1=c-1052`,
  );
  // C++ personality, no more words: FSTMFDX D8; pop {r4, lr}
  assertEquals(rulesOf(extab, [0x7fffff00, 0x00b8a8b0]), "r13+20 r4=c-8 r14=c-4");
  // VFP D[16+2]..+1, iWMMX 10-11, control registers wCGR0 and 1, VFP D0-D2
  assertEquals(rulesOf(extab, [0x8101c821, 0xc6a1c703]), "r13+40");
  assertEquals(rulesOf(extab, [0x8101c902, 0xb302b4a8]), "r13+64 r4=c-8 r14=c-4");
  // a spare instruction, one cut short, an unknown personality
  assertEquals(rulesOf(0x80cab0b0), "damaged");
  assertEquals(rulesOf(0x80b0b0b0 | 3 << 24), "damaged");
  assertEquals(rulesOf(extab, [0x8100b0b0]), "r13+0");
  assertEquals(rulesOf(extab, [0x8101a8a8]), "damaged");
  assertEquals(rulesOf(extab, [0x85000000]), "damaged");
});

Deno.test("ExidxTable: rows are plain, and an address before the first entry has no row", () => {
  const { exidx, rows } = table(0x8001a8b0);
  assertEquals(exidx.find(0xfff), -1);
  const row = exidx.find(0x1000);
  assertEquals(exidx.find(0x1ffe), row);
  assertEquals([rows.kind[row], rows.cfa[row], rows.ra[row]], [ROW.RA_SAVED, 16, -4]);
  const end = table(1);
  assertEquals(end.rows.kind[end.exidx.find(0x1000)], ROW.END);
});

const SOURCE = `
extern void hook(int);
struct Guard { int n; ~Guard() { hook(n); } };
int small(int a) { hook(a); return a + 1; }
int guarded(int a, int b) { Guard g{a}; hook(b); return a * b; }
int large(int n) { volatile char b[3000]; b[n] = 1; hook(n); return b[n + 1]; }
double floats(double a, double b) { hook(1); double c = a * b; hook(2); return a + b * c; }
int vla(int n) { volatile char b[n]; hook(n); return b[n - 1]; }
long many(long a, long b, long c, long d, long e, long f) { hook(1); hook(a); return a * b + c * d + e * f; }
`;

Deno.test({
  name: "ExidxTable: compiled functions have the rules of .debug_frame in their bodies",
  ...ignored(notInstalled("clang++", "ld.lld", "readelf")),
  fn: () =>
    inFolder((folder) => {
      assert(machine !== undefined);
      Deno.writeTextFileSync(`${folder}/a.cc`, SOURCE);
      let compared = 0;
      for (const flags of [["-O2"], ["-O2", "-marm"], ["-O0", "-marm"], ["-O1", "-mthumb"]]) {
        const path = `${folder}/a.so`;
        const target = ["--target=armv7-linux-gnueabihf", "-g", "-funwind-tables", ...flags];
        const link = ["-fuse-ld=lld", "-nostdlib", "-shared", "-fPIC", "-Wl,-z,undefs"];
        run("clang++", ...target, ...link, "-o", path, `${folder}/a.cc`);
        const fdes = framesInterp(path).filter(({ section }) => section === ".debug_frame");
        const stripped = `${folder}/stripped.so`;
        run("llvm-strip", "-o", stripped, path);
        const elf = ElfFile.open(bytesSource(Deno.readFileSync(stripped)));
        const cfi = ObjectCfi.open({ runtime: elf }, new RowTable(machine));
        assert(cfi.sources[0] instanceof ExidxTable);
        for (const { rows } of fdes) {
          // The last row with the most saved registers, which is after the whole prologue.
          const saved = (row: InterpretedRow): number =>
            [...row.registers.values()].filter((rule) => rule.startsWith("c")).length;
          const body = rows.reduce((best, row) => saved(row) >= saved(best) ? row : best);
          if (saved(body) === 0) continue;
          const rules = cfi.rules(body.low);
          assert(rules !== undefined, addressToHex(body.low));
          // The entry of clang::terminate refuses unwinding.
          if (rules.rule[14] === RULE.UNDEFINED) continue;
          const where = `${flags.join(" ")} ${addressToHex(body.low)}`;
          const registers = [...body.registers].filter(([name]) =>
            name === "ra" || machine.names.includes(name)
          );
          for (const [name, rule] of registers) {
            const register = name === "ra" ? 14 : machine.names.indexOf(name);
            assertEquals(`${name}=${ruleText(rules, register)}`, `${name}=${rule}`, where);
          }
          compared++;
        }
        assertEquals(cfi.damage, []);
      }
      console.log(`${compared} functions`);
      assert(compared >= 16);
    }),
});
