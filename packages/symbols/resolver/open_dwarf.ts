// Uses Deno's file system API and node:zlib: opens a binary with its debug information.

import type { DwarfContext } from "../dwarf/dwarf_context.ts";
import type { DwarfError } from "../dwarf/dwarf_error.ts";
import { ElfFile, type ElfOpenOptions } from "../elf/elf_file.ts";
import { readElfSymbols } from "../elf/elf_symbols.ts";
import type { SearchPlaces } from "../files/file_search.ts";
import { openBinaryFile } from "../files/binary_file.ts";
import { localFiles } from "../files/local_files.ts";
import { nodeDecompressors } from "../files/node_decompressors.ts";
import { OpenedFiles } from "../files/opened_files.ts";
import type { SymbolTable } from "../table/symbol_table.ts";

/** A binary with its debug information. */
export interface OpenedDwarf extends Disposable {
  /** The binary. */
  readonly elf: ElfFile;
  /** The file with the symbol table and the debug information: `elf` or a separate one. */
  readonly debug: ElfFile;
  /** Path of `debug`. */
  readonly debugPath: string;
  /** DWARF of `debug`. */
  readonly dwarf: DwarfContext;
  /** Reads the symbols of `debug` and `elf`. */
  readSymbols(): SymbolTable;
  /** Closes all files. */
  close(): void;
}

/** Options of {@linkcode openDwarf}. */
export interface OpenDwarfOptions {
  /** Places to search for separate debug files; default `/usr/lib/debug`. */
  readonly places?: SearchPlaces;
  /** Receives read errors; without it, look-ups throw. */
  readonly diagnostics?: (error: DwarfError) => void;
}

/**
 * Opens a binary and its debug files: the separate debug file (`.gnu_debuglink`, build id), dwz's
 * supplementary file, `FILE.dwp`, and `.dwo` files at the compiler's output path or beside the
 * binary.
 *
 * @throws {SymbolsError} If the file is not ELF.
 *
 * @example
 * ```ts
 * import { openDwarf } from "@perfdata/symbols/files";
 * import { assertEquals } from "@std/assert";
 *
 * using binary = await openDwarf(Deno.execPath());
 * assertEquals(binary.dwarf.find(0), []);
 * ```
 */
export async function openDwarf(
  path: string,
  { places = {}, diagnostics }: OpenDwarfOptions = {},
): Promise<OpenedDwarf> {
  const options: ElfOpenOptions = { decompressors: nodeDecompressors };
  const real = Deno.realPathSync(path);
  const source = openBinaryFile(real);
  const opened = new OpenedFiles(localFiles, options);
  const close = (): void => {
    opened.close();
    source.close();
  };
  try {
    const elf = ElfFile.open(source, options);
    let debug = { path: real, elf };
    if (elf.debugSection(".debug_info") === undefined) {
      const found = opened.search({ path: real, wantsDebug: true }, places);
      const separate = found.debug ?? found.symbols;
      if (separate !== undefined && separate.path !== real) debug = separate;
      opened.keepOnly([debug.elf]);
    }
    const { openCompanionDwarf } = await import("./companion_dwarf.ts");
    const dwarf = openCompanionDwarf(debug, real, opened, diagnostics);
    const readSymbols = () => readElfSymbols(debug.elf, { runtime: elf }).table;
    return {
      elf,
      debug: debug.elf,
      debugPath: debug.path,
      dwarf,
      readSymbols,
      close,
      [Symbol.dispose]: close,
    };
  } catch (error) {
    close();
    throw error;
  }
}
