import { bytesSource } from "../binary_source.ts";
import { SHT } from "./constants.ts";
import { ElfError } from "./elf_error.ts";
import { ElfFile } from "./elf_file.ts";

/**
 * Reads the MiniDebugInfo of a stripped binary: the section `.gnu_debugdata`, a whole ELF file
 * compressed with xz, which holds a `.symtab` of the functions that `.dynsym` does not name.
 *
 * This is the one asynchronous reader of the package: the xz decompressor is a WebAssembly module.
 *
 * @param elf the stripped binary
 * @param maxSize the most bytes that the section may expand to
 * @returns the ELF file inside, or `undefined` if the binary has none
 * @throws {ElfError} if the section is not valid xz, expands to more, or holds no ELF file
 *
 * @example
 * ```ts
 * import { ElfFile, readElfSymbols, readMiniDebugInfo } from "@perfdata/symbols";
 * import { openFileSource } from "@perfdata/symbols/file_source";
 * import { assert } from "@std/assert";
 *
 * using source = openFileSource(Deno.execPath());
 * const elf = ElfFile.open(source);
 * const miniDebugInfo = await readMiniDebugInfo(elf);
 * const symbols = readElfSymbols(elf, miniDebugInfo && { miniDebugInfo });
 * assert(symbols.table.size > 0);
 * ```
 */
export async function readMiniDebugInfo(
  elf: ElfFile,
  maxSize: number = 2 ** 28,
): Promise<ElfFile | undefined> {
  const section = elf.section(".gnu_debugdata");
  if (section === undefined || section.type === SHT.NOBITS) return undefined;
  const compressed = elf.sectionData(section);
  const fail = (why: string, cause?: unknown): ElfError =>
    new ElfError(section.offset, `Cannot read .gnu_debugdata: ${why}`, { cause });
  const input = new ReadableStream<Uint8Array>({
    start(controller) {
      // A copy, because a stream may take the buffer of its chunks away.
      controller.enqueue(compressed.slice());
      controller.close();
    },
  });
  // Only here: to load it takes longer than most tools run.
  const { default: xz } = await import("xz-decompress");
  const reader = new xz.XzReadableStream(input).getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  while (true) {
    let chunk: Uint8Array | undefined;
    try {
      chunk = (await reader.read()).value;
    } catch (error) {
      throw fail(`bad xz data (${error instanceof Error ? error.message : error})`, error);
    }
    if (chunk === undefined) break;
    size += chunk.length;
    if (size > maxSize) {
      await reader.cancel();
      throw fail(`it expands to more than ${maxSize} bytes`);
    }
    chunks.push(chunk.slice());
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  try {
    return ElfFile.open(bytesSource(bytes));
  } catch (error) {
    throw fail("the xz data hold no ELF file", error);
  }
}
