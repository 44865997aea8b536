import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { addressFromBigInt, addressFromHalves, addressToHex } from "../resolver/address.ts";
import { FileAddresses } from "../resolver/address_map.ts";
import { bytesSource } from "../files/binary_source.ts";
import { demangle } from "../demangle/demangler.ts";
import { Bytes, symbolTable, writeElf, type WrittenSymbol } from "../testing/elf_writer.ts";
import { build, inFolder, readElf, run, usableFlavours } from "../testing/toolchain.ts";
import { STB, STT } from "./elf_constants.ts";
import { ElfError } from "./elf_error.ts";
import { ElfFile } from "./elf_file.ts";
import { readElfSymbols } from "./elf_symbols.ts";
import { readMiniDebugInfo } from "./mini_debug_info.ts";
import { readPlt } from "./plt.ts";
import { findElfSymbol, rawSymbolName, readRawSymbols } from "./raw_symbols.ts";
import { relocatedSectionData } from "./relocate.ts";
import { ignored, notInstalled, skipped } from "../../../tests/support/ignored.ts";

const withoutParams = (name: string): string => demangle(name, { params: false });

Deno.test({
  name: "readRawSymbols: symbol tables equal those of readelf for every flavour",
  ...ignored(notInstalled("readelf", "g++")),
  fn: () =>
    inFolder((folder) => {
      const types = ["NOTYPE", "OBJECT", "FUNC", "SECTION", "FILE", "COMMON", "TLS"];
      const bindings = ["LOCAL", "GLOBAL", "WEAK"];
      for (const flavour of usableFlavours()) {
        const path = build(folder, flavour);
        const elf = readElf(path);
        // Without the GNU OS ABI, readelf does not name type and binding 10.
        const text = run("readelf", "-Ws", path).replaceAll(
          /<OS specific>: 10(\s+)(LOCAL|GLOBAL|WEAK)/g,
          "IFUNC$1$2",
        ).replaceAll("<OS specific>: 10", "UNIQUE");
        const expected = text.split("\n").flatMap((line) => {
          const row =
            /^\s*\d+: ([0-9a-f]+)\s+(\S+) (\S+)\s+(\S+)\s+\S+\s+(?:\[.*\]\s+)?(\S+)(?: (\S*).*)?$/
              .exec(line);
          if (row === null) return [];
          const [, value, size, type, binding, , name] = row;
          return [`${BigInt("0x" + value)} ${Number(size)} ${type} ${binding} ${name ?? ""}`];
        });
        const ours: string[] = [];
        for (const section of elf.sections) {
          if (section.type !== 11 && section.type !== 2) continue;
          const symbols = readRawSymbols(elf, section);
          for (let i = 0; i < symbols.count; i++) {
            const info = symbols.info[i] ?? 0;
            const type = types[info & 15] ?? (info % 16 === 10 ? "IFUNC" : "?");
            const binding = bindings[info >> 4] ?? (info >> 4 === 10 ? "UNIQUE" : "?");
            let name = rawSymbolName(symbols, i);
            if (type === "SECTION") name = elf.sections[symbols.shndx[i] ?? 0]?.name ?? "";
            ours.push(`${symbols.value[i]} ${symbols.size[i]} ${type} ${binding} ${name}`);
          }
        }
        assert(ours.length > 50);
        // readelf adds versions to names of .dynsym; some linkers put them into .symtab.
        const bare = (row: string): string => row.replace(/@.*$/, "");
        assertEquals(ours.map(bare).join("\n"), expected.map(bare).join("\n"), flavour.name);
      }
    }),
});

