import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { FileAddresses } from "./address_map.ts";
import { bytesSource } from "../files/binary_source.ts";
import { ElfFile } from "../elf/elf_file.ts";
import { readElfSymbols } from "../elf/elf_symbols.ts";
import { readMiniDebugInfo } from "../elf/mini_debug_info.ts";
import { relocatedSectionData } from "../elf/relocate.ts";
import { SymbolsError } from "../errors.ts";
import { JitSymbols } from "../jit/jit_symbols.ts";
import { openJitdump } from "../jit/jitdump.ts";
import { readKallsyms } from "../table/kallsyms.ts";
import { readPerfMap } from "../jit/perf_map.ts";
import { Bytes } from "../testing/elf_writer.ts";
import { inFolder, run } from "../testing/toolchain.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

/** Reads everything. Only a SymbolsError may be thrown. */
function readAll(bytes: Uint8Array): void {
  try {
    const elf = ElfFile.open(bytesSource(bytes), { maxDecompressedSize: 1 << 22 });
    for (
      const step of [
        () => elf.buildId(),
        () => elf.debugLink(),
        () => elf.debugAltLink(),
        () => readElfSymbols(elf),
        () => new FileAddresses(elf).fromOffset(0x1000),
        ...elf.sections.map((section) => () => relocatedSectionData(elf, section)),
      ]
    ) orSymbolsError(step, bytes.length);
  } catch (error) {
    check(error, bytes.length);
  }
}

function orSymbolsError(step: () => unknown, size: number): void {
  try {
    step();
  } catch (error) {
    check(error, size);
  }
}

function check(error: unknown, _size: number): void {
  if (!(error instanceof SymbolsError)) throw error;
  assert(error.offset >= 0n, error.message);
  assert(error.message.length > 10 && !error.message.includes("\n"), error.message);
}

Deno.test({
  name: "ElfFile: truncated or changed files are read, or give an error with an offset",
  ...ignored(notInstalled("gcc", "objcopy")),
  fn: () =>
    inFolder((folder) => {
      Deno.writeTextFileSync(
        `${folder}/a.c`,
        '#include <stdio.h>\nint f(int a){return a*2;}\nint main(void){puts("x");return f(1);}\n',
      );
      run("gcc", "-g", "-gz", "-o", `${folder}/a`, `${folder}/a.c`);
      run("gcc", "-g", "-c", "-o", `${folder}/a.o`, `${folder}/a.c`);
      const seeds = [Deno.readFileSync(`${folder}/a`), Deno.readFileSync(`${folder}/a.o`)];
      for (const seed of seeds) {
        for (let cut = 0; cut < seed.length; cut += cut < 1100 ? 1 : 257) {
          readAll(seed.subarray(0, cut));
        }
        // Every byte of the headers, with extreme values.
        const shoff = Number(new DataView(seed.buffer).getBigUint64(40, true));
        const places = [
          ...Array.from({ length: 64 + 56 * 4 }, (_, i) => i),
          ...Array.from({ length: seed.length - shoff }, (_, i) => shoff + i),
        ];
        for (const at of places) {
          for (const value of [0, 0x7f, 0xff]) {
            const bytes = seed.slice();
            bytes[at] = value;
            readAll(bytes);
          }
        }
        fc.assert(
          fc.property(
            fc.array(fc.tuple(fc.nat(seed.length - 1), fc.nat(255)), {
              minLength: 1,
              maxLength: 20,
            }),
            (edits) => {
              const bytes = seed.slice();
              for (const [at, value] of edits) bytes[at] = value;
              readAll(bytes);
            },
          ),
          { numRuns: 300 },
        );
      }
    }),
});

Deno.test("ElfFile: random bytes after the magic are read, or give an error with an offset", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(3), (tail, kind) => {
      const head = [0x7f, 0x45, 0x4c, 0x46, 1 + (kind & 1), 1 + (kind >> 1), 1];
      readAll(Uint8Array.from([...head, ...tail]));
    }),
    { numRuns: 2000 },
  );
});

