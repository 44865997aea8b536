/** Damage and foreign files must not exhaust memory, end the work, or give wrong names. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { constants, createDeflateRaw, deflateSync } from "node:zlib";
import { Buffer } from "node:buffer";
import { localResolver } from "./local_resolver.ts";
import { bytesSource, type SymbolObject, SymbolsError } from "@perfdata/symbols/resolver";
import { SymbolResolver } from "@perfdata/symbols";
import { expandFile } from "../files/compressed_file.ts";
import { type ObjectSymbols } from "./object_symbols.ts";
import { type ResolverOptions } from "./options.ts";
import { runsOn } from "../code/architecture.ts";
import { symbolTable, writeElf, type WrittenSection } from "../testing/elf_writer.ts";
import { localFiles } from "../files/local_files.ts";
import { inFolder, run } from "../testing/toolchain.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

/** An x86-64 executable with the function `work` at 0x1000, and further sections. */
function executable(machine: number, ...more: WrittenSection[]): Uint8Array {
  const file = { is64: true, littleEndian: true };
  const { symtab, strtab } = symbolTable(file, [
    { name: "work", value: 0x1000n, size: 0x100n, info: 0x12, shndx: 1 },
  ]);
  const text = { type: 1, flags: 6, addr: 0x1000n, bytes: new Uint8Array(0x100) };
  return writeElf({
    ...file,
    type: 3,
    machine,
    sections: [
      { name: ".text", ...text },
      { name: ".symtab", type: 2, bytes: symtab, link: 3, info: 1, entsize: 24 },
      { name: ".strtab", type: 3, bytes: strtab },
      ...more,
    ],
    segments: [
      { type: 1, flags: 5, offset: 0n, vaddr: 0xf80n, filesz: 0x400n, memsz: 0x400n },
    ],
  });
}

/** A `GNU` note of type 3 with a build id of four bytes. */
function buildIdNote(id: readonly number[]): WrittenSection {
  const bytes = Uint8Array.of(4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 0x47, 0x4e, 0x55, 0, ...id);
  return { name: ".note.gnu.build-id", type: 7, flags: 2, bytes, addralign: 4 };
}

async function look(
  file: Uint8Array,
  object: SymbolObject,
  options: ResolverOptions = {},
): Promise<{ symbols: ObjectSymbols; name: string | undefined }> {
  const resolver = new SymbolResolver({
    open: (path) => path === object.path ? bytesSource(file) : undefined,
    read: () => undefined,
  }, options);
  const symbols = await resolver.open(object);
  const [found] = await symbols.find(Float64Array.of(0x90));
  symbols.close();
  return { symbols, name: found?.frames[0]?.name ?? found?.cause };
}

const X86_64 = 62;
const PROGRAM: SymbolObject = { path: "/usr/bin/program", kind: "elf" };

/** A program with this `.debug_info`. */
function withInfo(info: Uint8Array): Uint8Array {
  return executable(
    X86_64,
    { name: ".debug_info", type: 1, bytes: info },
    { name: ".debug_abbrev", type: 1, bytes: Uint8Array.of(0) },
  );
}

Deno.test("SymbolResolver: a debug section of zeros has no units and no fault", async () => {
  const { symbols, name } = await look(withInfo(new Uint8Array(1 << 25)), PROGRAM);
  assertEquals(name, "work");
  assertEquals(symbols.faultCount, 1);
  assert(symbols.faults[0]?.message.includes("length 0"));
});

Deno.test("SymbolResolver: the faults of many damaged units are counted, and few are stored", async () => {
  // Units of length 2, with an invalid version.
  const info = new Uint8Array(6 * 1000);
  for (let at = 0; at < info.length; at += 6) info[at] = 2;
  const { symbols, name } = await look(withInfo(info), PROGRAM);
  assertEquals(name, "work");
  assert(symbols.faultCount > 100, `${symbols.faultCount} faults`);
  assert(symbols.faults.length <= 5, `${symbols.faults.length} kept`);
});

