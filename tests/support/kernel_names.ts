/**
 * Symbols of the kernel that recorded fixtures/recorded; the machine that runs the tests has
 * another kernel.
 */

/** The build id of that kernel. */
const BUILD_ID = "e4f18d9dc1d0e6fc2b17e93e885a647b3c0a6fc1";

/**
 * Functions that call each other while callchain.perf.data handles a page fault, by first address.
 */
const FUNCTIONS: ReadonlyMap<number, string> = new Map([
  [0x1000c00, "asm_exc_page_fault"],
  [0x15ec000, "__handle_mm_fault"],
  [0x15ec600, "handle_mm_fault"],
  [0x21f2700, "exc_page_fault"],
]);

/**
 * Makes a build-id cache with a copy of kallsyms (functions of 256 bytes, from 0xffffffff81000000
 * on), in a folder that is removed at the end.
 *
 * @returns The environment variables through which a tool finds the cache.
 */
export function kernelNames(): { readonly PERF_BUILDID_DIR: string } {
  const cache = Deno.makeTempDirSync();
  globalThis.addEventListener("unload", () => Deno.removeSync(cache, { recursive: true }));
  const copy = `${cache}/[kernel.kallsyms]/${BUILD_ID}`;
  Deno.mkdirSync(copy, { recursive: true });
  const lines = ["ffffffff81000000 T _text"];
  for (let at = 0x1000000; at < 0x2400000; at += 0x100) {
    const name = FUNCTIONS.get(at) ?? `function_at_${at.toString(16)}`;
    lines.push(`ffffffff${(0x80000000 + at).toString(16)} T ${name}`);
  }
  Deno.writeTextFileSync(`${copy}/kallsyms`, lines.join("\n") + "\n");
  return { PERF_BUILDID_DIR: cache };
}