Deno.test({
  name: "readElfSymbols: PLT stubs equal objdump's labels for every flavour",
  ...ignored(notInstalled("objdump", "g++")),
  fn: () =>
    inFolder((folder) => {
      let compared = 0;
      // The C library has IFUNC stubs among others, with their relocations at the end.
      const libc = run("g++", "-print-file-name=libc.so.6").trim();
      const files = [
        ...usableFlavours().map((flavour) => ({
          name: flavour.name,
          path: build(folder, flavour),
        })),
        ...(libc.startsWith("/") ? [{ name: libc, path: libc }] : []),
      ];
      for (const { name: file, path } of files) {
        const elf = readElf(path);
        const dump = run("objdump", "-d", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got", path);
        const expected = new Map<number, string>();
        for (const match of dump.matchAll(/^([0-9a-f]+) <(\S+@plt)>:$/gm)) {
          expected.set(parseInt(match[1] ?? "", 16), match[2] ?? "");
        }
        const { table } = readElfSymbols(elf);
        for (const entry of readPlt(elf)) {
          const name = table.name(table.lookup(entry.address));
          const label = expected.get(entry.address);
          // A function with branch tracking has two stubs; objdump labels the called one.
          if (label === undefined) continue;
          assertEquals(name, label, `${file} at ${addressToHex(entry.address)}`);
          assertEquals(table.name(table.lookup(entry.address + entry.size - 1)), name);
          expected.delete(entry.address);
          compared++;
        }
        assertEquals([...expected.values()], [], file);
      }
      assert(compared > 50, `${compared} stubs`);
    }),
});

/** A library that calls other libraries, and has variables of threads. */
const LIBRARY = `
extern int ext_a(int), ext_b(int), ext_c(int);
extern __thread int tls_var, tls_other;
__thread int own_tls = 3;
int use(int x) { return ext_a(x) + ext_b(x) * ext_c(x) + tls_var + tls_other; }
int use2(int x) { return ext_c(x) + ext_b(x + 1) + own_tls; }
static int impl(int x) { return x + 1; }
static void *resolve(void) { return (void *)impl; }
int fast(int) __attribute__((ifunc("resolve")));
int use3(int x) { return fast(x); }
`;

Deno.test({
  name:
    "readElfSymbols, AArch64: PLT stubs equal llvm-objdump's labels, with branch protection and TLS descriptors",
  ...ignored(notInstalled("clang", "ld.lld", "llvm-objdump", "readelf")),
  fn: () =>
    inFolder((folder) => {
      const source = `${folder}/library.c`;
      Deno.writeTextFileSync(source, LIBRARY);
      const missing = notInstalled("aarch64-linux-gnu-ld");
      if (missing !== undefined) console.log(`ignored: stubs of GNU ld: ${missing}`);
      const linkers = ["ld.lld", ...(missing === undefined ? ["aarch64-linux-gnu-ld"] : [])];
      const kinds = [["none"], ["bti", "force-bti"], ["pac-ret", "pac-plt"], [
        ...["standard", "force-bti", "pac-plt"],
      ]] as const;
      let resolvers = 0;
      for (const [protection, ...flags] of kinds) {
        const object = `${folder}/${protection}.o`;
        run(
          "clang",
          ...["--target=aarch64-linux-gnu", "-O2", "-fPIC", "-c", "-o", object],
          source,
          `-mbranch-protection=${protection}`,
        );
        for (const linker of linkers) {
          const path = `${folder}/${protection}.${linker}.so`;
          run(linker, "-shared", ...flags.flatMap((flag) => ["-z", flag]), "-o", path, object);
          const dump = run("llvm-objdump", "-d", "-j", ".plt", path);
          const expected = [...dump.matchAll(/^([0-9a-f]+) <(\S+@plt)>:$/gm)]
            .map(([, at = "", name]) => `${parseInt(at, 16)} ${name}`);
          const [, tls] = /\(TLSDESC_PLT\)\s+0x([0-9a-f]+)/.exec(run("readelf", "-dW", path)) ?? [];
          if (tls !== undefined) expected.push(`${parseInt(tls, 16)} *TLSDESC*@plt`);
          resolvers += tls === undefined ? 0 : 1;
          const elf = readElf(path);
          const { table } = readElfSymbols(elf);
          const found = readPlt(elf).map(({ address, size }) => {
            const name = table.name(table.lookup(address));
            assertEquals(table.name(table.lookup(address + size - 1)), name);
            return `${address} ${name}`;
          });
          assertEquals(found, expected, path);
          assertEquals(found.length, tls === undefined ? 4 : 5);
        }
      }
      assertEquals(resolvers, missing === undefined ? kinds.length : 0);
    }),
});

Deno.test("readPlt: code that resolves TLS descriptors is no stub of a relocation, on x86-64 and AArch64", () => {
  const jump = (from: number, slot: number) => [0xff, 0x25, ...word32(slot - from - 6)];
  const word32 = (value: number) => [0, 8, 16, 24].map((bits) => value >> bits & 0xff);
  const words = (...all: number[]) => all.flatMap(word32);
  const x86 = [
    // push *8(GOT); jmp *16(GOT)
    ...[0xff, 0x35, ...word32(0x3008 - 0x1006), ...jump(0x1006, 0x3010), 0x0f, 0x1f, 0x40, 0],
    ...[...jump(0x1010, 0x3018), 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff],
    // push *8(GOT); jmp *(TLS descriptors)
    ...[0xff, 0x35, ...word32(0x3008 - 0x1026), ...jump(0x1026, 0x2ff8), 0x0f, 0x1f, 0x40, 0],
  ];
  const [nop, br] = [0xd503201f, 0xd61f0220];
  const arm = words(
    // stp x16, x30, [sp, #-16]!; adrp x16, 0x3000; ldr x17, [x16, #16]; add x16, x16, #16; br x17
    ...[0xa9bf7bf0, 0xd0000010, 0xf9400a11, 0x91004210, br, nop, nop, nop],
    // bti c; adrp x16, 0x3000; ldr x17, [x16, #24]; add x16, x16, #24; br x17; nop
    ...[0xd503245f, 0xd0000010, 0xf9400e11, 0x91006210, br, nop],
    // stp x2, x3, [sp, #-16]!; adrp x2, 0x2000; adrp x3, 0x3000; ldr x2, [x2, #0xff8]; …; br x2
    ...[0xa9bf0fe2, 0xb0000002, 0xd0000003, 0xf947fc42, 0x91000063, 0xd61f0040, nop, nop],
  );
  const kinds = [
    { machine: 62, code: x86, types: [36, 7], stub: [0x1010, 16], resolver: [0x1020, 16] },
    { machine: 183, code: arm, types: [1031, 1026], stub: [0x1020, 24], resolver: [0x1038, 32] },
  ];
  for (const { machine, code, types: [tls = 0, slot = 0], stub, resolver } of kinds) {
    const layout = { is64: true, littleEndian: true };
    const symbols = ["tls_var", "ext_a"].map((name) => ({
      name,
      value: 0n,
      size: 0n,
      info: 0x10,
      shndx: 0,
    }));
    const { symtab, strtab } = symbolTable(layout, symbols);
    const relocations = new Bytes(true, true)
      .u64(0x3028).u32(tls).u32(1).u64(0)
      .u64(0x3018).u32(slot).u32(2).u64(0).done();
    const dynamic = new Bytes(true, true).u64(0x6ffffef6).u64(resolver[0] ?? 0).u64(0).u64(0);
    const elf = ElfFile.open(bytesSource(writeElf({
      ...layout,
      type: 3,
      machine,
      sections: [
        { name: ".dynsym", type: 11, bytes: symtab, link: 2, entsize: 24 },
        { name: ".dynstr", type: 3, bytes: strtab },
        { name: ".rela.plt", type: 4, bytes: relocations, entsize: 24 },
        { name: ".plt", type: 1, flags: 6, addr: 0x1000n, bytes: Uint8Array.from(code) },
        { name: ".dynamic", type: 6, addr: 0x2000n, bytes: dynamic.done() },
      ],
    })));
    const { table } = readElfSymbols(elf);
    const found = readPlt(elf).map(({ address, size }) => [
      ...[address, size],
      table.name(table.lookup(address)),
    ]);
    assertEquals(found, [[...stub, "ext_a@plt"], [...resolver, "*TLSDESC*@plt"]]);
  }
});

Deno.test({
  name: "readElfSymbols: samples get the symbols and offsets of perf for every flavour",
  ...ignored(notInstalled("perf", "g++")),
  fn: (t) =>
    inFolder(async (folder) => {
      let compared = 0;
      for (const flavour of usableFlavours()) {
        const path = build(folder, flavour);
        const data = `${folder}/perf.data`;
        try {
          run("perf", "record", "-q", "-e", "cpu-clock:u", "-F", "4000", "-o", data, path);
        } catch (error) {
          await skipped(t, `symbols against perf: ${(error as Error).message}`);
          return;
        }
        const script = run(
          "bash",
          "-c",
          `ulimit -v 8000000; timeout 300 perf script --demangle -i ${data} --show-mmap-events ` +
            `-F comm,pid,event,ip,sym,symoff,dso`,
        );
        const maps: { start: number; end: number; pgoff: number; file: string }[] = [];
        const files = new Map<string, ElfFile>();
        for (const line of script.split("\n")) {
          const map = /MMAP2? \S+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (\w+) .*: (\S+) (\/\S+)$/
            .exec(
              line,
            );
          if (map !== null) {
            const start = parseInt(map[1] ?? "", 16);
            maps.push({
              start,
              end: start + parseInt(map[2] ?? "", 16),
              pgoff: Number(map[3]),
              file: map[5] ?? "",
            });
            continue;
          }
          const sample = /:\s+([0-9a-f]+) (\S.*?)\+0x([0-9a-f]+) \((\/[^)]+)\)$/.exec(line);
          if (sample === null) continue;
          const ip = parseInt(sample[1] ?? "", 16);
          const mapping = maps.find((m) => ip >= m.start && ip < m.end);
          if (mapping === undefined || !mapping.file.startsWith("/")) continue;
          let elf = files.get(mapping.file);
          if (elf === undefined) files.set(mapping.file, elf = readElf(mapping.file));
          const address = new FileAddresses(elf).fromOffset(ip - mapping.start + mapping.pgoff);
          assert(address !== undefined);
          const { table } = tableOf(elf);
          const index = table.lookup(address);
          const shown = `${withoutParams(table.name(index))}+0x${
            (address - table.start(index)).toString(16)
          }`;
          const expected = `${sample[2]}+0x${sample[3]}`;
          // perf misplaces stubs in .plt.sec and .plt.got, and finds none in static programs.
          if (shown.includes("@plt")) continue;
          // perf reads a library's names from its debug file, if one is installed.
          if (sample[4] !== path) continue;
          assertEquals(shown, expected, `${flavour.name}: ${addressToHex(ip)} in ${mapping.file}`);
          compared++;
        }
      }
      console.log(`${compared} samples compared`);
      assert(compared > 500, `${compared} samples`);
    }),
});

