import { assert, assertEquals, assertThrows } from "@std/assert";
import { addressFromBigInt, addressToHex } from "../resolver/address.ts";
import { bytesSource } from "../files/binary_source.ts";
import { Bytes, symbolTable, writeElf } from "../testing/elf_writer.ts";
import { build, inFolder, readElf, run, usableFlavours } from "../testing/toolchain.ts";
import { ElfError } from "./elf_error.ts";
import { ElfFile } from "./elf_file.ts";
import "./plain_decompressors.ts";
import { rawSymbolName, readRawSymbols } from "./raw_symbols.ts";
import { SHT } from "./elf_constants.ts";
import { ignored, notInstalled, skipped } from "../../../tests/support/ignored.ts";

/** Rows of `readelf -WS` without the type: name, address, offset, size, entsize, link, info. */
function readelfSections(path: string): string[] {
  return run("readelf", "-WS", path).split("\n").flatMap((line) => {
    const row =
      /^\s*\[\s*(\d+)\] (.*?)\s+([A-Z_0-9]+|<unknown>: \S+|[0-9a-f]+: <unknown>)\s+([0-9a-f]{8,16}) ([0-9a-f]{6,}) ([0-9a-f]{6,}) ([0-9a-f]{2,})\s+[A-Za-z]*\s+(\d+)\s+(\d+)\s+(\d+)$/
        .exec(line);
    if (row === null || row[1] === "0") return [];
    const hex = (i: number): string => BigInt("0x" + row[i]).toString(16);
    return [[row[1], row[2], hex(4), hex(5), hex(6), hex(7), row[8], row[9], row[10]].join(" ")];
  });
}

function ourSections(elf: ElfFile): string[] {
  return elf.sections.filter((s) => s.type !== SHT.NULL).map((s) => {
    const hex = (n: number): string => n.toString(16);
    return [
      s.index,
      s.name,
      addressToHex(s.addr).slice(2),
      hex(s.offset),
      hex(s.size),
      hex(s.entsize),
      s.link,
      s.info,
      s.addralign,
    ].join(" ");
  });
}

/** Rows of `readelf -Wl`: offset, address, size in the file and in memory. */
function readelfSegments(path: string): string[] {
  return [
    ...run("readelf", "-Wl", path).matchAll(
      /^ {2}[A-Z_0-9]+\s+0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+) 0x([0-9a-f]+) /gm,
    ),
  ].map((m) => m.slice(1, 5).map((n) => BigInt("0x" + n).toString(16)).join(" "));
}

function ourSegments(elf: ElfFile): string[] {
  return elf.segments.map((s) =>
    [
      s.offset.toString(16),
      addressToHex(s.vaddr).slice(2),
      s.filesz.toString(16),
      s.memsz.toString(16),
    ]
      .join(" ")
  );
}

const noReadelf = notInstalled("readelf", "g++");
Deno.test({
  name: "ElfFile: sections, segments and build id equal those of readelf for every flavour",
  ...ignored(noReadelf),
  fn: () =>
    inFolder((folder) => {
      for (const flavour of usableFlavours()) {
        const path = build(folder, flavour, "-Wl,--build-id");
        const elf = readElf(path);
        assertEquals(ourSections(elf), readelfSections(path), flavour.name);
        assert(elf.sections.length > 20, flavour.name);
        assertEquals(ourSegments(elf), readelfSegments(path), flavour.name);
        const id = /Build ID: ([0-9a-f]+)/.exec(run("readelf", "-n", path))?.[1];
        assertEquals(elf.buildId(), id, flavour.name);
      }
    }),
});

Deno.test({
  name: "ElfFile.buildId: without section headers it is found in the program headers",
  ...ignored(noReadelf ?? notInstalled("gcc")),
  fn: () =>
    inFolder((folder) => {
      Deno.writeTextFileSync(`${folder}/a.c`, "int main(void){return 0;}\n");
      run("gcc", "-Wl,--build-id=sha1", "-o", `${folder}/a`, `${folder}/a.c`);
      const bytes = Deno.readFileSync(`${folder}/a`);
      const expected = ElfFile.open(bytesSource(bytes)).buildId();
      assertEquals(expected?.length, 40);
      const view = new DataView(bytes.buffer);
      view.setBigUint64(40, 0n, true); // e_shoff
      view.setUint16(60, 0, true); // e_shnum
      view.setUint16(62, 0, true); // e_shstrndx
      const elf = ElfFile.open(bytesSource(bytes));
      assertEquals(elf.sections, []);
      assertEquals(elf.buildId(), expected);
    }),
});

