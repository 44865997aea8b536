import { assert, assertEquals } from "@std/assert";
import { compareWithReadelf, openCfi } from "../testing/readelf_rows.ts";
import { framesInterp } from "../testing/frames_interp.ts";
import { inFolder, run } from "../testing/toolchain.ts";
import { ignored, notInstalled, skipped } from "../../../tests/support/ignored.ts";

const PROGRAM = `
extern "C" int puts(const char *);
struct Guard { int n; ~Guard() { puts("x"); } };
extern void (*hook)(int);
static int __attribute__((noinline)) leaf(int a) { return a * 3; }
int __attribute__((noinline)) vla(int n) { volatile char b[n]; hook(n); return b[n - 1] + leaf(n); }
long __attribute__((noinline)) many(long a, long b, long c, long d, long e, long f, long g, double h) {
  Guard one{1}; hook(1); Guard two{2}; hook(2);
  return a * b + c * d + e * f + g + (long)h + vla(a);
}
long __attribute__((noinline)) large(int n) { volatile char b[70000]; b[n] = 1; hook(n); return b[n + 1]; }
long start(long a) { double h = a; Guard g{3}; hook(a); return many(a, 2, 3, 4, 5, 6, 7, h) + large(a); }
`;

interface Target {
  name: string;
  compiler: string;
  flags: string[];
  section: ".eh_frame" | ".debug_frame";
}

const CLANG_LLD = ["-fuse-ld=lld", "-nostdlib", "-shared", "-fPIC", "-Wl,-z,undefs"];
const AARCH64 = ["--target=aarch64-linux-gnu", ...CLANG_LLD];
const ARM = ["--target=armv7-linux-gnueabihf", ...CLANG_LLD];
const NO_TABLES = ["-fno-exceptions", "-fno-asynchronous-unwind-tables", "-g"];
const SHARED = ["-shared", "-fPIC"];
const EH = ".eh_frame" as const, DEBUG = ".debug_frame" as const;
const TARGETS: Target[] = [
  { name: "x86-64 -O2", compiler: "g++", flags: [...SHARED, "-O2"], section: EH },
  { name: "x86-64 -O0", compiler: "g++", flags: [...SHARED, "-O0"], section: EH },
  {
    name: "x86-64 without .eh_frame_hdr",
    compiler: "g++",
    flags: [...SHARED, "-O2", "-Wl,--no-eh-frame-hdr"],
    section: EH,
  },
  {
    name: "x86-64 .debug_frame",
    compiler: "g++",
    flags: [...SHARED, "-O2", ...NO_TABLES],
    section: DEBUG,
  },
  {
    name: "x86-64 .debug_frame, compressed",
    compiler: "g++",
    flags: [...SHARED, "-O2", ...NO_TABLES, "-gz"],
    section: DEBUG,
  },
  { name: "x86-64 clang", compiler: "clang++", flags: [...SHARED, "-O2"], section: EH },
  {
    name: "x86-64 64-bit DWARF",
    compiler: "clang++",
    flags: [...SHARED, "-O2", ...NO_TABLES, "-gdwarf64"],
    section: DEBUG,
  },
  {
    name: "i386 -O2",
    compiler: "clang++",
    flags: ["--target=i386-linux-gnu", ...CLANG_LLD, "-O2"],
    section: EH,
  },
  {
    name: "i386 -O1, frame pointers",
    compiler: "clang++",
    flags: ["--target=i386-linux-gnu", ...CLANG_LLD, "-O1", "-fno-omit-frame-pointer"],
    section: EH,
  },
  { name: "aarch64 -O2", compiler: "clang++", flags: [...AARCH64, "-O2"], section: EH },
  {
    name: "aarch64 signed return addresses",
    compiler: "clang++",
    flags: [...AARCH64, "-O2", "-mbranch-protection=pac-ret+leaf"],
    section: EH,
  },
  {
    name: "aarch64 signed with key B",
    compiler: "clang++",
    flags: [...AARCH64, "-O2", "-mbranch-protection=pac-ret+b-key"],
    section: EH,
  },
  {
    name: "arm .debug_frame",
    compiler: "clang++",
    flags: [...ARM, "-O2", ...NO_TABLES],
    section: DEBUG,
  },
];