const tables = new WeakMap<ElfFile, ReturnType<typeof readElfSymbols>>();

function tableOf(elf: ElfFile): ReturnType<typeof readElfSymbols> {
  let table = tables.get(elf);
  if (table === undefined) {
    table = readElfSymbols(elf, { demangle: withoutParams });
    tables.set(elf, table);
  }
  return table;
}

Deno.test({
  name: "readElfSymbols: one alias is kept per address, and unsized symbols extend to the next",
  ...ignored(notInstalled("g++")),
  fn: () =>
    inFolder((folder) => {
      const flavour = usableFlavours()[0];
      if (flavour === undefined) return;
      const elf = readElf(build(folder, flavour));
      const { table } = readElfSymbols(elf, { demangle: withoutParams });
      const nameAt = (symbol: string): string =>
        table.name(table.lookup(findElfSymbol(elf, symbol) ?? NaN));
      // Preferences: strong over weak, fewer underscores, longer name.
      for (
        const alias of [
          "alias_target",
          "__alias_underscored",
          "alias_weak_with_a_long_name",
          "alias_longer_name",
        ]
      ) assertEquals(nameAt(alias), "alias_longer_name");
      assertEquals(nameAt("weak_only"), "weak_only");
      const noSize = table.get(table.lookup(findElfSymbol(elf, "no_size") ?? NaN));
      assertEquals(noSize?.name, "no_size");
      assertEquals(noSize?.end, findElfSymbol(elf, "next_one"));
      assertEquals(nameAt("label_in_text"), "label_in_text");
      assertEquals(nameAt("table"), "table");
    }),
});

