import { assert, assertEquals } from "@std/assert";
import { addressFromBigInt } from "./address.ts";
import {
  bytesSource,
  type Resolution,
  type SymbolObject,
  SymbolsError,
} from "@perfdata/symbols/resolver";
import { type SymbolFiles, SymbolResolver } from "@perfdata/symbols";
import { type ObjectSymbols } from "./object_symbols.ts";
import { type ResolverOptions } from "./options.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

/** Files in memory, or on disk under another name. */
function filesOf(files: Readonly<Record<string, Uint8Array | string | SymbolsError>>): SymbolFiles {
  const read = (path: string): Uint8Array | undefined => {
    const file = files[path];
    if (file instanceof SymbolsError) throw file;
    return typeof file === "string" ? new TextEncoder().encode(file) : file;
  };
  return {
    read,
    open: (path) => {
      const bytes = read(path);
      return bytes === undefined ? undefined : bytesSource(bytes);
    },
  };
}

async function look(
  files: SymbolFiles,
  object: SymbolObject,
  addresses: readonly number[],
  options: ResolverOptions = {},
  times?: readonly number[],
): Promise<{ found: Resolution[]; symbols: ObjectSymbols }> {
  const symbols = await new SymbolResolver(files, options).open(object);
  const found = await symbols.find(
    Float64Array.from(addresses),
    times === undefined ? undefined : Float64Array.from(times),
  );
  symbols.close();
  return { found, symbols };
}

const names = (found: readonly Resolution[]) =>
  found.map(({ frames, cause }) => frames.at(-1)?.name ?? cause);

const TEXT = addressFromBigInt(0xffffffff9a000000n);
const KERNEL: SymbolObject = {
  path: "[kernel.kallsyms]",
  kind: "kernel",
  buildId: "c0ffee",
  reference: "_text",
  referenceAddress: TEXT,
};
const COPY = "/cache/[kernel.kallsyms]/c0ffee/kallsyms";
/** The kernel after another boot. */
const KALLSYMS = `ffffffff81000000 T _text
ffffffff81000100 T do_work
ffffffff81000180 t do_more
ffffffffc0000000 t mod_start\t[my_mod]
ffffffffc0000040 t mod_work\t[my_mod]
ffffffffc0010000 t other_work\t[other]
`;
const CACHE = { places: { buildIdCache: "/cache" } };

Deno.test("SymbolResolver: a kernel is looked up in a copy of kallsyms at any boot address", async () => {
  const { found, symbols } = await look(
    filesOf({ [COPY]: KALLSYMS }),
    KERNEL,
    [0x100, 0x17f, 0x180],
    CACHE,
  );
  assertEquals(names(found), ["do_work", "do_work", "do_more"]);
  assertEquals(found[1]?.symbol, { name: "do_work", start: 0x100, end: 0x180 });
  assertEquals(symbols.origin, COPY);
  const plain: SymbolObject = { path: "[kernel.kallsyms]", kind: "kernel" };
  const absolute = await look(
    filesOf({ "/k": KALLSYMS }),
    plain,
    [addressFromBigInt(0xffffffff81000110n)],
    { kallsyms: "/k" },
  );
  assertEquals(names(absolute.found), ["do_work"]);
});

Deno.test("SymbolResolver: a kernel without symbols has a cause", async () => {
  const hidden = KALLSYMS.replace(/^\w+/gm, "0000000000000000");
  const cases: [Record<string, string>, string][] = [
    [{}, "file missing"],
    [{ [COPY]: hidden }, "kallsyms restricted"],
    // The running kernel's build id is unknown.
    [{ "/proc/kallsyms": KALLSYMS }, "file missing"],
  ];
  for (const [files, cause] of cases) {
    assertEquals(names((await look(filesOf(files), KERNEL, [0x100], CACHE)).found), [cause]);
  }
});

Deno.test("SymbolResolver: the running kernel is used if it is the recorded one", async () => {
  const note = Uint8Array.of(
    4,
    0,
    0,
    0,
    3,
    0,
    0,
    0,
    3,
    0,
    0,
    0,
    0x47,
    0x4e,
    0x55,
    0,
    0xc0,
    0xff,
    0xee,
    0,
  );
  const files = filesOf({ "/proc/kallsyms": KALLSYMS, "/sys/kernel/notes": note });
  assertEquals(names((await look(files, KERNEL, [0x100])).found), ["do_work"]);
  const other = { ...KERNEL, buildId: "c0ffef" };
  assertEquals(names((await look(files, other, [0x100])).found), ["file missing"]);
  // Without a build id, the boot must be the same.
  const { buildId: _, ...unnamed } = KERNEL;
  assertEquals(names((await look(files, unnamed, [0x100])).found), ["file missing"]);
  const sameBoot = { ...unnamed, referenceAddress: addressFromBigInt(0xffffffff81000000n) };
  const running = filesOf({
    "/proc/kallsyms": KALLSYMS,
    "/proc/sys/kernel/osrelease": "6.1.0-test\n",
  });
  const causes = async (release?: string) =>
    names(
      (await look(running, sameBoot, [0x100], { machine: { release } })).found,
    );
  assertEquals(await causes("6.1.0-test"), ["do_work"]);
  assertEquals(await causes("6.2.0"), ["file missing"]);
  assertEquals(await causes(), ["file missing"]);
  // The release may become known after the resolver was created.
  const machine: { release?: string } = {};
  const resolver = new SymbolResolver(running, { machine });
  machine.release = "6.1.0-test";
  const late = await resolver.open(sameBoot);
  assertEquals(names(await late.find(Float64Array.of(0x100))), ["do_work"]);
  late.close();
});