Deno.test("SymbolResolver: millions of units are reported as too large", async () => {
  const unit = Uint8Array.of(7, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8);
  const info = new Uint8Array(unit.length * 1_100_000);
  for (let at = 0; at < info.length; at += unit.length) info.set(unit, at);
  const { symbols, name } = await look(withInfo(info), PROGRAM);
  assertEquals(name, "work");
  assertEquals(symbols.faults.map(({ message }) => /too large: .* units/.test(message)), [true]);
});

Deno.test("SymbolResolver: tens of thousands of empty units are reported as too large, after other faults", async () => {
  // Version 4, and the invalid version 9, which is a fault in each unit.
  for (const version of [4, 9]) {
    const unit = Uint8Array.of(7, 0, 0, 0, version, 0, 0, 0, 0, 0, 8);
    const info = new Uint8Array(unit.length * 100_000);
    for (let at = 0; at < info.length; at += unit.length) info.set(unit, at);
    const { symbols, name } = await look(withInfo(info), PROGRAM);
    assertEquals(name, "work");
    assertEquals(symbols.faults.some(({ message }) => /too large: .* units/.test(message)), true);
    // Each unit is read twice.
    assert(symbols.faultCount < 100_000, `${symbols.faultCount} faults`);
  }
});

Deno.test("SymbolResolver: sections that exceed the budget of the file's size are not decompressed", async () => {
  const size = 2 ** 28;
  const zeros = deflateSync(new Uint8Array(size));
  const head = new Uint8Array(24);
  const view = new DataView(head.buffer);
  view.setUint32(0, 1, true);
  view.setBigUint64(8, BigInt(size), true);
  view.setBigUint64(16, 1n, true);
  const bytes = new Uint8Array(head.length + zeros.length);
  bytes.set(head);
  bytes.set(zeros, head.length);
  const file = executable(
    X86_64,
    { name: ".debug_info", type: 1, flags: 0x800, bytes },
    { name: ".debug_abbrev", type: 1, bytes: Uint8Array.of(0) },
  );
  const { symbols, name } = await look(file, PROGRAM);
  assert(name === "work" || name === "not readable", name);
  assert(symbols.faults.some(({ message }) => message.includes("too large")));
});

Deno.test("SymbolResolver: a damaged header byte in one file never breaks look-ups in others", async () => {
  const file = withInfo(Uint8Array.of(7, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8));
  const view = new DataView(file.buffer, file.byteOffset);
  const headers = Number(view.getBigUint64(40, true));
  const offsets = [
    ...Array.from({ length: 120 }, (_, i) => i),
    ...Array.from({ length: file.length - headers }, (_, i) => headers + i),
  ];
  let unnamed = 0;
  for (const offset of offsets) {
    for (const value of [0xff, 0x7f, 1]) {
      const damaged = file.slice();
      damaged[offset] = (damaged[offset] as number) ^ value;
      const { name, symbols } = await look(damaged, PROGRAM);
      assert(name !== undefined);
      if (name !== "work") unnamed++;
      else continue;
      // The cause is reported; for an unreadable file also the error.
      assert(
        name !== "not readable" || symbols.faultCount > 0 || symbols.refused.length > 0,
        `byte ${offset}: ${name}`,
      );
    }
  }
  assert(unnamed > 20, `${unnamed} of ${3 * offsets.length}`);
});

Deno.test("SymbolResolver: an invalid file name only leaves its object without symbols", async () => {
  const resolver = localResolver({ places: { buildIdCache: "/no/such/folder" } });
  const paths = [
    "",
    "/",
    "/\0",
    `/${"m".repeat(256)}`,
    `/${"a/".repeat(3000)}b`,
    "/dev/zero",
    "..",
  ];
  for (const path of paths) {
    for (const kind of ["elf", "jit", "module", "vdso"] as const) {
      const symbols = await resolver.open({ path, kind, buildId: "ab".repeat(20), jitdump: path });
      const [found] = await symbols.find(Float64Array.of(0x1000));
      assertEquals(found?.frames.length, 0, `${kind} ${path}`);
      assert(found?.cause !== undefined, `${kind} ${path}`);
      symbols.close();
    }
  }
});