Deno.test({
  name: "readElfSymbols: a debug file or MiniDebugInfo gives the symbols of the whole file",
  ...ignored(notInstalled("g++", "objcopy", "strip", "xz", "nm")),
  fn: () =>
    inFolder(async (folder) => {
      const flavour = usableFlavours()[0];
      if (flavour === undefined) return;
      const path = build(folder, flavour, "-g");
      const whole = readElf(path);
      run("objcopy", "--only-keep-debug", path, `${path}.debug`);
      run("strip", "-o", `${path}.stripped`, path);
      const list = (elf: ElfFile, options: Parameters<typeof readElfSymbols>[1]): string[] => {
        const { table } = readElfSymbols(elf, options);
        return Array.from({ length: table.size }, (_, i) => `${table.start(i)} ${table.name(i)}`);
      };
      const expected = list(whole, {});
      const stripped = readElf(`${path}.stripped`);
      assert(!list(stripped, {}).some((row) => row.endsWith("hidden_static")));
      assertEquals(list(readElf(`${path}.debug`), { runtime: stripped }), expected);

      run("objcopy", "-g", `${path}.debug`, `${path}.mini`);
      run("xz", "-f", "-k", "--check=crc64", `${path}.mini`);
      run("objcopy", "--add-section", `.gnu_debugdata=${path}.mini.xz`, `${path}.stripped`);
      const withMini = readElf(`${path}.stripped`);
      const miniDebugInfo = await readMiniDebugInfo(withMini);
      assert(miniDebugInfo !== undefined);
      assertEquals(list(withMini, { miniDebugInfo }), expected);
      assertEquals(await readMiniDebugInfo(stripped), undefined);
    }),
});