Deno.test({
  name: "ElfFile.sectionData: compressed sections equal those that objcopy decompresses",
  ...ignored(noReadelf ?? notInstalled("objcopy")),
  fn: (t) =>
    inFolder(async (folder) => {
      const flavour = usableFlavours()[0];
      if (flavour === undefined) return;
      const path = build(folder, flavour, "-g", "-gz=none");
      const plain = readElf(path);
      const kinds = ["zlib", "zlib-gnu", "zlib-gabi"];
      if (/zstd/.test(run("objcopy", "--help"))) kinds.push("zstd");
      else await skipped(t, "zstd sections: this objcopy cannot make them");
      for (const kind of kinds) {
        const packed = `${folder}/${kind}`;
        try {
          run("objcopy", `--compress-debug-sections=${kind}`, path, packed);
        } catch (error) {
          await skipped(t, `${kind} sections: ${(error as Error).message.trim()}`);
          continue;
        }
        const elf = readElf(packed);
        let smaller = 0;
        for (const name of [".debug_info", ".debug_str", ".debug_line", ".debug_abbrev"]) {
          const expected = plain.section(name);
          const section = elf.debugSection(name);
          assert(expected !== undefined && section !== undefined, `${kind} ${name}`);
          if (section.size < expected.size) smaller++;
          assertEquals(elf.sectionData(section), plain.sectionData(expected), `${kind} ${name}`);
          assertEquals(
            elf.sectionSource(section).read(4, 4),
            plain.sectionData(expected).subarray(4, 8),
          );
        }
        assert(smaller > 0, `${kind}: nothing was compressed`);
      }
    }),
});

Deno.test({
  name: "ElfFile.debugLink: it has the debug file's name and checksum",
  ...ignored(noReadelf ?? notInstalled("objcopy")),
  fn: () =>
    inFolder((folder) => {
      const flavour = usableFlavours()[0];
      if (flavour === undefined) return;
      const path = build(folder, flavour, "-g");
      run("objcopy", "--only-keep-debug", path, `${path}.debug`);
      run("objcopy", `--add-gnu-debuglink=${path}.debug`, path);
      const dump = run("readelf", "--debug-dump=links", path);
      const name = /Separate debug info file: (\S+)/.exec(dump)?.[1];
      const crc = /CRC value: 0x([0-9a-f]+)/.exec(dump)?.[1];
      assertEquals(readElf(path).debugLink(), { name, crc32: parseInt(crc ?? "", 16) });
    }),
});

Deno.test({
  name: "ElfFile: more than 65,279 sections use extended numbering",
  ...ignored(notInstalled("as", "readelf")),
  fn: () =>
    inFolder((folder) => {
      let source = "";
      for (let i = 0; i < 66000; i++) {
        source += `.section .t${i},"ax"\n.globl f${i}\nf${i}: .byte 0\n`;
      }
      Deno.writeTextFileSync(`${folder}/a.s`, source);
      run("as", "-o", `${folder}/a.o`, `${folder}/a.s`);
      const elf = readElf(`${folder}/a.o`);
      assert(elf.sections.length > 66000);
      assertEquals(elf.section(".t65999")?.name, ".t65999");
      const symtab = elf.section(".symtab");
      assert(symtab !== undefined);
      const symbols = readRawSymbols(elf, symtab);
      for (let i = 1; i < symbols.count; i++) {
        const name = rawSymbolName(symbols, i);
        if (!name.startsWith("f")) continue;
        assertEquals(elf.sections[symbols.shndx[i] ?? 0]?.name, ".t" + name.slice(1));
      }
    }),
});

