import { gzipSync, zstdCompressSync } from "node:zlib";
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { symbolTable, writeElf } from "../testing/elf_writer.ts";
import { type BinarySource, bytesSource, SymbolsError } from "@perfdata/symbols/resolver";
import { SymbolResolver } from "@perfdata/symbols";
import { expandElf, expandFile } from "./compressed_file.ts";
import { fileCompression } from "@perfdata/format/records";

/** Test data that compresses moderately. */
const PLAIN = Uint8Array.from({ length: 200_000 }, (_, i) => (i * i >> 7) & (i >> 9));

async function xz(bytes: Uint8Array): Promise<Uint8Array | undefined> {
  try {
    const child = new Deno.Command("xz", { args: ["-c"], stdin: "piped", stdout: "piped" }).spawn();
    const writer = child.stdin.getWriter();
    const written = writer.write(bytes).then(() => writer.close());
    const { stdout } = await child.output();
    await written;
    return stdout;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.log("ignored: xz is not installed");
    return undefined;
  }
}

const compressed = [
  ["gzip", new Uint8Array(gzipSync(PLAIN))],
  ["zstd", new Uint8Array(zstdCompressSync(PLAIN))],
  ["xz", await xz(PLAIN)],
] as const;

for (const [name, bytes] of compressed) {
  Deno.test({
    name: `expandFile: ${name} data is decompressed, but not beyond the limit`,
    ignore: bytes === undefined,
    async fn() {
      const all = bytes ?? new Uint8Array();
      assertEquals(fileCompression(all), name);
      assertEquals(await expandFile(all, name), PLAIN);
      assertEquals(await expandFile(all, name, PLAIN.length), PLAIN);
      await assertRejects(
        () => expandFile(all, name, PLAIN.length - 1),
        SymbolsError,
        `expands to more than ${PLAIN.length - 1} bytes`,
      );
    },
  });

  Deno.test({
    name: `expandFile: damaged or truncated ${name} data is an error, or expands within the limit`,
    ignore: bytes === undefined,
    async fn() {
      const all = bytes ?? new Uint8Array();
      let errors = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.nat(all.length - 1),
          fc.integer({ min: 1, max: 255 }),
          fc.boolean(),
          async (at, mask, cut) => {
            const damaged = cut ? all.slice(0, at) : all.slice();
            if (!cut) damaged[at] = (damaged[at] ?? 0) ^ mask;
            try {
              const found = await expandFile(damaged, name, 1 << 20);
              assert(found.length <= 1 << 20);
              assert(!cut, `cut to ${at} of ${all.length} bytes`);
            } catch (error) {
              if (!(error instanceof SymbolsError)) throw error;
              errors++;
            }
          },
        ),
        { numRuns: 200 },
      );
      assert(errors > 50, `${errors} errors`);
    },
  });
}

type Kind = "gzip" | "xz" | "zstd";

async function packed(bytes: Uint8Array): Promise<(readonly [Kind, Uint8Array])[]> {
  const inXz = await xz(bytes);
  return [
    ["gzip", new Uint8Array(gzipSync(bytes))],
    ["zstd", new Uint8Array(zstdCompressSync(bytes))],
    ...(inXz === undefined ? [] : [["xz", inXz] as const]),
  ];
}

/** A kernel module with one function and this many bytes of data. */
function module(size: number): Uint8Array {
  const file = { is64: true, littleEndian: true };
  const { symtab, strtab } = symbolTable(file, [
    { name: "work", value: 0n, size: 0x100n, info: 0x12, shndx: 1 },
  ]);
  const data = Uint8Array.from({ length: size }, (_, i) => (i * i >> 9) & (i >> 11));
  return writeElf({
    ...file,
    type: 1,
    machine: 62,
    sections: [
      { name: ".text", type: 1, flags: 6, bytes: new Uint8Array(0x100) },
      { name: ".symtab", type: 2, bytes: symtab, link: 3, info: 1, entsize: 24 },
      { name: ".strtab", type: 3, bytes: strtab },
      { name: ".data", type: 1, flags: 3, bytes: data },
    ],
  });
}

/** A source that counts the bytes read. */
function counted(bytes: Uint8Array): { source: BinarySource; taken(): number } {
  let taken = 0;
  const whole = bytesSource(bytes);
  const source: BinarySource = {
    size: whole.size,
    read(offset, length) {
      taken += length;
      return whole.read(offset, length);
    },
  };
  return { source, taken: () => taken };
}