Deno.test({
  name: "relocatedSectionData: debug sections equal those that readelf relocates",
  ...ignored(notInstalled("gcc", "readelf")),
  fn: () =>
    inFolder((folder) => {
      Deno.writeTextFileSync(
        `${folder}/a.c`,
        "int first(int a){return a+1;}\nint second(int b){return first(b)*2;}\n",
      );
      run("gcc", "-g", "-O1", "-c", "-o", `${folder}/a.o`, `${folder}/a.c`);
      const elf = readElf(`${folder}/a.o`);
      for (const name of [".debug_info", ".debug_line", ".debug_aranges"]) {
        const section = elf.section(name);
        assert(section !== undefined);
        const dump = run("readelf", `--relocated-dump=${name}`, `${folder}/a.o`);
        const expected = [...dump.matchAll(/^ {2}0x[0-9a-f]+ ((?:[0-9a-f]{2,8} ){1,4})/gm)]
          .map((m) => (m[1] ?? "").replaceAll(" ", "")).join("");
        const ours = Array.from(
          relocatedSectionData(elf, section),
          (byte) => byte.toString(16).padStart(2, "0"),
        ).join("");
        assertEquals(ours, expected, name);
      }
      assertEquals(
        readElfSymbols(elf).table.name(1),
        "second",
      );
    }),
});

Deno.test("readElfSymbols: kernel addresses, function descriptors, mapping symbols and Thumb bits are handled", () => {
  const text = { name: ".text", type: 1, flags: 6, bytes: new Uint8Array(0x100) };
  const make = (
    machine: number,
    is64: boolean,
    littleEndian: boolean,
    base: bigint,
    symbols: Parameters<typeof symbolTable>[1],
    opd?: Uint8Array,
  ): ElfFile => {
    const { symtab, strtab } = symbolTable({ is64, littleEndian }, symbols);
    return ElfFile.open(bytesSource(writeElf({
      is64,
      littleEndian,
      type: 2,
      machine,
      sections: [
        { ...text, addr: base },
        { name: ".symtab", type: 2, bytes: symtab, link: 3, entsize: is64 ? 24 : 16 },
        { name: ".strtab", type: 3, bytes: strtab },
        ...(opd === undefined
          ? []
          : [{ name: ".opd", type: 1, flags: 3, addr: 0x9000n, bytes: opd }]),
      ],
    })));
  };
  const base = 0xffffffff81000000n;
  const global = STB.GLOBAL * 16 + STT.FUNC;
  const kernel = readElfSymbols(make(62, true, true, base, [
    { name: "a", value: base, size: 0x10n, info: global, shndx: 1 },
    { name: "b", value: base + 0x10n, size: 0x7fn, info: global, shndx: 1 },
  ])).table;
  assertEquals(kernel.name(kernel.lookup(addressFromBigInt(base + 0xfn))), "a");
  assertEquals(kernel.name(kernel.lookup(addressFromHalves(0xffffffff, 0x81000010))), "b");
  assertEquals(kernel.name(kernel.lookup(addressFromHalves(0xffffffff, 0x8100008e))), "b");
  assertEquals(kernel.lookup(addressFromHalves(0xffffffff, 0x8100008f)), -1);

  const descriptor = new Bytes(false, true).u64(0x1040).u64(0).u64(0).done();
  const powerpc = readElfSymbols(make(21, true, false, 0x1000n, [
    { name: "f", value: 0x9000n, size: 0x20n, info: global, shndx: 4 },
  ], descriptor)).table;
  assertEquals(powerpc.get(0), { name: "f", start: 0x1040, end: 0x1060 });

  const arm = readElfSymbols(make(40, false, true, 0x8000n, [
    { name: "$t", value: 0x8000n, size: 0n, info: 0, shndx: 1 },
    { name: "$d.3", value: 0x8010n, size: 0n, info: 0, shndx: 1 },
    { name: "thumb", value: 0x8001n, size: 0x10n, info: global, shndx: 1 },
  ])).table;
  assertEquals(arm.size, 1);
  assertEquals(arm.get(0), { name: "thumb", start: 0x8000, end: 0x8010 });
});

