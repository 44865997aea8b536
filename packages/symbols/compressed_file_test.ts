import { gzipSync, zstdCompressSync } from "node:zlib";
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { expandFile, fileCompression, SymbolsError } from "./mod.ts";

/** Something to compress: neither all alike nor all different. */
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
    name: `${name}: what was compressed, and no more than is allowed`,
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
    name: `${name}: what is damaged or cut is an error, or expands within the limit`,
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