Deno.test("expandElf: a compressed ELF file has the bytes of the plain one", async () => {
  const plain = module(700_000);
  let compared = 0;
  for (const [kind, bytes] of await packed(plain)) {
    const source = await expandElf(bytesSource(bytes), kind);
    assertEquals(source.size, plain.length);
    fc.assert(
      fc.property(fc.nat(plain.length), fc.nat(plain.length), (a, b) => {
        const [from, to] = a < b ? [a, b] : [b, a];
        const target = new Uint8Array(to - from);
        source.readInto?.(from, target);
        assertEquals(target, plain.subarray(from, to));
        assertEquals(source.read(from, to - from), target);
      }),
      { numRuns: 20 },
    );
    compared++;
  }
  assert(compared >= 2, `${compared}`);
});

Deno.test("expandElf: a file that is not ELF or claims to be too large is refused after its first bytes", async () => {
  const zeros = new Uint8Array(2 ** 26);
  const far = module(2 ** 20);
  // Section headers at 2^40, and random bytes, which make the compressed file long.
  new DataView(far.buffer).setBigUint64(40, 2n ** 40n, true);
  let seed = 1;
  for (let i = 64; i < far.length; i++) far[i] = (seed = (seed * 48271) % 0x7fffffff) >> 8;
  let compared = 0;
  for (const [bytes, message] of [[zeros, "no ELF file"], [far, "too large"]] as const) {
    for (const [kind, compressed] of await packed(bytes)) {
      const { source, taken } = counted(compressed);
      await assertRejects(() => expandElf(source, kind), SymbolsError, message);
      // zstd reads a block of up to 128 KB, other formats a few chunks of 8 KB.
      assert(taken() <= 3 << 16, `${kind}: ${taken()} of ${compressed.length} bytes`);
      compared++;
    }
  }
  assert(compared >= 4, `${compared}`);
});

Deno.test("SymbolResolver: a compressed module beyond its budget is reported as too large, not as missing", async () => {
  const bomb = new Uint8Array(2 ** 25);
  bomb.set(module(0).subarray(0, 64));
  let compared = 0;
  for (const [kind, compressed] of await packed(bomb)) {
    const resolver = new SymbolResolver({
      open: (path) => path === "/m.ko.x" ? bytesSource(compressed) : undefined,
      read: () => undefined,
    }, {});
    const symbols = await resolver.open({ path: "/m.ko.x", kind: "module" });
    const [found] = await symbols.find(Float64Array.of(0x10));
    assertEquals(found?.cause, "not readable", kind);
    assert(symbols.faults.some(({ message }) => message.includes("too large")), kind);
    symbols.close();
    compared++;
  }
  assert(compared >= 2, `${compared}`);
});

Deno.test({
  name:
    "localResolver: opening compressed modules uses little more memory than opening an empty one",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const folder = Deno.makeTempDirSync();
    let compared = 0;
    try {
      const empty = await peak(folder, "none");
      const honest = module(2 ** 22);
      const bomb = new Uint8Array(2 ** 27);
      bomb.set(honest.subarray(0, 64));
      for (const [what, plain] of [["honest", honest], ["bomb", bomb]] as const) {
        for (const [kind, compressed] of await packed(plain)) {
          Deno.writeFileSync(`${folder}/${what}.${kind}`, compressed);
          const more = await peak(folder, `${what}.${kind}`) - empty;
          // 4 and 16 MB of data; the rest are the streams' buffers.
          assert(more < 100 * 2 ** 20, `${what}.${kind}: ${more} bytes`);
          compared++;
        }
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    assert(compared >= 4, `${compared}`);
  },
});

/** Peak memory of a process that opens one module. */
async function peak(folder: string, name: string): Promise<number> {
  const script = `    import { localResolver } from "@perfdata/symbols/files";
    const symbols = await localResolver({ places: {} })
      .open({ path: ${JSON.stringify(`${folder}/${name}`)}, kind: "module" });
    await symbols.find(Float64Array.of(0x10));
    console.log(Deno.readTextFileSync("/proc/self/status"));`;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--lock=deno.dev.lock", script],
    cwd: new URL("../../../", import.meta.url),
  }).output();
  const decoder = new TextDecoder();
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(decoder.decode(stdout)) ?? [];
  assert(kilobytes !== undefined, decoder.decode(stderr));
  return 1024 * Number(kilobytes);
}
