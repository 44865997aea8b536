import { assert, assertEquals } from "@std/assert";
import { addressFromBigInt } from "./address.ts";
import { FileAddresses, kernelReference, kernelRelocation } from "./address_map.ts";
import { bytesSource } from "../files/binary_source.ts";
import { ElfFile } from "../elf/elf_file.ts";
import { symbolTable, writeElf } from "../testing/elf_writer.ts";
import { build, inFolder, readElf, run, usableFlavours } from "../testing/toolchain.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

Deno.test({
  name: "FileAddresses: an offset has the address at which objdump shows its bytes",
  ...ignored(notInstalled("g++", "objdump")),
  fn: () =>
    inFolder((folder) => {
      for (const flavour of usableFlavours()) {
        const path = build(folder, flavour);
        const elf = readElf(path);
        const addresses = new FileAddresses(elf);
        // -F shows each function's file offset.
        const dump = run("objdump", "-dF", "--no-show-raw-insn", path);
        let compared = 0;
        for (const m of dump.matchAll(/^([0-9a-f]+) <[^>]+> \(File Offset: 0x([0-9a-f]+)\):/gm)) {
          const address = parseInt(m[1] ?? "", 16);
          const offset = parseInt(m[2] ?? "", 16);
          assertEquals(addresses.fromOffset(offset), address, flavour.name);
          compared++;
        }
        assert(compared > 10, flavour.name);
        assertEquals(addresses.fromOffset(elf.source.size + 8192), undefined);
      }
    }),
});

for (const is64 of [true, false]) {
  Deno.test(`kernelRelocation: _text gives the shift of a relocated ${is64 ? 64 : 32}-bit kernel`, () => {
    const linked = is64 ? 0xffffffff81000000n : 0xc1000000n;
    const running = linked + 0x1a200000n;
    const file = { is64, littleEndian: true };
    const { symtab, strtab } = symbolTable(file, [
      { name: "_text_not", value: 1n, size: 0n, info: 0x10, shndx: 1 },
      { name: "_text", value: linked, size: 0n, info: 0x10, shndx: 1 },
    ]);
    const vmlinux = ElfFile.open(bytesSource(writeElf({
      ...file,
      type: 2,
      machine: is64 ? 62 : 3,
      sections: [
        { name: ".text", type: 1, flags: 6, addr: linked, bytes: new Uint8Array(64) },
        { name: ".symtab", type: 2, bytes: symtab, link: 3, entsize: is64 ? 24 : 16 },
        { name: ".strtab", type: 3, bytes: strtab },
      ],
    })));
    const reference = kernelReference("[kernel.kallsyms]_text", addressFromBigInt(running));
    assert(reference !== undefined);
    assertEquals(kernelRelocation(vmlinux, reference), 0x1a200000);
    assertEquals(kernelRelocation(vmlinux, { ...reference, name: "_stext" }), undefined);
  });
}

Deno.test("kernelReference: only the kernel's own record has a reference symbol", () => {
  assertEquals(kernelReference("[guest.kernel.kallsyms.12]_stext", 5), {
    name: "_stext",
    address: 5,
  });
  assertEquals(kernelReference("[kernel.kallsyms]", 5), undefined);
  assertEquals(kernelReference("/usr/bin/ls", 5), undefined);
});