Deno.test("SymbolResolver: a file of another architecture is never used", async () => {
  const id = [1, 2, 3, 4];
  const file = executable(X86_64, buildIdNote(id));
  const known = { ...PROGRAM, buildId: "01020304" };
  for (const object of [PROGRAM, known]) {
    for (const arch of ["ppc64le", "aarch64", "s390x", "riscv64", "ppc64"]) {
      const { symbols, name } = await look(file, object, { machine: { arch } });
      assertEquals(name, "file missing", arch);
      assertEquals(symbols.refused.map(({ reason }) => reason), ["another architecture"]);
    }
    for (const arch of ["x86_64", "i686", "a machine of tomorrow", undefined]) {
      const { name } = await look(file, object, { machine: { arch } });
      assertEquals(name, "work", arch);
    }
  }
  // Big-endian programs do not run on a little-endian kernel.
  assertEquals(runsOn("ppc64le", { machine: 21, littleEndian: false }), false);
});

Deno.test("SymbolResolver: names are verified only if a build id matches", async () => {
  const file = executable(X86_64, buildIdNote([1, 2, 3, 4]));
  const known = await look(file, { ...PROGRAM, buildId: "01020304" });
  assertEquals([known.name, known.symbols.verified], ["work", true]);
  const unknown = await look(file, PROGRAM, { machine: { arch: "x86_64" } });
  assertEquals([unknown.name, unknown.symbols.verified], ["work", false]);
  const other = await look(file, { ...PROGRAM, buildId: "ffffffff" });
  assertEquals([other.name, other.symbols.verified], ["build id differs", false]);
});

/** A truncated gzip file of `times` MB of zeros. */
async function gzipBomb(times: number): Promise<Uint8Array> {
  const deflate = createDeflateRaw({ level: 9 });
  const chunks: Buffer[] = [];
  deflate.on("data", (chunk: Buffer) => chunks.push(chunk));
  deflate.write(new Uint8Array(1 << 20));
  // After a full flush, the block has no back references, so it can be repeated.
  await new Promise<void>((done) => deflate.flush(constants.Z_FULL_FLUSH, () => done()));
  const block = new Uint8Array(Buffer.concat(chunks));
  const head = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255);
  const all = new Uint8Array(head.length + block.length * times);
  all.set(head);
  for (let i = 0; i < times; i++) all.set(block, head.length + i * block.length);
  return all;
}

Deno.test("SymbolResolver: a compressed module is decompressed only up to the limit", async () => {
  const bomb = await gzipBomb(1500);
  const before = Deno.memoryUsage().rss;
  await assertRejects(() => expandFile(bomb, "gzip", 1 << 24), SymbolsError, "more than 16777216");
  const grown = Deno.memoryUsage().rss - before;
  assert(grown < 400 << 20, `${grown >> 20} MB more for a file that expands to 1500 MB`);
});

Deno.test("SymbolResolver: a too long perf map or copy of kallsyms is refused", async () => {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-limits-" });
  try {
    // A sparse file.
    const path = `${folder}/long`;
    using file = await Deno.open(path, { create: true, write: true });
    await file.truncate(2 ** 27 + 1);
    const resolver = localResolver({ places: {}, kallsyms: path });
    for (const kind of ["jit", "kernel"] as const) {
      const symbols = await resolver.open({ path, kind });
      const [found] = await symbols.find(Float64Array.of(0x1000));
      assertEquals(found?.frames.length, 0);
      assertEquals(symbols.refused.map(({ reason }) => reason), ["not readable"]);
      symbols.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name: "SymbolResolver: a pipe is reported as not readable, a directory as missing",
  ...ignored(notInstalled("mkfifo")),
  fn: () =>
    inFolder(async (folder) => {
      run("mkfifo", `${folder}/program`);
      Deno.mkdirSync(`${folder}/folder`);
      const causes: unknown[] = [];
      for (const name of ["program", "folder", "none"]) {
        const symbols = await new SymbolResolver(localFiles).open({
          path: `${folder}/${name}`,
          kind: "elf",
        });
        causes.push((await symbols.find(Float64Array.of(0x90)))[0]?.cause);
        symbols.close();
      }
      assertEquals(causes, ["not readable", "file missing", "file missing"]);
    }),
});