Deno.test("readElfSymbols: names that overlap quadratically are an error, bad indexes are counted", () => {
  const file = { is64: true, littleEndian: true };
  const strings = new Uint8Array(200_000).fill(0x61);
  const symtab = new Bytes(true, true);
  for (let i = 0; i < 2000; i++) symtab.u32(1 + i).u8(0x12).u8(0).u16(1).u64(i).u64(1);
  const write = (strtab: Uint8Array): ElfFile =>
    ElfFile.open(bytesSource(writeElf({
      ...file,
      type: 2,
      machine: 62,
      sections: [
        { name: ".text", type: 1, flags: 6, bytes: new Uint8Array(16) },
        { name: ".symtab", type: 2, bytes: symtab.done(), link: 3, entsize: 24 },
        { name: ".strtab", type: 3, bytes: strtab },
      ],
    })));
  assertThrows(() => readElfSymbols(write(strings)), ElfError, "overlap");
  const { table, malformed } = readElfSymbols(write(new Uint8Array(4)));
  // Names at 2 … 2000 in a string table of 4 bytes. The first entry is skipped.
  assertEquals(malformed, 1997);
  assertEquals(table.size, 2);
});

Deno.test("readElfSymbols: with `addresses`, look-ups of them equal those in a full table", () => {
  const file = { is64: true, littleEndian: true };
  // Small values, so that symbols nest, overlap, share addresses and lack sizes.
  const symbol = fc.record({
    name: fc.constantFrom("a", "_b", "__c", "long_name", "_Z1dv", "SyS_e", "x", "yy"),
    value: fc.integer({ min: -40, max: 60 }),
    size: fc.constantFrom(0, 0, 1, 3, 8, 20),
    info: fc.constantFrom(0x00, 0x02, 0x12, 0x22, 0x11, 0x10),
  });
  const symbols = fc.array(symbol, { maxLength: 25 });
  const address = fc.integer({ min: -50, max: 80 }).map((at) => at < -40 ? at * 4096 : at);
  fc.assert(
    fc.property(symbols, symbols, fc.array(address), (first, second, asked) => {
      const [symtab, dynsym] = [first, second].map((symbols) =>
        symbolTable(
          file,
          symbols.map(({ value, size, ...rest }): WrittenSymbol => ({
            ...rest,
            value: BigInt(value),
            size: BigInt(size),
            shndx: 1,
          })),
        )
      );
      assert(symtab !== undefined && dynsym !== undefined);
      const elf = ElfFile.open(bytesSource(writeElf({
        ...file,
        type: 3,
        machine: 62,
        sections: [
          { name: ".text", type: 1, flags: 6, bytes: new Uint8Array(16) },
          { name: ".symtab", type: 2, bytes: symtab.symtab, link: 3, entsize: 24 },
          { name: ".strtab", type: 3, bytes: symtab.strtab },
          { name: ".dynsym", type: 11, bytes: dynsym.symtab, link: 5, entsize: 24 },
          { name: ".dynstr", type: 3, bytes: dynsym.strtab },
        ],
      })));
      const options = { demangle: withoutParams };
      const whole = readElfSymbols(elf, options).table;
      const addresses = Float64Array.from(asked).sort();
      const some = readElfSymbols(elf, { ...options, addresses }).table;
      for (const address of addresses) {
        assertEquals(some.get(some.lookup(address)), whole.get(whole.lookup(address)));
      }
    }),
    { numRuns: 2000 },
  );
});

Deno.test({
  name: "readElfSymbols: with `addresses`, look-ups in real binaries equal those in a full table",
  ...ignored(notInstalled("g++")),
  fn: () =>
    inFolder((folder) => {
      for (const flavour of usableFlavours()) {
        const elf = readElf(build(folder, flavour));
        const whole = readElfSymbols(elf, { demangle: withoutParams }).table;
        const all = Float64Array.from({ length: whole.size * 3 }, (_, i) => {
          const symbol = Math.floor(i / 3);
          return i % 3 === 0 ? whole.start(symbol) : whole.end(symbol) + i % 3 - 2;
        }).sort();
        for (const every of [1, 7, 50]) {
          const addresses = all.filter((_, i) => i % every === 0);
          const some = readElfSymbols(elf, { demangle: withoutParams, addresses }).table;
          for (const address of addresses) {
            assertEquals(
              some.get(some.lookup(address)),
              whole.get(whole.lookup(address)),
              `${flavour.name} ${addressToHex(address)}`,
            );
          }
        }
      }
    }),
});