Deno.test("SymbolResolver: a module is looked up only in kallsyms of the same boot", async () => {
  const module: SymbolObject = {
    path: "[my-mod]",
    kind: "module",
    reference: "_text",
    referenceAddress: addressFromBigInt(0xffffffff81000000n),
    loadAddress: addressFromBigInt(0xffffffffc0000000n),
  };
  const files = filesOf({ "/k": KALLSYMS });
  const options = { kallsyms: "/k" };
  const { found } = await look(files, module, [0x41, 0x10001], options);
  // The second address is in another module.
  assertEquals(names(found), ["mod_work", "no symbols"]);
  assertEquals(found[0]?.symbol?.start, 0x40);
  const otherBoot = { ...module, referenceAddress: TEXT };
  assertEquals(names((await look(files, otherBoot, [0x41], options)).found), ["file missing"]);
});

Deno.test("SymbolResolver: JIT-compiled code is looked up in its perf map", async () => {
  const files = filesOf({ "/tmp/perf-7.map": "1000 40 first\n1020 10 second\n" });
  const object: SymbolObject = { path: "/tmp/perf-7.map", kind: "jit" };
  const { found } = await look(files, object, [0x1000, 0x1025, 0x1040]);
  assertEquals(names(found), ["first", "second", "JIT"]);
  assertEquals(names((await look(filesOf({}), object, [0x1000])).found), ["JIT"]);
  const there = filesOf({ "/root/tmp/perf-7.map": "1000 40 first\n" });
  assertEquals(names((await look(there, object, [0x1000], { symfs: "/root/" })).found), ["first"]);
});

/** A jitdump file of two functions at one address, the second one later. */
function jitdump(): Uint8Array {
  const bytes: number[] = [];
  const put = (value: number | bigint, size: number) => {
    for (let i = 0; i < size; i++) bytes.push(Number((BigInt(value) >> BigInt(8 * i)) & 255n));
  };
  put(0x4a695444, 4); // magic
  for (const word of [1, 40, 62, 0, 7]) put(word, 4); // version, total_size, elf_mach, pad1, pid
  put(0, 8); // timestamp
  put(0, 8); // flags
  ["early", "late"].forEach((name, i) => {
    put(0, 4); // JIT_CODE_LOAD
    put(16 + 40 + name.length + 1 + 16, 4); // total_size
    put(1000 * (i + 1), 8); // timestamp
    put(7, 4); // pid
    put(7, 4); // tid
    put(0x2000, 8); // vma
    put(0x2000, 8); // code_addr
    put(16, 8); // code_size
    put(i, 8); // code_index
    for (const letter of `${name}\0`) put(letter.charCodeAt(0), 1);
    for (let k = 0; k < 16; k++) put(0x90, 1); // the code
  });
  return Uint8Array.from(bytes);
}

Deno.test("SymbolResolver: a jitdump file gives the code at each time", async () => {
  const files = filesOf({ "/home/u/jit-7.dump": jitdump(), "/tmp/perf-7.map": "3000 10 mapped\n" });
  const object: SymbolObject = {
    path: "/tmp/perf-7.map",
    kind: "jit",
    jitdump: "/home/u/jit-7.dump",
  };
  const { found } = await look(files, object, [0x2008, 0x2008, 0x2008, 0x3000], {}, [
    1500,
    2500,
    500,
    1500,
  ]);
  assertEquals(names(found), ["early", "late", "JIT", "mapped"]);
});

Deno.test("SymbolResolver: a BPF program is its own symbol", async () => {
  const object: SymbolObject = { path: "bpf_prog_6deef7357e7b4530_drop", kind: "bpf", size: 128 };
  const { found } = await look(filesOf({}), object, [0x10]);
  assertEquals(found[0]?.symbol, { name: object.path, start: 0, end: 128 });
});

Deno.test("SymbolResolver: an unreadable file is reported", async () => {
  const object: SymbolObject = { path: "/usr/bin/x", kind: "elf" };
  const cases = [new SymbolsError(0, "permission denied"), "not ELF"];
  for (const file of cases) {
    const { found, symbols } = await look(filesOf({ "/usr/bin/x": file }), object, [0x1000]);
    assertEquals(names(found), ["not readable"]);
    assertEquals(symbols.refused.map(({ path, reason }) => [path, reason]), [
      ["/usr/bin/x", "not readable"],
    ]);
  }
});

