import { type BinarySource, bytesSource } from "../files/binary_source.ts";
import { expandElf } from "../files/compressed_file.ts";
import { SHT } from "./elf_constants.ts";
import { ElfError } from "./elf_error.ts";
import { ElfFile } from "./elf_file.ts";

/**
 * Reads the MiniDebugInfo of a stripped binary: the section `.gnu_debugdata`, an xz-compressed ELF
 * file whose `.symtab` has the functions that `.dynsym` lacks.
 *
 * This is the package's only asynchronous reader: the xz decompressor is a WebAssembly module.
 *
 * @param elf the stripped binary
 * @param maxSize limit of the decompressed size; by default 16 MB plus 24 times the section's size
 * @returns the inner ELF file; `undefined` if the binary has none
 * @throws {ElfError} if the section is not valid xz, expands to more, or holds no ELF file
 *
 * @example
 * ```ts
 * import { ElfFile, readElfSymbols, readMiniDebugInfo } from "@perfdata/symbols";
 * import { openBinaryFile } from "@perfdata/symbols/files";
 * import { assert } from "@std/assert";
 *
 * using source = openBinaryFile(Deno.execPath());
 * const elf = ElfFile.open(source);
 * const miniDebugInfo = await readMiniDebugInfo(elf);
 * const symbols = readElfSymbols(elf, miniDebugInfo && { miniDebugInfo });
 * assert(symbols.table.size > 0);
 * ```
 */
export async function readMiniDebugInfo(
  elf: ElfFile,
  maxSize?: number,
): Promise<ElfFile | undefined> {
  const section = elf.section(".gnu_debugdata");
  if (section === undefined || section.type === SHT.NOBITS) return undefined;
  const compressed = elf.sectionData(section);
  const fail = (why: string, cause?: unknown): ElfError =>
    new ElfError(section.offset, `Cannot read .gnu_debugdata: ${why}`, { cause });
  let expanded: BinarySource;
  try {
    expanded = await expandElf(bytesSource(compressed), "xz", maxSize);
  } catch (error) {
    throw fail(error instanceof Error ? error.message : String(error), error);
  }
  try {
    return ElfFile.open(expanded);
  } catch (error) {
    throw fail("the xz data hold no ELF file", error);
  }
}