Deno.test({
  name: "readMiniDebugInfo: damaged xz data gives an error",
  ...ignored(notInstalled("gcc", "objcopy", "xz")),
  fn: () =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.c`, "int main(void){return 0;}");
      run("gcc", "-o", `${folder}/a`, `${folder}/a.c`);
      Deno.copyFileSync(`${folder}/a`, `${folder}/mini`);
      run("xz", "-f", `${folder}/mini`);
      run("objcopy", "--add-section", `.gnu_debugdata=${folder}/mini.xz`, `${folder}/a`);
      const seed = Deno.readFileSync(`${folder}/a`);
      const section = ElfFile.open(bytesSource(seed)).section(".gnu_debugdata");
      assert(section !== undefined);
      let errors = 0;
      for (let i = 0; i < 40; i++) {
        const bytes = seed.slice();
        const at = section.offset + Math.floor((section.size * i) / 40);
        bytes[at] = (bytes[at] ?? 0) ^ 0x5a;
        try {
          await readMiniDebugInfo(ElfFile.open(bytesSource(bytes)));
        } catch (error) {
          check(error, bytes.length);
          errors++;
        }
      }
      assert(errors > 30, `${errors} of 40`);
      const limited = readMiniDebugInfo(ElfFile.open(bytesSource(seed)), 1000);
      const error = await limited.then(() => undefined, (e) => e);
      assert(error instanceof SymbolsError && error.message.includes("more than 1000"));
    }),
});

Deno.test("readKallsyms, readPerfMap: any bytes are read", () => {
  fc.assert(fc.property(
    fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(
        fc.constantFrom("ffffffff81000000", "10", " ", "\n", "t", "T", "\t[m]", "name", "0x", "$"),
        {
          maxLength: 60,
        },
      ).map((parts) => new TextEncoder().encode(parts.join(""))),
    ),
    (bytes) => {
      const lines = new TextDecoder().decode(bytes).split("\n").length;
      const kallsyms = readKallsyms(bytes);
      assert(kallsyms.table.size + kallsyms.malformed <= lines);
      const map = readPerfMap(bytes);
      assert(map.table.size + map.malformed <= lines);
    },
  ));
});

Deno.test("openJitdump: changed files are read, or give an error with an offset", () => {
  const out = new Bytes(true, true).u32(0x4a695444).u32(1).u32(40).u32(62).u32(0).u32(1).u64(0).u64(
    0,
  );
  for (let i = 0; i < 6; i++) {
    out.u32(2).u32(16 + 16 + 18).u64(i).u64(0x1000).u64(1).u64(0x1000).u32(1).u32(0).raw([0x61, 0]);
    out.u32(0).u32(58 + 8).u64(i).u32(1).u32(1).u64(0x1000).u64(0x1000 + i * 4).u64(8).u64(i);
    out.raw([0x61, 0]).raw(new Uint8Array(8));
    out.u32(1).u32(64).u64(i).u32(1).u32(1).u64(0).u64(0x1000).u64(0x2000).u64(8).u64(i);
  }
  const seed = out.done();
  assertEquals([...openJitdump(bytesSource(seed)).records()].length, 18);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(seed.length - 1), fc.nat(255)), { minLength: 1, maxLength: 12 }),
      fc.nat(seed.length),
      (edits, cut) => {
        const bytes = seed.slice(0, Math.max(cut, 50));
        for (const [at, value] of edits) bytes[at] = value;
        orSymbolsError(() => {
          const symbols = new JitSymbols(openJitdump(bytesSource(bytes)).records());
          const code = symbols.lookup(0x1004);
          if (code !== undefined) symbols.line(code, 0x1004);
        }, bytes.length);
      },
    ),
    { numRuns: 2000 },
  );
});

Deno.test("SymbolsError: control characters in a file's name are made visible in messages", () => {
  const { message, offset } = new SymbolsError(
    7,
    "Cannot read section \n\x1b[2J (0 bytes at 3823)",
  );
  assertEquals([message, offset], ["Cannot read section \\n\\x1b[2J (0 bytes at 3823)", 7n]);
});