async function run(program: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

const SOURCE = `
static inline int half(int n) { return n / 2; }
int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += half(i * n);
  return sum;
}
int more(int n) { return n * work(n); }
`;

Deno.test({
  name: "SymbolResolver: a vmlinux and a module give the lines of addr2line",
  ...ignored(notInstalled("gcc", "addr2line")),
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "perfdata-resolver-" });
    try {
      const source = `${folder}/work.c`;
      await Deno.writeTextFile(source, SOURCE);
      const flags = ["-O2", "-g", "-ffreestanding", "-mcmodel=kernel", "-fno-pic", "-no-pie"];
      const vmlinux = `${folder}/vmlinux`;
      await run(
        "gcc",
        ...flags,
        ...["-nostdlib", "-static", "-Wl,--build-id=0xc0ffee", "-Wl,-e,work"],
        ...["-Wl,-Ttext=0xffffffff81000000", "-Wl,--defsym=_text=0xffffffff81000000"],
        ...["-o", vmlinux, source],
      );
      const module = `${folder}/work.ko`;
      await run("gcc", ...flags, "-c", "-o", `${folder}/work.o`, source);
      await run("ld", "-r", "--build-id=0xabcdef", "-o", module, `${folder}/work.o`);
      const offsets = Array.from({ length: 0x50 }, (_, i) => i);
      const files = filesOf({
        [vmlinux]: await Deno.readFile(vmlinux),
        [module]: await Deno.readFile(module),
      });
      const theirs = async (binary: string, base: bigint): Promise<string[]> => {
        const addresses = offsets.map((offset) => `0x${(base + BigInt(offset)).toString(16)}`);
        const text = await run("addr2line", "-a", "-i", "-f", "-e", binary, ...addresses);
        return text.trimEnd().split(/^0x\w+\n/m).slice(1).map((frames) =>
          frames.trimEnd().replace(/ \(discriminator \d+\)/g, "").replaceAll("\n", " ")
        );
      };
      const ours = (found: readonly Resolution[]) =>
        found.map(({ frames }) =>
          frames.map(({ name, file, line }) => `${name} ${file}:${line}`).join(" ")
        );
      /** The lines inside of functions; padding follows them. */
      const inside = (lines: readonly string[], found: readonly Resolution[]) =>
        lines.filter((_, i) => found[i]?.symbol !== undefined);

      const kernel = await look(files, KERNEL, offsets, { vmlinux });
      assert(inside(ours(kernel.found), kernel.found).length > 40);
      assertEquals(
        inside(ours(kernel.found), kernel.found),
        inside(await theirs(vmlinux, 0xffffffff81000000n), kernel.found),
      );
      const moduleObject: SymbolObject = { path: module, kind: "module", buildId: "abcdef" };
      const inModule = await look(files, moduleObject, offsets);
      assertEquals(
        inside(ours(inModule.found), inModule.found),
        inside(await theirs(module, 0n), inModule.found),
      );

      for (const [object, path] of [[KERNEL, vmlinux], [moduleObject, module]] as const) {
        const other = { ...object, buildId: "00ff" };
        const { found, symbols } = await look(files, other, [0], { vmlinux });
        assertEquals(names(found), ["build id differs"]);
        assertEquals(symbols.refused.map(({ path, buildId }) => [path, buildId]), [
          [path, object.buildId],
        ]);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "SymbolResolver: a compressed module has the symbols and lines of the plain one",
  ...ignored(notInstalled("gcc", "xz", "zstd", "gzip")),
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "perfdata-resolver-" });
    try {
      await Deno.writeTextFile(`${folder}/work.c`, SOURCE);
      const flags = ["-O2", "-g", "-ffreestanding", "-mcmodel=kernel", "-fno-pic"];
      await run("gcc", ...flags, "-c", "-o", `${folder}/work.o`, `${folder}/work.c`);
      const module = `${folder}/work.ko`;
      await run("ld", "-r", "--build-id=0xabcdef", "-o", module, `${folder}/work.o`);
      const offsets = Array.from({ length: 0x50 }, (_, i) => i);
      const lookUp = async (path: string, content: Uint8Array) => {
        const object: SymbolObject = { path, kind: "module", buildId: "abcdef" };
        return await look(filesOf({ [path]: content }), object, offsets);
      };
      const plain = await lookUp(module, await Deno.readFile(module));
      assert(plain.found.some(({ frames }) => frames.length > 1));
      for (const [program, suffix] of [["gzip", "gz"], ["xz", "xz"], ["zstd", "zst"]] as const) {
        await run(program, "-q", "-k", module);
        const path = `${module}.${suffix}`;
        const bytes = await Deno.readFile(path);
        const { found, symbols } = await lookUp(path, bytes);
        assertEquals(found, plain.found, program);
        assertEquals(symbols.origin, path);
        // Truncated or damaged files are reported and not used.
        for (const damaged of [bytes.slice(0, bytes.length >> 1), bytes.slice(0, 6)]) {
          const broken = await lookUp(path, damaged);
          assertEquals(names(broken.found)[0], "not readable", program);
          assertEquals(broken.symbols.refused.map(({ reason }) => reason), ["not readable"]);
        }
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
