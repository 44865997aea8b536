import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { bytesSource } from "../files/binary_source.ts";
import { EM } from "../elf/elf_constants.ts";
import { ElfFile } from "../elf/elf_file.ts";
import { SymbolsError } from "../errors.ts";
import { openCfi } from "../testing/readelf_rows.ts";
import { inFolder, run } from "../testing/toolchain.ts";
import { evaluateExpression } from "./dwarf_expression.ts";
import { cfiMachine } from "./cfi_machine.ts";
import { ObjectCfi } from "./object_cfi.ts";
import { DAMAGED, NO_FDE, RowTable } from "./row_table.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

const x86 = cfiMachine(EM.X86_64);
assert(x86 !== undefined);

/** Calls every look-up at some addresses. Only expressions may throw. */
function askAll(cfi: ObjectCfi, rows: RowTable, addresses: readonly number[]): void {
  for (const address of addresses) {
    const row = cfi.find(address);
    assert(row === NO_FDE || row === DAMAGED || row >= 0 && row < rows.count, String(row));
    const rules = cfi.rules(address);
    if (rules === undefined || rules.cfaRegister !== -1) continue;
    const { expressions } = cfi.source(address) ?? {};
    assert(expressions !== undefined);
    try {
      const { addressSize } = rows.machine;
      const state = { register: () => 64, memory: (at: number) => at & 0xffff };
      evaluateExpression(expressions, rules.cfaOffset, undefined, addressSize, state);
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
    }
  }
}

Deno.test({
  name: "ObjectCfi: randomly damaged call frame information gives rows, NO_FDE or DAMAGED",
  ...ignored(notInstalled("g++")),
  fn: () =>
    inFolder((folder) => {
      Deno.writeTextFileSync(
        `${folder}/a.cc`,
        "void h(int); struct G { ~G() { h(1); } };\n" +
          "int f(int n) { G g; volatile char b[n]; h(n); return b[1]; }\nint g(int a) { h(a); return f(a); }\n",
      );
      run("g++", "-O2", "-shared", "-fPIC", "-o", `${folder}/a.so`, `${folder}/a.cc`);
      const seed = Deno.readFileSync(`${folder}/a.so`);
      const { elf } = openCfi(`${folder}/a.so`);
      const frame = elf.section(".eh_frame"), hdr = elf.section(".eh_frame_hdr");
      const text = elf.section(".text");
      assert(frame !== undefined && hdr !== undefined && text !== undefined);
      const addresses = Array.from({ length: text.size / 4 | 0 }, (_, i) => text.addr + i * 4);
      const from = hdr.offset, length = frame.offset + frame.size - hdr.offset;
      let runs = 0;
      fc.assert(
        fc.property(
          fc.array(fc.tuple(fc.nat(length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
          (changes) => {
            const bytes = seed.slice();
            for (const [at, value] of changes) bytes[from + at] = value;
            assert(x86 !== undefined);
            const rows = new RowTable(x86);
            const cfi = ObjectCfi.open({ runtime: ElfFile.open(bytesSource(bytes)) }, rows);
            askAll(cfi, rows, addresses);
            runs++;
          },
        ),
        { numRuns: 1500 },
      );
      assertEquals(runs, 1500);
    }),
});

Deno.test("ObjectCfi: random bytes after a CIE give rows or damage", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (random, whole) => {
      const body = whole ? [...random] : [0x7a, 0x52, 0, 1, 0x78, 0x10, 1, 0, ...random];
      const cie = [0, 0, 0, 0, 1, ...body];
      const fde = [
        0,
        0,
        0,
        0,
        ...Array.from({ length: 16 }, (_, i) => i === 1 ? 16 : i === 9 ? 255 : 0),
      ];
      const length = (n: number): number[] => [n & 255, n >>> 8, 0, 0];
      fde[0] = (8 + cie.length) & 255;
      fde[1] = (8 + cie.length) >>> 8;
      const bytes = [...length(cie.length), ...cie, ...length(fde.length), ...fde, ...random];
      assert(x86 !== undefined);
      const rows = new RowTable(x86);
      const section = { name: ".eh_frame", address: 0x1000, littleEndian: true } as const;
      const cfi = ObjectCfi.ofSections(
        { ...section, bytes: Uint8Array.from(bytes) },
        undefined,
        rows,
      );
      askAll(cfi, rows, [0x1000, 0x1001, 0x1010, 0x10ff]);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("ObjectCfi: overlapping entries make at most a multiple of the section's size in rows", () => {
  assert(x86 !== undefined);
  // A CIE, then 4000 nested FDEs of up to 100 KB.
  const count = 4000, size = 128 * 1024;
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  bytes.set([16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 0x10, 0x0c, 7, 8, 0x90, 1, 0, 0]);
  const hdr = new Uint8Array(12 + count * 8);
  const hdrView = new DataView(hdr.buffer);
  hdr.set([1, 0x1b, 0x03, 0x3b]);
  hdrView.setInt32(4, 0x10000 - 4, true); // .eh_frame, relative to this field
  hdrView.setUint32(8, count, true);
  for (let i = 0; i < count; i++) {
    const at = 20 + i * 24;
    view.setUint32(at, size - at - 4, true);
    view.setUint32(at + 4, at + 4, true);
    view.setBigUint64(at + 8, BigInt(0x400000 + i * 16), true);
    view.setBigUint64(at + 16, 16n, true);
    hdrView.setInt32(12 + i * 8, 0x400000 + i * 16 - 0x1000, true);
    hdrView.setInt32(16 + i * 8, 0x11000 + at - 0x1000, true);
  }
  const rows = new RowTable(x86);
  const cfi = ObjectCfi.ofSections(
    { name: ".eh_frame", bytes, address: 0x11000, littleEndian: true },
    { bytes: hdr, address: 0x1000 },
    rows,
  );
  for (let i = 0; i < count; i++) cfi.find(0x400000 + i * 16);
  // Each row takes at least one byte of instructions.
  assert(rows.count <= 5 * size, `${rows.count} rows`);
  assert(cfi.damage.length > 0);
});