for (const is64 of [false, true]) {
  for (const littleEndian of [false, true]) {
    const name = `${is64 ? 64 : 32}-bit ${littleEndian ? "little" : "big"}-endian`;
    const high = is64 ? 0xffffffff81000000n : 0xc1000000n;
    const note = new Bytes(littleEndian, is64).u32(4).u32(3).u32(3).raw([0x47, 0x4e, 0x55, 0])
      .raw([1, 2, 0xab, 0]).done();
    const { symtab, strtab } = symbolTable({ is64, littleEndian }, [
      { name: "start_kernel", value: high + 0x40n, size: 0x123n, info: 0x12, other: 2, shndx: 1 },
      { name: "weak", value: high + 0x200n, size: 0n, info: 0x22, shndx: 1 },
    ]);
    const bytes = writeElf({
      is64,
      littleEndian,
      type: 2,
      machine: is64 ? 22 : 20,
      sections: [
        {
          name: ".text",
          type: 1,
          flags: 6,
          addr: high,
          bytes: new Uint8Array(0x300),
          addralign: 16,
        },
        { name: ".note.gnu.build-id", type: 7, flags: 2, bytes: note, addralign: 4 },
        { name: ".symtab", type: 2, bytes: symtab, link: 4, info: 1, entsize: is64 ? 24 : 16 },
        { name: ".strtab", type: 3, bytes: strtab },
      ],
      segments: [
        { type: 1, flags: 5, offset: 0x80n, vaddr: high, filesz: 0x300n, memsz: 0x400n },
      ],
    });

    Deno.test(`ElfFile: a written ${name} file has every header field`, () => {
      const elf = ElfFile.open(bytesSource(bytes));
      assertEquals(elf.is64, is64);
      assertEquals(elf.littleEndian, littleEndian);
      assertEquals(elf.addressSize, is64 ? 8 : 4);
      assertEquals(elf.sections.map((s) => s.name), [
        "",
        ".text",
        ".note.gnu.build-id",
        ".symtab",
        ".strtab",
        ".shstrtab",
      ]);
      const text = elf.section(".text");
      assertEquals(text?.addr, addressFromBigInt(high));
      assertEquals(text?.flags, 6);
      assertEquals(text?.addralign, 16);
      assertEquals(elf.buildId(), "0102ab");
      assertEquals(elf.segments, [{
        type: 1,
        flags: 5,
        offset: 0x80,
        vaddr: addressFromBigInt(high),
        filesz: 0x300,
        memsz: 0x400,
        align: 0x1000,
      }]);
      const section = elf.section(".symtab");
      assert(section !== undefined);
      const symbols = readRawSymbols(elf, section);
      assertEquals(symbols.count, 3);
      assertEquals(rawSymbolName(symbols, 1), "start_kernel");
      assertEquals(symbols.value[1], addressFromBigInt(high + 0x40n));
      assertEquals(symbols.size[1], 0x123);
      assertEquals(symbols.info[2], 0x22);
      assertEquals(symbols.other[1], 2);
      assertEquals(symbols.shndx[1], 1);
    });

    Deno.test({
      name: `ElfFile: readelf reads the same headers from a written ${name} file`,
      ...ignored(notInstalled("readelf")),
      fn: () =>
        inFolder((folder) => {
          Deno.writeFileSync(`${folder}/a`, bytes);
          const elf = ElfFile.open(bytesSource(bytes));
          assertEquals(ourSections(elf), readelfSections(`${folder}/a`));
          assertEquals(ourSegments(elf), readelfSegments(`${folder}/a`));
        }),
    });
  }
}

Deno.test("ElfFile.open: errors name the offset and the expectation", () => {
  const open = (bytes: number[]): () => unknown => () =>
    ElfFile.open(bytesSource(Uint8Array.from(bytes)));
  const magic = [0x7f, 0x45, 0x4c, 0x46];
  const at = (bytes: number[], message: string): number =>
    Number(assertThrows(open(bytes), ElfError, message).offset);
  assertEquals(at([1, 2, 3], "the ELF identification"), 0);
  assertEquals(at(new Array(16).fill(0x41), "starts with 41 41 41 41"), 0);
  assertEquals(at([...magic, 3, ...new Array(60).fill(0)], "class 3"), 4);
  assertEquals(at([...magic, 2, 9, ...new Array(60).fill(0)], "byte order 9"), 5);
  assertEquals(at([...magic, 2, 1, ...new Array(20).fill(0)], "the ELF header"), 0);
});

Deno.test("ElfFile: only the needed ranges are read", () => {
  const path = Deno.execPath();
  const file = Deno.readFileSync(path);
  let read = 0;
  const elf = ElfFile.open({
    size: file.length,
    read: (offset, length) => {
      read += length;
      return file.subarray(offset, offset + length);
    },
  });
  elf.buildId();
  assert(elf.section(".text") !== undefined);
  assert(read < 65536, `${read} bytes of ${file.length} were read`);
});