Deno.test({
  name: "FrameTable: code compiled for several machines has the rows of readelf",
  ...ignored(notInstalled("readelf", "g++", "clang++", "ld.lld")),
  fn: (t) =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.cc`, PROGRAM);
      let targets = 0;
      for (const { name, compiler, flags, section } of TARGETS) {
        const path = `${folder}/a.so`;
        try {
          run(compiler, ...flags, "-o", path, `${folder}/a.cc`);
        } catch (error) {
          await skipped(t, `${name}: ${(error as Error).message.split("\n")[0]}`);
          continue;
        }
        const { fdes, rows } = compareWithReadelf(path, section);
        assert(fdes >= 5 && rows > fdes, `${name}: ${fdes} FDEs, ${rows} rows`);
        targets++;
      }
      console.log(`${targets} of ${TARGETS.length} kinds of file`);
      assert(targets >= 5);
    }),
});

Deno.test({
  name: "FrameTable: installed binaries have the rows of readelf",
  ...ignored(notInstalled("readelf")),
  fn: async (t) => {
    const candidates = ["/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/perf"];
    const total = { fdes: 0, rows: 0, plain: 0 };
    let files = 0;
    for (const path of candidates) {
      try {
        Deno.statSync(path);
      } catch {
        await skipped(t, `${path}: it is not here`);
        continue;
      }
      const { fdes, rows, plain } = compareWithReadelf(path);
      total.fdes += fdes;
      total.rows += rows;
      total.plain += plain;
      files++;
    }
    console.log(`${files} files, ${total.fdes} FDEs, ${total.rows} rows, ${total.plain} plain`);
    if (files > 0) assert(total.fdes > 1000 && total.plain > total.rows * 0.9);
  },
});

/** Rare instructions as bytes, which compilers do not produce. */
const RARE = `
  .text
  .globl f
f:
  .cfi_startproc
  nop
  .cfi_escape 0x05, 0x03, 0x04            # offset_extended rbx at cfa-32
  nop
  .cfi_escape 0x11, 0x0c, 0x7e            # offset_extended_sf r12 at cfa+16
  nop
  .cfi_escape 0x2f, 0x0d, 0x03            # GNU_negative_offset_extended r13
  nop
  .cfi_escape 0x14, 0x0e, 0x05            # val_offset r14 is cfa-40
  nop
  .cfi_escape 0x15, 0x0f, 0x7d            # val_offset_sf r15 is cfa+24
  nop
  .cfi_escape 0x09, 0x03, 0x0c            # register rbx in r12
  nop
  .cfi_escape 0x06, 0x0c                  # restore_extended r12
  nop
  .cfi_escape 0x08, 0x0d                  # same_value r13
  nop
  .cfi_escape 0x07, 0x0e                  # undefined r14
  nop
  .cfi_escape 0x0a                        # remember_state
  .cfi_escape 0x12, 0x03, 0x7c            # def_cfa_sf rbx+32
  nop
  .cfi_escape 0x0a                        # remember_state, nested
  .cfi_escape 0x13, 0x70                  # def_cfa_offset_sf 128
  nop
  .cfi_escape 0x0f, 0x03, 0x77, 0x08, 0x06 # def_cfa_expression *(rsp+8)
  nop
  .cfi_escape 0x10, 0x06, 0x02, 0x77, 0x10 # expression rbp at rsp+16
  nop
  .cfi_escape 0x16, 0x10, 0x02, 0x77, 0x18 # val_expression rip is rsp+24
  .cfi_escape 0x2e, 0x10                  # GNU_args_size
  nop
  .cfi_escape 0x0b                        # restore_state
  nop
  .cfi_escape 0x0b                        # restore_state
  .cfi_escape 0x02, 0x80                  # advance_loc1
  .cfi_escape 0x0e, 0x40                  # def_cfa_offset 64
  .cfi_escape 0x03, 0x00, 0x10            # advance_loc2
  .cfi_escape 0x0d, 0x06                  # def_cfa_register rbp
  .cfi_escape 0x04, 0x00, 0x00, 0x01, 0x00 # advance_loc4
  .cfi_escape 0x0c, 0x07, 0x10            # def_cfa rsp+16
  .fill 80000, 1, 0x90
  .cfi_escape 0x86, 0x02                  # offset rbp
  nop
  .cfi_escape 0xc6                        # restore rbp
  .fill 20, 1, 0x90
  .cfi_endproc
  .size f, .-f
`;

Deno.test({
  name: "FrameTable: rare instructions have the rows of readelf",
  ...ignored(notInstalled("readelf", "gcc")),
  fn: () =>
    inFolder((folder) => {
      Deno.writeTextFileSync(`${folder}/a.s`, RARE);
      run("gcc", "-shared", "-nostdlib", "-o", `${folder}/a.so`, `${folder}/a.s`);
      const { rows, plain } = compareWithReadelf(`${folder}/a.so`);
      assert(rows >= 20 && plain >= 10 && plain < rows, `${rows} rows, ${plain} plain`);
    }),
});

Deno.test({
  name: "ObjectCfi: a file without section headers has the same rows",
  ...ignored(notInstalled("readelf", "g++")),
  fn: () =>
    inFolder((folder) => {
      Deno.writeTextFileSync(`${folder}/a.cc`, PROGRAM);
      const path = `${folder}/a.so`;
      run("g++", ...SHARED, "-O2", "-o", path, `${folder}/a.cc`);
      const fdes = framesInterp(path);
      const bytes = Deno.readFileSync(path);
      const view = new DataView(bytes.buffer);
      view.setBigUint64(40, 0n, true); // e_shoff
      view.setUint16(60, 0, true); // e_shnum
      view.setUint16(62, 0, true); // e_shstrndx
      const whole = openCfi(path);
      Deno.writeFileSync(path, bytes);
      const bare = openCfi(path);
      assertEquals(bare.elf.sections, []);
      let compared = 0;
      for (const { rows } of fdes) {
        for (const { low } of rows) {
          assertEquals(bare.cfi.rules(low), whole.cfi.rules(low));
          compared++;
        }
      }
      assert(compared > 20);
    }),
});
